/* house.c: see house.h. */
#include "recorder/push/house.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/varint.h"
#include "schema/tape/codec.h"
#include "schema/tape/reader.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (8u << 20)
#define TOKEN_BYTES 256

enum house_table { HOUSE_EVENTS, HOUSE_GAPS, HOUSE_MISSED, HOUSE_SEGMENTS, HOUSE_TABLES };

#define OF_SEGMENT "cluster LowCardinality(String), tape LowCardinality(String), segment UInt32, "
#define OF_RESOURCE                                                                                          \
	"apigroup LowCardinality(String), version LowCardinality(String), resource LowCardinality(String), "
#define TIME " DateTime64(9, 'UTC')"
/* Tables that are not replicated remember no tokens unless they are told to. */
#define TOKENS " SETTINGS non_replicated_deduplication_window = 10000"

/* Rows are written in the order of the columns. */
static const struct {
	const char *name, *columns, *engine;
} tables[HOUSE_TABLES] = {
	[HOUSE_EVENTS] = {"events",
		OF_SEGMENT "seq UInt64, time" TIME
			   ", type LowCardinality(String), origin LowCardinality(String), " OF_RESOURCE
			   "namespace LowCardinality(String), name String, uid String, rv String, "
			   "object String CODEC(ZSTD(3))",
		"ReplacingMergeTree ORDER BY (cluster, resource, apigroup, namespace, name, tape, seq)"},
	[HOUSE_GAPS] = {"gaps",
		OF_SEGMENT
		"gap UInt64, " OF_RESOURCE "namespace LowCardinality(String), begin" TIME
		", end Nullable(DateTime64(9, 'UTC')), reason String, how_ended LowCardinality(String), begin_seq UInt64, "
		"end_seq UInt64, modified UInt64, added UInt64, deleted UInt64, recreated UInt64",
		"ReplacingMergeTree(segment) ORDER BY (cluster, tape, gap)"},
	[HOUSE_MISSED] = {"missed",
		OF_SEGMENT
		"gap UInt64, change LowCardinality(String), " OF_RESOURCE
		"namespace LowCardinality(String), name String, uid String, old_uid String, rv String, old_rv String",
		"ReplacingMergeTree ORDER BY (cluster, tape, gap, resource, apigroup, namespace, name, change, uid)"},
	[HOUSE_SEGMENTS] = {"segments",
		OF_SEGMENT
		"digest String, bytes UInt64, events UInt64, first_seq UInt64, last_seq UInt64, first_time" TIME
		", last_time" TIME ", pushed" TIME,
		"ReplacingMergeTree ORDER BY (cluster, tape, segment)"},
};

struct house {
	struct house_options options;
	struct clickhouse *server;
	/* The block that is being filled. */
	enum house_table table;
	uint32_t segment;
	unsigned block;
	struct buf rows;
	struct tape *tape;
	struct err *err; /* of the walk */
};

int house_open(const struct house_options *options, struct house **ret, struct err *err)
{
	struct house *h = xcalloc(1, sizeof(*h));
	int rc = clickhouse_open(options->url, options->store, &h->server, err);

	if (rc) {
		free(h);
		return rc;
	}
	h->options = *options;
	buf_init(&h->rows, BLOCK_BYTES + 2 * (size_t)LIMIT_OBJECT_BYTES);
	*ret = h;
	return 0;
}

void house_close(struct house *h)
{
	if (!h)
		return;
	clickhouse_close(h->server);
	buf_release(&h->rows);
	free(h);
}

const char *house_url(const struct house *h)
{
	return clickhouse_url(h->server);
}

/* ---- the account ---- */

static int make_tables(struct house *h, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < HOUSE_TABLES && !rc; i++) {
		char *sql = xasprintf("CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = %s%s", tables[i].name,
			tables[i].columns, tables[i].engine, TOKENS);

		rc = clickhouse_ask(h->server, sql, NULL, err);
		free(sql);
	}
	return rc;
}

/* A line: number, bytes, digest. */
static void take_line(struct slice line, struct manifest *to)
{
	struct slice number = slice_cut(&line, '\t'), bytes = slice_cut(&line, '\t');
	struct manifest_segment s = {0};
	char text[64];

	if (!line.ptr || number.len >= sizeof(text) || bytes.len >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)number.len, number.ptr);
	s.number = (uint32_t)strtoul(text, NULL, 10);
	snprintf(text, sizeof(text), "%.*s", (int)bytes.len, bytes.ptr);
	s.bytes = strtoull(text, NULL, 10);
	snprintf(s.digest, sizeof(s.digest), "%.*s", (int)line.len, line.ptr);
	if (s.number)
		manifest_add(to, &s);
}

