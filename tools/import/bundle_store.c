/* bundle_store.c: what was read of a bundle, until it is written. See bundle_internal.h. */
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"
#include "tools/import/bundle_internal.h"

#include <stdlib.h>

static void free_version(struct bundle_version *v)
{
	free(v->name);
	free(v->uid);
	free(v->rv);
	free(v->json);
	free(v->key);
}

static void free_resources(struct bundle *b)
{
	for (size_t i = 0; i < b->resource_count; i++) {
		free(b->resources[i].api_version);
		free(b->resources[i].kind);
		free(b->resources[i].plural);
		free(b->resources[i].key);
	}
	for (size_t i = 0; i < b->scope_count; i++) {
		free(b->scopes[i].namespace);
		free(b->scopes[i].rv);
		free(b->scopes[i].key);
	}
	for (size_t i = 0; i < b->empty_count; i++) {
		free(b->empties[i].group);
		free(b->empties[i].plural);
		free(b->empties[i].namespace);
	}
	free(b->resources);
	free(b->scopes);
	free(b->empties);
}

static void free_files(struct bundle *b)
{
	for (size_t i = 0; i < b->patches_count; i++) {
		free(b->patches[i].path);
		buf_release(&b->patches[i].lines);
	}
	for (size_t i = 0; i < b->document_count; i++) {
		free(b->documents[i].path);
		free(b->documents[i].body);
	}
	for (size_t i = 0; i < b->path_count; i++)
		free(b->paths[i]);
	free(b->patches);
	free(b->documents);
	free(b->paths);
}

void bundle_release(struct bundle *b)
{
	text_map_release(&b->resources_by_key);
	text_map_release(&b->scopes_by_key);
	text_map_release(&b->versions_by_key);
	text_map_release(&b->versions_by_path);
	for (size_t i = 0; i < b->version_count; i++)
		free_version(&b->versions[i]);
	free(b->versions);
	free_resources(b);
	free_files(b);
	catalog_release(&b->catalog);
	buf_release(&b->file);
	buf_release(&b->json);
}

size_t bundle_resource(struct bundle *b, struct slice api_version, struct slice kind)
{
	char *key = xasprintf("%.*s %.*s", (int)api_version.len, api_version.ptr, (int)kind.len, kind.ptr);
	size_t at = text_map_position_of(text_map_get(&b->resources_by_key, key));

	if (at < b->resource_count) {
		free(key);
		return at;
	}
	at = b->resource_count++;
	b->resources = xgrow(b->resources, at, sizeof(*b->resources));
	b->resources[at] = (struct bundle_resource){
		.api_version = slice_dup(api_version), .kind = slice_dup(kind), .key = key};
	text_map_put(&b->resources_by_key, key, text_map_position(at));
	return at;
}

size_t bundle_scope(struct bundle *b, size_t resource, struct slice namespace)
{
	char *key = xasprintf("%zu %.*s", resource, (int)namespace.len, namespace.len ? namespace.ptr : "");
	size_t at = text_map_position_of(text_map_get(&b->scopes_by_key, key));

	if (at < b->scope_count) {
		free(key);
		return at;
	}
	at = b->scope_count++;
	b->scopes = xgrow(b->scopes, at, sizeof(*b->scopes));
	b->scopes[at] =
		(struct bundle_scope){.resource = resource, .namespace = slice_dup(namespace), .key = key};
	b->resources[resource].namespaced |= namespace.len > 0;
	text_map_put(&b->scopes_by_key, key, text_map_position(at));
	return at;
}

/* ---- versions ---- */

int bundle_take_room(struct bundle *b, size_t bytes, struct err *err)
{
	b->bytes += bytes;
	if (b->bytes <= LIMIT_BUNDLE_BYTES)
		return 0;
	b->is_full = true;
	return err_set(err, ERR_TOO_LARGE, "what is to be kept of '%s' is more than %llu bytes", b->name,
		(unsigned long long)LIMIT_BUNDLE_BYTES);
}

