/*
 * remake.h: a new tape out of another one: a part of its time, some of its resources, namespaces or events,
 * or the same with other words.
 *
 * The new tape is complete. Its first segment begins with the state of the objects that were live there, and
 * each stream that had been listed has a mark that says so. Connections and gaps that reach into the part are
 * kept; those that reach beyond its end are cut off there. Documents, the relation of the clocks and the
 * epoch are those that were valid at the beginning, and later ones. Logs of containers that died are kept if
 * they were fetched in the part, and if time, resource and namespace alone decide.
 *
 *   by time alone    events keep their seqs, and whole extents are copied as they stand
 *   by resource      streams of other resources are not on the new tape
 *   by namespace     a stream of all namespaces becomes one for each that is wanted, with its rows; objects
 *                    without a namespace are kept only if their resource was named
 *   by event         each stream that lacks some has a gap that says so, `left_out`, from the first of them on
 *
 * If anything but time decides, the remaining events get new numbers, from 1, the state first.
 */
#ifndef SCHEMA_TAPE_REMAKE_H
#define SCHEMA_TAPE_REMAKE_H

#include "schema/tape/audit_book.h"
#include "schema/tape/reader.h"
#include "schema/tape/rows.h"

/* After an event, or, by_time, at a time at which that event was the last. */
struct remake_point {
	uint64_t seq;
	int64_t time_ns;
	bool by_time;
};

/* Called for what goes into the new tape. A hook that is NULL leaves everything as it is. What hooks put into
 * their arguments lives until the next call. Negative: an error, which ends it. */
struct remake_hooks {
	/* Whether the event is wanted, 1 or 0: by what the index knows of it, and by its object too. */
	int (*wants)(void *context, const struct event *e, struct err *err);
	int (*wants_object)(void *context, const struct tape_resource *r, const struct event *e,
		struct slice object, struct err *err);
	/* Puts another object in the place of the old one; its names are read off it again. */
	int (*rewrite)(void *context, const struct tape_resource *r, struct slice *object, struct err *err);
	/* The same for rows, in the order of the table's columns; ids and seqs are the old ones. */
	int (*rewrite_row)(void *context, enum table table, struct value *values, struct err *err);
	/* The same for what the tape's audit book claims (audit_book.h). */
	int (*rewrite_claim)(void *context, struct audit_claim *claim, struct err *err);
	/* 1: it is left out. */
	int (*rewrite_document)(void *context, struct tape_document *document, struct err *err);
	int (*rewrite_resource)(void *context, struct tape_resource *r, struct err *err);
	int (*rewrite_stream)(void *context, struct tape_stream *s, struct err *err);
	/* The new tape is whole, in that folder, and does not have its name yet. */
	int (*check)(void *context, const char *folder, struct err *err);
	/* How many of the events were looked at; non-zero stops. */
	int (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

struct remake_options {
	const struct remake_point *from, *until; /* NULL: where the tape begins, where it ends */
	const uint32_t *resources;               /* ids; none: all */
	size_t resource_count;
	const char *const *namespaces; /* none: all, and objects without one */
	size_t namespace_count;
	bool one_segment; /* however large it becomes */
	bool packs_hard;  /* compress as a recorder with time to spare, even large objects */
	struct remake_hooks hooks;
	const char *program;
};

struct remake_result {
	uint64_t events, state_objects; /* in the new tape */
	uint64_t left_out;              /* events and objects that a hook did not want */
};

/* Makes `to`, which must not exist. `from` may be one that is being recorded: its present state is used. On
 * failure, even ERR_STOPPED, nothing is left of `to`. */
int tape_remake(struct tape *from, const char *to, const struct remake_options *options,
	struct remake_result *ret, struct err *err) MUST_CHECK;

#endif
