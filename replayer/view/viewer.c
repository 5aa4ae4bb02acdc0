/* viewer.c: see viewer.h: who is served, the page, and the way of requests through the threads. */
#include "replayer/view/viewer.h"

#include "replayer/request/respond.h"
#include "replayer/serve/offload.h"
#include "replayer/view/assets.h"
#include "replayer/view/viewer_internal.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define PREFIX             "/_kubetape/"
#define TOKEN_RANDOM_BYTES 24
#define STEP_NS            (8 * NS_PER_MS) /* of reading on, between two requests */
#define LOOK_MS            500             /* for news of a tape that is being recorded */
#define CONNECTIONS_MAX    256

struct viewer {
	struct viewer_options options;
	struct server *server;
	struct offload *pictures, *statements; /* one thread each */
	uv_timer_t look;                       /* for news */
	bool has_timer, closes, wants_more;    /* wants_more: the last step did not reach the end */
	struct viewer_desk picture_desk, sql_desk, golden_desk;
	struct viewer_golden golden;
	char *tape, *run, *golden_run, *sweep, *host, *url, *token;
};

/* ---- answers ---- */

/* Nothing but this page's own files, no other site around it, no address given away. */
static const char csp[] = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
			  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct viewer_answer {
	int status;
	const char *type;
	bool is_gzip;
	struct slice body;
};

static void send_answer(struct exchange *x, const struct viewer_answer *a)
{
	struct http_header headers[7] = {
		{slice_of("Content-Type"), slice_of(a->type)},
		{slice_of("Cache-Control"), slice_of("no-store")},
		{slice_of("Content-Security-Policy"), slice_of(csp)},
		{slice_of("X-Content-Type-Options"), slice_of("nosniff")},
		{slice_of("Referrer-Policy"), slice_of("no-referrer")},
		{slice_of("Cross-Origin-Resource-Policy"), slice_of("same-origin")},
	};
	size_t count = 6;
	struct blob *b;

	if (a->is_gzip)
		headers[count++] = (struct http_header){slice_of("Content-Encoding"), slice_of("gzip")};
	exchange_answer(x, a->status, headers, count, (int64_t)a->body.len);
	if (a->body.len) {
		b = blob_of(a->body);
		exchange_push(x, b);
		blob_unref(b);
	}
	exchange_finish(x);
}

static void send_failure(struct exchange *x, int status, const char *sentence)
{
	struct buf json;
	struct answer_out o = {&json, NULL, 0};

	buf_init(&json, 16 * ERR_TEXT_MAX);
	answer_put(&o, "{\"status\":%d", status);
	answer_member(&o, "error", slice_of(sentence));
	answer_put(&o, "}");
	send_answer(x, &(struct viewer_answer){status, JSON_TYPE, false, buf_slice(&json)});
	buf_release(&json);
}

static int status_of_error(int code)
{
	switch (code) {
	case ERR_USAGE: return 400;
	case ERR_NOT_FOUND: return 404;
	case ERR_FAILED: return 422;
	case ERR_STOPPED: return 408;
	case ERR_TOO_LARGE: return 413;
	default: return 500;
	}
}

/* ---- jobs ---- */

static void job_free(struct viewer_job *job)
{
	query_release(&job->query);
	buf_release(&job->target);
	buf_release(&job->body);
	buf_release(&job->answer);
	free(job);
}

/* The client went, or has all of its answer. */
static void on_exchange_closed(void *owner)
{
	struct viewer_job *job = owner;

	job->x = NULL;
	if (job->is_served)
		job_free(job);
}

static const struct exchange_owner job_owner = {.closed = on_exchange_closed};

static void on_job_done(void *context)
{
	struct viewer_job *job = context;

	job->is_served = true;
	if (!job->x)
		job_free(job);
	else if (job->code)
		send_failure(job->x, status_of_error(job->code), job->err.text);
	else
		send_answer(job->x, &(struct viewer_answer){200, JSON_TYPE, false, buf_slice(&job->answer)});
}

