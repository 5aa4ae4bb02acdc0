/* gap_account.c: see gap_account.h. */
#include "tools/gap_account.h"

#include "schema/tape/coverage.h"

#include <stdlib.h>

struct reading {
	struct tape *tape;
	struct gap_accounts *to;
};

static char *gap_account_copy(const char *text)
{
	return xstrdup(text ? text : "");
}

static int on_gap(void *context, const struct tape_gap *gap)
{
	struct reading *r = context;
	struct gap_accounts *to = r->to;
	struct gap_account *a;

	to->items = xgrow(to->items, to->count, sizeof(*to->items));
	a = &to->items[to->count++];
	*a = (struct gap_account){.gap = *gap};
	a->gap.from_rv = gap_account_copy(gap->from_rv);
	a->gap.to_rv = gap_account_copy(gap->to_rv);
	a->gap.reason = gap_account_copy(gap->reason);
	a->gap.how_ended = gap_account_copy(gap->how_ended);
	a->stream = tape_stream_by_id(r->tape, gap->stream);
	a->resource = a->stream ? tape_resource_by_id(r->tape, a->stream->resource) : NULL;
	return 0;
}

static int on_missed(void *context, const struct tape_missed *m)
{
	struct reading *r = context;

	for (size_t i = 0; i < r->to->count; i++) {
		struct gap_account *a = &r->to->items[i];

		if (a->gap.id != m->gap)
			continue;
		a->missed = xgrow(a->missed, a->missed_count, sizeof(*a->missed));
		a->missed[a->missed_count++] = (struct gap_missed){.change = gap_account_copy(m->change),
			.namespace = slice_dup(m->namespace),
			.name = slice_dup(m->name),
			.uid = slice_dup(m->uid),
			.old_uid = slice_dup(m->old_uid),
			.rv = slice_dup(m->rv),
			.old_rv = slice_dup(m->old_rv),
			.resource = tape_resource_by_id(r->tape, m->resource)};
	}
	return 0;
}

static void count_attempt(struct gap_account *a, const char *purpose, const char *reason)
{
	size_t i = 0;

	while (i < a->attempt_count &&
		(strcmp(a->attempts[i].purpose, purpose) != 0 || strcmp(a->attempts[i].reason, reason) != 0))
		i++;
	if (i == GAP_ATTEMPT_WORDS) {
		a->attempts[i - 1].count++;
		return;
	}
	if (i == a->attempt_count) {
		bool last = i == GAP_ATTEMPT_WORDS - 1;

		a->attempts[i] = (struct gap_attempt){gap_account_copy(last ? "request" : purpose),
			gap_account_copy(last ? "other" : reason), 0};
		a->attempt_count++;
	}
	a->attempts[i].count++;
}

/* A connection of the same stream between the one that broke and the one that went on. */
static bool is_attempt(const struct gap_account *a, const struct tape_connection *c)
{
	if (c->stream != a->gap.stream || c->id == a->gap.connection_before ||
		c->id == a->gap.connection_after)
		return false;
	if (c->begin_ns < a->gap.begin_ns || !c->end_reason || strcmp(a->gap.reason, "left_out") == 0)
		return false;
	return strcmp(a->gap.how_ended, "open") == 0 || c->begin_ns <= a->gap.end_ns;
}

static int on_connection(void *context, const struct tape_connection *c)
{
	struct reading *r = context;

	for (size_t i = 0; i < r->to->count; i++) {
		struct gap_account *a = &r->to->items[i];

		if (c->id && c->id == a->gap.connection_before) {
			a->known_before = true;
			a->watched_ns = c->duration_ns;
			a->watched_events = c->events;
			a->knows_events = tape_connection_is_counted(c);
		} else if (is_attempt(a, c) && strcmp(c->end_reason, "complete") != 0) {
			count_attempt(a, c->purpose ? c->purpose : "request", c->end_reason);
		}
	}
	return 0;
}

static int compare_begin(const void *left, const void *right)
{
	const struct gap_account *a = left, *b = right;

	if (a->gap.begin_ns != b->gap.begin_ns)
		return a->gap.begin_ns < b->gap.begin_ns ? -1 : 1;
	return (a->gap.id > b->gap.id) - (a->gap.id < b->gap.id);
}

static int each_gap(struct reading *r, struct err *err)
{
	size_t states[COVERAGE_STATE_COUNT] = {0};
	struct coverage *c;
	int rc = coverage_load(r->tape, &c, err);

	if (rc)
		return rc;
	coverage_count_states(c, r->tape, states);
	r->to->untold_count = coverage_untold_count(c);
	r->to->unlisted_count = states[COVERAGE_UNLISTED];
	rc = coverage_each_gap(c, r->tape, on_gap, r, err);
	coverage_free(c);
	return rc;
}

int gap_accounts_read(struct tape *t, struct gap_accounts *ret, struct err *err)
{
	struct gap_accounts accounts = {0};
	struct reading r = {t, &accounts};
	int rc = each_gap(&r, err);

	if (rc == 0 && accounts.count)
		rc = tape_each_missed(t, on_missed, &r, err);
	if (rc == 0 && accounts.count)
		rc = tape_each_connection(t, on_connection, &r, err);
	if (rc < 0) {
		gap_accounts_release(&accounts);
		return rc;
	}
	if (accounts.count)
		qsort(accounts.items, accounts.count, sizeof(*accounts.items), compare_begin);
	*ret = accounts;
	return 0;
}

static void gap_account_release(struct gap_account *a)
{
	free((char *)a->gap.from_rv);
	free((char *)a->gap.to_rv);
	free((char *)a->gap.reason);
	free((char *)a->gap.how_ended);
	for (size_t i = 0; i < a->attempt_count; i++) {
		free(a->attempts[i].purpose);
		free(a->attempts[i].reason);
	}
	for (size_t i = 0; i < a->missed_count; i++) {
		struct gap_missed *m = &a->missed[i];

		free(m->change);
		free(m->namespace);
		free(m->name);
		free(m->uid);
		free(m->old_uid);
		free(m->rv);
		free(m->old_rv);
	}
	free(a->missed);
}

void gap_accounts_release(struct gap_accounts *a)
{
	for (size_t i = 0; i < a->count; i++)
		gap_account_release(&a->items[i]);
	free(a->items);
	*a = (struct gap_accounts){0};
}

bool gap_hid_something(const struct gap_account *a)
{
	return a->missed_count || a->gap.modified || a->gap.added || a->gap.deleted || a->gap.recreated ||
	       strcmp(a->gap.how_ended, "open") == 0;
}

bool gap_accounts_lack_something(const struct gap_accounts *a)
{
	for (size_t i = 0; i < a->count; i++) {
		if (gap_hid_something(&a->items[i]))
			return true;
	}
	return a->untold_count || a->unlisted_count;
}
