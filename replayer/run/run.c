/* run.c: see run.h. */
#include "replayer/run/run.h"

#include "replayer/run/run_left.h"
#include "replayer/world/player.h"
#include "schema/base/clock.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"
#include "schema/base/version.h"
#include "schema/tape/redact.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_MAX_BYTES 200
#define PENDING_MAX    65536 /* of one turn of the loop; further ones count as out at once */

struct run_pending {
	struct run_client *client;
	uint64_t request, seq;
	int64_t due_ns;
	enum event_type type;
};

struct run *run_new(void)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->begin_ns = clock_mono_ns(&clock_system);
	r->wall_ns = clock_wall_ns(&clock_system);
	r->due_ns = RUN_NO_TIME;
	return r;
}

void run_free(struct run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->client_count; i++)
		free(r->clients[i].name);
	redactor_close(r->redactor);
	free(r->pending);
	free(r);
}

struct run_client *run_client_of(struct run *r, const struct http_request *request)
{
	struct slice agent = http_header_find(request, "User-Agent");
	struct run_client *c;

	if (agent.len > NAME_MAX_BYTES)
		agent.len = NAME_MAX_BYTES;
	for (size_t i = 0; i < r->client_count; i++) {
		if (slice_is(agent, r->clients[i].name))
			return &r->clients[i];
	}
	if (r->client_count == RUN_CLIENTS_MAX)
		return &r->clients[RUN_CLIENTS_MAX - 1];
	c = &r->clients[r->client_count++];
	c->name = r->client_count == RUN_CLIENTS_MAX ? xstrdup("(others)") : slice_dup(agent);
	return c;
}

static int64_t wall_of(const struct run *r, int64_t mono_ns)
{
	return r->wall_ns + (mono_ns - r->begin_ns);
}

static void fill_place(const struct run *r, int64_t *ret_tape_ns, uint64_t *ret_seq)
{
	*ret_tape_ns = r->player ? player_tape_ns(r->player) : RUN_NO_TIME;
	*ret_seq = r->world ? r->world->seq : 0;
}

/* ---- requests ---- */

struct run_request *run_request_hold(struct run_request *q)
{
	if (q)
		q->holders++;
	return q;
}

void run_request_release(struct run_request *q)
{
	if (!q || --q->holders)
		return;
	buf_release(&q->body);
	free(q);
}

static void on_over(void *context, const struct exchange *x, bool whole)
{
	struct run_request *q = context;
	struct run *r = q->run;
	int64_t now_ns = clock_mono_ns(&clock_system);

	run_file_answer(r->file, &(struct run_answer_row){.request = q->id,
					 .time_ns = wall_of(r, now_ns),
					 .duration_ns = now_ns - q->begin_ns,
					 .status = x->status,
					 .whole = whole,
					 .events = q->events,
					 .bytes = x->body_bytes});
	run_request_release(q);
}

/* The replay goes on without the file; its exit code will tell again. */
static void tell_failure(struct run *r)
{
	struct err err;

	if (r->told_failure || !run_file_has_failed(r->file, &err))
		return;
	r->told_failure = true;
	log_error("%s; the replay goes on, nothing more is stored", err.text);
}

/* Tokens of control requests are nobody's to read. */
static struct slice stored_path(const struct http_request *request, const struct query *query)
{
	struct slice rest = request->target;

	return query_has(query, "token") ? slice_cut(&rest, '?') : rest;
}

struct run_request *run_request_begin(
	struct run *r, struct run_client *client, struct exchange *x, const struct run_question *q)
{
	char verb[RUN_VERB_BYTES];
	struct run_request *stored;
	struct run_request_row row = {.id = ++r->next_id,
		.client = slice_of(client->name),
		.method = q->request->method,
		.path = stored_path(q->request, q->query),
		.what = run_resource_of(q->what),
		.rv = query_get(q->query, "resourceVersion"),
		.seen_seq = client->seen_seq,
		.seen_rv = client->seen_rv,
		.latency_ns = RUN_NO_TIME};

