/* progress.c: see progress.h. */
#include "tools/progress.h"

#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PRINT_EVERY_NS (200 * NS_PER_MS)
#define RATE_AFTER_NS  (500 * NS_PER_MS) /* before that it would jump about */

static volatile sig_atomic_t stop_asked;

static void note_signal(int number)
{
	(void)number;
	stop_asked = 1;
}

void progress_catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void progress_begin(struct progress *p, const char *verb)
{
	*p = (struct progress){
		.verb = verb, .shown = isatty(STDERR_FILENO), .begin_ns = clock_mono_ns(&clock_system)};
}

static void print_line(const struct progress *p, uint64_t done, uint64_t total, int64_t passed_ns)
{
	double rate = (double)done / ((double)passed_ns / 1e9);
	char rate_text[BYTES_TEXT_BYTES], left[TIME_TEXT_BYTES];
	unsigned percent =
		total ? (unsigned)((double)(done < total ? done : total) * 100 / (double)total) : 100;

	if (passed_ns < RATE_AFTER_NS || done == 0) {
		fprintf(stderr, "\r%s %3u %%\033[K", p->verb, percent);
		return;
	}
	fprintf(stderr, "\r%s %3u %%  %s/s  %s left\033[K", p->verb, percent,
		bytes_format(rate_text, (uint64_t)rate),
		duration_format(left, total > done ? (int64_t)((double)(total - done) / rate * 1e9) : 0));
}

bool progress_step(struct progress *p, uint64_t done, uint64_t total)
{
	int64_t now_ns;

	if (!p->shown)
		return stop_asked;
	now_ns = clock_mono_ns(&clock_system);
	if (now_ns - p->printed_ns >= PRINT_EVERY_NS) {
		print_line(p, done, total, now_ns - p->begin_ns);
		p->printed_ns = now_ns;
	}
	return stop_asked;
}

void progress_clear(const struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
