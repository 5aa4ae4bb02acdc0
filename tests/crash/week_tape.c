/*
 * week_tape.c: week_tape DIR HOURS: a recorder's hours, as many as you like, with the clock running ahead: objects
 * whose state is shared by several segments, a segment an hour, retention by size and age, an end every six hours,
 * each third one a crash. For each day a line of figures, for test_week.py to judge:
 *
 *   heap_bytes     allocated after an hour, the least of the day
 *   disk_bytes     of the tape after an hour, the most of the day
 *   oldest_ns      between the newest event and the oldest one that is kept, the most of the day
 *   segments, removed      at its end
 */
#include "schema/base/clock.h"
#include "schema/tape/format.h"
#include "schema/tape/reader.h"
#include "schema/tape/writer.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define HOUR_NS           (3600 * NS_PER_S)
#define HOURS_OF_A_LIFE   6
#define OBJECTS           700
#define OBJECT_BYTES      4000
#define EVENTS_PER_HOUR   120
#define EVENTS_OF_A_FLUSH 6
#define MAX_BYTES         (1536u << 10)
#define MAX_AGE_NS        (48 * HOUR_NS)

/* Of the sanitizers' run-time; without one, malloc knows. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

struct week {
	char *path;
	struct tape_writer *writer;
	uint32_t stream;
	uint64_t rv, removed;
	unsigned lives[OBJECTS]; /* how often each was made; odd while it lives */
	int64_t now_ns;
	uint32_t dated; /* segments up to this one have the time at which they were sealed */
};

struct day {
	size_t heap_bytes;
	uint64_t disk_bytes;
	int64_t oldest_ns;
};

static struct err err;
static struct week week;

static int64_t read_week(void *context)
{
	return ((const struct week *)context)->now_ns;
}

static const struct clock week_clock = {read_week, read_week, &week};

static void must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "week_tape: %s\n", err.text);
	exit(EXIT_FAILURE);
}

static size_t heap_bytes(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks + mallinfo2().hblkhd; /* GNU's */
}

static void open_tape(struct week *w)
{
	const struct tape_writer_options options = {.clock = &week_clock,
		.segment_age_ns = HOUR_NS,
		.retention = {.max_bytes = MAX_BYTES, .max_age_ns = MAX_AGE_NS}};
	char empty[] = "", version[] = "v1", pods[] = "pods", kind[] = "Pod";
	const struct tape_resource r = {
		.apigroup = empty, .version = version, .resource = pods, .kind = kind, .namespaced = true};
	struct tape_stream s = {.namespace = empty, .label_selector = empty, .field_selector = empty};

	must(tape_writer_open(w->path, &options, &w->writer, &err));
	must(tape_writer_resource(w->writer, &r, &s.resource, &err));
	must(tape_writer_stream(w->writer, &s, &w->stream, &err));
}

static void close_tape(struct week *w, bool crash)
{
	struct tape_writer_stats stats;

	tape_writer_stats(w->writer, &stats);
	w->removed += stats.removed_segments;
	if (crash)
		tape_writer_abandon(w->writer);
	else
		must(tape_writer_close(w->writer, &err));
}

static void put_event(struct week *w, unsigned key, enum event_type type, enum event_origin origin)
{
	static char object[OBJECT_BYTES + 512];
	const struct event e = {.time_ns = w->now_ns, .type = type, .origin = origin, .stream = w->stream};
	int n = snprintf(object, sizeof(object),
		"{\"metadata\":{\"name\":\"pod-%u\",\"namespace\":\"n\",\"uid\":\"%u-%u\",\"resourceVersion\":\"%llu\"},\"x\":\"",
		key, key, w->lives[key], (unsigned long long)++w->rv);

	for (unsigned i = 0; i < OBJECT_BYTES; i++)
		object[n++] = (char)('a' + (i * (key + 7) + i / 64 * key) % 26);
	snprintf(object + n, sizeof(object) - (size_t)n, "\"}");
	must(tape_writer_append(w->writer, &e, slice_of(object), NULL, &err));
}

