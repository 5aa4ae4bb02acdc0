/*
 * collector.h: collects dependents, as the garbage collector of a cluster does. An object whose owners are
 * all gone is deleted; one that has others loses the references to the gone ones. With foregroundDeletion
 * blocking dependents are deleted first; with orphan they lose the reference and stay.
 *
 *     a write, or an event of the tape --collector_wrote, collector_applied--> a queue --collector_work--> own writes
 *
 * What has just been created stays for a moment, though its owners are gone: who created it has the answer before the
 * deletion, as in a cluster, whose collector has to hear of both first.
 *
 * Owners are identified by UID alone, and looked for where a dependent may have one: in its own namespace, or
 * in none. An owner whose resource is not on the tape, and that no program has written, counts as present.
 * The tape has the collection of recorded dependents of owners that it deletes; here such a deletion collects
 * only dependents that programs wrote. Objects whose deletion `--write` does not overlay are not collected,
 * and do not block.
 */
#ifndef REPLAYER_COLLECTOR_H
#define REPLAYER_COLLECTOR_H

#include "replayer/serve/call.h"

struct collector;

/* Borrows the api, which need not be filled yet. */
struct collector *collector_new(struct api *api);
void collector_free(struct collector *g); /* accepts NULL */

/* A write was stored, or an event of the tape applied, as this change. */
void collector_wrote(struct collector *g, const struct collection *in, const struct change *c);
void collector_applied(struct collector *g, const struct collection *in, const struct change *c);

/* Objects written to follow the tape (follow_tape.h) count as the tape's. */
void collector_followed(struct collector *g, const struct change *c);

/* Does that many steps of what waits, in its order. at_once: no moment is waited for. */
void collector_work(struct collector *g, size_t steps, bool at_once);

/* When there is work, by the monotonic clock: 0 at once, INT64_MAX never. */
int64_t collector_due_ns(const struct collector *g);

#endif
