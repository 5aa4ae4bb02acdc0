/* patch_strategic.c: see patch_strategic.h. */
#include "replayer/write/patch_strategic.h"

#include "replayer/json/json_index.h"

#include <stdlib.h>

#define DIRECTIVE        "$patch"
#define RETAIN_DIRECTIVE "$retainKeys"
#define DELETE_PREFIX    "$deleteFromPrimitiveList/"
#define ORDER_PREFIX     "$setElementOrder/"

static int merge_object(cJSON *object, cJSON *patch, struct field_type type, struct err *err);

static bool is_directive(const char *name)
{
	return strcmp(name, DIRECTIVE) == 0 || strcmp(name, RETAIN_DIRECTIVE) == 0 ||
	       slice_begins(slice_of(name), DELETE_PREFIX) || slice_begins(slice_of(name), ORDER_PREFIX);
}

/* The text of "$patch", "" for one that is no text, NULL when there is none. */
static const char *directive_of(const cJSON *node)
{
	const cJSON *directive = cJSON_IsObject(node) ? json_tree_at(node, DIRECTIVE, NULL) : NULL;

	return cJSON_IsString(directive) ? directive->valuestring : directive ? "" : NULL;
}

/* What stands where nothing stood before: nulls and directives are left out, and what "$patch" is said of;
 * but in new items of a list the API server keeps the latter. */
static void drop_directives(cJSON *value, bool keep_marked)
{
	for (cJSON *child = value->child, *next; child; child = next) {
		bool gone = (!keep_marked && directive_of(child)) ||
			    (cJSON_IsObject(value) && (cJSON_IsNull(child) || is_directive(child->string)));

		next = child->next;
		if (gone)
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else
			drop_directives(child, keep_marked);
	}
}

/* ---- lists as arrays of items ---- */

struct item {
	cJSON *node; /* NULL: it was moved or deleted */
	char *key;   /* of an object, the text of its merge key (NULL: it has none); else its own text */
};

struct items {
	struct item *at;
	size_t count;
	struct text_map first; /* of each key, the position of its first item */
};

static char *key_of(const cJSON *node, struct slice merge_key)
{
	char *name;

	if (!cJSON_IsObject(node))
		return cJSON_PrintUnformatted(node);
	name = slice_dup(merge_key);
	node = *name ? cJSON_GetObjectItemCaseSensitive(node, name) : NULL;
	free(name);
	return node ? cJSON_PrintUnformatted(node) : NULL;
}

/* Takes all items out of a list (NULL: an empty one), which stays behind empty. */
static int take_items(cJSON *list, struct slice merge_key, struct items *ret, struct err *err)
{
	size_t count = (size_t)cJSON_GetArraySize(list);

	if (count > STRATEGIC_LIST_MAX)
		return err_set(err, ERR_TOO_LARGE, "a list of %zu items is merged: expected at most %d",
			count, STRATEGIC_LIST_MAX);
	ret->at = xcalloc(count + 1, sizeof(*ret->at));
	for (cJSON *node; list && (node = list->child);) {
		char *key = key_of(node, merge_key);

		cJSON_DetachItemViaPointer(list, node);
		if (key && !text_map_get(&ret->first, key))
			text_map_put(&ret->first, key, text_map_position(ret->count));
		ret->at[ret->count++] = (struct item){node, key};
	}
	return 0;
}

static void items_release(struct items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		cJSON_Delete(items->at[i].node);
		cJSON_free(items->at[i].key);
	}
	free(items->at);
	text_map_release(&items->first);
}

/* The position of the first of that key, or -1. */
static long find_first(const struct text_map *first, const char *key)
{
	const void *position = text_map_get(first, key);

	return position ? (long)text_map_position_of(position) : -1;
}

