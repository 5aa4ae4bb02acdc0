/* visit.c: see visit.h. What was asked, and the rows of the run that every request has. */
#include "tools/tee/visit_internal.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is asked ---- */

/* What passes there is no object: bytes of a container, or of a server behind the server. */
static bool is_stream_of_bytes(const struct api_path *p)
{
	return p->rest.len || subresource_is_bytes(p->subresource);
}

static bool is_document(const struct visit *v)
{
	static const char openapi[] = "/openapi/v";

	return v->path.kind == API_PATH_ROOT || v->path.kind == API_PATH_VERSION ||
	       slice_is(v->query.path, "/version") || slice_begins(v->query.path, openapi);
}

static enum visit_kind kind_of(const struct visit *v)
{
	if (!slice_is(slice_of(v->method), "GET"))
		return visit_is_write(&v->path, slice_of(v->method)) && !is_stream_of_bytes(&v->path)
			       ? VISIT_WRITE
			       : VISIT_OTHER;
	if (v->path.kind != API_PATH_RESOURCE)
		return is_document(v) ? VISIT_DOCUMENT : VISIT_OTHER;
	if (is_stream_of_bytes(&v->path))
		return VISIT_OTHER;
	if (v->path.forced_watch || (query_true(&v->query, "watch") && !v->path.subresource.len))
		return VISIT_WATCH;
	return v->path.name.len ? VISIT_OBJECT : VISIT_LIST;
}

/* ---- rows ---- */

static void fill_request(struct visit *v, const struct feed_item *item)
{
	struct tee_client *c = v->client;

	v->row = (struct run_request_row){.id = v->id,
		.time_ns = item->wall_ns,
		.tape_time_ns = item->wall_ns,
		.seq = office_seq(v->office),
		.client = slice_of(c->name),
		.method = slice_of(v->method),
		.path = slice_of(v->target),
		.what = run_resource_of(&v->path),
		.rv = query_get(&v->query, "resourceVersion"),
		.seen_seq = c->seen_seq,
		.seen_rv = c->seen_rv,
		.latency_ns = c->seen_seq ? item->mono_ns - c->seen_mono_ns : RUN_NO_TIME,
		.client_id = c->id,
		.socket = run_book_socket(v->office->run, item->other),
		.accept = slice_of(v->accept)};
}

bool visit_clean_body(struct visit *v, struct slice bytes, struct buf *to)
{
	struct body body;
	bool secret;

	body_init(&body, bytes);
	secret = run_clean_body(v->office->redactor, &v->path, &body, to);
	body_release(&body);
	return secret;
}

static void store_request(struct visit *v)
{
	char verb[RUN_VERB_BYTES];
	struct buf body;

	if (v->is_stored)
		return;
	v->is_stored = true;
	buf_init(&body, RUN_BODY_BYTES);
	if (v->asked.len && !v->asked_lost)
		(void)visit_clean_body(v, buf_slice(&v->asked), &body);
	v->row.verb = slice_of(run_verb(slice_of(v->method), v->verb, verb));
	v->row.body = buf_slice(&body);
	if (!v->row.rv.len)
		v->row.rv = run_version_in(v->row.body);
	run_file_request(run_book_file(v->office->run), &v->row);
	buf_release(&body);
}

void visit_fault(struct visit *v, int64_t wall_ns, const char *step, const char *what, const char *detail)
{
	run_file_fault(run_book_file(v->office->run), &(struct run_fault_row){.time_ns = wall_ns,
							      .tape_time_ns = wall_ns,
							      .seq = office_seq(v->office),
							      .step = slice_of(step),
							      .what = slice_of(what),
							      .detail = slice_of(detail),
							      .where = run_resource_of(&v->path),
							      .request = v->id});
}

struct slice visit_clean_object(struct visit *v, struct slice object)
{
	struct office *o = v->office;

	if (!v->redacts)
		return object;
	buf_clear(&o->clean);
	if (redactor_object(o->redactor, object, &o->clean, NULL) == 0)
		return buf_slice(&o->clean);
	buf_clear(&o->clean);
	(void)!redactor_answer(o->redactor, object, &o->clean, NULL);
	return buf_slice(&o->clean);
}

/* ---- its beginning ---- */

static struct slice without_server_path(const struct office *o, struct slice target)
{
	struct slice rest = target;

	return slice_skip(&rest, o->server_path) && rest.len ? rest : target;
}