static void serve_picture(void *context)
{
	struct viewer_job *job = context;

	viewer_answer(&job->viewer->picture_desk, job);
}

static void serve_sql(void *context)
{
	struct viewer_job *job = context;

	viewer_sql(&job->viewer->sql_desk, job);
}

static void serve_golden(void *context)
{
	struct viewer_job *job = context;

	viewer_golden(&job->viewer->sql_desk, job);
}

/* ---- reading on, in steps between the jobs ---- */

static void read_on(void *context)
{
	struct viewer *v = context;
	struct viewer_desk *d = &v->picture_desk;

	v->wants_more = !d->failure.code && picture_advance(d->picture, STEP_NS, &d->failure) > 0;
}

static void begin_step(struct viewer *v);

static void on_look(uv_timer_t *timer)
{
	begin_step(timer->data);
}

static void on_step_done(void *context)
{
	struct viewer *v = context;

	if (v->closes || v->picture_desk.failure.code)
		return;
	if (v->wants_more)
		begin_step(v);
	else
		uv_timer_start(&v->look, on_look, LOOK_MS, 0);
}

static void begin_step(struct viewer *v)
{
	const struct offload_job step = {read_on, on_step_done, v, 0};

	if (!offload_start(v->pictures, &step))
		uv_timer_start(&v->look, on_look, LOOK_MS, 0);
}

static void begin_job(struct viewer *v, void (*serve)(void *context), struct exchange *x,
	const struct http_request *r, struct slice name)
{
	struct viewer_job *job = xcalloc(1, sizeof(*job));
	const struct offload_job work = {serve, on_job_done, job, VIEWER_JOB_BYTES};
	struct err err;

	buf_init(&job->target, LIMIT_REQUEST_HEAD_BYTES);
	buf_init(&job->body, VIEWER_BODY_MAX);
	buf_init(&job->answer, LIMIT_DOCUMENT_BYTES);
	if (buf_append(&job->target, r->target.ptr, r->target.len, &err) ||
		buf_append(&job->body, r->body.ptr, r->body.len, &err)) {
		send_failure(x, 413, err.text);
		job_free(job);
		return;
	}
	query_parse(buf_slice(&job->target), &job->query);
	job->viewer = v;
	job->x = x;
	/* The same place in the copy. */
	job->name = (struct slice){job->query.path.ptr + job->query.path.len - name.len, name.len};
	exchange_own(x, &job_owner, job);
	if (!offload_start(serve == serve_picture ? v->pictures : v->statements, &work)) {
		job->is_served = true;
		send_failure(x, 503, "too many requests wait");
	}
}

/* ---- who may ask ---- */

static struct slice host_name(struct slice host)
{
	const char *colon = host.len ? memrchr(host.ptr, ':', host.len) : NULL;
	const char *bracket = host.len ? memrchr(host.ptr, ']', host.len) : NULL;

	if (colon && (!bracket || colon > bracket))
		host.len = (size_t)(colon - host.ptr);
	return host;
}

/* Under another name some site of the internet may have led a browser here. */
static bool is_our_host(const struct http_request *r)
{
	struct slice name = host_name(http_header_find(r, "Host"));

	return slice_is(name, "127.0.0.1") || slice_is(name, "localhost") || slice_is(name, "[::1]");
}

static bool is_foreign(const struct http_request *r)
{
	struct slice origin = http_header_find(r, "Origin");
	struct slice site = http_header_find(r, "Sec-Fetch-Site");

	if (slice_is(site, "cross-site") || slice_is(site, "same-site"))
		return true;
	return origin.len &&
	       (!slice_skip(&origin, "http://") || !slice_equal_nocase(origin, http_header_find(r, "Host")));
}

/* In time that does not tell how much of it is right. */
static bool is_equal(struct slice found, const char *token)
{
	unsigned char other = 0;

	if (found.len != strlen(token))
		return false;
	for (size_t i = 0; i < found.len; i++)
		other |= (unsigned char)(found.ptr[i] ^ token[i]);
	return other == 0;
}

