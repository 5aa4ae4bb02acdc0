/* last_push.c: see last_push.h. */
#include "recorder/last_push.h"

#include "schema/base/clock.h"
#include "schema/base/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>

#define AWAY_LIMIT_NS (15 * NS_PER_S) /* systems that end a pod give it 30 s */
#define QUIET_NS      (NS_PER_S)      /* a push that is done by then is not worth a line */

static atomic_bool stop_asked; /* written by the handler, on any thread, and read by the pusher's */

static void note_signal(int number)
{
	(void)number;
	stop_asked = true;
}

static bool is_stop_asked(void)
{
	return stop_asked;
}

/* A third signal kills. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};

	stop_asked = false;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void tell_wait(const struct pusher_limits *limits)
{
	char most[TIME_TEXT_BYTES], away[TIME_TEXT_BYTES];

	log_info(
		"the tape is closed; pushing what the store lacks of it, for %s at most, or %s if it does not answer; "
		"another signal ends this at once",
		duration_format(most, limits->push_ns), duration_format(away, limits->away_ns));
}

/* What this machine does not have either. */
static bool lacks_lost(const struct push_figures *f)
{
	uint64_t lost = f->lost_segments + f->missing_segments;

	if (lost)
		log_warn("the store lacks %" PRIu64 " segments of the tape that are not here any more", lost);
	return lost;
}

bool last_push(struct pusher *p, int64_t limit_ns)
{
	const struct pusher_limits limits = {
		limit_ns, limit_ns < AWAY_LIMIT_NS ? limit_ns : AWAY_LIMIT_NS, is_stop_asked};
	struct pusher_figures f;
	struct err err;

	catch_signals();
	pusher_end(p, &limits);
	if (!pusher_wait(p, QUIET_NS))
		tell_wait(&limits);
	if (pusher_finish(p, &f, &err) == 0) {
		log_info("the store has %" PRIu64 " segments of the tape", f.push.stored_segments);
		return !lacks_lost(&f.push);
	}
	log_warn("the store lacks segments of the tape, 'kubetape push' goes on with them: %s", err.text);
	return false;
}
