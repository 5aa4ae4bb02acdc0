/* sweep_content.c: see sweep_content.h. */
#include "tools/sweep/sweep_content.h"

#include "schema/base/json_scan.h"

#include <stdlib.h>

#define STATUS "status"

/* The contents in two runs, and what each program changed of the tape's version; NULL: all is the program's. */
struct pair {
	struct json_diff *between, *changed[2];
};

/* ---- fields ---- */

/* "spec.a[b]" is in "spec.a", in "spec" and in "", but not in "spe". */
static bool is_in(struct slice field, struct slice outer)
{
	return !outer.len || (field.len >= outer.len && memcmp(field.ptr, outer.ptr, outer.len) == 0 &&
				     (field.len == outer.len || field.ptr[outer.len] == '.' ||
					     field.ptr[outer.len] == '['));
}

/* The last step is [name], of an item or of a member with more than a plain name. */
static size_t before_last_bracket(struct slice field)
{
	while (field.len && field.ptr[field.len - 1] != '[')
		field.len--;
	return field.len ? field.len - 1 : 0;
}

/* The caller frees. */
static char *pattern_of(const struct sweep_effect *of, const struct json_change *d)
{
	bool is_one_sided = !d->old_value.len || !d->new_value.len;
	struct slice field = is_in(d->field, slice_of(STATUS)) ? slice_of(STATUS) : d->field;
	bool has_name = is_one_sided && field.len && field.ptr[field.len - 1] == ']';

	if (has_name)
		field.len = before_last_bracket(field);
	return xasprintf("%s%s%.*s%s", of->resource, field.len || has_name ? " " : "", (int)field.len,
		field.ptr, has_name ? "[*]" : "");
}

/* Whether the pattern of that resource covers the field. */
static bool covers(struct slice pattern, struct slice field)
{
	size_t len = pattern.len;

	if (len < 3 || memcmp(pattern.ptr + len - 3, "[*]", 3) != 0)
		return is_in(field, pattern);
	pattern.len = len - 3;
	return field.len > pattern.len && field.ptr[pattern.len] == '[' && is_in(field, pattern);
}

static bool is_unsteady(const struct text_list *unsteady, const char *resource, struct slice field)
{
	size_t len = strlen(resource);

	for (size_t i = 0; i < unsteady->count; i++) {
		const char *pattern = unsteady->items[i];

		if (strncmp(pattern, resource, len) != 0 || (pattern[len] && pattern[len] != ' '))
			continue;
		if (covers(slice_of(pattern + len + (pattern[len] == ' ')), field))
			return true;
	}
	return false;
}

static bool counts(const struct sweep_measure *m, const char *resource, struct slice field)
{
	return !is_unsteady(&m->unsteady, resource, field) &&
	       !(m->ignored && compare_rules_skip_path(m->ignored, resource, field));
}

/* ---- whose they are ---- */

static void pair_release(struct pair *p)
{
	json_diff_free(p->between);
	json_diff_free(p->changed[0]);
	json_diff_free(p->changed[1]);
}

/* False if one of them is not JSON. */
static bool pair_make(struct pair *p, const struct sweep_effect *const sides[2])
{
	int rc;

	*p = (struct pair){.between = json_diff_new()};
	rc = json_diff_make(p->between, slice_of(sides[0]->content), slice_of(sides[1]->content), true, NULL);
	for (int i = 0; i < 2 && rc == 0; i++) {
		if (!sides[i]->tape)
			continue;
		p->changed[i] = json_diff_new();
		rc = json_diff_make(
			p->changed[i], slice_of(sides[i]->tape), slice_of(sides[i]->content), true, NULL);
	}
	return rc == 0;
}

/* An item of a list that came or went; where another stands in its place, the change is of that place: list[0]. */
static bool is_in_place_of(const struct json_change *c, const struct json_change *d)
{
	struct slice item = d->old_value.len ? d->old_value : d->new_value;
	size_t list = before_last_bracket(d->field);
	bool is_place = list && before_last_bracket(c->field) == list &&
			memcmp(c->field.ptr, d->field.ptr, list) == 0;

	return is_place && (slice_equal(c->old_value, item) || slice_equal(c->new_value, item));
}

/* Whether the program of that side has changed something in the field that differs. Of what it has added as a whole it has
 * added that part if it is there. */
static bool has_changed(const struct pair *p, int side, const struct json_change *d)
{
	struct slice value = side ? d->new_value : d->old_value;

	if (!p->changed[side])
		return true;
	for (size_t i = 0; i < json_diff_count(p->changed[side]); i++) {
		struct json_change c = json_diff_at(p->changed[side], i);

		if (is_in(c.field, d->field) ||
			(is_in(d->field, c.field) && (c.old_value.len || value.len)) || is_in_place_of(&c, d))
			return true;
	}
	return false;
}

static bool is_digits(struct slice json)
{
	for (size_t i = 1; i + 1 < json.len; i++) {
		if (json.ptr[i] < '0' || json.ptr[i] > '9')
			return false;
	}
	return json.len > 2 && *json.ptr == '"';
}

