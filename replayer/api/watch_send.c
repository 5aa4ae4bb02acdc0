/* watch_send.c: what a watch puts on the wire; see watch_internal.h. */
#include "replayer/api/list.h"
#include "replayer/api/watch_internal.h"
#include "replayer/run.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

void watch_send_message(struct watch *w, enum websocket_opcode opcode, struct slice payload)
{
	struct blob *message = websocket_frame(opcode, payload);

	exchange_push_raw(w->x, message);
	blob_unref(message);
}

/* Gives the reference away. A WebSocket message has no line feed. */
static void push(struct watch *w, struct blob *frame)
{
	if (!frame)
		return;
	if (w->websocket)
		watch_send_message(w, WEBSOCKET_TEXT, (struct slice){blob_body(frame).ptr, frame->len - 1});
	else
		exchange_push(w->x, frame);
	blob_unref(frame);
}

void watch_send_bookmark(struct watch *w, uint64_t rv, bool initial_end)
{
	struct blob *recorded = NULL;
	struct buf object;

	if (w->collection->resource.id < w->set->marks->resource_count)
		recorded = w->set->marks->bookmarks[w->collection->resource.id];
	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (bookmark_object(w->collection, recorded ? blob_body(recorded) : (struct slice){NULL, 0}, rv,
		    initial_end, &object, NULL) == 0)
		push(w, view_new_frame(&w->view, "BOOKMARK", buf_slice(&object)));
	w->set->run->bookmarks++;
	buf_release(&object);
}

void watch_end_with_error(struct watch *w, struct status *st)
{
	struct view plain = {.form = FORM_OBJECT};
	struct buf json;

	buf_init(&json, LIMIT_REQUEST_HEAD_BYTES * 8);
	if (status_write(st, &json, NULL) == 0)
		push(w, view_new_frame(&plain, "ERROR", buf_slice(&json)));
	buf_release(&json);
	status_release(st);
	watch_end(w);
}

static bool in_scope(const struct watch *w, const struct change *c)
{
	return (!w->namespace.len || slice_equal(c->namespace, w->namespace)) &&
	       (!w->name.len || slice_equal(c->name, w->name));
}

static void send_change(struct watch *w, struct change *c, enum event_type type, struct slice object)
{
	push(w, view_frame(&w->view, c, type, object));
	w->view.no_headers = w->view.form == FORM_TABLE;
	run_sent(w->set->run, w->client, w->stored, c, type);
}

/* An object that leaves the selection is deleted for this watcher: its old state, at this change's version.
 */
static void send_leaving(struct watch *w, struct change *c, struct slice old)
{
	struct buf object;

	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (object_with_rv(old, c->rv, &object, NULL) == 0)
		send_change(w, c, EVENT_DELETED, buf_slice(&object));
	buf_release(&object);
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
 *     out      out, deleted     nothing
 * Returns 1, or 0 for nothing. */
static int send_selected(struct watch *w, struct change *c, struct err *err)
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
	if (after)
		send_change(w, c, before ? EVENT_MODIFIED : EVENT_ADDED, c->object);
	else if (before && c->type == EVENT_DELETED)
		send_change(w, c, EVENT_DELETED, c->object);
	else if (before)
		send_leaving(w, c, old);
	return before || after;
}

void watch_end_with_failure(struct watch *w, const struct err *err)
{
	struct status st = {0};

	log_error("watch ended: %s", err->text);
	status_set(&st, 500, "InternalError", "Internal error occurred: %s", err->text);
	watch_end_with_error(w, &st);
}

bool watch_send_change(struct watch *w, struct change *c)
{
	struct err err;
	int rc;

	w->view.now_ns = c->time_ns;
	if (!in_scope(w, c) || (c->rv && c->rv <= w->ahead_rv))
		return false;
	if (!w->reads_object) {
		if (!selects(w, c, c->object))
			return false;
		send_change(w, c, c->type, c->object);
		return true;
	}
	rc = send_selected(w, c, &err);
	if (rc < 0)
		watch_end_with_failure(w, &err);
	return rc > 0;
}

void watch_send_initial(struct watch *w, struct change *c)
{
	if (!w->reads_object || selects(w, c, c->object))
		send_change(w, c, EVENT_ADDED, c->object);
}
