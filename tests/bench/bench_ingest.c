/*
 * bench_ingest.c: from a pipe to a durable tape, beside zstd in memory on the same bytes. Another process
 * fills the pipe; here lines are cut, scanned, appended and flushed as the recorder does it.
 */
#include "tests/bench/bench.h"

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/tape/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#define TICK_NS      (50 * NS_PER_MS)
#define STREAMS_MAX  64
#define READ_BYTES   (256u << 10)
#define STORM_EVENTS 9 /* in a tick, the median of a real pod storm */

/* A stream for each kind. */
struct known_stream {
	char kind[64], api_version[64];
	uint32_t id;
};

struct ingest {
	struct tape_writer *writer;
	struct known_stream streams[STREAMS_MAX];
	size_t stream_count, last;
	uint64_t events, events_per_flush; /* 0: flush by the clock */
	int64_t flushed_ns;
};

static int add_stream(struct ingest *in, const struct object_meta *meta, struct err *err)
{
	struct known_stream *s = &in->streams[in->stream_count];
	struct tape_resource resource = {
		.version = s->api_version, .resource = s->kind, .kind = s->kind, .apigroup = ""};
	struct tape_stream stream = {.namespace = "", .label_selector = "", .field_selector = ""};
	char *slash;
	char group[64];
	int rc;

	if (in->stream_count == STREAMS_MAX)
		return err_set(err, ERR_TOO_LARGE, "more than %d kinds", STREAMS_MAX);
	snprintf(s->kind, sizeof(s->kind), "%.*s", (int)meta->kind.len, meta->kind.ptr);
	snprintf(s->api_version, sizeof(s->api_version), "%.*s", (int)meta->api_version.len,
		meta->api_version.ptr);
	slash = strchr(s->api_version, '/');
	snprintf(group, sizeof(group), "%.*s", slash ? (int)(slash - s->api_version) : 0, s->api_version);
	resource.apigroup = group;
	resource.version = slash ? slash + 1 : s->api_version;
	rc = tape_writer_resource(in->writer, &resource, &stream.resource, err);
	if (rc == 0)
		rc = tape_writer_stream(in->writer, &stream, &s->id, err);
	if (rc == 0)
		in->last = in->stream_count++;
	return rc;
}

static int find_stream(struct ingest *in, const struct object_meta *meta, uint32_t *ret_id, struct err *err)
{
	for (size_t i = 0; i < in->stream_count; i++) {
		size_t at = (in->last + i) % in->stream_count;

		if (slice_is(meta->kind, in->streams[at].kind) &&
			slice_is(meta->api_version, in->streams[at].api_version)) {
			in->last = at;
			*ret_id = in->streams[at].id;
			return 0;
		}
	}
	if (add_stream(in, meta, err) < 0)
		return err->code;
	*ret_id = in->streams[in->last].id;
	return 0;
}

static int take_line(struct ingest *in, struct slice line, struct err *err)
{
	struct watch_frame frame;
	struct event e = {.time_ns = clock_wall_ns(&clock_system), .origin = ORIGIN_WATCH};

	if (json_scan_frame(line, &frame, err) < 0)
		return err->code;
	if (slice_is(frame.type, "BOOKMARK"))
		return 0;
	if (find_stream(in, &frame.meta, &e.stream, err) < 0)
		return err->code;
	e.type = *frame.type.ptr == 'A'   ? EVENT_ADDED
		 : *frame.type.ptr == 'M' ? EVENT_MODIFIED
					  : EVENT_DELETED;
	in->events++;
	return tape_writer_append_scanned(in->writer, &e, frame.object, &frame.meta, NULL, err);
}

static int tick(struct ingest *in, struct err *err)
{
	int64_t now_ns = bench_wall_ns();
	bool due = in->events_per_flush ? in->events % in->events_per_flush == 0
					: now_ns - in->flushed_ns >= TICK_NS;

	if (!due)
		return 0;
	in->flushed_ns = now_ns;
	return tape_writer_flush(in->writer, err);
}

