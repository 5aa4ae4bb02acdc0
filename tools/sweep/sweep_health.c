/* sweep_health.c: see sweep_health.h. */
#include "tools/sweep/sweep_health.h"

#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/visible.h"
#include "schema/run/run_schema.h"

#include <stdlib.h>

#define SHOWN_BYTES     90
#define ASKS_IN_SILENCE 4 /* a program that asks so often in the time of quiet is one that goes on asking */

/* The program was quiet for the time of --settle: a watch that had ended before did not come back in all of it. */
static const char watches_sql[] =
	"SELECT DISTINCT path FROM requests, (SELECT CAST(value AS INTEGER) AS quiet_ns FROM run WHERE name = 'quiet_ns')"
	" WHERE " RUN_IS_WATCH
	" AND time_ns <= quiet_ns AND (end_ns IS NULL OR end_ns >= quiet_ns - :settle_ns)";

static const char open_sql[] =
	"SELECT path FROM requests, (SELECT CAST(value AS INTEGER) AS quiet_ns FROM run WHERE name = 'quiet_ns')"
	" WHERE " RUN_IS_WATCH " AND time_ns <= quiet_ns AND (end_ns IS NULL OR end_ns > quiet_ns)";

/* Many programs begin to watch when they first need to: in this run it may not have come to that, or not again after
 * it was started again. */
static const char asked_sql[] =
	"SELECT DISTINCT path FROM requests, (SELECT coalesce(max(time_ns), 0) AS started_ns FROM faults WHERE step = 'restart')"
	" WHERE verb IN ('list', 'watch') AND time_ns > started_ns";

static const char facts_sql[] =
	"SELECT quiet_ns, quiet_ns - (SELECT max(time_ns) FROM requests"
	"  WHERE time_ns <= quiet_ns AND coalesce(resource, '') NOT IN ('leases', 'events')),"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'memory_bytes'),"
	" (SELECT value FROM run WHERE name = 'killed_ns')"
	" FROM (SELECT CAST(value AS INTEGER) AS quiet_ns FROM run WHERE name = 'quiet_ns')";

static const char served_sql[] =
	"SELECT seq, time_ns, coalesce(output, '') || '(exit code ' || exit_code || ')' FROM probes AS p"
	" WHERE NOT EXISTS (SELECT 1 FROM faults AS b WHERE b.step = 'begins' AND b.time_ns <= p.time_ns AND NOT EXISTS"
	"  (SELECT 1 FROM faults AS e WHERE e.step = 'ends' AND e.rule = b.rule AND e.episode = b.episode"
	"   AND e.time_ns <= p.time_ns)) ORDER BY probe";

/* What is refused is tried again by everybody. Who waits before opening again what the fault ended does not know what it is to
 * do meanwhile, and may do it again and again. */
static const char listed_sql[] =
	"WITH over AS (SELECT coalesce(max(time_ns), 0) AS at FROM faults WHERE step = 'ends'),"
	" struck AS (SELECT DISTINCT r.apigroup, r.resource, r.namespace FROM requests AS r JOIN faults AS f USING (request)"
	"  WHERE f.step = 'watch'),"
	" back AS (SELECT min(r.time_ns) AS at FROM requests AS r, over, struck AS s WHERE " RUN_IS_WATCH
	"  AND r.time_ns > over.at AND r.apigroup = s.apigroup AND r.resource = s.resource AND r.namespace IS s.namespace"
	"  AND r.request NOT IN (SELECT request FROM faults WHERE step = 'request' AND what <> 'wait' AND request IS NOT NULL)"
	"  GROUP BY r.apigroup, r.resource, r.namespace)"
	" SELECT path FROM requests WHERE verb = 'list' AND status = 200 AND path NOT LIKE '%continue=%'"
	" AND time_ns > (SELECT max(at) FROM (SELECT at FROM over UNION ALL SELECT at FROM back))";

/* ---- reading ---- */

static bool is_selector(struct slice parameter)
{
	return slice_begins(parameter, "labelSelector=") || slice_begins(parameter, "fieldSelector=");
}

/* The path without what differs from request to request. */
static char *watch_name(struct slice path)
{
	struct slice parameters = path, place = slice_cut(&parameters, '?');
	char *name = slice_dup(place);
	const char *sign = "?";

	while (parameters.len) {
		struct slice parameter = slice_cut(&parameters, '&');
		char *longer;

		if (!is_selector(parameter))
			continue;
		longer = xasprintf("%s%s%.*s", name, sign, (int)parameter.len, parameter.ptr);
		free(name);
		name = longer;
		sign = "&";
	}
	return name;
}

