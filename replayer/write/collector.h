/*
 * collector.h: dependents go with their owners, as the garbage collector of a cluster has them go: an object whose owners are
 * all gone is deleted, one that has others loses the references to those that are gone; with foregroundDeletion dependents that
 * block go first, with orphan they lose the reference and stay.
 *
 *     a write, or an event of the tape --collector_wrote, collector_applied--> a queue --collector_work--> own writes
 *
 * Owners are told by UID alone, and looked for where a dependent may have one: in its own namespace, or in none. Only what is
 * known to be gone is: an owner whose resource is not on the tape, and that no program has written, counts as there. What the
 * tape itself deletes takes recorded dependents with it as it was recorded; here it takes only those that programs wrote.
 * Objects whose deletion `--write` does not overlay are left alone, and block nobody.
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

/* What was written as the tape has it (follow_tape.h) counts as the tape's. */
void collector_followed(struct collector *g, const struct change *c);

/* Does that many steps of what waits, in its order. */
void collector_work(struct collector *g, size_t steps);

/* Something waits. */
bool collector_is_busy(const struct collector *g);

#endif
