/*
 * import_patch.c: recordings of kwok (`kwokctl snapshot record`): objects without resourceVersions as they
 * were in the beginning, then what happened to them, each with its time after the beginning:
 *
 *   {"kind": "ResourcePatch", "resource": {group, version, resource}, "target": {name, namespace},
 *    "durationNanosecond": N, "method": "create"|"patch"|"delete", "template": {...}}
 *
 * and the older form {"target": {"type": {group, version, resource}, name, namespace}, "create": true,
 * "delete": true, "patch": {...}}. resourceVersions are made up, 1, 2, 3 and so on in the order of the
 * recording, so that the tape can be served; the connection tells.
 */
#include "replayer/json/json_tree.h"
#include "replayer/write/patch_strategic.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tools/import/import_internal.h"

#include <stdio.h>

/* Members of a patch under both of their names. */
struct patch {
	char *group, *version, *resource, *name, *namespace;
	struct slice content;
	bool creates, deletes;
	int64_t after_ns;
};

static int import_patch_begin(struct importer *m, struct err *err)
{
	return import_begin_connection(
		m, "kwok's recording: resourceVersions made up, times counted from the import", err);
}

/* Appends the tree with the next resourceVersion, and remembers it. */
static int import_patch_give(
	struct importer *m, struct import_object *o, cJSON *tree, struct event *e, struct err *err)
{
	struct object_meta meta;
	struct buf object;
	char rv[24];
	int rc;

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++m->made_rv);
	json_tree_set_text(json_tree_object(tree, "metadata"), "resourceVersion", rv);
	buf_init(&object, LIMIT_OBJECT_BYTES);
	rc = json_tree_print(tree, &object, err);
	if (!rc)
		rc = json_scan_object(buf_slice(&object), &meta, err);
	e->stream = o->stream;
	if (!rc)
		rc = import_append(m, e, buf_slice(&object), &m->last_seq, err);
	if (!rc)
		rc = import_known_set(o, meta.uid, meta.rv, buf_slice(&object), err);
	if (!rc && e->type == EVENT_DELETED)
		import_known_delete(o);
	m->counts.events += rc == 0;
	buf_release(&object);
	return rc;
}

static int64_t time_after(struct importer *m, int64_t after_ns)
{
	int64_t ns;

	if (__builtin_add_overflow(m->base_ns, after_ns, &ns))
		ns = m->last_time_ns;
	m->last_time_ns = ns > m->last_time_ns ? ns : m->last_time_ns;
	return m->last_time_ns;
}

static int give_json(struct importer *m, uint32_t stream, const struct object_meta *meta, struct slice json,
	struct event *e, struct err *err)
{
	struct import_object *o = import_known_make(&m->known, stream, meta->namespace, meta->name);
	cJSON *tree;
	int rc;

	rc = json_tree_parse(json, &tree, err);
	if (rc)
		return rc;
	rc = import_patch_give(m, o, tree, e, err);
	cJSON_Delete(tree);
	return rc;
}

int import_snapshot(struct importer *m, const struct object_meta *meta, struct err *err)
{
	struct event e = {.origin = ORIGIN_LIST, .type = EVENT_ADDED, .time_ns = time_after(m, 0)};
	uint32_t stream;
	int rc;

	if ((rc = import_patch_begin(m, err)) || (rc = import_stream_of_object(m, meta, NULL, &stream, err)))
		return rc;
	return give_json(m, stream, meta, m->document, &e, err);
}

/* ---- patches ---- */

static struct patch read_patch(struct importer *m)
{
	bool is_old = import_raw(m, "target.type").len > 0;
	const char *method = import_text(m, "method");
	struct slice created = import_raw(m, "create"), deleted = import_raw(m, "delete");

	return (struct patch){
		.group = import_text(m, is_old ? "target.type.group" : "resource.group"),
		.version = import_text(m, is_old ? "target.type.version" : "resource.version"),
		.resource = import_text(m, is_old ? "target.type.resource" : "resource.resource"),
		.name = import_text(m, "target.name"),
		.namespace = import_text(m, "target.namespace"),
		.content = import_raw(m, is_old ? "patch" : "template"),
		.creates = strcmp(method, "create") == 0 || slice_is(created, "true"),
		.deletes = strcmp(method, "delete") == 0 || slice_is(deleted, "true"),
		.after_ns = import_number(m, "durationNanosecond", 0),
	};
}

static int create(struct importer *m, const struct patch *p, struct err *err)
{
	struct event e = {.origin = ORIGIN_WATCH, .type = EVENT_ADDED, .time_ns = time_after(m, p->after_ns)};
	struct object_meta meta;
	uint32_t stream;
	int rc;

	if (json_scan_object(p->content, &meta, NULL) || !meta.kind.len || !meta.name.len) {
		m->counts.left_out++;
		return 0;
	}
	rc = import_stream_of_object(m, &meta, p->resource, &stream, err);
	if (rc)
		return rc;
	return give_json(m, stream, &meta, p->content, &e, err);
}

static int import_patch_merge(cJSON *tree, const struct patch *p, struct err *err)
{
	struct field_type type = field_type_of_resource(p->group, p->version, p->resource);
	cJSON *patch = NULL;
	int rc = json_tree_parse(p->content, &patch, err);

	if (!rc && !cJSON_IsObject(patch))
		rc = err_set(err, ERR_CORRUPT, "the patch is not an object");
	else if (!rc && patch_strategic(tree, patch, type, err))
		rc = err_recode(err, ERR_CORRUPT);
	cJSON_Delete(patch);
	return rc ? err_prefix(err, rc, "cannot patch '%s'", p->name) : 0;
}

/* Of an object that is known: patched or gone. */
static int change(struct importer *m, const struct patch *p, struct import_object *o, struct err *err)
{
	struct event e = {.origin = ORIGIN_WATCH, .time_ns = time_after(m, p->after_ns)};
	cJSON *tree = NULL;
	int rc = json_tree_parse(buf_slice(&o->object), &tree, err);

	e.type = p->deletes ? EVENT_DELETED : EVENT_MODIFIED;
	if (!rc && !p->deletes)
		rc = import_patch_merge(tree, p, err);
	if (!rc)
		rc = import_patch_give(m, o, tree, &e, err);
	cJSON_Delete(tree);
	return rc;
}

static int import_patch_apply(struct importer *m, const struct patch *p, struct err *err)
{
	uint32_t stream = import_stream_of_resource(m, p->group, p->version, p->resource);
	struct import_object *o =
		import_known_find(&m->known, stream, slice_of(p->namespace), slice_of(p->name));

	if (p->creates)
		return create(m, p, err);
	if (o && o->live && (p->deletes || p->content.len))
		return change(m, p, o, err);
	m->counts.left_out++;
	return 0;
}

int import_patch(struct importer *m, struct err *err)
{
	struct patch p;
	int rc;

	if (!slice_is(import_raw(m, "kind"), "\"ResourcePatch\"") ||
		!strstr(import_text(m, "apiVersion"), "kwok.x-k8s.io"))
		return 0;
	p = read_patch(m);
	rc = import_patch_begin(m, err);
	if (!rc)
		rc = import_patch_apply(m, &p, err);
	return rc ? rc : 1;
}
