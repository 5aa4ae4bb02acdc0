/*
 * visit_read.c: see visit.h. An answer goes into the run as it comes. What may hold values of Secrets, is
 * wanted as a whole, or came in another form than JSON is collected first.
 */
#include "tools/tee/visit_internal.h"

#include "recorder/discovery.h"
#include "recorder/list_item.h"
#include "recorder/openapi.h"
#include "replayer/protobuf/protobuf.h"
#include "schema/base/json_list.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "tools/tee/cbor.h"

#include <stdlib.h>

enum form { FORM_OF_JSON, FORM_OF_PROTOBUF, FORM_OF_CBOR, FORM_OF_NEITHER };

struct reading {
	enum form form;
	bool is_good;    /* the status says so */
	bool is_lost;    /* some of it is missing */
	bool keeps;      /* for the run */
	bool collects;   /* `whole` */
	bool is_on_tape; /* a list of a stream */
	struct answer_keeper keeper;
	struct buf whole;
	struct json_list list;
	struct tee_listing *listing;
	bool has_begun;  /* listing was looked for */
	int64_t wall_ns; /* of the latest piece */
};

/* ---- what it will be ---- */

static enum form form_of(struct slice content_type)
{
	struct slice type = slice_cut(&content_type, ';');

	if (slice_is(type, "application/json"))
		return FORM_OF_JSON;
	if (slice_is(type, "application/vnd.kubernetes.protobuf"))
		return FORM_OF_PROTOBUF;
	return slice_is(type, "application/cbor") ? FORM_OF_CBOR : FORM_OF_NEITHER;
}

static bool is_identity(const struct visit *v)
{
	return v->kind == VISIT_OBJECT && slice_is(v->query.path, DISCOVERY_IDENTITY) && !v->is_partial;
}

void visit_read_begin(struct visit *v, const struct feed_item *item)
{
	struct reading *r;

	if (v->kind == VISIT_OTHER)
		return;
	r = xcalloc(1, sizeof(*r));
	r->form = form_of(slice_of(v->answer_type));
	r->is_good = v->status == 200;
	r->keeps = v->kind == VISIT_OBJECT || v->kind == VISIT_LIST || v->kind == VISIT_WATCH;
	r->is_on_tape = r->is_good && v->kind == VISIT_LIST && !v->is_partial &&
			!slice_is(query_get(&v->query, "resourceVersionMatch"), "Exact");
	r->collects = v->redacts || !r->is_good || v->kind == VISIT_DOCUMENT || v->kind == VISIT_WRITE ||
		      is_identity(v) || (r->is_on_tape && r->form != FORM_OF_JSON);
	r->wall_ns = item->wall_ns;
	answer_keeper_init(&r->keeper, run_book_file(v->office->run), v->id);
	buf_init(&r->whole, LIMIT_DOCUMENT_BYTES);
	json_list_init(&r->list, LIMIT_OBJECT_BYTES);
	v->reading = r;
}

void visit_read_free(struct visit *v)
{
	struct reading *r = v->reading;

	if (!r)
		return;
	tee_listing_drop(r->listing);
	answer_keeper_release(&r->keeper);
	office_uncollect(v->office, &r->whole);
	json_list_release(&r->list);
	free(r);
	v->reading = NULL;
}

void visit_read_lost(struct visit *v)
{
	v->reading->is_lost = true;
}

struct slice visit_read_whole(const struct visit *v)
{
	const struct reading *r = v->reading;

	return r && r->collects && !r->is_lost ? buf_slice(&r->whole) : (struct slice){NULL, 0};
}

/* ---- lists ---- */

/* Looks for the stream, and what is known of it from the pages before. */
static void begin_listing(struct visit *v, struct slice kind, bool is_namespaced)
{
	struct slice token = query_get(&v->query, "continue");
	struct reading *r = v->reading;
	struct err err = {0};

	if (r->has_begun)
		return;
	visit_find_stream(v, kind, is_namespaced);
	if (!v->stream)
		return;
	r->has_begun = true;
	r->listing = token.len ? office_unpark(v->office, token) : tee_stream_list(v->stream, false, &err);
	office_judge(v->office, err.code, &err);
}

