/* watch_send.c: what a watch puts on the wire; see watch_internal.h. */
#include "replayer/request/selectors.h"
#include "replayer/run/run.h"
#include "replayer/serve/fault_act.h"
#include "replayer/serve/watch_internal.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

/* A frame's event: a WebSocket message has no line feed. */
static struct slice event_text(const struct blob *frame)
{
	return (struct slice){blob_body(frame).ptr, frame->len - 1};
}

/* Sends the first bytes of a frame, after the head of its chunk or message if it has one, and no more. */
static void push_cut(struct watch *w, const struct blob *frame)
{
	struct blob *message = w->websocket ? websocket_frame(WEBSOCKET_TEXT, event_text(frame)) : NULL;
	const struct blob *whole = message ? message : frame;
	bool in_chunk = !message && w->x->framing == FRAMING_CHUNKS;
	size_t head = message ? message->len - (frame->len - 1) : in_chunk ? frame->head : 0;
	size_t most = head + (message ? frame->len - 1 : frame->len);
	size_t n = w->fault.cut_bytes < most - head ? head + w->fault.cut_bytes : most;
	struct blob *part =
		n ? blob_of((struct slice){(in_chunk ? blob_chunk(whole) : blob_body(whole)).ptr, n}) : NULL;

	if (part)
		exchange_push_raw(w->x, part);
	blob_unref(part);
	blob_unref(message);
	fault_act_cut(w->set->faults, w);
	watch_break(w, ABORT_FIN, 0);
}

/* Gives the reference away. */
static void push(struct watch *w, struct blob *frame)
{
	if (!frame)
		return;
	if (w->state == WATCH_ENDED)
		;
	else if (w->faulty && w->fault.cut)
		push_cut(w, frame);
	else if (w->websocket)
		websocket_watch_send(w->websocket, event_text(frame));
	else
		exchange_push(w->x, frame);
	blob_unref(frame);
}

/* A watch of metadata *lists* is accepted and ends without a word at its first event. */
static bool refuse_list_form(struct watch *w)
{
	if (w->view.form != FORM_PARTIAL_LIST)
		return false;
	watch_end(w);
	return true;
}

void watch_send_bookmark(struct watch *w, uint64_t rv, bool initial_end)
{
	struct blob *recorded = NULL;
	struct buf object;

	if (refuse_list_form(w))
		return;
	if (w->collection->resource.id < w->set->marks->resource_count)
		recorded = w->set->marks->bookmarks[w->collection->resource.id];
	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (bookmark_object(w->collection, recorded ? blob_body(recorded) : (struct slice){NULL, 0}, rv,
		    initial_end, &object, NULL) == 0)
		push(w, view_new_frame(&w->view, "BOOKMARK", buf_slice(&object)));
	w->view.no_headers = w->view.form == FORM_TABLE;
	w->set->run->bookmarks++;
	buf_release(&object);
}

void watch_end_with_error_json(struct watch *w, struct slice status)
{
	struct view plain = {.form = FORM_OBJECT};

	push(w, view_new_frame(&plain, "ERROR", status));
	watch_end(w);
}

void watch_end_with_error(struct watch *w, struct status *st)
{
	struct buf json;

	buf_init(&json, LIMIT_REQUEST_HEAD_BYTES * 8);
	if (status_write(st, &json, NULL) == 0)
		watch_end_with_error_json(w, buf_slice(&json));
	watch_end(w);
	buf_release(&json);
	status_release(st);
}

static bool in_scope(const struct watch *w, const struct change *c)
{
	return (!w->namespace.len || slice_equal(c->namespace, w->namespace)) &&
	       (!w->name.len || slice_equal(c->name, w->name));
}

static void push_change(struct watch *w, struct change *c, enum event_type type, struct slice object)
{
	if (refuse_list_form(w))
		return;
	push(w, view_frame(&w->view, c, type, object));
	w->view.no_headers = w->view.form == FORM_TABLE;
	run_sent(w->set->run, w->client, w->stored, c, type);
}

static enum watch_sent send_change(
	struct watch *w, struct change *c, enum event_type type, struct slice object)
{
	struct fault_frame frame = {.act = FRAME_SEND, .copies = 1};

	if (w->faulty)
		fault_act_frame(w->set->faults, w, c, &frame);
	if (frame.act == FRAME_DROP)
		return WATCH_NOTHING;
	if (frame.act == FRAME_WAIT) {
		w->wait_tape_ns = frame.tape_ns;
		w->wait_mono_ns = frame.mono_ns;
		w->wait_goes_on = frame.goes_on;
		return WATCH_LATER;
	}
	for (size_t i = 0; i < frame.copies; i++)
		push_change(w, c, type, object);
	if (w->faulty)
		fault_act_sent(w->set->faults, w);
	return WATCH_SENT;
}

/* An object that leaves the selection is deleted for this watcher: its old state,
 * at this change's version. */
static enum watch_sent send_leaving(struct watch *w, struct change *c, struct slice old)
{
	enum watch_sent sent = WATCH_NOTHING;
	struct buf object;

	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (object_with_rv(old, c->rv, &object, NULL) == 0)
		sent = send_change(w, c, EVENT_DELETED, buf_slice(&object));
	buf_release(&object);
	return sent;
}

static bool selects(const struct watch *w, const struct change *c, struct slice object)
{
	return selectors_match(w->labels, w->fields, c->namespace, c->name, object);
}

/* What a change is for a watcher that selects by the object:
 *     before   after            sent
 *     out      in               ADDED, new state
 *     in       in               MODIFIED, new state
 *     in       out, deleted     DELETED, old state at the version of the change
 *     out      out, deleted     nothing */
static int send_selected(struct watch *w, struct change *c, enum watch_sent *ret, struct err *err)
{
	struct slice old = {NULL, 0};
	int rc = change_previous(w->set->world->changes, c, &old, err);
	bool before, after;

	if (rc < 0)
		return rc;
	if (rc == 0 && c->type == EVENT_DELETED)
		old = c->object;
	before = old.len && selects(w, c, old);
	after = c->type != EVENT_DELETED && selects(w, c, c->object);
	*ret = WATCH_NOTHING;
	if (after)
		*ret = send_change(w, c, before ? EVENT_MODIFIED : EVENT_ADDED, c->object);
	else if (before && c->type == EVENT_DELETED)
		*ret = send_change(w, c, EVENT_DELETED, c->object);
	else if (before)
		*ret = send_leaving(w, c, old);
	return 0;
}

void watch_end_with_failure(struct watch *w, const struct err *err)
{
	struct status st = {0};

	log_error("watch ended: %s", err->text);
	status_set(&st, 500, "InternalError", "Internal error occurred: %s", err->text);
	watch_end_with_error(w, &st);
}

enum watch_sent watch_send_change(struct watch *w, struct change *c)
{
	enum watch_sent sent = WATCH_NOTHING;
	struct err err;

	w->view.now_ns = w->set->world->rebase ? rebase_time(w->set->world->rebase, c->time_ns) : c->time_ns;
	if (!in_scope(w, c) || (c->rv && c->rv <= w->ahead_rv))
		return WATCH_NOTHING;
	if (w->reads_object && send_selected(w, c, &sent, &err))
		watch_end_with_failure(w, &err);
	else if (!w->reads_object && selects(w, c, c->object))
		sent = send_change(w, c, c->type, c->object);
	return sent;
}

void watch_send_initial(struct watch *w, struct change *c)
{
	if (w->reads_object && !selects(w, c, c->object))
		return;
	push_change(w, c, EVENT_ADDED, c->object);
	if (w->faulty)
		fault_act_sent(w->set->faults, w);
}
