/* visit_watch.c: see visit.h. */
#include "tools/tee/visit_internal.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"

#include <stdio.h>
#include <stdlib.h>

#define SETTLED_NS NS_PER_S /* a watch that stood for this long without an ERROR is one */

struct watching {
	struct watch_reader *reader;
	const struct feed_item *item; /* at hand */
	uint64_t number;              /* of what it was sent */
	bool is_open;                 /* its stream counts it */
	bool is_settled, is_unreadable;
	struct tee_listing *listing; /* while it sends the state first */
	char *from_rv;
	int error_code; /* of an ERROR; 0 none */
	char error_reason[64];
	struct buf error_status;
};

/* ---- the stream ---- */

static void join_stream(struct visit *v)
{
	struct watching *w = v->watching;
	bool sends_state = query_true(&v->query, "sendInitialEvents");
	struct err err = {0};

	if (sends_state)
		w->listing = tee_stream_list(v->stream, true, &err);
	office_judge(v->office, err.code, &err);
	tee_stream_opened(v->stream);
	w->is_open = true;
	visit_connection_begin(v, sends_state ? "watchlist" : "watch");
}

/* By what an object says of itself, if nothing else did. */
static void find_stream(struct visit *v, const struct object_meta *m)
{
	if (v->stream || v->is_partial || !m->kind.len)
		return;
	visit_find_stream(v, m->kind, m->namespace.len > 0);
	if (v->stream)
		join_stream(v);
}

static void visit_watch_settle(struct visit *v)
{
	struct watching *w = v->watching;
	struct err err;

	if (w->is_settled || !w->is_open || w->listing)
		return;
	w->is_settled = true;
	office_judge(
		v->office, tee_stream_settled(v->stream, slice_of(w->from_rv), v->connection.id, &err), &err);
}

/* ---- rows ---- */

static void store_frame(
	struct visit *v, const struct watch_event *e, const struct object_meta *m, struct slice object)
{
	static const char *const encodings[] = {
		[WATCH_JSON] = "", [WATCH_PROTOBUF] = "protobuf", [WATCH_CBOR] = "cbor"};
	bool is_raw = e->encoding != WATCH_JSON && !v->redacts;

	run_file_frame(run_book_file(v->office->run),
		&(struct run_frame_row){.request = v->id,
			.number = v->watching->number,
			.out_ns = v->watching->item->wall_ns,
			.type = e->frame.type,
			.rv = m->rv,
			.uid = m->uid,
			.encoding = slice_of(is_raw ? encodings[e->encoding] : ""),
			.body = is_raw ? e->raw : object});
}

static void store_delivery(struct visit *v, const struct watch_event *e, const struct object_meta *m,
	const struct placed *placed)
{
	struct tee_client *c = v->client;

	v->events++;
	v->office->deliveries++;
	run_file_delivery(run_book_file(v->office->run), &(struct run_delivery_row){.request = v->id,
								 .seq = placed->seq,
								 .type = e->frame.type,
								 .due_ns = RUN_NO_TIME,
								 .out_ns = v->watching->item->wall_ns,
								 .number = v->watching->number,
								 .rv = m->rv,
								 .uid = m->uid});
	if (!placed->seq)
		return;
	c->seen_seq = placed->seq;
	c->seen_mono_ns = v->watching->item->mono_ns;
	if (!rv_to_u64(m->rv, &c->seen_rv))
		c->seen_rv = 0;
}

/* ---- events ---- */

/* Another form than the object: a Table has it in its only row. */
static void find_inside(struct slice object, struct object_meta *m)
{
	struct slice row, rv, uid;

	if (!slice_is(m->kind, "Table") ||
		json_get(object, "rows[0].object.metadata.resourceVersion", &rv, NULL) <= 0 ||
		json_get(object, "rows[0].object.metadata.uid", &uid, NULL) <= 0 || rv.len < 2 || uid.len < 2)
		return;
	row = (struct slice){rv.ptr + 1, rv.len - 2};
	m->rv = row;
	m->uid = (struct slice){uid.ptr + 1, uid.len - 2};
}

static bool is_other_form(const struct visit *v, const struct object_meta *m)
{
	return v->is_partial && (slice_is(m->kind, "Table") || slice_is(m->kind, "PartialObjectMetadata"));
}

/* The tape may have the object all the same, because of another watch. */
static void look_for(struct visit *v, const struct shelf_object *o, struct placed *ret)
{
	const struct ledger *l =
		shelf_find(v->office->shelf, v->path.group, v->path.version, v->path.resource);

	if (l)
		shelf_look(l, o, ret);
	ret->is_exact = false;
}

static int put_on_tape(struct visit *v, const struct shelf_object *o, struct placed *ret, struct err *err)
{
	struct watching *w = v->watching;
	int rc;

	if (!w->listing)
		return tee_stream_event(v->stream, o, ret, err);
	rc = tee_listing_item(w->listing, o->meta, o->bytes, 0, o->time_ns, err);
	if (rc == 0)
		look_for(v, o, ret);
	return rc;
}

