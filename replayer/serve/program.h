/*
 * program.h: which program a request comes from, by its User-Agent. Absorbed writes of a program are shown to
 * that program alone; people with kubectl or curl see the tape.
 */
#ifndef REPLAYER_PROGRAM_H
#define REPLAYER_PROGRAM_H

#include "replayer/serve/call.h"

/* 0: nobody in particular. */
uint64_t program_of(const struct api_call *call);

/* Whether people look with it: kubectl, curl, wget, a browser. */
bool program_is_of_people(const struct api_call *call);

/* Whether this program sees the result of its own absorbed write for the object of the path. Returns the seq
 * of that version; 0: it is deleted. No other program sees it, nor any list or watch. People see only
 * deletions of theirs. */
bool program_sees_absorbed(const struct api_call *call, const struct collection *c, uint64_t *ret_seq);

#endif