/* All objects with their key, or all plain values. */
static int check_items(const struct items *items, bool objects, struct slice merge_key, struct err *err)
{
	for (size_t i = 0; i < items->count; i++) {
		const cJSON *node = items->at[i].node;
		const char *directive = directive_of(node);

		if (cJSON_IsArray(node))
			return err_set(err, ERR_FAILED, "a list of lists cannot be merged");
		if (cJSON_IsObject(node) != objects)
			return err_set(
				err, ERR_FAILED, "a list of objects and plain values cannot be merged");
		if (objects && merge_key.len == 0)
			return err_set(err, ERR_FAILED, "a list of objects cannot be merged without a key");
		if (!items->at[i].key && !(directive && strcmp(directive, "replace") == 0))
			return err_set(err, ERR_FAILED, "an item of a list has no '%.*s', its merge key",
				(int)merge_key.len, merge_key.ptr);
	}
	return 0;
}

/* ---- merging lists ---- */

/* An item of the result, with its place among the server's items and in the order that is wanted (-1: it has
 * none there), and the one in which it was found. */
struct place {
	cJSON *node; /* NULL: deleted */
	const char *key;
	long server, wanted, found;
};

struct merge {
	const struct field *field;
	struct items server, patch, order; /* order: what $setElementOrder says */
	bool is_ordered;                   /* it does say so; else the patch's own order is wanted */
	bool is_replaced;                  /* the patch's items take the place of the server's as they are */
	struct place *places;
	size_t count;
	struct text_map first; /* of each key, the position of the first place that is not deleted */
	/* The keys in the server's order, `kept` of them without those that were deleted. With a
	 * $setElementOrder the API server looks at all of this array, in which new items take the room that
	 * deleted ones left. */
	const char **ranks;
	size_t kept;
};

static void merge_release(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++)
		cJSON_Delete(m->places[i].node);
	free(m->places);
	text_map_release(&m->first);
	free(m->ranks);
	items_release(&m->server);
	items_release(&m->patch);
	items_release(&m->order);
}

static struct place *find_place(const struct merge *m, const char *key)
{
	long at = find_first(&m->first, key);

	return at < 0 ? NULL : &m->places[at];
}

static void add_place(struct merge *m, struct item *item)
{
	struct place *p = &m->places[m->count];

	*p = (struct place){.node = item->node, .key = item->key, .found = (long)m->count};
	if (!text_map_get(&m->first, p->key))
		text_map_put(&m->first, p->key, text_map_position(m->count));
	m->count++;
	item->node = NULL;
}

static void delete_place(struct place *p)
{
	cJSON_Delete(p->node);
	p->node = NULL;
}

static long find_rank(const struct merge *m, const char *key)
{
	for (size_t i = 0; i < m->kept; i++) {
		if (strcmp(m->ranks[i], key) == 0)
			return (long)i;
	}
	return -1;
}

/* Of all places of the key. */
static void delete_key(struct merge *m, const char *key)
{
	long rank;

	for (struct place *p = find_place(m, key); p && p < m->places + m->count; p++) {
		if (p->node && strcmp(p->key, key) == 0)
			delete_place(p);
	}
	text_map_remove(&m->first, key);
	while ((rank = find_rank(m, key)) >= 0) {
		m->kept--;
		memmove(&m->ranks[rank], &m->ranks[rank + 1], (m->kept - (size_t)rank) * sizeof(*m->ranks));
	}
}

/* Items that say what becomes of others. */
static int do_directives(struct merge *m, struct err *err)
{
	for (size_t i = 0; i < m->patch.count; i++) {
		struct item *item = &m->patch.at[i];
		const char *directive = directive_of(item->node);

		if (!directive)
			continue;
		if (strcmp(directive, "replace") == 0)
			m->is_replaced = true;
		else if (strcmp(directive, "delete") == 0)
			delete_key(m, item->key);
		else
			return err_set(
				err, ERR_FAILED, "unknown patch type '%s' in an item of a list", directive);
		cJSON_Delete(item->node);
		item->node = NULL;
	}
	for (size_t i = 0; m->is_replaced && i < m->count; i++)
		delete_place(&m->places[i]);
	if (m->is_replaced)
		text_map_release(&m->first);
	return 0;
}