	if (!r->file)
		return NULL;
	tell_failure(r);
	stored = xmalloc(sizeof(*stored));
	*stored = (struct run_request){r, client, row.id, clock_mono_ns(&clock_system), .holders = 1};
	row.verb = slice_of(run_verb(q->request->method, q->verb, verb));
	row.time_ns = wall_of(r, stored->begin_ns);
	if (client->seen_seq)
		row.latency_ns = stored->begin_ns - client->seen_ns;
	fill_place(r, &row.tape_time_ns, &row.seq);
	buf_init(&stored->body, RUN_BODY_BYTES);
	if (q->body->bytes.len && q->what->kind == API_PATH_RESOURCE)
		stored->secret = run_clean_body(r->redactor, q->what, q->body, &stored->body);
	row.body = buf_slice(&stored->body);
	if (row.rv.len == 0)
		row.rv = run_version_in(row.body);
	run_file_request(r->file, &row);
	x->over = on_over;
	x->over_context = stored;
	return stored;
}

struct slice run_request_body(const struct run_request *request)
{
	return request ? buf_slice(&request->body) : (struct slice){NULL, 0};
}

/* ---- deliveries ---- */

static void run_store(struct run *r, const struct run_pending *p, int64_t out_ns)
{
	bool due = p->due_ns != RUN_NO_TIME;

	if (p->seq == p->client->seen_seq)
		p->client->seen_ns = out_ns;
	run_file_delivery(r->file, &(struct run_delivery_row){.request = p->request,
					   .seq = p->seq,
					   .type = slice_of(event_type_name(p->type)),
					   .due_ns = due ? wall_of(r, p->due_ns) : RUN_NO_TIME,
					   .out_ns = wall_of(r, out_ns)});
}

void run_told(
	struct run *r, struct run_client *client, struct run_request *request, const struct run_event *e)
{
	struct run_pending p;

	client->events++;
	client->seen_seq = e->seq;
	client->seen_rv = e->rv;
	if (!request)
		return;
	request->events++;
	p = (struct run_pending){client, request->id, e->seq, r->due_ns, e->type};
	if (r->due_ns == RUN_NO_TIME || r->pending_count == PENDING_MAX) {
		run_store(r, &p, clock_mono_ns(&clock_system));
		return;
	}
	if (r->pending_count == r->pending_cap) {
		r->pending_cap = r->pending_cap ? 2 * r->pending_cap : 64;
		r->pending = xrealloc(r->pending, r->pending_cap * sizeof(*r->pending));
	}
	r->pending[r->pending_count++] = p;
}

void run_sent(struct run *r, struct run_client *client, struct run_request *request, const struct change *c,
	enum event_type type)
{
	run_told(r, client, request, &(struct run_event){c->tape_seq ? c->tape_seq : c->seq, c->rv, type});
}

void run_flushed(struct run *r, int64_t out_ns)
{
	if (r->pending_count)
		tell_failure(r);
	for (size_t i = 0; i < r->pending_count; i++)
		run_store(r, &r->pending[i], out_ns);
	r->pending_count = 0;
}

void run_delivered(struct run *r, int64_t due_ns, int64_t out_ns, uint64_t watches)
{
	r->events += watches;
	histogram_add(&r->late, out_ns - due_ns, watches);
}

/* ---- writes and faults ---- */

bool run_is_work(struct slice resource)
{
	return !slice_is(resource, "leases") && !slice_is(resource, "events");
}

void run_is_unfinished(struct run *r)
{
	r->unfinished.ns = clock_mono_ns(&clock_system);
	r->unfinished.asked = r->asked;
}

static uint64_t hash_of(struct slice text)
{
	return hash_add(HASH_EMPTY, text);
}

void run_is_struck(struct run *r, struct slice resource, struct slice name)
{
	if (!run_is_work(resource))
		return;
	r->struck.ns = clock_mono_ns(&clock_system);
	r->struck.resource = hash_of(resource);
	r->struck.name = hash_of(name);
}

void run_asked(struct run *r, const struct api_path *what, enum verb verb)
{
	bool is_one = what->name.len || verb_is_write(verb);
	bool is_it = r->struck.name == HASH_EMPTY || r->struck.name == hash_of(what->name);

	r->asked++;
	pace_note(&r->pace, clock_mono_ns(&clock_system));
	if (r->struck.ns && is_one && is_it && r->struck.resource == hash_of(what->resource))
		r->struck.ns = 0;
}

/* Many programs create an object that may exist already, or delete one that may not exist, to be sure that it is there or gone.
 * Neither has failed then. */
static bool has_failed(const struct run_write_row *row)
{
	bool is_there = row->status == 409 && slice_is(row->verb, "create");
	bool is_gone = row->status == 404 && slice_is(row->verb, "delete");

	return row->status >= 400 && !is_there && !is_gone;
}

