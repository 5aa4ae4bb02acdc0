/* import.c: see import.h. */
#include "schema/base/count_of.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"
#include "tools/import/import_internal.h"

#include <ctype.h>
#include <stdlib.h>

struct importer *importer_new(struct tape_writer *w, const char *source, const struct clock *clock)
{
	struct importer *m = xcalloc(1, sizeof(*m));
	struct tape_writer_stats stats;

	m->writer = w;
	m->source = source;
	m->clock = clock;
	m->last_time_ns = INT64_MIN;
	m->base_ns = clock_wall_ns(&clock_system);
	tape_writer_stats(w, &stats);
	m->last_seq = stats.last_seq;
	kind_names_add_builtin(&m->names);
	buf_init(&m->texts, 2u * LIMIT_LIST_BYTES);
	import_secrets_init(&m->secrets);
	return m;
}

void importer_free(struct importer *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->kind_count; i++) {
		free(m->kinds[i].api_version);
		free(m->kinds[i].kind);
		free(m->kinds[i].resource);
		free(m->kinds[i].by_kind);
		free(m->kinds[i].by_resource);
	}
	kind_names_release(&m->names);
	text_map_release(&m->kinds_by_kind);
	text_map_release(&m->kinds_by_resource);
	free(m->kinds);
	free(m->uids);
	id_map_release(&m->streams);
	id_map_release(&m->gaps);
	id_map_release(&m->connections);
	import_seqs_release(&m->seqs);
	free(m->lacks);
	for (size_t i = 0; i < m->queue_count; i++)
		free(m->queue[i].line);
	free(m->queue);
	for (size_t i = 0; i < m->path_count; i++) {
		free(m->paths[i]->path);
		free(m->paths[i]->rv);
		free(m->paths[i]);
	}
	free(m->paths);
	text_map_release(&m->paths_by_path);
	import_known_release(&m->known);
	import_secrets_release(&m->secrets);
	buf_release(&m->texts);
	free(m);
}

int64_t importer_base_ns(const struct importer *m)
{
	return m->base_ns;
}

struct import_counts importer_counts(const struct importer *m)
{
	return m->counts;
}

/* ---- looking into the document ---- */

struct slice import_raw(const struct importer *m, const char *path)
{
	struct slice value;

	return json_get(m->document, path, &value, NULL) > 0 ? value : (struct slice){NULL, 0};
}

char *import_text(struct importer *m, const char *path)
{
	static char empty[1];
	struct slice value = import_raw(m, path);
	size_t begin = m->texts.len;

	if (value.len == 0 || value.ptr[0] != '"' || json_unescape(value, &m->texts, NULL) ||
		buf_append(&m->texts, "", 1, NULL))
		return empty;
	return m->texts.ptr + begin;
}

int64_t import_number(const struct importer *m, const char *path, int64_t fallback)
{
	struct slice value = import_raw(m, path);
	char digits[32], *end;
	long long number;

	if (value.len == 0 || value.len >= sizeof(digits))
		return fallback;
	memcpy(digits, value.ptr, value.len);
	digits[value.len] = 0;
	number = strtoll(digits, &end, 10);
	return *end || end == digits ? fallback : number;
}

/* ---- times ---- */

static void take_later(struct slice value, int64_t *newest_ns)
{
	int64_t ns;

	if (value.len < 12 || value.ptr[0] != '"')
		return;
	if (moment_is_absolute((struct slice){value.ptr + 1, value.len - 2}, &ns) && ns > *newest_ns)
		*newest_ns = ns;
}

/* The newest time stamp that the server itself put into the object. */
int64_t import_time_in(struct slice object)
{
	static const char *const paths[] = {"metadata.creationTimestamp", "metadata.deletionTimestamp"};
	struct slice value, entry;
	struct json_iter it;
	int64_t newest_ns = 0;

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		if (json_get(object, paths[i], &value, NULL) > 0)
			take_later(value, &newest_ns);
	}
	if (json_get(object, "metadata.managedFields", &value, NULL) <= 0 || value.ptr[0] != '[' ||
		json_iter_begin(value, &it, NULL))
		return newest_ns;
	while (json_iter_next(&it, NULL, &entry, NULL) > 0) {
		if (json_get(entry, "time", &value, NULL) > 0)
			take_later(value, &newest_ns);
	}
	return newest_ns;
}

/* Never before the event before: the order of the stream is the better witness. */
static int64_t time_of(struct importer *m, struct slice object)
{
	int64_t ns = m->clock ? clock_wall_ns(m->clock) : import_time_in(object);

	m->last_time_ns = ns > m->last_time_ns ? ns : m->last_time_ns;
	return m->last_time_ns;
}