static void add_new(struct merge *m, struct item *item, size_t rank)
{
	if (m->is_ordered && rank < m->server.count)
		m->ranks[rank] = item->key;
	drop_directives(item->node, true);
	add_place(m, item);
}

static int merge_items(struct merge *m, struct err *err)
{
	struct field of_items;
	int rc = do_directives(m, err);
	size_t rank = m->kept;

	field_of_items(m->field, &of_items);
	for (size_t i = 0; i < m->patch.count && rc == 0; i++) {
		struct item *item = &m->patch.at[i];
		struct place *p = item->node && !m->is_replaced ? find_place(m, item->key) : NULL;

		if (p && cJSON_IsObject(p->node))
			rc = merge_object(p->node, item->node, of_items.type, err);
		else if (!p && item->node)
			add_new(m, item, rank++);
	}
	return rc;
}

/* The patch's items are among those of $setElementOrder, in the same order. */
static int check_order(const struct merge *m, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < m->patch.count && m->order.count; i++) {
		const struct item *item = &m->patch.at[i];

		if (directive_of(item->node))
			continue;
		while (n < m->order.count &&
			!(m->order.at[n].key && strcmp(m->order.at[n].key, item->key) == 0))
			n++;
		if (n++ == m->order.count)
			return err_set(err, ERR_FAILED,
				"the order in a patch's list does not match its " ORDER_PREFIX " list");
	}
	return 0;
}

static int compare_wanted(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->wanted != y->wanted)
		return x->wanted < y->wanted ? -1 : 1;
	return (x->found > y->found) - (x->found < y->found);
}

static void drop_deleted(struct merge *m)
{
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->places[i].node)
			m->places[count++] = m->places[i];
	}
	m->count = count;
}

/*
 * Items that are wanted come in the wanted order, the others as they were found. Where both could come next,
 * the server's order decides if it knows both; else the wanted one comes first.
 */
static void put_in_order(struct merge *m, cJSON *list)
{
	struct place *places = m->places;
	struct text_map ranks = {0};
	size_t others = 0, i = 0, j;

	drop_deleted(m);
	for (size_t n = m->is_ordered ? m->server.count : m->kept; n-- > 0;)
		text_map_put(&ranks, m->ranks[n], text_map_position(n));
	for (size_t n = 0; n < m->count; n++) {
		places[n].server = find_first(&ranks, places[n].key);
		places[n].wanted =
			find_first(m->is_ordered ? &m->order.first : &m->patch.first, places[n].key);
		others += places[n].wanted < 0;
	}
	text_map_release(&ranks);
	qsort(places, m->count, sizeof(*places), compare_wanted);
	for (j = others; i < others || j < m->count;) {
		bool other = j == m->count || (i < others && places[i].server >= 0 && places[j].server >= 0 &&
						      places[i].server < places[j].server);
		struct place *next = other ? &places[i++] : &places[j++];

		cJSON_AddItemToArray(list, next->node);
		next->node = NULL;
	}
}

static int take_lists(struct merge *m, cJSON *list, cJSON *patch, cJSON *order, struct err *err)
{
	struct slice key = m->field->merge_key;
	const cJSON *first = list && list->child ? list->child : patch ? patch->child : NULL;
	int rc = take_items(list, key, &m->server, err);

	if (rc == 0)
		rc = take_items(patch, key, &m->patch, err);
	if (rc == 0)
		rc = take_items(order, key, &m->order, err);
	if (rc == 0)
		rc = check_items(&m->server, cJSON_IsObject(first), key, err);
	if (rc == 0)
		rc = check_items(&m->patch, cJSON_IsObject(first), key, err);
	return rc;
}

