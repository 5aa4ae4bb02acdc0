/* house_block.c: the tables of a house, and rows on their way into them. */
#include "recorder/push/house_internal.h"

#include "schema/base/varint.h"
#include "schema/tape/codec.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_BYTES 256

#define OF_TAPE    "cluster LowCardinality(String), tape LowCardinality(String), "
#define OF_SEGMENT OF_TAPE "segment UInt32, "
#define OF_RESOURCE                                                                                          \
	"apigroup LowCardinality(String), version LowCardinality(String), resource LowCardinality(String), "
#define NUMBER "Nullable(Int64)" /* not known, or none */
#define TIME   " DateTime64(9, 'UTC')"
#define CODEC  " CODEC("
/* Tables that are not replicated remember no tokens unless they are told to. */
#define TOKENS " SETTINGS non_replicated_deduplication_window = 10000"

/* Rows are written in the order of the columns; a database may have more of them. */
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
	[HOUSE_CONNECTIONS] = {"connections",
		OF_SEGMENT
		"connection UInt64, " OF_RESOURCE
		"namespace LowCardinality(String), purpose LowCardinality(String), target String, "
		"server LowCardinality(String), http_version LowCardinality(String), tls UInt8, "
		"start_rv String, timeout_seconds " NUMBER ", begin" TIME
		", end Nullable(DateTime64(9, 'UTC')), "
		"first_byte_after_ns " NUMBER ", duration_ns " NUMBER ", end_reason LowCardinality(String), "
		"http_status " NUMBER ", retry_after_s " NUMBER ", curl_code " NUMBER ", os_errno " NUMBER
		", h2_error " NUMBER ", error_status String, content_type LowCardinality(String), "
		"audit_id String, server_date String, next_action LowCardinality(String), next_delay_ns " NUMBER
		", events UInt64, bookmarks UInt64, bytes UInt64, first_seq UInt64, last_seq UInt64, "
		"last_rv String, tail String",
		"ReplacingMergeTree(segment) ORDER BY (cluster, tape, connection)"},
	[HOUSE_LOGS] = {"logs",
		OF_SEGMENT
		"namespace LowCardinality(String), pod String, container LowCardinality(String), restart UInt32, uid String, "
		"container_id String, after_seq UInt64, fetched" TIME
		", truncated UInt8, reason String, text String CODEC(ZSTD(3))",
		"ReplacingMergeTree(segment) ORDER BY (cluster, tape, namespace, pod, uid, container, restart, container_id)"},
	[HOUSE_AUDIT] = {"audit",
		OF_TAPE "uid String, rv String, how LowCardinality(String), verb LowCardinality(String), "
			"subresource LowCardinality(String), user LowCardinality(String), "
			"impersonated_user LowCardinality(String), user_agent LowCardinality(String), "
			"source_ip LowCardinality(String), requested Nullable(DateTime64(9, 'UTC')), "
			"answered Nullable(DateTime64(9, 'UTC')), audit_id String",
		"ReplacingMergeTree ORDER BY (cluster, tape, uid, rv)"},
	[HOUSE_AUDIT_HOURS] = {"audit_hours", OF_TAPE "hour UInt32, digest String",
		"ReplacingMergeTree ORDER BY (cluster, tape, hour)"},
	[HOUSE_SEGMENTS] = {"segments",
		OF_SEGMENT
		"digest String, bytes UInt64, events UInt64, first_seq UInt64, last_seq UInt64, first_time" TIME
		", last_time" TIME ", pushed" TIME,
		"ReplacingMergeTree ORDER BY (cluster, tape, segment)"},
};

int house_make_tables(struct house *h, struct err *err)
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

int house_lacks_table(struct house *h, bool *ret, struct err *err)
{
	*ret = false;
	for (enum house_table table = HOUSE_EVENTS; table <= HOUSE_LOGS && !*ret; table++) {
		uint64_t count;
		struct err why;
		int rc = house_count(h, tables[table].name, " AND segment = 0", &count, &why);

		*ret = rc == ERR_NOT_FOUND;
		if (rc && !*ret)
			return err_copy(err, &why);
	}
	return 0;
}

/* ---- values, as RowBinary has them ---- */

int house_bytes(struct house *h, struct slice bytes)
{
	uint8_t length[VARINT_MAX_BYTES];
	int rc = buf_append(&h->rows, length, varint_put(length, bytes.len), h->err);

	return rc ? rc : buf_append(&h->rows, bytes.ptr ? bytes.ptr : "", bytes.len, h->err);
}

