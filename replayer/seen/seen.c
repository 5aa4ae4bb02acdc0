/* seen.c: see seen.h. The order of moments. */
#include "replayer/seen/seen_internal.h"

#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "schema/tape/reader.h"

#include <stdlib.h>

/* For how long a watch is waited for that the live client had opened; and any other read that it had made. */
#define HOLD_NS      (30 * NS_PER_S)
#define HOLD_READ_NS (5 * NS_PER_S)
/* A watch that lasted less than a second and brought nothing is a failure for client-go, which lists again where it would
 * have gone on; it counts from where a first state was complete. So a watch that was silent for longer before its end is so
 * here, by the wall clock, however fast the replay is; a little longer even, because the client begins to count later. */
#define SHORT_WATCH_NS NS_PER_S
#define LONG_WATCH_NS  (1100 * NS_PER_MS)

/* ---- loading ---- */

static int compare_moments(const void *a, const void *b)
{
	const struct seen_moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

/* The next read of that path that goes on from a version; NULL: there is none. */
static const struct told *next_of(const struct seen *s, size_t of)
{
	for (size_t i = of + 1; i < s->count; i++) {
		if (s->tolds[i].path == s->tolds[of].path && s->tolds[i].live->rv)
			return &s->tolds[i];
	}
	return NULL;
}

/* What was on its way to a client when its connection broke, the client may never have read: it says so by
 * the version that it went on from. */
static size_t frames_read(const struct seen *s, size_t of)
{
	const struct seen_request *r = s->tolds[of].live;
	const struct told *next = next_of(s, of);
	size_t n = r->frame_count;

	if ((r->end != SEEN_RESET && r->end != SEEN_RST_STREAM) || !next)
		return n;
	while (n && r->frames[n - 1].rv != next->live->rv)
		n--;
	return n || next->live->rv == r->rv ? n : r->frame_count;
}

/* Those of a watch never go back, whatever the clock of the machine did. */
static void add_moments(struct seen *s, uint32_t of)
{
	const struct seen_request *r = s->tolds[of].live;
	int64_t last_ns = r->time_ns;

	for (size_t i = 0; i < s->tolds[of].frames; i++) {
		last_ns = r->frames[i].out_ns > last_ns ? r->frames[i].out_ns : last_ns;
		s->moments[s->moment_count++] = (struct seen_moment){last_ns, of};
	}
	if (r->end != SEEN_OPEN)
		s->moments[s->moment_count++] =
			(struct seen_moment){r->end_ns > last_ns ? r->end_ns : last_ns, of};
}

static void make_moments(struct seen *s)
{
	size_t total = 0;

	for (size_t i = 0; i < s->count; i++) {
		s->tolds[i].frames = frames_read(s, i);
		total += s->tolds[i].frames + 1;
	}
	s->moments = xcalloc(total, sizeof(*s->moments));
	for (size_t i = 0; i < s->count; i++) {
		if (s->tolds[i].live->is_watch)
			add_moments(s, (uint32_t)i);
	}
	qsort(s->moments, s->moment_count, sizeof(*s->moments), compare_moments);
}

/* An answer that is not whole because the client left, or in the run, says nothing of what the server would
 * have said. */
static bool is_worth_giving(const struct seen_request *r)
{
	return r->is_watch || (r->end != SEEN_OPEN && !r->has_holes);
}

static void make_tolds(struct seen *s)
{
	const struct seen_request *requests = run_seen_requests(s->run_seen, &s->count);
	size_t holes = 0;

	s->tolds = xcalloc(s->count, sizeof(*s->tolds));
	for (size_t i = 0; i < s->count; i++) {
		struct told *t = &s->tolds[i];

		t->live = &requests[i];
		t->is_given = !is_worth_giving(t->live);
		seen_key(t->live->path, t->live->accept, &t->key, &t->path);
		holes += t->live->has_holes;
	}
	if (holes)
		log_warn("part of what '%s' was sent is not in the run: %zu of its %zu reads have holes",
			s->client, holes, s->count);
}

static int take_tape_id(void *context, const struct tape_segment_info *segment)
{
	char **id = context;

	if (!*id && segment->tape_id)
		*id = xstrdup(segment->tape_id);
	return 0;
}

int seen_open(const struct seen_options *options, struct seen **ret, struct err *err)
{
	struct seen *s = xcalloc(1, sizeof(*s));
	char *tape_id = NULL;
	int rc = tape_each_segment(options->tape, take_tape_id, &tape_id, err);

	s->tape = options->tape;
	s->client = xstrdup(options->client);
	if (rc == 0)
		rc = run_seen_open(options->run, tape_id ? tape_id : "", s->client, &s->run_seen, err);
	free(tape_id);
	if (rc) {
		seen_close(s);
		return rc;
	}
	make_tolds(s);
	make_moments(s);
	*ret = s;
	return 0;
}

void seen_close(struct seen *s)
{
	if (!s)
		return;
	run_seen_close(s->run_seen);
	free(s->moments);
	free(s->tolds);
	free(s->client);
	free(s);
}

void seen_tell(struct seen *s, void (*sent)(void *context), void *context)
{
	s->sent = sent;
	s->sent_context = context;
}

/* ---- moments ---- */

int64_t seen_now(const struct seen *s)
{
	const struct player *p = s->place.player;

	if (s->is_at_event)
		return s->event_ns;
	if (player_state(p) == PLAYER_ENDED && player_speed(p) == SPEED_MAX)
		return INT64_MAX;
	return player_tape_ns(p);
}

void seen_let_go(struct seen *s, uint64_t path)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->tolds[i].path == path && s->tolds[i].live->is_watch)
			s->tolds[i].is_free = true;
	}
}

