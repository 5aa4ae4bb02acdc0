/* json_diff_internal.h: what json_diff.c (values, the path, arrays) and json_diff_objects.c share. */
#ifndef SCHEMA_SQL_JSON_DIFF_INTERNAL_H
#define SCHEMA_SQL_JSON_DIFF_INTERNAL_H

#include "schema/sql/json_diff.h"

/* A member of an object or an item of an array. */
struct part {
	struct slice key; /* member name, or what names the item; empty when nothing does */
	struct slice value;
	size_t index; /* place in its parent */
	bool is_matched;
};

struct change_texts {
	size_t path, path_len, field, field_len; /* in texts */
	struct slice old_value, new_value;
};

struct json_diff {
	struct change_texts *changes;
	size_t count, cap;
	struct part *parts;
	size_t part_count, part_cap;
	struct buf texts, path, field;
	struct buf name; /* of the member or item that is entered, without escapes */
	bool with_noise;
	unsigned depth;
	struct slice old_managers, new_managers; /* managedFields, where they were met */
	bool met_managers;
};

/* Two neighbouring runs of parts on the stack. Indexes, because the stack moves when it grows. */
struct level {
	size_t old, old_count, new, new_count;
};

/* json_diff.c */
int diff_add_change(struct json_diff *d, struct slice old, struct slice new, struct err *err) MUST_CHECK;
bool diff_same_name(struct slice a, struct slice b);
int diff_enter_member(struct json_diff *d, struct slice key, struct err *err) MUST_CHECK;
void diff_push_part(struct json_diff *d, struct part part);
/* Compares a member, or an item, with its counterpart, NULL where it is absent. The parts may not lie on the stack, which may
 * move below; diff_compare_parts copies them. */
int diff_compare_below(struct json_diff *d, const struct part *old, const struct part *new, bool is_member,
	struct err *err) MUST_CHECK;
int diff_compare_parts(struct json_diff *d, const struct part *old, const struct part *new, bool is_member,
	struct err *err) MUST_CHECK;

/* json_diff_objects.c */
int diff_compare_objects(struct json_diff *d, struct slice old, struct slice new, struct err *err) MUST_CHECK;

#endif
