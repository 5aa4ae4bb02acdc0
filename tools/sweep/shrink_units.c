/* shrink_units.c: what there is to take away from a tape; see shrink.h. */
#include "replayer/json/json_tree.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "tools/sweep/shrink.h"

#include <stdlib.h>

/* ---- sets ---- */

void shrink_set_release(struct shrink_set *set)
{
	for (size_t i = 0; set->names && i < set->count; i++)
		free(set->names[i]);
	free(set->names);
	free(set->kept);
	free(set->seqs);
	text_map_release(&set->places);
	*set = (struct shrink_set){.what = set->what};
}

void shrink_set_add(struct shrink_set *set, const char *name)
{
	if (name && text_map_get(&set->places, name))
		return;
	set->kept = xgrow(set->kept, set->count, sizeof(*set->kept));
	set->kept[set->count] = true;
	if (name) {
		set->names = xgrow(set->names, set->count, sizeof(*set->names));
		set->names[set->count] = xstrdup(name);
		text_map_put(&set->places, set->names[set->count], text_map_position(set->count));
	}
	set->count++;
}

size_t shrink_set_left(const struct shrink_set *set)
{
	size_t left = 0;

	for (size_t i = 0; i < set->count; i++)
		left += set->kept[i];
	return left;
}

/* What the set does not have is kept. */
static bool is_kept(const struct shrink_set *set, const char *name)
{
	void *place = text_map_get(&set->places, name);

	return !place || set->kept[text_map_position_of(place)];
}

/* ---- resources and objects ---- */

void shrink_find_resources(struct shrink *s)
{
	shrink_set_release(&s->resources);
	for (size_t i = 0; tape_resource_at(s->tape, i); i++)
		shrink_set_add(&s->resources, NULL);
}

static char *object_key(uint32_t resource, struct slice namespace, struct slice name)
{
	return xasprintf(
		"%u %.*s/%.*s", resource, (int)namespace.len, namespace.ptr, (int)name.len, name.ptr);
}

static bool is_resource_kept(const struct shrink *s, uint32_t id)
{
	return id > s->resources.count || s->resources.kept[id - 1];
}

static void add_object(struct shrink *s, uint32_t resource, struct slice namespace, struct slice name)
{
	char *key;

	if (!is_resource_kept(s, resource))
		return;
	key = object_key(resource, namespace, name);
	shrink_set_add(&s->objects, key);
	free(key);
}

static int each_event(struct shrink *s,
	int (*each)(struct shrink *s, struct tape_cursor *c, const struct event *e, struct err *err),
	struct err *err)
{
	const struct tape_filter all = {0};
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(s->tape, &all, TAPE_FORWARD, &c, err), rc = 0;

	if (more)
		return more;
	while (!rc && (more = tape_cursor_next(c, &e, err)) > 0)
		rc = each(s, c, &e, err);
	tape_cursor_close(c);
	return rc ? rc : more;
}

static int take_object(struct shrink *s, struct tape_cursor *c, const struct event *e, struct err *err)
{
	(void)c;
	(void)err;
	add_object(s, e->resource, e->namespace, e->name);
	return 0;
}

int shrink_find_objects(struct shrink *s, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int rc = tape_info(s->tape, &info, err);

	shrink_set_release(&s->objects);
	if (!rc)
		rc = tape_state_at(s->tape, info.first_seq ? info.first_seq - 1 : UINT64_MAX, 0, &state, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < state->count; i++)
		add_object(s, state->live[i].resource, state->live[i].namespace, state->live[i].name);
	tape_state_free(state);
	return each_event(s, take_object, err);
}

static bool is_object_kept(const struct shrink *s, const struct event *e)
{
	char *key;
	bool kept;

	if (!is_resource_kept(s, e->resource))
		return false;
	key = object_key(e->resource, e->namespace, e->name);
	kept = is_kept(&s->objects, key);
	free(key);
	return kept;
}

/* ---- events ---- */

/* Without its first event an object would be changed before it is there. */
static int take_event(struct shrink *s, struct tape_cursor *c, const struct event *e, struct err *err)
{
	struct shrink_set *set = &s->events;

	(void)c;
	(void)err;
	if (e->type == EVENT_ADDED || !is_object_kept(s, e))
		return 0;
	set->seqs = xgrow(set->seqs, set->count, sizeof(*set->seqs));
	set->seqs[set->count] = e->seq;
	shrink_set_add(set, NULL);
	return 0;
}

