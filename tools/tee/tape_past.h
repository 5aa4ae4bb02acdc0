/* tape_past.h: the existing contents of a tape that is continued. */
#ifndef TOOLS_TEE_TAPE_PAST_H
#define TOOLS_TEE_TAPE_PAST_H

#include "tools/tee/shelf.h"

/* Fills an empty shelf, gives connections that were cut off an end, and begins the gaps. */
int tape_past_load(struct shelf *s, struct err *err) MUST_CHECK;

#endif
