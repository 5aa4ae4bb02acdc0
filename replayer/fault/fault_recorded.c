/*
 * fault_recorded.c: see fault_recorded.h. A gap becomes one rule for the end of the watches and the
 * compaction, and one for each outcome of the attempts, from its first attempt to the next outcome's.
 */
#include "replayer/fault/fault_recorded.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/rv.h"
#include "schema/tape/reader.h"

#include <stdlib.h>

/* While other resources are served, nobody can refuse connections for one: 429 without Retry-After is what
 * clients take in the same way. */
#define REFUSED_CODE 429

struct attempt {
	int64_t begin_ns;
	bool refused;
	bool expired; /* the watch was told to list: what a list shows is known from the next one on */
	struct fault_what what; /* FAULT_NOTHING: it was answered */
};

struct recorded_gap {
	uint64_t id, begin_seq, end_seq, connection_before, connection_after, to_rv;
	uint32_t stream;
	int64_t begin_ns, end_ns; /* FAULT_FOREVER: never */
	bool relisted;
	struct fault_what how; /* the watches ended */
	char *reason;
	struct attempt *attempts;
	size_t attempt_count;
};

/* A stream begins (+1) or ends (-1) to find nobody. */
struct edge {
	int64_t ns;
	int step;
};

struct reading {
	struct tape *tape;
	struct edge *edges;
	size_t edge_count;
	struct recorded_gap *gaps;
	size_t count;
};

static struct fault_what act(enum fault_do what)
{
	return (struct fault_what){.act = what, .count = 1};
}

/* ---- reading ---- */

static bool is_own_doing(const struct tape_gap *g)
{
	static const char *const reasons[] = {"client_stop", "recorder_died", "left_out", "client_closed",
		"not_recorded", "polled", "snapshot", "state_lost"};

	for (size_t i = 0; i < COUNT_OF(reasons); i++) {
		if (strcmp(g->reason, reasons[i]) == 0)
			return true;
	}
	return strcmp(g->how_ended, "restart") == 0 || strcmp(g->how_ended, "filled") == 0;
}

static int on_gap(void *context, const struct tape_gap *g)
{
	struct reading *r = context;
	struct recorded_gap *gap;
	bool open = strcmp(g->how_ended, "open") == 0;

	if (is_own_doing(g))
		return 0;
	r->gaps = xrealloc(r->gaps, (r->count + 1) * sizeof(*r->gaps));
	gap = &r->gaps[r->count++];
	*gap = (struct recorded_gap){.id = g->id,
		.begin_seq = g->begin_seq,
		.end_seq = open ? 0 : g->end_seq,
		.connection_before = g->connection_before,
		.connection_after = g->connection_after,
		.stream = g->stream,
		.begin_ns = g->begin_ns,
		.end_ns = open ? FAULT_FOREVER : g->end_ns,
		.relisted = strcmp(g->how_ended, "relist") == 0 || strcmp(g->how_ended, "epoch") == 0,
		.how = act(FAULT_END),
		.reason = xstrdup(g->reason)};
	if (g->to_rv && !rv_to_u64(slice_of(g->to_rv), &gap->to_rv))
		gap->to_rv = 0;
	return 0;
}

/* How the watch before the gap ended, by the word and what stands beside it. */
static struct fault_what end_of(const struct tape_connection *c)
{
	const char *reason = c->end_reason ? c->end_reason : "";
	struct fault_what what = act(FAULT_FIN);

	if (strcmp(reason, "server_timeout") == 0 || strcmp(reason, "server_close_early") == 0)
		return act(FAULT_END);
	if (strncmp(reason, "error_event:", 12) == 0) {
		what = act(FAULT_ERROR);
		what.code = strtol(reason + 12, NULL, 10);
		what.status = c->error_status ? xstrdup(c->error_status) : NULL;
	} else if (strcmp(reason, "reset") == 0) {
		what.act = FAULT_RST;
	} else if (strcmp(reason, "goaway") == 0) {
		what.act = FAULT_GOAWAY;
	} else if (strcmp(reason, "h2_stream") == 0) {
		what.act = FAULT_RST_STREAM;
		what.code = c->h2_error > 0 ? c->h2_error : 0;
	} else if (c->tail.len) {
		what.act = FAULT_CUT;
		what.bytes = (int64_t)c->tail.len;
	}
	return what;
}

