/* fault_tally.c: see fault_tally.h. */
#include "replayer/fault/fault_tally.h"

#include "replayer/fault/fault_internal.h"

#include <stdlib.h>

const struct fault_tally *faults_tally(const struct faults *f, size_t rule)
{
	return &f->tallies[rule];
}

void faults_inherit(struct faults *f, const struct faults *before)
{
	size_t count = before->rule_count < f->rule_count ? before->rule_count : f->rule_count;

	for (size_t i = 0; i < count; i++)
		f->tallies[i] = before->tallies[i];
}

void faults_count_watch(struct faults *f, size_t rule)
{
	if (rule < f->rule_count)
		f->tallies[rule].watches++;
}

void faults_count_request(struct faults *f, size_t rule)
{
	if (rule < f->rule_count)
		f->tallies[rule].requests++;
}

static bool closes_the_door(const struct fault_rule *r)
{
	return r->what.act == FAULT_REFUSE || r->what.act == FAULT_PAUSE ||
	       (r->what.act == FAULT_NOTHING && r->during.act == FAULT_REFUSE);
}

bool faults_has_struck(const struct faults *f, size_t rule)
{
	const struct fault_tally *t = &f->tallies[rule];

	return t->watches || t->requests || t->frames ||
	       (t->happened && closes_the_door(&f->file.rules[rule]));
}

/* ---- why not ---- */

static char *names_of(const struct fault_where *w)
{
	char *names = xstrdup(w->resource.items[0]);

	for (size_t i = 1; i < w->resource.count; i++) {
		char *longer = xasprintf("%s, %s", names, w->resource.items[i]);

		free(names);
		names = longer;
	}
	return names;
}

static char *no_resource(const struct fault_where *w)
{
	char *names = names_of(w), *why = xasprintf("nobody asked for %s", names);

	free(names);
	return why;
}

/* The part of the scope that nobody fitted; NULL: each of them somebody did. */
static char *missing_part(const struct fault_where *w, unsigned seen)
{
	if (!(seen & PART_CLIENT))
		return xasprintf("no client matched '%s'", w->client);
	if (!(seen & PART_CREDENTIAL))
		return xstrdup("no request bore its credential");
	if (!(seen & PART_RESOURCE))
		return no_resource(w);
	if (!(seen & PART_NAMESPACE))
		return *w->namespace ? xasprintf("nobody asked in the namespace '%s'", w->namespace)
				     : xstrdup("nobody asked over all namespaces");
	return seen & PART_KIND ? NULL : xstrdup("no request was of the kinds that it is for");
}

static char *why_nobody(const struct fault_rule *r, const struct fault_tally *t)
{
	char *part = r->where.resource.count || !fault_where_is_all(&r->where)
			     ? missing_part(&r->where, t->seen)
			     : NULL;

	if (part)
		return part;
	if (fault_ends_streams(r->what.act))
		return xstrdup("no watch in its scope was open when it happened");
	if (r->what.act == FAULT_RESTART)
		return xstrdup("the command had ended");
	if (fault_touches_frames(r->what.act))
		return xstrdup("no watch in its scope was sent such an event");
	if (r->what.act == FAULT_NOTHING && r->during.act == FAULT_NOTHING && r->compaction)
		return xstrdup("nobody resumed from before its end");
	return xstrdup("no request in its scope came while it lasted");
}

static char *why_no_watch(const struct fault_rule *r, const struct fault_tally *t)
{
	char *part = t->opened ? NULL : missing_part(&r->where, t->seen);

	if (part)
		return part;
	if (t->opened < (uint64_t)r->when.connection)
		return xasprintf("it is for number %lld of the watches that a client opens in its scope, and "
				 "there were %llu",
			(long long)r->when.connection, (unsigned long long)t->opened);
	return xstrdup("the watch that it is for ended, or was not sent enough, before its time came");
}

static char *why_no_event(const struct fault_rule *r, const struct fault_tally *t)
{
	if (t->matches == 0)
		return xstrdup("no event matched");
	if (t->matches < (uint64_t)r->when.nth)
		return xasprintf("it is for number %lld of the events that match, and there were %llu",
			(long long)r->when.nth, (unsigned long long)t->matches);
	return xasprintf("chance spared all %llu events that matched", (unsigned long long)t->matches);
}

static char *why_no_write(const struct fault_rule *r, const struct fault_tally *t)
{
	if (t->matches == 0)
		return xasprintf("nobody wrote so: '%s'%s%s", r->when.write, r->when.since ? " since " : "",
			r->when.since ? r->when.since : "");
	if (t->matches < (uint64_t)r->when.nth)
		return xasprintf("it is for number %lld of the writes that match, and there were %llu",
			(long long)r->when.nth, (unsigned long long)t->matches);
	return xasprintf("chance spared all %llu writes that matched", (unsigned long long)t->matches);
}

static char *why_not_happened(const struct fault_rule *r, const struct fault_tally *t)
{
	switch (r->when.trigger) {
	case FAULT_AT_EVENT: return why_no_event(r, t);
	case FAULT_AT_CONNECTION: return why_no_watch(r, t);
	case FAULT_AT_WRITE: return why_no_write(r, t);
	default: return t->matches ? xstrdup("chance spared it") : xasprintf("'%s' did not come", r->when.at);
	}
}

char *faults_why_not(const struct faults *f, size_t rule, uint64_t seq, uint64_t until_seq)
{
	const struct fault_rule *r = &f->file.rules[rule];
	const struct fault_tally *t = &f->tallies[rule];
	char *why = t->happened ? why_nobody(r, t) : why_not_happened(r, t), *sentence;

	if (t->happened)
		sentence = xasprintf("fault '%s' struck nobody: %s", r->name, why);
	else if (seq < until_seq)
		sentence = xasprintf(
			"fault '%s' was not reached: the replay ended at event %llu of %llu, and until "
			"then %s",
			r->name, (unsigned long long)seq, (unsigned long long)until_seq, why);
	else
		sentence = xasprintf("fault '%s' has not happened: %s", r->name, why);
	free(why);
	return sentence;
}