static bool has_token(const struct viewer *v, const struct http_request *r, const struct query *q)
{
	struct slice bearer = http_header_find(r, "Authorization"), found = query_get(q, "token");

	if (slice_skip(&bearer, "Bearer "))
		found = bearer;
	return is_equal(found, v->token);
}

/* ---- requests ---- */

static void serve_desk(struct viewer *v, struct exchange *x, const struct http_request *r,
	const struct query *q, struct slice what)
{
	struct err err = {0};
	struct buf json;
	int status = 404;

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	if (v->options.desk)
		status = v->options.desk(v->options.desk_context, r->method, what, q, r->body, &json, &err);
	else
		(void)!err_set(&err, ERR_NOT_FOUND, "no replay runs beside this view");
	if (status < 400)
		send_answer(x, &(struct viewer_answer){status, JSON_TYPE, false, buf_slice(&json)});
	else
		send_failure(x, status, err.text);
	buf_release(&json);
}

static void serve_data(struct viewer *v, struct exchange *x, const struct http_request *r,
	const struct query *q, struct slice name)
{
	bool is_post = slice_is(r->method, "POST");

	if (is_foreign(r)) {
		send_failure(x, 403, "a page of another site asks");
	} else if (!has_token(v, r, q)) {
		send_failure(x, 401, "the token of the address that 'kubetape view' printed is missing");
	} else if (slice_begins(name, "desk")) {
		serve_desk(v, x, r, q, name);
	} else if (slice_is(name, "sql/cancel") && is_post) {
		sql_session_interrupt(v->sql_desk.session);
		send_answer(x, &(struct viewer_answer){200, JSON_TYPE, false, slice_of("{}")});
	} else if (slice_is(name, "sweep") && v->sweep && !is_post) {
		send_answer(x, &(struct viewer_answer){200, JSON_TYPE, false, slice_of(v->sweep)});
	} else if (slice_is(name, "sql")) {
		begin_job(v, serve_sql, x, r, name);
	} else if (is_post) {
		send_failure(x, 405, "only GET is possible here");
	} else {
		begin_job(v, slice_is(name, "golden") ? serve_golden : serve_picture, x, r, name);
	}
}

static void serve_asset(struct exchange *x, const struct http_request *r, struct slice name)
{
	const struct asset *a = asset_find(name);
	struct buf plain;

	if (!a) {
		send_failure(x, 404, "there is no such page");
		return;
	}
	if (http_list_has(http_header_find(r, "Accept-Encoding"), "gzip")) {
		send_answer(x, &(struct viewer_answer){200, a->type, true, a->gzip});
		return;
	}
	buf_init(&plain, LIMIT_DOCUMENT_BYTES);
	if (asset_inflate(a, &plain, NULL))
		send_failure(x, 500, "cannot inflate it");
	else
		send_answer(x, &(struct viewer_answer){200, a->type, false, buf_slice(&plain)});
	buf_release(&plain);
}

static void viewer_handle(void *context, struct exchange *x, const struct http_request *r)
{
	struct viewer *v = context;
	struct query q;
	struct slice path;

	query_parse(r->target, &q);
	path = q.path;
	if (!is_our_host(r))
		send_failure(x, 421, "this view is only known as 127.0.0.1 and localhost");
	else if (q.bad_path || !slice_skip(&path, PREFIX))
		send_failure(x, 404, "there is only '" PREFIX "' here");
	else if (slice_skip(&path, "data/"))
		serve_data(v, x, r, &q, path);
	else if (slice_is(r->method, "GET") || slice_is(r->method, "HEAD"))
		serve_asset(x, r, path);
	else
		send_failure(x, 405, "only GET is possible here");
	query_release(&q);
}

/* ---- opening and closing ---- */

static char *make_token(void)
{
	unsigned char random[TOKEN_RANDOM_BYTES];
	char *text = xmalloc(2 * sizeof(random) + 1);

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort(); /* without chance there is no secret */
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	return text;
}