/* Programs rest longer each time that they fail, so what fails after a fault has struck is waited for as that is. */
static void expect_another(struct run *r, const struct run_write_row *row)
{
	bool is_in_vain = row->status == 409 || row->status == 429 || row->status >= 500;
	bool was_struck = r->struck.resource != 0;

	if (was_struck && is_in_vain)
		run_is_struck(r, row->what.resource,
			slice_is(row->verb, "create") ? (struct slice){0} : row->what.name);
	else
		run_is_unfinished(r);
}

void run_write(struct run *r, struct run_request *request, struct run_write_row *row)
{
	r->writes++;
	if (run_is_work(row->what.resource)) {
		r->work++;
		if (has_failed(row))
			expect_another(r, row);
	}
	if (!r->file)
		return;
	row->time_ns = wall_of(r, clock_mono_ns(&clock_system));
	fill_place(r, &row->tape_time_ns, &row->seq);
	if (request) {
		row->request = request->id;
		row->client = slice_of(request->client->name);
	}
	run_file_write(r->file, row);
	if (request)
		buf_release(&request->body);
}

void run_fault(struct run *r, const struct run_request *request, struct run_fault_row *row)
{
	r->faults++;
	if (!r->file)
		return;
	row->time_ns = wall_of(r, clock_mono_ns(&clock_system));
	fill_place(r, &row->tape_time_ns, &row->seq);
	if (request)
		row->request = request->id;
	run_file_fault(r->file, row);
}

/* ---- the whole ---- */

static void fact_number(struct run_file *f, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	run_file_fact(f, name, text);
}

int run_store_begin(struct run *r, const char *path, const struct run_facts *f, struct err *err)
{
	char *tape;
	char speed[32] = "max";
	int rc = redactor_of_tape(f->tape, f->secrets_key, &r->redactor, err);

	if (rc == 0)
		rc = run_file_open(path, &r->file, err);
	if (rc)
		return rc;
	tape = realpath(f->tape, NULL);
	if (f->speed > SPEED_MAX)
		snprintf(speed, sizeof(speed), "%g", f->speed);
	run_file_fact(r->file, "kubetape", KUBETAPE_VERSION);
	run_file_fact(r->file, "tape", tape ? tape : f->tape);
	run_file_fact(r->file, "speed", speed);
	fact_number(r->file, "first_seq", f->first_seq);
	fact_number(r->file, "last_seq", f->last_seq);
	fact_number(r->file, "begin_ns", (uint64_t)r->wall_ns);
	if (f->rebased)
		fact_number(r->file, "rebased", 1);
	free(tape);
	return 0;
}

void run_store_probe(struct run *r, const char *text, int exit_code)
{
	if (!r->file)
		return;
	run_file_fact(r->file, "probe", text);
	fact_number(r->file, "probe_exit_code", (uint64_t)exit_code);
}

void run_store_probe_on_the_way(struct run *r, const char *text, int exit_code)
{
	const struct run_probe_row row = {.time_ns = wall_of(r, clock_mono_ns(&clock_system)),
		.seq = r->world->seq,
		.output = slice_of(text),
		.exit_code = exit_code};

	if (r->file)
		run_file_probe(r->file, &row);
}

void run_store_memory(struct run *r, uint64_t bytes)
{
	if (r->file)
		fact_number(r->file, "memory_bytes", bytes);
}

void run_store_killed(struct run *r)
{
	if (r->file)
		fact_number(r->file, "killed_ns", (uint64_t)wall_of(r, clock_mono_ns(&clock_system)));
}

void run_store_left(struct run *r)
{
	char *left, *shown;

	if (!r->file || r->told_left)
		return;
	left = run_left(r->world, r->redactor);
	shown = run_shown(r->world);
	run_file_fact(r->file, "left", left);
	if (shown)
		run_file_fact(r->file, "shown", shown);
	r->told_left = true;
	free(shown);
	free(left);
}

void run_store_quiet(struct run *r)
{
	if (!r->file)
		return;
	fact_number(r->file, "quiet_ns", (uint64_t)wall_of(r, clock_mono_ns(&clock_system)));
	run_store_left(r);
}

int run_store_end(struct run *r, uint64_t seq, int exit_code, const char *ended_by, struct err *err)
{
	struct run_file *file = r->file;

	if (!file)
		return 0;
	r->file = NULL;
	fact_number(file, "end_ns", (uint64_t)wall_of(r, clock_mono_ns(&clock_system)));
	fact_number(file, "ended_seq", seq);
	fact_number(file, "exit_code", (uint64_t)exit_code);
	run_file_fact(file, "ended_by", ended_by);
	return run_file_close(file, err);
}
