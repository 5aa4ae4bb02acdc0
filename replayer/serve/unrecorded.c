/* unrecorded.c: see unrecorded.h. */
#include "replayer/serve/unrecorded.h"

#include "replayer/json/json_tree.h"
#include "replayer/kinds/builtin.h"
#include "replayer/serve/discovery.h"
#include "replayer/world/crd.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static bool find_known(const struct api_path *p, struct tape_resource *ret)
{
	const struct write_resource *k = builtin_resource(p->group, p->version, p->resource);

	if (!k)
		return false;
	*ret = (struct tape_resource){.apigroup = xstrdup(k->group),
		.version = xstrdup(k->version),
		.resource = xstrdup(k->resource),
		.kind = xstrdup(k->kind),
		.namespaced = k->namespaced};
	return true;
}

/* The recorded APIResourceList of the path's version. */
static cJSON *read_resource_list(struct api_call *call)
{
	const struct api_path *p = &call->path;
	char *path = xasprintf("/%s%.*s%s%.*s", p->group.len ? "apis/" : "api", (int)p->group.len,
		p->group.ptr, "/", (int)p->version.len, p->version.ptr);
	struct tape_document d;
	struct buf body;
	cJSON *list = NULL;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (tape_document(call->api->tape, path, "", call->api->world->seq, &d, &body, NULL) == 0)
		(void)!json_tree_parse(buf_slice(&body), &list, NULL);
	buf_release(&body);
	free(path);
	return list;
}

static bool has_verb(const cJSON *resource, const char *verb)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(resource, "verbs", NULL))
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, verb) == 0)
			return true;
	}
	return false;
}

/* Some resources can be created but not listed. */
static bool find_recorded(struct api_call *call, struct tape_resource *ret)
{
	cJSON *list = read_resource_list(call), *item;
	const struct api_path *p = &call->path;
	bool found = false;

	cJSON_ArrayForEach(item, json_tree_at(list, "resources", NULL))
	{
		if (found || !slice_is(p->resource, json_tree_text(item, "name")) ||
			!(verb_is_write(call->verb) || has_verb(item, "list")))
			continue;
		found = true;
		*ret = (struct tape_resource){.apigroup = slice_dup(p->group),
			.version = slice_dup(p->version),
			.resource = slice_dup(p->resource),
			.kind = xstrdup(json_tree_text(item, "kind")),
			.namespaced = cJSON_IsTrue(json_tree_at(item, "namespaced", NULL))};
	}
	cJSON_Delete(list);
	return found;
}

/* Leases and events are there whatever was recorded: programs write them. */
static bool may_be_unrecorded(struct api_call *call)
{
	const struct api_path *p = &call->path;

	return verb_is_write(call->verb) || builtin_is_aside(p->group, p->resource) ||
	       !discovery_is_recorded(call);
}

static struct collection *unrecorded_add(struct api_call *call)
{
	struct collection *c;
	struct tape_resource r;

	if (!find_recorded(call, &r) && !(may_be_unrecorded(call) && find_known(&call->path, &r)))
		return NULL;
	c = world_add(call->api->world, &r);
	free(r.apigroup);
	free(r.version);
	free(r.resource);
	free(r.kind);
	return c;
}

struct collection *collection_find(struct api_call *call)
{
	const struct api_path *p = &call->path;
	struct collection *c = world_find(call->api->world, p->group, p->version, p->resource);

	if (!c)
		c = crd_define(call->api->world, p->group, p->version, p->resource);
	if (!c)
		return unrecorded_add(call);
	crd_refresh(call->api->world, c);
	return c;
}
