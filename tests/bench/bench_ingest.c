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
#define SMALL_LINES  18000 /* small flushes wait for the disk: they see no more of the stream than that */
#define SMALL_ROUNDS 3
#define STORM_EVENTS 9 /* in a tick, the median of a real pod storm */
#define DAY_EVENTS   3 /* ... and of an ordinary day */

/* A stream for each kind. */
struct known_stream {
	char kind[64], api_version[64];
	uint32_t id;
};

/* When to flush: after this many lines, at the ticks between these times of lines, or, both 0, by the clock. */
struct pace {
	uint64_t lines_per_flush;
	const int64_t *times_ns;
	size_t count;   /* of times */
	bool pretended; /* the writer is told these times, not that of the machine */
};

struct ingest {
	struct tape_writer *writer;
	struct known_stream streams[STREAMS_MAX];
	size_t stream_count, last;
	uint64_t events, lines;
	struct pace pace;
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

/* After that many lines. flushed_ns is the caller's: the time of the last tick. */
static bool is_due(const struct pace *pace, uint64_t lines, int64_t *flushed_ns)
{
	int64_t now_ns;

	if (pace->lines_per_flush)
		return lines % pace->lines_per_flush == 0;
	if (pace->times_ns && lines >= pace->count)
		return true;
	now_ns = pace->times_ns ? pace->times_ns[lines] : bench_wall_ns();
	if (now_ns - *flushed_ns < TICK_NS)
		return false;
	*flushed_ns = now_ns;
	return true;
}

static int tick(struct ingest *in, struct err *err)
{
	bool due = is_due(&in->pace, ++in->lines, &in->flushed_ns);

	return due || tape_writer_is_full(in->writer) ? tape_writer_flush(in->writer, err) : 0;
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

/* The time of the line that comes next. */
static int64_t pretended_ns(void *context)
{
	const struct ingest *in = context;

	return in->pace.times_ns[in->lines < in->pace.count ? in->lines : in->pace.count - 1];
}

static void run_ingest(
	struct bench *b, const char *tape, size_t bytes, const struct pace *pace, struct ingest_time *ret)
{
	struct ingest in = {.pace = *pace};
	struct clock pretended = {pretended_ns, pretended_ns, &in};
	struct tape_writer_options options = {.clock = pace->pretended ? &pretended : NULL};
	struct tape_writer_stats stats;
	struct err err;
	int64_t wall_ns, cpu_ns;
	pid_t feeder;
	int fd;

	bench_remove(tape);
	feeder = start_feeder(b, bytes, &fd);
	wall_ns = bench_wall_ns();
	cpu_ns = bench_cpu_ns();
	in.flushed_ns = pace->times_ns ? pace->times_ns[0] : wall_ns;
	bench_check(tape_writer_open(tape, &options, &in.writer, &err), &err);
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

/* The floor of any ingest that keeps what a crash leaves: the pipe read, and compressed once as the hot stage
 * does it; nothing scanned, sorted, compressed again for good, or written. */
static int64_t floor_cpu_ns(struct bench *b)
{
	static char in[READ_BYTES], out[1 << 20];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	int64_t cpu_ns;
	ssize_t n;
	int fd;
	pid_t feeder = start_feeder(b, b->stream.len, &fd);

	cpu_ns = bench_cpu_ns();
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 24);
	while ((n = read(fd, in, sizeof(in))) > 0) {
		ZSTD_inBuffer from = {in, (size_t)n, 0};

		while (from.pos < from.size) {
			ZSTD_outBuffer part = {out, sizeof(out), 0};

			bench_check(
				ZSTD_isError(ZSTD_compressStream2(c, &part, &from, ZSTD_e_continue)) ? -1 : 0,
				NULL);
		}
	}
	cpu_ns = bench_cpu_ns() - cpu_ns;
	ZSTD_freeCCtx(c);
	close(fd);
	waitpid(feeder, NULL, 0);
	return cpu_ns;
}

static void write_part(int fd, const char *from, size_t len)
{
	bench_check(write(fd, from, len) == (ssize_t)len && fdatasync(fd) == 0 ? 0 : -1,
		&(struct err){.text = "cannot write a frame"});
}

static size_t compress_part(ZSTD_CCtx *c, struct slice raw, int fd)
{
	static char out[1 << 20];
	ZSTD_inBuffer in = {raw.ptr, raw.len, 0};
	size_t left = 1, total = 0;

	while (left > 0) {
		ZSTD_outBuffer part = {out, sizeof(out), 0};

		left = ZSTD_compressStream2(c, &part, &in, ZSTD_e_flush);
		bench_check(ZSTD_isError(left) ? -1 : 0, NULL);
		write_part(fd, out, part.pos);
		total += part.pos;
	}
	return total;
}

/* The rival that promises as much: one running frame, flushed into a file and synced at the same ticks. */
static void run_durable_zstd(struct bench *b, size_t bytes, const struct pace *pace, struct ingest_time *ret)
{
	char *path = xasprintf("%s/durable.zst", b->work_dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int64_t flushed_ns = pace->times_ns ? pace->times_ns[0] : 0, cpu_ns = bench_cpu_ns();
	const char *at = b->stream.ptr, *end = at + bytes;
	ZSTD_CCtx *c = ZSTD_createCCtx();

	*ret = (struct ingest_time){0};
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 24);
	for (uint64_t i = 0; at < end; i++) {
		const char *next = b->lines[i].ptr + b->lines[i].len + 1;

		if (!is_due(pace, i + 1, &flushed_ns) && next < end)
			continue;
		ret->disk_bytes += compress_part(c, (struct slice){at, (size_t)(next - at)}, fd);
		at = next;
	}
	ret->cpu_ns = bench_cpu_ns() - cpu_ns;
	ZSTD_freeCCtx(c);
	close(fd);
	unlink(path);
	free(path);
}

/* Of a session the writer has time to pack harder. The recording has more:
 * documents, connections, bookmarks. */
static void report_recorded_sizes(struct bench *b, double zstd3_bytes)
{
	char *tape = xasprintf("%s/paced.tape", b->work_dir);
	struct ingest_time t;

	run_ingest(b, tape, b->stream.len,
		&(struct pace){.times_ns = b->times_ns, .count = b->line_count, .pretended = true}, &t);
	bench_report(b, &(struct bench_row){.what = "the same, recorded at the pace it came",
				.unit = "bytes/event",
				.ours = (double)t.disk_bytes / (double)t.events,
				.rival = zstd3_bytes,
				.rival_name = "zstd -3, whole stream",
				.goal = "ratio <= 0.66"});
	bench_report(
		b, &(struct bench_row){.what = "the recording itself, with its documents and connections",
			   .unit = "bytes/event",
			   .ours = (double)bench_disk_bytes(b->recording) / (double)t.events,
			   .rival = zstd3_bytes,
			   .rival_name = "zstd -3, whole stream"});
	bench_cold_lookups(b, tape, t.events);
	bench_remove(tape);
	free(tape);
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
	if (b->times_ns)
		report_recorded_sizes(b, (double)level3.disk_bytes / events);
	bench_repack(b, (double)level3.disk_bytes);
}

/* As many bytes of the stream, whole lines, as small flushes are tried with. */
static size_t share_of(const struct bench *b)
{
	size_t count = b->line_count < SMALL_LINES ? b->line_count : SMALL_LINES;
	const struct slice *last = &b->lines[count - 1];

	return (size_t)(last->ptr + last->len + 1 - b->stream.ptr);
}

/* Small flushes, which cost a transaction each; by CPU time. */
static void bench_flushes(struct bench *b, const char *what, const struct pace *pace, double in_memory)
{
	char *tape = xasprintf("%s/small.tape", b->work_dir);
	char *also = xasprintf("%s, against as many syncs", what);
	size_t bytes = share_of(b);
	double ours[SMALL_ROUNDS], rival[SMALL_ROUNDS];
	struct ingest_time t;

	for (int i = 0; i < SMALL_ROUNDS; i++) {
		run_ingest(b, tape, bytes, pace, &t);
		ours[i] = bench_mb_per_s(bytes, t.cpu_ns);
		run_durable_zstd(b, bytes, pace, &t);
		rival[i] = bench_mb_per_s(bytes, t.cpu_ns);
	}
	bench_report(b, &(struct bench_row){.what = what,
				.unit = "MB/s",
				.ours = bench_median(ours, SMALL_ROUNDS),
				.rival = in_memory,
				.rival_name = "zstd -1 -T1, in memory",
				.goal = "ratio >= 0.28"});
	bench_report(b, &(struct bench_row){.what = also,
				.unit = "MB/s",
				.ours = bench_median(ours, SMALL_ROUNDS),
				.rival = bench_median(rival, SMALL_ROUNDS),
				.rival_name = "zstd -1 into a file, flushed and synced"});
	bench_remove(tape);
	free(also);
	free(tape);
}

void bench_ingest(struct bench *b)
{
	double wall[BENCH_ROUNDS], cpu[BENCH_ROUNDS], events[BENCH_ROUNDS], zstd_wall[BENCH_ROUNDS],
		zstd_cpu[BENCH_ROUNDS], floor[BENCH_ROUNDS];
	struct ingest_time t, z;
	double rival_wall, rival;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		run_ingest(b, b->tape, b->stream.len, &(struct pace){0}, &t);
		run_zstd(b->stream, 1, &z);
		floor[i] = bench_mb_per_s(b->stream.len, floor_cpu_ns(b));
		zstd_wall[i] = bench_mb_per_s(b->stream.len, z.wall_ns);
		zstd_cpu[i] = bench_mb_per_s(b->stream.len, z.cpu_ns);
		wall[i] = bench_mb_per_s(b->stream.len, t.wall_ns);
		cpu[i] = bench_mb_per_s(b->stream.len, t.cpu_ns);
		events[i] = (double)t.events * 1e9 / (double)t.wall_ns;
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
	bench_report(b, &(struct bench_row){.what = "the same, by CPU time",
				.unit = "MB/s",
				.ours = bench_median(cpu, BENCH_ROUNDS),
				.rival = bench_median(floor, BENCH_ROUNDS),
				.rival_name = "the pipe read and compressed once"});
	bench_report(b, &(struct bench_row){.what = "the same, events",
				.unit = "events/s",
				.ours = bench_median(events, BENCH_ROUNDS),
				.goal = ">= 150000"});
	if (b->times_ns)
		bench_flushes(b, "ingest, ticks as they fell",
			&(struct pace){.times_ns = b->times_ns, .count = b->line_count}, rival);
	bench_flushes(
		b, "ingest, a flush each 9 events", &(struct pace){.lines_per_flush = STORM_EVENTS}, rival);
	bench_flushes(
		b, "ingest, a flush each 3 events", &(struct pace){.lines_per_flush = DAY_EVENTS}, rival);
	report_sizes(b, &t, &z);
}
