/* openapi.c: see openapi.h. */
#include "recorder/openapi.h"

#include "recorder/backoff.h"
#include "recorder/request_row.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/reader.h"

#include <stdlib.h>

#define PLAIN    "application/json"
#define PROTOBUF "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
/* A cluster has about sixty group versions. */
#define MAX_DOCUMENTS 2000

/* One document in one form. */
struct document {
	char *path, *target; /* without and with the hash, which is the target's query */
	const char *variant;
	char *kept;   /* the target whose answer is on the tape; NULL none */
	bool refused; /* the server does not have it in that form */
};

struct openapi {
	struct recorder_context *x;
	uv_timer_t timer; /* after trouble, until the next request */
	struct backoff backoff;
	struct document *documents;
	size_t count, at; /* the one that is being fetched, or looked at next */
	struct http_request *request;
	struct buf body;
};

struct openapi *openapi_new(struct recorder_context *x)
{
	struct openapi *o = xcalloc(1, sizeof(*o));

	o->x = x;
	o->backoff.base_ns = x->retry_delay_ns;
	buf_init(&o->body, LIMIT_DOCUMENT_BYTES);
	uv_timer_init(x->loop, &o->timer);
	o->timer.data = o;
	return o;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void openapi_free(struct openapi *o)
{
	if (!o)
		return;
	if (o->request)
		http_cancel(o->request);
	for (size_t i = 0; i < o->count; i++) {
		free(o->documents[i].path);
		free(o->documents[i].target);
		free(o->documents[i].kept);
	}
	free(o->documents);
	buf_release(&o->body);
	uv_close((uv_handle_t *)&o->timer, on_closed);
}

/* ---- what there is ---- */

static struct document *openapi_find(struct openapi *o, struct slice path, const char *variant)
{
	for (size_t i = 0; i < o->count; i++) {
		if (slice_is(path, o->documents[i].path) && strcmp(o->documents[i].variant, variant) == 0)
			return &o->documents[i];
	}
	return NULL;
}

static void name(struct openapi *o, struct slice target, const char *variant)
{
	const char *query = memchr(target.ptr, '?', target.len);
	struct slice path = {target.ptr, query ? (size_t)(query - target.ptr) : target.len};
	struct document *d = openapi_find(o, path, variant);

	if (!d) {
		if (o->count == MAX_DOCUMENTS)
			return;
		o->documents = xrealloc(o->documents, (o->count + 1) * sizeof(*o->documents));
		d = &o->documents[o->count++];
		*d = (struct document){.path = slice_dup(path), .variant = variant};
	}
	if (d->target && slice_is(target, d->target))
		return;
	free(d->target);
	d->target = slice_dup(target);
	d->refused = false;
}

/* {"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=..."}}} */
static void read_index(struct openapi *o, struct slice index)
{
	struct slice paths, key, entry, url;
	struct json_iter it;

	if (json_get(index, "$.paths", &paths, NULL) <= 0 || json_iter_begin(paths, &it, NULL))
		return;
	while (json_iter_next(&it, &key, &entry, NULL) > 0) {
		if (json_get(entry, "$.serverRelativeURL", &url, NULL) <= 0 || url.len < 3 ||
			url.ptr[0] != '"' || url.ptr[1] != '/' || memchr(url.ptr, '\\', url.len))
			continue;
		url = (struct slice){url.ptr + 1, url.len - 2};
		name(o, url, "");
		name(o, url, OPENAPI_PROTOBUF);
	}
}

/* ---- fetching ---- */

static void fetch_next(struct openapi *o);

static int openapi_keep(
	struct openapi *o, struct document *d, const struct http_answer *answer, struct err *err)
{
	const struct tape_document row = {
		.time_ns = answer->begin_ns,
		.path = d->path,
		.variant = d->variant,
		.http_status = answer->status,
		.content_type = answer->content_type,
		.etag = *answer->etag ? answer->etag : NULL,
		.body = buf_slice(&o->body),
	};
	int rc = tape_writer_document(flusher_tape(o->x->flusher), &row, err);

	if (rc)
		return rc;
	free(d->kept);
	d->kept = xstrdup(d->target);
	return 0;
}

static int account(struct openapi *o, const struct document *d, const struct http_answer *answer,
	int64_t next_delay_ns, struct err *err)
{
	struct request_row row = {.set = false};
	int rc;

	request_row_set(&row, "openapi", d->target, answer, buf_slice(&o->body));
	row.row.next_delay_ns = next_delay_ns;
	rc = request_row_write(&row, flusher_tape(o->x->flusher), err);
	request_row_release(&row);
	return rc;
}

static int on_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct openapi *o = context;

