/*
 * json_walk.h: a cursor over JSON text, for json_*.c and json_pair.h. Nobody else includes it. It walks the
 * requested levels, member by member, and jumps over the rest. All functions that fail return ERR_PROTOCOL and
 * say where.
 */
#ifndef SCHEMA_BASE_JSON_WALK_H
#define SCHEMA_BASE_JSON_WALK_H

#include "schema/base/buf.h"

struct json_cursor {
	const char *begin, *at, *end;
	unsigned depth; /* containers entered and not left */
	struct err *err;
};

struct json_key {
	struct slice text; /* as it is between the quotes */
	bool escaped;      /* it holds a backslash */
};

static inline struct json_cursor json_cursor_over(struct slice json, struct err *err)
{
	const char *begin = json.ptr ? json.ptr : ""; /* nothing may be added to NULL, not even 0 */

	return (struct json_cursor){begin, begin, begin + json.len, 0, err};
}

void json_skip_spaces(struct json_cursor *c);

/* Goes to the next byte that is not white space; returns it, or 0 at the end (and for a NUL in the text).
 * Machines write JSON without white space, so the slow path is kept out of the way. */
static inline char json_peek(struct json_cursor *c)
{
	if (__builtin_expect(c->end > c->at && *c->at > ' ', 1))
		return *c->at;
	json_skip_spaces(c);
	return c->at < c->end ? *c->at : 0;
}

/* Consumes the opening bracket. */
int json_enter(struct json_cursor *c, char bracket) MUST_CHECK;

/* Steps to the next member or item; *first is true before the first call and is changed by it. Returns 1 with
 * the cursor at the value, 0 if the closing bracket was consumed instead. */
int json_next_member(struct json_cursor *c, bool *first, struct json_key *ret) MUST_CHECK;
int json_next_item(struct json_cursor *c, bool *first) MUST_CHECK;

/* Jumps over one value and returns its bytes. */
int json_take(struct json_cursor *c, struct slice *ret_value) MUST_CHECK;

/* Where the object or array at hand ends, if it does so before `limit`, which lies in the text; else NULL. */
const char *json_container_end(const struct json_cursor *c, const char *limit);

/* Fails unless only white space follows. */
int json_finish(struct json_cursor *c) MUST_CHECK;

bool json_key_equal_escaped(const struct json_key *key, struct slice name);

/* Compares the unescaped key. */
static inline bool json_key_equal(const struct json_key *key, struct slice name)
{
	if (__builtin_expect(key->escaped, 0))
		return json_key_equal_escaped(key, name);
	return key->text.len == name.len && memcmp(key->text.ptr, name.ptr, name.len) == 0;
}

#endif
