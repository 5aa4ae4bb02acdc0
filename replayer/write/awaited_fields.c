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

/* All ways that are awaited of the resource as a part, if the event has one of them; else NULL. The caller frees. */
static char *awaited_part(const struct awaited_fields *f, uint32_t resource, struct slice object)
{
	char *part = xstrdup(OWN_PART_NONE);
	cJSON *entries = managed_fields(object);
	bool has = false;

	for (size_t i = 0; entries && i < f->count; i++) {
		const struct awaited_way *way = &f->ways[i];
		char *more;

		if (way->resource != resource)
			continue;
		more = own_part_await(part, way->manager, way->subresource);
		free(part);
		part = more;
		has |= has_way(entries, way);
	}
	cJSON_Delete(entries);
	if (has)
		return part;
	free(part);
	return NULL;
}

static bool is_awaited(const struct awaited_fields *f, uint32_t resource)
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
	char *part;

	if (c->type != EVENT_MODIFIED || !is_awaited(f, in->resource.id))
		return;
	l = live_set_find(&in->live, c->namespace, c->name);
	if (!l || overlay_has(l->seq))
		return;
	part = awaited_part(f, in->resource.id, c->object);
	if (part)
		own_write_adopt(api, in, c, part);
	free(part);
}
