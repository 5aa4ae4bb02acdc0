/*
 * bookkeeping.h: the resources that a cluster writes all the time to keep itself running, and that say little
 * about what happened: Events, leases, endpoints. Commands that show changes leave them out by default.
 */
#ifndef TOOLS_BOOKKEEPING_H
#define TOOLS_BOOKKEEPING_H

#include "schema/tape/event.h"

bool is_bookkeeping(const struct tape_resource *r);

/* Their names in --help. */
#define BOOKKEEPING_HELP "Events, leases, endpoints and endpoint slices"

#endif
