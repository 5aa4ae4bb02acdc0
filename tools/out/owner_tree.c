/* owner_tree.c: see owner_tree.h. */
#include "tools/out/owner_tree.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/text_map.h"
#include "schema/base/visible.h"
#include "tools/out/bookkeeping.h"

#include <stdlib.h>

#define DEPTH_MAX 32 /* owners may go in circles */

struct owned {
	char *uid, *resource, *namespace, *name; /* all but the UID NULL as long as no event was read */
	uint64_t first_seq, last_seq;
	bool deleted, is_root, is_wanted, is_printed;
	struct owned **children;
	size_t count;
};

struct owner_tree {
	struct text_map by_uid;
	struct owned **items;
	size_t count;
	char *namespace;  /* of the roots; NULL: none of them was added yet */
	bool is_anywhere; /* they are of several, or of none */
	uint64_t done_seq;
	struct buf uid;
};

struct owner_tree *owner_tree_new(void)
{
	struct owner_tree *o = xcalloc(1, sizeof(*o));

	buf_init(&o->uid, LIMIT_OBJECT_BYTES);
	return o;
}

void owner_tree_free(struct owner_tree *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++) {
		free(o->items[i]->uid);
		free(o->items[i]->resource);
		free(o->items[i]->namespace);
		free(o->items[i]->name);
		free(o->items[i]->children);
		free(o->items[i]);
	}
	free(o->items);
	free(o->namespace);
	text_map_release(&o->by_uid);
	buf_release(&o->uid);
	free(o);
}

static struct owned *owned_of(struct owner_tree *o, const char *uid)
{
	struct owned *found = text_map_get(&o->by_uid, uid);

	if (found)
		return found;
	found = xcalloc(1, sizeof(*found));
	found->uid = xstrdup(uid);
	o->items = xgrow(o->items, o->count, sizeof(*o->items));
	o->items[o->count++] = found;
	text_map_put(&o->by_uid, found->uid, found);
	return found;
}

void owner_tree_add_root(struct owner_tree *o, const char *uid, const char *namespace)
{
	owned_of(o, uid)->is_root = true;
	if (!o->namespace)
		o->namespace = xstrdup(namespace);
	o->is_anywhere |= !*namespace || strcmp(o->namespace, namespace) != 0;
}

/* ---- reading ---- */

static void add_child(struct owned *owner, struct owned *child)
{
	for (size_t i = 0; i < owner->count; i++) {
		if (owner->children[i] == child)
			return;
	}
	owner->children = xgrow(owner->children, owner->count, sizeof(struct owned *));
	owner->children[owner->count++] = child;
}

static int take_owners(struct owner_tree *o, struct owned *child, struct slice references, struct err *err)
{
	struct slice reference, uid;
	struct json_iter it;
	int more, rc = 0;

	if (!references.len || references.ptr[0] != '[')
		return 0;
	if ((rc = json_iter_begin(references, &it, err)))
		return rc;
	while (rc >= 0 && (more = json_iter_next(&it, NULL, &reference, err)) > 0) {
		rc = json_get(reference, "uid", &uid, err);
		if (rc <= 0)
			continue;
		buf_clear(&o->uid);
		rc = json_unescape(uid, &o->uid, err);
		if (!rc)
			rc = buf_append(&o->uid, "", 1, err);
		if (!rc)
			add_child(owned_of(o, o->uid.ptr), child);
	}
	return rc < 0 ? rc : more;
}

static int take_object(struct owner_tree *o, const struct tape_resource *r, const struct event *e,
	struct slice object, struct err *err)
{
	struct slice references;
	char *uid = slice_dup(e->uid);
	struct owned *item = owned_of(o, uid);
	int rc;

	free(uid);
	if (!item->name) {
		item->resource = xasprintf("%s%s%s", r->resource, *r->apigroup ? "." : "", r->apigroup);
		item->namespace = slice_dup(e->namespace);
		item->name = slice_dup(e->name);
		item->first_seq = e->seq;
	}
	item->first_seq = e->seq < item->first_seq ? e->seq : item->first_seq;
	if (e->seq >= item->last_seq) {
		item->last_seq = e->seq;
		item->deleted = e->type == EVENT_DELETED;
	}
	rc = json_get(object, "$.metadata.ownerReferences", &references, err);
	return rc > 0 ? take_owners(o, item, references, err) : rc;
}

static int take_live(struct owner_tree *o, struct tape *t, const struct tape_live *live, struct err *err)
{
	const struct event e = {.seq = live->seq,
		.type = EVENT_MODIFIED,
		.namespace = live->namespace,
		.name = live->name,
		.uid = live->uid};
	const struct tape_resource *r = tape_resource_by_id(t, live->resource);
	struct slice object;
	int rc;

	if (!r || is_bookkeeping(r) || !live->uid.len ||
		(!o->is_anywhere && !slice_is(live->namespace, o->namespace)))
		return 0;
	rc = tape_object(t, live->seq, &object, err);
	return rc ? rc : take_object(o, r, &e, object, err);
}

