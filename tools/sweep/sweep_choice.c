/* sweep_choice.c: which faults are tried: the places, and the words for each. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"
#include "tools/sweep/sweep_rows.h"

#include "schema/base/clock.h"

#include <stdlib.h>

#define VIEW_NS        (2 * NS_PER_S) /* that a view stands still, beside the time to start */
#define WAIT_NS        NS_PER_S       /* that a watch waits */
#define STARTS_IN_VIEW 4
#define GAP_WORDS      "end,compact"
#define DOWN_WORDS     "restart"
#define LATE_WORDS     "end,wait,requests=watch"
#define EVENTS_WORDS   "echo=4ev"

/* What a program wrote before it went down must be there afterwards. */
static bool keeps_writes(const struct sweep *s, const struct sweep_position *p)
{
	return p->kind == SWEEP_DOWNTIME ? s->laid_over.known : s->all_laid_over;
}

static int find_unobserved(struct sweep *s, struct err *err)
{
	const struct sweep_slot first = {.number = 1, .laid_over = s->all_laid_over};
	struct sql_session *session = NULL;
	int rc = sweep_run_session(&s->runs, &first, &session, err);

	s->search.creations_while_down = s->patterns >> SWEEP_RESTART & 1;
	if (rc == 0)
		rc = sweep_positions_find(session, &s->search, &s->positions, err);
	for (size_t i = 0; i < s->positions.count; i++)
		s->positions.items[i].laid_over = keeps_writes(s, &s->positions.items[i]);
	sql_session_close(session);
	return rc;
}

/* A program must have started again while the view stands still, or has done nothing for that long before its watch may open:
 * some clients wait only ten seconds for that. */
static void set_lengths(struct sweep *s)
{
	for (size_t i = 0; i < s->positions.count; i++) {
		struct sweep_position *p = &s->positions.items[i];

		if (p->pattern == SWEEP_STALE)
			p->for_ns = VIEW_NS + STARTS_IN_VIEW * s->runs.start_ns;
		else if (p->pattern == SWEEP_RESTART && sweep_is_resumption(p))
			p->for_ns = WAIT_NS + s->runs.start_ns * 3 / 2;
	}
}

static bool can_be_paced(const struct sweep *s)
{
	return s->paced.number || s->runs.options.lockstep_ns;
}

static int find_others(struct sweep *s, struct err *err)
{
	struct sweep_slot of = s->paced;
	struct sql_session *session = NULL;
	int rc;

	if (!of.number)
		of = (struct sweep_slot){.number = 1, .laid_over = s->laid_over.known};
	rc = sweep_run_session(&s->runs, &of, &session, err);
	if (rc == 0 && can_be_paced(s))
		rc = sweep_tell_of_sleep(session, err);
	if (rc == 0)
		rc = sweep_patterns_find(session, s->patterns, s->search.kinds[SWEEP_OWN], s->laid_over.known,
			&s->positions, err);
	if (rc == 0 && can_be_paced(s) && sweep_looks_at_writes(&s->search))
		rc = sweep_at_writes_find(session, &s->search, s->laid_over.known, &s->positions, err);
	set_lengths(s);
	sql_session_close(session);
	return rc;
}

/* Fault files that the user gives are the only places. */
static void take_given(struct sweep *s)
{
	size_t count = s->v->faults.count;
	int pattern = s->v->patterns ? __builtin_ctz(s->patterns) : SWEEP_UNOBSERVED;

	s->positions.items = xcalloc(count, sizeof(*s->positions.items));
	s->positions.count = s->found = count;
	for (size_t i = 0; i < count; i++)
		s->positions.items[i] = (struct sweep_position){.pattern = (enum sweep_pattern)pattern,
			.kind = SWEEP_GIVEN,
			.resource = xstrdup(""),
			.object = xstrdup(s->v->faults.items[i]),
			.laid_over = s->all_laid_over,
			.reached = true};
}

int sweep_find_positions(struct sweep *s, struct err *err)
{
	int rc;

	if (s->v->faults.count) {
		take_given(s);
		return 0;
	}
	rc = find_unobserved(s, err);
	if (rc == 0)
		rc = sweep_find_causes(s, err);
	if (rc == 0 && !s->stopped &&
		(s->patterns & ~(1u << SWEEP_UNOBSERVED) || sweep_looks_at_writes(&s->search)))
		rc = find_others(s, err);
	if (!(s->patterns >> SWEEP_UNOBSERVED & 1))
		sweep_positions_leave_out(&s->positions, SWEEP_UNOBSERVED);
	sweep_positions_order(&s->positions);
	s->found = sweep_positions_thin(&s->positions, (size_t)s->v->max);
	return rc;
}

/* NULL after the last, however far. */
static const char *word_at(const char *const *words, size_t index)
{
	while (*words && index) {
		words++;
		index--;
	}
	return *words;
}

