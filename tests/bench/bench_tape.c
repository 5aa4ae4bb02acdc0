/*
 * bench_tape.c: a recording as the stream under test: the events of a tape as the lines that a watch sends,
 * and the moments at which they had arrived.
 */
#include "tests/bench/bench.h"

#include "schema/tape/reader.h"

#include <stdio.h>

static int put_line(FILE *file, const struct event *e, struct slice object)
{
	return fprintf(file, "{\"type\":\"%s\",\"object\":", event_type_name(e->type)) > 0 &&
			       fwrite(object.ptr, 1, object.len, file) == object.len &&
			       fputs("}\n", file) >= 0
		       ? 0
		       : -1;
}

static void put_lines(struct bench *b, struct tape *tape, FILE *file)
{
	struct tape_cursor *cursor;
	struct slice object;
	struct event e;
	struct err err;
	size_t count = 0;
	int more;

	bench_check(tape_cursor_open(tape, NULL, TAPE_FORWARD, &cursor, &err), &err);
	while ((more = tape_cursor_next(cursor, &e, &err)) > 0) {
		bench_check(tape_cursor_object(cursor, &object, &err), &err);
		bench_check(put_line(file, &e, object), &(struct err){.text = "cannot write the stream"});
		b->times_ns[count++] = e.time_ns;
	}
	bench_check(more, &err);
	tape_cursor_close(cursor);
}

void bench_write_stream(struct bench *b, const char *tape_path, const char *stream_path)
{
	FILE *file = fopen(stream_path, "we");
	struct tape_info info;
	struct tape *tape;
	struct err err;

	bench_check(tape_open(tape_path, &tape, &err), &err);
	bench_check(tape_info(tape, &info, &err), &err);
	bench_check(file && info.events ? 0 : -1, &(struct err){.text = "there is nothing to measure with"});
	b->times_ns = xcalloc(info.events, sizeof(*b->times_ns));
	put_lines(b, tape, file);
	bench_check(fclose(file), &(struct err){.text = "cannot write the stream"});
	tape_close(tape);
}
