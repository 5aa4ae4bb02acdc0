/* merge_rows.c: what is no event of two tapes: streams, connections, documents, clocks; see merge.h. */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/merge_internal.h"
#include "schema/tape/pod_log.h"
#include "schema/tape/row_reader.h"

#include <stdlib.h>

#define DOCUMENT_LEVEL 1

/* ---- resources and streams ---- */

static int add_all(struct merge *m, struct merge_source *s, struct err *err)
{
	const struct registry *old = &s->tape->registry;
	int rc = 0;

	s->resources = xcalloc(old->resource_count + 1, sizeof(*s->resources));
	s->streams = xcalloc(old->stream_count + 1, sizeof(*s->streams));
	for (size_t i = 0; i < old->resource_count && !rc; i++)
		rc = tape_writer_resource(m->w, &old->resources[i], &s->resources[i], err);
	for (size_t i = 0; i < old->stream_count && !rc; i++) {
		struct tape_stream stream = old->streams[i];

		stream.resource = s->resources[stream.resource - 1];
		rc = tape_writer_stream(m->w, &stream, &s->streams[i], err);
	}
	return rc;
}

int merge_registry(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++)
		rc = add_all(m, &m->sources[i], err);
	m->listed = xcalloc(m->w->registry.stream_count + 1, sizeof(*m->listed));
	m->highest = xcalloc(m->w->registry.stream_count + 1, sizeof(*m->highest));
	return rc;
}

/* ---- numbers ---- */

uint64_t merge_map_seq(const struct merge_source *s, uint64_t seq)
{
	if (!s->info.events || seq < s->info.first_seq)
		return 0;
	return s->seqs[(seq > s->info.last_seq ? s->info.last_seq : seq) - s->info.first_seq];
}

uint64_t merge_map_id(const struct merge *m, const struct merge_source *s, uint64_t id)
{
	return id ? 2 * id - (s == &m->sources[0]) : 0;
}

