/*
 * lease_end.h: the leases by which a command led that has been killed. On a cluster its next life waits until they have run
 * out, a minute or more of quiet, in which a run would end: they are deleted instead, and it leads at once.
 */
#ifndef REPLAYER_LEASE_END_H
#define REPLAYER_LEASE_END_H

#include "replayer/serve/call.h"

/* All leases of leader election (they count transitions, those of nodes do not) that programs have written. */
void lease_end_all(struct api *api);

#endif
