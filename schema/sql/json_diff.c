/*
 * json_diff.c: see json_diff.h.
 *
 * A value is compared by `json_diff_compare`, which calls itself through `diff_compare_objects` and `compare_arrays` for
 * values of the same kind. Members and items of the level at hand lie on a stack of `part`s; the path to it
 * is kept in two buffers that are cut back on the way up.
 */
#include "schema/sql/json_diff_internal.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <limits.h>
#include <stdlib.h>

/* Arrays longer than this are matched by position: looking for what names their items takes n * n steps. */
#define MATCH_MAX     512
#define KEY_SHOWN_MAX 255 /* bytes of a name that is shown; items with longer ones have their number */

struct json_diff *json_diff_new(void)
{
	struct json_diff *d = xcalloc(1, sizeof(*d));

	buf_init(&d->texts, LIMIT_LIST_BYTES);
	buf_init(&d->path, LIMIT_OBJECT_BYTES);
	buf_init(&d->field, LIMIT_OBJECT_BYTES);
	buf_init(&d->name, LIMIT_OBJECT_BYTES);
	return d;
}

void json_diff_free(struct json_diff *d)
{
	if (!d)
		return;
	free(d->changes);
	free(d->parts);
	buf_release(&d->texts);
	buf_release(&d->path);
	buf_release(&d->field);
	buf_release(&d->name);
	free(d);
}

size_t json_diff_count(const struct json_diff *d)
{
	return d->count;
}

struct json_change json_diff_at(const struct json_diff *d, size_t index)
{
	const struct change_texts *c = &d->changes[index];

	return (struct json_change){{d->texts.ptr + c->path, c->path_len},
		{d->texts.ptr + c->field, c->field_len}, c->old_value, c->new_value};
}

static int json_diff_compare(struct json_diff *d, struct slice old, struct slice new, struct err *err);

/* ---- what was found ---- */

int diff_add_change(struct json_diff *d, struct slice old, struct slice new, struct err *err)
{
	struct change_texts c = {
		d->texts.len, d->path.len, d->texts.len + d->path.len, d->field.len, old, new};
	int rc;

	if ((rc = buf_append(&d->texts, d->path.ptr, d->path.len, err)) ||
		(rc = buf_append(&d->texts, d->field.ptr, d->field.len, err)))
		return rc;
	if (d->count == d->cap) {
		d->cap = d->cap ? 2 * d->cap : 64;
		d->changes = xrealloc(d->changes, d->cap * sizeof(*d->changes));
	}
	d->changes[d->count++] = c;
	return 0;
}

/* ---- equality ---- */

static bool is_string(struct slice value)
{
	return value.len >= 2 && value.ptr[0] == '"';
}

/* Strings are equal when they stand for the same text; numbers only as they are written. */
static bool same_value(struct slice a, struct slice b)
{
	return slice_equal(a, b) || (is_string(a) && is_string(b) && json_text_compare(a, b) == 0);
}

bool diff_same_name(struct slice a, struct slice b)
{
	return slice_equal(a, b) || json_text_compare(a, b) == 0;
}

/* ---- the path ---- */

static bool is_plain_name(struct slice name)
{
	static const bool is_mark[UCHAR_MAX + 1] = {['.'] = true,
		['['] = true,
		[']'] = true,
		['\''] = true,
		['"'] = true,
		['\\'] = true,
		[' '] = true};

	for (size_t i = 0; i < name.len; i++) {
		if (is_mark[(unsigned char)name.ptr[i]])
			return false;
	}
	return name.len > 0;
}

/* Puts a name between two texts; names may hold anything, so no format string sees them. */
static int append_name(
	struct buf *to, const char *before, struct slice name, const char *behind, struct err *err)
{
	int rc;

	if ((rc = buf_append(to, before, strlen(before), err)) ||
		(rc = buf_append(to, name.ptr, name.len, err)))
		return rc;
	return buf_append(to, behind, strlen(behind), err);
}

/* Without quotes and escapes; one that is malformed stays as it is. Valid until the next call. */
static struct slice name_of(struct json_diff *d, struct slice key)
{
	if (is_string(key))
		key = (struct slice){key.ptr + 1, key.len - 2};
	buf_clear(&d->name);
	if (!key.len || !memchr(key.ptr, '\\', key.len) || json_unescape(key, &d->name, NULL))
		return key;
	return buf_slice(&d->name);
}

