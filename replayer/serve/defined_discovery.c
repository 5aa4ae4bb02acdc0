/* defined_discovery.c: see defined_discovery.h. */
#include "replayer/serve/defined_discovery.h"

#include "replayer/json/json_tree.h"
#include "replayer/world/crd.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

struct addition {
	enum defined_document what;
	struct slice group, version;
	cJSON *document; /* NULL: none yet */
	bool any;
};

/* One CRD, as discovery needs it. */
struct defined {
	const char *group, *version;
	cJSON *names, *entry; /* spec.names; the version's entry */
	bool namespaced;
};

/* The item of a list whose member has that text; appended if there is none. */
static cJSON *find_or_add(cJSON *list, const char *member, const char *text, bool *ret_is_new)
{
	cJSON *item;

	*ret_is_new = false;
	cJSON_ArrayForEach(item, list)
	{
		if (strcmp(json_tree_text(item, member), text) == 0)
			return item;
	}
	item = cJSON_CreateObject();
	cJSON_AddStringToObject(item, member, text);
	cJSON_AddItemToArray(list, item);
	*ret_is_new = true;
	return item;
}

static cJSON *list_of(cJSON *object, const char *name)
{
	if (!cJSON_IsArray(json_tree_at(object, name, NULL)))
		json_tree_set(object, name, cJSON_CreateArray());
	return json_tree_at(object, name, NULL);
}

static void set_verbs(cJSON *to, const char *const *verbs, int count)
{
	json_tree_set(to, "verbs", cJSON_CreateStringArray(verbs, count));
}

