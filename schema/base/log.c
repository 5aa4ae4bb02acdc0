/* log.c: see log.h. */
#include "schema/base/log.h"

#include "schema/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level max_level = LOG_LEVEL_INFO;
static void (*before_line)(void);

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_set_before(void (*before)(void))
{
	before_line = before;
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
	if (before_line)
		before_line();
	time_format(when, clock_wall_ns(&clock_system));
	fprintf(stderr, "%.23sZ %s %s\n", when, names[level], line);
}
