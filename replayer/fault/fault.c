/* fault.c: what happens when. See fault.h and fault_internal.h. */
#include "replayer/fault/fault_internal.h"

#include "schema/base/rv.h"
#include "schema/tape/reader.h"

#include <stdlib.h>

/* ---- life ---- */

static int make_state(const struct fault_file *file, size_t index, struct rule_state *ret, struct err *err)
{
	const struct fault_rule *r = &file->rules[index];
	int rc;

	ret->seed = fault_mix((uint64_t)file->seed, index);
	if (r->when.trigger != FAULT_AT_EVENT)
		return 0;
	rc = predicate_compile(slice_of(r->when.event), &file->frame, &ret->predicate, err);
	if (rc)
		return err_prefix(err, rc, "%s", r->name);
	return 0;
}

int faults_new(struct fault_file *file, struct faults **ret, struct err *err)
{
	struct faults *f = xcalloc(1, sizeof(*f));
	int rc = 0;

	f->file = *file;
	*file = (struct fault_file){0};
	f->rule_count = f->file.count - f->file.recorded_count;
	f->next_recorded = f->rule_count;
	f->states = xcalloc(f->file.count, sizeof(*f->states));
	f->tallies = xcalloc(f->rule_count + 1, sizeof(*f->tallies));
	for (size_t i = 0; i < f->file.count && rc == 0; i++)
		rc = make_state(&f->file, i, &f->states[i], err);
	if (rc < 0)
		faults_free(f);
	else
		*ret = f;
	return rc;
}

static void release_episode(struct episode *e)
{
	free(e->awaited.items);
	free(e->served.items);
}

void faults_free(struct faults *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->file.count; i++) {
		predicate_free(f->states[i].predicate);
		free(f->states[i].seqs);
		free(f->states[i].clients.items);
	}
	for (size_t i = 0; i < f->episode_count; i++)
		release_episode(&f->episodes[i]);
	free(f->states);
	free(f->tallies);
	free(f->episodes);
	free(f->firings);
	free(f->resources);
	free(f->floors);
	free(f->versions);
	fault_file_release(&f->file);
	free(f);
}

const struct fault_rule *faults_rule(const struct faults *f, size_t index)
{
	return index < f->file.count ? &f->file.rules[index] : NULL;
}

size_t faults_rule_count(const struct faults *f)
{
	return f->rule_count;
}

/* ---- resources ---- */

struct resource_state *fault_state_of(struct faults *f, const struct tape_resource *resource)
{
	size_t id = resource->id;

	if (id >= f->resource_count) {
		f->resources = xrealloc(f->resources, (id + 1) * sizeof(*f->resources));
		memset(f->resources + f->resource_count, 0,
			(id + 1 - f->resource_count) * sizeof(*f->resources));
		f->resource_count = id + 1;
	}
	f->resources[id].resource = resource;
	return &f->resources[id];
}

/* ---- firings ---- */

static void queue(struct faults *f, enum fault_step step, const struct episode *e,
	const struct fault_stream *stream, const struct fault_now *now)
{
	if (f->firing_first + f->firing_count == f->firing_cap) {
		f->firing_cap = f->firing_cap ? 2 * f->firing_cap : 8;
		f->firings = xrealloc(f->firings, f->firing_cap * sizeof(*f->firings));
	}
	f->firings[f->firing_first + f->firing_count++] = (struct fault_firing){.step = step,
		.rule_index = e->rule,
		.rule = &f->file.rules[e->rule],
		.episode = e->id,
		.client = e->client,
		.stream = stream,
		.at = *now};
}

bool faults_take(struct faults *f, struct fault_firing *ret)
{
	if (f->firing_count == 0)
		return false;
	*ret = f->firings[f->firing_first++];
	if (--f->firing_count == 0)
		f->firing_first = 0;
	return true;
}

/* ---- episodes ---- */