static void list(struct week *w)
{
	for (unsigned key = 0; key < OBJECTS; key++) {
		w->lives[key] = 1;
		put_event(w, key, EVENT_ADDED, ORIGIN_LIST);
	}
	must(tape_writer_flush(w->writer, &err));
}

/* Most events change an object, some delete one or bring it back. */
static void change_one(struct week *w, unsigned number)
{
	unsigned key = (unsigned)(w->rv * 7919 % OBJECTS);
	bool lives = w->lives[key] % 2;

	if (lives && number % 20) {
		put_event(w, key, EVENT_MODIFIED, ORIGIN_WATCH);
	} else if (lives) {
		put_event(w, key, EVENT_DELETED, ORIGIN_WATCH);
		w->lives[key]++;
	} else {
		w->lives[key]++;
		put_event(w, key, EVENT_ADDED, ORIGIN_WATCH);
	}
}

/* Files get the time of this clock: retention asks them for their age. */
static void date_sealed(struct week *w)
{
	const struct timespec now = {w->now_ns / NS_PER_S, w->now_ns % NS_PER_S};
	const struct timespec times[2] = {now, now};

	for (;; w->dated++) {
		char *path = xasprintf("%s/" FORMAT_SEALED_NAME, w->path, w->dated + 1);
		int failed = utimensat(AT_FDCWD, path, times, 0);

		free(path);
		if (failed)
			return;
	}
}

static void look(struct week *w, struct day *day)
{
	struct tape_info info;
	size_t heap = heap_bytes();
	struct tape *t;

	must(tape_open(w->path, &t, &err));
	must(tape_info(t, &info, &err));
	tape_close(t);
	day->heap_bytes = heap < day->heap_bytes ? heap : day->heap_bytes;
	day->disk_bytes = info.disk_bytes > day->disk_bytes ? info.disk_bytes : day->disk_bytes;
	if (info.last_time_ns - info.first_time_ns > day->oldest_ns)
		day->oldest_ns = info.last_time_ns - info.first_time_ns;
}

static void live_an_hour(struct week *w, struct day *day)
{
	for (unsigned i = 0; i < EVENTS_PER_HOUR; i++) {
		w->now_ns += HOUR_NS / EVENTS_PER_HOUR;
		change_one(w, i);
		if (i % EVENTS_OF_A_FLUSH == 0)
			must(tape_writer_flush(w->writer, &err));
	}
	must(tape_writer_flush(w->writer, &err));
	date_sealed(w);
	look(w, day);
}

static void tell(const struct week *w, const struct day *day)
{
	struct tape_writer_stats stats;

	tape_writer_stats(w->writer, &stats);
	printf("{\"heap_bytes\": %zu, \"disk_bytes\": %llu, \"oldest_ns\": %lld, \"segments\": %llu, \"removed\": %llu}\n",
		day->heap_bytes, (unsigned long long)day->disk_bytes, (long long)day->oldest_ns,
		(unsigned long long)stats.segments,
		(unsigned long long)(w->removed + stats.removed_segments));
}

int main(int argc, char **argv)
{
	static char line[BUFSIZ]; /* so that stdio has its memory before it is measured */
	struct week *w = &week;
	struct day day = {.heap_bytes = SIZE_MAX};
	unsigned hours = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (!hours) {
		fprintf(stderr, "usage: week_tape DIR HOURS\n");
		return 2;
	}
	setvbuf(stdout, line, _IOLBF, sizeof(line));
	w->path = xasprintf("%s/week.tape", argv[1]);
	w->now_ns = clock_wall_ns(&clock_system);
	open_tape(w);
	list(w);
	for (unsigned hour = 1; hour <= hours; hour++) {
		live_an_hour(w, &day);
		if (hour % HOURS_OF_A_LIFE == 0) {
			close_tape(w, hour / HOURS_OF_A_LIFE % 3 == 0);
			open_tape(w);
		}
		if (hour % 24 == 0) {
			tell(w, &day);
			day = (struct day){.heap_bytes = SIZE_MAX};
		}
	}
	close_tape(w, false);
	free(w->path);
	return 0;
}