static bool is_word(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

static const char *const refused[] = {"refused", "dns", "connect_timeout"};

static bool was_expired(const struct tape_connection *c)
{
	return strncmp(c->end_reason, "error_event:410", 15) == 0;
}

/* What a request got: nobody there, no answer, an error; anything else was an answer. */
static struct fault_what outcome_of(const struct tape_connection *c)
{
	static const char *const unanswered[] = {
		"no_response", "tls", "h2_conn", "h2_stream", "goaway", "reset"};
	struct fault_what what = act(FAULT_NOTHING);

	if (is_word(c->end_reason, refused, COUNT_OF(refused)) || was_expired(c)) {
		what = act(FAULT_HTTP);
		what.code = REFUSED_CODE;
		return what;
	}
	if (c->http_status <= 0 && is_word(c->end_reason, unanswered, COUNT_OF(unanswered)))
		return act(FAULT_RST);
	if (strncmp(c->end_reason, "http_", 5) != 0 || c->http_status < 400 || c->http_status > 599)
		return what;
	what.act = FAULT_HTTP;
	what.code = c->http_status;
	what.retry_after_ns = c->retry_after_s > 0 ? c->retry_after_s * NS_PER_S : 0;
	if (c->error_status &&
		json_scan_object(slice_of(c->error_status), &(struct object_meta){0}, NULL) == 0)
		what.status = xstrdup(c->error_status);
	return what;
}

static bool was_refused(const struct tape_connection *c)
{
	return is_word(c->end_reason, refused, COUNT_OF(refused));
}

static bool is_attempt(const struct recorded_gap *g, const struct tape_connection *c)
{
	return c->stream == g->stream && c->id != g->connection_before && c->id != g->connection_after &&
	       c->end_reason && c->begin_ns >= g->begin_ns && c->begin_ns <= g->end_ns;
}

static int on_connection(void *context, const struct tape_connection *c)
{
	struct reading *r = context;

	for (size_t i = 0; i < r->count; i++) {
		struct recorded_gap *g = &r->gaps[i];

		if (c->id && c->id == g->connection_before) {
			free(g->how.status);
			g->how = end_of(c);
		} else if (is_attempt(g, c)) {
			g->attempts = xrealloc(g->attempts, (g->attempt_count + 1) * sizeof(*g->attempts));
			g->attempts[g->attempt_count++] =
				(struct attempt){c->begin_ns, was_refused(c), was_expired(c), outcome_of(c)};
		}
	}
	return 0;
}

static int compare_attempts(const void *left, const void *right)
{
	const struct attempt *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void fault_recorded_release(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct recorded_gap *g = &r->gaps[i];

		for (size_t k = 0; k < g->attempt_count; k++)
			free(g->attempts[k].what.status);
		free(g->attempts);
		free(g->how.status);
		free(g->reason);
	}
	free(r->gaps);
	free(r->edges);
}

/* ---- rules ---- */

static struct fault_what copy_of(const struct fault_what *what)
{
	struct fault_what copy = *what;

	copy.status = what->status ? xstrdup(what->status) : NULL;
	return copy;
}

static struct fault_rule rule_at(const struct recorded_gap *g, int64_t begin_ns, const char *name)
{
	struct fault_rule r = fault_rule_default();

	r.name = xasprintf("recorded gap %llu: %s", (unsigned long long)g->id, name);
	r.when.trigger = FAULT_AT_POSITION;
	r.when.at_ns = begin_ns;
	r.when.at_seq = g->begin_seq;
	r.during = act(FAULT_NOTHING);
	r.where.request_mask = (1u << FAULT_REQUEST_KINDS) - 1;
	return r;
}

/* Whether the tape has all of the resource only by its namespaces. */
static bool is_by_namespace(struct tape *t, uint32_t resource)
{
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		if (s->resource == resource && (!s->namespace || !*s->namespace))
			return false;
	}
	return true;
}

/* The resource in just that version, and the namespace if the stream had one. What spans all namespaces
 * breaks as well when its events come from such streams. */
static void set_scope(struct tape *t, const struct recorded_gap *g, struct fault_where *w)
{
	const struct tape_stream *s = tape_stream_by_id(t, g->stream);
	const struct tape_resource *r = s ? tape_resource_by_id(t, s->resource) : NULL;

	if (!r)
		return;
	w->resource.items = xcalloc(1, sizeof(*w->resource.items));
	w->resource.items[0] = xasprintf("%s.%s.%s", r->resource, r->version, r->apigroup);
	w->resource.count = 1;
	if (s->namespace && *s->namespace)
		w->namespace = xstrdup(s->namespace);
	w->and_wider = is_by_namespace(t, s->resource);
}

static int64_t length_between(int64_t begin_ns, int64_t end_ns)
{
	return end_ns == FAULT_FOREVER ? FAULT_FOREVER : end_ns > begin_ns ? time_sub(end_ns, begin_ns) : 0;
}

static void add_end(const struct reading *r, const struct recorded_gap *g, struct fault_file *to)
{
	struct fault_rule rule = rule_at(g, g->begin_ns, g->reason);

	set_scope(r->tape, g, &rule.where);
	rule.what = copy_of(&g->how);
	rule.for_ns = length_between(g->begin_ns, g->end_ns);
	rule.until_seq = g->end_seq;
	rule.compaction = g->relisted;
	rule.floor_rv = g->relisted ? g->to_rv : 0;
	fault_file_add_recorded(to, &rule);
}

