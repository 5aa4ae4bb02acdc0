/*
 * import_poll.c: the records of k8shark: answers to requests that were made again and again, and single watch
 * events, each with the path and the time of its request:
 *
 *   {"captured_at": TIME, "api_path": "/api/v1/namespaces/x/pods", "response_code": 200, "response_body":
 * {...}}
 *   {..., "event_type": "MODIFIED", "response_body": {the object}}
 *
 * The first list of a path is a list. Between two of them nobody watched, so that each further one closes a
 * gap and what differs was missed, as when a recorder lists again. A path of which there are watch events has
 * a gap only where a list shows that they were not all.
 */
#include "replayer/request/api_path.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"
#include "tools/import/import_internal.h"

#include <stdlib.h>

/* One list that is being compared with what was known. */
struct poll {
	struct import_path *path;
	struct list_page list;
	int64_t time_ns;
	bool is_first;
	uint64_t unchanged;
	struct tape_gap gap; /* id 0 until a difference, or the time, shows that there was one */
};

static char none[1];

static int make_path(struct importer *m, const char *path, const struct api_path *parts, const char *kind,
	struct import_path **ret, struct err *err)
{
	struct tape_resource resource = {.apigroup = slice_dup(parts->group),
		.version = slice_dup(parts->version),
		.resource = slice_dup(parts->resource),
		.kind = xstrdup(kind),
		.namespaced = parts->in_namespace};
	struct tape_stream stream = {
		.namespace = slice_dup(parts->namespace), .label_selector = none, .field_selector = none};
	struct import_path *made = xcalloc(1, sizeof(*made));
	int rc = import_make_stream(m, &resource, &stream, &made->stream, err);

	made->path = xstrdup(path);
	made->resource = stream.resource;
	m->paths = xgrow(m->paths, m->path_count, sizeof(struct import_path *));
	m->paths[m->path_count++] = made;
	text_map_put(&m->paths_by_path, made->path, made);
	*ret = made;
	free(resource.apigroup);
	free(resource.version);
	free(resource.resource);
	free(resource.kind);
	free(stream.namespace);
	return rc;
}

/* The path of a list or a watch event; `kind`: of its objects. Whether objects lie in namespaces shows in the
 * first that is seen. */
static int path_of(struct importer *m, const char *path, struct slice kind, bool namespaced,
	struct import_path **ret, struct err *err)
{
	struct api_path parts;
	char *kind_text;
	int rc;

	*ret = text_map_get(&m->paths_by_path, path);
	if (*ret)
		return 0;
	api_path_parse(slice_of(path), &parts);
	parts.in_namespace |= namespaced;
	kind_text = slice_dup(kind);
	rc = make_path(m, path, &parts, kind_text, ret, err);
	free(kind_text);
	return rc;
}

/* ---- lists ---- */

static int begin_gap(struct importer *m, struct poll *p, struct err *err)
{
	uint64_t seq = m->last_seq;

	if (p->gap.id || p->is_first)
		return 0;
	p->gap = (struct tape_gap){.stream = p->path->stream,
		.begin_seq = seq,
		.end_seq = seq,
		.begin_ns = p->path->last_ns,
		.end_ns = p->time_ns,
		.duration_ns = p->time_ns - p->path->last_ns,
		.from_rv = p->path->rv ? p->path->rv : none,
		.to_rv = none,
		.reason = p->path->is_watched ? "unknown" : "polled",
		.how_ended = "open"};
	return tape_writer_gap(m->writer, &p->gap, err);
}

static uint64_t *counter_of(struct tape_gap *gap, const char *change)
{
	switch (*change) {
	case 'a': return &gap->added;
	case 'd': return &gap->deleted;
	case 'm': return &gap->modified;
	default: return &gap->recreated;
	}
}

/* `now`: what the list shows, NULL when the object is gone. */
static int note_missed(struct importer *m, struct poll *p, const char *change, const struct import_object *o,
	const struct object_meta *now, struct err *err)
{
	struct tape_missed missed = {.gap = p->gap.id,
		.change = change,
		.resource = p->path->resource,
		.namespace = slice_of(o->namespace),
		.name = slice_of(o->name)};
	bool recreated = strcmp(change, "recreated") == 0;

	(*counter_of(&p->gap, change))++;
	missed.uid = now ? now->uid : slice_of(o->uid);
	missed.rv = now ? now->rv : (struct slice){none, 0};
	missed.old_uid = recreated ? slice_of(o->uid) : (struct slice){none, 0};
	missed.old_rv = o->rv ? slice_of(o->rv) : (struct slice){none, 0};
	return tape_writer_missed(m->writer, &missed, err);
}

/* What this item is beside what was known: NULL when it is the same. */
static const char *change_of(const struct import_object *o, const struct object_meta *now)
{
	if (!o->live)
		return "added";
	if (!slice_is(now->uid, o->uid))
		return "recreated";
	return slice_is(now->rv, o->rv) ? NULL : "modified";
}

static int import_poll_give(
	struct importer *m, const struct poll *p, struct event *e, struct slice object, struct err *err)
{
	int rc;