int house_word(struct house *h, const char *text)
{
	return house_bytes(h, slice_of(text ? text : ""));
}

int house_flag(struct house *h, bool flag)
{
	return buf_append(&h->rows, flag ? "\1" : "\0", 1, h->err);
}

int house_number(struct house *h, uint64_t number)
{
	uint64_t little = htole64(number);

	return buf_append(&h->rows, &little, sizeof(little), h->err);
}

int house_small(struct house *h, uint32_t number)
{
	uint32_t little = htole32(number);

	return buf_append(&h->rows, &little, sizeof(little), h->err);
}

int house_known(struct house *h, int64_t number)
{
	int rc = house_flag(h, number < 0);

	return rc || number < 0 ? rc : house_number(h, (uint64_t)number);
}

int house_time(struct house *h, int64_t time_ns)
{
	return house_number(h, (uint64_t)time_ns);
}

int house_tape(struct house *h)
{
	int rc = house_word(h, h->options.cluster);

	return rc ? rc : house_word(h, h->options.tape_id);
}

int house_place(struct house *h)
{
	int rc = house_tape(h);

	return rc ? rc : house_small(h, h->part);
}

int house_resource(struct house *h, uint32_t id)
{
	const struct tape_resource *r = tape_resource_by_id(h->tape, id);
	int rc = house_word(h, r ? r->apigroup : "");

	rc = rc ? rc : house_word(h, r ? r->version : "");
	return rc ? rc : house_word(h, r ? r->resource : "");
}

/* ---- blocks ---- */

/* A database that an older version made has fewer tables. */
static int insert_block(struct house *h, const char *token)
{
	const char *name = tables[h->table].name;
	struct err why;
	int rc = clickhouse_insert(h->server, name, buf_slice(&h->rows), token, &why);

	if (rc != ERR_NOT_FOUND)
		return rc ? err_copy(h->err, &why) : 0;
	rc = house_make_tables(h, h->err);
	return rc ? rc : clickhouse_insert(h->server, name, buf_slice(&h->rows), token, h->err);
}

struct slice house_rows(const struct house *h)
{
	return (struct slice){h->rows.ptr + h->head_bytes, h->rows.len - h->head_bytes};
}

void house_clear(struct house *h)
{
	h->rows.len = h->head_bytes;
}

int house_send(struct house *h)
{
	char token[TOKEN_BYTES];
	int rc;

	if (!house_rows(h).len)
		return 0;
	snprintf(token, sizeof(token), "%s/%u/%s/%u/%016" PRIx64 "/%" PRIx64, h->options.tape_id, h->part,
		tables[h->table].name, h->block++, codec_hash(house_rows(h)), h->attempt);
	rc = insert_block(h, token);
	house_clear(h);
	return rc;
}

int house_end_row(struct house *h)
{
	return h->rows.len >= HOUSE_BLOCK_BYTES ? house_send(h) : 0;
}

struct column {
	struct slice name, type;
};

/* Takes the next one of "name type, name type CODEC(...), ..."; false at the end. */
static bool take_column(const char **at, struct column *ret)
{
	const char *end = *at, *codec;
	int depth = 0;

	for (; *end && (*end != ',' || depth); end++)
		depth += (*end == '(') - (*end == ')');
	ret->type = (struct slice){*at, (size_t)(end - *at)};
	ret->name = slice_cut(&ret->type, ' ');
	codec = ret->type.len ? memmem(ret->type.ptr, ret->type.len, CODEC, sizeof(CODEC) - 1) : NULL;
	if (codec)
		ret->type.len = (size_t)(codec - ret->type.ptr);
	*at = end + strspn(end, ", ");
	return ret->name.len > 0;
}

/* What stands before rows: how many columns they have, the names of all, the types of all. */
static int put_head(struct house *h)
{
	const char *columns = tables[h->table].columns, *at;
	uint8_t number[VARINT_MAX_BYTES];
	struct column column;
	uint64_t count = 0;
	int rc;

	for (at = columns; take_column(&at, &column);)
		count++;
	rc = buf_append(&h->rows, number, varint_put(number, count), h->err);
	for (at = columns; !rc && take_column(&at, &column);)
		rc = house_bytes(h, column.name);
	for (at = columns; !rc && take_column(&at, &column);)
		rc = house_bytes(h, column.type);
	h->head_bytes = h->rows.len;
	return rc;
}

int house_begin(struct house *h, enum house_table table)
{
	h->table = table;
	h->block = 0;
	buf_clear(&h->rows);
	return put_head(h);
}
