/*
 * managed_fields.c: see managed_fields.h.
 *
 * fieldsV1 is a tree whose members are "f:NAME" for a member of the object, "k:{...}" for the item of a list
 * that has these members, "v:VALUE" for the item that is that value; {} means the field and all below it. The
 * path is walked through the object and the tree side by side.
 */
#include "schema/sql/managed_fields.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static const char entries_path[] = "$.metadata.managedFields";

/* One step of the path: a member (name) or an item (index, name empty). */
struct step {
	struct slice name;
	size_t index;
};

/* Takes the next step off the path; false at its end. */
static bool next_step(struct slice *path, struct step *ret)
{
	const char *at = path->ptr, *end = at + path->len, *close;

	if (at == end)
		return false;
	if (*at == '[') {
		*ret = (struct step){{NULL, 0}, strtoull(at + 1, NULL, 10)};
		close = memchr(at, ']', (size_t)(end - at));
		at = close ? close + 1 : end;
	} else if (end - at > 1 && at[1] == '"') {
		close = memchr(at + 2, '"', (size_t)(end - at - 2));
		*ret = (struct step){{at + 2, (size_t)((close ? close : end) - at - 2)}, 0};
		at = close ? close + 1 : end;
	} else {
		for (close = at + 1; close < end && *close != '.' && *close != '['; close++)
			;
		*ret = (struct step){{at + 1, (size_t)(close - at - 1)}, 0};
		at = close;
	}
	*path = (struct slice){at, (size_t)(end - at)};
	return true;
}

/* ---- looking things up ---- */

/* Calls `is_it` for each member or item; 1 and its value when it says so. */
static int managed_fields_find(struct slice value,
	bool (*is_it)(struct slice key, struct slice value, void *context), void *context, struct slice *ret,
	struct err *err)
{
	struct json_iter it;
	struct slice key = {NULL, 0}, item;
	int more, rc;

	if (value.len == 0 || (value.ptr[0] != '{' && value.ptr[0] != '['))
		return 0;
	rc = json_iter_begin(value, &it, err);
	if (rc)
		return rc;
	while ((more = json_iter_next(&it, &key, &item, err)) > 0) {
		if (is_it(key, item, context)) {
			*ret = item;
			return 1;
		}
	}
	return more;
}

/* Whether a key of JSON stands for this text. */
static bool stands_for(struct slice key, struct slice text)
{
	struct buf plain;
	bool same;

	if (!key.len || !memchr(key.ptr, '\\', key.len))
		return slice_equal(key, text);
	buf_init(&plain, key.len);
	same = json_unescape(key, &plain, NULL) == 0 && slice_equal(buf_slice(&plain), text);
	buf_release(&plain);
	return same;
}

static bool is_named(struct slice key, struct slice value, void *context)
{
	const struct slice *name = context;

	(void)value;
	return stands_for(key, *name);
}

static bool is_field_named(struct slice key, struct slice value, void *context)
{
	const struct slice *name = context;

	(void)value;
	return slice_skip(&key, "f:") && stands_for(key, *name);
}

static bool same_value(struct slice a, struct slice b)
{
	bool are_strings = a.len && b.len && a.ptr[0] == '"' && b.ptr[0] == '"';

	return slice_equal(a, b) || (are_strings && json_text_compare(a, b) == 0);
}

static bool is_at(struct slice key, struct slice value, void *context)
{
	size_t *left = context;

	(void)key, (void)value;
	return (*left)-- == 0;
}

/* Whether every member of the key's JSON (unescaped) is a member of the item with the same value. */
static bool has_members(struct slice wanted, struct slice item)
{
	struct json_iter it;
	struct slice key, value, have = {NULL, 0};
	int more;

	if (item.len == 0 || item.ptr[0] != '{' || json_iter_begin(wanted, &it, NULL))
		return false;
	while ((more = json_iter_next(&it, &key, &value, NULL)) > 0) {
		if (managed_fields_find(item, is_named, &key, &have, NULL) <= 0 || !same_value(have, value))
			return false;
	}
	return more == 0;
}

