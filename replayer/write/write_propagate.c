/* write_propagate.c: what a deletion asks of the object's dependents, as finalizers of the object; see
 * write_internal.h. */
#include "replayer/kinds/builtin.h"
#include "replayer/write/write_internal.h"

enum propagation { BACKGROUND, FOREGROUND, ORPHAN };

bool write_has_finalizer(const cJSON *object, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(object, "metadata", "finalizers", NULL))
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0)
			return true;
	}
	return false;
}

/* Old kinds keep what their clients were once promised: their dependents stay. */
static enum propagation kinds_own(const struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	bool is_job = strcmp(r->resource, "jobs") == 0 && strcmp(r->apigroup, "batch") == 0;
	bool is_controller = strcmp(r->resource, "replicationcontrollers") == 0 && !*r->apigroup;

	return is_job || is_controller ? ORPHAN : BACKGROUND;
}

/* What the client says; after that what the object's finalizers say; after that what its kind does. */
static enum propagation find_propagation(const struct write *w, const cJSON *options, const cJSON *object)
{
	const cJSON *orphan = json_tree_at(options, "orphanDependents", NULL);
	const char *policy = json_tree_text(options, "propagationPolicy");

	if (cJSON_IsBool(orphan))
		return cJSON_IsTrue(orphan) ? ORPHAN : BACKGROUND;
	if (*policy)
		return strcmp(policy, "Orphan") == 0       ? ORPHAN
		       : strcmp(policy, "Foreground") == 0 ? FOREGROUND
							   : BACKGROUND;
	if (write_has_finalizer(object, FINALIZER_ORPHAN))
		return ORPHAN;
	if (write_has_finalizer(object, FINALIZER_FOREGROUND))
		return FOREGROUND;
	return kinds_own(w);
}

void write_drop_finalizer(cJSON *object, const char *name)
{
	cJSON *metadata = json_tree_object(object, "metadata"),
	      *list = json_tree_at(metadata, "finalizers", NULL), *item = list ? list->child : NULL;

	while (item) {
		cJSON *next = item->next;

		if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
		item = next;
	}
	if (list && !list->child)
		json_tree_set(metadata, "finalizers", NULL);
}

static void add_finalizer(cJSON *object, const char *name)
{
	cJSON *metadata = json_tree_object(object, "metadata");

	if (!cJSON_IsArray(json_tree_at(metadata, "finalizers", NULL)))
		json_tree_set(metadata, "finalizers", cJSON_CreateArray());
	cJSON_AddItemToArray(json_tree_at(metadata, "finalizers", NULL), cJSON_CreateString(name));
}

void write_propagate(const struct write *w, const cJSON *options, cJSON *object)
{
	static const char *const names[] = {
		[BACKGROUND] = NULL, [FOREGROUND] = FINALIZER_FOREGROUND, [ORPHAN] = FINALIZER_ORPHAN};
	const struct tape_resource *r = &w->c->resource;
	enum propagation how = find_propagation(w, options, object);

	if (builtin_is_event(slice_of(r->apigroup), slice_of(r->resource)))
		return;
	for (size_t i = FOREGROUND; i <= ORPHAN; i++) {
		if (i != how)
			write_drop_finalizer(object, names[i]);
	}
	if (names[how] && !write_has_finalizer(object, names[how]))
		add_finalizer(object, names[how]);
}