static void set_all_verbs(cJSON *to)
{
	static const char *const verbs[] = {
		"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};

	set_verbs(to, verbs, 8);
}

static void set_part_verbs(cJSON *to)
{
	static const char *const verbs[] = {"get", "patch", "update"};

	set_verbs(to, verbs, 3);
}

static void copy_lists(const struct defined *d, cJSON *to)
{
	static const char *const names[] = {"shortNames", "categories"};

	for (size_t i = 0; i < 2; i++) {
		const cJSON *list = json_tree_at(d->names, names[i], NULL);

		json_tree_set(to, names[i], cJSON_GetArraySize(list) ? cJSON_Duplicate(list, true) : NULL);
	}
}

static bool has_part(const struct defined *d, const char *name)
{
	return json_tree_at(d->entry, "subresources", name, NULL) != NULL;
}

/* ---- aggregated ---- */

static void set_response_kind(cJSON *to, const char *group, const char *version, const char *kind)
{
	cJSON *made = cJSON_CreateObject();

	cJSON_AddStringToObject(made, "group", group);
	cJSON_AddStringToObject(made, "version", version);
	cJSON_AddStringToObject(made, "kind", kind);
	json_tree_set(to, "responseKind", made);
}

static void add_aggregated_part(const struct defined *d, cJSON *resource, const char *name)
{
	bool is_new, is_scale = strcmp(name, "scale") == 0;
	cJSON *part;

	if (!has_part(d, name))
		return;
	part = find_or_add(list_of(resource, "subresources"), "subresource", name, &is_new);
	set_response_kind(part, is_scale ? "autoscaling" : d->group, is_scale ? "v1" : d->version,
		is_scale ? "Scale" : json_tree_text(d->names, "kind"));
	set_part_verbs(part);
}

static void add_aggregated_resource(const struct defined *d, cJSON *version)
{
	bool is_new;
	cJSON *r = find_or_add(
		list_of(version, "resources"), "resource", json_tree_text(d->names, "plural"), &is_new);

	set_response_kind(r, d->group, d->version, json_tree_text(d->names, "kind"));
	json_tree_set_text(r, "scope", d->namespaced ? "Namespaced" : "Cluster");
	json_tree_set_text(r, "singularResource", json_tree_text(d->names, "singular"));
	set_all_verbs(r);
	copy_lists(d, r);
	add_aggregated_part(d, r, "status");
	add_aggregated_part(d, r, "scale");
}

static void add_aggregated(const struct defined *d, cJSON *document)
{
	cJSON *groups = list_of(document, "items"), *item, *group = NULL, *version;
	bool is_new;

	cJSON_ArrayForEach(item, groups)
	{
		if (strcmp(json_tree_text(json_tree_at(item, "metadata", NULL), "name"), d->group) == 0)
			group = item;
	}
	if (!group) {
		group = cJSON_CreateObject();
		json_tree_set_text(json_tree_object(group, "metadata"), "name", d->group);
		cJSON_AddItemToArray(groups, group);
	}
	version = find_or_add(list_of(group, "versions"), "version", d->version, &is_new);
	add_aggregated_resource(d, version);
	json_tree_set_text(version, "freshness", "Current");
}

/* ---- classic ---- */

static void add_version(const struct defined *d, cJSON *group)
{
	char *both = xasprintf("%s/%s", d->group, d->version);
	bool is_new;
	cJSON *version = find_or_add(list_of(group, "versions"), "groupVersion", both, &is_new);

	json_tree_set_text(version, "version", d->version);
	if (!json_tree_at(group, "preferredVersion", NULL))
		json_tree_set(group, "preferredVersion", cJSON_Duplicate(version, true));
	free(both);
}

static cJSON *new_document(const char *kind, const char *api_version)
{
	cJSON *made = cJSON_CreateObject();

	cJSON_AddStringToObject(made, "kind", kind);
	if (api_version)
		cJSON_AddStringToObject(made, "apiVersion", api_version);
	return made;
}

static void add_part(const struct defined *d, cJSON *list, const char *name)
{
	bool is_new, is_scale = strcmp(name, "scale") == 0;
	char *path = xasprintf("%s/%s", json_tree_text(d->names, "plural"), name);
	cJSON *r;

	if (has_part(d, name)) {
		r = find_or_add(list, "name", path, &is_new);
		json_tree_set_text(r, "singularName", "");
		json_tree_set(r, "namespaced", cJSON_CreateBool(d->namespaced));
		if (is_scale) {
			json_tree_set_text(r, "group", "autoscaling");
			json_tree_set_text(r, "version", "v1");
		}
		json_tree_set_text(r, "kind", is_scale ? "Scale" : json_tree_text(d->names, "kind"));
		set_part_verbs(r);
	}
	free(path);
}

static void add_resource(const struct defined *d, cJSON *document)
{
	cJSON *list = list_of(document, "resources"), *r;
	bool is_new;

	r = find_or_add(list, "name", json_tree_text(d->names, "plural"), &is_new);
	json_tree_set_text(r, "singularName", json_tree_text(d->names, "singular"));
	json_tree_set(r, "namespaced", cJSON_CreateBool(d->namespaced));
	json_tree_set_text(r, "kind", json_tree_text(d->names, "kind"));
	set_all_verbs(r);
	copy_lists(d, r);
	add_part(d, list, "status");
	add_part(d, list, "scale");
}

static void add_to_group_list(const struct defined *d, cJSON *document)
{
	bool is_new;

	add_version(d, find_or_add(list_of(document, "groups"), "name", d->group, &is_new));
}

static cJSON *begin_document(const struct addition *a, const struct defined *d)
{
	cJSON *made;
	char *both;

	switch (a->what) {
	case DEFINED_AGGREGATED: return new_document("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2");
	case DEFINED_GROUPS: return new_document("APIGroupList", "v1");
	case DEFINED_GROUP:
		made = new_document("APIGroup", "v1");
		cJSON_AddStringToObject(made, "name", d->group);
		return made;
	default: break;
	}
	made = new_document("APIResourceList", "v1");
	both = xasprintf("%s/%s", d->group, d->version);
	cJSON_AddStringToObject(made, "groupVersion", both);
	free(both);
	return made;
}

/* ---- each CRD ---- */

static bool is_of_document(const struct addition *a, const struct defined *d)
{
	if (a->what == DEFINED_GROUP || a->what == DEFINED_RESOURCES) {
		if (!slice_is(a->group, d->group))
			return false;
	}
	return a->what != DEFINED_RESOURCES || slice_is(a->version, d->version);
}

static void add_one(struct addition *a, const struct defined *d)
{
	static void (*const adders[])(const struct defined *d, cJSON *document) = {
		[DEFINED_AGGREGATED] = add_aggregated,
		[DEFINED_GROUPS] = add_to_group_list,
		[DEFINED_GROUP] = add_version,
		[DEFINED_RESOURCES] = add_resource,
	};

	if (!is_of_document(a, d))
		return;
	if (!a->document)
		a->document = begin_document(a, d);
	adders[a->what](d, a->document);
	a->any = true;
}

static void add_crd_version(struct addition *a, struct slice text, struct slice name)
{
	char *version = slice_dup(name);
	cJSON *crd, *entry;

	if (json_tree_parse(text, &crd, NULL)) {
		free(version);
		return;
	}
	cJSON_ArrayForEach(entry, json_tree_at(crd, "spec", "versions", NULL))
	{
		const cJSON *spec = json_tree_at(crd, "spec", NULL);
		const struct defined d = {json_tree_text(spec, "group"), version,
			json_tree_at(spec, "names", NULL), entry,
			strcmp(json_tree_text(spec, "scope"), "Namespaced") == 0};

		if (strcmp(json_tree_text(entry, "name"), version) == 0)
			add_one(a, &d);
	}
	cJSON_Delete(crd);
	free(version);
}

static void add_crd(void *context, struct slice text)
{
	add_crd_version(context, text, crd_stored_version(text));
}

static void add_followed(struct addition *a, struct world *w)
{
	struct slice crd;

	for (size_t i = 0; i < w->count; i++) {
		const struct collection *c = &w->collections[i];

		if (c->custom && c->served && c->resource.resource && crd_find(w, c, &crd))
			add_crd_version(a, crd, slice_of(c->resource.version));
	}
}

bool defined_discovery_add(struct world *w, enum defined_document what, struct slice group,
	struct slice version, bool derived, struct buf *body)
{
	struct addition a = {.what = what, .group = group, .version = version};

	if (json_trim(buf_slice(body)).len && json_tree_parse(json_trim(buf_slice(body)), &a.document, NULL))
		return false;
	if (derived)
		add_followed(&a, w);
	crd_each_defining(w, add_crd, &a);
	if (a.any) {
		buf_clear(body);
		a.any = json_tree_print(a.document, body, NULL) == 0;
	}
	cJSON_Delete(a.document);
	return a.any;
}
