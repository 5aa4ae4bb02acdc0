/* fault_stream.c: what becomes of requests, watches and frames. See fault.h and fault_internal.h. */
#include "replayer/fault/fault_internal.h"

#include "schema/base/clock.h"

static const struct fault_rule *rule_of(const struct faults *f, const struct episode *e)
{
	return &f->file.rules[e->rule];
}

static bool is_of_client(const struct episode *e, uint64_t client)
{
	return !e->client || e->client == client;
}

/* ---- requests ---- */

bool faults_refuse(const struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct episode *e = &f->episodes[i];
		const struct fault_rule *r = rule_of(f, e);

		if (e->state != EPISODE_ACTIVE || fault_is_over(f, e, now))
			continue;
		if ((r->what.act == FAULT_REFUSE || r->during.act == FAULT_REFUSE) &&
			fault_where_is_all(&r->where))
			return true;
	}
	return false;
}

/* What an active episode has for requests; NULL when it has nothing. */
static const struct fault_what *answer_of(const struct fault_rule *r)
{
	if (r->what.act == FAULT_REFUSE || r->what.act == FAULT_HTTP)
		return &r->what;
	return r->during.act == FAULT_NOTHING ? NULL : &r->during;
}

/* A 410 to a request without a version would be asked again at once and for ever. */
static bool is_endless(const struct fault_what *what, const struct fault_request *r)
{
	return what->act == FAULT_HTTP && what->code == 410 && r->rv == 0;
}

static bool answer_active(const struct faults *f, const struct episode *e, const struct fault_request *r,
	struct fault_answer *ret)
{
	const struct fault_rule *rule = rule_of(f, e);
	const struct fault_what *what = answer_of(rule);

	if (rule->what.act == FAULT_STALE_LIST && r->kind == FAULT_LIST) {
		*ret = (struct fault_answer){.kind = FAULT_OLDER, .rule_index = e->rule};
		return true;
	}
	if (!what || is_endless(what, r))
		return false;
	*ret = (struct fault_answer){
		.kind = FAULT_INSTEAD, .what = what, .rule_index = e->rule, .episode = e->id};
	return true;
}

/* After the episode: the first list of each client. */
static bool answer_stale(const struct faults *f, struct episode *e, const struct fault_request *r,
	uint64_t client, struct fault_answer *ret)
{
	uint32_t resource = r->resource ? r->resource->id : 0;

	if (!rule_of(f, e)->stale_ns || r->kind != FAULT_LIST ||
		client_set_find(&e->served, client, resource) ||
		!client_set_add(&e->served, client, resource))
		return false;
	*ret = (struct fault_answer){.kind = FAULT_OLDER,
		.rule_index = e->rule,
		.state_ns = time_sub(e->begin.tape_ns, rule_of(f, e)->stale_ns)};
	return true;
}

static void answer_floor(const struct faults *f, const struct fault_request *r, struct fault_answer *ret)
{
	if (!r->rv_exact || !r->rv || !r->resource)
		return;
	for (size_t i = 0; i < f->floor_count; i++) {
		const struct floor *floor = &f->floors[i];

		if (floor->resource != r->resource->id || r->rv >= floor->rv ||
			!fault_matches_request(&f->file.rules[floor->rule].where, r))
			continue;
		*ret = (struct fault_answer){
			.kind = FAULT_EXPIRED, .rule_index = floor->rule, .floor = floor->rv};
	}
}

static void note_parts(struct faults *f, const struct fault_request *r)
{
	for (size_t i = 0; i < f->rule_count; i++) {
		if (f->tallies[i].seen != PART_ALL)
			f->tallies[i].seen |= fault_parts(&f->file.rules[i].where, r);
	}
}

void faults_request(struct faults *f, const struct fault_now *now, const struct fault_request *r,
	struct fault_answer *ret)
{
	uint64_t client = fault_client(r->user_agent, r->credential);

