/*
 * writers.h: who changed what, when: the managers of managedFields against time. Counting compares every
 * version with the one before it. So a separate thread does it, once, at the first request.
 */
#ifndef SCHEMA_VIEW_WRITERS_H
#define SCHEMA_VIEW_WRITERS_H

#include "schema/base/buf.h"

struct writers;

/* Nothing is counted yet. The path is copied. */
struct writers *writers_new(const char *tape_path);
void writers_free(struct writers *w); /* ends the thread; accepts NULL */

/* Begins to count unless it has begun. Appends
 * {"share":0.4,"begin":"..","bin":"..","writers":[{"name":"kubelet",
 * "events":12,"fields":30,"counts":[..]},..]}: events that it changed a field in, in WRITERS_BINS bins from
 * `begin` on, each `bin` nanoseconds long; the busiest first. */
#define WRITERS_BINS 256
int writers_answer(struct writers *w, struct buf *to, struct err *err) MUST_CHECK;

/* Whether the writer changed the object of that key, as picture.h has keys, as far as was counted. */
bool writers_touched(struct writers *w, struct slice writer, const char *key);

#endif