uint64_t merge_seq_at(const struct merge *m, int64_t time_ns)
{
	size_t low = 0, high = m->time_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->times_ns[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- connections: the one that ends last has the last id, as coverage takes it ---- */

struct row_walk {
	struct merge *m;
	struct merge_source *s;
	struct err *err;
};

static void map_delivered(const struct merge_source *s, struct value *first, struct value *last)
{
	uint64_t from = (uint64_t)value_number(first), to = (uint64_t)value_number(last);
	uint64_t new_first = 0, new_last = 0;

	for (uint64_t seq = from; from && seq <= to && seq >= s->info.first_seq && seq <= s->info.last_seq;
		seq++) {
		uint64_t kept = s->kept[seq - s->info.first_seq];

		new_first = new_first ? new_first : kept;
		new_last = kept ? kept : new_last;
	}
	*first = value_integer((int64_t)new_first);
	*last = value_integer((int64_t)new_last);
}

static int take_connection(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;
	uint32_t stream = (uint32_t)value_number(&v[CONNECTION_STREAM]);
	int64_t begin_ns = value_number(&v[CONNECTION_BEGIN_NS]), id = value_number(&v[0]);

	if (stream > w->s->tape->registry.stream_count || id < 1 || id > FORMAT_ID_MAX / 2)
		return err_set(w->err, ERR_CORRUPT, "connection %lld of '%s' cannot be one", (long long)id,
			w->s->tape->path);
	v[0] = value_integer((int64_t)merge_map_id(m, w->s, (uint64_t)id));
	if (v[0].integer > m->w->ids[TABLE_CONNECTION])
		m->w->ids[TABLE_CONNECTION] = v[0].integer;
	v[CONNECTION_STREAM] = value_integer(stream ? w->s->streams[stream - 1] : 0);
	v[CONNECTION_AFTER_SEQ] =
		value_integer((int64_t)merge_map_seq(w->s, (uint64_t)value_number(&v[CONNECTION_AFTER_SEQ])));
	v[CONNECTION_BEGIN_NS] = value_integer(merge_time(w->s, begin_ns));
	map_delivered(w->s, &v[CONNECTION_FIRST_SEQ], &v[CONNECTION_LAST_SEQ]);
	row_queue_add(m->w->rows, TABLE_CONNECTION, v);
	return row_queue_bytes(m->w->rows) > (8u << 20) ? tape_writer_flush(m->w, w->err) : 0;
}

/* Of the second tape only what is later than the first one: two monotonic clocks make no sense by turns. */
static int take_clock(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;
	int64_t time_ns = merge_time(w->s, value_number(&v[HELD_TIME_NS]));
	const struct merge_source *first = &m->sources[0];

	if (w->s != first && time_ns < merge_time(first, first->span.end_ns))
		return 0;
	v[0] = value_integer(++m->w->ids[TABLE_CLOCK]);
	v[HELD_AFTER_SEQ] =
		value_integer((int64_t)merge_map_seq(w->s, (uint64_t)value_number(&v[HELD_AFTER_SEQ])));
	v[HELD_TIME_NS] = value_integer(time_ns);
	row_queue_add(m->w->rows, TABLE_CLOCK, v);
	return 0;
}

static int take_epoch(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;

	v[0] = value_integer(++m->w->ids[TABLE_EPOCH]);
	v[HELD_AFTER_SEQ] =
		value_integer((int64_t)merge_map_seq(w->s, (uint64_t)value_number(&v[HELD_AFTER_SEQ])));
	v[HELD_TIME_NS] = value_integer(merge_time(w->s, value_number(&v[HELD_TIME_NS])));
	row_queue_add(m->w->rows, TABLE_EPOCH, v);
	return 0;
}

static int put_table(struct merge *m, struct merge_source *s, enum table table,
	int (*take)(void *context, struct value *values), struct err *err)
{
	struct row_walk walk = {m, s, err};
	struct row_reader rows;
	int rc = row_reader_open(s->tape, table, &rows, err);

	for (size_t i = 0; i < s->tape->segment_count && !rc; i++)
		rc = row_reader_values(&rows, i, take, &walk, err);
	row_reader_close(&rows);
	return rc;
}

/* ---- documents: the second tape's where they are others; of two logs of one death the better ---- */

/* What the other tape has of that path and variant, the newest. Returns 1, or 0 where it has none. */
static int find_other(const struct merge *m, const struct merge_source *s, const struct tape_document *d,
	int *ret_status, struct buf *body, struct err *err)
{
	struct tape *other = m->sources[s == &m->sources[0]].tape;
	struct tape_document theirs;
	struct err why;
	int rc = tape_document(other, d->path, d->variant, 0, &theirs, body, &why);

	if (rc == ERR_NOT_FOUND)
		return 0;
	if (rc)
		return err_copy(err, &why);
	*ret_status = theirs.http_status;
	return 1;
}

/* A log that was fetched is better than one that was not, and more lines are better than few. Above 0: the first is. */
static int compare_logs(int status, size_t bytes, int other_status, size_t other_bytes)
{
	if ((status == 200) != (other_status == 200))
		return status == 200 ? 1 : -1;
	return (bytes > other_bytes) - (bytes < other_bytes);
}

/* Whether the other tape's document stands for this one. */
static int is_outdone(struct merge *m, const struct merge_source *s, const struct tape_document *d,
	struct slice body, bool *ret, struct err *err)
{
	bool is_second = s != &m->sources[0];
	struct pod_log log;
	bool is_log = pod_log_parse(d, &log);
	struct buf theirs;
	int status = 0, rc, order;

	if (!is_log && !is_second)
		return 0;
	buf_init(&theirs, LIMIT_DOCUMENT_BYTES);
	rc = find_other(m, s, d, &status, &theirs, err);
	order = compare_logs(status, theirs.len, d->http_status, body.len);
	if (rc > 0 && is_log)
		*ret = order > 0 || (order == 0 && is_second);
	else
		*ret = rc > 0 && slice_equal(buf_slice(&theirs), body);
	buf_release(&theirs);
	return rc < 0 ? rc : 0;
}

static int queue_document(struct merge *m, const struct merge_source *s, const struct tape_document *d,
	struct slice body, struct err *err)
{
	struct buf packed;
	int rc;

	buf_init(&packed, LIMIT_CHUNK_BYTES);
	rc = codec_pack(body, DOCUMENT_LEVEL, &packed, err);
	if (!rc)
		row_queue_add(m->w->rows, TABLE_DOCUMENT,
			(struct value[]){value_integer(++m->w->ids[TABLE_DOCUMENT]),
				value_integer((int64_t)merge_map_seq(s, d->after_seq)),
				value_integer(merge_time(s, d->time_ns)), value_text(d->path),
				value_text(d->variant), value_integer(d->http_status),
				value_text(d->content_type), value_text(d->etag),
				value_integer((int64_t)body.len),
				value_integer((int64_t)codec_hash(buf_slice(&packed))),
				value_blob(buf_slice(&packed))});
	buf_release(&packed);
	return rc ? rc : tape_writer_flush(m->w, err);
}

static int take_document(void *context, const struct tape_document *d)
{
	const struct row_walk *w = context;
	struct tape_document own = *d;
	char *path = xstrdup(d->path), *variant = xstrdup(d->variant), *type = xstrdup(d->content_type),
	     *etag = xstrdup(d->etag);
	bool outdone = false;
	struct buf body;
	int rc;

	own.path = path;
	own.variant = variant;
	own.content_type = type;
	own.etag = etag;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(w->s->tape, own.segment, own.id, &body, w->err);
	if (!rc)
		rc = is_outdone(w->m, w->s, &own, buf_slice(&body), &outdone, w->err);
	if (!rc && !outdone)
		rc = queue_document(w->m, w->s, &own, buf_slice(&body), w->err);
	buf_release(&body);
	free(path);
	free(variant);
	free(type);
	free(etag);
	return rc;
}

/* ---- all ---- */

int merge_put_rows(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++) {
		struct merge_source *s = &m->sources[i];
		struct row_walk walk = {m, s, err};

		if (!(rc = put_table(m, s, TABLE_CONNECTION, take_connection, err)) &&
			!(rc = put_table(m, s, TABLE_CLOCK, take_clock, err)) &&
			!(rc = put_table(m, s, TABLE_EPOCH, take_epoch, err)) &&
			!(rc = tape_each_document(s->tape, take_document, &walk, err)))
			rc = merge_put_gaps(m, i, err);
	}
	return rc ? rc : merge_put_pauses(m, err);
}

void merge_rows_release(struct merge *m)
{
	for (size_t i = 0; i < 2; i++) {
		struct merge_source *s = &m->sources[i];

		for (size_t k = 0; k < s->mark_count; k++) {
			free((char *)(uintptr_t)s->marks[k].mark.rv.ptr);
			free((char *)(uintptr_t)s->marks[k].mark.object.ptr);
		}
		merge_gaps_release(s);
		free(s->marks);
		free(s->resources);
		free(s->streams);
		free(s->seqs);
		free(s->kept);
		coverage_free(s->coverage);
	}
	for (size_t i = 0; m->highest && i < m->w->registry.stream_count; i++)
		free(m->highest[i]);
	free(m->highest);
	free(m->listed);
}