	e->stream = p->path->stream;
	e->time_ns = p->time_ns;
	rc = import_append(m, e, object, &m->last_seq, err);
	if (rc)
		return rc;
	m->counts.events++;
	return 0;
}

/* Items of a list may leave out kind and apiVersion, which are put in. */
static int give_item(struct importer *m, struct poll *p, struct import_object *o, struct slice item,
	const char *change, struct err *err)
{
	struct event e = {.origin = p->is_first ? ORIGIN_LIST : ORIGIN_RELIST};
	struct object_meta meta;
	struct buf typed;
	int rc;

	e.type = *change == 'm' ? EVENT_MODIFIED : EVENT_ADDED;
	buf_init(&typed, LIMIT_OBJECT_BYTES);
	rc = import_typed_item(&p->list, item, &typed, &e.flags, err);
	if (!rc)
		rc = json_scan_object(buf_slice(&typed), &meta, err);
	if (!rc && !p->is_first)
		rc = note_missed(m, p, change, o, &meta, err);
	if (!rc)
		rc = import_poll_give(m, p, &e, buf_slice(&typed), err);
	if (!rc)
		rc = import_known_set(o, meta.uid, meta.rv, buf_slice(&typed), err);
	buf_release(&typed);
	return rc;
}

static int compare_item(struct importer *m, struct poll *p, struct slice item, struct err *err)
{
	struct import_object *o;
	struct object_meta meta;
	const char *change;
	int rc = json_scan_object(item, &meta, err);

	if (rc)
		return rc;
	o = import_known_make(&m->known, p->path->stream, meta.namespace, meta.name);
	o->seen = p->path->list_count;
	change = change_of(o, &meta);
	if (!change) {
		p->unchanged++;
		return 0;
	}
	rc = begin_gap(m, p, err);
	if (rc)
		return rc;
	return give_item(m, p, o, item, change, err);
}

/* What the list has no more. The resourceVersion of the deletion is unknown: the
 * list's is its upper bound. */
static int compare_rest(struct importer *m, struct poll *p, struct err *err)
{
	int rc;

	for (size_t i = 0; i < m->known.slot_count; i++) {
		struct import_object *o = m->known.slots[i];
		struct event e = {.origin = ORIGIN_INFERRED, .type = EVENT_DELETED, .rv = p->list.rv};

		if (!o || o->stream != p->path->stream || !o->live || o->seen == p->path->list_count)
			continue;
		if ((rc = begin_gap(m, p, err)) || (rc = note_missed(m, p, "deleted", o, NULL, err)) ||
			(rc = import_poll_give(m, p, &e, buf_slice(&o->object), err)))
			return rc;
		import_known_delete(o);
	}
	return 0;
}

static int end_gap(struct importer *m, struct poll *p, struct err *err)
{
	char *rv;
	int rc;

	if (!p->gap.id)
		return 0;
	rv = slice_dup(p->list.rv);
	p->gap.end_seq = m->last_seq;
	p->gap.to_rv = rv;
	p->gap.unchanged = p->unchanged;
	p->gap.how_ended = "relist";
	rc = tape_writer_gap(m->writer, &p->gap, err);
	free(rv);
	return rc;
}

static int end_list(struct importer *m, struct poll *p, struct err *err)
{
	struct tape_mark mark = {
		.kind = MARK_LIST, .rv = p->list.rv, .time_ns = p->time_ns, .stream = p->path->stream};

	free(p->path->rv);
	p->path->rv = slice_dup(p->list.rv);
	p->path->last_ns = p->time_ns;
	m->counts.marks++;
	return tape_writer_mark(m->writer, &mark, err);
}

static int compare_list(struct importer *m, struct poll *p, struct err *err)
{
	struct json_iter it;
	struct slice item;
	int more = 0;
	int rc;

	if (!p->is_first && !p->path->is_watched && (rc = begin_gap(m, p, err)))
		return rc;
	if (p->list.items.len && (rc = json_iter_begin(p->list.items, &it, err)))
		return rc;
	while (p->list.items.len && (more = json_iter_next(&it, NULL, &item, err)) > 0) {
		rc = compare_item(m, p, item, err);
		if (rc)
			return rc;
	}
	if ((rc = more) < 0 || (rc = compare_rest(m, p, err)) || (rc = end_gap(m, p, err)))
		return rc;
	return end_list(m, p, err);
}

static bool in_namespace(struct slice items)
{
	struct slice namespace;

	return json_get(items, "$[0].metadata.namespace", &namespace, NULL) > 0;
}

static int add_poll(struct importer *m, const char *path, struct slice body, int64_t time_ns, struct err *err)
{
	struct poll p = {.time_ns = time_ns};
	struct slice kind;
	int rc = json_scan_list(body, &p.list, err);

	if (rc)
		return rc;
	kind = (struct slice){p.list.kind.ptr, p.list.kind.len - strlen("List")};
	rc = path_of(m, path, kind, in_namespace(p.list.items), &p.path, err);
	if (rc)
		return rc;
	p.path->list_count++;
	p.is_first = p.path->list_count == 1 && !p.path->is_watched;
	return compare_list(m, &p, err);
}