/* All whole lines of the buffer; what is left moves to its front. */
static int take_lines(struct ingest *in, struct buf *b, struct err *err)
{
	const char *at = b->ptr, *end = b->ptr + b->len, *feed;
	int rc = 0;

	while (rc == 0 && (feed = memchr(at, '\n', (size_t)(end - at)))) {
		rc = take_line(in, (struct slice){at, (size_t)(feed - at)}, err);
		if (rc == 0)
			rc = tick(in, err);
		at = feed + 1;
	}
	buf_consume(b, (size_t)(at - b->ptr));
	return rc;
}

static int take_pipe(struct ingest *in, int fd, struct err *err)
{
	struct buf b;
	ssize_t n;
	int rc = 0;

	buf_init(&b, 64 << 20);
	do {
		char *at = buf_reserve(&b, READ_BYTES);

		n = at ? read(fd, at, READ_BYTES) : -1;
		if (n > 0) {
			b.len += (size_t)n;
			rc = take_lines(in, &b, err);
		}
	} while (rc == 0 && n > 0);
	if (n < 0)
		rc = err_set_errno(err, errno, "cannot read the pipe");
	buf_release(&b);
	return rc;
}

/* head(1) writes the first bytes of the stream into a pipe, on any CPU. It is spawned, not forked: after a
 * fork our own next write to each page would be a fault, and would be measured. F_SETPIPE_SZ is Linux's. */
static pid_t start_feeder(struct bench *b, size_t bytes, int *ret_fd)
{
	char *count = xasprintf("-c%zu", bytes);
	char *const args[] = {"head", count, (char *)b->stream_path, NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], rc;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	bench_check(pipe2(fds, O_CLOEXEC), &(struct err){.text = "cannot make a pipe"});
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	bench_pin(false);
	rc = posix_spawnp(&pid, "head", &actions, NULL, args, environ);
	bench_pin(true);
	bench_check(-rc, &(struct err){.text = "cannot run head"});
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	free(count);
	*ret_fd = fds[0];
	return pid;
}

/* Also of the rival. */
struct ingest_time {
	int64_t wall_ns, cpu_ns;
	uint64_t disk_bytes, events;
};

static void run_ingest(
	struct bench *b, const char *tape, size_t bytes, uint64_t events_per_flush, struct ingest_time *ret)
{
	struct ingest in = {.events_per_flush = events_per_flush};
	struct tape_writer_stats stats;
	struct err err;
	int64_t wall_ns, cpu_ns;
	pid_t feeder;
	int fd;

	bench_remove(tape);
	feeder = start_feeder(b, bytes, &fd);
	wall_ns = bench_wall_ns();
	cpu_ns = bench_cpu_ns();
	in.flushed_ns = wall_ns;
	bench_check(tape_writer_open(tape, NULL, &in.writer, &err), &err);
	bench_check(take_pipe(&in, fd, &err), &err);
	bench_check(tape_writer_flush(in.writer, &err), &err);
	tape_writer_stats(in.writer, &stats);
	bench_check(tape_writer_close(in.writer, &err), &err);
	ret->wall_ns = bench_wall_ns() - wall_ns;
	ret->cpu_ns = bench_cpu_ns() - cpu_ns;
	ret->events = in.events;
	ret->disk_bytes = bench_disk_bytes(tape);
	close(fd);
	waitpid(feeder, NULL, 0);
	b->event_count = in.events;
}

/* Whole stream, in memory, one thread: the rival that does not write anything. */
static void run_zstd(struct slice bytes, int level, struct ingest_time *ret)
{
	static char out[1 << 20];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = {bytes.ptr, bytes.len, 0};
	int64_t wall_ns = bench_wall_ns(), cpu_ns = bench_cpu_ns();
	size_t left = 1, total = 0;

	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	while (left > 0) {
		ZSTD_outBuffer part = {out, sizeof(out), 0};

		left = ZSTD_compressStream2(c, &part, &in, ZSTD_e_end);
		if (ZSTD_isError(left))
			bench_check(-1, NULL);
		total += part.pos;
	}
	ZSTD_freeCCtx(c);
	ret->wall_ns = bench_wall_ns() - wall_ns;
	ret->cpu_ns = bench_cpu_ns() - cpu_ns;
	ret->disk_bytes = total;
}