static int ask_account(struct house *h, struct buf *to, struct err *err)
{
	struct buf sql;
	int rc;

	buf_init(&sql, LIMIT_NAME_BYTES * 4);
	rc = buf_printf(&sql, err, "SELECT segment, bytes, digest FROM segments FINAL WHERE cluster = ");
	rc = rc ? rc : clickhouse_quote(h->options.cluster, &sql, err);
	rc = rc ? rc : buf_printf(&sql, err, " AND tape = ");
	rc = rc ? rc : clickhouse_quote(h->options.tape_id, &sql, err);
	rc = rc ? rc : buf_printf(&sql, err, " ORDER BY segment FORMAT TabSeparated");
	rc = rc ? rc : buf_append(&sql, "", 1, err);
	rc = rc ? rc : clickhouse_ask(h->server, sql.ptr, to, err);
	buf_release(&sql);
	return rc;
}

int house_read(struct house *h, struct manifest *to, struct err *err)
{
	struct slice rest;
	struct buf answer;
	struct err why;
	int rc;

	buf_init(&answer, LIMIT_DOCUMENT_BYTES);
	rc = ask_account(h, &answer, &why);
	if (rc == ERR_NOT_FOUND) {
		buf_release(&answer);
		return make_tables(h, err);
	}
	rest = buf_slice(&answer);
	while (!rc && rest.len)
		take_line(slice_cut(&rest, '\n'), to);
	buf_release(&answer);
	return rc ? err_copy(err, &why) : 0;
}

/* ---- rows ---- */

static int put_bytes(struct house *h, struct slice bytes)
{
	uint8_t length[VARINT_MAX_BYTES];
	int rc = buf_append(&h->rows, length, varint_put(length, bytes.len), h->err);

	return rc ? rc : buf_append(&h->rows, bytes.ptr ? bytes.ptr : "", bytes.len, h->err);
}

static int put_word(struct house *h, const char *text)
{
	return put_bytes(h, slice_of(text ? text : ""));
}

static int put_number(struct house *h, uint64_t number)
{
	uint64_t little = htole64(number);

	return buf_append(&h->rows, &little, sizeof(little), h->err);
}

static int put_small(struct house *h, uint32_t number)
{
	uint32_t little = htole32(number);

	return buf_append(&h->rows, &little, sizeof(little), h->err);
}

static int put_time(struct house *h, int64_t time_ns)
{
	return put_number(h, (uint64_t)time_ns);
}

static int put_place(struct house *h)
{
	int rc = put_word(h, h->options.cluster);

	rc = rc ? rc : put_word(h, h->options.tape_id);
	return rc ? rc : put_small(h, h->segment);
}

static int put_resource(struct house *h, uint32_t id)
{
	const struct tape_resource *r = tape_resource_by_id(h->tape, id);
	int rc = put_word(h, r ? r->apigroup : "");

	rc = rc ? rc : put_word(h, r ? r->version : "");
	return rc ? rc : put_word(h, r ? r->resource : "");
}

static int send_block(struct house *h)
{
	char token[TOKEN_BYTES];
	int rc;

	if (!h->rows.len)
		return 0;
	snprintf(token, sizeof(token), "%s/%u/%s/%u/%016" PRIx64, h->options.tape_id, h->segment,
		tables[h->table].name, h->block++, codec_hash(buf_slice(&h->rows)));
	rc = clickhouse_insert(h->server, tables[h->table].name, buf_slice(&h->rows), token, h->err);
	buf_clear(&h->rows);
	return rc;
}

static int end_row(struct house *h)
{
	return h->rows.len >= BLOCK_BYTES ? send_block(h) : 0;
}

static void begin_table(struct house *h, enum house_table table)
{
	h->table = table;
	h->block = 0;
	buf_clear(&h->rows);
}

/* ---- events ---- */

static int put_event(struct house *h, const struct event *e, struct slice object)
{
	const struct slice texts[] = {e->namespace, e->name, e->uid, e->rv, object};
	int rc = put_place(h);

	rc = rc ? rc : put_number(h, e->seq);
	rc = rc ? rc : put_time(h, e->time_ns);
	rc = rc ? rc : put_word(h, event_type_name(e->type));
	rc = rc ? rc : put_word(h, event_origin_name(e->origin));
	rc = rc ? rc : put_resource(h, e->resource);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = put_bytes(h, texts[i]);
	return rc ? rc : end_row(h);
}

