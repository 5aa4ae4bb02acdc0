/* bundle_discovery.c: what the server of a bundle has: its discovery, as documents of the tape, and the names of
 * resources, from there or from elsewhere. See bundle_internal.h. */
#include "replayer/kinds/write_table.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tools/import/bundle_internal.h"
#include "tools/import/kind_names.h"

#include <stdlib.h>

/* The text of a member, "" when it is none; the caller frees. */
static char *text_at(struct slice json, const char *path)
{
	struct slice value;

	if (json_get(json, path, &value, NULL) <= 0 || value.len < 2 || value.ptr[0] != '"')
		return xstrdup("");
	return slice_dup((struct slice){value.ptr + 1, value.len - 2});
}

/* ---- documents ---- */

static int take_version(struct bundle *b, struct slice json, struct err *err)
{
	struct slice info;

	if (json_get(json, "info", &info, NULL) <= 0)
		info = json;
	if (json_get(info, "gitVersion", &json, NULL) <= 0)
		return err_set(err, ERR_PROTOCOL, "it does not tell the server's version");
	bundle_add_document(b, "/version", "", info);
	return 0;
}

static int take_aggregated(struct bundle *b, const char *path, struct slice json, struct err *err)
{
	int rc = catalog_add_aggregated(&b->catalog, json, err);

	if (rc == 0)
		bundle_add_document(b, path, "aggregated", json);
	return rc;
}

/* The core group has no name here and is not in the list of a server. */
static int append_groups(struct slice groups, struct buf *to, struct err *err)
{
	const char *comma = "";
	struct json_iter it;
	struct slice group;
	int rc = json_iter_begin(groups, &it, err), more;

	if (!rc)
		rc = buf_printf(to, err, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	while (rc == 0 && (more = json_iter_next(&it, NULL, &group, err)) != 0) {
		char *name = text_at(group, "name");

		if (more < 0)
			rc = more;
		else if (*name)
			rc = buf_printf(to, err, "%s%.*s", comma, (int)group.len, group.ptr);
		comma = *name ? "," : comma;
		free(name);
	}
	return rc ? rc : buf_append(to, "]}", 2, err);
}

static int take_groups(struct bundle *b, struct slice json, struct err *err)
{
	static const char core[] =
		"{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}";
	struct buf list;
	int rc;

	buf_init(&list, LIMIT_DOCUMENT_BYTES);
	rc = append_groups(json, &list, err);
	if (!rc) {
		bundle_add_document(b, "/apis", "", buf_slice(&list));
		bundle_add_document(b, "/api", "", slice_of(core));
	}
	buf_release(&list);
	return rc;
}

/* Go leaves out what the type has no value for: kind and apiVersion. */
static int take_resource_list(struct bundle *b, struct slice list, struct err *err)
{
	char *version = text_at(list, "groupVersion");
	char *path = xasprintf("%s%s", strchr(version, '/') ? "/apis/" : "/api/", version);
	struct slice resources;
	struct buf whole;
	int rc;

	buf_init(&whole, LIMIT_DOCUMENT_BYTES);
	if (!*version || json_get(list, "resources", &resources, NULL) <= 0 || resources.ptr[0] != '[')
		rc = err_set(err, ERR_PROTOCOL, "an entry is no list of resources");
	else
		rc = buf_printf(&whole, err,
			"{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s\",\"resources\":%.*s}",
			version, (int)resources.len, resources.ptr);
	if (!rc)
		rc = catalog_add_classic(&b->catalog, buf_slice(&whole), err);
	if (!rc)
		bundle_add_document(b, path, "", buf_slice(&whole));
	buf_release(&whole);
	free(version);
	free(path);
	return rc;
}

static int take_resources(struct bundle *b, struct slice json, struct err *err)
{
	struct json_iter it;
	struct slice list;
	int rc = json_iter_begin(json, &it, err), more;

	while (rc == 0 && (more = json_iter_next(&it, NULL, &list, err)) != 0)
		rc = more < 0 ? more : take_resource_list(b, list, err);
	return rc;
}

int bundle_take_discovery(
	struct bundle *b, const struct bundle_part *part, struct slice json, struct err *err)
{
	switch (part->kind) {
	case PART_VERSION: return take_version(b, json, err);
	case PART_GROUPS: return take_groups(b, json, err);
	case PART_RESOURCES: return take_resources(b, json, err);
	case PART_CORE: return take_aggregated(b, "/api", json, err);
	default: return take_aggregated(b, "/apis", json, err);
	}
}

/* ---- folders of a support bundle ---- */

/* The plural: most folders have it, some with dashes between its words. */
static char *plural_of_folder(struct slice folder)
{
	static const struct {
		const char *folder, *plural;
	} rows[] = {{"ingress", "ingresses"}, {"limitranges", "limitranges"},
		{"network-policy", "networkpolicies"}, {"pod-disruption-budgets", "poddisruptionbudgets"},
		{"pvcs", "persistentvolumeclaims"}, {"pvs", "persistentvolumes"},
		{"resource-quota", "resourcequotas"}};
	char *plural = slice_dup(folder), *to = plural;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (!slice_is(folder, rows[i].folder))
			continue;
		free(plural);
		return xstrdup(rows[i].plural);
	}
	for (const char *from = plural; *from; from++) {
		if (*from != '-')
			*to++ = *from;
	}
	*to = 0;
	return plural;
}

bool bundle_list_of_folder(struct slice folder, char **ret_api_version, char **ret_kind)
{
	char *plural = plural_of_folder(folder);
	const struct write_resource *found = NULL;

	for (unsigned i = 0; i < write_resource_count; i++) {
		const struct write_resource *w = &write_resources[i];

		if (strcmp(w->resource, plural) == 0 && (!found || strcmp(found->version, "v1") != 0))
			found = w;
	}
	free(plural);
	if (!found)
		return false;
	*ret_api_version = xasprintf("%s%s%s", found->group, *found->group ? "/" : "", found->version);
	*ret_kind = xasprintf("%sList", found->kind);
	return true;
}

/* ---- names of resources ---- */

static void add_definitions(const struct bundle *b, struct kind_names *n)
{
	for (size_t i = 0; i < b->version_count; i++) {
		const struct bundle_version *v = &b->versions[i];

		if (strcmp(b->resources[b->scopes[v->scope].resource].kind, "CustomResourceDefinition") == 0)
			kind_names_add_definition(n, slice_of(v->json));
	}
}

void bundle_name_resources(struct bundle *b)
{
	struct kind_names names = {0};

	kind_names_add_catalog(&names, &b->catalog);
	kind_names_add_builtin(&names);
	add_definitions(b, &names);
	for (size_t i = 0; i < b->resource_count; i++) {
		struct bundle_resource *r = &b->resources[i];
		const struct kind_name *name =
			kind_names_find(&names, slice_of(r->api_version), slice_of(r->kind));

		if (name) {
			free(r->plural);
			r->plural = xstrdup(name->plural);
			r->namespaced = name->namespaced;
		} else if (!r->plural) {
			r->plural = import_plural_of(r->kind);
		}
	}
	kind_names_release(&names);
}