static void note_socket(struct visit *v, const struct feed_item *item)
{
	const struct socket_note *s = office_socket(v->office, item->other);

	v->version = slice_is(feed_text(item, REQUEST_VERSION), "2") ? "2" : "1.1";
	v->server = xstrdup(s ? s->server : "");
	v->tls = s && s->tls;
}

static bool redacts(const struct visit *v)
{
	char *group = slice_dup(v->path.group), *resource = slice_dup(v->path.resource);
	bool does = tape_book_redacts(v->office->book, group, resource);

	free(group);
	free(resource);
	return does;
}

struct visit *visit_begin(struct office *o, const struct feed_item *item)
{
	struct visit *v = xcalloc(1, sizeof(*v));

	o->requests++;
	v->office = o;
	v->id = run_book_request(o->run, item->id);
	v->client = run_book_client(o->run, feed_text(item, REQUEST_AGENT),
		feed_text(item, REQUEST_AUTHORIZATION), item->wall_ns);
	v->method = slice_dup(feed_text(item, REQUEST_METHOD));
	v->target = slice_dup(without_server_path(o, feed_text(item, REQUEST_TARGET)));
	v->accept = slice_dup(feed_text(item, REQUEST_ACCEPT));
	v->content_type = slice_dup(feed_text(item, REQUEST_CONTENT_TYPE));
	note_socket(v, item);
	query_parse(slice_of(v->target), &v->query);
	api_path_parse(v->query.path, &v->path);
	v->verb = verb_decide(slice_of(v->method), &v->path, &v->query);
	v->kind = kind_of(v);
	v->is_partial = strstr(v->accept, "as=") != NULL;
	v->redacts = v->path.kind == API_PATH_RESOURCE && redacts(v);
	v->begin_mono_ns = item->mono_ns;
	v->retry_after = -1;
	buf_init(&v->asked, LIMIT_REQUEST_BODY_BYTES);
	fill_request(v, item);
	return v;
}

static void free_visit(struct visit *v)
{
	visit_watch_free(v);
	visit_read_free(v);
	decoder_free(v->decoder);
	office_uncollect(v->office, &v->asked);
	query_release(&v->query);
	free(v->method);
	free(v->target);
	free(v->accept);
	free(v->content_type);
	free(v->server);
	free(v->answer_type);
	free(v->audit_id);
	free(v->date);
	free(v->etag);
	free(v);
}

/* ---- its answer ---- */

static void take_lost(struct visit *v)
{
	decoder_free(v->decoder); /* nothing can be read after a hole */
	v->decoder = NULL;
	if (v->watching)
		visit_watch_lost(v);
	if (v->reading)
		visit_read_lost(v);
}

static void take_answer(struct visit *v, const struct feed_item *item)
{
	struct slice retry_after = feed_text(item, ANSWER_RETRY_AFTER);
	uint64_t seconds;
	struct err err;

	store_request(v);
	v->status = (int)item->number;
	v->answer_mono_ns = item->mono_ns;
	v->answer_type = slice_dup(feed_text(item, ANSWER_CONTENT_TYPE));
	v->audit_id = slice_dup(feed_text(item, ANSWER_AUDIT_ID));
	v->date = slice_dup(feed_text(item, ANSWER_DATE));
	v->etag = slice_dup(feed_text(item, ANSWER_ETAG));
	if (rv_to_u64(retry_after, &seconds) && seconds <= INT32_MAX)
		v->retry_after = (int64_t)seconds;
	if (v->kind == VISIT_WATCH && (v->status == 200 || v->status == 101))
		visit_watch_begin(v, item);
	else
		visit_read_begin(v, item);
	if (decoder_new(feed_text(item, ANSWER_CONTENT_ENCODING), &v->decoder, &err)) {
		log_debug("%s", err.text);
		take_lost(v);
	}
}

struct piece {
	struct visit *visit;
	const struct feed_item *item;
};

static int take_piece(void *context, struct slice bytes)
{
	const struct piece *p = context;

	if (p->visit->watching)
		visit_watch_body(p->visit, bytes, p->item);
	else if (p->visit->reading)
		visit_read_body(p->visit, bytes);
	return 0;
}

static void take_body(struct visit *v, const struct feed_item *item)
{
	struct slice bytes = feed_text(item, 0);
	struct piece p = {v, item};

	v->bytes += bytes.len;
	if (decoder_feed(v->decoder, bytes, take_piece, &p, NULL))
		take_lost(v);
}

