/*
 * discovery.c: see discovery.h. A round has two steps: the roots, then the group versions that the roots
 * name. Every document of a step is asked for at once.
 */
#include "recorder/discovery.h"

#include "recorder/openapi.h"
#include "recorder/request_row.h"
#include "recorder/status_body.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <curl/curl.h>
#include <stdlib.h>

/* A request whose connection was dropped is made this many times more. */
#define MAX_TRIES  3
#define CORE_PATH  "/api/v1"
#define PLAIN      "application/json"
#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

/* One document: where it is, and what came. Kept between rounds for the comparison. */
struct document {
	struct discovery *discovery;
	struct document *next;
	char *path, *variant;
	struct http_request *request;
	struct buf body, written; /* of this round; what stands on the tape */
	struct request_row row;   /* the request of this round */
	unsigned tries;           /* of this round, that got no answer */
	int64_t time_ns;
	char content_type[256], etag[256];
	int status;
	bool is_aggregated; /* the answer says so */
	bool answered;      /* in this round */
	bool told;          /* that it did not answer */
};

struct discovery {
	struct http *http;
	struct document *documents;
	size_t pending;
	bool running, in_groups;
	bool brought_news; /* the last round did */
	size_t body_bytes; /* of this round */
	struct err err;    /* of this round */
	struct catalog catalog;
	char cluster_uid[128];
	void (*done)(void *context, const struct discovery_result *result, const struct err *err);
	void *done_context;
};

struct discovery *discovery_new(struct http *http)
{
	struct discovery *d = xcalloc(1, sizeof(*d));

	d->http = http;
	return d;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	while (d->documents) {
		struct document *doc = d->documents;

		d->documents = doc->next;
		if (doc->request)
			http_cancel(doc->request);
		buf_release(&doc->body);
		buf_release(&doc->written);
		request_row_release(&doc->row);
		free(doc->path);
		free(doc->variant);
		free(doc);
	}
	catalog_release(&d->catalog);
	free(d);
}

int discovery_explain(
	const struct http *http, const struct http_answer *answer, struct slice body, struct err *err)
{
	const char *server = http_server(http);
	char message[STATUS_MESSAGE_BYTES];

	if (answer->curl_code == CURLE_LOGIN_DENIED)
		return err_set(err, ERR_DENIED, "no credentials for server '%s': %s", server, answer->error);
	if (!answer->status)
		return err_set(err, ERR_NETWORK, "cannot reach server '%s': %s", server, answer->error);
	status_body_message(body, answer->status, message);
	if (answer->status == 401)
		return err_set(err, ERR_DENIED, "server '%s' refused the credentials: %s", server, message);
	if (answer->status == 403)
		return err_set(err, ERR_DENIED, "server '%s' forbids it: %s", server, message);
	/* 429 and 5xx are those of a server that is starting or has too much to do. */
	return err_set(err, answer->status == 429 || answer->status >= 500 ? ERR_NETWORK : ERR_PROTOCOL,
		"server '%s' answered %d: %s", server, answer->status, message);
}

/* ---- one document ---- */

static struct document *document_at(struct discovery *d, const char *path, const char *variant)
{
	struct document **at = &d->documents;

	for (; *at; at = &(*at)->next) {
		if (strcmp((*at)->path, path) == 0 && strcmp((*at)->variant, variant) == 0)
			return *at;
	}
	*at = xcalloc(1, sizeof(**at));
	(*at)->discovery = d;
	(*at)->path = xstrdup(path);
	(*at)->variant = xstrdup(variant);
	buf_init(&(*at)->body, LIMIT_DOCUMENT_BYTES);
	buf_init(&(*at)->written, LIMIT_DOCUMENT_BYTES);
	return *at;
}

/* The aggregated answer must be marked as such; a server that does not know it sends the plain one. */
static bool says_aggregated(const struct http_answer *answer)
{
	return strstr(answer->content_type, "as=APIGroupDiscoveryList") != NULL;
}

static int write_document(struct document *doc, struct tape_writer *tape, struct err *err)
{
	struct tape_document row = {
		.time_ns = doc->time_ns,
		.path = doc->path,
		.variant = doc->variant,
		.http_status = doc->status,
		.content_type = doc->content_type,
		.etag = *doc->etag ? doc->etag : NULL,
		.body = buf_slice(&doc->body),
	};
	int rc;

	if (slice_equal(buf_slice(&doc->written), row.body))
		return 0;
	rc = tape_writer_document(tape, &row, err);
	if (rc)
		return rc;
	buf_clear(&doc->written);
	rc = buf_append(&doc->written, row.body.ptr, row.body.len, err);
	return rc ? rc : 1;
}