int64_t fault_later(int64_t from_ns, int64_t by_ns)
{
	int64_t sum;

	return __builtin_add_overflow(from_ns, by_ns, &sum) ? FAULT_FOREVER : sum;
}

static void raise_floor(struct faults *f, size_t rule, uint32_t resource, uint64_t rv)
{
	size_t i = 0;

	while (i < f->floor_count && (f->floors[i].rule != rule || f->floors[i].resource != resource))
		i++;
	if (i == f->floor_count) {
		f->floors = xrealloc(f->floors, (i + 1) * sizeof(*f->floors));
		f->floors[f->floor_count++] = (struct floor){.rule = rule, .resource = resource};
	}
	if (rv > f->floors[i].rv)
		f->floors[i].rv = rv;
}

static void compact(struct faults *f, size_t rule)
{
	const struct fault_rule *r = &f->file.rules[rule];

	for (size_t id = 0; id < f->resource_count; id++) {
		const struct resource_state *state = &f->resources[id];

		if (!state->resource || !fault_matches_resource(&r->where, state->resource))
			continue;
		if (r->floor_rv || state->last_rv)
			raise_floor(f, rule, (uint32_t)id, r->floor_rv ? r->floor_rv : state->last_rv);
	}
}

/* From ACTIVE to AFTER. */
static void end_episode(struct faults *f, struct episode *e, const struct fault_now *now)
{
	const struct fault_rule *r = &f->file.rules[e->rule];

	e->state = EPISODE_AFTER;
	if (r->compaction)
		compact(f, e->rule);
	queue(f, FAULT_ENDS, e, NULL, now);
}

static bool is_spent(const struct faults *f, const struct episode *e, const struct fault_now *now)
{
	const struct fault_rule *r = &f->file.rules[e->rule];

	if (e->state != EPISODE_AFTER || r->stale_ns)
		return false;
	return !r->hold_ns || (e->hold_until_ns && now->mono_ns >= e->hold_until_ns);
}

/* For ever is not reached, also not by a tape's clock that has run out. */
static bool has_come(int64_t now_ns, int64_t due_ns)
{
	return due_ns != FAULT_FOREVER && now_ns >= due_ns;
}

bool fault_is_over(const struct faults *f, const struct episode *e, const struct fault_now *now)
{
	if (now->seq < f->file.rules[e->rule].until_seq && !now->ended)
		return false;
	return has_come(now->tape_ns, e->end_tape_ns) || has_come(now->mono_ns, e->end_mono_ns);
}

/* From when all watches have ended that it was to end. */
static void begin_to_wait(const struct faults *f, struct episode *e, const struct fault_now *now)
{
	int64_t hold_ns = f->file.rules[e->rule].hold_ns;

	if (hold_ns && e->state == EPISODE_AFTER && !e->uncut && !e->hold_until_ns)
		e->hold_until_ns = fault_later(now->mono_ns, hold_ns);
}

/* What is over ends, and what nobody asks for any more is forgotten; episodes before `first` were looked at.
 */
static void settle_from(struct faults *f, size_t first, const struct fault_now *now)
{
	size_t kept = first;

	for (size_t i = first; i < f->episode_count; i++) {
		struct episode *e = &f->episodes[i];

		if (e->state == EPISODE_ACTIVE && !e->events_left && fault_is_over(f, e, now))
			end_episode(f, e, now);
		begin_to_wait(f, e, now);
		if (is_spent(f, e, now))
			release_episode(e);
		else
			f->episodes[kept++] = *e;
	}
	f->episode_count = kept;
}

void faults_settle(struct faults *f, const struct fault_now *now)
{
	settle_from(f, 0, now);
	fault_await_begin(f, now);
}

/* Until the tape has come to some place. */
static bool waits_for_tape(const struct faults *f, const struct episode *e)
{
	int act = f->file.rules[e->rule].what.act;

	return e->state == EPISODE_ACTIVE && (fault_ends_streams(act) || fault_keeps_frames_back(act)) &&
	       (e->events_left || e->end_tape_ns != FAULT_FOREVER);
}