	(void)time_ns;
	return buf_append(&o->body, bytes.ptr, bytes.len, NULL);
}

/* Nothing came, or the server asks for patience: the same document is asked for again. */
static bool is_busy(const struct http_answer *answer)
{
	return answer->status == 0 || answer->status == 429;
}

/* A server in trouble is left alone for a while. One that answers has trouble with that document alone, which
 * comes again when discovery does. */
static int64_t openapi_plan(struct openapi *o, const struct http_answer *answer)
{
	if (!is_busy(answer) && answer->status < 500 && !answer->curl_code) {
		backoff_reset(&o->backoff);
		return -1;
	}
	return backoff_next(
		&o->backoff, clock_mono_ns(o->x->clock), recorder_chance(), false, answer->retry_after_s);
}

static void on_timer(uv_timer_t *timer)
{
	fetch_next(timer->data);
}

static void on_done(void *context, const struct http_answer *answer)
{
	struct openapi *o = context;
	struct document *d = &o->documents[o->at];
	bool is_whole = answer->status == 200 && !answer->curl_code;
	int64_t delay_ns = openapi_plan(o, answer);
	struct err err;
	int rc = account(o, d, answer, delay_ns, &err);

	o->request = NULL;
	o->at += !is_busy(answer);
	d->refused = answer->status >= 400 && answer->status < 500 && answer->status != 429;
	if (rc == 0 && is_whole)
		rc = openapi_keep(o, d, answer, &err);
	buf_release(&o->body);
	flusher_dirty(o->x->flusher);
	if (rc)
		o->x->fatal(o->x->owner, &err);
	else if (delay_ns < 0)
		fetch_next(o);
	else
		uv_timer_start(&o->timer, on_timer, (uint64_t)(delay_ns / NS_PER_MS) + 1, 0);
}

static bool is_wanted(const struct document *d)
{
	return !d->refused && !(d->kept && strcmp(d->kept, d->target) == 0);
}

static void fetch_next(struct openapi *o)
{
	const struct http_handler handler = {.on_body = on_body, .on_done = on_done, .context = o};

	while (o->at < o->count && !is_wanted(&o->documents[o->at]))
		o->at++;
	if (o->at == o->count)
		return;
	o->request = http_get(o->x->http, o->documents[o->at].target,
		*o->documents[o->at].variant ? PROTOBUF : PLAIN, &handler);
}

void openapi_update(struct openapi *o, struct slice index)
{
	if (o->request)
		return;
	read_index(o, index);
	o->at = 0;
	if (!uv_is_active((uv_handle_t *)&o->timer))
		fetch_next(o);
}

/* ---- going on with a tape ---- */

static bool has_hash(const struct document *d, const char *etag)
{
	/* The ETag is the hash in quotes. */
	return etag && strlen(etag) > 2 && memmem(d->target, strlen(d->target), etag + 1, strlen(etag) - 2);
}

/* 0 also when the tape does not have it. */
static int find_on_tape(struct tape *tape, const char *path, const char *variant, struct tape_document *ret,
	struct buf *body, struct err *err)
{
	struct err local;
	int rc = tape_document(tape, path, variant, 0, ret, body, &local);

	if (rc == 0)
		return 1;
	if (rc == ERR_NOT_FOUND)
		return 0;
	return err_copy(err, &local);
}

static int take_kept(struct openapi *o, struct tape *tape, struct buf *body, struct err *err)
{
	struct tape_document document;
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < o->count; i++) {
		struct document *d = &o->documents[i];

		buf_clear(body);
		rc = find_on_tape(tape, d->path, d->variant, &document, body, err);
		if (rc > 0 && has_hash(d, document.etag))
			d->kept = xstrdup(d->target);
	}
	return rc;
}

int openapi_resume(struct openapi *o, struct err *err)
{
	struct tape_document document;
	struct tape *tape;
	struct buf body;
	int rc = tape_open(o->x->tape_path, &tape, err);

	if (rc)
		return rc;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = find_on_tape(tape, OPENAPI_INDEX, "", &document, &body, err);
	if (rc > 0) {
		read_index(o, buf_slice(&body));
		rc = take_kept(o, tape, &body, err);
	}
	buf_release(&body);
	tape_close(tape);
	return rc < 0 ? rc : 0;
}