static bool is_same(const struct attempt *a, const struct attempt *b)
{
	return a->refused == b->refused && a->expired == b->expired && a->what.act == b->what.act &&
	       a->what.code == b->what.code && a->what.retry_after_ns == b->what.retry_after_ns;
}

/* After a 410 a watch from before is told so again, because history is gone; but the state that a list would show is
 * not on the tape until the recorder listed, and the one before the gap is the wrong one. */
static void add_outcome(const struct reading *r, const struct recorded_gap *g, const struct attempt *attempt,
	int64_t begin_ns, int64_t end_ns, struct fault_file *to)
{
	const struct fault_what *what = &attempt->what;
	struct fault_rule rule;

	if (what->act == FAULT_NOTHING || begin_ns >= end_ns)
		return;
	rule = rule_at(g, begin_ns, what->act == FAULT_HTTP ? "an error" : "no answer");
	set_scope(r->tape, g, &rule.where);
	rule.what = act(FAULT_NOTHING);
	rule.during = copy_of(what);
	if (attempt->expired) {
		rule.where.request_mask = 1u << FAULT_LIST;
		rule.where.and_streaming = true;
	}
	rule.for_ns = length_between(begin_ns, end_ns);
	fault_file_add_recorded(to, &rule);
}

static void add_edges(struct reading *r, int64_t begin_ns, int64_t end_ns)
{
	r->edges = xrealloc(r->edges, (r->edge_count + 2) * sizeof(*r->edges));
	r->edges[r->edge_count++] = (struct edge){begin_ns, 1};
	r->edges[r->edge_count++] = (struct edge){end_ns, -1};
}

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : a->step - b->step;
}

/* While every stream of the tape found nobody, nobody listened. */
static void add_refusals(struct reading *r, struct fault_file *to)
{
	int streams = 0, refusing = 0;

	while (tape_stream_at(r->tape, (size_t)streams))
		streams++;
	if (r->edge_count)
		qsort(r->edges, r->edge_count, sizeof(*r->edges), compare_edges);
	for (size_t i = 0; i + 1 < r->edge_count; i++) {
		struct recorded_gap nowhere = {.begin_seq = 0};
		struct fault_rule rule;

		refusing += r->edges[i].step;
		if (refusing < streams || r->edges[i + 1].ns <= r->edges[i].ns)
			continue;
		rule = rule_at(&nowhere, r->edges[i].ns, "");
		free(rule.name);
		rule.name = xstrdup("recorded: nobody listened");
		rule.what = act(FAULT_REFUSE);
		rule.for_ns = length_between(r->edges[i].ns, r->edges[i + 1].ns);
		fault_file_add_recorded(to, &rule);
	}
}

/* The first outcome counts from the gap's beginning, each until the next one begins. */
static void add_outcomes(struct reading *r, struct recorded_gap *g, struct fault_file *to)
{
	int64_t begin_ns = g->begin_ns;

	if (g->attempt_count)
		qsort(g->attempts, g->attempt_count, sizeof(*g->attempts), compare_attempts);
	for (size_t i = 0; i < g->attempt_count; i++) {
		bool last = i + 1 == g->attempt_count;
		int64_t end_ns = last ? g->end_ns : g->attempts[i + 1].begin_ns;

		if (!last && is_same(&g->attempts[i], &g->attempts[i + 1]))
			continue;
		add_outcome(r, g, &g->attempts[i], begin_ns, end_ns, to);
		if (g->attempts[i].refused && begin_ns < end_ns)
			add_edges(r, begin_ns, end_ns);
		if (!last)
			begin_ns = end_ns;
	}
}

static int compare_rules(const void *left, const void *right)
{
	const struct fault_when *a = &((const struct fault_rule *)left)->when;
	const struct fault_when *b = &((const struct fault_rule *)right)->when;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->at_seq > b->at_seq) - (a->at_seq < b->at_seq);
}

int fault_recorded_add(struct tape *t, struct fault_file *to, struct err *err)
{
	struct reading r = {.tape = t};
	int rc = tape_each_gap(t, on_gap, &r, err);

	if (rc == 0 && r.count)
		rc = tape_each_connection(t, on_connection, &r, err);
	for (size_t i = 0; i < r.count && rc == 0; i++) {
		add_end(&r, &r.gaps[i], to);
		add_outcomes(&r, &r.gaps[i], to);
	}
	add_refusals(&r, to);
	if (to->recorded_count)
		qsort(to->rules + (to->count - to->recorded_count), to->recorded_count, sizeof(*to->rules),
			compare_rules);
	fault_recorded_release(&r);
	return rc;
}
