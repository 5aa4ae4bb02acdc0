/* view.c: see view.h. */
#include "replayer/table/view.h"

#include "replayer/kinds/zero_table.h"
#include "replayer/table/meta_order.h"
#include "replayer/table/table.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

static const char *meta_version(const struct view *v)
{
	return v->beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

const char *view_api_version(const struct collection *c, char to[API_VERSION_MAX])
{
	const struct tape_resource *r = &c->resource;

	snprintf(to, API_VERSION_MAX, "%s%s%s", r->apigroup, *r->apigroup ? "/" : "", r->version);
	return to;
}

/* ---- lists ---- */

/* Key order is that of the API server: fixed for what it has types for, by name for custom resources. */
static int write_list_meta(const struct list_meta *m, bool sorted, struct buf *to, struct err *err)
{
	int rc = buf_append(to, "{", 1, err);

	if (rc == 0 && !sorted)
		rc = buf_printf(to, err, "\"resourceVersion\":\"%llu\"", (unsigned long long)m->rv);
	if (rc == 0 && (sorted || *m->continue_token))
		rc = buf_printf(to, err, "%s\"continue\":\"%s\"", sorted ? "" : ",", m->continue_token);
	if (rc == 0 && m->remaining >= 0)
		rc = buf_printf(to, err, ",\"remainingItemCount\":%lld", (long long)m->remaining);
	if (rc == 0 && sorted)
		rc = buf_printf(to, err, ",\"resourceVersion\":\"%llu\"", (unsigned long long)m->rv);
	return rc ? rc : buf_append(to, "}", 1, err);
}

static int write_list_start(const char *kind, const char *suffix, const char *version,
	const struct list_meta *m, struct buf *to, struct err *err)
{
	int rc = buf_printf(
		to, err, "{\"kind\":\"%s%s\",\"apiVersion\":\"%s\",\"metadata\":", kind, suffix, version);

	if (rc == 0)
		rc = write_list_meta(m, false, to, err);
	return rc ? rc : buf_printf(to, err, ",\"items\":");
}

/* Of metadata only, and of kinds that have no columns of their own, a list without items says null. */
static bool brackets_come_with_items(const struct view *v)
{
	return v->form == FORM_PARTIAL_LIST || (v->form == FORM_TABLE && table_is_plain(v));
}

static int write_table_head(const struct view *v, const struct list_meta *m, struct buf *to, struct err *err)
{
	int rc = table_head(v, m, to, err);

	return rc || brackets_come_with_items(v) ? rc : buf_append(to, "[", 1, err);
}

int view_list_head(const struct view *v, const struct list_meta *m, struct buf *to, struct err *err)
{
	char version[API_VERSION_MAX];
	int rc;

	if (v->form == FORM_TABLE)
		return write_table_head(v, m, to, err);
	if (v->form == FORM_PARTIAL_LIST)
		return write_list_start("PartialObjectMetadata", "List", meta_version(v), m, to, err);
	view_api_version(v->collection, version);
	if (v->collection->custom)
		return buf_printf(to, err, "{\"apiVersion\":\"%s\",\"items\":[", version);
	rc = write_list_start(v->collection->resource.kind, "List", version, m, to, err);
	return rc ? rc : buf_append(to, "[", 1, err);
}

int view_list_separator(const struct view *v, bool first, struct buf *to, struct err *err)
{
	if (!first)
		return buf_append(to, ",", 1, err);
	return brackets_come_with_items(v) ? buf_append(to, "[", 1, err) : 0;
}

int view_list_tail(
	const struct view *v, const struct list_meta *m, bool empty, struct buf *to, struct err *err)
{
	int rc;

	if (empty && brackets_come_with_items(v))
		return buf_printf(to, err, "null}");
	if (v->form != FORM_OBJECT || !v->collection->custom)
		return buf_append(to, "]}", 2, err);
	rc = buf_printf(to, err, "],\"kind\":\"%sList\",\"metadata\":", v->collection->resource.kind);
	if (rc == 0)
		rc = write_list_meta(m, true, to, err);
	return rc ? rc : buf_append(to, "}", 1, err);
}

/* Items of lists have no kind and apiVersion, but for custom resources. */
static int write_untyped(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	char version[API_VERSION_MAX];
	struct slice rest = object;
	bool typed;
	int rc;

	view_api_version(v->collection, version);
	typed = !v->collection->custom && slice_skip(&rest, "{\"kind\":\"") &&
		slice_skip(&rest, v->collection->resource.kind) &&
		slice_skip(&rest, "\",\"apiVersion\":\"") && slice_skip(&rest, version) &&
		slice_skip(&rest, "\",");
	if (!typed)
		return buf_append(to, object.ptr, object.len, err);
	rc = buf_append(to, "{", 1, err);
	return rc ? rc : buf_append(to, rest.ptr, rest.len, err);
}

/* The member at a path, with its key, as it stands in the text; empty when it is not there or not compact. */
static struct slice find_member(struct slice object, const char *path, const char *key)
{
	struct slice value, none = {NULL, 0};
	size_t len = strlen(key);

	if (json_get(object, path, &value, NULL) <= 0 || (size_t)(value.ptr - object.ptr) <= len ||
		memcmp(value.ptr - len, key, len) != 0)
		return none;
	return (struct slice){value.ptr - len, value.len + len};
}

/* Appends an object without one of its members, which is in the middle of it. */
static int write_without(struct slice object, struct slice member, struct buf *to, struct err *err)
{
	const char *from = member.ptr, *rest = member.ptr + member.len;
	int rc;

	if (*rest == ',')
		rest++;
	else if (from[-1] == ',')
		from--;
	rc = buf_append(to, object.ptr, (size_t)(from - object.ptr), err);
	return rc ? rc : buf_append(to, rest, (size_t)(object.ptr + object.len - rest), err);
}

/* The API server makes an annotation up where it shows a whole DaemonSet, as the tape has it, but not where
 * it shows metadata alone. */
static int write_metadata(const struct view *v, struct slice metadata, struct buf *to, struct err *err)
{
	static const char key[] = "\"deprecated.daemonset.template.generation\":",
			  outer[] = "\"annotations\":";
	struct slice made_up = {NULL, 0}, all = {NULL, 0};

	if (v->collection->custom)
		return meta_order_append(metadata, to, err);
	if (strcmp(v->collection->resource.kind, "DaemonSet") == 0) {
		made_up =
			find_member(metadata, "annotations['deprecated.daemonset.template.generation']", key);
		all = find_member(metadata, "annotations", outer);
	}
	if (!made_up.len)
		return buf_append(to, metadata.ptr, metadata.len, err);
	if (all.len == made_up.len + strlen(outer) + strlen("{}"))
		made_up = all;
	return write_without(metadata, made_up, to, err);
}

static int write_partial(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	struct slice metadata = slice_of("{}");
	int rc = json_get(object, "metadata", &metadata, err);

	if (rc < 0)
		return rc;
	rc = buf_printf(to, err,
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"%s\",\"metadata\":", meta_version(v));
	if (rc == 0)
		rc = write_metadata(v, metadata, to, err);
	return rc ? rc : buf_append(to, "}", 1, err);
}

int view_list_item(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	switch (v->form) {
	case FORM_TABLE: return table_row(v, object, to, err);
	case FORM_PARTIAL:
	case FORM_PARTIAL_LIST: return write_partial(v, object, to, err);
	case FORM_OBJECT: break;
	}
	return write_untyped(v, object, to, err);
}

int view_object(const struct view *v, struct slice object, struct buf *to, struct err *err)
{
	switch (v->form) {
	case FORM_TABLE: return table_of_one(v, object, to, err);
	case FORM_PARTIAL:
	case FORM_PARTIAL_LIST: return write_partial(v, object, to, err);
	case FORM_OBJECT: break;
	}
	return buf_append(to, object.ptr, object.len, err);
}

/* ---- frames ---- */

struct blob *view_new_frame(const struct view *v, const char *type, struct slice object)
{
	const struct slice parts[] = {slice_of("{\"type\":\""), slice_of(type), slice_of("\",\"object\":"),
		object, slice_of("}\n")};
	struct blob *frame = NULL;
	struct buf b;
	int rc;

	if (v->form == FORM_OBJECT)
		return blob_join(parts, COUNT_OF(parts));
	buf_init(&b, 2 * LIMIT_OBJECT_BYTES);
	rc = buf_printf(&b, NULL, "{\"type\":\"%s\",\"object\":", type);
	if (rc == 0)
		rc = view_object(v, object, &b, NULL);
	if (rc == 0)
		rc = buf_append(&b, "}\n", 2, NULL);
	if (rc == 0)
		frame = blob_of(buf_slice(&b));
	buf_release(&b);
	return frame;
}

/* Tables are not kept by age: their cells hold one, but all watchers are told within the same second. */
static uint32_t encoding_key(const struct view *v, enum event_type type, bool old_object)
{
	return (uint32_t)type | (uint32_t)v->form << 4 | (uint32_t)v->beta << 8 | (uint32_t)v->include << 12 |
	       (uint32_t)v->no_headers << 16 | (uint32_t)old_object << 20;
}

struct blob *view_frame(const struct view *v, struct change *c, enum event_type type, struct slice object)
{
	bool as_recorded = object.ptr == c->object.ptr;
	uint32_t key = encoding_key(v, type, !as_recorded);
	struct blob *frame;

	if (v->form == FORM_OBJECT && as_recorded && type == c->type)
		return blob_ref(c->plain);
	frame = change_encoding(c, key);
	if (frame)
		return blob_ref(frame);
	frame = view_new_frame(v, event_type_name(type), object);
	if (frame)
		change_keep_encoding(c, key, frame);
	return frame;
}

/* ---- objects ---- */

#define INITIAL_END "\"k8s.io/initial-events-end\":\"true\""

static const struct zero_object *find_zero(const char *api_version, const char *kind)
{
	static const struct zero_object other = {"", "", "", ""};

	for (unsigned i = 0; i < zero_object_count; i++) {
		if (strcmp(zero_objects[i].kind, kind) == 0 &&
			strcmp(zero_objects[i].api_version, api_version) == 0)
			return &zero_objects[i];
	}
	return &other;
}

static int custom_bookmark(
	const struct collection *c, uint64_t rv, bool initial_end, struct buf *to, struct err *err)
{
	char version[API_VERSION_MAX];

	return buf_printf(to, err,
		"{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{%s\"resourceVersion\":\"%llu\"}}",
		view_api_version(c, version), c->resource.kind,
		initial_end ? "\"annotations\":{" INITIAL_END "}," : "", (unsigned long long)rv);
}

static int bare_bookmark(
	const struct collection *c, uint64_t rv, bool initial_end, struct buf *to, struct err *err)
{
	char version[API_VERSION_MAX];
	const struct zero_object *zero = find_zero(view_api_version(c, version), c->resource.kind);
	int rc;

	if (c->custom)
		return custom_bookmark(c, rv, initial_end, to, err);
	rc = buf_printf(to, err,
		"{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%llu\"",
		c->resource.kind, version, (unsigned long long)rv);
	if (rc == 0 && (initial_end || *zero->annotations))
		rc = buf_printf(to, err, ",\"annotations\":{%s%s%s}", zero->annotations,
			initial_end && *zero->annotations ? "," : "", initial_end ? INITIAL_END : "");
	return rc ? rc : buf_printf(to, err, "}%s}", zero->rest);
}

/* A recorded bookmark may have been the annotated one; the one to be sent may not be. */
static void set_initial_end(cJSON *metadata, bool initial_end)
{
	cJSON *annotations = cJSON_GetObjectItemCaseSensitive(metadata, "annotations");

	if (!annotations && initial_end)
		annotations = cJSON_AddObjectToObject(metadata, "annotations");
	cJSON_DeleteItemFromObjectCaseSensitive(annotations, "k8s.io/initial-events-end");
	if (initial_end)
		cJSON_AddStringToObject(annotations, "k8s.io/initial-events-end", "true");
	else if (annotations && cJSON_GetArraySize(annotations) == 0)
		cJSON_DeleteItemFromObjectCaseSensitive(metadata, "annotations");
}

static char *shaped_bookmark(struct slice recorded, uint64_t rv, bool initial_end)
{
	cJSON *object = cJSON_ParseWithLength(recorded.ptr, recorded.len);
	cJSON *metadata = cJSON_GetObjectItemCaseSensitive(object, "metadata");
	cJSON *version = cJSON_GetObjectItemCaseSensitive(metadata, "resourceVersion");
	char digits[24], *text = NULL;

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)rv);
	if (cJSON_IsString(version) && cJSON_SetValuestring(version, digits)) {
		set_initial_end(metadata, initial_end);
		text = cJSON_PrintUnformatted(object);
	}
	cJSON_Delete(object);
	return text;
}

int bookmark_object(const struct collection *c, struct slice recorded, uint64_t rv, bool initial_end,
	struct buf *to, struct err *err)
{
	char *text = recorded.len ? shaped_bookmark(recorded, rv, initial_end) : NULL;
	int rc;

	if (!text)
		return bare_bookmark(c, rv, initial_end, to, err);
	rc = buf_append(to, text, strlen(text), err);
	free(text);
	return rc;
}
