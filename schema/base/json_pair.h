/*
 * json_pair.h: two versions of a document walked side by side. Most of their bytes are the same, and stand at
 * the same distance from each other for long stretches: equal stretches are skipped by scanning the brackets
 * of one of them, and differing values are entered without measuring them first. Functions that fail return
 * ERR_PROTOCOL and say where.
 */
#ifndef SCHEMA_BASE_JSON_PAIR_H
#define SCHEMA_BASE_JSON_PAIR_H

#include "schema/base/json_walk.h"

enum json_side { JSON_OLD, JSON_NEW };

struct json_pair {
	struct json_cursor sides[2];
	/* The bytes between the last positions of both and these positions are equal. */
	const char *equal_end[2];
};

/* Both are before the first byte. The documents are borrowed while the pair is used. */
struct json_pair json_pair_over(struct slice old, struct slice new, struct err *err);

/* The first byte of the value at hand, 0 at the end. */
static inline char json_pair_peek(struct json_pair *p, enum json_side side)
{
	return json_peek(&p->sides[side]);
}

/* Whether the present values, both objects or both arrays, have the same bytes: 1, and both are skipped, or
 * 0. */
int json_pair_pass_equal(struct json_pair *p) MUST_CHECK;

/* Enters the objects at hand. */
int json_pair_enter(struct json_pair *p) MUST_CHECK;

/* Steps to the next member, as json_next_member does. */
static inline int json_pair_next(struct json_pair *p, enum json_side side, bool *first, struct slice *ret_key)
{
	struct json_key key = {0};
	int more = json_next_member(&p->sides[side], first, &key);

	*ret_key = key.text;
	return more;
}

/* Passes by the value at hand and returns its bytes. */
static inline int json_pair_take(struct json_pair *p, enum json_side side, struct slice *ret)
{
	return json_take(&p->sides[side], ret);
}

/* Fails unless only white space follows in both. */
int json_pair_finish(struct json_pair *p) MUST_CHECK;

#endif