static void count_on_connection(struct visit *v, uint64_t seq)
{
	struct tape_connection *c = &v->connection;

	c->events++;
	if (!seq)
		return;
	if (!c->first_seq)
		c->first_seq = seq;
	if (seq > c->last_seq)
		c->last_seq = seq;
}

static void take_object(struct visit *v, const struct watch_event *e, enum event_type type)
{
	struct object_meta meta = e->frame.meta;
	const struct shelf_object o = {.type = type,
		.origin = ORIGIN_WATCH,
		.time_ns = v->watching->item->wall_ns,
		.meta = &meta,
		.bytes = visit_clean_object(v, e->frame.object)};
	struct placed placed = {0};
	struct err err;

	find_stream(v, &meta);
	visit_watch_settle(v);
	if (v->stream && meta.name.len && !is_other_form(v, &meta)) {
		office_judge(v->office, put_on_tape(v, &o, &placed, &err), &err);
		count_on_connection(v, placed.seq);
	} else {
		if (!v->redacts)
			find_inside(e->frame.object, &meta);
		look_for(v, &o, &placed);
	}
	store_delivery(v, e, &meta, &placed);
	if (!placed.is_exact || e->encoding != WATCH_JSON)
		store_frame(v, e, &meta, o.bytes);
}

/* ---- bookmarks and errors ---- */

static void put_mark(struct visit *v, enum mark_kind kind, struct slice rv, struct slice object)
{
	const struct tape_mark mark = {.time_ns = v->watching->item->wall_ns,
		.kind = kind,
		.connection = v->connection.id,
		.rv = rv,
		.object = object};
	struct err err;

	if (v->stream)
		office_judge(v->office, tee_stream_mark(v->stream, &mark, &err), &err);
}

static bool ends_state(struct slice object)
{
	static const char annotation[] = "k8s.io/initial-events-end";

	return memmem(object.ptr, object.len, annotation, sizeof(annotation) - 1) != NULL;
}

static void end_listing(struct visit *v, struct slice rv)
{
	struct watching *w = v->watching;
	struct tee_listing *listing = w->listing;
	struct err err;

	w->listing = NULL;
	w->is_settled = true;
	if (listing)
		office_judge(v->office,
			tee_listing_end(listing, rv, v->connection.id, w->item->wall_ns, &err), &err);
}

static void take_bookmark(struct visit *v, const struct watch_event *e)
{
	const struct object_meta *m = &e->frame.meta;
	struct slice object = visit_clean_object(v, e->frame.object);
	bool is_end = ends_state(e->frame.object);

	find_stream(v, m);
	visit_watch_settle(v);
	if (is_end)
		end_listing(v, m->rv);
	put_mark(v, is_end ? MARK_INITIAL_END : MARK_BOOKMARK, m->rv, object);
	v->connection.bookmarks++;
	store_frame(v, e, m, object);
}

static struct slice clean_error(struct visit *v, struct slice object)
{
	struct buf *clean = &v->office->clean;

	if (!v->redacts)
		return object;
	buf_clear(clean);
	(void)!redactor_error(v->office->redactor, object, 0, clean, NULL);
	return buf_slice(clean);
}

static void take_error(struct visit *v, const struct watch_event *e)
{
	struct watching *w = v->watching;
	struct slice object = clean_error(v, e->frame.object), code, reason;
	uint64_t number = 0;

	if (json_get(object, "code", &code, NULL) > 0)
		(void)!rv_to_u64(code, &number);
	w->error_code = number && number < 1000 ? (int)number : 500;
	if (json_get(object, "reason", &reason, NULL) > 0 && reason.len > 2)
		snprintf(w->error_reason, sizeof(w->error_reason), "%.*s", (int)(reason.len - 2),
			reason.ptr + 1);
	buf_clear(&w->error_status);
	(void)!buf_append(&w->error_status, object.ptr, object.len, NULL);
	put_mark(v, MARK_ERROR, (struct slice){NULL, 0}, object);
	store_frame(v, e, &e->frame.meta, object);
}

/* What cannot be read is kept as it came, or, of Secrets, as a line that tells its length. */
static void take_unread(struct visit *v, const struct watch_event *e)
{
	const struct watch_event nothing = {.encoding = e->encoding};
	struct buf *clean = &v->office->clean;

	v->office->unread++;
	if (!v->redacts) {
		store_frame(v, e, &e->frame.meta, e->raw);
		return;
	}
	buf_clear(clean);
	(void)!redactor_bytes(v->office->redactor, e->raw, clean, NULL);
	store_frame(v, &nothing, &nothing.frame.meta, buf_slice(clean));
}

static int take_event(void *context, const struct watch_event *e)
{
	struct visit *v = context;
	enum event_type type;

	v->watching->number++;
	if (e->is_read && event_type_parse(e->frame.type, &type))
		take_object(v, e, type);
	else if (e->is_read && slice_is(e->frame.type, "BOOKMARK"))
		take_bookmark(v, e);
	else if (e->is_read && slice_is(e->frame.type, "ERROR"))
		take_error(v, e);
	else
		take_unread(v, e);
	return 0;
}

