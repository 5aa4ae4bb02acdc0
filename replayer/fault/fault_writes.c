/*
 * fault_writes.c: what becomes of writes, what happens at them, and which versions of objects they have made.
 * See fault_writes.h and fault_internal.h.
 */
#include "replayer/fault/fault_writes.h"
#include "replayer/fault/fault_internal.h"

#include <stdlib.h>

/* ---- versions that were written ---- */

const struct fault_version *fault_version_find(const struct faults *f, uint64_t seq)
{
	size_t low = 0, high = f->version_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->versions[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->version_count && f->versions[low].seq == seq ? &f->versions[low] : NULL;
}

/* How many there were when the event after that one came. */
static size_t count_versions(const struct faults *f, uint64_t position)
{
	size_t i = f->version_count;

	while (i > 0 && f->versions[i - 1].position > position)
		i--;
	return i;
}

uint64_t fault_version_as_of(const struct faults *f, const struct fault_what *what)
{
	size_t end = count_versions(f, what->as_of_seq), shown = end;

	if (what->before_write)
		shown = what->as_of_seq ? count_versions(f, what->as_of_seq - 1) : 0;
	for (int64_t nth = 0; shown < end; shown++) {
		if (!f->versions[shown].is_tapes && ++nth == what->before_write)
			break;
	}
	return shown ? f->versions[shown - 1].seq : 0;
}

/* The older half goes when there are too many. */
static struct fault_version *new_version(struct faults *f)
{
	size_t half = FAULT_VERSIONS_MAX / 2;

	if (f->version_count == FAULT_VERSIONS_MAX) {
		memmove(f->versions, f->versions + half, half * sizeof(*f->versions));
		f->version_count = half;
	}
	if (f->version_count == f->version_cap) {
		f->version_cap = f->version_cap ? 2 * f->version_cap : 64;
		f->versions = xrealloc(f->versions, f->version_cap * sizeof(*f->versions));
	}
	return &f->versions[f->version_count++];
}

void faults_write_version(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct fault_written *what)
{
	struct resource_state *state = fault_state_of(f, resource);

	*new_version(f) = (struct fault_version){.seq = what->seq,
		.position = now->seq,
		.applied = f->applied,
		.tape_ns = now->tape_ns,
		.mono_ns = now->mono_ns,
		.is_tapes = what->is_tapes};
	if (what->rv > state->last_rv)
		state->last_rv = what->rv;
	for (size_t i = 0; i < f->rule_count; i++) {
		struct rule_state *rule = &f->states[i];

		if (what->is_tapes ? fault_has_seq(rule, now->seq) : rule->per_write)
			fault_note_seq(rule, what->seq);
	}
}

/* ---- rules that happen at a write ---- */

static bool is_since(const struct fault_when *w, const struct fault_now *now)
{
	return !w->since || (now->tape_ns >= w->since_ns && now->seq >= w->since_seq);
}

static bool is_of_kind(const struct fault_kind_of_write *k, const struct fault_write *w)
{
	if (!(k->verbs >> w->verb & 1) || (k->resource.count == 0 && w->aside))
		return false;
	return fault_matches_names(&k->resource, k->meant, k->meant_count, w->resource) &&
	       (!k->subresource || slice_is(w->subresource, k->subresource));
}

/* The write itself is struck, or the command that wrote. */
static bool strikes_writer(const struct fault_rule *r)
{
	return fault_strikes_writes(r->what.act) || r->what.act == FAULT_RESTART;
}

/* `where` says of which watches, or, where the writer is struck, which that is. */
static bool is_written_by(const struct fault_rule *r, const struct fault_write *w)
{
	return !strikes_writer(r) || fault_matches_writer(&r->where, w->request);
}

static void fire_at_write(struct faults *f, size_t rule, const struct fault_now *now)
{
	const struct fault_occasion occasion = {.a = f->states[rule].matches};

	fault_fire(f, rule, now, &occasion);
}

/* The first rule that has something for the write counts. */
static void answer_write(const struct faults *f, size_t rule, struct fault_write_answer *ret)
{
	const struct fault_rule *r = &f->file.rules[rule];

	if (ret->what || !strikes_writer(r))
		return;
	*ret = (struct fault_write_answer){.what = &r->what,
		.rule_index = rule,
		.done_first = r->when.moment == FAULT_AFTER || r->what.act == FAULT_WRITE_LATE};
}

static void test_write(struct faults *f, size_t i, const struct fault_now *now, const struct fault_write *w,
	struct fault_write_answer *ret)
{
	const struct fault_rule *r = &f->file.rules[i];
	struct rule_state *s = &f->states[i];
	uint64_t fired = s->fired;

	if (r->when.trigger != FAULT_AT_WRITE || (r->times && s->fired >= (uint64_t)r->times) ||
		!is_since(&r->when, now) || !is_of_kind(&r->when.written, w) || !is_written_by(r, w))
		return;
	f->tallies[i].matches++;
	if (!fault_is_due(&r->when, ++s->matches))
		return;
	s->per_write = fault_length_is_per_event(r);
	s->pending = r->when.moment == FAULT_AFTER && !s->per_write && !strikes_writer(r);
	if (!s->pending)
		fire_at_write(f, i, now);
	if (s->fired != fired)
		answer_write(f, i, ret);
}

void faults_write_begins(struct faults *f, const struct fault_now *now, const struct fault_write *w,
	struct fault_write_answer *ret)
{
	*ret = (struct fault_write_answer){0};
	faults_tick(f, now);
	for (size_t i = 0; i < f->rule_count; i++)
		test_write(f, i, now, w, ret);
}

void faults_write_ends(struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->rule_count; i++) {
		if (f->file.rules[i].when.trigger != FAULT_AT_WRITE)
			continue;
		f->states[i].per_write = false;
		if (!f->states[i].pending)
			continue;
		f->states[i].pending = false;
		fire_at_write(f, i, now);
	}
}

/* ---- waiting for one ---- */

static bool may_await(const struct faults *f, size_t i)
{
	const struct fault_when *w = &f->file.rules[i].when;

	return w->trigger == FAULT_AT_WRITE && w->await_ns && f->states[i].matches < (uint64_t)w->nth;
}

void fault_await_begin(struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->rule_count; i++) {
		struct rule_state *s = &f->states[i];

		if (may_await(f, i) && !s->await_until_ns && is_since(&f->file.rules[i].when, now))
			s->await_until_ns = fault_later(now->mono_ns, f->file.rules[i].when.await_ns);
	}
}

bool fault_awaits_write(const struct faults *f, const struct fault_now *now)
{
	for (size_t i = 0; i < f->rule_count; i++) {
		if (may_await(f, i) && now->mono_ns < f->states[i].await_until_ns)
			return true;
	}
	return false;
}

int64_t fault_await_next(const struct faults *f)
{
	int64_t next_ns = INT64_MAX;

	for (size_t i = 0; i < f->rule_count; i++) {
		int64_t until_ns = may_await(f, i) ? f->states[i].await_until_ns : 0;

		if (until_ns && until_ns < next_ns)
			next_ns = until_ns;
	}
	return next_ns;
}