static int take_item(void *context, struct slice item, struct err *err)
{
	struct visit *v = context;
	struct reading *r = v->reading;
	/* What stands before the items tells what they are. */
	const struct list_type type = {buf_slice(&r->list.kind), buf_slice(&r->list.api_version)};
	struct object_meta meta;
	unsigned flags = 0;
	int rc = json_scan_object(item, &meta, err);

	if (rc || !meta.name.len)
		return rc;
	begin_listing(v, meta.kind.len ? meta.kind : type.kind, meta.namespace.len > 0);
	if (!r->listing)
		return 0;
	if (!meta.kind.len && !meta.api_version.len && type.kind.len) {
		rc = list_item_type(&type, &meta, &item, &v->office->typed, err);
		flags = EVENT_TYPED;
	}
	if (rc == 0)
		rc = tee_listing_item(r->listing, &meta, item, flags, r->wall_ns, err);
	return rc;
}

/* Nothing more is learnt of it. */
static void give_up_list(struct visit *v, int rc, const struct err *err)
{
	if (rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE)
		log_warn("the list '%s' is passed on, and not on the tape: %s", v->target, err->text);
	office_judge(v->office, rc, err);
	v->reading->is_on_tape = false;
}

static void visit_read_cut(struct visit *v, struct slice bytes)
{
	struct err err;
	int rc = json_list_feed(&v->reading->list, bytes, take_item, v, &err);

	if (rc)
		give_up_list(v, rc, &err);
}

static bool is_list(struct slice kind)
{
	return kind.len >= 5 && memcmp(kind.ptr + kind.len - 4, "List", 4) == 0;
}

static void end_page(struct visit *v, const struct visit_ending *end)
{
	struct reading *r = v->reading;
	struct tee_listing *listing = r->listing;
	struct err err;

	r->listing = NULL;
	visit_connection_begin(v, "list");
	v->connection.events = r->list.item_count;
	if (listing)
		tee_listing_events(listing, &v->connection.first_seq, &v->connection.last_seq);
	if (listing && r->list.continue_token.len)
		office_park(v->office, buf_slice(&r->list.continue_token), listing);
	else if (listing)
		office_judge(v->office,
			tee_listing_end(
				listing, buf_slice(&r->list.rv), v->connection.id, end->wall_ns, &err),
			&err);
	visit_connection_end(v, end, "complete", (struct slice){NULL, 0}, (struct slice){NULL, 0});
}

/* Of an empty list of something unknown nobody can tell whether it is in namespaces. */
static void end_list(struct visit *v, const struct visit_ending *end)
{
	struct reading *r = v->reading;
	struct slice kind;
	struct err err;
	int rc = json_list_end(&r->list, take_item, v, &err);

	if (rc) {
		give_up_list(v, rc, &err);
		return;
	}
	kind = buf_slice(&r->list.kind);
	if (!is_list(kind) || !r->list.rv.len)
		return;
	begin_listing(v, v->path.in_namespace ? kind : slice_of(""), true);
	if (v->stream)
		end_page(v, end);
}

/* ---- what was collected ---- */

/* As JSON, without values of Secrets; false when it cannot be had. */
static bool clean_whole(struct visit *v, struct buf *to)
{
	struct reading *r = v->reading;
	struct redactor *redactor = v->office->redactor;
	struct slice body = buf_slice(&r->whole);
	struct buf json;
	int rc = 0;

	buf_init(&json, LIMIT_OBJECT_BYTES);
	if (r->form == FORM_OF_PROTOBUF)
		rc = protobuf_to_json(body, &json, NULL);
	else if (r->form == FORM_OF_CBOR)
		rc = cbor_to_json(body, &json, NULL);
	if (json.len)
		body = buf_slice(&json);
	if (rc == 0 && v->redacts)
		rc = redactor_object(redactor, body, to, NULL);
	else if (rc == 0)
		rc = buf_append(to, body.ptr, body.len, NULL);
	buf_release(&json);
	return rc == 0;
}