/* ---- resources ---- */

/* "NetworkPolicy" is networkpolicies, "Ingress" is ingresses, "Endpoints" is its own plural. */
char *import_plural_of(const char *kind)
{
	size_t len = strlen(kind);
	char *lower = xstrdup(kind), *plural;

	for (char *c = lower; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (strcmp(lower, "endpoints") == 0)
		return lower;
	if (len > 1 && lower[len - 1] == 'y' && !strchr("aeiou", lower[len - 2]))
		plural = xasprintf("%.*sies", (int)len - 1, lower);
	else if (len && strchr("sxz", lower[len - 1]))
		plural = xasprintf("%ses", lower);
	else
		plural = xasprintf("%ss", lower);
	free(lower);
	return plural;
}

int import_stream(struct importer *m, const struct tape_resource *resource, uint32_t *ret, struct err *err)
{
	static char none[1];
	struct tape_stream stream = {.namespace = none, .label_selector = none, .field_selector = none};

	return import_make_stream(m, resource, &stream, ret, err);
}

/* Of two names. The caller frees. */
static char *pair_key(struct slice first, struct slice second)
{
	return xasprintf("%.*s %.*s", (int)first.len, first.ptr, (int)second.len, second.ptr);
}

static uint32_t find_kind(const struct importer *m, const struct text_map *map, char *key)
{
	size_t at = text_map_position_of(text_map_get(map, key));

	free(key);
	return at < m->kind_count ? m->kinds[at].stream : 0;
}

static void note_kind(struct importer *m, struct kind_stream kind)
{
	m->kinds = xgrow(m->kinds, m->kind_count, sizeof(*m->kinds));
	m->kinds[m->kind_count] = kind;
	text_map_put(&m->kinds_by_kind, kind.by_kind, text_map_position(m->kind_count));
	if (!text_map_get(&m->kinds_by_resource, kind.by_resource))
		text_map_put(&m->kinds_by_resource, kind.by_resource, text_map_position(m->kind_count));
	m->kind_count++;
}

static int make_kind(struct importer *m, const struct import_kind *k, uint32_t *ret, struct err *err)
{
	char *api_version = slice_dup(k->api_version), *kind = slice_dup(k->kind);
	const char *slash = strchr(api_version, '/');
	const struct kind_name *known = kind_names_find(&m->names, k->api_version, k->kind);
	struct tape_resource resource = {
		.apigroup = slice_dup((struct slice){api_version, slash ? (size_t)(slash - api_version) : 0}),
		.version = xstrdup(slash ? slash + 1 : api_version),
		.resource = k->plural ? xstrdup(k->plural)
			    : known   ? xstrdup(known->plural)
				      : import_plural_of(kind),
		.kind = kind,
		.namespaced = known ? known->namespaced : k->namespaced};
	int rc = import_stream(m, &resource, ret, err);

	free(resource.apigroup);
	free(resource.version);
	if (rc) {
		free(api_version);
		free(kind);
		free(resource.resource);
		return rc;
	}
	note_kind(m, (struct kind_stream){.api_version = api_version,
			     .kind = kind,
			     .resource = resource.resource,
			     .by_kind = pair_key(k->api_version, k->kind),
			     .by_resource = pair_key(k->api_version, slice_of(resource.resource)),
			     .stream = *ret});
	return 0;
}

uint32_t import_stream_of_resource(
	const struct importer *m, const char *group, const char *version, const char *resource)
{
	char *api_version = xasprintf("%s%s%s", group, *group ? "/" : "", version);
	char *key = pair_key(slice_of(api_version), slice_of(resource));

	free(api_version);
	return find_kind(m, &m->kinds_by_resource, key);
}

int import_stream_of_kind(struct importer *m, const struct import_kind *kind, uint32_t *ret, struct err *err)
{
	uint32_t found = find_kind(m, &m->kinds_by_kind, pair_key(kind->api_version, kind->kind));

	if (!found)
		return make_kind(m, kind, ret, err);
	*ret = found;
	return 0;
}

int import_stream_of_object(struct importer *m, const struct object_meta *meta, const char *plural,
	uint32_t *ret, struct err *err)
{
	const struct import_kind kind = {meta->api_version, meta->kind, plural, meta->namespace.len > 0};

	return import_stream_of_kind(m, &kind, ret, err);
}

/* ---- what was seen ---- */

static uint64_t hash_of(struct slice text)
{
	uint64_t hash = hash_add(HASH_EMPTY, text);

	return hash ? hash : 1; /* 0 is a free slot */
}

static uint64_t *slot_of(uint64_t *slots, size_t count, uint64_t hash)
{
	size_t at = (size_t)hash & (count - 1);

	while (slots[at] && slots[at] != hash)
		at = (at + 1) & (count - 1);
	return &slots[at];
}

static void grow_uids(struct importer *m)
{
	size_t count = m->uid_slots ? 2 * m->uid_slots : 1024;
	uint64_t *slots = xcalloc(count, sizeof(*slots));

	for (size_t i = 0; i < m->uid_slots; i++) {
		if (m->uids[i])
			*slot_of(slots, count, m->uids[i]) = m->uids[i];
	}
	free(m->uids);
	m->uids = slots;
	m->uid_slots = count;
}

/* Whether this is the first time. */
static bool is_new(struct importer *m, struct slice uid)
{
	uint64_t hash = hash_of(uid), *slot;

	if (2 * m->uid_count >= m->uid_slots)
		grow_uids(m);
	slot = slot_of(m->uids, m->uid_slots, hash);
	if (*slot)
		return false;
	*slot = hash;
	m->uid_count++;
	return true;
}

/* ---- documents ---- */

/* Only for what is no exported row. */
int import_begin_connection(struct importer *m, const char *lacks, struct err *err)
{
	if (m->connection.id)
		return 0;
	m->connection = (struct tape_connection){.purpose = "import",
		.target = m->source,
		.begin_ns = clock_wall_ns(&clock_system),
		.timeout_seconds = -1,
		.first_byte_after_ns = -1,
		.duration_ns = -1,
		.http_status = -1,
		.retry_after_s = -1,
		.curl_code = -1,
		.os_errno = -1,
		.h2_error = -1,
		.next_delay_ns = -1,
		.content_type = lacks,
		.next_action = "stop"};
	return tape_writer_begin_connection(m->writer, &m->connection, err);
}

static int begin_connection(struct importer *m, struct err *err)
{
	return import_begin_connection(
		m, m->clock ? "times of reading" : "times taken from the objects", err);
}

static int append(struct importer *m, struct event *e, const struct object_meta *meta, struct slice object,
	struct err *err)
{
	int rc;

	if ((rc = begin_connection(m, err)) || (rc = import_stream_of_object(m, meta, NULL, &e->stream, err)))
		return rc;
	e->time_ns = time_of(m, object);
	(void)is_new(m, meta->uid);
	rc = import_append(m, e, object, NULL, err);
	if (rc)
		return rc;
	m->counts.events++;
	return 0;
}

static int add_mark(struct importer *m, const struct watch_frame *frame, struct err *err)
{
	struct tape_mark mark = {.time_ns = time_of(m, frame->object),
		.kind = slice_is(frame->type, "ERROR") ? MARK_ERROR : MARK_BOOKMARK,
		.rv = frame->meta.rv,
		.object = frame->object};
	const struct import_kind kind = {frame->meta.api_version, frame->meta.kind, NULL, true};
	uint32_t stream = 0;
	int rc = begin_connection(m, err);

	if (rc)
		return rc;
	mark.connection = m->connection.id;
	if (mark.kind == MARK_BOOKMARK && (rc = import_stream_of_kind(m, &kind, &stream, err)))
		return rc;
	mark.stream = stream;
	m->counts.marks++;
	return import_mark(m, &mark, err);
}

/* 1 when it was one, 0 when it is something else. */
static int add_watch_event(struct importer *m, struct err *err)
{
	struct event e = {.origin = ORIGIN_WATCH};
	struct watch_frame frame;
	int rc;

	if (json_scan_frame(m->document, &frame, NULL) || frame.object.len < 2 || frame.object.ptr[0] != '{')
		return 0;
	if (slice_is(frame.type, "BOOKMARK") || slice_is(frame.type, "ERROR"))
		rc = add_mark(m, &frame, err);
	else if (event_type_parse(frame.type, &e.type) && frame.meta.kind.len)
		rc = append(m, &e, &frame.meta, frame.object, err);
	else
		return 0;
	return rc ? rc : 1;
}

/* "PodList" is a list of Pod. */
int import_typed_item(
	const struct list_page *list, struct slice item, struct buf *to, unsigned *ret_flags, struct err *err)
{
	struct object_meta meta;
	int rc = json_scan_object(item, &meta, err);

	if (rc)
		return rc;
	if (meta.kind.len)
		return buf_append(to, item.ptr, item.len, err);
	*ret_flags = EVENT_TYPED;
	return buf_printf(to, err, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"%s%.*s",
		(int)(list->kind.len - strlen("List")), list->kind.ptr, (int)list->api_version.len,
		list->api_version.ptr, item.len > 2 ? "," : "", (int)item.len - 1, item.ptr + 1);
}

static int add_item(struct importer *m, const struct list_page *list, struct slice item, struct err *err)
{
	struct event e = {.origin = ORIGIN_LIST, .type = EVENT_ADDED};
	struct object_meta meta;
	struct buf typed;
	int rc;

	buf_init(&typed, LIMIT_OBJECT_BYTES);
	rc = import_typed_item(list, item, &typed, &e.flags, err);
	if (!rc)
		rc = json_scan_object(buf_slice(&typed), &meta, err);
	if (!rc)
		rc = append(m, &e, &meta, buf_slice(&typed), err);
	buf_release(&typed);
	return rc;
}

static int add_list_mark(struct importer *m, const struct list_page *list, struct err *err)
{
	const struct import_kind kind = {
		list->api_version, {list->kind.ptr, list->kind.len - strlen("List")}, NULL, true};
	struct tape_mark mark = {.kind = MARK_LIST, .rv = list->rv};
	int rc;

	if (kind.kind.len == 0 || list->rv.len == 0)
		return 0; /* a list of anything, as kubectl makes it: it has no resourceVersion */
	if ((rc = begin_connection(m, err)) || (rc = import_stream_of_kind(m, &kind, &mark.stream, err)))
		return rc;
	mark.connection = m->connection.id;
	mark.time_ns = m->last_time_ns == INT64_MIN ? 0 : m->last_time_ns;
	m->counts.marks++;
	return tape_writer_mark(m->writer, &mark, err);
}

static int add_items(struct importer *m, const struct list_page *list, struct err *err)
{
	struct json_iter it;
	struct slice item;
	int more, rc;

	if (list->items.len == 0)
		return 0;
	rc = json_iter_begin(list->items, &it, err);
	if (rc)
		return rc;
	while ((more = json_iter_next(&it, NULL, &item, err)) > 0) {
		rc = add_item(m, list, item, err);
		if (rc)
			return rc;
	}
	return more;
}

static int add_list(struct importer *m, struct err *err)
{
	struct list_page list;
	size_t suffix = strlen("List");
	int rc;

	if (json_scan_list(m->document, &list, NULL) || list.kind.len < suffix ||
		memcmp(list.kind.ptr + list.kind.len - suffix, "List", suffix) != 0 ||
		!import_raw(m, "items").ptr)
		return 0;
	if ((rc = add_items(m, &list, err)) || (rc = add_list_mark(m, &list, err)))
		return rc;
	return 1;
}

static int add_object(struct importer *m, struct err *err)
{
	struct event e = {.origin = ORIGIN_WATCH};
	struct object_meta meta;
	int rc;

	if (json_scan_object(m->document, &meta, NULL) || !meta.kind.len || !meta.name.len)
		return 0;
	if (!meta.rv.len) {
		rc = import_snapshot(m, &meta, err);
		return rc ? rc : 1;
	}
	e.type = is_new(m, meta.uid) ? EVENT_ADDED : EVENT_MODIFIED;
	rc = append(m, &e, &meta, m->document, err);
	return rc ? rc : 1;
}

static int add_row(struct importer *m, struct err *err)
{
	const char *table = import_text(m, "table");
	int rc;

	if (!*table && import_raw(m, "seq").len && import_raw(m, "object").len)
		table = "events";
	if (!*table)
		return 0;
	rc = import_row(m, table, err);
	return rc ? rc : 1;
}

int importer_add(struct importer *m, struct slice document, struct err *err)
{
	static int (*const kinds[])(struct importer * m, struct err * err) = {
		import_record, import_patch, add_row, add_watch_event, add_list, add_object};
	int done = 0;

	m->document = document;
	buf_clear(&m->texts);
	if (!buf_reserve(&m->texts, 2 * document.len + 256))
		return err_set(err, ERR_TOO_LARGE, "a document of %zu bytes is too large", document.len);
	for (size_t i = 0; i < COUNT_OF(kinds) && !done; i++)
		done = kinds[i](m, err);
	m->counts.left_out += done == 0;
	return done < 0 ? done : 0;
}

int importer_end(struct importer *m, struct err *err)
{
	int rc = import_queued_rows(m, INT64_MAX, err);

	if (!rc && m->has_event_row && !m->has_stream_row)
		rc = import_begin_connection(m, "events alone: nothing tells when they were watched", err);
	if (rc || !m->connection.id)
		return rc;
	m->connection.duration_ns = clock_wall_ns(&clock_system) - m->connection.begin_ns;
	m->connection.end_reason = "complete";
	m->connection.events = m->counts.events;
	return tape_writer_end_connection(m->writer, &m->connection, err);
}
