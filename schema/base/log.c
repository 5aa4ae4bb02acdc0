/* log.c: see log.h. */
#include "schema/base/log.h"

#include "schema/base/clock.h"
#include "schema/base/visible.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define LINE_BYTES 2048

static enum log_level max_level = LOG_LEVEL_INFO;
/* Threads write lines, and one of them shows what it is at. */
static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER;
static bool status_shown;

void log_set_level(enum log_level level)
{
	max_level = level;
}

/* Under the lock, as all that writes there is. */
static void take_status_away(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

void log_show_status(const char *text)
{
	pthread_mutex_lock(&stderr_lock);
	take_status_away();
	fputs(text, stderr);
	fflush(stderr);
	status_shown = true;
	pthread_mutex_unlock(&stderr_lock);
}

void log_clear_status(void)
{
	pthread_mutex_lock(&stderr_lock);
	take_status_away();
	fflush(stderr);
	pthread_mutex_unlock(&stderr_lock);
}

static void blank_controls(char *line)
{
	for (; *line; line++) {
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = ' ';
	}
}

/* Peers' words may hold anything: a line stays one line, and a terminal gets no orders. */
void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARN] = "warn",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};
	char when[TIME_TEXT_BYTES], line[LINE_BYTES];
	struct buf shown;
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	blank_controls(line);
	buf_init(&shown, LINE_BYTES * VISIBLE_GROWTH);
	(void)!visible_append(&shown, slice_of(line), NULL); /* it fits */
	time_format(when, clock_wall_ns(&clock_system));
	pthread_mutex_lock(&stderr_lock);
	take_status_away();
	fprintf(stderr, "%.23sZ %s %.*s\n", when, names[level], (int)shown.len, shown.ptr ? shown.ptr : "");
	pthread_mutex_unlock(&stderr_lock);
	buf_release(&shown);
}
