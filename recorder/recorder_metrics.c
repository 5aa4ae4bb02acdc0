/*
 * recorder_metrics.c: see recorder_internal.h. What --metrics answers: /metrics in Prometheus' text format,
 * /healthz (the loop turns) and /readyz (every first list is on the tape, and it can be written).
 *
 * Labels tell what is followed: the resource as kubectl names it, its namespace ("" for all). Selectors are the same for
 * all streams of a recording, and versions of a resource follow each other.
 */
#include "recorder/metrics_server.h"
#include "recorder/recorder_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/log.h"
#include "schema/base/version.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- the text ---- */

/* Names are at most 253 bytes. What exceeds the buffer's maximum, thousands of streams, is left out. */
static void say(struct buf *to, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (len > 0 && (size_t)len < sizeof(line) && buf_append(to, line, (size_t)len, NULL))
		return;
}

static void head(struct buf *to, const char *name, const char *type, const char *help)
{
	say(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_number(struct buf *to, const char *name, const char *type, const char *help, double value)
{
	head(to, name, type, help);
	say(to, "%s %.15g\n", name, value);
}

static void counter(struct buf *to, const char *name, const char *help, uint64_t value)
{
	head(to, name, "counter", help);
	say(to, "%s %ju\n", name, (uintmax_t)value);
}

static void gauge(struct buf *to, const char *name, const char *help, double value)
{
	put_number(to, name, "gauge", help, value);
}

/* ---- streams ---- */

struct stream_column {
	const char *name, *type, *help;
	uint64_t (*of)(const struct stream_figures *f);
};

static uint64_t events_of(const struct stream_figures *f)
{
	return f->events;
}

static uint64_t bytes_of(const struct stream_figures *f)
{
	return f->bytes;
}

static uint64_t objects_of(const struct stream_figures *f)
{
	return f->objects;
}

static uint64_t gaps_of(const struct stream_figures *f)
{
	return f->gaps;
}

static uint64_t watched_of(const struct stream_figures *f)
{
	return f->watched;
}

static uint64_t failed_of(const struct stream_figures *f)
{
	return f->failed_attempts;
}

static const struct stream_column columns[] = {
	{"kubetape_events_total", "counter", "Events recorded.", events_of},
	{"kubetape_object_bytes_total", "counter", "Bytes of the objects of these events.", bytes_of},
	{"kubetape_gaps_total", "counter", "Gaps that began: intervals without a watch worth a row.",
		gaps_of},
	{"kubetape_watched", "gauge", "1 while a watch stands.", watched_of},
	{"kubetape_objects", "gauge", "Live objects.", objects_of},
	{"kubetape_failed_attempts", "gauge", "Attempts in a row that failed; 0 while all is well.",
		failed_of},
};

/* By their labels. */
static int compare_series(const void *left, const void *right)
{
	const struct stream_figures *a = left, *b = right;
	int order = strcmp(a->group, b->group);

	order = order ? order : strcmp(a->resource, b->resource);
	return order ? order : strcmp(a->namespace, b->namespace);
}

static void add_figures(struct stream_figures *to, const struct stream_figures *f)
{
	to->events += f->events;
	to->bytes += f->bytes;
	to->objects += f->objects;
	to->gaps += f->gaps;
	to->watched |= f->watched;
	to->failed_attempts += f->failed_attempts;
}

/* A series for each resource and namespace, whatever versions of it were followed; the caller frees. */
static struct stream_figures *list_series(const struct recorder *r, size_t *ret_count)
{
	struct stream_figures *series = xcalloc(r->stream_count + 1, sizeof(*series));
	size_t count = 0;

	for (size_t i = 0; i < r->stream_count; i++) {
		series[i] = stream_figures(r->streams[i]);
		if (series[i].gone)
			series[i].failed_attempts = 0;
	}
	qsort(series, r->stream_count, sizeof(*series), compare_series);
	for (size_t i = 0; i < r->stream_count; i++) {
		if (count && compare_series(&series[count - 1], &series[i]) == 0)
			add_figures(&series[count - 1], &series[i]);
		else
			series[count++] = series[i];
	}
	*ret_count = count;
	return series;
}

static void put_streams(const struct recorder *r, struct buf *to)
{
	size_t count;
	struct stream_figures *series = list_series(r, &count);

	for (size_t c = 0; c < COUNT_OF(columns); c++) {
		head(to, columns[c].name, columns[c].type, columns[c].help);
		for (size_t i = 0; i < count; i++) {
			const struct stream_figures *f = &series[i];

			say(to, "%s{resource=\"%s%s%s\",namespace=\"%s\"} %ju\n", columns[c].name,
				f->resource, *f->group ? "." : "", f->group, f->namespace,
				(uintmax_t)columns[c].of(f));
		}
	}
	free(series);
}

static void put_silence(const struct recorder *r, struct buf *to)
{
	int64_t now = clock_mono_ns(r->x.clock), longest = 0;
	size_t followed = 0, watched = 0;

	for (size_t i = 0; i < r->stream_count; i++) {
		const struct stream_figures f = stream_figures(r->streams[i]);

		followed += !f.gone;
		watched += f.watched;
		if (f.watched && now - f.last_byte_mono_ns > longest)
			longest = now - f.last_byte_mono_ns;
	}
	gauge(to, "kubetape_streams", "Things followed that the server has.", (double)followed);
	gauge(to, "kubetape_watches", "Streams that are watched right now.", (double)watched);
	gauge(to, "kubetape_longest_silence_seconds",
		"Time since the last byte of the watch that is silent longest.", (double)longest / 1e9);
}

/* ---- the tape ---- */

static void put_flushes(const struct flusher_figures *f, struct buf *to)
{
	uint64_t sum = 0;

	head(to, "kubetape_flush_seconds", "histogram", "Time to make the tape durable.");
	for (size_t i = 0; i < FLUSH_BUCKETS; i++) {
		sum += f->buckets[i];
		say(to, "kubetape_flush_seconds_bucket{le=\"%g\"} %ju\n", (double)flush_bucket_ns[i] / 1e9,
			(uintmax_t)sum);
	}
	say(to,
		"kubetape_flush_seconds_bucket{le=\"+Inf\"} %ju\nkubetape_flush_seconds_sum %.9f\n"
		"kubetape_flush_seconds_count %ju\n",
		(uintmax_t)f->flushes, (double)f->flush_ns / 1e9, (uintmax_t)f->flushes);
	counter(to, "kubetape_flush_failures_total", "Flushes that failed and were tried again.",
		f->failures);
}

static void put_tape(const struct flusher_figures *f, struct buf *to)
{
	gauge(to, "kubetape_tape_bytes", "What the tape takes on disk.", (double)f->tape.disk_bytes);
	gauge(to, "kubetape_tape_writable", "0 while the disk takes nothing, so that events wait in memory.",
		!f->failing);
	gauge(to, "kubetape_last_sequence", "Number of the last event that is durable.",
		(double)f->tape.durable_seq);
	gauge(to, "kubetape_pending_bytes", "Appended and not yet durable.", (double)f->pending_bytes);
	gauge(to, "kubetape_backlog_bytes", "Taken off the sockets and not yet appended.",
		(double)f->backlog_bytes);
	counter(to, "kubetape_held_total", "Times that the sockets had to wait for the disk.", f->holds);
	counter(to, "kubetape_removed_segments_total", "Segments removed to keep the tape within its limits.",
		f->tape.removed_segments);
}

static void put_push(const struct recorder *r, struct buf *to)
{
	struct pusher_figures f;
	int64_t since;

	if (!r->pusher)
		return;
	f = pusher_figures(r->pusher);
	since = f.push.oldest_waiting_ns;
	counter(to, "kubetape_pushed_segments_total", "Segments written to the store.", f.push.segments);
	counter(to, "kubetape_pushed_bytes_total", "Their bytes.", f.push.bytes);
	gauge(to, "kubetape_push_waiting_segments", "Sealed segments that the store does not have.",
		(double)f.push.waiting_segments);
	gauge(to, "kubetape_push_lag_seconds", "For how long the oldest of them has been sealed.",
		since ? (double)time_sub(clock_wall_ns(r->x.clock), since) / 1e9 : 0);
	gauge(to, "kubetape_push_failing", "1 while the store takes nothing.", f.failing);
	gauge(to, "kubetape_push_lost_segments", "Segments that neither the store nor this machine has.",
		(double)(f.push.lost_segments + f.push.missing_segments));
}

static void put_process(const struct recorder *r, struct buf *to)
{
	struct rusage used;
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	gauge(to, "process_resident_memory_bytes", "Resident memory.",
		(double)pages * (double)sysconf(_SC_PAGESIZE));
	if (getrusage(RUSAGE_SELF, &used) == 0)
		put_number(to, "process_cpu_seconds_total", "counter", "CPU time, of user and system.",
			(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	gauge(to, "kubetape_recording_seconds", "Age of this recorder.",
		(double)(clock_mono_ns(r->x.clock) - r->begin_mono_ns) / 1e9);
}

static void put_metrics(const struct recorder *r, struct buf *to)
{
	const struct recorder_counters *c = &r->x.counters;
	const struct flusher_figures figures = flusher_figures(r->x.flusher);

	head(to, "kubetape_build_info", "gauge", "1, with the version as label.");
	say(to, "kubetape_build_info{version=\"%s\"} 1\n", KUBETAPE_VERSION);
	put_streams(r, to);
	put_silence(r, to);
	counter(to, "kubetape_reconnects_total", "Watches that ended after they had stood.", c->reconnects);
	counter(to, "kubetape_missed_changes_total", "Changes that only a relist showed.", c->hidden);
	counter(to, "kubetape_repeats_total", "Events delivered again and not recorded twice.", c->repeats);
	put_flushes(&figures, to);
	put_tape(&figures, to);
	put_push(r, to);
	put_process(r, to);
}

/* ---- the answers ---- */

static int answer_ready(const struct recorder *r, struct buf *to)
{
	const struct flusher_figures figures = flusher_figures(r->x.flusher);

	if (figures.failing) {
		say(to, "the tape cannot be written\n");
		return 503;
	}
	if (r->state != RECORDER_RECORDING) {
		say(to, "%zu of %zu first lists are on the tape\n", r->settled, r->stream_count);
		return 503;
	}
	say(to, "ok\n");
	return 200;
}

static int recorder_metrics_answer(void *context, struct slice path, struct buf *to)
{
	const struct recorder *r = context;

	if (slice_is(path, "/healthz")) {
		say(to, "ok\n");
		return 200;
	}
	if (slice_is(path, "/readyz"))
		return answer_ready(r, to);
	if (!slice_is(path, "/metrics"))
		return 404;
	put_metrics(r, to);
	return 200;
}

int recorder_serve_metrics(struct recorder *r, struct err *err)
{
	int rc;

	if (!r->o->metrics)
		return 0;
	rc = metrics_server_open(&r->loop, r->o->metrics, recorder_metrics_answer, r, &r->metrics, err);
	if (rc)
		return rc;
	log_info("metrics at http://%s/metrics", metrics_server_address(r->metrics));
	return 0;
}
