/*
 * logs_table.c: the table `logs`: the last lines of containers that died, a row for each line. Where there are none, one
 * row says why.
 */
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"
#include "schema/sql/row_table.h"
#include "schema/tape/pod_log.h"

#include <stdlib.h>

struct log_line {
	struct pod_log log;
	uint64_t after_seq;
	int64_t fetched_ns;
	int64_t line;            /* from 1; 0: the row tells why there is none */
	struct slice time, text; /* time is empty if the server did not tell it */
	struct slice reason;
	bool is_first, is_last; /* of its log */
};

static void put_line_time(struct row_store *store, const struct row *row)
{
	const struct log_line *l = row->parts[ROW_ITSELF];
	int64_t time_ns;

	if (timestamp_parse(l->time, &time_ns))
		put_time(store, time_ns);
	else
		put_string(store, NULL);
}

/* Where a log was cut, its first line or its last says so. */
static void put_truncated(struct row_store *store, const struct row *row)
{
	const struct log_line *l = row->parts[ROW_ITSELF];

	put_integer(store, (l->is_first && l->log.cut_front) || (l->is_last && l->log.cut_end));
}

static void put_text(struct row_store *store, const struct row *row)
{
	const struct log_line *l = row->parts[ROW_ITSELF];

	if (l->line)
		put_slice(store, l->text);
	else
		put_string(store, NULL);
}

#define OF_LINE(member) ROW_MEMBER(ROW_ITSELF, struct log_line, member)
static const struct row_column log_columns[] = {
	{"namespace", "TEXT", OF_LINE(log.namespace)},
	{"pod", "TEXT", OF_LINE(log.pod)},
	{"container", "TEXT", OF_LINE(log.container)},
	{"restart", "INTEGER", OF_LINE(log.restart)},
	{"line", "INTEGER", ROW_NOT_ZERO, OF_LINE(line)},
	{"time", SQL_TIME, .put = put_line_time},
	{"text", "TEXT", .put = put_text},
	{"truncated", "INTEGER", .put = put_truncated},
	{"reason", "TEXT", ROW_OR_NULL, OF_LINE(reason)},
	{"uid", "TEXT", OF_LINE(log.uid)},
	{"container_id", "TEXT", OF_LINE(log.container_id)},
	{"after_seq", "INTEGER", OF_LINE(after_seq)},
	{"fetched", SQL_TIME, ROW_TIME, OF_LINE(fetched_ns)},
};

/* A log that was found while the documents are walked; its texts are copies. */
struct found_log {
	struct tape_document document;
	bool is_replaced; /* it was fetched again, and the later one counts */
};

struct found_logs {
	struct found_log *items;
	size_t count;
};

static int find_log(void *context, const struct tape_document *d)
{
	struct found_logs *f = context;
	struct pod_log log;

	if (!pod_log_parse(d, &log))
		return 0;
	f->items = xgrow(f->items, f->count, sizeof(*f->items));
	f->items[f->count] = (struct found_log){.document = *d};
	f->items[f->count].document.path = xstrdup(d->path);
	f->items[f->count].document.variant = xstrdup(d->variant);
	f->items[f->count++].document.content_type = xstrdup(d->content_type);
	return 0;
}

static int compare_names(const struct found_log *a, const struct found_log *b)
{
	int c = strcmp(a->document.variant, b->document.variant);

	return c ? c : strcmp(a->document.path, b->document.path);
}

/* By name, the newest last. */
static int compare_logs(const void *left, const void *right)
{
	const struct found_log *a = *(struct found_log *const *)left, *b = *(struct found_log *const *)right;
	int c = compare_names(a, b);

	return c ? c : (a > b) - (a < b);
}

static void mark_replaced(struct found_logs *f)
{
	struct found_log **sorted = xcalloc(f->count + 1, sizeof(struct found_log *));

	for (size_t i = 0; i < f->count; i++)
		sorted[i] = &f->items[i];
	if (f->count)
		qsort(sorted, f->count, sizeof(struct found_log *), compare_logs);
	for (size_t i = 0; i + 1 < f->count; i++)
		sorted[i]->is_replaced = compare_names(sorted[i], sorted[i + 1]) == 0;
	free(sorted);
}

static void release_logs(struct found_logs *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free((char *)(uintptr_t)f->items[i].document.path);
		free((char *)(uintptr_t)f->items[i].document.variant);
		free((char *)(uintptr_t)f->items[i].document.content_type);
	}
	free(f->items);
}

static void put_lines(struct row_sink *sink, struct log_line *row, struct slice body)
{
	struct slice rest = body;

	while (pod_log_line(&rest, &row->time, &row->text)) {
		row->line++;
		row->is_first = row->line == 1;
		row->is_last = !rest.len;
		row_sink_put(sink, row, NULL, 0);
	}
	if (row->line)
		return;
	row->reason = slice_of("the container wrote nothing");
	row_sink_put(sink, row, NULL, 0);
}

static int put_log(struct tape *t, struct row_sink *sink, const struct tape_document *d, struct err *err)
{
	struct log_line row = {.after_seq = d->after_seq, .fetched_ns = d->time_ns};
	struct buf body;
	int rc;

	if (!pod_log_parse(d, &row.log))
		return 0;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(t, d->segment, d->id, &body, err);
	if (rc == 0 && row.log.missing) {
		row.reason = buf_slice(&body);
		row_sink_put(sink, &row, NULL, 0);
	} else if (rc == 0) {
		put_lines(sink, &row, buf_slice(&body));
	}
	buf_release(&body);
	return rc;
}

static int fill_logs(struct tape *t, struct row_sink *sink, struct err *err)
{
	struct found_logs f = {0};
	int rc = tape_each_document(t, find_log, &f, err);

	mark_replaced(&f);
	for (size_t i = 0; i < f.count && rc == 0; i++) {
		if (!f.items[i].is_replaced)
			rc = put_log(t, sink, &f.items[i].document, err);
	}
	release_logs(&f);
	return rc;
}

const struct table_kind logs_table = {
	.name = "logs",
	.summary = "the last lines of containers that died, as record --logs fetched them",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){log_columns, COUNT_OF(log_columns), fill_logs, NULL},
};