void faults_yield(struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		struct episode *e = &f->episodes[i];

		if (!waits_for_tape(f, e))
			continue;
		e->events_left = 0;
		end_episode(f, e, now);
	}
	faults_settle(f, now);
}

bool fault_length_is_per_event(const struct fault_rule *r)
{
	return (r->when.trigger == FAULT_AT_EVENT || r->when.trigger == FAULT_AT_WRITE) &&
	       fault_touches_frames(r->what.act) && r->for_ns == 0;
}

/* A position counts from itself, also when the clock jumped past it. */
static int64_t begin_of(const struct fault_rule *r, const struct fault_now *now)
{
	return r->when.trigger == FAULT_AT_POSITION ? r->when.at_ns : now->tape_ns;
}

static struct episode *new_episode(
	struct faults *f, size_t rule, const struct fault_now *now, uint64_t client)
{
	const struct fault_rule *r = &f->file.rules[rule];
	struct episode *e;

	f->episodes = xgrow(f->episodes, f->episode_count, sizeof(*f->episodes));
	e = &f->episodes[f->episode_count++];
	*e = (struct episode){.id = ++f->episode_id,
		.rule = rule,
		.client = client,
		.begin = *now,
		.begin_version = f->version_count ? f->versions[f->version_count - 1].seq : 0,
		.events_left = (uint64_t)r->for_events,
		.end_tape_ns = FAULT_FOREVER,
		.end_mono_ns = FAULT_FOREVER};
	if (r->for_ns != FAULT_FOREVER && r->clock == FAULT_TAPE)
		e->end_tape_ns = fault_later(begin_of(r, now), r->for_ns);
	else if (r->for_ns != FAULT_FOREVER)
		e->end_mono_ns = fault_later(now->mono_ns, r->for_ns);
	return e;
}

/* Frames have their own chance, one for each frame. */
static bool may_fire(const struct faults *f, size_t rule, const struct fault_occasion *o)
{
	const struct fault_rule *r = &f->file.rules[rule];
	const struct rule_state *s = &f->states[rule];

	if (r->times && s->fired >= (uint64_t)r->times)
		return false;
	return fault_touches_frames(r->what.act) || r->probability >= 1 ||
	       fault_chance(s->seed, o->a, o->b) < r->probability;
}

static void fire(
	struct faults *f, size_t rule, const struct fault_now *now, const struct fault_occasion *occasion)
{
	const struct fault_rule *r = &f->file.rules[rule];
	struct episode *e;

	if (!may_fire(f, rule, occasion))
		return;
	f->states[rule].fired++;
	if (rule < f->rule_count)
		f->tallies[rule].happened++;
	e = new_episode(f, rule, now, occasion->client);
	queue(f, FAULT_BEGINS, e, occasion->stream, now);
	if (r->for_ns == 0)
		end_episode(f, e, now);
}

void fault_fire(
	struct faults *f, size_t rule, const struct fault_now *now, const struct fault_occasion *occasion)
{
	fire(f, rule, now, occasion);
	faults_settle(f, now);
}

static void fire_at_event(struct faults *f, size_t rule, const struct fault_now *now, const struct event *e)
{
	const struct fault_occasion occasion = {.a = e->seq};

	fault_fire(f, rule, now, &occasion);
}

/* ---- the clock ---- */

static bool is_reached(const struct fault_when *w, const struct fault_now *now)
{
	return now->tape_ns >= w->at_ns && now->seq >= w->at_seq;
}

/* There may be many at one moment: each settles what it began, and nothing else has changed. */
static void fire_recorded(struct faults *f, const struct fault_now *now)
{
	static const struct fault_occasion once = {0};

	for (; f->next_recorded < f->file.count; f->next_recorded++) {
		size_t first = f->episode_count;

		if (f->states[f->next_recorded].settled)
			continue;
		if (!is_reached(&f->file.rules[f->next_recorded].when, now))
			break;
		fire(f, f->next_recorded, now, &once);
		settle_from(f, first, now);
	}
	fault_await_begin(f, now);
}

