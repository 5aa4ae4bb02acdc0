/*
 * gen_stream.c: gen_stream [--events N] [--seed S]: writes the watch stream of a busy cluster of 60 nodes to
 * standard output, one event a line. 120,000 events are about an hour and 400 MB.
 */
#include "tests/bench/gen.h"

#include <stdlib.h>

#define START_MS   INT64_C(1768471200000) /* 2026-01-15T10:00:00Z */
#define FIRST_RV   48211700
#define CRON_COUNT 14

static struct timer take_timer(struct gen *g)
{
	struct timer first = g->heap[0], last = g->heap[--g->heap_count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < g->heap_count) {
		struct timer *l = &g->heap[child], *r = l + 1;

		if (child + 1 < g->heap_count &&
			(r->at_ms != l->at_ms ? r->at_ms < l->at_ms : r->number < l->number))
			child++;
		if (g->heap[child].at_ms > last.at_ms ||
			(g->heap[child].at_ms == last.at_ms && g->heap[child].number > last.number))
			break;
		g->heap[at] = g->heap[child];
		at = child;
	}
	g->heap[at] = last;
	return first;
}

static struct app *random_app(struct gen *g)
{
	return &g->apps[CRON_COUNT + gen_below(g, APP_COUNT - CRON_COUNT)];
}

static void make_nodes(struct gen *g)
{
	char name[96];

	for (unsigned i = 0; i < NODE_COUNT; i++) {
		struct node *n = &g->nodes[i];

		snprintf(name, sizeof(name), "ip-10-0-%u-10.eu-central-1.compute.internal", i);
		gen_meta(g, &n->meta, "", name);
		gen_meta(g, &n->lease_meta, "kube-node-lease", name);
		n->number = i;
		n->first_image = gen_below(g, APP_COUNT);
		gen_after(g, gen_below(g, 10000), TIMER_NODE_LEASE, n);
		gen_after(g, gen_below(g, 300000), TIMER_NODE_STATUS, n);
	}
}

static void make_app(struct gen *g, unsigned number)
{
	static const char *const spaces[] = {"shop", "payments", "search", "media", "auth", "data-platform",
		"logging", "monitoring", "kube-system", "platform", "mobile-api", "reporting", "ml-serving",
		"partners"};
	static const char *const first[] = {"cart", "checkout", "invoice", "ledger", "session", "profile",
		"index", "crawler", "thumbnail", "stream", "token", "report", "gateway", "router",
		"scheduler"};
	static const char *const second[] = {"api", "worker", "frontend", "sync", "cache", "consumer",
		"exporter", "admin", "webhook", "adapter", "controller", "proxy"};
	struct app *a = &g->apps[number];
	struct replica_set *set = &a->sets[1];
	char name[96], tail[6];

	snprintf(name, sizeof(name), "%s-%s", first[number % COUNT_OF(first)],
		second[number % COUNT_OF(second)]);
	gen_meta(g, &a->meta, spaces[number % COUNT_OF(spaces)], name);
	gen_meta(g, &a->scaler_meta, a->meta.namespace, name);
	a->number = number;
	a->job = number < CRON_COUNT;
	a->containers = gen_chance(g, 82) ? 1 : gen_chance(g, 80) ? 2 : 3;
	a->env_count = gen_below(g, 5);
	a->replicas = gen_chance(g, 8) ? 10 + gen_below(g, 8) : 2 + gen_below(g, 4);
	a->revision = 10 + gen_below(g, 80);
	a->progressed_ms = a->scaled_ms = g->now_ms;
	gen_hex(g, a->digest, 64);
	gen_letters(g, set->hash, 10);
	snprintf(name, sizeof(name), "%s-%s", a->meta.name, set->hash);
	gen_meta(g, &set->meta, a->meta.namespace, name);
	set->revision = a->revision;
	set->wanted = a->replicas;
	gen_letters(g, tail, 5);
	snprintf(name, sizeof(name), "%s-%s", a->meta.name, tail);
	gen_meta(g, &a->slice_meta, a->meta.namespace, name);
}