static void take_loss(struct visit *v, const struct feed_item *item)
{
	v->office->lost_bytes += (uint64_t)item->number;
	if (item->other) {
		v->asked_lost = true;
		return;
	}
	v->bytes += (uint64_t)item->number;
	v->lost_bytes += (uint64_t)item->number;
	take_lost(v);
}

void visit_take(struct visit *v, const struct feed_item *item)
{
	switch (item->kind) {
	case FEED_ASKED:
		v->asked_lost |= v->path.kind == API_PATH_RESOURCE &&
				 !office_collect(v->office, &v->asked, feed_text(item, 0));
		break;
	case FEED_ASKED_END: store_request(v); break;
	case FEED_ANSWER: take_answer(v, item); break;
	case FEED_BODY: take_body(v, item); break;
	case FEED_LOST: take_loss(v, item); break;
	default: break;
	}
}

void visit_tick(struct visit *v, int64_t now_mono_ns)
{
	if (v->watching)
		visit_watch_tick(v, now_mono_ns);
}

/* ---- its end ---- */

static void store_answer(struct visit *v, const struct visit_ending *end)
{
	run_file_answer(run_book_file(v->office->run),
		&(struct run_answer_row){.request = v->id,
			.time_ns = end->wall_ns,
			.duration_ns = end->mono_ns - v->begin_mono_ns,
			.status = v->status,
			.whole = end->how == ROAD_COMPLETE && v->status,
			.events = v->events,
			.bytes = v->bytes,
			.content_type = slice_of(v->answer_type ? v->answer_type : ""),
			.how = slice_of(office_how(end->how)),
			.ended_by = slice_of(office_by(end->by)),
			.audit_id = slice_of(v->audit_id ? v->audit_id : ""),
			.h2_error = end->code,
			.retry_after = v->retry_after});
}

static const char *break_word(enum road_end how)
{
	switch (how) {
	case ROAD_RST_STREAM: return "rst_stream";
	case ROAD_GOAWAY: return "goaway";
	case ROAD_FIN: return "fin";
	case ROAD_RESET: return "rst";
	default: return NULL;
	}
}

/* What the server did to a request that is no watch. */
static void store_faults(struct visit *v, const struct visit_ending *end)
{
	char detail[END_REASON_BYTES];
	const char *word = end->by == PARTY_SERVER ? break_word(end->how) : NULL;

	if (v->lost_bytes) {
		snprintf(detail, sizeof(detail), "%llu bytes were passed on and are not written down",
			(unsigned long long)v->lost_bytes);
		visit_fault(v, end->wall_ns, "nobody", "not_recorded", detail);
	}
	if (v->watching)
		return;
	visit_end_reason(detail, v, end, false);
	if (v->status == 410 || v->status == 429 || v->status >= 500)
		visit_fault(v, end->wall_ns, "request", "http", detail);
	else if (word)
		visit_fault(v, end->wall_ns, "request", word, detail);
}

static void visit_finish(struct visit *v, struct visit_ending end)
{
	store_request(v);
	if (v->watching && visit_watch_is_closed(v) && end.by != PARTY_CLIENT)
		end.how = ROAD_COMPLETE;
	if (v->watching)
		visit_watch_end(v, &end);
	if (v->reading)
		visit_read_end(v, &end);
	if (v->kind == VISIT_WRITE && v->status)
		visit_write_end(v);
	store_answer(v, &end);
	store_faults(v, &end);
	free_visit(v);
}

void visit_end(struct visit *v, const struct feed_item *item)
{
	struct slice code = feed_text(item, 0);
	struct visit_ending end = {.how = (enum road_end)item->number,
		.by = (enum road_party)item->other,
		.code = -1,
		.wall_ns = item->wall_ns,
		.mono_ns = item->mono_ns};
	uint32_t number;

	if (item->text_count && code.len == sizeof(number)) {
		memcpy(&number, code.ptr, sizeof(number));
		end.code = number;
	}
	visit_finish(v, end);
}

void visit_drop(struct visit *v)
{
	const struct visit_ending end = {.how = ROAD_UNREAD,
		.by = PARTY_TEE,
		.code = -1,
		.wall_ns = clock_wall_ns(&clock_system),
		.mono_ns = clock_mono_ns(&clock_system)};

	visit_finish(v, end);
}
