/*
 * state_extents.h: writes the live objects with which a segment begins into extents of state. They come in
 * any order, usually that of storage, in which each block is decoded once; within an extent they are in the
 * order of seq. So a few megabytes of them are gathered, sorted and stored at a time.
 */
#ifndef SCHEMA_TAPE_STATE_EXTENTS_H
#define SCHEMA_TAPE_STATE_EXTENTS_H

#include "schema/tape/pack.h"

#include <sqlite3.h>

struct state_item;

struct state_extents {
	sqlite3 *db;
	int64_t *extent_id; /* of the next extent; goes up */
	const struct pack_options *options;
	struct buf bytes; /* names and objects */
	struct state_item *items;
	size_t count;
};

/* Everything is borrowed until the release. */
void state_extents_init(
	struct state_extents *s, sqlite3 *db, int64_t *extent_id, const struct pack_options *options);
void state_extents_release(struct state_extents *s);

/* The event that gave an object its last version, under its old seq; copied. */
int state_extents_add(
	struct state_extents *s, const struct event *e, struct slice object, struct err *err) MUST_CHECK;

/* Stores the rest of the gathered events. */
int state_extents_end(struct state_extents *s, struct err *err) MUST_CHECK;

#endif