int shrink_find_events(struct shrink *s, struct err *err)
{
	shrink_set_release(&s->events);
	return each_event(s, take_event, err);
}

static int compare_seqs(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool is_event_kept(const struct shrink *s, uint64_t seq)
{
	const struct shrink_set *set = &s->events;
	const uint64_t *found =
		set->count ? bsearch(&seq, set->seqs, set->count, sizeof(seq), compare_seqs) : NULL;

	return !found || set->kept[found - set->seqs];
}

int shrink_wants(void *context, const struct event *e, struct err *err)
{
	const struct shrink *s = context;

	(void)err;
	return is_object_kept(s, e) && is_event_kept(s, e->seq);
}

/* ---- fields ---- */

/* Without these it is no object of that tape any more. */
static bool is_needed(const char *path)
{
	static const char *const needed[] = {"apiVersion", "kind", "metadata", "metadata.name",
		"metadata.namespace", "metadata.uid", "metadata.resourceVersion"};

	for (size_t i = 0; i < COUNT_OF(needed); i++) {
		if (strcmp(path, needed[i]) == 0)
			return true;
	}
	return false;
}

struct field_walk {
	struct shrink *s;
	const char *resource; /* its name, before the path */
	size_t depth;         /* 0: takes away what is not kept */
};

static void walk_fields(const struct field_walk *w, cJSON *node, const char *path, size_t depth);

static void walk_member(const struct field_walk *w, cJSON *node, cJSON *child, const char *path, size_t depth)
{
	char *own = *path ? xasprintf("%s.%s", path, child->string) : xstrdup(child->string);
	char *name = xasprintf("%s %s", w->resource, own);

	if (!is_kept(&w->s->fields, name)) {
		cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
	} else {
		if (depth == w->depth && !is_needed(own))
			shrink_set_add(&w->s->fields, name);
		walk_fields(w, child, own, depth + 1);
	}
	free(name);
	free(own);
}

static void walk_fields(const struct field_walk *w, cJSON *node, const char *path, size_t depth)
{
	cJSON *next;

	if (w->depth && depth > w->depth)
		return;
	for (cJSON *child = cJSON_IsObject(node) || cJSON_IsArray(node) ? node->child : NULL; child;
		child = next) {
		next = child->next;
		if (child->string)
			walk_member(w, node, child, path, depth);
		else
			walk_fields(w, child, path, depth);
	}
}

static int take_fields(
	struct shrink *s, struct slice object, const char *resource, size_t depth, struct err *err)
{
	const struct field_walk w = {s, resource, depth};
	cJSON *tree;
	int rc = json_tree_parse(object, &tree, err);

	if (rc)
		return rc;
	walk_fields(&w, tree, "", 1);
	cJSON_Delete(tree);
	return 0;
}

int shrink_find_fields(struct shrink *s, size_t depth, struct err *err)
{
	const struct tape_filter all = {0};
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	int more = tape_cursor_open(s->tape, &all, TAPE_STORED, &c, err), rc = 0;

	if (more)
		return more;
	while (!rc && (more = tape_cursor_next(c, &e, err)) > 0) {
		if (!is_object_kept(s, &e) || !is_event_kept(s, e.seq))
			continue;
		rc = tape_cursor_object(c, &object, err);
		if (!rc)
			rc = take_fields(
				s, object, tape_resource_by_id(s->tape, e.resource)->resource, depth, err);
	}
	tape_cursor_close(c);
	return rc ? rc : more;
}

/* Byte for byte as it was, as long as it keeps everything. */
int shrink_rewrite(void *context, const struct tape_resource *r, struct slice *object, struct err *err)
{
	struct shrink *s = context;
	const struct field_walk w = {s, r->resource, 0};
	cJSON *tree;
	int rc;

	if (shrink_set_left(&s->fields) == s->fields.count)
		return 0;
	rc = json_tree_parse(*object, &tree, err);
	if (rc)
		return rc;
	walk_fields(&w, tree, "", 1);
	buf_clear(&s->scratch);
	rc = json_tree_print(tree, &s->scratch, err);
	cJSON_Delete(tree);
	*object = buf_slice(&s->scratch);
	return rc;
}

int shrink_rewrite_document(void *context, struct tape_document *d, struct err *err)
{
	const struct shrink *s = context;

	(void)d;
	(void)err;
	return !s->documents.kept[0];
}