static const char *words_of_write(const char *write, bool all, size_t index)
{
	static const char *const conflicts[] = {"write_error=409", "write_error=504,after",
		"write_reset,after", "write_reset", "write_error=500", "write_error=429", NULL};
	static const char *const done[] = {"write_error=504,after", "write_reset,after", NULL};
	bool conflict = strncmp(write, "update", 6) == 0 || strncmp(write, "patch", 5) == 0;

	if (!all)
		return word_at(done, index);
	return word_at(conflict ? conflicts : conflicts + 1, index);
}

/* The words that are tried at a place of that pattern, the most telling first; NULL after the last. The user
 * chooses those of SWEEP_UNOBSERVED. `write` is that of the place. `all`: also those that a program does not
 * survive without retries, or without checking for leftovers when it starts. */
static const char *words_of_pattern(enum sweep_pattern pattern, const char *write, bool all, size_t index)
{
	static const char *const after[] = {"restart,after", NULL};
	static const char *const both[] = {"restart,after", "restart", NULL};
	static const char *const coalesced[] = {"burst", NULL};
	static const char *const echo[] = {SWEEP_ECHO_WORDS, NULL};
	static const char *const slow[] = {"slow=3s", NULL};

	switch (pattern) {
	case SWEEP_RESTART: return word_at(all ? both : after, index);
	case SWEEP_STALE: return word_at(after, index);
	case SWEEP_WRITES: return words_of_write(write, all, index);
	case SWEEP_COALESCED: return word_at(coalesced, index);
	case SWEEP_ECHO: return word_at(echo, index);
	case SWEEP_SLOW: return word_at(slow, index);
	case SWEEP_UNOBSERVED:
	case SWEEP_PATTERNS: break;
	}
	return NULL;
}

static const char *words_of(const struct sweep *s, const struct sweep_position *p, size_t index)
{
	static const char *const resumed[] = {SWEEP_END_WORDS, SWEEP_BREAK_WORDS, NULL};
	static const char *const late[] = {LATE_WORDS, NULL};

	if (p->kind == SWEEP_GIVEN)
		return index ? NULL : "as given";
	if (p->kind == SWEEP_DOWNTIME)
		return index ? NULL : DOWN_WORDS;
	if (sweep_is_late_answer(p))
		return index ? NULL : SWEEP_LATE_WORDS;
	if (sweep_is_late_by_events(p))
		return index || !can_be_paced(s) ? NULL : EVENTS_WORDS;
	if (sweep_is_resumption(p))
		return word_at(p->pattern == SWEEP_RESTART ? late : resumed, index);
	if (p->pattern != SWEEP_UNOBSERVED)
		return words_of_pattern(p->pattern, p->write, s->v->patterns != NULL, index);
	if (!s->v->gaps.count)
		return index ? NULL : GAP_WORDS;
	return index < s->v->gaps.count ? s->v->gaps.items[index] : NULL;
}

static void add_try(struct sweep *s, const struct sweep_position *p, const char *words)
{
	struct sweep_try *try;
	struct sweep_slot slot = {0};

	s->tries = xrealloc(s->tries, (s->try_count + 1) * sizeof(*s->tries));
	try = &s->tries[s->try_count++];
	*try = (struct sweep_try){.position = p,
		.words = words,
		.number = s->try_count,
		.verdict = p->reached ? SWEEP_UNTRIED : SWEEP_NOT_REACHED};
	slot.of = try;
	try->faults =
		p->kind == SWEEP_GIVEN ? xstrdup(p->object) : sweep_run_file(&s->runs, &slot, "faults.json");
}

/* False: there are no such words, or there is no room. */
static bool add_words(struct sweep *s, const struct sweep_position *p, size_t k)
{
	const char *words = k == 0 || p->reached ? words_of(s, p, k) : NULL;
	bool room = !s->v->max || p->pattern == SWEEP_UNOBSERVED || s->try_count < (size_t)s->v->max;

	if (words && room)
		add_try(s, p, words);
	return words && room;
}

/* Of each kind of write the first one is tried with all errors before any other is. */
static bool comes_whole(const struct sweep *s, const struct sweep_position *p)
{
	return s->v->patterns && p->pattern == SWEEP_WRITES && p->turn == 0;
}

/* The first words of all places come before the second ones of any; of those that come whole, or of the others. */
static void add_tries(struct sweep *s, bool whole)
{
	bool more = true;

	for (size_t k = 0; more; k++) {
		more = false;
		for (size_t i = 0; i < s->positions.count; i++) {
			const struct sweep_position *p = &s->positions.items[i];

			if (comes_whole(s, p) == whole)
				more |= add_words(s, p, k);
		}
	}
}

void sweep_make_tries(struct sweep *s)
{
	add_tries(s, true);
	add_tries(s, false);
}
