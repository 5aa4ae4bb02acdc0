/* house_rows.c: what a segment has, as rows. */
#include "recorder/push/house_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/pod_log.h"

#include <string.h>

/* ---- events ---- */

static int put_event(struct house *h, const struct event *e, struct slice object)
{
	const struct slice texts[] = {e->namespace, e->name, e->uid, e->rv, object};
	int rc = house_place(h);

	h->events++;
	rc = rc ? rc : house_number(h, e->seq);
	rc = rc ? rc : house_time(h, e->time_ns);
	rc = rc ? rc : house_word(h, event_type_name(e->type));
	rc = rc ? rc : house_word(h, event_origin_name(e->origin));
	rc = rc ? rc : house_resource(h, e->resource);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = house_bytes(h, texts[i]);
	return rc ? rc : house_end_row(h);
}

static int put_events(struct house *h)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	int more, rc = tape_cursor_open(h->tape, &(struct tape_filter){0}, TAPE_STORED, &c, h->err);

	if (rc)
		return rc;
	while (!rc && (more = tape_cursor_next(c, &e, h->err)) != 0) {
		rc = more < 0 ? more : tape_cursor_object(c, &object, h->err);
		rc = rc ? rc : put_event(h, &e, object);
	}
	tape_cursor_close(c);
	return rc;
}

/* The event that gave a live object its last version. */
static int put_live(struct house *h, const struct tape_live *live, struct buf *keep)
{
	struct slice object;
	struct event e;
	int rc;

	buf_clear(keep);
	rc = tape_event(h->tape, live->seq, &e, keep, h->err);
	rc = rc ? rc : tape_object(h->tape, live->seq, &object, h->err);
	return rc ? rc : put_event(h, &e, object);
}

static int put_state(struct house *h, uint64_t first_seq)
{
	struct tape_state *state;
	struct buf keep;
	int rc = tape_state_at(h->tape, first_seq - 1, 0, &state, h->err);

	if (rc)
		return rc;
	buf_init(&keep, (size_t)64 * LIMIT_NAME_BYTES);
	for (size_t i = 0; i < state->count && !rc; i++)
		rc = put_live(h, &state->live[i], &keep);
	buf_release(&keep);
	tape_state_free(state);
	return rc;
}

/* ---- gaps ---- */

static int put_gap(void *context, const struct tape_gap *g)
{
	struct house *h = context;
	const struct tape_stream *s = tape_stream_by_id(h->tape, g->stream);
	const uint64_t counts[] = {g->begin_seq, g->end_seq, g->modified, g->added, g->deleted, g->recreated};
	bool open = strcmp(g->how_ended, "open") == 0;
	int rc = house_place(h);

	rc = rc ? rc : house_number(h, g->id);
	rc = rc ? rc : house_resource(h, s ? s->resource : 0);
	rc = rc ? rc : house_word(h, s ? s->namespace : "");
	rc = rc ? rc : house_time(h, g->begin_ns);
	rc = rc ? rc : house_flag(h, open);
	if (!rc && !open)
		rc = house_time(h, g->end_ns);
	rc = rc ? rc : house_word(h, g->reason);
	rc = rc ? rc : house_word(h, g->how_ended);
	for (size_t i = 0; i < COUNT_OF(counts) && !rc; i++)
		rc = house_number(h, counts[i]);
	return rc ? rc : house_end_row(h);
}

static int put_missed(void *context, const struct tape_missed *m)
{
	struct house *h = context;
	const struct slice texts[] = {m->namespace, m->name, m->uid, m->old_uid, m->rv, m->old_rv};
	int rc = house_place(h);

	rc = rc ? rc : house_number(h, m->gap);
	rc = rc ? rc : house_word(h, m->change);
	rc = rc ? rc : house_resource(h, m->resource);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = house_bytes(h, texts[i]);
	return rc ? rc : house_end_row(h);
}

/* ---- connections ---- */

static int put_request(struct house *h, const struct tape_connection *c)
{
	const char *const texts[] = {c->purpose, c->target, c->server, c->http_version};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = house_word(h, texts[i]);
	rc = rc ? rc : house_flag(h, c->tls);
	rc = rc ? rc : house_word(h, c->start_rv);
	return rc ? rc : house_known(h, c->timeout_seconds);
}

