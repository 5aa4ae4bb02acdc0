/*
 * progress.h: the progress of a long command, with its rate and the time left, on one line of the terminal
 * that is rewritten. Prints nothing if stderr is not a terminal. It also handles the signals that end such a
 * command: after progress_catch_signals, SIGINT, SIGTERM and SIGHUP are only noted, and end a call that
 * waits; a second one kills.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *verb; /* "verifying" */
	bool shown;       /* stderr is a terminal */
	int64_t begin_ns, printed_ns;
};

void progress_begin(struct progress *p, const char *verb);

/* done of total bytes; a total of 0 is unknown. True if the user asked to stop. */
bool progress_step(struct progress *p, uint64_t done, uint64_t total);

/* Takes the line away, for others to print; the next step shows it again. */
void progress_clear(const struct progress *p);

void progress_catch_signals(void);

/* For one statement among many: SIGINT alone is noted, until it is released. */
void progress_catch_interrupt(struct sigaction *ret_before);
void progress_release_interrupt(const struct sigaction *before);

/* Whether one of the signals came. */
bool progress_stop_asked(void);

#endif
