/* log.c: see log.h. */
#include "schema/base/log.h"

#include "schema/base/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static enum log_level max_level = LOG_LEVEL_INFO;
static bool status_shown;

void log_set_level(enum log_level level)
{
	max_level = level;
}

static void take_status_away(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

void log_show_status(const char *text)
{
	take_status_away();
	fputs(text, stderr);
	fflush(stderr);
	status_shown = true;
}

void log_clear_status(void)
{
	take_status_away();
	fflush(stderr);
}

/* Peers' words may hold anything: a line stays one line, and a terminal gets no orders. */
static void make_harmless(char *line)
{
	for (; *line; line++) {
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = ' ';
	}
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	char when[TIME_TEXT_BYTES], line[2048];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	make_harmless(line);
	take_status_away();
	time_format(when, clock_wall_ns(&clock_system));
	fprintf(stderr, "%.23sZ %s %s\n", when, names[level], line);
}
