/* field_walk.c: see field_walk.h. */
#include "replayer/write/field_walk_internal.h"

#include "replayer/json/json_index.h"

#include <stdlib.h>

/* ---- steps ---- */

static char *member_step(const char *name)
{
	return xasprintf("f:%s", name);
}

static int compare_keys(const void *a, const void *b)
{
	const struct field_key *const *x = a, *const *y = b;

	return slice_compare((*x)->name, (*y)->name);
}

/* "k:{...}" with the keys in order of their names; NULL when the item has none of them. */
static char *keys_step(const cJSON *item, const struct field *f)
{
	const struct field_key *keys[FIELD_KEYS_MAX];
	cJSON *found = cJSON_CreateObject();
	char *text = NULL, *step;

	for (size_t i = 0; i < f->key_count; i++)
		keys[i] = &f->keys[i];
	qsort(keys, f->key_count, sizeof(keys[0]), compare_keys);
	for (size_t i = 0; i < f->key_count; i++) {
		char *name = slice_dup(keys[i]->name), *other = slice_dup(keys[i]->default_text);
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, name);

		if (value)
			cJSON_AddItemToObject(found, name, cJSON_Duplicate(value, true));
		else if (keys[i]->has_default)
			cJSON_AddStringToObject(found, name, other);
		free(name);
		free(other);
	}
	if (found->child)
		text = cJSON_PrintUnformatted(found);
	step = text ? xasprintf("k:%s", text) : NULL;
	cJSON_free(text);
	cJSON_Delete(found);
	return step;
}

/* NULL: it cannot be told from others. The caller frees. */
static char *item_step(const cJSON *item, const struct field *f)
{
	char *text, *step;

	if (f->list == LIST_MAP)
		return cJSON_IsObject(item) ? keys_step(item, f) : NULL;
	if (cJSON_IsObject(item) || cJSON_IsArray(item) || cJSON_IsNull(item))
		return NULL;
	text = cJSON_PrintUnformatted(item);
	step = xasprintf("v:%s", text);
	cJSON_free(text);
	return step;
}

/* ---- what is walked into ---- */

static bool is_container(const cJSON *value)
{
	return cJSON_IsObject(value) || cJSON_IsArray(value);
}

/* Whether a value is told by its parts. */
static bool has_parts(const cJSON *value, const struct field *f)
{
	if (cJSON_IsObject(value))
		return !f->atomic && cJSON_GetArraySize(value) <= FIELD_WALK_MAX;
	return cJSON_IsArray(value) && f->list != LIST_ATOMIC && cJSON_GetArraySize(value) <= FIELD_WALK_MAX;
}

/* A null beside an object or a list is as an empty one. */
bool field_share_parts(const cJSON *a, const cJSON *b, const struct field *f)
{
	if (a && b && cJSON_IsNull(a) != cJSON_IsNull(b))
		return cJSON_IsNull(a) ? has_parts(b, f) && b->child : has_parts(a, f) && a->child;
	if (a && b && (!is_container(a) || cJSON_IsObject(a) != cJSON_IsObject(b)))
		return false;
	return (!a || has_parts(a, f)) && (!b || has_parts(b, f)) && ((a && a->child) || (b && b->child));
}

/* From the last one to the first, so that the first stays in the map. */
static void link_steps(struct field_steps *s)
{
	for (size_t i = s->count; i-- > 0;) {
		void *behind = text_map_get(&s->first, s->at[i]);

		s->next[i] = behind ? text_map_position_of(behind) : s->count;
		text_map_put(&s->first, s->at[i], text_map_position(i));
	}
}

void field_steps_init(struct field_steps *s, const cJSON *list, const struct field *f)
{
	const cJSON *item;
	size_t count = (size_t)cJSON_GetArraySize(list);

	*s = (struct field_steps){.at = xcalloc(count + 1, sizeof(char *)),
		.items = xcalloc(count + 1, sizeof(cJSON *)),
		.next = xcalloc(count + 1, sizeof(size_t))};
	cJSON_ArrayForEach(item, list)
	{
		char *step = item_step(item, f);

		s->at[s->count] = step ? step : xstrdup("");
		s->items[s->count++] = item;
	}
	link_steps(s);
}

void field_steps_release(struct field_steps *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->at[i]);
	free(s->at);
	free(s->items);
	free(s->next);
	text_map_release(&s->first);
}

size_t field_steps_find(const struct field_steps *s, const char *step)
{
	const void *first = text_map_get(&s->first, step);

	return first ? text_map_position_of(first) : s->count;
}

/* Nobody asks for more than two. */
static size_t count_step(const struct field_steps *s, const char *step)
{
	size_t at = field_steps_find(s, step), n = 0;

	for (; at < s->count && n < 2; at = s->next[at])
		n++;
	return n;
}

/* ---- checking ---- */

static int check_value(const cJSON *value, const struct field *f, const char *place, struct err *err);

