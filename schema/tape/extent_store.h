/*
 * extent_store.h: putting a packed extent into a segment's tables.
 */
#ifndef SCHEMA_TAPE_EXTENT_STORE_H
#define SCHEMA_TAPE_EXTENT_STORE_H

#include "schema/tape/pack.h"
#include "schema/tape/rows.h"

/* One transaction: the extent with its blocks appears and, for one of events, the chunks it was made of go.
 * kind is "events" or "state". x is sorted on the way. */
int extent_store(sqlite3 *db, int64_t id, const char *kind, struct extent *x,
	const struct pack_options *options, struct err *err) MUST_CHECK;

/* Sets a fact in table meta. */
int extent_store_meta(sqlite3 *db, const char *key, struct value value, struct err *err) MUST_CHECK;

#endif