int diff_enter_member(struct json_diff *d, struct slice key, struct err *err)
{
	struct slice name = name_of(d, key);
	bool plain = is_plain_name(name);
	const char *dot = d->field.len ? "." : "";
	int rc = append_name(&d->path, plain ? "." : ".\"", name, plain ? "" : "\"", err);

	if (rc)
		return rc;
	return append_name(&d->field, plain ? dot : "[", name, plain ? "" : "]", err);
}

/* By its name, as far as there is one. */
static int enter_item(struct json_diff *d, const struct part *item, struct err *err)
{
	struct slice key = name_of(d, item->key);
	int rc;

	rc = buf_printf(&d->path, err, "[%zu]", item->index);
	if (rc)
		return rc;
	if (key.len && key.len <= KEY_SHOWN_MAX)
		return append_name(&d->field, "[", key, "]", err);
	return buf_printf(&d->field, err, "[%zu]", item->index);
}

int diff_compare_below(
	struct json_diff *d, const struct part *old, const struct part *new, bool is_member, struct err *err)
{
	static const struct part absent = {0};
	const struct part *there = new ? new : old;
	struct slice old_value = old ? old->value : absent.value, new_value = new ? new->value : absent.value;
	size_t path_len = d->path.len, field_len = d->field.len;
	int rc;

	if (slice_equal(old_value, new_value))
		return 0;
	rc = is_member ? diff_enter_member(d, there->key, err) : enter_item(d, there, err);
	if (!rc)
		rc = json_diff_compare(d, old_value, new_value, err);
	d->path.len = path_len;
	d->field.len = field_len;
	return rc;
}

/* ---- taking a level apart ---- */

void diff_push_part(struct json_diff *d, struct part part)
{
	if (d->part_count == d->part_cap) {
		d->part_cap = d->part_cap ? 2 * d->part_cap : 256;
		d->parts = xrealloc(d->parts, d->part_cap * sizeof(*d->parts));
	}
	d->parts[d->part_count++] = part;
}

/* Pushes every member or item of the value. */
static int push_parts(struct json_diff *d, struct slice value, struct err *err)
{
	struct json_iter it;
	struct part part = {0};
	int more;
	int rc = json_iter_begin(value, &it, err);

	if (rc)
		return rc;
	while ((more = json_iter_next(&it, &part.key, &part.value, err)) > 0) {
		diff_push_part(d, part);
		part.index++;
	}
	return more;
}

static int push_level(
	struct json_diff *d, struct slice old, struct slice new, struct level *ret, struct err *err)
{
	struct level l = {.old = d->part_count};
	int rc = push_parts(d, old, err);

	if (rc)
		return rc;
	l.new = d->part_count;
	l.old_count = l.new - l.old;
	rc = push_parts(d, new, err);
	if (rc)
		return rc;
	l.new_count = d->part_count - l.new;
	*ret = l;
	return 0;
}

/* Compares one part with its counterpart; copies, because the stack may move below. */
int diff_compare_parts(
	struct json_diff *d, const struct part *old, const struct part *new, bool is_member, struct err *err)
{
	struct part old_copy = old ? *old : (struct part){0}, new_copy = new ? *new : (struct part){0};

	return diff_compare_below(d, old ? &old_copy : NULL, new ? &new_copy : NULL, is_member, err);
}

/* ---- arrays ---- */

/* Sets the key of every item to its member `name`; false when one has none or two are equal. */
static bool name_items(struct part *items, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (json_get(items[i].value, name, &items[i].key, NULL) <= 0)
			return false;
		for (size_t k = 0; k < i; k++) {
			if (same_value(items[i].key, items[k].key))
				return false;
		}
	}
	return true;
}

static bool name_by_value(struct part *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		items[i].key = items[i].value;
		for (size_t k = 0; k < i; k++) {
			if (same_value(items[i].key, items[k].key))
				return false;
		}
	}
	return true;
}

static bool all_begin_with(const struct part *items, size_t count, const char *set, bool wanted)
{
	for (size_t i = 0; i < count; i++) {
		if ((strchr(set, items[i].value.ptr[0]) != NULL) != wanted)
			return false;
	}
	return true;
}