static void report_sizes(struct bench *b, const struct ingest_time *t, const struct ingest_time *level1)
{
	struct ingest_time level3;
	double events = (double)t->events;

	run_zstd(b->stream, 3, &level3);
	bench_report(b, &(struct bench_row){.what = "size on disk, indexes included",
				.unit = "bytes/event",
				.ours = (double)t->disk_bytes / events,
				.rival = (double)level3.disk_bytes / events,
				.rival_name = "zstd -3, whole stream",
				.goal = "<= 150"});
	bench_report(b, &(struct bench_row){.what = "size on disk, indexes included",
				.unit = "bytes/event",
				.ours = (double)t->disk_bytes / events,
				.rival = (double)level1->disk_bytes / events,
				.rival_name = "zstd -1, whole stream"});
}

/* The first share of the stream that ends with a line. */
static struct slice share_of(const struct bench *b, size_t divisor)
{
	const struct slice *last = &b->lines[b->line_count / divisor - 1];

	return (struct slice){b->stream.ptr, (size_t)(last->ptr + last->len + 1 - b->stream.ptr)};
}

void bench_ingest(struct bench *b)
{
	double wall[BENCH_ROUNDS], cpu[BENCH_ROUNDS], events[BENCH_ROUNDS], storm[BENCH_ROUNDS],
		zstd_wall[BENCH_ROUNDS], zstd_cpu[BENCH_ROUNDS];
	struct slice share = share_of(b, 8);
	struct ingest_time t, s, z;
	char *storm_tape = xasprintf("%s/storm.tape", b->work_dir);
	double rival_wall, rival;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		run_ingest(b, storm_tape, share.len, STORM_EVENTS, &s);
		run_ingest(b, b->tape, b->stream.len, 0, &t);
		run_zstd(b->stream, 1, &z);
		zstd_wall[i] = bench_mb_per_s(b->stream.len, z.wall_ns);
		zstd_cpu[i] = bench_mb_per_s(b->stream.len, z.cpu_ns);
		wall[i] = bench_mb_per_s(b->stream.len, t.wall_ns);
		cpu[i] = bench_mb_per_s(b->stream.len, t.cpu_ns);
		events[i] = (double)t.events * 1e9 / (double)t.wall_ns;
		storm[i] = bench_mb_per_s(share.len, s.cpu_ns);
	}
	rival_wall = bench_median(zstd_wall, BENCH_ROUNDS);
	rival = bench_median(zstd_cpu, BENCH_ROUNDS);
	bench_report(b, &(struct bench_row){.what = "ingest from a pipe, durable each 50 ms, by the clock",
				.unit = "MB/s",
				.ours = bench_median(wall, BENCH_ROUNDS),
				.rival = rival_wall,
				.rival_name = "zstd -1 -T1, in memory",
				.goal = "ratio >= 0.35"});
	bench_report(b, &(struct bench_row){.what = "the same, by CPU time",
				.unit = "MB/s",
				.ours = bench_median(cpu, BENCH_ROUNDS),
				.rival = rival,
				.rival_name = "zstd -1 -T1, in memory",
				.goal = "ratio >= 0.35"});
	bench_report(b, &(struct bench_row){.what = "the same, events",
				.unit = "events/s",
				.ours = bench_median(events, BENCH_ROUNDS),
				.goal = ">= 150000"});
	bench_report(b, &(struct bench_row){.what = "ingest, a flush each 9 events, by CPU time",
				.unit = "MB/s",
				.ours = bench_median(storm, BENCH_ROUNDS),
				.rival = rival,
				.rival_name = "zstd -1 -T1, in memory",
				.goal = "ratio >= 0.28"});
	report_sizes(b, &t, &z);
	bench_remove(storm_tape);
	free(storm_tape);
}
