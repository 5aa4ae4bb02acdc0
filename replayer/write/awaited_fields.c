/* awaited_fields.c: see awaited_fields.h. */
#include "replayer/write/awaited_fields.h"

#include "replayer/write/finalizer_hold.h"
#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"

#include <stdlib.h>

void awaited_fields_add(
	struct awaited_fields *f, uint32_t resource, struct slice manager, struct slice subresource)
{
	f->ways = xrealloc(f->ways, (f->count + 1) * sizeof(*f->ways));
	f->ways[f->count++] = (struct awaited_way){resource, slice_dup(manager), slice_dup(subresource)};
}

void awaited_fields_add_finalizer(struct awaited_fields *f, struct slice name)
{
	f->finalizers = xrealloc(f->finalizers, (f->finalizer_count + 1) * sizeof(*f->finalizers));
	f->finalizers[f->finalizer_count++] = slice_dup(name);
}

void awaited_fields_release(struct awaited_fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->ways[i].manager);
		free(f->ways[i].subresource);
	}
	for (size_t i = 0; i < f->finalizer_count; i++)
		free(f->finalizers[i]);
	free(f->finalizers);
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
	for (size_t i = 0; i < f->finalizer_count; i++) {
		char *more = own_part_hold(text, f->finalizers[i]);

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

static bool has_awaited_fields(const struct awaited_fields *f, uint32_t resource, struct slice object)
{
	cJSON *entries = knows_resource(f, resource) ? managed_fields(object) : NULL;
	bool has = is_awaited(f, resource, entries);

	cJSON_Delete(entries);
	return has;
}

/* Whether the tape adds a finalizer that is awaited to the object as it is shown. */
static bool adds_finalizer(
	const struct awaited_fields *f, struct api *api, const struct live *l, const struct change *c)
{
	struct slice shown;
	struct err err;

	for (size_t i = 0; i < f->finalizer_count; i++) {
		if (!finalizer_is_in(c->object, f->finalizers[i]))
			continue;
		if (world_object(api->world, l->seq, &shown, &err))
			log_warn("%s", err.text);
		else if (!finalizer_is_in(shown, f->finalizers[i]))
			return true;
	}
	return false;
}

void awaited_fields_before(
	const struct awaited_fields *f, struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l;

	if (c->type != EVENT_MODIFIED || !(f->finalizer_count || knows_resource(f, in->resource.id)))
		return;
	l = live_set_find(&in->live, c->namespace, c->name);
	if (!l || overlay_has(l->seq))
		return;
	if (has_awaited_fields(f, in->resource.id, c->object) || adds_finalizer(f, api, l, c))
		own_write_adopt(api, in, c, OWN_PART_NONE);
}
