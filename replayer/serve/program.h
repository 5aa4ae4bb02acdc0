/*
 * program.h: which program a request comes from, by its User-Agent. What a program wrote that was absorbed is
 * shown to that program alone; people who look with kubectl or curl see what is on the tape.
 */
#ifndef REPLAYER_PROGRAM_H
#define REPLAYER_PROGRAM_H

#include "replayer/serve/call.h"

/* 0: nobody in particular. */
uint64_t program_of(const struct api_call *call);

/* Whether people look with it: kubectl, curl, wget, a browser. */
bool program_is_of_people(const struct api_call *call);

/* Whether the object of the path is for this program what its own absorbed write left of it. Tells the seq
 * of that version; 0: it is gone. Nobody else sees it, nor does any list or watch. People see of theirs only
 * what is gone. */
bool program_sees_absorbed(const struct api_call *call, const struct collection *c, uint64_t *ret_seq);

#endif
