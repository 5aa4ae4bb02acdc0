/* fault_frames.c: what becomes of single frames on their way to a watch. See fault.h and fault_internal.h. */
#include "replayer/fault/fault_internal.h"

static const struct episode *active_episode(const struct faults *f, size_t rule, uint64_t client)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct episode *e = &f->episodes[i];

		if (e->rule == rule && e->state == EPISODE_ACTIVE && (!e->client || e->client == client))
			return e;
	}
	return NULL;
}

/* Of a view only the watches are that were opened meanwhile; those that ran have seen more already. */
static bool lies_behind_view(const struct faults *f, const struct episode *e, const struct fault_stream *s,
	const struct event *event)
{
	const struct fault_what *what = &f->file.rules[e->rule].what;
	const struct fault_version *v = fault_version_find(f, event->seq);
	uint64_t position = what->as_of ? what->as_of_seq : e->begin.seq;

	if (s->opened.mono_ns < e->begin.mono_ns)
		return false;
	if (v)
		return v->seq > (what->as_of ? fault_version_as_of(f, what) : e->begin_version);
	return event->seq > position;
}

static bool touches(const struct faults *f, size_t rule, const struct fault_stream *s, const struct event *e)
{
	const struct fault_rule *r = &f->file.rules[rule];
	const struct rule_state *state = &f->states[rule];
	const struct episode *episode;

	if (!fault_touches_frames(r->what.act) && r->what.act != FAULT_STALE_VIEW)
		return false;
	episode = active_episode(f, rule, s->client);
	if (fault_length_is_per_event(r) ? !fault_has_seq(state, e->seq) : !episode)
		return false;
	if (r->what.act == FAULT_STALE_VIEW && !lies_behind_view(f, episode, s, e))
		return false;
	return r->probability >= 1 || fault_chance(state->seed, e->seq, s->client) < r->probability;
}

static uint64_t other_events(const struct faults *f, uint32_t resource)
{
	return f->applied - (resource < f->resource_count ? f->resources[resource].applied : 0);
}

/* Remembers when this frame began to wait. False when it is of an event long past: nothing waits for that. */
static bool is_waiting(
	const struct faults *f, const struct fault_now *now, struct fault_stream *s, const struct event *e)
{
	if (s->waiting_seq == e->seq)
		return true;
	if (e->seq < now->seq)
		return false;
	s->waiting_seq = e->seq;
	s->waiting_mono_ns = now->mono_ns;
	s->waiting_others = other_events(f, s->resource);
	return true;
}

static void wait_until(struct fault_frame *ret, int64_t tape_ns, int64_t mono_ns)
{
	ret->act = FRAME_WAIT;
	ret->tape_ns = tape_ns < ret->tape_ns ? tape_ns : ret->tape_ns;
	ret->mono_ns = mono_ns < ret->mono_ns ? mono_ns : ret->mono_ns;
}

/* True when the frame is to wait. */
static bool delay(struct faults *f, const struct fault_now *now, size_t rule, struct fault_stream *s,
	const struct event *e, struct fault_frame *ret)
{
	const struct fault_rule *r = &f->file.rules[rule];
	double chance = fault_chance(f->states[rule].seed + 1, e->seq, s->client);
	int64_t by_ns = fault_later(r->what.by_ns, (int64_t)((double)r->what.jitter_ns * chance)), due_ns;

	if (r->clock == FAULT_TAPE) {
		due_ns = fault_later(e->time_ns, by_ns);
		if (now->tape_ns >= due_ns)
			return false;
		wait_until(ret, due_ns, INT64_MAX);
		return true;
	}
	if (!is_waiting(f, now, s, e))
		return false;
	due_ns = fault_later(s->waiting_mono_ns, by_ns);
	if (now->mono_ns >= due_ns)
		return false;
	wait_until(ret, INT64_MAX, due_ns);
	return true;
}

