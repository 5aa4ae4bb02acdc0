/* seen_watch.c: see seen.h. A watch of the live client, given again. */
#include "replayer/seen/seen_internal.h"

#include "replayer/serve/watch.h"
#include "replayer/wire/websocket_watch.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"
#include "schema/tape/reader.h"

#include <stdlib.h>

struct seen_watch {
	struct seen *seen;
	struct told *told;
	struct exchange *x;
	struct websocket_watch *websocket; /* NULL: an ordinary stream */
	struct run_client *client;
	struct run_request *stored; /* NULL: without a run file */
	bool is_ended;
};

/* ---- frames ---- */

static struct blob *json_frame(const char *type, struct slice object)
{
	const struct slice parts[] = {slice_of("{\"type\":\""), slice_of(type), slice_of("\",\"object\":"),
		object, slice_of("}\n")};

	return blob_join(parts, COUNT_OF(parts));
}

static struct blob *protobuf_frame(struct slice bytes)
{
	const unsigned char length[4] = {(unsigned char)(bytes.len >> 24), (unsigned char)(bytes.len >> 16),
		(unsigned char)(bytes.len >> 8), (unsigned char)bytes.len};
	const struct slice parts[] = {{(const char *)length, sizeof(length)}, bytes};

	return blob_join(parts, 2);
}

/* What is kept without a type came as that line. */
static struct blob *kept_frame(const struct seen_text *text, struct slice body)
{
	const struct slice line[] = {body, slice_of("\n")};

	if (strcmp(text->encoding, "protobuf") == 0)
		return protobuf_frame(body);
	if (*text->encoding)
		return blob_of(body);
	return *text->type ? json_frame(text->type, body) : blob_join(line, 2);
}

static enum event_type type_of(const struct seen_frame *f)
{
	if (f->type == 'M')
		return EVENT_MODIFIED;
	return f->type == 'D' ? EVENT_DELETED : EVENT_ADDED;
}

static void note_event(struct seen_watch *w, const struct seen_frame *f, struct slice object)
{
	struct run *run = w->seen->place.run;
	int64_t now_ns = clock_mono_ns(&clock_system);
	struct object_meta meta;
	uint64_t rv = 0;

	if (!f->event)
		return;
	if (object.len && (json_scan_object(object, &meta, NULL) || !rv_to_u64(meta.rv, &rv)))
		rv = 0;
	run_told(run, w->client, w->stored,
		&(struct run_event){.seq = f->event, .rv = rv, .type = type_of(f)});
	run_delivered(run, now_ns, now_ns, 1);
}

/* Gives a reference; NULL when there is nothing to send. */
static struct blob *read_frame(
	struct seen_watch *w, const struct seen_frame *f, struct buf *keep, struct err *err)
{
	struct seen_text text;
	struct slice object;

	if (f->seq) {
		if (tape_object(w->seen->tape, f->seq, &object, err))
			return NULL;
		note_event(w, f, object);
		return json_frame(event_type_name(type_of(f)), object);
	}
	if (run_seen_frame(w->seen->run_seen, f, &text, keep, err))
		return NULL;
	note_event(w, f, *text.encoding ? (struct slice){NULL, 0} : buf_slice(keep));
	return keep->len ? kept_frame(&text, buf_slice(keep)) : NULL;
}

/* A WebSocket message has no line feed. */
static void push(struct seen_watch *w, struct blob *frame)
{
	struct slice event = blob_body(frame);

	if (!w->websocket) {
		exchange_push(w->x, frame);
		return;
	}
	if (event.len && event.ptr[event.len - 1] == '\n')
		event.len--;
	websocket_watch_send(w->websocket, event);
}

static void send_frame(struct seen_watch *w, const struct seen_frame *f)
{
	struct err err = {0};
	struct buf keep;
	struct blob *b;

	buf_init(&keep, LIMIT_OBJECT_BYTES);
	b = read_frame(w, f, &keep, &err);
	if (b)
		push(w, b);
	else if (err.code)
		log_error("an event is not sent again: %s", err.text);
	blob_unref(b);
	buf_release(&keep);
	if (w->seen->sent)
		w->seen->sent(w->seen->sent_context);
}

/* ---- its end ---- */

void seen_watch_end(struct seen_watch *w)
{
	if (w->is_ended)
		return;
	w->is_ended = true;
	if (w->websocket)
		websocket_watch_say_goodbye(w->websocket);
	exchange_finish(w->x);
}

static void end_as_live(struct seen_watch *w)
{
	const struct seen_request *r = w->told->live;

	if (r->end == SEEN_COMPLETE) {
		seen_watch_end(w);
		return;
	}
	w->is_ended = true;
	exchange_break(
		w->x, seen_abort_of(r->end), r->h2_error >= 0 ? (uint32_t)r->h2_error : EXCHANGE_ABORT_CODE);
}

bool seen_watch_send(struct seen_watch *w)
{
	struct told *t = w->told;

	if (w->is_ended)
		return true;
	while (t->sent < t->due) {
		if (exchange_waiting(w->x) >= WATCH_WAITING_MAX)
			return false;
		send_frame(w, &t->live->frames[t->sent++]);
		t->told_ns = clock_mono_ns(&clock_system);
	}
	if (t->is_over)
		end_as_live(w);
	return true;
}

/* ---- opening ---- */

static void on_drained(void *owner)
{
	struct seen_watch *w = owner;

	(void)!seen_watch_send(w);
	player_nudge(w->seen->place.player);
}

static void on_closed(void *owner)
{
	struct seen_watch *w = owner;

	w->told->running = NULL;
	watches_count_other(w->seen->place.watches, -1);
	player_nudge(w->seen->place.player);
	websocket_watch_free(w->websocket);
	free(w);
}

static void on_received(void *owner, struct slice bytes)
{
	struct seen_watch *w = owner;

	if (w->websocket && !w->is_ended && !websocket_watch_take(w->websocket, bytes))
		seen_watch_end(w);
}

static const struct exchange_owner seen_watch_owner = {on_drained, on_received, on_closed};

/* As the client asks for it now, whatever the live one did. */
static void answer(struct seen_watch *w, const struct http_request *r)
{
	const char *type = *w->told->live->content_type ? w->told->live->content_type : JSON_TYPE;
	char accept[WEBSOCKET_ACCEPT_MAX];
	struct answer_headers h;

	if (websocket_is_wanted(r) && *websocket_accept(r, accept)) {
		w->websocket = websocket_watch_open(w->x, accept);
		return;
	}
	answer_headers_init(&h, r, type);
	exchange_answer(w->x, 200, h.items, h.count, -1);
}

void seen_watch_open(struct seen *s, struct told *t, struct api_call *call)
{
	struct seen_watch *w = xcalloc(1, sizeof(*w));

	*w = (struct seen_watch){
		.seen = s, .told = t, .x = call->x, .client = call->client, .stored = call->stored};
	t->running = w;
	t->told_ns = clock_mono_ns(&clock_system);
	s->has_begun = true;
	call->client->watches++;
	s->place.run->watches++;
	exchange_own(call->x, &seen_watch_owner, w);
	answer(w, call->request);
	watches_count_other(s->place.watches, 1);
	(void)!seen_watch_send(w);
	player_nudge(s->place.player);
}