static void fire_positions(struct faults *f, const struct fault_now *now)
{
	static const struct fault_occasion once = {0};

	for (size_t i = 0; i < f->rule_count; i++) {
		const struct fault_when *w = &f->file.rules[i].when;

		if (w->trigger != FAULT_AT_POSITION || f->states[i].matches || !is_reached(w, now))
			continue;
		f->states[i].matches++;
		f->tallies[i].matches++;
		fault_fire(f, i, now, &once);
	}
	fire_recorded(f, now);
}

/* ---- what is history when it begins ---- */

/* Its time is over, or the events that closed it have passed, which come just before its end. */
static bool was_over(const struct fault_rule *r, uint64_t seq, int64_t tape_ns)
{
	if (r->when.at_seq > seq || r->until_seq > seq)
		return false;
	return r->until_seq > r->when.at_seq || has_come(tape_ns, fault_later(r->when.at_ns, r->for_ns));
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A gap before of the same scope, whose floor this one raises: there may be thousands. */
static size_t rule_of_floor(const struct faults *f, size_t rule, uint32_t resource)
{
	const char *namespace = f->file.rules[rule].where.namespace;

	for (size_t i = 0; i < f->floor_count; i++) {
		const struct floor *floor = &f->floors[i];

		if (floor->resource == resource && floor->rule >= f->rule_count &&
			is_same_text(f->file.rules[floor->rule].where.namespace, namespace))
			return floor->rule;
	}
	return rule;
}

/* As the gap left it, though none of its events has passed. */
static void raise_recorded_floor(struct faults *f, size_t rule, const struct tape *t)
{
	const struct fault_rule *r = &f->file.rules[rule];
	const struct tape_resource *resource;

	for (size_t i = 0; r->compaction && r->floor_rv && (resource = tape_resource_at(t, i)); i++) {
		if (fault_matches_resource(&r->where, resource))
			raise_floor(f, rule_of_floor(f, rule, resource->id), resource->id, r->floor_rv);
	}
}

size_t faults_settle_past(struct faults *f, const struct tape *t, uint64_t seq, int64_t tape_ns)
{
	size_t count = 0;

	for (size_t i = f->next_recorded; i < f->file.count; i++) {
		if (!was_over(&f->file.rules[i], seq, tape_ns))
			continue;
		f->states[i].settled = true;
		raise_recorded_floor(f, i, t);
		count++;
	}
	return count;
}

void faults_tick(struct faults *f, const struct fault_now *now)
{
	f->seq = now->seq;
	faults_settle(f, now);
	fire_positions(f, now);
	fault_arm_tick(f, now);
}

static void earliest(int64_t *to, int64_t ns)
{
	if (ns < *to)
		*to = ns;
}

/* What waits for an event to be applied waits for no clock. */
static void wait_for(const struct faults *f, const struct fault_when *w, int64_t *to)
{
	if (f->seq >= w->at_seq)
		earliest(to, w->at_ns);
}

void faults_next(const struct faults *f, int64_t *ret_tape_ns, int64_t *ret_mono_ns)
{
	int64_t tape_ns = fault_arm_next(f, FAULT_TAPE), mono_ns = fault_arm_next(f, FAULT_WALL);

	earliest(&mono_ns, fault_await_next(f));
	for (size_t i = 0; i < f->rule_count; i++) {
		if (f->file.rules[i].when.trigger == FAULT_AT_POSITION && !f->states[i].matches)
			wait_for(f, &f->file.rules[i].when, &tape_ns);
	}
	if (f->next_recorded < f->file.count)
		wait_for(f, &f->file.rules[f->next_recorded].when, &tape_ns);
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct episode *e = &f->episodes[i];

		if (e->state == EPISODE_ACTIVE && !e->events_left &&
			f->seq >= f->file.rules[e->rule].until_seq) {
			earliest(&tape_ns, e->end_tape_ns);
			earliest(&mono_ns, e->end_mono_ns);
		} else if (e->state == EPISODE_AFTER && e->hold_until_ns && e->awaited.count) {
			earliest(&mono_ns, e->hold_until_ns);
		}
	}
	*ret_tape_ns = tape_ns;
	*ret_mono_ns = mono_ns;
}

