/* write_job.c: writes that take long, done beside the loop; see write_internal.h and offload.h. */
#include "replayer/run/run.h"
#include "replayer/serve/offload.h"
#include "replayer/write/write_internal.h"

#include <stdlib.h>

#define LONG_BODY_BYTES   (32u << 10)
#define LONG_OBJECT_BYTES (64u << 10)
#define LONG_COLLECTION   100 /* objects that a request deletes */
#define TRIES_MAX         5   /* then somebody else always was faster */

/* One write. Owned by one at a time: first the loop, then the thread, then the loop again. */
struct job {
	struct write w;
	struct api_call call;
	struct http_request request;
	struct buf texts; /* of the request */
	struct write_text text;
	bool is_begun; /* what is asked for makes sense */
	bool is_lost;  /* the replay ended before it was done */
};

/* ---- what is long ---- */

/* Bytes of the object that is changed; 0 when there is none. */
static size_t object_bytes(const struct api_call *call, const struct collection *c)
{
	const struct live *l = live_set_find(&c->live, call->path.namespace, call->path.name);
	struct slice object;

	return l && world_object(call->api->world, l->seq, &object, NULL) == 0 ? object.len : 0;
}

static size_t objects_below(const struct api_call *call, const struct collection *c)
{
	size_t begin, end;

	live_set_range(&c->live, call->path.namespace, &begin, &end);
	return end - begin;
}

bool write_is_long(const struct api_call *call, const struct collection *c)
{
	struct slice method = call->request->method;

	if (call->request->body.len > LONG_BODY_BYTES)
		return true;
	if (call->path.name.len)
		return object_bytes(call, c) > LONG_OBJECT_BYTES;
	return slice_is(method, "DELETE") && objects_below(call, c) > LONG_COLLECTION;
}

/* ---- on the thread ---- */

int write_in_world(struct write *w, int (*what)(void *context), void *context)
{
	return w->is_beside ? offload_ask(w->call->api->offload, what, context) : what(context);
}

/* From the beginning, with the object as it is now. */
static void start_again(struct job *j)
{
	struct write *w = &j->w;
	const struct view view = w->view;
	const enum write_policy policy = w->policy;
	const bool dry_run = w->dry_run;

	write_release(w);
	write_init(w, &j->call, w->c);
	w->view = view;
	w->policy = policy;
	w->dry_run = dry_run;
	w->is_beside = true;
	j->call.style.warnings = (struct slice){NULL, 0};
}

static int do_until_stored(struct job *j)
{
	int rc = write_do(&j->w);

	for (int tries = 1; rc && j->w.is_stale && tries < TRIES_MAX; tries++) {
		start_again(j);
		rc = write_do(&j->w);
	}
	if (rc && j->w.is_stale)
		write_conflict(&j->w,
			"the object has been modified; please apply your changes to the latest version and try again");
	return rc;
}

static int unpin_type(void *context)
{
	type_cache_pin(((struct job *)context)->call.api->types, NULL);
	return 0;
}

static void write_job_work(void *context)
{
	struct job *j = context;
	int rc = j->is_begun ? do_until_stored(j) : ERR_FAILED;

	if (rc == 0)
		write_print(&j->w, &j->text);
	j->is_lost = rc && !j->w.st.code;
	cJSON_Delete(j->w.old);
	j->w.old = NULL;
	if (j->w.has_type)
		(void)!write_in_world(&j->w, unpin_type, j);
}

/* ---- on the loop ---- */

static void job_free(struct job *j)
{
	run_request_release(j->call.stored);
	write_text_release(&j->text);
	write_release(&j->w);
	body_release(&j->call.body);
	query_release(&j->call.query);
	buf_release(&j->texts);
	free(j);
}

/* The client goes; what it has asked for is done. */
static void on_closed(void *owner)
{
	((struct job *)owner)->call.x = NULL;
}

static const struct exchange_owner job_owner = {.closed = on_closed};

static void done(void *context)
{
	struct job *j = context;

	j->call.api->run->under_way--;
	if (j->call.x)
		exchange_own(j->call.x, NULL, NULL);
	if (!j->is_lost && (j->w.st.code || j->w.answer))
		write_answer(&j->w, &j->text);
	job_free(j);
}

static struct job *job_new(const struct api_call *call, struct collection *c)
{
	struct job *j = xcalloc(1, sizeof(*j));

	http_request_copy(call->request, true, &j->texts, &j->request);
	j->call = *call;
	j->call.request = &j->request;
	j->call.stored = run_request_hold(call->stored);
	query_parse(j->request.target, &j->call.query);
	api_path_parse(j->call.query.path, &j->call.path);
	body_init(&j->call.body, j->request.body);
	write_init(&j->w, &j->call, c);
	write_text_init(&j->text);
	return j;
}

void write_beside(struct api_call *call, struct collection *c)
{
	struct job *j = job_new(call, c);
	const struct offload_job job = {.work = write_job_work,
		.done = done,
		.context = j,
		.bytes = http_request_bytes(call->request, true)};
	struct status st = {0};

	j->is_begun = write_begin(&j->w) == 0;
	j->w.is_beside = true;
	exchange_own(call->x, &job_owner, j);
	if (offload_start(call->api->offload, &job)) {
		call->api->run->under_way++;
		return;
	}
	exchange_own(call->x, NULL, NULL);
	job_free(j);
	st.retry_after_s = 1;
	st.has_details = true;
	status_set(&st, 429, "TooManyRequests", "Too many requests, please try again later.");
	api_fail(call, &st);
}