/* What a list at the start would bring. */
static void start_app(struct gen *g, struct app *a)
{
	config_map_emit(g, a);
	secret_emit(g, a);
	if (a->job)
		return;
	app_emit(g, a, "ADDED");
	app_emit_set(g, a, &a->sets[1], "ADDED");
	app_emit_slice(g, a, "ADDED");
	for (unsigned i = 0; i < a->replicas; i++)
		pod_enter(g, app_add_pod(g, a), POD_CREATED);
	if (a->number % 4 == 0) {
		app_emit_scaler(g, a, "ADDED");
		gen_after(g, gen_below(g, 30000), TIMER_AUTOSCALER, a);
	}
	if (a->number % 3 == 0) {
		application_emit(g, a, "ADDED");
		gen_after(g, gen_below(g, 110000), TIMER_APPLICATION, a);
	}
}

static void emit_leader(struct gen *g, struct meta *m, const char *type)
{
	char holder[160];

	snprintf(holder, sizeof(holder), "%s-7d4b9c6f5-x8k2p_%s", m->name, m->uid);
	lease_emit(g, m, holder, 15, type);
}

static void serve_leader(struct gen *g, struct meta *m)
{
	emit_leader(g, m, "MODIFIED");
	gen_after(g, 2000 + gen_below(g, 30), TIMER_LEADER_LEASE, m);
}

/* What the controllers say about it. */
static void tell_owners(struct gen *g, struct pod *p)
{
	struct app *a = p->app;
	bool changed = p->state == POD_READY || p->state == POD_CRASHED;

	if (p->of_job && (p->state == POD_RUNNING || p->state == POD_DONE || p->state == POD_GONE))
		job_emit(g, p, p->state == POD_GONE ? "DELETED" : "MODIFIED");
	if (p->of_job)
		return;
	if (changed || p->state == POD_RUNNING || p->state == POD_STOPPED)
		app_emit_slice(g, a, "MODIFIED");
	if (changed) {
		app_emit_set(g, a, &a->sets[1], "MODIFIED");
		app_emit(g, a, "MODIFIED");
	}
}

static void advance_pod(struct gen *g, struct pod *p)
{
	static const enum pod_state next[] = {
		[POD_CREATED] = POD_SCHEDULED,
		[POD_SCHEDULED] = POD_CREATING,
		[POD_CREATING] = POD_RUNNING,
		[POD_RUNNING] = POD_READY,
		[POD_READY] = POD_CRASHED,
		[POD_CRASHED] = POD_BACKOFF,
		[POD_BACKOFF] = POD_RUNNING,
		[POD_DONE] = POD_TERMINATING,
		[POD_TERMINATING] = POD_STOPPED,
		[POD_STOPPED] = POD_GONE,
	};
	enum pod_state state = p->state;

	if (state == POD_CREATED)
		p->node = &g->nodes[gen_below(g, NODE_COUNT)];
	if (state == POD_BACKOFF)
		p->restarts++;
	pod_enter(g, p, p->of_job && state == POD_RUNNING ? POD_DONE : next[state]);
	tell_owners(g, p);
}

static void serve_pod(struct gen *g, struct pod *p, uint64_t timer)
{
	p->timers_running--;
	if (timer == p->timer)
		advance_pod(g, p);
	if (p->state != POD_GONE)
		return;
	if (timer == p->timer)
		app_forget_pod(p);
	if (p->timers_running == 0) {
		free(p->creator_fields);
		free(p);
	}
}

static void serve_app(struct gen *g, enum timer_kind kind, struct app *a)
{
	switch (kind) {
	case TIMER_ROLL: app_roll(g, a); break;
	case TIMER_APPLICATION:
		application_emit(g, a, "MODIFIED");
		gen_after(g, 90000 + gen_below(g, 40000), kind, a);
		break;
	case TIMER_AUTOSCALER:
		app_emit_scaler(g, a, "MODIFIED");
		gen_after(g, 15000 + gen_below(g, 45000), kind, a);
		break;
	default: break;
	}
}