static bool has_name(char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool has_watch(const struct sweep_health *h, const char *name)
{
	return has_name(h->watches, h->watch_count, name);
}

static void add_name(char ***names, size_t *count, struct slice path)
{
	char *name = watch_name(path);

	if (has_name(*names, *count, name)) {
		free(name);
		return;
	}
	*names = xrealloc(*names, (*count + 1) * sizeof(**names));
	(*names)[(*count)++] = name;
}

static int on_watch(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_health *h = context;

	(void)count;
	(void)err;
	add_name(&h->watches, &h->watch_count, v[0].bytes);
	return 0;
}

static int on_asked(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_health *h = context;

	(void)count;
	(void)err;
	add_name(&h->asked, &h->asked_count, v[0].bytes);
	return 0;
}

static struct sweep_tally *find_tally(const struct sweep_tallies *all, const char *path)
{
	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->items[i].path, path) == 0)
			return &all->items[i];
	}
	return NULL;
}

static int count_ask(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_tallies *all = context;
	char *path = watch_name(v[0].bytes);
	struct sweep_tally *tally = find_tally(all, path);

	(void)count;
	(void)err;
	if (tally) {
		free(path);
	} else {
		all->items = xgrow(all->items, all->count, sizeof(*all->items));
		tally = &all->items[all->count++];
		*tally = (struct sweep_tally){.path = path};
	}
	tally->times++;
	return 0;
}

static int on_facts(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_health *h = context;

	(void)count;
	(void)err;
	h->is_known = v[0].type == SQL_INTEGER;
	h->silence_ns = v[1].type == SQL_INTEGER ? v[1].integer : INT64_MAX;
	h->memory_bytes = v[2].type == SQL_INTEGER ? (uint64_t)v[2].integer : 0;
	h->killed = v[3].type != SQL_NULL;
	return 0;
}

static int on_served(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_health *h = context;

	(void)count;
	(void)err;
	h->served = xrealloc(h->served, (h->served_count + 1) * sizeof(*h->served));
	h->served[h->served_count++] =
		(struct sweep_served){(uint64_t)v[0].integer, v[1].integer, slice_dup(v[2].bytes)};
	return 0;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

int sweep_health_read(struct sql_session *s, int64_t settle_ns, struct sweep_health *ret, struct err *err)
{
	const struct sql_sink watches = {.row = on_watch, .context = ret};
	const struct sql_sink asked = {.row = on_asked, .context = ret};
	const struct sql_sink facts = {.row = on_facts, .context = ret};
	const struct sql_sink listed = {.row = count_ask, .context = &ret->listed};
	const struct sql_sink open = {.row = count_ask, .context = &ret->open};
	const struct sql_sink served = {.row = on_served, .context = ret};
	char settle[24];
	int rc;

	*ret = (struct sweep_health){.silence_ns = INT64_MAX};
	snprintf(settle, sizeof(settle), "%lld", (long long)settle_ns);
	sql_session_set(s, "settle_ns", settle);
	rc = sql_session_run(s, slice_of(watches_sql), &watches, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(asked_sql), &asked, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(facts_sql), &facts, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(served_sql), &served, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(listed_sql), &listed, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(open_sql), &open, err);
	ret->asks = ret->silence_ns < settle_ns / ASKS_IN_SILENCE;
	if (ret->watch_count)
		qsort(ret->watches, ret->watch_count, sizeof(*ret->watches), by_name);
	return rc;
}

static void asks_release(struct sweep_tallies *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->items[i].path);
	free(all->items);
}

void sweep_health_release(struct sweep_health *h)
{
	for (size_t i = 0; i < h->watch_count; i++)
		free(h->watches[i]);
	for (size_t i = 0; i < h->asked_count; i++)
		free(h->asked[i]);
	for (size_t i = 0; i < h->served_count; i++)
		free(h->served[i].text);
	asks_release(&h->listed);
	asks_release(&h->open);
	free(h->asked);
	free(h->watches);
	free(h->served);
	*h = (struct sweep_health){0};
}

/* ---- what is always so ---- */

/* NULL: nothing was asked at that position. */
static const char *served_at(const struct sweep_health *h, uint64_t seq)
{
	const char *text = NULL;

	for (size_t i = 0; i < h->served_count; i++)
		text = h->served[i].seq == seq ? h->served[i].text : text;
	return text;
}

static void forget_served(struct sweep_health *h, const struct sweep_health *other)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->served_count; i++) {
		const char *text = served_at(other, h->served[i].seq);

		if (text && strcmp(text, h->served[i].text) != 0)
			free(h->served[i].text);
		else
			h->served[kept++] = h->served[i];
	}
	h->served_count = kept;
}

static void learn_asks(struct sweep_tallies *all, const struct sweep_tallies *other)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct sweep_tally *also = find_tally(other, all->items[i].path);

		if (also && also->times > all->items[i].times)
			all->items[i].times = also->times;
	}
}