/* Whether a "k:..." or "v:..." of the tree means this item. */
static bool is_field_of_item(struct slice key, struct slice value, void *context)
{
	const struct slice *item = context;
	struct slice inner = {key.ptr + 2, key.len - 2};
	struct buf text;
	bool matches = false;

	(void)value;
	if (key.len < 3 || key.ptr[1] != ':' || (key.ptr[0] != 'k' && key.ptr[0] != 'v'))
		return false;
	buf_init(&text, LIMIT_OBJECT_BYTES);
	if (json_unescape(inner, &text, NULL) == 0)
		matches = key.ptr[0] == 'k' ? has_members(buf_slice(&text), *item)
					    : same_value(buf_slice(&text), *item);
	buf_release(&text);
	return matches;
}

/* ---- ownership ---- */

static bool is_empty_object(struct slice value)
{
	return value.len == 2 && value.ptr[0] == '{';
}

/* 1 when the tree owns the path of the object, or a part of what is there. */
static int owns(struct slice tree, struct slice object, struct slice path, struct err *err)
{
	struct step step;
	int found = 1;

	if (path.len && path.ptr[0] == '$')
		path = (struct slice){path.ptr + 1, path.len - 1};
	while (found > 0 && !is_empty_object(tree) && next_step(&path, &step)) {
		struct slice value = {NULL, 0};
		bool is_item = step.name.ptr == NULL;

		found = managed_fields_find(object, is_item ? is_at : is_named,
			is_item ? (void *)&step.index : (void *)&step.name, &value, err);
		object = found > 0 ? value : (struct slice){NULL, 0};
		if (found >= 0)
			found = is_item ? managed_fields_find(tree, is_field_of_item, &object, &tree, err)
					: managed_fields_find(tree, is_field_named, &step.name, &tree, err);
	}
	return found;
}

static bool equals(struct slice key, struct slice value, void *context)
{
	(void)key;
	return slice_equal(value, *(const struct slice *)context);
}

/* What is known after having looked at some of the entries. */
struct verdict {
	struct slice changed_owner, changed, owner;
	size_t changed_count;
};

/* The name between its quotes: 1, 0 when the entry has none. */
static int manager_of(struct slice entry, struct slice *ret, struct err *err)
{
	int found = json_get(entry, "manager", ret, err);

	if (found <= 0 || ret->len < 2)
		return found < 0 ? found : 0;
	*ret = (struct slice){ret->ptr + 1, ret->len - 2};
	return 1;
}

static bool same_member(struct slice a, struct slice b, const char *name)
{
	struct slice x = {NULL, 0}, y = {NULL, 0};

	return json_get(a, name, &x, NULL) >= 0 && json_get(b, name, &y, NULL) >= 0 && slice_equal(x, y);
}

static bool names_replicas(struct slice json)
{
	static const char field[] = "\"f:replicas\":";

	return memmem(json.ptr, json.len, field, sizeof(field) - 1) != NULL;
}

/* Of a spec: those of a status are written by controllers. */
static bool has_replicas(struct slice entry)
{
	struct slice subresource;

	return names_replicas(entry) && json_get(entry, "subresource", &subresource, NULL) == 0;
}

bool managed_fields_lost_replicas(struct slice old_entries, struct slice entry)
{
	static const char *const names[] = {"manager", "time", "operation", "subresource", "apiVersion"};
	struct slice old;
	struct json_iter it;
	bool same = false;

	if (!old_entries.len || old_entries.ptr[0] != '[' || !names_replicas(old_entries) ||
		has_replicas(entry) || json_iter_begin(old_entries, &it, NULL))
		return false;
	while (!same && json_iter_next(&it, NULL, &old, NULL) > 0) {
		same = has_replicas(old);
		for (size_t i = 0; i < COUNT_OF(names) && same; i++)
			same = same_member(old, entry, names[i]);
	}
	return same;
}

static int look_at_entry(struct verdict *v, struct slice entry, struct slice old_entries, struct slice new,
	struct slice path, struct err *err)
{
	struct slice same, manager, tree;
	int is_old = managed_fields_find(old_entries, equals, &entry, &same, err), found;

	if (is_old < 0)
		return is_old;
	is_old = is_old || managed_fields_lost_replicas(old_entries, entry);
	found = manager_of(entry, &manager, err);
	if (found <= 0)
		return found;
	found = json_get(entry, "fieldsV1", &tree, err);
	if (found > 0)
		found = owns(tree, new, path, err);
	if (found > 0 && !is_old)
		v->changed_owner = manager;
	if (found > 0)
		v->owner = manager;
	if (!is_old) {
		v->changed = manager;
		v->changed_count++;
	}
	return found < 0 ? found : 0;
}