static void keep_whole(struct visit *v)
{
	struct reading *r = v->reading;
	struct buf clean;

	buf_init(&clean, LIMIT_OBJECT_BYTES);
	if (!r->is_good || v->is_partial || !clean_whole(v, &clean)) {
		buf_clear(&clean);
		if (v->redacts)
			(void)!redactor_answer(v->office->redactor, buf_slice(&r->whole), &clean, NULL);
	}
	if (v->redacts && r->keeps)
		answer_keeper_put(&r->keeper, buf_slice(&clean));
	if (r->is_on_tape)
		visit_read_cut(v, buf_slice(&clean));
	buf_release(&clean);
}

static bool is_aggregated(const struct visit *v)
{
	return strstr(v->answer_type, "as=APIGroupDiscoveryList") != NULL;
}

/* NULL: one that nobody would look for. */
static const char *variant_of(const struct visit *v, enum form form)
{
	if (strstr(v->answer_type, "protobuf") && slice_begins(v->query.path, "/openapi/v3"))
		return OPENAPI_PROTOBUF;
	if (form != FORM_OF_JSON)
		return NULL;
	return is_aggregated(v) ? "aggregated" : "";
}

static void put_document(struct visit *v, const struct visit_ending *end)
{
	struct reading *r = v->reading;
	char *path = slice_dup(v->query.path);
	struct tape_document row = {.time_ns = end->wall_ns,
		.path = path,
		.variant = variant_of(v, r->form),
		.http_status = v->status,
		.content_type = v->answer_type,
		.etag = *v->etag ? v->etag : NULL,
		.body = buf_slice(&r->whole)};
	struct err err;

	if (row.variant)
		office_judge(v->office, tape_book_document(v->office->book, &row, &err), &err);
	free(path);
}

/* ---- its end ---- */

void visit_read_body(struct visit *v, struct slice bytes)
{
	struct reading *r = v->reading;

	if (r->is_lost)
		return;
	if (r->collects && !office_collect(v->office, &r->whole, bytes))
		r->is_lost = true;
	if (r->keeps && !v->redacts)
		answer_keeper_put(&r->keeper, bytes);
	if (r->is_on_tape && !r->collects)
		visit_read_cut(v, bytes);
}

/* A watch that was refused, or a list that was: an attempt of its stream. */
static void end_refused(struct visit *v, const struct visit_ending *end)
{
	struct buf *clean = &v->office->clean;
	struct slice status = visit_read_whole(v);
	char reason[END_REASON_BYTES];
	struct err err;

	if (v->kind != VISIT_WATCH && v->kind != VISIT_LIST)
		return;
	visit_find_stream(v, (struct slice){NULL, 0}, false);
	if (!v->stream)
		return;
	buf_clear(clean);
	if (v->redacts && status.len && redactor_answer(v->office->redactor, status, clean, NULL) == 0)
		status = buf_slice(clean);
	visit_connection_begin(v, v->kind == VISIT_WATCH ? "watch" : "list");
	visit_connection_end(
		v, end, visit_end_reason(reason, v, end, false), status, (struct slice){NULL, 0});
	if (v->kind == VISIT_WATCH)
		office_judge(v->office, tee_stream_refused(v->stream, &err), &err);
}

void visit_read_end(struct visit *v, const struct visit_ending *end)
{
	struct reading *r = v->reading;
	bool is_whole = end->how == ROAD_COMPLETE && !r->is_lost;

	r->wall_ns = end->wall_ns;
	r->is_lost |= !is_whole;
	if (is_whole && r->collects && ((v->redacts && r->keeps) || r->is_on_tape))
		keep_whole(v);
	answer_keeper_end(&r->keeper);
	if (!r->is_good || (!is_whole && r->is_on_tape))
		end_refused(v, end);
	else if (r->is_on_tape)
		end_list(v, end);
	else if (is_whole && (v->kind == VISIT_DOCUMENT || is_identity(v)))
		put_document(v, end);
}
