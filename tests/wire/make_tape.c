/*
 * make_tape.c: writes a tape from lines of JSON on stdin, for tests that need a small tape with exactly known
 * content. Objects reach the tape byte for byte as they stand in the line.
 *
 *     make_tape OUT.tape [EXTENT_BYTES] < LINES
 *
 * A line is one of (members that are left out are empty, 0 or false; origin defaults to "watch"):
 *     {"time_ns":1,"origin":"list","stream":STREAM,"type":"ADDED","object":{...}}       an event
 *     {"mark":"list","time_ns":1,"stream":STREAM,"rv":"100","object":{...}}            a mark
 *     {"document":"/api","variant":"aggregated","time_ns":1,"http_status":200,"content_type":"..",
 *      "etag":"..","body":{...}}                        a document; a string as body gives its text
 *     {"connection":"watch","stream":STREAM,"target":"..","begin_ns":1,"duration_ns":1,"http_status":200,
 *      "end_reason":"reset","events":3,"last_rv":".."}  one that has ended
 *     {"gap":"reset","how_ended":"relist","stream":STREAM,"begin_ns":1,"end_ns":2,"duration_ns":1,
 *      "begin_seq":1,"end_seq":2,"from_rv":"..","to_rv":"..","connection_before":1,"connection_after":2,
 *      "recreated":1,"modified":1,"added":1,"deleted":1,"unchanged":1}
 *     {"missed":"recreated","gap_id":1,"stream":STREAM,"namespace":"..","name":"..","uid":"..",
 *      "old_uid":"..","rv":"..","old_rv":".."}
 *     {"flush":true}                                    makes what came before durable
 *     {"rotate":true}                                   goes on in a new segment
 *     {"abandon":true}                                  stops, leaving what was flushed in an open segment
 *     {"kill":true}                                     stops as a crash would, leaving SQLite's log too
 * with STREAM = {"group":"apps","version":"v1","resource":"deployments","kind":"Deployment",
 *     "namespaced":true,"namespace":"","label_selector":"","field_selector":""}
 */
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct maker {
	struct tape_writer *writer;
	struct slice line;
	struct buf texts; /* unescaped strings of the present line; never grows while a line is read */
};

/* The text of a string member, "" when it is not there; terminated, lives until the next line. */
static char *text_at(struct maker *m, const char *path)
{
	static char empty[1];
	size_t begin = m->texts.len;
	struct slice value;

	if (json_get(m->line, path, &value, NULL) <= 0 || value.ptr[0] != '"')
		return empty;
	if (json_unescape(value, &m->texts, NULL) || buf_append(&m->texts, "", 1, NULL))
		return empty;
	return m->texts.ptr + begin;
}

static struct slice raw_at(struct maker *m, const char *path)
{
	struct slice value;

	return json_get(m->line, path, &value, NULL) > 0 ? value : (struct slice){NULL, 0};
}

static int64_t number_at(struct maker *m, const char *path)
{
	struct slice value = raw_at(m, path);
	char digits[32];

	if (value.len == 0 || value.len >= sizeof(digits))
		return 0;
	memcpy(digits, value.ptr, value.len);
	digits[value.len] = 0;
	return strtoll(digits, NULL, 10);
}

static int find_stream(struct maker *m, uint32_t *ret, struct err *err)
{
	struct tape_resource resource = {
		.apigroup = text_at(m, "stream.group"),
		.version = text_at(m, "stream.version"),
		.resource = text_at(m, "stream.resource"),
		.kind = text_at(m, "stream.kind"),
		.namespaced = slice_is(raw_at(m, "stream.namespaced"), "true"),
	};
	struct tape_stream stream = {
		.namespace = text_at(m, "stream.namespace"),
		.label_selector = text_at(m, "stream.label_selector"),
		.field_selector = text_at(m, "stream.field_selector"),
	};
	int rc;

	if (!*resource.resource)
		return err_set(err, ERR_USAGE, "line without a stream");
	rc = tape_writer_resource(m->writer, &resource, &stream.resource, err);
	return rc ? rc : tape_writer_stream(m->writer, &stream, ret, err);
}

static int add_event(struct maker *m, struct err *err)
{
	const char *origin = text_at(m, "origin");
	struct event e = {.time_ns = number_at(m, "time_ns"), .origin = ORIGIN_WATCH};
	int rc = find_stream(m, &e.stream, err);

	(void)event_origin_parse(slice_of(origin), &e.origin);
	e.rv = slice_of(text_at(m, "rv"));
	if (rc == 0 && !event_type_parse(slice_of(text_at(m, "type")), &e.type))
		rc = err_set(err, ERR_USAGE, "event without a type");
	return rc ? rc : tape_writer_append(m->writer, &e, raw_at(m, "object"), NULL, err);
}

static int add_mark(struct maker *m, const char *kind, struct err *err)
{
	struct tape_mark mark = {.time_ns = number_at(m, "time_ns"), .object = raw_at(m, "object")};
	int rc = find_stream(m, &mark.stream, err);

	(void)mark_kind_parse(slice_of(kind), &mark.kind);
	mark.rv = slice_of(text_at(m, "rv"));
	return rc ? rc : tape_writer_mark(m->writer, &mark, err);
}

static int add_document(struct maker *m, const char *path, struct err *err)
{
	struct slice body = raw_at(m, "body");
	struct tape_document d = {
		.time_ns = number_at(m, "time_ns"),
		.path = path,
		.variant = text_at(m, "variant"),
		.http_status = (int)number_at(m, "http_status"),
		.content_type = text_at(m, "content_type"),
		.etag = text_at(m, "etag"),
		.body = body.len && body.ptr[0] == '"' ? slice_of(text_at(m, "body")) : body,
	};

	return tape_writer_document(m->writer, &d, err);
}