/* Copies the texts; those that were there are freed. */
static int fill(struct bundle *b, struct bundle_version *v, struct slice object,
	const struct object_meta *meta, struct err *err)
{
	int rc = bundle_take_room(b, object.len, err);

	if (rc)
		return rc;
	free(v->name);
	free(v->uid);
	free(v->rv);
	free(v->json);
	v->name = slice_dup(meta->name);
	v->uid = slice_dup(meta->uid);
	v->rv = slice_dup(meta->rv);
	v->json = slice_dup(object);
	return 0;
}

int bundle_add_version(struct bundle *b, const struct bundle_version *like, struct slice object,
	const struct object_meta *meta, struct err *err)
{
	struct bundle_version v = {.scope = like->scope,
		.order = b->version_count,
		.time_ns = like->time_ns,
		.type = like->type,
		.is_watched = like->is_watched};
	int rc = fill(b, &v, object, meta, err);

	if (rc)
		return rc;
	b->versions = xgrow(b->versions, b->version_count, sizeof(*b->versions));
	b->versions[b->version_count++] = v;
	return 0;
}

/* Files of a bundle are written one after the other: the same object may be in several, as it was then. */
static bool is_newer(const struct bundle_version *have, struct slice rv)
{
	struct slice old = slice_of(have->rv);

	return rv_valid(rv) && (!rv_valid(old) || rv_compare(rv, old) > 0);
}

static int add_first(struct bundle *b, size_t scope, char *key, struct slice object,
	const struct object_meta *meta, struct err *err)
{
	struct bundle_version v = {.scope = scope};
	int rc;

	v.is_watched = b->form == BUNDLE_CRUST_GATHER && bundle_annotated(object, &v.type, &v.time_ns);
	v.type = EVENT_ADDED;
	rc = bundle_add_version(b, &v, object, meta, err);
	if (rc) {
		free(key);
		return rc;
	}
	b->versions[b->version_count - 1].key = key;
	text_map_put(&b->versions_by_key, key, text_map_position(b->version_count - 1));
	return 0;
}

static bool is_in_group(struct slice api_version, struct slice group)
{
	struct slice rest = api_version, first = slice_cut(&rest, '/');

	return rest.ptr ? slice_equal(first, group) : group.len == 0;
}

static void take_plural(struct bundle_resource *r, const struct bundle_part *part)
{
	if (!r->plural && part->plural.len && is_in_group(slice_of(r->api_version), part->group))
		r->plural = slice_dup(part->plural);
}

int bundle_add_object(struct bundle *b, const struct bundle_part *part, struct slice object,
	size_t *ret_resource, struct err *err)
{
	struct object_meta meta;
	size_t scope, at;
	char *key;
	int rc;

	if (object.ptr[0] != '{' || json_scan_object(object, &meta, NULL) || !meta.kind.len ||
		!meta.api_version.len || !meta.name.len)
		return 0;
	*ret_resource = bundle_resource(b, meta.api_version, meta.kind);
	take_plural(&b->resources[*ret_resource], part);
	scope = bundle_scope(b, *ret_resource, meta.namespace);
	key = xasprintf("%zu %.*s", scope, (int)meta.name.len, meta.name.ptr);
	at = text_map_position_of(text_map_get(&b->versions_by_key, key));
	if (at < b->version_count) {
		free(key);
		rc = is_newer(&b->versions[at], meta.rv) ? fill(b, &b->versions[at], object, &meta, err) : 0;
	} else {
		rc = add_first(b, scope, key, object, &meta, err);
	}
	return rc ? rc : 1;
}

void bundle_add_document(struct bundle *b, const char *path, const char *variant, struct slice body)
{
	b->documents = xgrow(b->documents, b->document_count, sizeof(*b->documents));
	b->documents[b->document_count++] =
		(struct bundle_document){.path = xstrdup(path), .variant = variant, .body = slice_dup(body)};
}