bool faults_is_holding(const struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		const struct episode *e = &f->episodes[i];

		if (e->state == EPISODE_AFTER && e->awaited.count && now->mono_ns < e->hold_until_ns)
			return true;
	}
	return fault_is_paused(f) || fault_awaits_write(f, now);
}

/* ---- events ---- */

bool fault_has_seq(const struct rule_state *s, uint64_t seq)
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

/* Mostly at the end; what a relist showed comes in another order than it was recorded in. */
void fault_note_seq(struct rule_state *s, uint64_t seq)
{
	size_t at = s->seq_count;

	if (s->seq_count == s->seq_cap) {
		s->seq_cap = s->seq_cap ? 2 * s->seq_cap : 16;
		s->seqs = xrealloc(s->seqs, s->seq_cap * sizeof(*s->seqs));
	}
	while (at > 0 && s->seqs[at - 1] > seq)
		at--;
	memmove(s->seqs + at + 1, s->seqs + at, (s->seq_count - at) * sizeof(*s->seqs));
	s->seqs[at] = seq;
	s->seq_count++;
}

bool fault_is_due(const struct fault_when *w, uint64_t n)
{
	return n >= (uint64_t)w->nth && (n - (uint64_t)w->nth) % (uint64_t)w->every == 0;
}

static int test_rule(struct faults *f, size_t i, const struct fault_now *now,
	const struct tape_resource *resource, const struct event *e, struct slice object, struct err *err)
{
	const struct fault_rule *r = &f->file.rules[i];
	struct rule_state *s = &f->states[i];
	int rc;

	if (r->when.trigger != FAULT_AT_EVENT || (r->times && s->fired >= (uint64_t)r->times))
		return 0;
	rc = predicate_test(s->predicate, resource, e, object, err);
	if (rc < 0) {
		err_prefix(err, rc, "%s", r->name);
		return rc;
	}
	f->tallies[i].matches += rc > 0;
	if (rc == 0 || !fault_is_due(&r->when, ++s->matches))
		return 0;
	if (fault_length_is_per_event(r))
		fault_note_seq(s, e->seq);
	if (r->when.moment == FAULT_AFTER && !fault_length_is_per_event(r))
		s->pending = true;
	else
		fire_at_event(f, i, now, e);
	return 0;
}

int faults_before(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct event *e, struct slice object, struct err *err)
{
	int rc = 0;

	fault_state_of(f, resource);
	faults_tick(f, now);
	for (size_t i = 0; i < f->rule_count && rc == 0; i++)
		rc = test_rule(f, i, now, resource, e, object, err);
	return rc;
}

static void count_event(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct event *e)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		struct episode *ep = &f->episodes[i];

		if (ep->state != EPISODE_ACTIVE || !ep->events_left ||
			!fault_matches_event(&f->file.rules[ep->rule].where, resource, e))
			continue;
		if (--ep->events_left == 0)
			end_episode(f, ep, now);
	}
}

void faults_after(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct event *e, uint64_t rv)
{
	struct resource_state *state = fault_state_of(f, resource);

	if (rv > state->last_rv)
		state->last_rv = rv;
	state->applied++;
	f->applied++;
	count_event(f, now, resource, e);
	for (size_t i = 0; i < f->rule_count; i++) {
		if (!f->states[i].pending)
			continue;
		f->states[i].pending = false;
		fire_at_event(f, i, now, e);
	}
	faults_tick(f, now);
}