static int check_list(const cJSON *list, const struct field *f, const char *place, struct err *err)
{
	struct field of_items;
	struct field_steps s;
	int rc = 0;

	field_of_items(f, &of_items);
	field_steps_init(&s, list, f);
	for (size_t i = 0; i < s.count && rc == 0; i++) {
		char *inner = xasprintf("%s[%zu]", place, i);

		if (!*s.at[i])
			rc = err_set(err, ERR_FAILED,
				"%s: element %zu: an item of an associative list without its key", place, i);
		else if (field_steps_find(&s, s.at[i]) < i)
			rc = err_set(err, ERR_FAILED, "%s: duplicate entries for key %s", place, s.at[i] + 2);
		else
			rc = check_value(s.items[i], &of_items, inner, err);
		free(inner);
	}
	field_steps_release(&s);
	return rc;
}

static int check_value(const cJSON *value, const struct field *f, const char *place, struct err *err)
{
	const cJSON *member;
	int rc = 0;

	if (!has_parts(value, f))
		return 0;
	if (cJSON_IsArray(value))
		return check_list(value, f, place, err);
	cJSON_ArrayForEach(member, value)
	{
		char *inner = xasprintf("%s.%s", place, member->string);
		struct field of_member;

		field_find(f->type, member->string, &of_member);
		if (rc == 0)
			rc = check_value(member, &of_member, inner, err);
		free(inner);
	}
	return rc;
}

int field_walk_check(const cJSON *object, struct field_type type, struct err *err)
{
	const struct field root = {.type = type};

	return check_value(object, &root, "", err);
}

/* ---- the fields of an object ---- */

static void add_value(const cJSON *value, const struct field *f, cJSON *set);

static void add_items(const cJSON *list, const struct field *f, cJSON *set)
{
	struct field of_items;
	struct field_steps s;

	field_of_items(f, &of_items);
	field_steps_init(&s, list, f);
	for (size_t i = 0; i < s.count; i++) {
		cJSON *below;

		if (!*s.at[i] || field_steps_find(&s, s.at[i]) != i)
			continue;
		below = cJSON_AddObjectToObject(set, s.at[i]);
		if (s.next[i] == s.count)
			add_value(s.items[i], &of_items, below);
		field_set_mark(below);
	}
	field_steps_release(&s);
}

static void add_members(const cJSON *object, const struct field *f, cJSON *set)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, object)
	{
		char *step = member_step(member->string);
		cJSON *below = cJSON_AddObjectToObject(set, step);
		struct field of_member;

		field_find(f->type, member->string, &of_member);
		add_value(member, &of_member, below);
		if (cJSON_IsNull(member) || (cJSON_IsObject(member) && !member->child) || !of_member.declared)
			field_set_mark(below);
		free(step);
	}
}

static void add_value(const cJSON *value, const struct field *f, cJSON *set)
{
	if (!has_parts(value, f))
		field_set_mark(set);
	else if (cJSON_IsArray(value))
		add_items(value, f, set);
	else
		add_members(value, f, set);
}

cJSON *field_walk_set(const cJSON *object, struct field_type type)
{
	const struct field root = {.type = type};
	cJSON *set = cJSON_CreateObject();

	add_members(object, &root, set);
	return set;
}

/* ---- comparing ---- */

static void compare(const cJSON *old, const cJSON *new, const struct field *f, const struct field_path *path,
	struct field_changes *to);

/* Items that are there more than once are told as one field, without what is in them. */
static void compare_group(const struct field_steps *old, const struct field_steps *new,
	const struct field_path *path, const struct field *f, struct field_changes *to)
{
	size_t l = field_steps_find(old, path->step), r = field_steps_find(new, path->step);
	size_t lefts = count_step(old, path->step), rights = count_step(new, path->step);

	if (lefts <= 1 && rights <= 1) {
		compare(lefts ? old->items[l] : NULL, rights ? new->items[r] : NULL, f, path, to);
		return;
	}
	if (lefts >= 2 && rights >= 2) {
		while (l < old->count && r < new->count &&json_tree_equal(old->items[l], new->items[r])) {
			l = old->next[l];
			r = new->next[r];
		}
		if (l < old->count || r < new->count)
			field_set_append(to->modified, path);
		return;
	}
	if (lefts >= 2 && rights)
		compare(NULL, new->items[r], f, path, to);
	if (rights >= 2 && lefts)
		compare(old->items[l], NULL, f, path, to);
	field_set_append(lefts >= 2 ? to->removed : to->added, path);
}

static void compare_items(const cJSON *old, const cJSON *new, const struct field *f,
	const struct field_path *path, struct field_changes *to)
{
	struct field of_items;
	struct field_steps l, r;

	field_of_items(f, &of_items);
	field_steps_init(&l, old, f);
	field_steps_init(&r, new, f);
	for (size_t i = 0; i < l.count + r.count; i++) {
		const struct field_steps *from = i < l.count ? &l : &r;
		size_t at = i < l.count ? i : i - l.count;
		const struct field_path here = {path, from->at[at]};

		if (*here.step && field_steps_find(from, here.step) == at &&
			(from == &l || field_steps_find(&l, here.step) == l.count))
			compare_group(&l, &r, &here, &of_items, to);
	}
	field_steps_release(&l);
	field_steps_release(&r);
}

