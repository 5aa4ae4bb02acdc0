/* awaited_fields.c: see awaited_fields.h. */
#include "replayer/write/awaited_fields.h"

#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

void awaited_fields_add(
	struct awaited_fields *f, uint32_t resource, struct slice manager, struct slice subresource)
{
	f->ways = xrealloc(f->ways, (f->count + 1) * sizeof(*f->ways));
	f->ways[f->count++] = (struct awaited_way){resource, slice_dup(manager), slice_dup(subresource)};
}

void awaited_fields_release(struct awaited_fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->ways[i].manager);
		free(f->ways[i].subresource);
	}
	free(f->ways);
	*f = (struct awaited_fields){0};
}

static bool is_way(const struct awaited_way *way, const cJSON *entry)
{
	return strcmp(json_tree_text(entry, "manager"), way->manager) == 0 &&
	       strcmp(json_tree_text(entry, "subresource"), way->subresource) == 0;
}

static bool has_way(const cJSON *entries, const struct awaited_way *way)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, entries)
	{
		if (is_way(way, entry))
			return true;
	}
	return false;
}

/* Those of the object; NULL if it has none. The caller frees. */
static cJSON *managed_fields(struct slice object)
{
	struct slice list;
	cJSON *entries;

	if (json_get(object, "metadata.managedFields", &list, NULL) <= 0 ||
		json_tree_parse(list, &entries, NULL))
		return NULL;
	return entries;
}

char *awaited_fields_part(const struct awaited_fields *f, uint32_t resource, const char *part)
{
	char *text = xstrdup(part);

	for (size_t i = 0; i < f->count; i++) {
		const struct awaited_way *way = &f->ways[i];
		char *more;

		if (way->resource != resource)
			continue;
		more = own_part_await(text, way->manager, way->subresource);
		free(text);
		text = more;
	}
	return text;
}

static bool is_awaited(const struct awaited_fields *f, uint32_t resource, const cJSON *entries)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->ways[i].resource == resource && has_way(entries, &f->ways[i]))
			return true;
	}
	return false;
}

static bool knows_resource(const struct awaited_fields *f, uint32_t resource)
{
	size_t i = 0;

	while (i < f->count && f->ways[i].resource != resource)
		i++;
	return i < f->count;
}

void awaited_fields_before(
	const struct awaited_fields *f, struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l;
	cJSON *entries;

	if (c->type != EVENT_MODIFIED || !knows_resource(f, in->resource.id))
		return;
	l = live_set_find(&in->live, c->namespace, c->name);
	if (!l || overlay_has(l->seq))
		return;
	entries = managed_fields(c->object);
	if (is_awaited(f, in->resource.id, entries))
		own_write_adopt(api, in, c, OWN_PART_NONE);
	cJSON_Delete(entries);
}