static void serve_cluster(struct gen *g, enum timer_kind kind)
{
	struct app *a = random_app(g);

	switch (kind) {
	case TIMER_ROLLOUT:
		a->progressed_ms = g->now_ms;
		app_start_rollout(g, a);
		if (gen_chance(g, 20))
			secret_emit(g, a);
		gen_after(g, 6000 + gen_below(g, 5000), kind, NULL);
		break;
	case TIMER_SCALE:
		app_scale(g, a);
		gen_after(g, 5000 + gen_below(g, 20000), kind, NULL);
		break;
	case TIMER_CRON:
		job_run(g, &g->apps[g->cron_round++ % CRON_COUNT]);
		gen_after(g, 300000 / CRON_COUNT, kind, NULL);
		break;
	case TIMER_BOOKMARK:
		bookmark_emit(g, "Pod", "v1");
		bookmark_emit(g, "Node", "v1");
		bookmark_emit(g, "Deployment", "apps/v1");
		bookmark_emit(g, "Lease", "coordination.k8s.io/v1");
		gen_after(g, 60000 + gen_below(g, 1500), kind, NULL);
		break;
	default: break;
	}
}

static void serve(struct gen *g, const struct timer *t)
{
	struct node *n = t->subject;
	struct meta *m = t->subject;

	switch (t->kind) {
	case TIMER_NODE_LEASE:
		lease_emit(g, &n->lease_meta, n->meta.name, 40, "MODIFIED");
		gen_after(g, 10000 + gen_below(g, 200), t->kind, n);
		break;
	case TIMER_NODE_STATUS:
		if (gen_chance(g, 30))
			n->first_image++;
		node_emit(g, n, "MODIFIED");
		gen_after(g, gen_chance(g, 60) ? 300000 : 10000 + gen_below(g, 60000), t->kind, n);
		break;
	case TIMER_LEADER_LEASE: serve_leader(g, m); break;
	case TIMER_OPERATOR:
		operator_emit(g, m, "MODIFIED");
		gen_after(g, 20000 + gen_below(g, 60000), t->kind, m);
		break;
	case TIMER_POD: serve_pod(g, t->subject, t->number); break;
	case TIMER_EVENT_EXPIRY: event_expire(g, t->subject); break;
	case TIMER_ROLL:
	case TIMER_APPLICATION:
	case TIMER_AUTOSCALER: serve_app(g, t->kind, t->subject); break;
	default: serve_cluster(g, t->kind);
	}
}

/* Objects whose only state is who they are. */
static void make_simple(
	struct gen *g, const char *stem, unsigned count, const char *namespace, enum timer_kind kind)
{
	struct meta *all = xcalloc(count, sizeof(*all));
	char name[96];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s-%u", stem, i);
		gen_meta(g, &all[i], namespace, name);
		if (kind == TIMER_OPERATOR)
			operator_emit(g, &all[i], "ADDED");
		else
			emit_leader(g, &all[i], "ADDED");
		gen_after(g, gen_below(g, 20000), kind, &all[i]);
	}
}

static void run(struct gen *g)
{
	make_nodes(g);
	for (unsigned i = 0; i < APP_COUNT; i++)
		make_app(g, i);
	for (unsigned i = 0; i < NODE_COUNT; i++) {
		node_emit(g, &g->nodes[i], "ADDED");
		lease_emit(g, &g->nodes[i].lease_meta, g->nodes[i].meta.name, 40, "ADDED");
	}
	for (unsigned i = 0; i < APP_COUNT; i++)
		start_app(g, &g->apps[i]);
	make_simple(g, "leader", 8, "kube-system", TIMER_LEADER_LEASE);
	make_simple(g, "operator", 30, "", TIMER_OPERATOR);
	gen_after(g, 30000, TIMER_ROLLOUT, NULL);
	gen_after(g, 31000, TIMER_SCALE, NULL);
	gen_after(g, 32000, TIMER_CRON, NULL);
	gen_after(g, 60000, TIMER_BOOKMARK, NULL);
	while (g->written < g->wanted) {
		struct timer t = take_timer(g);

		g->now_ms = t.at_ms;
		serve(g, &t);
	}
}

int main(int argc, char **argv)
{
	static struct gen cluster; /* static, so that what lives until the end is no leak */
	struct gen *g = &cluster;

	*g = (struct gen){.random = 1, .wanted = 120000, .now_ms = START_MS, .rv = FIRST_RV, .out = stdout};
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--events") == 0)
			g->wanted = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0)
			g->random = strtoull(argv[i + 1], NULL, 10);
	}
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	buf_init(&g->text, TEXT_MAX);
	buf_init(&g->fields, TEXT_MAX);
	run(g);
	buf_release(&g->text);
	buf_release(&g->fields);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