int discovery_save(struct discovery *d, struct tape_writer *tape, struct err *err)
{
	int count = 0;

	d->brought_news = false;

	for (struct document *doc = d->documents; doc; doc = doc->next) {
		int rc = 0;

		if (doc->answered && (!*doc->variant || doc->is_aggregated))
			rc = write_document(doc, tape, err);
		if (rc < 0)
			return rc;
		count += rc;
	}
	d->brought_news = count > 0;
	return count;
}

int discovery_account(struct discovery *d, struct tape_writer *tape, struct err *err)
{
	int rc = 0;

	for (struct document *doc = d->documents; rc == 0 && doc; doc = doc->next) {
		if (d->brought_news || !doc->answered)
			rc = request_row_write(&doc->row, tape, err);
		request_row_release(&doc->row);
	}
	d->brought_news = false;
	return rc;
}

struct slice discovery_document(struct discovery *d, const char *path)
{
	struct document *doc = document_at(d, path, "");

	return buf_slice(&doc->written);
}

/* The core group has its own share: without it nothing can be recorded, whatever other groups send. */
static bool is_shared(const struct document *doc)
{
	return strcmp(doc->path, CORE_PATH) != 0;
}

static int on_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct document *doc = context;
	struct discovery *d = doc->discovery;

	(void)time_ns;
	d->body_bytes += is_shared(doc) ? bytes.len : 0;
	if (is_shared(doc) && d->body_bytes > LIMIT_DISCOVERY_BYTES)
		return ERR_TOO_LARGE;
	return buf_append(&doc->body, bytes.ptr, bytes.len, NULL);
}

static void step_done(struct discovery *d);

static void request(struct document *doc);

/* The connection was lost before a word of the answer: by a proxy, or a server with too much to do. */
static bool was_dropped(const struct http_answer *answer)
{
	return !answer->status &&
	       (answer->curl_code == CURLE_GOT_NOTHING || answer->curl_code == CURLE_RECV_ERROR ||
		       answer->curl_code == CURLE_SEND_ERROR);
}

static void on_done(void *context, const struct http_answer *answer)
{
	struct document *doc = context;
	struct discovery *d = doc->discovery;

	doc->request = NULL;
	request_row_set(&doc->row, "discovery", doc->path, answer, buf_slice(&doc->body));
	if (was_dropped(answer) && doc->tries++ < MAX_TRIES) {
		request(doc);
		return;
	}
	doc->status = answer->aborted || answer->curl_code ? 0 : answer->status;
	doc->answered = doc->status == 200;
	doc->is_aggregated = doc->answered && says_aggregated(answer);
	doc->time_ns = answer->begin_ns;
	snprintf(doc->content_type, sizeof(doc->content_type), "%s", answer->content_type);
	snprintf(doc->etag, sizeof(doc->etag), "%s", answer->etag);
	/* Without the groups there is no catalog; 404 of the core group alone is tolerated. */
	if (!doc->answered && !d->err.code && !d->in_groups && !*doc->variant &&
		(strcmp(doc->path, "/apis") == 0 ||
			(strcmp(doc->path, "/api") == 0 && answer->status != 404)))
		(void)discovery_explain(d->http, answer, buf_slice(&doc->body), &d->err);
	if (--d->pending == 0)
		step_done(d);
}

static void request(struct document *doc)
{
	const struct http_handler handler = {.on_body = on_body, .on_done = on_done, .context = doc};

	buf_clear(&doc->body);
	doc->request =
		http_get(doc->discovery->http, doc->path, *doc->variant ? AGGREGATED : PLAIN, &handler);
}

static void discovery_ask(struct discovery *d, const char *path, const char *variant)
{
	struct document *doc = document_at(d, path, variant);

	if (doc->request)
		return;
	doc->answered = doc->is_aggregated = false;
	doc->status = 0;
	doc->tries = 0;
	d->pending++;
	request(doc);
}

/* ---- a round ---- */

static int ask_group_version(void *context, struct slice gv)
{
	struct discovery *d = context;
	char *path = xasprintf("/apis/%.*s", (int)gv.len, gv.ptr);

	discovery_ask(d, path, "");
	free(path);
	return 0;
}