	faults_tick(f, now);
	note_parts(f, r);
	*ret = (struct fault_answer){.kind = FAULT_PASS};
	for (size_t i = 0; i < f->episode_count; i++) {
		struct episode *e = &f->episodes[i];

		if (!is_of_client(e, client) || !fault_matches_request(&rule_of(f, e)->where, r))
			continue;
		if (e->state == EPISODE_ACTIVE ? answer_active(f, e, r, ret)
					       : answer_stale(f, e, r, client, ret)) {
			if (ret->kind == FAULT_OLDER && e->state == EPISODE_ACTIVE)
				ret->state_ns = time_sub(now->tape_ns, rule_of(f, e)->what.by_ns);
			return;
		}
	}
	answer_floor(f, r, ret);
}

uint64_t faults_floor(const struct faults *f, uint32_t resource)
{
	uint64_t rv = 0;

	for (size_t i = 0; i < f->floor_count; i++) {
		if (f->floors[i].resource == resource && f->floors[i].rv > rv)
			rv = f->floors[i].rv;
	}
	return rv;
}

/* ---- watches ---- */

static void arm(struct faults *f, struct fault_stream *s)
{
	s->previous = NULL;
	s->next = f->armed;
	if (s->next)
		s->next->previous = s;
	f->armed = s;
}

static void disarm(struct faults *f, struct fault_stream *s)
{
	if (s->previous)
		s->previous->next = s->next;
	else
		f->armed = s->next;
	if (s->next)
		s->next->previous = s->previous;
	s->armed = 0;
}

static int64_t since_opened(
	const struct fault_rule *r, const struct fault_now *now, const struct fault_stream *s)
{
	return r->clock == FAULT_TAPE ? time_sub(now->tape_ns, s->opened.tape_ns)
				      : now->mono_ns - s->opened.mono_ns;
}

/* Fires those of the armed rules whose events and time have come. */
static void look(struct faults *f, const struct fault_now *now, struct fault_stream *s)
{
	uint64_t armed = s->armed;

	for (uint64_t bits = armed; bits; bits &= bits - 1) {
		size_t i = (size_t)__builtin_ctzll(bits);
		const struct fault_rule *r = &f->file.rules[i];
		const struct fault_occasion occasion = {
			.a = s->client, .b = (uint64_t)r->when.connection, .client = s->client, .stream = s};

		if (s->sent < (uint64_t)r->when.events || since_opened(r, now, s) < r->when.after_ns)
			continue;
		armed &= ~(UINT64_C(1) << i);
		fault_fire(f, i, now, &occasion);
	}
	if (s->armed && !armed)
		disarm(f, s);
	s->armed = armed;
}

void fault_arm_tick(struct faults *f, const struct fault_now *now)
{
	for (struct fault_stream *s = f->armed, *next; s; s = next) {
		next = s->next;
		look(f, now, s);
	}
}

int64_t fault_arm_next(const struct faults *f, int clock)
{
	int64_t earliest_ns = FAULT_FOREVER;

	for (const struct fault_stream *s = f->armed; s; s = s->next) {
		for (uint64_t bits = s->armed; bits; bits &= bits - 1) {
			const struct fault_rule *r = &f->file.rules[__builtin_ctzll(bits)];
			int64_t opened_ns = clock == FAULT_TAPE ? s->opened.tape_ns : s->opened.mono_ns;

			int64_t due_ns = fault_later(opened_ns, r->when.after_ns);

			if (r->clock == clock && s->sent >= (uint64_t)r->when.events && due_ns < earliest_ns)
				earliest_ns = due_ns;
		}
	}
	return earliest_ns;
}

/* The watch is back that an episode waits for. */
static void welcome(struct faults *f, const struct fault_stream *s)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		struct client_set *awaited = &f->episodes[i].awaited;
		struct client_count *found = client_set_find(awaited, s->client, s->resource);

		if (found && --found->count == 0)
			client_set_remove(awaited, found);
	}
}

void fault_stream_open(
	struct faults *f, const struct fault_now *now, const struct fault_request *r, struct fault_stream *s)
{
	*s = (struct fault_stream){.request = *r,
		.client = fault_client(r->user_agent, r->credential),
		.resource = r->resource ? r->resource->id : 0,
		.opened = *now};
	welcome(f, s);
	for (size_t i = 0; i < f->rule_count; i++) {
		const struct fault_rule *rule = &f->file.rules[i];
		struct client_count *count;

		if (!fault_matches_request(&rule->where, r))
			continue;
		s->rules |= UINT64_C(1) << i;
		if (rule->when.trigger != FAULT_AT_CONNECTION)
			continue;
		count = client_set_add(&f->states[i].clients, s->client, 0);
		if (!count)
			continue;
		if (++count->count == (uint64_t)rule->when.connection)
			s->armed |= UINT64_C(1) << i;
		if (count->count > f->tallies[i].opened)
			f->tallies[i].opened = count->count;
	}
	if (!s->armed)
		return;
	arm(f, s);
	look(f, now, s);
}