static int open_golden(struct viewer *v, struct err *err)
{
	struct viewer_desk *d = &v->golden_desk;

	if (!v->options.golden)
		return 0;
	v->golden = *v->options.golden;
	v->golden.run = v->golden_run = xstrdup(v->golden.run);
	v->picture_desk.golden = v->sql_desk.golden = &v->golden;
	v->sql_desk.golden_desk = d;
	d->tape = v->tape;
	d->run = v->golden_run;
	return viewer_open_session(d, err);
}

static int open_desks(struct viewer *v, struct err *err)
{
	int rc;

	v->picture_desk.tape = v->sql_desk.tape = v->tape;
	v->picture_desk.run = v->sql_desk.run = v->run;
	v->picture_desk.has_replay = v->options.desk != NULL;
	v->picture_desk.has_sweep = v->sweep != NULL;
	rc = picture_open(v->tape, &v->picture_desk.picture, err);
	if (!rc)
		rc = viewer_open_session(&v->picture_desk, err);
	if (!rc)
		rc = viewer_open_session(&v->sql_desk, err);
	if (!rc)
		rc = open_golden(v, err);
	v->picture_desk.writers = writers_new(v->tape);
	return rc;
}

static void open_threads(struct viewer *v, uv_loop_t *loop)
{
	v->pictures = offload_open(loop);
	v->statements = offload_open(loop);
	uv_timer_init(loop, &v->look);
	v->look.data = v;
	v->has_timer = true;
	begin_step(v);
}

static void make_url(struct viewer *v)
{
	bool six = strchr(v->host, ':') != NULL;

	v->url = xasprintf("http://%s%s%s:%d" PREFIX "?token=%s", six ? "[" : "", v->host, six ? "]" : "",
		server_port(v->server), v->token);
}

int viewer_open(uv_loop_t *loop, const struct viewer_options *options, struct viewer **ret, struct err *err)
{
	struct viewer *v = xcalloc(1, sizeof(*v));
	struct server_options so = {.handle = viewer_handle, .context = v, .connections = CONNECTIONS_MAX};
	int rc;

	v->options = *options;
	v->tape = xstrdup(options->tape);
	v->run = options->run ? xstrdup(options->run) : NULL;
	v->sweep = options->sweep.len ? slice_dup(options->sweep) : NULL;
	v->host = xstrdup(options->host ? options->host : "127.0.0.1");
	v->token = make_token();
	so.host = v->host;
	so.port = options->port;
	rc = open_desks(v, err);
	if (!rc)
		rc = server_open(loop, &so, &v->server, err);
	if (rc) {
		viewer_close(v);
		return rc;
	}
	open_threads(v, loop);
	make_url(v);
	*ret = v;
	return 0;
}

static void release_desk(struct viewer_desk *d)
{
	picture_close(d->picture);
	sql_session_close(d->session);
	writers_free(d->writers);
}

static void viewer_free(struct viewer *v)
{
	release_desk(&v->picture_desk);
	release_desk(&v->sql_desk);
	release_desk(&v->golden_desk);
	free(v->tape);
	free(v->run);
	free(v->golden_run);
	free(v->sweep);
	free(v->host);
	free(v->url);
	free(v->token);
	free(v);
}

static void on_timer_closed(uv_handle_t *handle)
{
	viewer_free(handle->data);
}

void viewer_close(struct viewer *v)
{
	if (!v)
		return;
	v->closes = true;
	v->sql_desk.closes = true;
	v->picture_desk.closes = true;
	v->golden_desk.closes = true;
	if (v->sql_desk.session)
		sql_session_interrupt(v->sql_desk.session);
	offload_close(v->statements);
	offload_close(v->pictures);
	if (v->server)
		server_close(v->server);
	if (v->has_timer)
		uv_close((uv_handle_t *)&v->look, on_timer_closed);
	else
		viewer_free(v);
}

const char *viewer_url(const struct viewer *v)
{
	return v->url;
}