/* Which version of an object its program saw depends on when it looked: one that a write took, or one of the tape. */
static bool are_versions(const struct json_change *d)
{
	static const char version[] = "\"" SWEEP_VERSION "\"";

	return (slice_is(d->old_value, version) && is_digits(d->new_value)) ||
	       (is_digits(d->old_value) && slice_is(d->new_value, version));
}

/* Null counts as absent, and so does what has nothing in it: Go's types print an empty time as null, and an empty struct or list as
 * such, others leave them out. */
static bool is_nothing(struct slice value)
{
	return !value.len || slice_is(value, "null") || slice_is(value, "{}") || slice_is(value, "[]");
}

static bool are_nothing(const struct json_change *d)
{
	return is_nothing(d->old_value) && is_nothing(d->new_value);
}

/* A revision counts the states that the program has seen: fewer, or one of them twice. */
static bool is_revision(const struct json_change *d)
{
	bool is_number =
		slice_ends(d->field, "/revision]") && is_digits(d->old_value) && is_digits(d->new_value);

	return slice_begins(d->field, "metadata.annotations[") &&
	       (is_number || slice_ends(d->field, "/revision-history]"));
}

/* For people, and of the last thing that happened; its status and its reason are for programs. */
static bool is_message_of_condition(const struct json_change *d)
{
	return slice_begins(d->field, STATUS ".conditions[") && slice_ends(d->field, "].message") &&
	       d->old_value.len && d->new_value.len;
}

/* Some programs write that a condition is False only if they have seen it true before. Readers take a condition that is absent
 * for one that is not true. */
static bool is_condition_that_was(const struct json_change *d)
{
	struct slice status;

	return slice_begins(d->field, STATUS ".conditions[") && slice_ends(d->field, "]") &&
	       !d->new_value.len && json_get(d->old_value, "status", &status, NULL) > 0 &&
	       slice_is(status, "\"False\"");
}

/* Who takes up an older state again gives it the highest number. */
static bool is_number_of_state(const char *resource, const struct json_change *d)
{
	return strcmp(resource, "controllerrevisions.apps") == 0 && slice_is(d->field, "revision");
}

static bool tells_of_past(const char *resource, const struct json_change *d)
{
	return is_revision(d) || is_number_of_state(resource, d) || is_condition_that_was(d) ||
	       is_message_of_condition(d);
}

bool sweep_content_each(const struct sweep_measure *m, const struct sweep_effect *const sides[2],
	content_on_difference call, void *context)
{
	const struct json_change all = {
		.old_value = slice_of(sides[0]->content), .new_value = slice_of(sides[1]->content)};
	struct pair p;
	bool stops = false;

	if (strcmp(sides[0]->content, sides[1]->content) == 0)
		return false;
	if (!pair_make(&p, sides))
		stops = counts(m, sides[0]->resource, all.field) && call(context, &all);
	else {
		for (size_t i = 0; i < json_diff_count(p.between) && !stops; i++) {
			struct json_change d = json_diff_at(p.between, i);

			if (counts(m, sides[0]->resource, d.field) && !are_versions(&d) && !are_nothing(&d) &&
				!tells_of_past(sides[0]->resource, &d) &&
				(has_changed(&p, 0, &d) || has_changed(&p, 1, &d)))
				stops = call(context, &d);
		}
	}
	pair_release(&p);
	return stops;
}

/* ---- both questions ---- */

static char *value_of(struct slice value)
{
	return value.len ? slice_dup(value) : NULL;
}

static bool take_difference(void *context, const struct json_change *d)
{
	struct content_difference *ret = context;

	if (ret->count++ == 0) {
		ret->field = slice_dup(d->field);
		ret->without = value_of(d->old_value);
		ret->with = value_of(d->new_value);
	} else if (!ret->other) {
		ret->other = slice_dup(d->field);
	}
	return false;
}

bool sweep_content_differs(const struct sweep_measure *m, const struct sweep_effect *without,
	const struct sweep_effect *with, struct content_difference *ret)
{
	const struct sweep_effect *const sides[2] = {without, with};

	*ret = (struct content_difference){0};
	(void)sweep_content_each(m, sides, take_difference, ret);
	return ret->count;
}

void content_difference_release(struct content_difference *d)
{
	free(d->field);
	free(d->without);
	free(d->with);
	free(d->other);
}

struct lesson {
	const struct sweep_effect *of;
	struct text_list *to;
};

static bool take_lesson(void *context, const struct json_change *d)
{
	const struct lesson *l = context;
	char *pattern = pattern_of(l->of, d);

	(void)text_list_keep(l->to, pattern);
	free(pattern);
	return false;
}

void sweep_content_learn(
	struct sweep_measure *m, const struct sweep_effect *one, const struct sweep_effect *other)
{
	const struct sweep_effect *const sides[2] = {one, other};
	struct lesson lesson = {one, &m->unsteady};

	(void)sweep_content_each(m, sides, take_lesson, &lesson);
}
