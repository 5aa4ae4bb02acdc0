/* status.c: see status.h. */
#include "recorder/status.h"

#include "schema/base/log.h"

#include <stdio.h>
#include <unistd.h>

/* Log lines are written by others; the line on the terminal must make room for them. */
static bool is_drawn;

static void make_room(void)
{
	if (is_drawn)
		fputs("\r\033[K", stderr);
	is_drawn = false;
}

void status_init(struct status *s)
{
	*s = (struct status){.on_terminal = isatty(STDERR_FILENO) == 1};
	log_set_before(make_room);
}

const char *status_bytes(char to[BYTES_TEXT], uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(to, BYTES_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return to;
}

void status_draw(struct status *s, const struct recorder_context *x, size_t streams, size_t watched)
{
	const struct recorder_counters *c = &x->counters;
	int64_t now = clock_mono_ns(x->clock), span = now - s->last_mono_ns;
	char raw[BYTES_TEXT], disk[BYTES_TEXT];
	struct tape_writer_stats stats;

	if (!s->on_terminal)
		return;
	tape_writer_stats(flusher_tape(x->flusher), &stats);
	make_room();
	fprintf(stderr, "%zu of %zu streams  %ju events  %.0f/s  %s in, %s on disk  %ju gaps", watched,
		streams, (uintmax_t)c->events,
		s->last_mono_ns && span > 0 ? (double)(c->events - s->last_events) * 1e9 / (double)span : 0.0,
		status_bytes(raw, c->bytes), status_bytes(disk, stats.disk_bytes), (uintmax_t)c->gaps);
	fflush(stderr);
	is_drawn = true;
	s->last_mono_ns = now;
	s->last_events = c->events;
}

void status_clear(void)
{
	make_room();
	fflush(stderr);
}
