/* status.c: see status.h. */
#include "recorder/status.h"

#include "schema/base/bytes_format.h"
#include "schema/base/log.h"

#include <stdio.h>
#include <unistd.h>

void status_init(struct status *s)
{
	*s = (struct status){.on_terminal = isatty(STDERR_FILENO) == 1};
}

/* "  2 failing for 12m: http_429" */
static void draw_failing(const struct status_streams *streams, char *to, size_t size)
{
	char time[TIME_TEXT_BYTES];

	*to = 0;
	if (streams->failing)
		snprintf(to, size, "  %zu failing for %s: %s", streams->failing,
			duration_format(time, streams->failing_ns / NS_PER_S * NS_PER_S), streams->failure);
}

/* "  3 segments to push for 12m" */
static void draw_push(struct pusher *pusher, char *to, size_t size)
{
	struct pusher_figures f = {0};
	char time[TIME_TEXT_BYTES];

	*to = 0;
	if (pusher)
		f = pusher_figures(pusher);
	if (f.push.waiting_segments)
		snprintf(to, size, "  %ju segments to push for %s", (uintmax_t)f.push.waiting_segments,
			duration_format(
				time, time_sub(clock_wall_ns(&clock_system), f.push.oldest_waiting_ns) /
					      NS_PER_S * NS_PER_S));
}

void status_draw(struct status *s, const struct recorder_context *x, const struct status_streams *streams,
	struct pusher *pusher)
{
	const struct recorder_counters *c = &x->counters;
	int64_t now = clock_mono_ns(x->clock), span = now - s->last_mono_ns;
	char raw[BYTES_TEXT_BYTES], disk[BYTES_TEXT_BYTES], failing[128], push[80], line[340];
	struct tape_writer_stats stats;

	if (!s->on_terminal)
		return;
	draw_failing(streams, failing, sizeof(failing));
	draw_push(pusher, push, sizeof(push));
	tape_writer_stats(flusher_tape(x->flusher), &stats);
	snprintf(line, sizeof(line),
		"%zu of %zu streams  %ju events  %.0f/s  %s in, %s on disk  %ju gaps%s%s", streams->watched,
		streams->total, (uintmax_t)c->events,
		s->last_mono_ns && span > 0 ? (double)(c->events - s->last_events) * 1e9 / (double)span : 0.0,
		bytes_format(raw, c->bytes), bytes_format(disk, stats.disk_bytes), (uintmax_t)c->gaps,
		failing, push);
	log_show_status(line);
	s->last_mono_ns = now;
	s->last_events = c->events;
}