static int add_connection(struct maker *m, const char *purpose, struct err *err)
{
	struct tape_connection c = {
		.purpose = purpose,
		.target = text_at(m, "target"),
		.begin_ns = number_at(m, "begin_ns"),
		.duration_ns = number_at(m, "duration_ns"),
		.first_byte_after_ns = -1,
		.timeout_seconds = -1,
		.http_status = (int)number_at(m, "http_status"),
		.retry_after_s = -1,
		.end_reason = text_at(m, "end_reason"),
		.events = (uint64_t)number_at(m, "events"),
		.last_rv = text_at(m, "last_rv"),
	};
	int rc = find_stream(m, &c.stream, err);

	if (rc == 0)
		rc = tape_writer_begin_connection(m->writer, &c, err);
	return rc ? rc : tape_writer_end_connection(m->writer, &c, err);
}

static int add_gap(struct maker *m, const char *reason, struct err *err)
{
	struct tape_gap gap = {
		.reason = reason,
		.how_ended = text_at(m, "how_ended"),
		.begin_ns = number_at(m, "begin_ns"),
		.end_ns = number_at(m, "end_ns"),
		.duration_ns = number_at(m, "duration_ns"),
		.begin_seq = (uint64_t)number_at(m, "begin_seq"),
		.end_seq = (uint64_t)number_at(m, "end_seq"),
		.from_rv = text_at(m, "from_rv"),
		.to_rv = text_at(m, "to_rv"),
		.recreated = (uint64_t)number_at(m, "recreated"),
		.modified = (uint64_t)number_at(m, "modified"),
		.added = (uint64_t)number_at(m, "added"),
		.deleted = (uint64_t)number_at(m, "deleted"),
		.unchanged = (uint64_t)number_at(m, "unchanged"),
		.connection_before = (uint64_t)number_at(m, "connection_before"),
		.connection_after = (uint64_t)number_at(m, "connection_after"),
	};
	int rc = find_stream(m, &gap.stream, err);

	return rc ? rc : tape_writer_gap(m->writer, &gap, err);
}

static int add_missed(struct maker *m, const char *change, struct err *err)
{
	struct tape_missed missed = {
		.change = change,
		.gap = (uint64_t)number_at(m, "gap_id"),
		.namespace = slice_of(text_at(m, "namespace")),
		.name = slice_of(text_at(m, "name")),
		.uid = slice_of(text_at(m, "uid")),
		.old_uid = slice_of(text_at(m, "old_uid")),
		.rv = slice_of(text_at(m, "rv")),
		.old_rv = slice_of(text_at(m, "old_rv")),
	};
	struct tape_resource resource = {
		.apigroup = text_at(m, "stream.group"),
		.version = text_at(m, "stream.version"),
		.resource = text_at(m, "stream.resource"),
		.kind = text_at(m, "stream.kind"),
		.namespaced = slice_is(raw_at(m, "stream.namespaced"), "true"),
	};
	int rc = tape_writer_resource(m->writer, &resource, &missed.resource, err);

	return rc ? rc : tape_writer_missed(m->writer, &missed, err);
}

/* 1 when the tape is to be left as it is. */
static int add_line(struct maker *m, struct slice line, struct err *err)
{
	static const struct {
		const char *member;
		int (*add)(struct maker *m, const char *value, struct err *err);
	} kinds[] = {
		{"mark", add_mark},
		{"document", add_document},
		{"connection", add_connection},
		{"gap", add_gap},
		{"missed", add_missed},
	};

	m->line = line;
	buf_clear(&m->texts);
	if (!buf_reserve(&m->texts, 4 * line.len + 64))
		return err_set(err, ERR_TOO_LARGE, "line of %zu bytes", line.len);
	if (slice_is(raw_at(m, "abandon"), "true"))
		return 1;
	if (slice_is(raw_at(m, "kill"), "true"))
		_exit(0);
	if (slice_is(raw_at(m, "rotate"), "true"))
		tape_writer_rotate(m->writer);
	if (slice_is(raw_at(m, "flush"), "true") || slice_is(raw_at(m, "rotate"), "true"))
		return tape_writer_flush(m->writer, err);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		const char *value = text_at(m, kinds[i].member);

		if (*value)
			return kinds[i].add(m, value, err);
	}
	return add_event(m, err);
}

static int add_lines(struct maker *m, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = getline(&line, &cap, stdin)) > 0) {
		size_t len = (size_t)n - (line[n - 1] == '\n');

		rc = len ? add_line(m, (struct slice){line, len}, err) : 0;
		if (rc < 0)
			fprintf(stderr, "make_tape: in line: %.200s\n", line);
	}
	free(line);
	return rc;
}

int main(int argc, char **argv)
{
	struct tape_writer_options options = {.program = "make_tape"};
	struct maker m = {0};
	struct err err = {0};
	int rc;

	if (argc < 2) {
		fputs("usage: make_tape OUT.tape [EXTENT_BYTES] < LINES\n", stderr);
		return 2;
	}
	if (argc > 2)
		options.extent_bytes = strtoull(argv[2], NULL, 10);
	buf_init(&m.texts, LIMIT_LIST_BYTES);
	rc = tape_writer_open(argv[1], &options, &m.writer, &err);
	if (rc == 0)
		rc = add_lines(&m, &err);
	if (rc == 1)
		tape_writer_abandon(m.writer);
	else if (m.writer && tape_writer_close(m.writer, rc ? NULL : &err) && rc == 0)
		rc = err.code;
	buf_release(&m.texts);
	if (rc < 0)
		fprintf(stderr, "make_tape: %s\n", err.text);
	return rc < 0;
}
