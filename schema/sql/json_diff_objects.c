/* json_diff_objects.c: two objects, member by member; see json_diff.h. */
#include "schema/base/json_pair.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/sql/json_diff_internal.h"

#include <stdlib.h>

static bool is_noise(const struct json_diff *d, struct slice key)
{
	return !d->with_noise && d->depth == 2 && slice_is(buf_slice(&d->field), "metadata") &&
	       (slice_is(key, "managedFields") || slice_is(key, "resourceVersion"));
}

static int by_key(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = json_text_compare(x->key, y->key);

	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorted by name, of equal names only the last: the one that counts. Returns how many are left. */
static size_t sort_members(struct part *members, size_t count)
{
	size_t kept = 0;

	qsort(members, count, sizeof(*members), by_key);
	for (size_t i = 0; i < count; i++) {
		if (kept && diff_same_name(members[kept - 1].key, members[i].key))
			kept--;
		members[kept++] = members[i];
	}
	return kept;
}

/* They are found on the way, and asked for later. */
static void note_managers(struct json_diff *d, struct slice key, struct slice old, struct slice new)
{
	if (!slice_is(key, "managedFields"))
		return;
	d->met_managers = true;
	d->old_managers = old;
	d->new_managers = new;
}

bool json_diff_managers(const struct json_diff *d, struct slice *ret_old, struct slice *ret_new)
{
	*ret_old = d->old_managers;
	*ret_new = d->new_managers;
	return d->met_managers;
}

static int compare_members(
	struct json_diff *d, const struct part *old, const struct part *new, struct err *err)
{
	struct slice key = old ? old->key : new->key, none = {NULL, 0};

	if (!is_noise(d, key))
		return diff_compare_parts(d, old, new, true, err);
	note_managers(d, key, old ? old->value : none, new ? new->value : none);
	return 0;
}

/* Walks two sorted runs side by side. */
static int merge_members(struct json_diff *d, const struct level *l, struct err *err)
{
	size_t i = 0, k = 0;
	int rc = 0;

	while ((i < l->old_count || k < l->new_count) && !rc) {
		const struct part *old = i < l->old_count ? &d->parts[l->old + i] : NULL;
		const struct part *new = k < l->new_count ? &d->parts[l->new + k] : NULL;
		int order = !old ? 1 : !new ? -1 : json_text_compare(old->key, new->key);

		i += order <= 0;
		k += order >= 0;
		rc = compare_members(d, order <= 0 ? old : NULL, order >= 0 ? new : NULL, err);
	}
	return rc;
}

/* Two objects that are being walked: as long as both have the same members in the same order, which is how Kubernetes writes
 * them, a member is compared where it stands. From the first one on that differs in its name, the rest is sorted. */
struct object_walk {
	struct json_pair *pair;
	const char *begin[2];
	bool first[2];
	int more[2];           /* as json_next_member says it */
	struct slice key[2];   /* of the member at hand */
	size_t names, count;   /* of the members that are done: their place on the stack, how many of them */
	size_t changes, texts; /* as they were before */
};

static int step_both(struct object_walk *w)
{
	for (enum json_side side = JSON_OLD; side <= JSON_NEW; side++) {
		w->more[side] = json_pair_next(w->pair, side, &w->first[side], &w->key[side]);
		if (w->more[side] < 0)
			return w->more[side];
	}
	return 0;
}

static int take_both(struct json_pair *p, struct slice *old, struct slice *new)
{
	int rc = json_pair_take(p, JSON_OLD, old);

	return rc ? rc : json_pair_take(p, JSON_NEW, new);
}

static int walk_objects(struct json_diff *d, struct json_pair *p, struct err *err);

/* Compares the values at hand; `key` names them. */
static int compare_at_hand(struct json_diff *d, struct json_pair *p, struct slice key, struct err *err)
{
	char old_kind = json_pair_peek(p, JSON_OLD), new_kind = json_pair_peek(p, JSON_NEW);
	size_t path_len = d->path.len, field_len = d->field.len;
	struct part old = {.key = key}, new = {.key = key};
	int rc;

	if (old_kind == new_kind && (old_kind == '{' || old_kind == '[')) {
		rc = json_pair_pass_equal(p);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (old_kind != '{' || new_kind != '{') {
		rc = take_both(p, &old.value, &new.value);
		return rc ? rc : diff_compare_below(d, &old, &new, true, err);
	}
	rc = diff_enter_member(d, key, err);
	if (!rc)
		rc = walk_objects(d, p, err);
	d->path.len = path_len;
	d->field.len = field_len;
	return rc;
}

/* A member that both have. */
static int walk_member(struct json_diff *d, struct object_walk *w, struct err *err)
{
	struct slice key = w->key[JSON_NEW], old, new;
	int rc;

	diff_push_part(d, (struct part){.key = key, .index = w->count++});
	if (!is_noise(d, key))
		return compare_at_hand(d, w->pair, key, err);
	rc = take_both(w->pair, &old, &new);
	if (!rc)
		note_managers(d, key, old, new);
	return rc;
}

/* Pushes the members of one side from the one at hand on; returns how many, or negative. */
static int push_rest(struct json_diff *d, struct object_walk *w, enum json_side side, size_t *ret_count)
{
	struct part part = {.index = 0};
	size_t base = d->part_count;
	int rc = 0;

	while (w->more[side] > 0 && !rc) {
		part.key = w->key[side];
		rc = json_pair_take(w->pair, side, &part.value);
		if (!rc)
			diff_push_part(d, part);
		part.index++;
		if (!rc)
			w->more[side] = json_pair_next(w->pair, side, &w->first[side], &w->key[side]);
	}
	*ret_count = d->part_count - base;
	return rc ? rc : w->more[side];
}

/* Whether two sorted runs have a name in common. */
static bool share_name(const struct part *a, size_t a_count, const struct part *b, size_t b_count)
{
	for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
		int order = json_text_compare(a[i].key, b[k].key);

		if (order == 0)
			return true;
		i += order < 0;
		k += order > 0;
	}
	return false;
}

/* Objects in which a name stands twice, and which have not the same names in the same order, differ as a whole. */
static int differ_as_a_whole(struct json_diff *d, struct object_walk *w, struct err *err)
{
	struct slice values[2];

	for (enum json_side side = JSON_OLD; side <= JSON_NEW; side++)
		values[side] =
			(struct slice){w->begin[side], (size_t)(w->pair->sides[side].at - w->begin[side])};
	d->count = w->changes;
	d->texts.len = w->texts;
	return diff_add_change(d, values[JSON_OLD], values[JSON_NEW], err);
}

static int compare_rest(struct json_diff *d, struct object_walk *w, struct err *err)
{
	struct level l = {.old = d->part_count};
	struct part *done;
	size_t count = w->count;
	int rc = push_rest(d, w, JSON_OLD, &l.old_count);

	l.new = d->part_count;
	if (!rc)
		rc = push_rest(d, w, JSON_NEW, &l.new_count);
	if (rc)
		return rc;
	done = d->parts + w->names;
	w->count = sort_members(done, w->count);
	l.old_count = sort_members(d->parts + l.old, l.old_count);
	l.new_count = sort_members(d->parts + l.new, l.new_count);
	if (w->count < count || share_name(done, w->count, d->parts + l.old, l.old_count) ||
		share_name(done, w->count, d->parts + l.new, l.new_count))
		return differ_as_a_whole(d, w, err);
	return merge_members(d, &l, err);
}

static int walk_members(struct json_diff *d, struct object_walk *w, struct err *err)
{
	int rc;

	while (!(rc = step_both(w)) && w->more[JSON_OLD] && w->more[JSON_NEW]) {
		if (!diff_same_name(w->key[JSON_OLD], w->key[JSON_NEW]))
			return compare_rest(d, w, err);
		rc = walk_member(d, w, err);
		if (rc)
			return rc;
	}
	return rc || !(w->more[JSON_OLD] || w->more[JSON_NEW]) ? rc : compare_rest(d, w, err);
}

/* Both stand on objects, and after them when it has ended. */
static int walk_objects(struct json_diff *d, struct json_pair *p, struct err *err)
{
	struct object_walk w = {.pair = p,
		.begin = {p->sides[JSON_OLD].at, p->sides[JSON_NEW].at},
		.first = {true, true},
		.names = d->part_count,
		.changes = d->count,
		.texts = d->texts.len};
	int rc;

	if (d->depth >= LIMIT_JSON_DEPTH)
		return err_set(
			err, ERR_TOO_LARGE, "cannot compare JSON deeper than %d levels", LIMIT_JSON_DEPTH);
	d->depth++;
	rc = json_pair_enter(p);
	if (!rc)
		rc = walk_members(d, &w, err);
	d->part_count = w.names;
	d->depth--;
	return rc;
}

int diff_compare_objects(struct json_diff *d, struct slice old, struct slice new, struct err *err)
{
	struct json_pair p = json_pair_over(old, new, err);
	int rc = walk_objects(d, &p, err);

	return rc ? rc : json_pair_finish(&p);
}