void fault_stream_sent(struct faults *f, const struct fault_now *now, struct fault_stream *s)
{
	s->sent++;
	if (s->armed)
		look(f, now, s);
}

static struct episode *find_episode(struct faults *f, uint64_t id)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		if (f->episodes[i].id == id)
			return &f->episodes[i];
	}
	return NULL;
}

static void await(struct episode *e, const struct fault_stream *s)
{
	struct client_count *count = client_set_add(&e->awaited, s->client, s->resource);

	if (count)
		count->count++;
}

/* It was cut, or it never will be: the episode can begin to wait. */
static void settle_cut(struct faults *f, struct fault_stream *s)
{
	struct episode *e = s->cut_episode ? find_episode(f, s->cut_episode) : NULL;

	s->cut_episode = 0;
	if (!e)
		return;
	e->uncut--;
	if (s->was_cut)
		await(e, s);
}

static void expect_cut(struct faults *f, struct episode *e, struct fault_stream *s)
{
	settle_cut(f, s);
	s->cut_episode = e->id;
	e->uncut++;
	e->hold_until_ns = 0;
}

/* Stands for a stream that is gone: equal to none. */
static const struct fault_stream gone;

/* What was decided for it and not yet taken is for nobody now. */
void fault_stream_close(struct faults *f, struct fault_stream *s)
{
	if (s->armed)
		disarm(f, s);
	settle_cut(f, s);
	for (size_t i = 0; i < f->firing_count; i++) {
		struct fault_firing *firing = &f->firings[f->firing_first + i];

		if (firing->stream == s)
			firing->stream = &gone;
	}
}

static bool is_in_scope(const struct faults *f, const struct fault_stream *s, size_t rule)
{
	if (rule < f->rule_count)
		return s->rules >> rule & 1;
	return fault_matches_request(&f->file.rules[rule].where, &s->request);
}

bool fault_hits(struct faults *f, const struct fault_firing *firing, struct fault_stream *s)
{
	const struct fault_rule *r = firing->rule;
	struct episode *e = r->hold_ns ? find_episode(f, firing->episode) : NULL;

	if (firing->step != FAULT_BEGINS || !fault_ends_streams(r->what.act))
		return false;
	if (firing->stream ? firing->stream != s : !is_in_scope(f, s, firing->rule_index))
		return false;
	if (firing->client && firing->client != s->client)
		return false;
	if (r->what.act == FAULT_CUT) {
		s->cut = true;
		s->cut_bytes = (size_t)r->what.bytes;
		s->cut_rule = firing->rule_index;
		s->cut_by = firing->episode;
	}
	if (e && r->what.act == FAULT_CUT)
		expect_cut(f, e, s);
	else if (e && r->what.act != FAULT_STALL)
		await(e, s);
	return true;
}

/* ---- frames ---- */

static bool has_seq(const struct rule_state *s, uint64_t seq)
{
	size_t low = 0, high = s->seq_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->seqs[middle] < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->seq_count && s->seqs[low] == seq;
}

static bool in_episode(const struct faults *f, size_t rule, uint64_t client)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct episode *e = &f->episodes[i];

		if (e->rule == rule && e->state == EPISODE_ACTIVE && is_of_client(e, client))
			return true;
	}
	return false;
}

static bool touches(const struct faults *f, size_t rule, const struct fault_stream *s, const struct event *e)
{
	const struct fault_rule *r = &f->file.rules[rule];
	const struct rule_state *state = &f->states[rule];

	if (!fault_touches_frames(r->what.act))
		return false;
	if (fault_length_is_per_event(r) ? !has_seq(state, e->seq) : !in_episode(f, rule, s->client))
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
