/*
 * bookkeeping.h: the resources that a cluster writes all the time to keep itself going, and that tell little of what
 * happened: Events, leases, endpoints. Commands that show changes leave them out unless they are asked for.
 */
#ifndef TOOLS_BOOKKEEPING_H
#define TOOLS_BOOKKEEPING_H

#include "schema/tape/event.h"

bool is_bookkeeping(const struct tape_resource *r);

/* What --help says of it. */
#define BOOKKEEPING_HELP "Events, leases, endpoints and endpoint slices"

#endif