/* The server's items; plain values once each. */
static void begin_result(struct merge *m)
{
	m->places = xcalloc(m->server.count + m->patch.count + 1, sizeof(*m->places));
	m->ranks = xcalloc(m->server.count + 1, sizeof(*m->ranks));
	m->kept = m->server.count;
	for (size_t i = 0; i < m->server.count; i++) {
		struct item *item = &m->server.at[i];

		m->ranks[i] = item->key;
		if (cJSON_IsObject(item->node) || !find_place(m, item->key))
			add_place(m, item);
	}
}

/* patch, order: NULL when there is none, but not both. */
static int merge_list(cJSON *list, cJSON *patch, cJSON *order, const struct field *f, struct err *err)
{
	struct merge m = {.field = f, .is_ordered = order != NULL};
	int rc = take_lists(&m, list, patch, order, err);

	if (rc == 0)
		rc = check_order(&m, err);
	if (rc == 0) {
		begin_result(&m);
		rc = merge_items(&m, err);
	}
	if (rc == 0)
		put_in_order(&m, list);
	merge_release(&m);
	return rc;
}

/* An object and what is merged into it. */
struct merging {
	cJSON *object, *patch;
	struct json_index members; /* of the object */
	struct field_type type;
};

/* ---- members that are directives ---- */

static int retain_keys(cJSON *object, const cJSON *patch, struct err *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(patch, RETAIN_DIRECTIVE), *name, *member;
	struct text_map named = {0};
	int rc = 0;

	if (!list)
		return 0;
	if (!cJSON_IsArray(list))
		return err_set(err, ERR_USAGE, "invalid patch format of retainKeys");
	cJSON_ArrayForEach(name, list)
	{
		if (cJSON_IsString(name))
			text_map_put(&named, name->valuestring, text_map_position(0));
	}
	cJSON_ArrayForEach(member, patch)
	{
		if (!is_directive(member->string) && !cJSON_IsNull(member) &&
			!text_map_get(&named, member->string))
			rc = err_set(err, ERR_USAGE, "invalid patch format of retainKeys");
	}
	for (cJSON *child = object->child, *next; child && rc == 0; child = next) {
		next = child->next;
		if (!text_map_get(&named, child->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, child));
	}
	text_map_release(&named);
	return rc;
}

/* Takes the items out of a list that say the same as one of `values`. */
static void delete_items(cJSON *list, const cJSON *values)
{
	struct items gone = {0};
	cJSON *copies = cJSON_Duplicate(values, true);

	(void)!take_items(copies, (struct slice){NULL, 0}, &gone, NULL);
	for (cJSON *child = list->child, *next; child; child = next) {
		char *key = key_of(child, (struct slice){NULL, 0});

		next = child->next;
		if (key && text_map_get(&gone.first, key))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, child));
		cJSON_free(key);
	}
	items_release(&gone);
	cJSON_Delete(copies);
}

static int delete_values(struct json_index *members, const char *name, const cJSON *values, struct err *err)
{
	cJSON *list = json_index_find(members, name);

	if (!cJSON_IsArray(values))
		return err_set(err, ERR_USAGE, "invalid patch format of primitive list");
	if (!cJSON_IsArray(list))
		return 0;
	if (cJSON_GetArraySize(values) > STRATEGIC_LIST_MAX || cJSON_GetArraySize(list) > STRATEGIC_LIST_MAX)
		return err_set(err, ERR_TOO_LARGE, "a list of values to delete has more than %d items",
			STRATEGIC_LIST_MAX);
	delete_items(list, values);
	return 0;
}