static int put_events(struct house *h)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	int more, rc = tape_cursor_open(h->tape, &(struct tape_filter){0}, TAPE_STORED, &c, h->err);

	if (rc)
		return rc;
	while (!rc && (more = tape_cursor_next(c, &e, h->err)) != 0) {
		rc = more < 0 ? more : tape_cursor_object(c, &object, h->err);
		rc = rc ? rc : put_event(h, &e, object);
	}
	tape_cursor_close(c);
	return rc;
}

/* The event that gave a live object its last version. */
static int put_live(struct house *h, const struct tape_live *live, struct buf *keep)
{
	struct slice object;
	struct event e;
	int rc;

	buf_clear(keep);
	rc = tape_event(h->tape, live->seq, &e, keep, h->err);
	rc = rc ? rc : tape_object(h->tape, live->seq, &object, h->err);
	return rc ? rc : put_event(h, &e, object);
}

static int put_state(struct house *h, uint64_t first_seq)
{
	struct tape_state *state;
	struct buf keep;
	int rc = tape_state_at(h->tape, first_seq - 1, 0, &state, h->err);

	if (rc)
		return rc;
	buf_init(&keep, (size_t)64 * LIMIT_NAME_BYTES);
	for (size_t i = 0; i < state->count && !rc; i++)
		rc = put_live(h, &state->live[i], &keep);
	buf_release(&keep);
	tape_state_free(state);
	return rc;
}

/* ---- gaps ---- */

static int put_gap(void *context, const struct tape_gap *g)
{
	struct house *h = context;
	const struct tape_stream *s = tape_stream_by_id(h->tape, g->stream);
	const uint64_t counts[] = {g->begin_seq, g->end_seq, g->modified, g->added, g->deleted, g->recreated};
	bool open = strcmp(g->how_ended, "open") == 0;
	int rc = put_place(h);

	rc = rc ? rc : put_number(h, g->id);
	rc = rc ? rc : put_resource(h, s ? s->resource : 0);
	rc = rc ? rc : put_word(h, s ? s->namespace : "");
	rc = rc ? rc : put_time(h, g->begin_ns);
	rc = rc ? rc : buf_append(&h->rows, open ? "\1" : "\0", 1, h->err);
	if (!rc && !open)
		rc = put_time(h, g->end_ns);
	rc = rc ? rc : put_word(h, g->reason);
	rc = rc ? rc : put_word(h, g->how_ended);
	for (size_t i = 0; i < COUNT_OF(counts) && !rc; i++)
		rc = put_number(h, counts[i]);
	return rc ? rc : end_row(h);
}

static int put_missed(void *context, const struct tape_missed *m)
{
	struct house *h = context;
	const struct slice texts[] = {m->namespace, m->name, m->uid, m->old_uid, m->rv, m->old_rv};
	int rc = put_place(h);

	rc = rc ? rc : put_number(h, m->gap);
	rc = rc ? rc : put_word(h, m->change);
	rc = rc ? rc : put_resource(h, m->resource);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = put_bytes(h, texts[i]);
	return rc ? rc : end_row(h);
}

/* ---- a segment ---- */

static int put_all(struct house *h, const struct manifest_segment *s, bool with_state)
{
	int rc = 0;

	begin_table(h, HOUSE_EVENTS);
	if (with_state && s->first_seq > 1)
		rc = put_state(h, s->first_seq);
	rc = rc ? rc : put_events(h);
	rc = rc ? rc : send_block(h);
	begin_table(h, HOUSE_GAPS);
	rc = rc ? rc : tape_each_gap(h->tape, put_gap, h, h->err);
	rc = rc ? rc : send_block(h);
	begin_table(h, HOUSE_MISSED);
	rc = rc ? rc : tape_each_missed(h->tape, put_missed, h, h->err);
	return rc ? rc : send_block(h);
}

int house_put(
	struct house *h, const char *path, const struct manifest_segment *s, bool with_state, struct err *err)
{
	int rc = reader_open_sealed(path, s->number, &h->tape, err);

	if (rc)
		return rc;
	h->segment = s->number;
	h->err = err;
	rc = put_all(h, s, with_state);
	tape_close(h->tape);
	h->tape = NULL;
	return rc;
}

int house_note(struct house *h, const struct manifest_segment *s, struct err *err)
{
	const uint64_t numbers[] = {s->bytes, s->events, s->first_seq, s->last_seq,
		(uint64_t)s->first_time_ns, (uint64_t)s->last_time_ns, (uint64_t)s->pushed_ns};
	int rc;

	h->segment = s->number;
	h->err = err;
	begin_table(h, HOUSE_SEGMENTS);
	rc = put_place(h);
	rc = rc ? rc : put_word(h, s->digest);
	for (size_t i = 0; i < COUNT_OF(numbers) && !rc; i++)
		rc = put_number(h, numbers[i]);
	return rc ? rc : send_block(h);
}