static int add_group_version(void *context, struct slice gv)
{
	struct discovery *d = context;
	char *path = xasprintf("/apis/%.*s", (int)gv.len, gv.ptr);
	struct document *doc = document_at(d, path, "");

	free(path);
	/* A group that fails or makes no sense must not hide the others. */
	if (doc->answered && catalog_add_classic(&d->catalog, buf_slice(&doc->body), NULL))
		return 0;
	return 0;
}

static int build_catalog(struct discovery *d, struct err *err)
{
	struct document *core = document_at(d, "/api", "aggregated"),
			*groups = document_at(d, "/apis", "aggregated");
	struct document *v1 = document_at(d, CORE_PATH, "");
	int rc;

	catalog_release(&d->catalog);
	if (core->is_aggregated && groups->is_aggregated) {
		rc = catalog_add_aggregated(&d->catalog, buf_slice(&core->body), err);

		return rc ? rc : catalog_add_aggregated(&d->catalog, buf_slice(&groups->body), err);
	}
	if (!v1->answered && v1->status != 404)
		return err_set(err, ERR_NETWORK,
			v1->status
				? "server '%s' does not tell what its core group has: it answered %d"
				: "server '%s' does not tell what its core group has: no whole answer came",
			http_server(d->http), v1->status);
	if (v1->answered && (rc = catalog_add_classic(&d->catalog, buf_slice(&v1->body), err)))
		return rc;
	return catalog_group_versions(
		buf_slice(&document_at(d, "/apis", "")->body), add_group_version, d, err);
}

static void take_identity(struct discovery *d)
{
	struct document *doc = document_at(d, DISCOVERY_IDENTITY, "");
	struct object_meta meta;

	if (doc->answered && json_scan_object(buf_slice(&doc->body), &meta, NULL) == 0)
		snprintf(d->cluster_uid, sizeof(d->cluster_uid), "%.*s", (int)meta.uid.len,
			meta.uid.ptr ? meta.uid.ptr : "");
}

/* Once for each time that it begins. */
static void tell_silent_groups(struct discovery *d)
{
	for (struct document *doc = d->documents; doc; doc = doc->next) {
		struct slice group = slice_of(doc->path);
		bool is_group = slice_skip(&group, "/apis/");

		if (is_group && !doc->answered && !doc->told)
			log_warn(
				"group '%s' does not tell what it has (%d): nothing new of it is recorded until it does",
				group.ptr, doc->status);
		doc->told = is_group && !doc->answered;
	}
}

bool discovery_lacks_groups(const struct discovery *d)
{
	for (const struct document *doc = d->documents; doc; doc = doc->next) {
		if (doc->told)
			return true;
	}
	return false;
}

static void round_done(struct discovery *d)
{
	struct discovery_result result = {&d->catalog, d->cluster_uid};
	struct err err;

	if (!d->err.code)
		(void)build_catalog(d, &d->err);
	if (!d->err.code)
		tell_silent_groups(d);
	take_identity(d);
	d->running = false;
	err = d->err;
	d->done(d->done_context, &result, &err);
	/* What is kept is for the next comparison, unless the next round has begun. */
	for (struct document *doc = d->documents; !d->running && doc; doc = doc->next)
		buf_release(&doc->body);
}

static void step_done(struct discovery *d)
{
	struct document *groups = document_at(d, "/apis", "");

	if (d->in_groups || d->err.code) {
		round_done(d);
		return;
	}
	d->in_groups = true;
	d->pending++; /* so that no answer can end the step while it is being asked for */
	discovery_ask(d, CORE_PATH, "");
	if (catalog_group_versions(buf_slice(&groups->body), ask_group_version, d, &d->err) && !d->err.code)
		d->err.code = ERR_PROTOCOL;
	if (--d->pending == 0)
		round_done(d);
}

bool discovery_run(struct discovery *d,
	void (*done)(void *context, const struct discovery_result *result, const struct err *err),
	void *context)
{
	static const char *const roots[][2] = {{"/api", ""}, {"/apis", ""}, {"/api", "aggregated"},
		{"/apis", "aggregated"}, {"/version", ""}, {OPENAPI_INDEX, ""}, {DISCOVERY_IDENTITY, ""}};

	if (d->running)
		return false;
	d->running = true;
	d->in_groups = false;
	d->body_bytes = 0;
	d->err = (struct err){0};
	d->done = done;
	d->done_context = context;
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		discovery_ask(d, roots[i][0], roots[i][1]);
	return true;
}