/* $setElementOrder/NAME, together with the list of that name, which is then done with. */
static int merge_ordered(struct merging *to, struct json_index *changed, cJSON *order, struct err *err)
{
	const char *name = order->string + strlen(ORDER_PREFIX);
	cJSON *list = json_index_find(&to->members, name), *changes = json_index_find(changed, name);
	struct field f;
	int rc;

	field_find(to->type, name, &f);
	if (!cJSON_IsArray(order) || (list && !cJSON_IsArray(list)) || (changes && !cJSON_IsArray(changes)))
		return err_set(err, ERR_USAGE, "invalid patch format of setElementOrder list");
	if (!f.merges || (!list && !changes))
		return 0;
	if (!list) {
		list = cJSON_CreateArray();
		json_index_set(&to->members, to->object, name, list);
		drop_directives(changes, false);
	}
	rc = merge_list(list, changes, order, &f, err);
	json_index_set(changed, to->patch, name, NULL);
	return rc;
}

static int do_orders(struct merging *to, struct err *err)
{
	struct json_index changed;
	int rc = 0;

	json_index_init(&changed, to->patch);
	for (cJSON *child = to->patch->child; child && rc == 0; child = child->next) {
		if (slice_begins(slice_of(child->string), ORDER_PREFIX))
			rc = merge_ordered(to, &changed, child, err);
	}
	json_index_release(&changed);
	return rc;
}

/* ---- objects ---- */

/* Takes `value` over. */
static int merge_member(struct merging *to, cJSON *value, struct err *err)
{
	cJSON *old = json_index_find(&to->members, value->string);
	struct field f;
	int rc = 0;

	field_find(to->type, value->string, &f);
	if (cJSON_IsObject(old) && cJSON_IsObject(value)) {
		rc = merge_object(old, value, f.type, err);
	} else if (cJSON_IsArray(old) && cJSON_IsArray(value) && f.merges) {
		rc = merge_list(old, value, NULL, &f, err);
	} else if (cJSON_IsNull(value) || directive_of(value)) {
		json_index_set(&to->members, to->object, value->string, NULL);
	} else {
		char *name = xstrdup(value->string);

		drop_directives(value, cJSON_IsArray(old) && cJSON_IsArray(value));
		json_index_set(&to->members, to->object, name, value);
		free(name);
		return 0;
	}
	cJSON_Delete(value);
	return rc;
}

static void patch_strategic_clear(cJSON *object)
{
	while (object->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, object->child));
}

/* "$patch" in an object itself. */
static int do_directive(cJSON *object, cJSON *patch, const char *directive, struct err *err)
{
	bool replace = strcmp(directive, "replace") == 0;

	if (!replace && strcmp(directive, "delete") != 0)
		return err_set(err, ERR_FAILED, "unknown patch type: %s in map: map[$patch:%s]", directive,
			directive);
	patch_strategic_clear(object);
	if (!replace)
		return 0;
	drop_directives(patch, true);
	object->child = patch->child;
	patch->child = NULL;
	return 0;
}

static int merge_members(struct merging *to, struct err *err)
{
	int rc = do_orders(to, err);

	for (cJSON *child; rc == 0 && (child = to->patch->child);) {
		cJSON_DetachItemViaPointer(to->patch, child);
		if (!is_directive(child->string)) {
			rc = merge_member(to, child, err);
			continue;
		}
		if (slice_begins(slice_of(child->string), DELETE_PREFIX))
			rc = delete_values(&to->members, child->string + strlen(DELETE_PREFIX), child, err);
		cJSON_Delete(child);
	}
	return rc;
}

static int merge_object(cJSON *object, cJSON *patch, struct field_type type, struct err *err)
{
	struct merging to = {.object = object, .patch = patch, .type = type};
	const char *directive = directive_of(patch);
	int rc;

	if (directive)
		return do_directive(object, patch, directive, err);
	rc = retain_keys(object, patch, err);
	if (rc)
		return rc;
	json_index_init(&to.members, object);
	rc = merge_members(&to, err);
	json_index_release(&to.members);
	return rc;
}

int patch_strategic(cJSON *document, cJSON *patch, struct field_type type, struct err *err)
{
	return merge_object(document, patch, type, err);
}