/* A part, and a tape whose oldest segments are gone, begins with objects that need not have an event on it. */
static int read_beginning(struct owner_tree *o, struct tape *t, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc || info.first_seq <= 1)
		return rc;
	rc = tape_state_at(t, info.first_seq - 1, 0, &state, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < state->count && !rc; i++)
		rc = take_live(o, t, &state->live[i], err);
	tape_state_free(state);
	return rc;
}

int owner_tree_read(struct owner_tree *o, struct tape *t, uint64_t last_seq, struct err *err)
{
	struct tape_filter filter = {.seq_min = o->done_seq + 1,
		.seq_max = last_seq,
		.namespace = o->is_anywhere ? NULL : o->namespace};
	struct tape_cursor *cursor = NULL;
	struct event e;
	int more = 0, rc;

	if (last_seq <= o->done_seq)
		return 0;
	rc = o->done_seq ? 0 : read_beginning(o, t, err);
	if (!rc)
		rc = tape_cursor_open(t, &filter, TAPE_STORED, &cursor, err);
	while (!rc && (more = tape_cursor_next(cursor, &e, err)) > 0) {
		const struct tape_resource *r = tape_resource_by_id(t, e.resource);
		struct slice object;

		if (!r || is_bookkeeping(r) || !e.uid.len)
			continue;
		rc = tape_cursor_object(cursor, &object, err);
		if (!rc)
			rc = take_object(o, r, &e, object, err);
	}
	tape_cursor_close(cursor);
	o->done_seq = last_seq;
	return rc ? rc : more;
}

/* ---- what the roots own ---- */

/* Where a reference leads to another namespace, Kubernetes holds that there is no such owner. */
static bool is_owner(const struct owned *item, const struct owned *child)
{
	return !item->namespace || !*item->namespace || !child->namespace ||
	       strcmp(item->namespace, child->namespace) == 0;
}

static void want(struct owned *item, unsigned depth)
{
	if (item->is_wanted || depth > DEPTH_MAX)
		return;
	item->is_wanted = true;
	for (size_t i = 0; i < item->count; i++) {
		if (is_owner(item, item->children[i]))
			want(item->children[i], depth + 1);
	}
}

static void want_all(struct owner_tree *o)
{
	for (size_t i = 0; i < o->count; i++)
		o->items[i]->is_wanted = o->items[i]->is_printed = false;
	for (size_t i = 0; i < o->count; i++) {
		if (o->items[i]->is_root)
			want(o->items[i], 0);
	}
}

int owner_tree_uids(struct owner_tree *o, struct buf *to, struct err *err)
{
	const char *before = "[";
	int rc = 0;

	want_all(o);
	for (size_t i = 0; i < o->count && !rc; i++) {
		if (!o->items[i]->is_wanted)
			continue;
		rc = buf_append(to, before, 1, err);
		if (!rc)
			rc = json_escape(slice_of(o->items[i]->uid), to, err);
		before = ",";
	}
	if (!rc && *before == '[')
		rc = buf_append(to, "[", 1, err);
	return rc ? rc : buf_append(to, "]", 1, err);
}

static int by_first(const void *left, const void *right)
{
	const struct owned *a = *(struct owned *const *)left, *b = *(struct owned *const *)right;

	return (a->first_seq > b->first_seq) - (a->first_seq < b->first_seq);
}

/* Objects that were seen, each once, in the order in which they appeared. */
static void print_owned(struct owned *item, unsigned depth)
{
	if (item->is_printed || !item->name || depth > DEPTH_MAX)
		return;
	item->is_printed = true;
	for (unsigned i = 0; i < depth; i++)
		fputs("  ", stdout);
	visible_puts(stdout, item->resource);
	putchar(' ');
	visible_puts(stdout, item->namespace);
	fputs(*item->namespace ? "/" : "", stdout);
	visible_puts(stdout, item->name);
	printf("  events %llu to %llu%s\n", (unsigned long long)item->first_seq,
		(unsigned long long)item->last_seq, item->deleted ? ", deleted" : "");
	if (item->count)
		qsort(item->children, item->count, sizeof(*item->children), by_first);
	for (size_t i = 0; i < item->count; i++) {
		if (is_owner(item, item->children[i]))
			print_owned(item->children[i], depth + 1);
	}
}

/* A root that another root owns stands below that one. */
static bool is_owned_by_wanted(const struct owner_tree *o, const struct owned *item)
{
	for (size_t i = 0; i < o->count; i++) {
		for (size_t k = 0; o->items[i]->is_wanted && k < o->items[i]->count; k++) {
			if (o->items[i]->children[k] == item && o->items[i] != item &&
				is_owner(o->items[i], item))
				return true;
		}
	}
	return false;
}

void owner_tree_print(struct owner_tree *o)
{
	want_all(o);
	for (unsigned below = 0; below < 2; below++) {
		for (size_t i = 0; i < o->count; i++) {
			if (o->items[i]->is_root && (below || !is_owned_by_wanted(o, o->items[i])))
				print_owned(o->items[i], 0);
		}
	}
}
