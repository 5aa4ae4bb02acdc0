/*
 * go_value.h: JSON values as programs in Go print them that read them into maps: members sorted by name, numbers in their
 * shortest form, <, > and & escaped. kubectl prints so.
 */
#ifndef TOOLS_GO_VALUE_H
#define TOOLS_GO_VALUE_H

#include "schema/base/buf.h"

#define GO_INDENT 4 /* blanks a level, as kubectl has them */

/* Appends the value: on one line if `indent` is 0, else as MarshalIndent does, for a value `depth` levels
 * deep. ERR_PROTOCOL if it is not JSON. */
int go_json_put(struct slice value, int indent, int depth, struct buf *to, struct err *err) MUST_CHECK;

/* Appends the value as fmt.Print shows it: texts as they are, map[a:1 b:2], [x y], <nil>. */
int go_text_put(struct slice value, struct buf *to, struct err *err) MUST_CHECK;

/* A member or an item of a value. */
struct go_member {
	struct slice key, value; /* the key of an item is empty */
	struct buf name;         /* the unescaped key */
};

/* The members of an object sorted by name, each once, or the items of an array, to be freed by go_members_free();
 * of other values there are none. */
struct go_members {
	struct go_member *items;
	size_t count;
};
int go_members_of(struct slice value, struct go_members *ret, struct err *err) MUST_CHECK;
void go_members_free(struct go_members *m);

#endif
