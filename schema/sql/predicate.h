/*
 * predicate.h: picking out events by an SQL expression over the columns of the table `events`, as fault
 * files, breakpoints, sweeps and filters do:
 *
 *     resource='pods' AND type='DELETED' AND jget(object,'$.metadata.labels.app')='web'
 *
 * An expression is compiled once and then asked of one event after the other. It can compute, and cannot
 * read anything but its event; without asking for the time or for random numbers ('now' of the date functions
 * is the one way left) it gives the same answer to the same event. Not thread-safe.
 */
#ifndef SCHEMA_SQL_PREDICATE_H
#define SCHEMA_SQL_PREDICATE_H

#include "schema/base/moment.h"
#include "schema/tape/event.h"

#define PREDICATE_BYTES_MAX (64u << 10)        /* of an expression's text */
#define PREDICATE_LIMIT_NS  INT64_C(100000000) /* for one event, unless predicate_limit says otherwise */

struct predicate;

/* ERR_USAGE with SQLite's words if it does not understand or refuses something, and for a text that is
 * compared with the time and is not one. The frame is the tape's, which defines '9:51' and '-5m'; NULL if the
 * expression is only checked. */
int predicate_compile(struct slice expression, const struct moment_frame *frame, struct predicate **ret,
	struct err *err) MUST_CHECK;
void predicate_free(struct predicate *p);

/* SQLite takes a word in double quotes that is no column for a text, so a misspelt name is no error. A sentence about the first such
 * word, or NULL; the caller frees. */
char *predicate_doubt(struct predicate *p);

/* A predicate that takes longer for one event fails with ERR_STOPPED. */
void predicate_limit(struct predicate *p, int64_t limit_ns);

/*
 * Whether the expression is true (not zero, not NULL) of the event: 1 or 0. `resource` may be NULL; its names
 * are then NULL too. Everything is borrowed for the call. ERR_FAILED if the expression cannot be computed,
 * such as jget of a text that is not JSON.
 */
int predicate_test(struct predicate *p, const struct tape_resource *resource, const struct event *e,
	struct slice object, struct err *err) MUST_CHECK;

#endif
