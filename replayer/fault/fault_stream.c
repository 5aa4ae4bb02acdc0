/* fault_stream.c: what becomes of requests and watches. See fault.h and fault_internal.h. */
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

/* The first list of each client, while it lasts, or of those that it leaves behind. */
static bool is_first_list(struct episode *e, const struct fault_request *r, uint64_t client)
{
	uint32_t resource = r->resource ? r->resource->id : 0;

	return r->kind == FAULT_LIST && !client_set_find(&e->served, client, resource) &&
	       client_set_add(&e->served, client, resource);
}

/* What it is frozen at: a position, or how things stood when it began. */
static struct fault_state state_of_view(const struct faults *f, const struct episode *e)
{
	const struct fault_what *what = &rule_of(f, e)->what;
	uint64_t seq = what->as_of ? what->as_of_seq : e->begin.seq;

	return (struct fault_state){.by_seq = true,
		.seq = seq,
		.version = what->as_of ? fault_version_as_of(f, what) : e->begin_version};
}

/* A view and what lists show may be old; only a list that a cache may answer shows a view. */
static bool answer_older(const struct faults *f, const struct episode *e, const struct fault_now *now,
	const struct fault_request *r, struct fault_answer *ret)
{
	const struct fault_what *what = &rule_of(f, e)->what;
	bool is_view = what->act == FAULT_STALE_VIEW;

	if ((!is_view && what->act != FAULT_STALE_LIST) || r->kind != FAULT_LIST ||
		(is_view && !r->any_state))
		return false;
	*ret = (struct fault_answer){.kind = FAULT_OLDER, .rule_index = e->rule, .episode = e->id};
	if (is_view || what->as_of)
		ret->state = state_of_view(f, e);
	else
		ret->state.time_ns = time_sub(now->tape_ns, what->by_ns);
	return true;
}

/* What an active episode has for requests; NULL when it has nothing. */
static const struct fault_what *answer_of(const struct fault_rule *r)
{
	if (fault_answers_requests(r->what.act))
		return &r->what;
	return r->during.act == FAULT_NOTHING ? NULL : &r->during;
}

/* A 410 to a request without a version would be asked again at once and for ever. */
static bool is_endless(const struct fault_what *what, const struct fault_request *r)
{
	return what->act == FAULT_HTTP && what->code == 410 && r->rv == 0;
}

static bool answer_active(const struct faults *f, struct episode *e, const struct fault_now *now,
	const struct fault_request *r, struct fault_answer *ret)
{
	const struct fault_rule *rule = rule_of(f, e);
	const struct fault_what *what = answer_of(rule);

	if (answer_older(f, e, now, r, ret))
		return true;
	if (rule->what.act == FAULT_SLOW && is_first_list(e, r, fault_client(r->user_agent, r->credential))) {
		*ret = (struct fault_answer){
			.kind = FAULT_LATER, .rule_index = e->rule, .later_ns = rule->what.by_ns};
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
	if (!rule_of(f, e)->stale_ns || !is_first_list(e, r, client))
		return false;
	*ret = (struct fault_answer){.kind = FAULT_OLDER,
		.rule_index = e->rule,
		.state.time_ns = time_sub(e->begin.tape_ns, rule_of(f, e)->stale_ns)};
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
		if (e->state == EPISODE_ACTIVE ? answer_active(f, e, now, r, ret)
					       : answer_stale(f, e, r, client, ret))
			return;
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
static void fault_stream_look(struct faults *f, const struct fault_now *now, struct fault_stream *s)
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
		fault_stream_look(f, now, s);
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

		if (!found)
			continue;
		f->episodes[i].is_some_back = true;
		if (--found->count == 0)
			client_set_remove(awaited, found);
	}
}

void faults_stop_awaiting(struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		struct episode *e = &f->episodes[i];

		if (e->state == EPISODE_AFTER && f->file.rules[e->rule].what.act == FAULT_RESTART &&
			e->is_some_back)
			e->awaited.count = 0;
	}
	faults_settle(f, now);
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
	fault_stream_look(f, now, s);
}

void fault_stream_sent(struct faults *f, const struct fault_now *now, struct fault_stream *s)
{
	s->sent++;
	if (s->armed)
		fault_stream_look(f, now, s);
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

/* A command that is killed loses all its watches, whatever resource the rule is about. */
static bool is_struck(
	const struct faults *f, const struct fault_stream *s, const struct fault_rule *r, size_t index)
{
	return r->what.act == FAULT_RESTART || is_in_scope(f, s, index);
}

bool fault_hits(struct faults *f, const struct fault_firing *firing, struct fault_stream *s)
{
	const struct fault_rule *r = firing->rule;
	struct episode *e = r->hold_ns ? find_episode(f, firing->episode) : NULL;

	if (firing->step != FAULT_BEGINS ||
		(!fault_ends_streams(r->what.act) && r->what.act != FAULT_RESTART))
		return false;
	if (firing->stream ? firing->stream != s : !is_struck(f, s, r, firing->rule_index))
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
