/*
 * sweep_narrow.c: the smallest fault of a finding; see sweep_course.h. Of the events that a gap hides half are left
 * visible, then the other half, then the first or the last, for as long as the program goes wrong in the same way.
 */
#include "schema/base/limits.h"
#include "tools/sweep/sweep_course.h"

#include <stdlib.h>
#include <unistd.h>

#define CAUSES_MAX 4
#define RUNS_MAX   12 /* of one cause */

/* The events that a finding's gap hides, and which of them it has to hide. */
struct narrowing {
	struct sweep *sweep;
	struct sweep_try *of;
	struct sweep_position position; /* what is tried; its texts are those of the finding's */
	const char *key;                /* how it goes wrong */
	uint64_t *seqs;
	size_t count, first, last, runs;
};

static int on_seq(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct narrowing *n = context;

	(void)count;
	(void)err;
	n->seqs = xrealloc(n->seqs, (n->count + 1) * sizeof(*n->seqs));
	n->seqs[n->count++] = (uint64_t)v[0].integer;
	return 0;
}

static int load_seqs(struct narrowing *n, struct err *err)
{
	const struct sweep_position *p = n->of->position;
	const struct sql_sink sink = {.row = on_seq, .context = n};
	struct sql_session *session = NULL;
	char *sql = xasprintf("SELECT seq FROM events WHERE seq BETWEEN %llu AND %llu"
			      " AND type IN ('ADDED', 'MODIFIED', 'DELETED')"
			      " AND resource || iif(apigroup = '', '', '.' || apigroup) = '%s' ORDER BY seq",
		(unsigned long long)p->seq, (unsigned long long)p->last_seq, p->resource);
	int rc = sql_session_open(n->sweep->runs.options.tape, &session, err);

	if (rc == 0)
		rc = sql_session_run(session, slice_of(sql), &sink, err);
	sql_session_close(session);
	free(sql);
	return rc;
}

/* Whether the gap's words are about a number of events that can be smaller. */
static bool can_be_narrowed(const struct sweep_position *p)
{
	bool by_place = p->kind == SWEEP_STRETCH || p->kind == SWEEP_TERMINATION ||
			p->kind == SWEEP_RECREATION || p->kind == SWEEP_REPLACEMENT ||
			p->kind == SWEEP_SELECTION;

	return by_place && p->hidden > 1 && !sweep_is_resumption(p);
}

/* Runs with those events hidden, and nothing else. */
static int try_window(struct narrowing *n, size_t first, size_t last, bool *ret_wrong, struct err *err)
{
	struct sweep *s = n->sweep;
	struct sweep_try candidate = *n->of;
	struct sweep_slot *slot = &s->runs.slot[0];
	struct sweep_answer answer;
	char *faults, *differences = NULL;
	int at, rc;

	n->position.seq = n->seqs[first];
	n->position.last_seq = n->seqs[last];
	n->position.hidden = last - first + 1;
	n->position.for_ns = 0; /* of a stretch: not what the others do as well */
	n->position.until_seq = 0;
	candidate.position = &n->position;
	*slot = (struct sweep_slot){
		.of = &candidate, .stage = SWEEP_NARROW, .laid_over = n->position.laid_over};
	faults = sweep_slot_faults(&s->runs, slot);
	*ret_wrong = false;
	n->runs++;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rmaking a fault smaller: run %zu of at most %d\033[K", n->runs,
			RUNS_MAX + 1);
	rc = sweep_fault_write(&n->position, candidate.words, faults, err);
	if (rc == 0)
		rc = sweep_run_start(&s->runs, 0, err);
	at = rc == 0 ? sweep_jobs_wait(s->runs.job, 1, NULL) : -1;
	if (rc == 0 && at < 0)
		sweep_stop(s);
	else if (rc == 0)
		rc = sweep_try_read(s, 0, &answer, err);
	if (rc == 0 && at >= 0) {
		differences = sweep_differences(s, slot, &answer);
		candidate.differences = differences;
		*ret_wrong = answer.hits && differences && sweep_is_cause(&candidate, n->key);
		sweep_answer_release(&answer);
	}
	sweep_run_remove(&s->runs, slot);
	unlink(faults);
	free(differences);
	free(faults);
	return rc;
}

static bool is_over(const struct narrowing *n)
{
	return n->sweep->stopped || n->runs >= RUNS_MAX || !sweep_budget_allows(n->sweep, 0);
}

/* One step: the first smaller window in which it goes wrong as well. False in *ret when there is none. */
static int narrow_once(struct narrowing *n, bool *ret, struct err *err)
{
	size_t first = n->first, last = n->last, middle = first + (last - first) / 2;
	const size_t windows[][2] = {
		{first, middle}, {middle + 1, last}, {first + 1, last}, {first, last - 1}};
	size_t count = last - first > 1 ? 4 : 2;
	int rc = 0;

	*ret = false;
	for (size_t i = 0; i < count && rc == 0 && !*ret && !is_over(n); i++) {
		rc = try_window(n, windows[i][0], windows[i][1], ret, err);
		if (rc == 0 && *ret) {
			n->first = windows[i][0];
			n->last = windows[i][1];
		}
	}
	return rc;
}

/* What went wrong once in each step has to do so once more. */
static int keep(struct narrowing *n, struct err *err)
{
	struct sweep_try *t = n->of;
	bool wrong = false;
	int rc = try_window(n, n->first, n->last, &wrong, err);

	if (rc || !wrong)
		return rc;
	t->narrowed = xmalloc(sizeof(*t->narrowed));
	*t->narrowed = n->position;
	t->narrowed_from = t->position;
	t->position = t->narrowed;
	return sweep_fault_write(t->position, t->words, t->faults, err);
}

static int narrow(struct narrowing *n, struct err *err)
{
	bool smaller = true;
	int rc = load_seqs(n, err);

	if (rc || n->count != n->of->position->hidden)
		return rc;
	n->last = n->count - 1;
	n->position = *n->of->position;
	while (rc == 0 && smaller && n->last > n->first && !is_over(n))
		rc = narrow_once(n, &smaller, err);
	if (rc == 0 && n->last - n->first + 1 < n->count && !n->sweep->stopped)
		rc = keep(n, err);
	return rc;
}

int sweep_narrow(struct sweep *s, struct err *err)
{
	const struct sweep_report r = {.tries = s->tries, .count = s->try_count};
	struct sweep_causes causes;
	int rc = 0;

	sweep_causes_find(&r, SWEEP_WRONG, &causes);
	for (size_t i = 0; i < causes.count && i < CAUSES_MAX && rc == 0 && !s->stopped; i++) {
		struct narrowing n = {.sweep = s,
			.of = &s->tries[causes.items[i].example - s->tries],
			.key = causes.items[i].key};

		if (can_be_narrowed(n.of->position))
			rc = narrow(&n, err);
		free(n.seqs);
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	sweep_causes_release(&causes);
	return rc;
}