static int put_end(struct house *h, const struct tape_connection *c)
{
	const int64_t numbers[] = {c->http_status, c->retry_after_s, c->curl_code, c->os_errno, c->h2_error};
	const char *const texts[] = {
		c->error_status, c->content_type, c->audit_id, c->server_date, c->next_action};
	bool runs = c->duration_ns < 0;
	int rc = house_flag(h, runs);

	if (!rc && !runs)
		rc = house_time(h, time_add(c->begin_ns, c->duration_ns));
	rc = rc ? rc : house_known(h, c->first_byte_after_ns);
	rc = rc ? rc : house_known(h, c->duration_ns);
	rc = rc ? rc : house_word(h, c->end_reason);
	for (size_t i = 0; i < COUNT_OF(numbers) && !rc; i++)
		rc = house_known(h, numbers[i]);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = house_word(h, texts[i]);
	return rc ? rc : house_known(h, c->next_delay_ns);
}

static int put_delivered(struct house *h, const struct tape_connection *c)
{
	const uint64_t numbers[] = {c->events, c->bookmarks, c->bytes, c->first_seq, c->last_seq};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(numbers) && !rc; i++)
		rc = house_number(h, numbers[i]);
	rc = rc ? rc : house_word(h, c->last_rv);
	return rc ? rc : house_bytes(h, c->tail);
}

static int put_connection(void *context, const struct tape_connection *c)
{
	struct house *h = context;
	const struct tape_stream *s = tape_stream_by_id(h->tape, c->stream);
	int rc = house_place(h);

	rc = rc ? rc : house_number(h, c->id);
	rc = rc ? rc : house_resource(h, s ? s->resource : 0);
	rc = rc ? rc : house_word(h, s ? s->namespace : "");
	rc = rc ? rc : put_request(h, c);
	rc = rc ? rc : house_time(h, c->begin_ns);
	rc = rc ? rc : put_end(h, c);
	rc = rc ? rc : put_delivered(h, c);
	return rc ? rc : house_end_row(h);
}

/* ---- logs ---- */

static int put_names(struct house *h, const struct pod_log *log)
{
	int rc = house_bytes(h, log->namespace);

	rc = rc ? rc : house_bytes(h, log->pod);
	rc = rc ? rc : house_bytes(h, log->container);
	rc = rc ? rc : house_small(h, log->restart);
	rc = rc ? rc : house_bytes(h, log->uid);
	return rc ? rc : house_bytes(h, log->container_id);
}

static int put_log_of(
	struct house *h, const struct pod_log *log, const struct tape_document *d, struct slice body)
{
	const struct slice none = {0};
	int rc = house_place(h);

	rc = rc ? rc : put_names(h, log);
	rc = rc ? rc : house_number(h, d->after_seq);
	rc = rc ? rc : house_time(h, d->time_ns);
	rc = rc ? rc : house_flag(h, log->cut_front || log->cut_end);
	rc = rc ? rc : house_bytes(h, log->missing ? body : none);
	rc = rc ? rc : house_bytes(h, log->missing ? none : body);
	return rc ? rc : house_end_row(h);
}

static int put_log(void *context, const struct tape_document *d)
{
	struct house *h = context;
	struct pod_log log;
	struct buf body;
	int rc;

	if (!pod_log_parse(d, &log))
		return 0;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(h->tape, d->segment, d->id, &body, h->err);
	rc = rc ? rc : put_log_of(h, &log, d, buf_slice(&body));
	buf_release(&body);
	return rc;
}

/* ---- a segment ---- */

static int put_history(struct house *h, const struct manifest_segment *s, bool with_state)
{
	int rc = house_begin(h, HOUSE_EVENTS);

	h->events = 0;
	if (!rc && with_state && s->first_seq > 1)
		rc = put_state(h, s->first_seq);
	rc = rc ? rc : put_events(h);
	rc = rc ? rc : house_send(h);
	rc = rc ? rc : house_begin(h, HOUSE_GAPS);
	rc = rc ? rc : tape_each_gap(h->tape, put_gap, h, h->err);
	rc = rc ? rc : house_send(h);
	rc = rc ? rc : house_begin(h, HOUSE_MISSED);
	rc = rc ? rc : tape_each_missed(h->tape, put_missed, h, h->err);
	return rc ? rc : house_send(h);
}

int house_put_rows(struct house *h, const struct manifest_segment *s, bool with_state)
{
	int rc = put_history(h, s, with_state);

	rc = rc ? rc : house_begin(h, HOUSE_CONNECTIONS);
	rc = rc ? rc : tape_each_connection(h->tape, put_connection, h, h->err);
	rc = rc ? rc : house_send(h);
	rc = rc ? rc : house_begin(h, HOUSE_LOGS);
	rc = rc ? rc : tape_each_document(h->tape, put_log, h, h->err);
	return rc ? rc : house_send(h);
}