static bool reorder(struct faults *f, const struct fault_now *now, const struct fault_what *what,
	struct fault_stream *s, const struct event *e, struct fault_frame *ret)
{
	if (now->ended || !is_waiting(f, now, s, e) ||
		other_events(f, s->resource) >= s->waiting_others + (uint64_t)what->count)
		return false;
	wait_until(ret, INT64_MAX, INT64_MAX);
	return true;
}

/* What a program wrote waits by itself, and what follows it on the watch with it. */
static bool echo(const struct faults *f, const struct fault_now *now, const struct fault_rule *r,
	const struct event *e, struct fault_frame *ret)
{
	const struct fault_version *v = fault_version_find(f, e->seq);
	int64_t due_ns;

	if (!v || v->is_tapes)
		return false;
	if (!r->what.by_ns) {
		if (now->ended || f->applied >= v->applied + (uint64_t)r->what.count)
			return false;
		wait_until(ret, INT64_MAX, INT64_MAX);
	} else if (r->clock == FAULT_TAPE) {
		due_ns = fault_later(v->tape_ns, r->what.by_ns);
		if (now->tape_ns >= due_ns)
			return false;
		wait_until(ret, due_ns, INT64_MAX);
	} else {
		due_ns = fault_later(v->mono_ns, r->what.by_ns);
		if (now->mono_ns >= due_ns)
			return false;
		wait_until(ret, INT64_MAX, due_ns);
	}
	ret->goes_on = true;
	return true;
}

static bool keep_back(struct fault_frame *ret)
{
	wait_until(ret, INT64_MAX, INT64_MAX);
	ret->goes_on = true;
	return true;
}

/* True when something becomes of the frame. */
static bool touch(struct faults *f, const struct fault_now *now, size_t rule, struct fault_stream *s,
	const struct event *e, struct fault_frame *ret)
{
	const struct fault_what *what = &f->file.rules[rule].what;

	switch (what->act) {
	case FAULT_DROP: ret->act = FRAME_DROP; return true;
	case FAULT_DUPLICATE: ret->copies += (size_t)what->count; return true;
	case FAULT_DELAY: return delay(f, now, rule, s, e, ret);
	case FAULT_REORDER: return reorder(f, now, what, s, e, ret);
	case FAULT_ECHO: return echo(f, now, &f->file.rules[rule], e, ret);
	case FAULT_BURST:
	case FAULT_STALE_VIEW: return keep_back(ret);
	default: return false;
	}
}

/* A frame that waits is asked for again, and counts once. */
static void count_touched(struct faults *f, struct fault_stream *s, uint64_t touched, struct fault_frame *ret)
{
	ret->rules = touched & ~s->touched;
	s->touched = ret->act == FRAME_WAIT ? s->touched | touched : 0;
	for (uint64_t bits = ret->rules; bits; bits &= bits - 1)
		f->tallies[__builtin_ctzll(bits)].frames++;
}

void faults_frame(struct faults *f, const struct fault_now *now, struct fault_stream *s,
	const struct event *e, struct fault_frame *ret)
{
	uint64_t touched = 0;

	*ret = (struct fault_frame){.copies = 1, .tape_ns = INT64_MAX, .mono_ns = INT64_MAX};
	if (s->cut) {
		ret->act = FRAME_CUT;
		ret->bytes = s->cut_bytes;
		return;
	}
	for (uint64_t bits = s->rules; bits && ret->act != FRAME_DROP; bits &= bits - 1) {
		size_t rule = (size_t)__builtin_ctzll(bits);

		if (touches(f, rule, s, e) && touch(f, now, rule, s, e, ret))
			touched |= UINT64_C(1) << rule;
	}
	count_touched(f, s, touched, ret);
}

bool faults_are_late(const struct faults *f)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct fault_what *what = &f->file.rules[f->episodes[i].rule].what;

		if (f->episodes[i].state == EPISODE_ACTIVE && what->act == FAULT_ECHO && what->count)
			return true;
	}
	return false;
}