/* ---- the whole ---- */

void visit_watch_begin(struct visit *v, const struct feed_item *item)
{
	struct watching *w = xcalloc(1, sizeof(*w));

	w->item = item;
	w->reader = watch_reader_new(slice_of(v->answer_type), v->status == 101);
	w->from_rv = slice_dup(query_get(&v->query, "resourceVersion"));
	buf_init(&w->error_status, LIMIT_OBJECT_BYTES);
	v->watching = w;
	visit_find_stream(v, (struct slice){NULL, 0}, false);
	if (v->stream)
		join_stream(v);
}

void visit_watch_lost(struct visit *v)
{
	struct err err;

	watch_reader_lose(v->watching->reader);
	if (v->stream)
		office_judge(v->office, tee_stream_lost(v->stream, v->connection.id, &err), &err);
}

void visit_watch_body(struct visit *v, struct slice bytes, const struct feed_item *item)
{
	struct watching *w = v->watching;
	struct err err;

	w->item = item;
	if (watch_reader_feed(w->reader, bytes, take_event, v, &err) == 0 || w->is_unreadable)
		return;
	w->is_unreadable = true;
	log_warn("a watch of '%s' is passed on and cannot be read any more: %s", v->target, err.text);
	visit_watch_lost(v);
}

void visit_watch_tick(struct visit *v, int64_t now_mono_ns)
{
	if (!v->watching->error_code && now_mono_ns - v->answer_mono_ns >= SETTLED_NS)
		visit_watch_settle(v);
}

/* ---- its end ---- */

static const char *what_ended(const struct visit *v, const struct visit_ending *end, bool has_tail)
{
	if (v->watching->error_code)
		return "error";
	switch (end->how) {
	case ROAD_RST_STREAM: return "rst_stream";
	case ROAD_GOAWAY: return "goaway";
	case ROAD_RESET: return "rst";
	case ROAD_FIN: return has_tail ? "cut" : "fin";
	default: return has_tail ? "cut" : "end";
	}
}

/* The server's doing, but not what the client had asked for. */
static void store_end(struct visit *v, const struct visit_ending *end, const char *reason, bool has_tail)
{
	bool is_fault = end->by == PARTY_SERVER && strcmp(reason, "server_timeout") != 0;

	if (is_fault || v->watching->error_code)
		visit_fault(v, end->wall_ns, "watch", what_ended(v, end, has_tail), reason);
}

/* The front of a frame that never became whole. */
static void store_part(struct visit *v, struct slice tail)
{
	struct watching *w = v->watching;

	if (tail.len)
		run_file_frame(run_book_file(v->office->run), &(struct run_frame_row){.request = v->id,
								      .number = ++w->number,
								      .out_ns = w->item->wall_ns,
								      .encoding = slice_of("part"),
								      .body = tail});
}

static struct slice clean_tail(struct visit *v)
{
	struct slice tail = watch_reader_tail(v->watching->reader);
	struct buf *clean = &v->office->clean;

	if (!v->redacts || !tail.len)
		return tail;
	buf_clear(clean);
	(void)!redactor_bytes(v->office->redactor, tail, clean, NULL);
	return buf_slice(clean);
}

bool visit_watch_is_closed(const struct visit *v)
{
	return watch_reader_is_closed(v->watching->reader);
}

void visit_watch_end(struct visit *v, const struct visit_ending *end)
{
	struct watching *w = v->watching;
	const struct feed_item at = {.wall_ns = end->wall_ns, .mono_ns = end->mono_ns};
	uint64_t connection;
	char reason[END_REASON_BYTES];
	struct slice tail;

	w->item = &at;
	if (end->how == ROAD_COMPLETE && !w->is_unreadable)
		(void)!watch_reader_end(w->reader, take_event, v, NULL);
	tail = clean_tail(v);
	if (w->error_code)
		snprintf(reason, sizeof(reason), "error_event:%d:%.60s", w->error_code, w->error_reason);
	else
		visit_end_reason(reason, v, end, tail.len > 0);
	store_end(v, end, reason, tail.len > 0);
	store_part(v, tail);
	if (!w->is_open)
		return;
	if (!w->error_code)
		visit_watch_settle(v); /* however short it was */
	connection = v->connection.id;
	visit_connection_end(v, end, reason, buf_slice(&w->error_status), tail);
	if (!w->is_settled && w->error_code) {
		struct err err;

		office_judge(v->office, tee_stream_refused(v->stream, &err), &err);
	}
	tee_stream_closed(v->stream, reason, connection);
}

void visit_watch_free(struct visit *v)
{
	struct watching *w = v->watching;

	if (!w)
		return;
	tee_listing_drop(w->listing);
	watch_reader_free(w->reader);
	buf_release(&w->error_status);
	free(w->from_rv);
	free(w);
	v->watching = NULL;
}
