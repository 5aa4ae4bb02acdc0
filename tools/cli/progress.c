/* progress.c: see progress.h. */
#include "tools/cli/progress.h"

#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"

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
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

void progress_catch_interrupt(struct sigaction *ret_before)
{
	struct sigaction action = {.sa_handler = note_signal};

	stop_asked = 0;
	sigaction(SIGINT, &action, ret_before);
}

void progress_release_interrupt(const struct sigaction *before)
{
	sigaction(SIGINT, before, NULL);
}

bool progress_stop_asked(void)
{
	return stop_asked;
}

void progress_begin(struct progress *p, const char *verb)
{
	*p = (struct progress){
		.verb = verb, .shown = isatty(STDERR_FILENO), .begin_ns = clock_mono_ns(&clock_system)};
}

/* "verifying  45 %  12.3 MB/s  3.4s left"; without a total, "importing  12.3 MB  3.4 MB/s". */
static void print_line(const struct progress *p, uint64_t done, uint64_t total, int64_t passed_ns)
{
	double rate = (double)done / ((double)passed_ns / 1e9);
	char rate_text[BYTES_TEXT_BYTES], left[TIME_TEXT_BYTES], done_text[BYTES_TEXT_BYTES];
	uint64_t rest = total > done ? total - done : 0;

	if (total)
		fprintf(stderr, "\r%s %3.0f %%", p->verb, (double)(total - rest) * 100 / (double)total);
	else
		fprintf(stderr, "\r%s  %s", p->verb, bytes_format(done_text, done));
	if (passed_ns >= RATE_AFTER_NS && done)
		fprintf(stderr, "  %s/s", bytes_format(rate_text, (uint64_t)rate));
	if (passed_ns >= RATE_AFTER_NS && done && total)
		fprintf(stderr, "  %s left", duration_format(left, (int64_t)((double)rest / rate * 1e9)));
	fputs("\033[K", stderr);
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