void sweep_health_learn(struct sweep_health *h, const struct sweep_health *other)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->watch_count; i++) {
		if (has_watch(other, h->watches[i]))
			h->watches[kept++] = h->watches[i];
		else
			free(h->watches[i]);
	}
	h->watch_count = kept;
	h->is_known &= other->is_known;
	h->killed |= other->killed;
	h->asks &= other->asks;
	if (other->memory_bytes > h->memory_bytes)
		h->memory_bytes = other->memory_bytes;
	forget_served(h, other);
	learn_asks(&h->listed, &other->listed);
	learn_asks(&h->open, &other->open);
}

/* ---- how two differ ---- */

/* Appends; what does not fit any more is left out. */
#define say(to, ...) ((void)!buf_printf(to, NULL, __VA_ARGS__))

static void say_visibly(struct buf *to, const char *text)
{
	(void)!visible_append(to, (struct slice){text, strnlen(text, SHOWN_BYTES)}, NULL);
}

/* Whether it has come to need that since it was started last. One that asked for nothing at all is no reason to forgive. */
static bool is_needed(const struct sweep_health *h, const char *watch)
{
	return !h->asked_count || has_name(h->asked, h->asked_count, watch);
}

static size_t compare_watches(
	const struct sweep_health *without, const struct sweep_health *with, struct buf *to)
{
	size_t n = 0;

	for (size_t i = 0; i < without->watch_count; i++) {
		if (has_watch(with, without->watches[i]) || !is_needed(with, without->watches[i]))
			continue;
		n++;
		say(to, "hangs: it does not watch ");
		say_visibly(to, without->watches[i]);
		say(to, " any more\n");
	}
	return n;
}

static size_t compare_memory(
	const struct sweep_health *without, const struct sweep_health *with, struct buf *to)
{
	char now[BYTES_TEXT_BYTES], before[BYTES_TEXT_BYTES];

	if (!without->memory_bytes || with->memory_bytes < SWEEP_GROWN_TIMES * without->memory_bytes ||
		with->memory_bytes - without->memory_bytes < SWEEP_GROWN_BYTES)
		return 0;
	say(to, "grew: more than %d times the memory when it is quiet (%s, without the fault %s at most)\n",
		SWEEP_GROWN_TIMES, bytes_format(now, with->memory_bytes),
		bytes_format(before, without->memory_bytes));
	return 1;
}

/* What there is too much of, if there is that much more of it. */
struct excess {
	const char *what, *how;
	uint64_t more;
};

/* As one does whose watches are refused from where it takes its lists to be. */
static const struct excess lists = {
	"lists again and again", "times after the fault, without it", SWEEP_LISTS_MORE + 1};
/* As one does that begins anew and lets its old watch go on: each event comes to it several times, and ever more often. */
static const struct excess open_watches = {
	"watches several times at once", "watches are open, without the fault", 1};

static size_t compare_tallies(const struct sweep_tallies *without, const struct sweep_tallies *with,
	const struct excess *e, struct buf *to)
{
	size_t n = 0;

	for (size_t i = 0; i < with->count; i++) {
		const struct sweep_tally *now = &with->items[i], *before = find_tally(without, now->path);

		if (!before || now->times < before->times + e->more)
			continue;
		n++;
		say(to, "%s: ", e->what);
		say_visibly(to, now->path);
		say(to, " (%llu %s: %llu)\n", (unsigned long long)now->times, e->how,
			(unsigned long long)before->times);
	}
	return n;
}

/* From the first wrong answer on, unless a right one follows within the time. */
static size_t compare_served(const struct sweep_health *without, const struct sweep_health *with,
	int64_t settle_ns, struct buf *to)
{
	const struct sweep_served *since = NULL;

	for (size_t i = 0; i < with->served_count; i++) {
		const struct sweep_served *now = &with->served[i];
		const char *right = served_at(without, now->seq);

		if (!right)
			continue;
		if (strcmp(right, now->text) == 0)
			since = NULL;
		else if (!since)
			since = now;
		if (!since || now->time_ns - since->time_ns < settle_ns)
			continue;
		say(to, "the probe prints, on the way, ");
		say_visibly(to, now->text);
		say(to, " (without the fault: ");
		say_visibly(to, right);
		say(to, "; from event %llu to %llu)\n", (unsigned long long)since->seq,
			(unsigned long long)now->seq);
		return 1;
	}
	return 0;
}

size_t sweep_health_compare(const struct sweep_health *without, const struct sweep_health *with,
	int64_t settle_ns, struct buf *to)
{
	size_t n = compare_served(without, with, settle_ns, to) +
		   compare_tallies(&without->listed, &with->listed, &lists, to);

	if (!without->is_known || !with->is_known)
		return n;
	n += compare_watches(without, with, to);
	n += compare_tallies(&without->open, &with->open, &open_watches, to);
	n += compare_memory(without, with, to);
	if (with->killed && !without->killed) {
		say(to, "hangs: it does not end when it is asked to (SIGTERM)\n");
		n++;
	}
	if (without->asks && with->silence_ns >= settle_ns) {
		say(to, "hangs: it has stopped asking (without the fault it goes on when it is quiet)\n");
		n++;
	}
	return n;
}