static void compare_member(const cJSON *old, const cJSON *new, const struct field *f,
	const struct field_path *path, struct field_changes *to)
{
	const char *name = new ? new->string : old->string;
	char *step = member_step(name);
	const struct field_path here = {path, step};
	struct field of_member;

	field_find(f->type, name, &of_member);
	compare(old, new, &of_member, &here, to);
	free(step);
}

static void compare_members(const cJSON *old, const cJSON *new, const struct field *f,
	const struct field_path *path, struct field_changes *to)
{
	struct json_index of_old, of_new;
	const cJSON *member;

	json_index_init(&of_old, old);
	json_index_init(&of_new, new);
	cJSON_ArrayForEach(member, old)
	{
		compare_member(member, json_index_find(&of_new, member->string), f, path, to);
	}
	cJSON_ArrayForEach(member, new)
	{
		if (!json_index_find(&of_old, member->string))
			compare_member(NULL, member, f, path, to);
	}
	json_index_release(&of_old);
	json_index_release(&of_new);
}

static void compare(const cJSON *old, const cJSON *new, const struct field *f, const struct field_path *path,
	struct field_changes *to)
{
	if (old && new && !field_share_parts(old, new, f)) {
		if (!json_tree_equal(old, new))
			field_set_append(to->modified, path);
		return;
	}
	if (field_share_parts(old, new, f)) {
		if (cJSON_IsArray(old) || cJSON_IsArray(new))
			compare_items(old, new, f, path, to);
		else
			compare_members(old, new, f, path, to);
	}
	if (path && !old)
		field_set_append(to->added, path);
	else if (path && !new)
		field_set_append(to->removed, path);
}

void field_walk_compare(const cJSON *old, const cJSON *new, struct field_type type, struct field_changes *ret)
{
	const struct field root = {.type = type};

	*ret = (struct field_changes){cJSON_CreateObject(), cJSON_CreateObject(), cJSON_CreateObject()};
	compare_members(old, new, &root, NULL, ret);
}

void field_changes_release(struct field_changes *c)
{
	cJSON_Delete(c->removed);
	cJSON_Delete(c->modified);
	cJSON_Delete(c->added);
}

/* ---- removing ---- */

/* What was emptied is null until all is done: code that holds the member itself may keep it. An item of
 * a list stays without what it had. */
#define EMPTIED 1 /* in valueint of such a null, which other nulls do not have */

static void empty(cJSON *object, cJSON *member)
{
	cJSON *null = cJSON_CreateNull();

	null->valueint = EMPTIED;
	null->string = xstrdup(member->string);
	cJSON_ReplaceItemViaPointer(object, member, null);
}

void field_walk_drop_emptied(cJSON *value)
{
	for (cJSON *child = value->child, *next; child; child = next) {
		next = child->next;
		if (cJSON_IsNull(child) && child->valueint == EMPTIED)
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else
			field_walk_drop_emptied(child);
	}
}

static void remove_parts(cJSON *value, const cJSON *set, const struct field *f)
{
	struct field of_part;
	struct field_steps s = {0};
	struct json_index steps;
	size_t i = 0;

	json_index_init(&steps, set);
	if (cJSON_IsArray(value)) {
		field_steps_init(&s, value, f);
		field_of_items(f, &of_part);
	}
	for (cJSON *part = value->child, *next; part; part = next, i++) {
		char *step = cJSON_IsArray(value) ? xstrdup(s.at[i]) : member_step(part->string);
		const cJSON *below = json_index_find(&steps, step);
		bool had_parts = part->child != NULL;

		next = part->next;
		free(step);
		if (!below)
			continue;
		if (cJSON_IsObject(value))
			field_find(f->type, part->string, &of_part);
		if (!field_set_has(below) && has_parts(part, &of_part))
			remove_parts(part, below, &of_part);
		if (field_set_has(below))
			cJSON_Delete(cJSON_DetachItemViaPointer(value, part));
		else if (had_parts && !part->child && cJSON_IsObject(value))
			empty(value, part);
	}
	field_steps_release(&s);
	json_index_release(&steps);
}

void field_walk_remove(cJSON *object, const cJSON *set, struct field_type type)
{
	const struct field root = {.type = type};

	remove_parts(object, set, &root);
}

/* ---- completing ---- */

static void complete(cJSON *set, const struct field *f)
{
	for (cJSON *child = set->child; child; child = child->next) {
		struct field below;

		if (strncmp(child->string, "f:", 2) == 0)
			field_find(f->type, child->string + 2, &below);
		else
			field_of_items(f, &below);
		complete(child, &below);
		if (child->string[0] == 'f' && below.declared && !field_set_is_empty(child))
			field_set_mark(child);
	}
}

void field_walk_complete(cJSON *set, struct field_type type)
{
	const struct field root = {.type = type};

	complete(set, &root);
}