int managed_fields_entries(struct slice old, struct slice new, struct managed_entries *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct managed_entries){{NULL, 0}, {NULL, 0}};
	if (old.len)
		rc = json_get(old, entries_path, &ret->old, err);
	if (rc >= 0)
		rc = json_get(new, entries_path, &ret->new, err);
	return rc < 0 ? rc : 0;
}

/* 1, or 0 when the new version has no entries. */
static int walk_entries(const struct managed_entries *entries, struct json_iter *ret, struct err *err)
{
	int rc;

	if (!entries->new.len || entries->new.ptr[0] != '[')
		return 0;
	rc = json_iter_begin(entries->new, ret, err);
	return rc ? rc : 1;
}

int managed_fields_owner(const struct managed_entries *entries, struct slice new, struct slice path,
	struct slice *ret_manager, struct err *err)
{
	struct verdict v = {0};
	struct json_iter it;
	struct slice entry;
	int more = walk_entries(entries, &it, err), rc;

	if (more <= 0)
		return more;
	while ((more = json_iter_next(&it, NULL, &entry, err)) > 0) {
		if ((rc = look_at_entry(&v, entry, entries->old, new, path, err)) < 0)
			return rc;
	}
	if (more < 0)
		return more;
	*ret_manager = v.changed_owner.ptr ? v.changed_owner : v.changed_count == 1 ? v.changed : v.owner;
	return ret_manager->ptr != NULL;
}

int managed_fields_manager(
	struct slice old, struct slice new, struct slice path, struct slice *ret_manager, struct err *err)
{
	struct managed_entries entries;
	int rc = managed_fields_entries(old, new, &entries, err);

	return rc ? rc : managed_fields_owner(&entries, new, path, ret_manager, err);
}

/* Notes the manager of an entry that is new or other. */
static int join_writer(struct slice entry, struct slice *writer, bool *several, struct err *err)
{
	struct slice manager;
	int found = manager_of(entry, &manager, err);

	if (found <= 0)
		return found;
	*several |= writer->ptr && !slice_equal(*writer, manager);
	*writer = manager;
	return 0;
}

/* The entries of a version, each measured once. */
struct entry_list {
	struct slice *items;
	size_t count;
};

static int list_entries(struct slice entries, struct entry_list *ret, struct err *err)
{
	struct json_iter it;
	struct slice entry;
	int more = 0, rc = 0;

	if (entries.len && entries.ptr[0] == '[')
		rc = json_iter_begin(entries, &it, err);
	else
		return 0;
	while (!rc && (more = json_iter_next(&it, NULL, &entry, err)) > 0) {
		ret->items = xgrow(ret->items, ret->count, sizeof(*ret->items));
		ret->items[ret->count++] = entry;
	}
	return rc ? rc : more;
}

/* Entries that stay mostly keep their place. */
static bool is_listed(const struct entry_list *old, size_t likely, struct slice entry)
{
	if (likely < old->count && slice_equal(old->items[likely], entry))
		return true;
	for (size_t i = 0; i < old->count; i++) {
		if (slice_equal(old->items[i], entry))
			return true;
	}
	return false;
}

static int find_only_writer(const struct managed_entries *entries, const struct entry_list *old,
	struct slice *ret, struct err *err)
{
	struct slice entry;
	struct json_iter it;
	bool several = false;
	int more = walk_entries(entries, &it, err), rc = 0;

	if (more <= 0)
		return more;
	for (size_t i = 0; !several && (more = json_iter_next(&it, NULL, &entry, err)) > 0; i++) {
		if (!is_listed(old, i, entry) && !managed_fields_lost_replicas(entries->old, entry))
			rc = join_writer(entry, ret, &several, err);
		if (rc < 0)
			return rc;
	}
	return more < 0 ? more : !several && ret->ptr;
}

int managed_fields_writer(const struct managed_entries *entries, struct slice *ret_manager, struct err *err)
{
	struct entry_list old = {.items = NULL};
	struct slice writer = {NULL, 0};
	int found = list_entries(entries->old, &old, err);

	if (!found)
		found = find_only_writer(entries, &old, &writer, err);
	if (found > 0)
		*ret_manager = writer;
	free(old.items);
	return found;
}