static void let_go_read(struct seen *s, uint64_t key)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->tolds[i].key == key)
			s->tolds[i].is_free = true;
	}
}

/* Nobody has come who asks for it. */
static bool is_missed(const struct told *t)
{
	return !t->is_given && !t->is_free;
}

static void leave(struct seen *s, const struct told *t)
{
	if (!t->live->is_watch) {
		log_info("'%s' has not asked for '%s', which it had read: it is waited for no longer",
			s->client, t->live->path);
		let_go_read(s, t->key);
		return;
	}
	log_warn("'%s' has not asked for '%s' again, which it had watched: it is waited for no longer",
		s->client, t->live->path);
	s->left++;
	seen_let_go(s, t->path);
}

/* What the live client had asked for before that moment, and this one has not; NULL: nothing. */
static const struct told *first_missed(struct seen *s, int64_t time_ns)
{
	while (s->asked < s->count && !is_missed(&s->tolds[s->asked]))
		s->asked++;
	return s->asked < s->count && s->tolds[s->asked].live->time_ns <= time_ns ? &s->tolds[s->asked]
										  : NULL;
}

static int64_t patience_ns(const struct told *t)
{
	return t->live->is_watch ? HOLD_NS : HOLD_READ_NS;
}

/* Whether the moment at hand has to wait for a request. */
static bool waits(struct seen *s)
{
	const struct told *missed = first_missed(s, s->moments[s->at].time_ns);
	int64_t now_ns = clock_mono_ns(&clock_system);

	if (missed != s->missed) {
		s->missed = missed;
		s->held_ns = now_ns;
	}
	if (!missed)
		return false;
	if (!s->has_begun || now_ns - s->held_ns < patience_ns(missed))
		return true;
	leave(s, missed);
	return waits(s);
}

/* Until when, on the monotonic clock, the moment at hand has to wait because it is the end of a watch that was told something
 * just now. */
static int64_t end_wait_ns(const struct seen *s)
{
	const struct told *t = &s->tolds[s->moments[s->at].of];
	int64_t last_ns = t->frames ? t->live->frames[t->frames - 1].out_ns : t->live->time_ns;

	if (t->due < t->frames || !t->running || t->live->end_ns - last_ns < SHORT_WATCH_NS)
		return INT64_MIN;
	return t->told_ns + LONG_WATCH_NS;
}

/* False when what is at hand has to wait. */
static bool pass_moment(struct seen *s)
{
	struct told *t = &s->tolds[s->moments[s->at].of];

	if (player_gate_is_shut(s->place.player) || waits(s) || clock_mono_ns(&clock_system) < end_wait_ns(s))
		return false;
	if (t->running && !seen_watch_send(t->running)) /* what was due before */
		return false;
	if (t->due < t->frames)
		t->due++;
	else
		t->is_over = true;
	s->at++;
	if (t->running)
		(void)!seen_watch_send(t->running);
	return true;
}

