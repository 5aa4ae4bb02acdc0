/*
 * rebase.h: recorded times, shown as if everything happened for the first time (--rebase-time): the tape's
 * time is the present. A program that compares times in objects with its clock then does what it did when
 * they were recorded.
 *
 * Times are mapped by their value, so that equal times stay equal everywhere, and the order of times stays.
 * While the tape runs at speed 1 all times are moved by one number of whole seconds. Where it stood still, or
 * ran faster or slower, the map bends: events of the tape then happen when they are replayed. Times from
 * before the beginning, and those in the future (the end of a grace period), keep their distance.
 *
 *     wall |                    /  as played at speed 1
 *          |                   |   a pause
 *          |       /------..---'   fast
 *          |      /  speed 1
 *          |  - /    the beginning; before it, all keeps its distance
 *          +------------------------ tape
 */
#ifndef REPLAYER_WORLD_REBASE_H
#define REPLAYER_WORLD_REBASE_H

#include "schema/base/clock.h"

#include <stdbool.h>
#include <stddef.h>

struct rebase;

/* That time of the tape is now. The clock is borrowed. */
struct rebase *rebase_new(const struct clock *clock, int64_t tape_ns);
void rebase_free(struct rebase *r); /* accepts NULL */

/* The same as a new one: all that was shown so far is shown otherwise from now on. */
void rebase_restart(struct rebase *r, int64_t tape_ns);

/* The replay is now at that time of the tape. Earlier ones than before are taken for the latest. */
void rebase_reach(struct rebase *r, int64_t tape_ns);

/* Notes a request before the replay has begun. Returns true if none came for long, so that rebase_restart is due:
 * the tape has stood still, and this request is the first to see it. */
bool rebase_note_request(struct rebase *r);

/* The wall time of a time on the tape, and now. */
int64_t rebase_time(const struct rebase *r, int64_t tape_ns);
int64_t rebase_now(const struct rebase *r);

/* Moves all times in the object, digit by digit: the length stays. A time is any string that is one as a
 * whole (schema/base/timestamp.h), except keys, annotations, and the data of config maps and secrets, which
 * are users' texts. */
void rebase_object(const struct rebase *r, char *object, size_t len);

#endif
