/* field_merge.c: one object laid over another; see field_walk.h. */
#include "replayer/write/field_walk_internal.h"

#include "replayer/json/json_index.h"

#include <stdlib.h>

static void merge(cJSON *live, const cJSON *value, const struct field *f);

static void drop_nulls(cJSON *value)
{
	for (cJSON *child = value->child, *next; child; child = next) {
		next = child->next;
		if (cJSON_IsObject(value) && cJSON_IsNull(child))
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else
			drop_nulls(child);
	}
}

static cJSON *without_nulls(const cJSON *value)
{
	cJSON *made = cJSON_Duplicate(value, true);

	drop_nulls(made);
	return made;
}

/* ---- lists ---- */

struct list_merge {
	const struct field *of_items;
	struct field_steps live, new; /* new: each once */
	cJSON **nodes;                /* of the live items; NULL: moved */
	bool *merged;                 /* of the new items */
	size_t shared;                /* the next new item that is live, too */
	cJSON *out;
};

static size_t next_shared(const struct list_merge *m, size_t from)
{
	while (from < m->new.count && field_steps_find(&m->live, m->new.at[from]) == m->live.count)
		from++;
	return from;
}

static void emit_live(struct list_merge *m, size_t at)
{
	cJSON_AddItemToArray(m->out, m->nodes[at]);
	m->nodes[at] = NULL;
}

/* A new item, laid over the live one of its step, if there is just one. */
static void emit_new(struct list_merge *m, size_t at)
{
	const char *step = m->new.at[at];
	size_t live = field_steps_find(&m->live, step);
	bool one = live < m->live.count && m->live.next[live] == m->live.count;

	m->merged[at] = true;
	if (at == m->shared)
		m->shared = next_shared(m, at + 1);
	if (one && field_share_parts(m->nodes[live], m->new.items[at], m->of_items)) {
		merge(m->nodes[live], m->new.items[at], m->of_items);
		emit_live(m, live);
	} else {
		cJSON_AddItemToArray(m->out, without_nulls(m->new.items[at]));
	}
}

/*
 * Items that are in both lists come in the order of the new one; live ones stay behind those that they
 * followed, as far as that can be.
 */
static void zip(struct list_merge *m)
{
	size_t l = 0, n = 0;

	while (l < m->live.count || n < m->new.count) {
		size_t other = l < m->live.count ? field_steps_find(&m->new, m->live.at[l]) : 0;
		bool both = l < m->live.count && other < m->new.count;

		if (l < m->live.count && !both) {
			emit_live(m, l++);
			continue;
		}
		if (both && n < m->new.count &&other == n) {
			emit_new(m, n++);
			l++;
			continue;
		}
		if (both && n < m->new.count && m->shared < m->new.count &&other != m->shared) {
			l++;
			continue;
		}
		if (both && m->merged[other])
			l++;
		if (n < m->new.count)
			emit_new(m, n++);
	}
}

static void merge_lists(cJSON *live, const cJSON *new, const struct field *f)
{
	struct field of_items;
	struct list_merge m = {.of_items = &of_items, .out = live};

	field_of_items(f, &of_items);
	field_steps_init(&m.live, live, f);
	field_steps_init(&m.new, new, f);
	m.nodes = xcalloc(m.live.count + 1, sizeof(cJSON *));
	m.merged = xcalloc(m.new.count + 1, sizeof(bool));
	for (size_t i = 0; i < m.live.count; i++)
		m.nodes[i] = cJSON_DetachItemViaPointer(live, live->child);
	m.shared = next_shared(&m, 0);
	zip(&m);
	for (size_t i = 0; i < m.live.count; i++)
		cJSON_Delete(m.nodes[i]);
	free(m.nodes);
	free(m.merged);
	field_steps_release(&m.live);
	field_steps_release(&m.new);
}

/* ---- objects ---- */

static void merge_member(cJSON *live, struct json_index *members, const cJSON *value, const struct field *f)
{
	cJSON *old = json_index_find(members, value->string);

	if (old && !cJSON_IsNull(old) && field_share_parts(old, value, f))
		merge(old, value, f);
	else if (!cJSON_IsNull(value))
		json_index_set(members, live, value->string, without_nulls(value));
	else if (!cJSON_IsObject(old) && !cJSON_IsArray(old))
		json_index_set(members, live, value->string, NULL);
}

static void merge(cJSON *live, const cJSON *value, const struct field *f)
{
	struct json_index members;
	const cJSON *member;

	if (cJSON_IsArray(live)) {
		merge_lists(live, value, f);
		return;
	}
	json_index_init(&members, live);
	cJSON_ArrayForEach(member, value)
	{
		struct field of_member;

		field_find(f->type, member->string, &of_member);
		merge_member(live, &members, member, &of_member);
	}
	json_index_release(&members);
}

void field_walk_merge(cJSON *live, const cJSON *object, struct field_type type)
{
	const struct field root = {.type = type};

	merge(live, object, &root);
}