/* ---- watch events ---- */

static int add_watched(struct importer *m, const char *path, struct slice type, struct slice object,
	int64_t time_ns, struct err *err)
{
	struct event e = {.origin = ORIGIN_WATCH, .time_ns = time_ns};
	struct import_path *p;
	struct import_object *o;
	struct object_meta meta;
	int rc;

	if (!event_type_parse(type, &e.type) || json_scan_object(object, &meta, NULL) || !meta.kind.len) {
		m->counts.left_out++;
		return 0;
	}
	rc = path_of(m, path, meta.kind, meta.namespace.len > 0, &p, err);
	if (rc)
		return rc;
	p->is_watched = true;
	p->last_ns = time_ns;
	o = import_known_make(&m->known, p->stream, meta.namespace, meta.name);
	/* A watch that is opened without a resourceVersion begins with what the list had already. */
	if (o->live && e.type == EVENT_ADDED && slice_is(meta.uid, o->uid) && slice_is(meta.rv, o->rv))
		return 0;
	e.stream = p->stream;
	rc = import_append(m, &e, object, &m->last_seq, err);
	if (rc)
		return rc;
	m->counts.events++;
	if (e.type == EVENT_DELETED) {
		import_known_delete(o);
		return 0;
	}
	return import_known_set(o, meta.uid, meta.rv, object, err);
}

/* ---- records ---- */

static bool is_list(const struct importer *m)
{
	struct slice kind = import_raw(m, "response_body.kind");

	return kind.len > strlen("\"List\"") && memcmp(kind.ptr + kind.len - 5, "List\"", 5) == 0 &&
	       import_raw(m, "response_body.items").len;
}

static int add_document(
	struct importer *m, const char *path, struct slice body, int64_t time_ns, struct err *err)
{
	struct tape_document d = {.time_ns = time_ns,
		.path = path,
		.variant = none,
		.http_status = 200,
		.content_type = "application/json",
		.etag = none,
		.body = body};

	m->counts.rows++;
	return tape_writer_document(m->writer, &d, err);
}

/* An answer that was no success tells why nothing is known. */
static int add_refusal(struct importer *m, const char *path, int64_t status, int64_t time_ns, struct err *err)
{
	struct tape_connection c = {.purpose = "list",
		.target = path,
		.begin_ns = time_ns,
		.timeout_seconds = -1,
		.first_byte_after_ns = -1,
		.duration_ns = 0,
		.http_status = (int)status,
		.retry_after_s = -1,
		.curl_code = -1,
		.os_errno = -1,
		.h2_error = -1,
		.next_delay_ns = -1,
		.end_reason = "http",
		.next_action = "retry"};
	int rc;

	m->counts.rows++;
	rc = tape_writer_begin_connection(m->writer, &c, err);
	return rc ? rc : tape_writer_end_connection(m->writer, &c, err);
}

static bool is_about_the_server(const char *path)
{
	struct api_path parts;

	api_path_parse(slice_of(path), &parts);
	return (parts.kind == API_PATH_OTHER &&
		       (strncmp(path, "/openapi", 8) == 0 || strcmp(path, "/version") == 0)) ||
	       parts.kind == API_PATH_ROOT || parts.kind == API_PATH_GROUP || parts.kind == API_PATH_VERSION;
}

static int64_t time_of_record(struct importer *m)
{
	int64_t ns = 0;

	if (!moment_is_absolute(slice_of(import_text(m, "captured_at")), &ns))
		ns = 0;
	m->last_time_ns = ns > m->last_time_ns ? ns : m->last_time_ns;
	return m->last_time_ns;
}

/* Tables are what kubectl would have printed: the objects say the same. */
static int add_known_record(struct importer *m, const char *path, int64_t time_ns, struct err *err)
{
	struct slice body = import_raw(m, "response_body");
	char *type = import_text(m, "event_type");
	int64_t status = import_number(m, "response_code", 200);

	if (strstr(path, "?as=Table"))
		return 0;
	if (*type)
		return add_watched(m, path, slice_of(type), body, time_ns, err);
	if (status != 200)
		return add_refusal(m, path, status, time_ns, err);
	if (is_list(m) && !strchr(path, '?'))
		return add_poll(m, path, body, time_ns, err);
	if (is_about_the_server(path))
		return add_document(m, path, body, time_ns, err);
	m->counts.left_out++;
	return 0;
}

int import_record(struct importer *m, struct err *err)
{
	const char *path;
	int rc;

	if (!import_raw(m, "response_body").len || !import_raw(m, "captured_at").len)
		return 0;
	path = import_text(m, "api_path");
	if (*path != '/')
		return 0;
	rc = import_begin_connection(m, "k8shark's records: lists by turns, times of its requests", err);
	if (!rc)
		rc = add_known_record(m, path, time_of_record(m), err);
	return rc ? rc : 1;
}
