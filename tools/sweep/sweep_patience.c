/*
 * sweep_patience.c: for how long the command is to be quiet at the end of what is tried again, and whether it does more
 * without faults than --settle has shown. What goes wrong is tried again with a longer time of quiet; a command that
 * pauses for longer than --settle has then done more for that reason alone:
 *
 *   events of the tape   |.......|
 *   what it writes        | | |         | |     (5 s later: say, it has waited for its own write, which was absorbed)
 *   quiet, --settle 2s           |---|
 *   quiet, tried again           |------|- ...
 *
 * So such a try begins after a run without faults that is to be quiet for longer than that, and runs beside it; others go on. If
 * that run comes to something else, all begins anew: with its writes overlaid if they were absorbed, as it may wait for them; else with a --settle longer
 * than its pauses. A shard only says so: all shards are to try the same.
 */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>
#include <unistd.h>

#define NUMBER 1000 /* of its run: none of the others comes that far */
#define PATIENCE_TIMES                                                                                       \
	2 /* as long as was asked for, where there is time for more tries, which ask for more */
#define TROUBLE_MAX_NS (30 * NS_PER_S) /* no try asks for more */
/* As long as --settle, unless that is more than the second: then the user knows what the program needs. */
#define RESTARTED_TIMES  3
#define RESTARTED_MAX_NS (6 * NS_PER_S)

/* A program that tries again after a pause, and after twice that pause if it fails, may pause once more for as long as
 * its trouble has lasted, from the fault's first strike on. If it still lacks a watch, it may pause for four times as long:
 * clients that list again double their pauses, and make each up to twice as long at random. */
static int64_t pauses_left(const struct sweep_ground *ground, const struct sweep_answer *answer)
{
	bool lacks_watch =
		answer->health.is_known && answer->health.watch_count < ground->answer.health.watch_count;

	return lacks_watch ? 4 : 1;
}

bool sweep_was_quiet_enough(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *slot, const struct sweep_answer *answer)
{
	int64_t settle_ns = sweep_slot_settle(&s->runs, slot);

	return answer->end != SWEEP_QUIET || settle_ns >= TROUBLE_MAX_NS ||
	       pauses_left(ground, answer) * (answer->trouble_ns - settle_ns) <= settle_ns;
}

/* "2 deletions of pods (...)": what it did too often no time undoes. */
static bool tells_counts(const char *differences)
{
	bool tells = false;

	for (const char *line = differences; line && !tells; line = strchr(line, '\n')) {
		line += *line == '\n';
		tells = *line >= '0' && *line <= '9';
	}
	return tells;
}

/* A program that waits for a while before it acts, as of a grace, and starts again, waits with nothing beside that: its pauses may
 * be longer than any without the fault. */
static int64_t pause_of_restarted(const struct sweep *s, const struct sweep_try *try)
{
	enum sweep_pattern pattern = try->position->pattern;
	bool is_killed = pattern == SWEEP_RESTART || pattern == SWEEP_STALE;
	int64_t ns = RESTARTED_TIMES * s->runs.options.settle_ns;

	return is_killed && ns <= RESTARTED_MAX_NS ? ns : 0;
}

void sweep_choose_settle(const struct sweep *s, const struct sweep_ground *ground, struct sweep_try *try,
	const struct sweep_answer *answer, const char *news)
{
	int64_t least = news && !tells_counts(news) ? pause_of_restarted(s, try) : 0;
	int64_t ns = pauses_left(ground, answer) * answer->trouble_ns;

	ns = ns > least ? ns : least;
	ns = ns < TROUBLE_MAX_NS ? ns : TROUBLE_MAX_NS;
	if (answer->end == SWEEP_QUIET && ns > sweep_try_settle(&s->runs, try))
		try->settle_ns = ns;
}

bool sweep_must_wait(const struct sweep *s, const struct sweep_try *try)
{
	return try->settle_ns > s->patient_ns[try->position->laid_over];
}

/* Half as long again as its longest pause, if that is less. */
static int64_t longer_settle(const struct sweep_answer *patient, int64_t settle_ns)
{
	int64_t ns = patient->pause_ns / 2 * 3;

	return ns < settle_ns ? ns : settle_ns;
}

static void tell(const struct sweep *s, const char *remedy, const struct buf *differences)
{
	fprintf(stderr,
		"kubetape sweep: without gaps, too, the command does more if it has more time of quiet: %.*s; %s %s\n",
		(int)strcspn(differences->ptr, "\n"), differences->ptr,
		s->shard.count ? "sweep it with" : "all begins anew with", remedy);
}

/* The tries so far are worth nothing. */
void sweep_begin_anew(struct sweep *s)
{
	for (size_t i = 0; i < s->try_count; i++) {
		sweep_run_remove(&s->runs, &(struct sweep_slot){.of = &s->tries[i]});
		if (s->tries[i].position->kind != SWEEP_GIVEN)
			unlink(s->tries[i].faults);
	}
	sweep_tries_release(s);
	sweep_positions_release(&s->positions);
	sweep_forget_answers(s);
	s->ended = 0;
	s->ran_ns = 0;
	s->patient_ns[0] = s->patient_ns[1] = 0;
}

static void take_longer(struct sweep *s, const struct sweep_slot *slot, const struct sweep_answer *patient,
	const struct buf *differences)
{
	bool will_keep = !slot->laid_over && !s->keeps_all && patient->absorbed && !s->v->tried.writes.count;
	int64_t settle_ns = longer_settle(patient, slot->settle_ns);
	char *remedy;

	/* Without a pause that is longer than --settle it differs by chance. Beginning anew for that might have no end. */
	if (!will_keep && settle_ns <= s->runs.options.settle_ns)
		return;
	remedy = will_keep ? xstrdup("'--write overlay', as it may wait for what it wrote")
			   : xasprintf("--settle %lldms", (long long)(settle_ns / NS_PER_MS));

	tell(s, remedy, differences);
	free(remedy);
	if (s->shard.count)
		return;
	if (will_keep)
		s->keeps_all = true;
	else
		s->runs.options.settle_ns = settle_ns;
	s->begins_anew = true;
}

int sweep_patience_begin(struct sweep *s, size_t at, const struct sweep_try *try, struct err *err)
{
	bool laid_over = try->position->laid_over;
	int64_t settle_ns = (sweep_budget_allows(s, 0) ? PATIENCE_TIMES : 1) * try->settle_ns;

	s->is_patient = true;
	s->patient_ns[laid_over] = settle_ns < TROUBLE_MAX_NS ? settle_ns : TROUBLE_MAX_NS;
	s->runs.slot[at] = (struct sweep_slot){
		.number = NUMBER, .laid_over = laid_over, .settle_ns = s->patient_ns[laid_over]};
	return sweep_run_start(&s->runs, at, err);
}

int sweep_patience_judge(struct sweep *s, size_t at, struct err *err)
{
	const struct sweep_slot *slot = &s->runs.slot[at];
	const struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	struct sweep_answer patient = {0};
	struct buf differences;
	int rc = sweep_run_read(&s->runs, at, &patient, err);
	/* A command that is never quiet for that time does not pause. */
	bool is_known = rc == 0 && patient.end == ground->answer.end;

	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	s->is_patient = false;
	if (is_known && sweep_compare(&ground->measure, &ground->answer, &patient, "the first", &differences))
		take_longer(s, slot, &patient, &differences);
	sweep_run_remove(&s->runs, slot);
	buf_release(&differences);
	sweep_answer_release(&patient);
	return rc;
}