/* Nobody is told of what has not happened yet in the world that answers its writes: several events may have
 * one time. */
static bool is_due(const struct seen *s, int64_t until_ns)
{
	const struct told *t;

	if (s->at == s->moment_count || s->moments[s->at].time_ns > until_ns)
		return false;
	t = &s->tolds[s->moments[s->at].of];
	return t->due == t->frames || t->live->frames[t->due].event <= s->place.world->seq ||
	       player_state(s->place.player) == PLAYER_ENDED;
}

/* All moments up to that time of the tape, as far as none has to wait. */
static void pass_moments(struct seen *s, int64_t until_ns)
{
	s->is_stuck = false;
	while (!s->is_stuck && is_due(s, until_ns))
		s->is_stuck = !pass_moment(s);
}

/* An event that is about to be applied was sent after all that came before its time. */
static int64_t limit(const struct seen *s)
{
	return s->is_at_event ? s->event_ns - 1 : seen_now(s);
}

/* ---- what the player tells ---- */

static int before(
	void *context, const struct collection *in, const struct change *c, int64_t tape_ns, struct err *err)
{
	struct seen *s = context;

	s->is_at_event = true;
	s->event_ns = tape_ns;
	pass_moments(s, limit(s));
	seen_serve_parked(s);
	return s->place.other ? s->place.other->before(s->place.other_context, in, c, tape_ns, err) : 0;
}

static void after(void *context, const struct collection *in, const struct change *c, int64_t tape_ns)
{
	struct seen *s = context;

	pass_moments(s, tape_ns);
	if (s->place.other)
		s->place.other->after(s->place.other_context, in, c, tape_ns);
	s->is_at_event = false;
}

static void seen_tick(void *context)
{
	struct seen *s = context;

	if (player_state(s->place.player) != PLAYER_WAITING)
		pass_moments(s, limit(s));
	seen_serve_parked(s);
	if (s->place.other)
		s->place.other->tick(s->place.other_context);
}

static void next(void *context, int64_t *ret_tape_ns, int64_t *ret_mono_ns)
{
	const struct seen *s = context;
	int64_t parked_ns = seen_next_parked(s);

	*ret_tape_ns = *ret_mono_ns = INT64_MAX;
	if (s->place.other)
		s->place.other->next(s->place.other_context, ret_tape_ns, ret_mono_ns);
	if (parked_ns < *ret_tape_ns)
		*ret_tape_ns = parked_ns;
	if (s->at == s->moment_count)
		return;
	if (s->missed && s->held_ns + patience_ns(s->missed) < *ret_mono_ns)
		*ret_mono_ns = s->held_ns + patience_ns(s->missed);
	if (s->is_stuck && end_wait_ns(s) > clock_mono_ns(&clock_system) && end_wait_ns(s) < *ret_mono_ns)
		*ret_mono_ns = end_wait_ns(s);
	if (!s->missed && s->moments[s->at].time_ns > limit(s) && s->moments[s->at].time_ns < *ret_tape_ns)
		*ret_tape_ns = s->moments[s->at].time_ns;
}

static void seen_settle(void *context)
{
	struct seen *s = context;

	pass_moments(s, limit(s));
	if (s->place.other)
		s->place.other->settle(s->place.other_context);
}

/* At the end, where there is no clock to stand still, somebody is waited for until all is sent. */
static bool is_holding(const void *context)
{
	const struct seen *s = context;

	if (s->place.other && s->place.other->is_holding(s->place.other_context))
		return true;
	return player_state(s->place.player) == PLAYER_ENDED ? seen_is_busy(s) : s->is_stuck;
}

static const struct player_director seen_director = {.before = before,
	.after = after,
	.tick = seen_tick,
	.next = next,
	.settle = seen_settle,
	.is_holding = is_holding};

void seen_begin(struct seen *s, const struct seen_place *place)
{
	s->place = *place;
	player_direct(place->player, &seen_director, s);
}

/* ---- the end ---- */

bool seen_is_busy(const struct seen *s)
{
	return s && s->has_begun && s->at < s->moment_count;
}

void seen_end_all(struct seen *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->tolds[i].running)
			seen_watch_end(s->tolds[i].running);
	}
}

size_t seen_sum_up(const struct seen *s)
{
	return s ? s->left : 0;
}
