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

void status_draw(struct status *s, const struct recorder_context *x, size_t streams, size_t watched)
{
	const struct recorder_counters *c = &x->counters;
	int64_t now = clock_mono_ns(x->clock), span = now - s->last_mono_ns;
	char raw[BYTES_TEXT_BYTES], disk[BYTES_TEXT_BYTES], line[256];
	struct tape_writer_stats stats;

	if (!s->on_terminal)
		return;
	tape_writer_stats(flusher_tape(x->flusher), &stats);
	snprintf(line, sizeof(line), "%zu of %zu streams  %ju events  %.0f/s  %s in, %s on disk  %ju gaps",
		watched, streams, (uintmax_t)c->events,
		s->last_mono_ns && span > 0 ? (double)(c->events - s->last_events) * 1e9 / (double)span : 0.0,
		bytes_format(raw, c->bytes), bytes_format(disk, stats.disk_bytes), (uintmax_t)c->gaps);
	log_show_status(line);
	s->last_mono_ns = now;
	s->last_events = c->events;
}
