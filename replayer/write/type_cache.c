/* type_cache.c: see type_cache.h. */
#include "replayer/write/type_cache.h"

#include "replayer/world/crd.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

struct kept {
	char *path;   /* of the document, or the name of the CRD; NULL: unused */
	uint64_t seq; /* of its version */
	cJSON *document;
};

struct type_cache {
	struct kept kept[TYPE_DOCUMENTS_KEPT];
	size_t next;         /* the one to be replaced */
	const cJSON *pinned; /* its document is not replaced; NULL: any may be */
};

struct type_cache *type_cache_new(void)
{
	return xcalloc(1, sizeof(struct type_cache));
}

static void kept_release(struct kept *k)
{
	free(k->path);
	cJSON_Delete(k->document);
}

void type_cache_free(struct type_cache *t)
{
	for (size_t i = 0; t && i < TYPE_DOCUMENTS_KEPT; i++)
		kept_release(&t->kept[i]);
	free(t);
}

void type_cache_pin(struct type_cache *t, const struct field_type *type)
{
	t->pinned = !type ? NULL : type->document ? type->document : type->schema;
}

static const struct kept *find_kept(const struct type_cache *t, const char *path, uint64_t seq)
{
	for (size_t i = 0; i < TYPE_DOCUMENTS_KEPT; i++) {
		const struct kept *k = &t->kept[i];

		if (k->path && k->seq == seq && strcmp(k->path, path) == 0)
			return k;
	}
	return NULL;
}

/* What is no JSON is kept as nothing, too. */
static const cJSON *type_cache_parse(struct type_cache *t, const char *path, uint64_t seq, struct slice json)
{
	struct kept *k = &t->kept[t->next];

	if (t->pinned && k->document == t->pinned)
		k = &t->kept[t->next = (t->next + 1) % TYPE_DOCUMENTS_KEPT];
	t->next = (t->next + 1) % TYPE_DOCUMENTS_KEPT;
	kept_release(k);
	*k = (struct kept){.path = xstrdup(path), .seq = seq};
	(void)!json_tree_parse(json, &k->document, NULL);
	return k->document;
}

static struct field_type of_custom(struct type_cache *t, struct world *w, const struct collection *c)
{
	struct slice crd, schema = {NULL, 0};
	uint64_t seq = crd_find(w, c, &crd);
	const struct kept *kept;
	const cJSON *parsed = NULL;
	char *path;

	path = xasprintf("%s.%s/%s", c->resource.resource, c->resource.apigroup, c->resource.version);
	kept = seq ? find_kept(t, path, seq) : NULL;
	if (kept)
		parsed = kept->document;
	else if (seq && crd_says(crd, c->resource.version, "schema.openAPIV3Schema", &schema))
		parsed = type_cache_parse(t, path, seq, schema);
	free(path);
	return field_type_of_custom(parsed);
}

static bool is_of_kind(const cJSON *schema, const struct tape_resource *r)
{
	const cJSON *kind = json_tree_at(schema, "x-kubernetes-group-version-kind", NULL);

	kind = cJSON_IsArray(kind) ? kind->child : NULL;
	return kind && !kind->next && strcmp(json_tree_text(kind, "kind"), r->kind) == 0 &&
	       strcmp(json_tree_text(kind, "group"), r->apigroup) == 0 &&
	       strcmp(json_tree_text(kind, "version"), r->version) == 0;
}

static const cJSON *recorded_document(struct type_cache *t, struct world *w, const struct tape_resource *r)
{
	char *path = xasprintf(
		"/openapi/v3/%s%s%s%s", *r->apigroup ? "apis/" : "api", r->apigroup, "/", r->version);
	const struct kept *kept = NULL;
	const cJSON *parsed = NULL;
	struct tape_document d;
	struct buf body;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (tape_document(w->tape, path, "", w->seq, &d, NULL, NULL) == 0)
		kept = find_kept(t, path, d.after_seq + 1);
	if (kept)
		parsed = kept->document;
	else if (tape_document(w->tape, path, "", w->seq, &d, &body, NULL) == 0)
		parsed = type_cache_parse(t, path, d.after_seq + 1, buf_slice(&body));
	buf_release(&body);
	free(path);
	return parsed;
}

struct field_type type_cache_find(struct type_cache *t, struct world *w, const struct collection *c)
{
	const cJSON *document, *schema;

	if (c->custom)
		return of_custom(t, w, c);
	document = recorded_document(t, w, &c->resource);
	cJSON_ArrayForEach(schema, json_tree_at(document, "components", "schemas", NULL))
	{
		if (is_of_kind(schema, &c->resource))
			return field_type_of_schema(schema, document);
	}
	return field_type_of_resource(c->resource.apigroup, c->resource.version, c->resource.resource);
}