/* Gives all items of both sides a key that is theirs alone; false when there is no such key. */
static bool name_both(struct json_diff *d, const struct level *l)
{
	static const char *const names[] = {"name", "type", "key", "uid", "ip", "topologyKey", "mountPath",
		"devicePath", "containerPort", "port", "host", "path"};
	struct part *old = d->parts + l->old, *new = d->parts + l->new;
	size_t count = l->old_count + l->new_count;

	if (l->old_count > MATCH_MAX || l->new_count > MATCH_MAX)
		return false;
	if (all_begin_with(old, count, "{[", false))
		return l->old_count != l->new_count && name_by_value(old, l->old_count) &&
		       name_by_value(new, l->new_count);
	if (!all_begin_with(old, count, "{", true))
		return false;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (name_items(old, l->old_count, names[i]) && name_items(new, l->new_count, names[i]))
			return true;
	}
	return false;
}

static void name_by_position(struct json_diff *d, const struct level *l)
{
	for (size_t i = 0; i < l->old_count + l->new_count; i++)
		d->parts[l->old + i].key = (struct slice){NULL, 0};
}

static struct part *find_named(
	struct json_diff *d, size_t base, size_t count, size_t likely, struct slice key)
{
	if (likely < count && same_value(d->parts[base + likely].key, key))
		return &d->parts[base + likely];
	for (size_t i = 0; i < count; i++) {
		if (same_value(d->parts[base + i].key, key))
			return &d->parts[base + i];
	}
	return NULL;
}

/* Sets *moved when an item stands in another place than it did. */
static int compare_named(struct json_diff *d, const struct level *l, bool *moved, struct err *err)
{
	int rc;

	for (size_t i = 0; i < l->new_count; i++) {
		struct part *new = &d->parts[l->new + i];
		struct part *old = find_named(d, l->old, l->old_count, i, new->key);

		if (old) {
			old->is_matched = true;
			*moved |= old != &d->parts[l->old + i];
		}
		rc = diff_compare_parts(d, old, new, false, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < l->old_count; i++) {
		if (!d->parts[l->old + i].is_matched &&
			(rc = diff_compare_parts(d, &d->parts[l->old + i], NULL, false, err)))
			return rc;
	}
	return 0;
}

static int compare_by_position(struct json_diff *d, const struct level *l, struct err *err)
{
	int rc;

	for (size_t i = 0; i < l->old_count || i < l->new_count; i++) {
		const struct part *old = i < l->old_count ? &d->parts[l->old + i] : NULL;
		const struct part *new = i < l->new_count ? &d->parts[l->new + i] : NULL;

		rc = diff_compare_parts(d, old, new, false, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int compare_arrays(struct json_diff *d, struct slice old, struct slice new, struct err *err)
{
	size_t base = d->part_count, count = d->count;
	struct level l = {0};
	bool moved = false;
	int rc = push_level(d, old, new, &l, err);

	if (!rc && name_both(d, &l)) {
		rc = compare_named(d, &l, &moved, err);
	} else if (!rc) {
		name_by_position(d, &l);
		rc = compare_by_position(d, &l, err);
	}
	if (!rc && moved && d->count == count)
		rc = diff_add_change(d, old, new, err);
	d->part_count = base;
	return rc;
}

/* ---- values ---- */

static int json_diff_compare(struct json_diff *d, struct slice old, struct slice new, struct err *err)
{
	bool same_kind = old.len && new.len &&old.ptr[0] == new.ptr[0];
	int rc;

	if (!same_kind || (old.ptr[0] != '{' && old.ptr[0] != '['))
		return same_value(old, new) ? 0 : diff_add_change(d, old, new, err);
	if (old.ptr[0] == '{')
		return diff_compare_objects(d, old, new, err);
	if (d->depth >= LIMIT_JSON_DEPTH)
		return err_set(
			err, ERR_TOO_LARGE, "cannot compare JSON deeper than %d levels", LIMIT_JSON_DEPTH);
	d->depth++;
	rc = compare_arrays(d, old, new, err);
	d->depth--;
	return rc;
}

int json_diff_make(struct json_diff *d, struct slice old, struct slice new, bool with_noise, struct err *err)
{
	int rc;

	old = json_trim(old);
	new = json_trim(new);
	d->count = d->part_count = d->depth = 0;
	d->with_noise = with_noise;
	d->met_managers = false;
	buf_clear(&d->texts);
	buf_clear(&d->path);
	buf_clear(&d->field);
	if (slice_equal(old, new))
		return 0;
	rc = buf_append(&d->path, "$", 1, err);
	if (rc)
		return rc;
	return json_diff_compare(d, old, new, err);
}
