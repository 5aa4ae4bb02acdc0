/*
 * restart.c: see restart.h. The resume point of a stream is its last mark (a list or a bookmark) or the last
 * event of its watch after that; events are walked backwards only as far as marks leave open.
 */
#include "recorder/restart.h"

#include "recorder/discovery.h"
#include "recorder/end_reason.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/position.h"

#include <stdio.h>
#include <stdlib.h>

/* One event of the last resourceVersion of a stream. */
struct member {
	enum event_type type;
	char *uid;
};

/* What the tape knows of one stream. */
struct past {
	struct stream *stream;
	uint32_t id, resource;
	bool listed;       /* a whole list is on the tape */
	uint64_t mark_seq; /* events up to here are older than the mark */
	char mark_rv[RESUME_RV_BYTES];
	char last_rv[RESUME_RV_BYTES], before[RESUME_RV_BYTES]; /* of events after the mark; "" none */
	struct member *members;                                 /* of last_rv, newest first */
	size_t member_count;
	uint64_t last_watch, open_gap;
	int64_t watch_end_ns; /* wall clock; INT64_MIN: there was none, or its end is not known */
	char end_reason[END_REASON_BYTES]; /* of the last watch */
	struct tape_gap gap;               /* the open one; its strings below */
	char gap_reason[END_REASON_BYTES], gap_rv[RESUME_RV_BYTES];
};

struct load {
	struct recorder_context *x;
	struct tape *tape;
	struct past *pasts;
	size_t count;
	int64_t last_ns; /* wall clock of the last thing on the tape */
	struct err *err;
};

static struct past *past_of(struct load *l, uint32_t stream)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->pasts[i].id == stream)
			return &l->pasts[i];
	}
	return NULL;
}

static void put_rv(char to[RESUME_RV_BYTES], struct slice rv)
{
	snprintf(to, RESUME_RV_BYTES, "%.*s", (int)(rv.len < RESUME_RV_BYTES ? rv.len : 0),
		rv.ptr ? rv.ptr : "");
}

/* ---- rows ---- */

static int take_mark(void *context, const struct tape_mark *mark)
{
	struct load *l = context;
	struct past *p = past_of(l, mark->stream);

	if (mark->time_ns > l->last_ns)
		l->last_ns = mark->time_ns;
	if (!p || mark->kind == MARK_ERROR || !mark->rv.len)
		return 0;
	p->listed |= mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END;
	p->mark_seq = mark->after_seq;
	put_rv(p->mark_rv, mark->rv);
	return 0;
}

int64_t restart_connection_end(const struct tape_connection *c, int64_t last_ns)
{
	if (!c->end_reason)
		return last_ns > c->begin_ns ? last_ns : c->begin_ns;
	return c->duration_ns >= 0 ? time_add(c->begin_ns, c->duration_ns) : INT64_MIN;
}

int restart_end_connection(
	struct tape_writer *w, const struct tape_connection *c, int64_t last_ns, struct err *err)
{
	struct tape_connection row = *c;

	row.end_reason = "recorder_died";
	row.duration_ns = time_sub(restart_connection_end(c, last_ns), c->begin_ns);
	row.next_action = "stop";
	return tape_writer_end_connection(w, &row, err);
}

static int take_connection(void *context, const struct tape_connection *c)
{
	struct load *l = context;
	struct past *p = past_of(l, c->stream);

	if (p && strcmp(c->purpose, "watch") == 0) {
		p->last_watch = c->id;
		p->watch_end_ns = restart_connection_end(c, l->last_ns);
		snprintf(p->end_reason, sizeof(p->end_reason), "%s",
			c->end_reason ? c->end_reason : "recorder_died");
	}
	return c->end_reason ? 0 : restart_end_connection(flusher_tape(l->x->flusher), c, l->last_ns, l->err);
}

static int take_gap(void *context, const struct tape_gap *gap)
{
	struct load *l = context;
	struct past *p = past_of(l, gap->stream);

	if (!p)
		return 0;
	p->open_gap = strcmp(gap->how_ended, "open") == 0 ? gap->id : 0;
	p->gap = *gap;
	snprintf(p->gap_reason, sizeof(p->gap_reason), "%s", gap->reason);
	put_rv(p->gap_rv, slice_of(gap->from_rv));
	return 0;
}

/* ---- events after the last mark ---- */

static void add_member(struct past *p, const struct event *e)
{
	p->members = xrealloc(p->members, (p->member_count + 1) * sizeof(*p->members));
	p->members[p->member_count++] = (struct member){e->type, slice_dup(e->uid)};
}

/* Events come newest first; the first resourceVersion met is the last one, the next one that before it. */
static void take_event(struct past *p, const struct event *e)
{
	if (e->origin != ORIGIN_WATCH || e->seq <= p->mark_seq || *p->before)
		return;
	if (!*p->last_rv)
		put_rv(p->last_rv, e->rv);
	if (slice_is(e->rv, p->last_rv))
		add_member(p, e);
	else
		put_rv(p->before, e->rv);
}

/* The event up to which the walk has to go. */
static uint64_t oldest_needed(const struct load *l)
{
	uint64_t seq = UINT64_MAX;

	for (size_t i = 0; i < l->count; i++) {
		const struct past *p = &l->pasts[i];

		if (p->listed && !*p->before && p->mark_seq < seq)
			seq = p->mark_seq;
	}
	return seq;
}

static int walk_events(struct load *l)
{
	const struct tape_filter everything = {.seq_min = 0};
	struct tape_cursor *cursor;
	struct event e;
	int rc = tape_cursor_open(l->tape, &everything, TAPE_BACKWARD, &cursor, l->err);

	if (rc)
		return rc;
	while ((rc = tape_cursor_next(cursor, &e, l->err)) > 0) {
		struct past *p = past_of(l, e.stream);

		if (e.time_ns > l->last_ns)
			l->last_ns = e.time_ns;
		if (p)
			take_event(p, &e);
		if (e.seq <= oldest_needed(l))
			break;
	}
	tape_cursor_close(cursor);
	return rc < 0 ? rc : 0;
}

/* ---- live objects ---- */

/* Whether another stream of the tape follows the same resource, so that an object's stream must be asked. */
static bool is_shared(const struct load *l, uint32_t resource)
{
	const struct tape_stream *s;
	size_t n = 0;

	for (size_t i = 0; (s = tape_stream_at(l->tape, i)); i++)
		n += s->resource == resource;
	return n > 1;
}

static int load_live(struct load *l, struct past *p)
{
	bool shared = is_shared(l, p->resource);
	struct tape_state *state;
	struct tape_info info;
	struct buf keep;
	int rc = tape_info(l->tape, &info, l->err);

	if (rc == 0)
		rc = tape_state_at(l->tape, info.last_seq, p->resource, &state, l->err);
	if (rc)
		return rc;
	buf_init(&keep, LIMIT_OBJECT_BYTES);
	for (size_t i = 0; rc == 0 && i < state->count; i++) {
		const struct tape_live *live = &state->live[i];
		const struct known_object known = {
			live->namespace, live->name, live->uid, live->rv, live->seq};
		struct event e = {.stream = p->id};

		if (shared)
			rc = tape_event(l->tape, live->seq, &e, &keep, l->err);
		if (rc == 0 && e.stream == p->id)
			rc = known_put(stream_known(p->stream), &known, l->err);
	}
	buf_release(&keep);
	tape_state_free(state);
	return rc;
}

/* ---- putting it together ---- */

static void set_resume(struct past *p)
{
	struct resume *r = stream_resume(p->stream);

	resume_set(r, slice_of(*p->before ? p->before : p->mark_rv));
	for (size_t i = p->member_count; i-- > 0;)
		resume_event(r, p->members[i].type, slice_of(p->members[i].uid), slice_of(p->last_rv));
}

/* When its own watch ended, which may be long before the last thing on the tape: later recordings may have
 * left it out. */
static int find_pause(const struct load *l, struct past *p, int64_t *ret_ns, uint64_t *ret_seq)
{
	if (p->open_gap) {
		*ret_ns = p->gap.begin_ns;
		*ret_seq = p->gap.begin_seq;
		return 0;
	}
	*ret_ns = p->watch_end_ns != INT64_MIN ? p->watch_end_ns : l->last_ns;
	return tape_position_at_time(l->tape, *ret_ns, ret_seq, l->err);
}

static void set_pause(struct past *p, int64_t begin_ns, uint64_t begin_seq)
{
	const struct stream_pause pause = {
		.begin_ns = begin_ns,
		.begin_seq = begin_seq,
		.open_gap = p->open_gap,
		.reason = p->open_gap      ? p->gap_reason
			  : *p->end_reason ? p->end_reason
					   : "recorder_died",
		.from_rv = p->open_gap ? p->gap_rv : stream_resume(p->stream)->rv,
		.connection_before = p->open_gap ? p->gap.connection_before : p->last_watch,
	};

	stream_resumes(p->stream, &pause);
}

static int load_all(struct load *l)
{
	struct tape_info info;
	int64_t begin_ns;
	uint64_t begin_seq;
	int rc = tape_info(l->tape, &info, l->err);

	l->last_ns = info.last_time_ns;
	if (rc == 0)
		rc = tape_each_mark(l->tape, take_mark, l, l->err);
	if (rc == 0)
		rc = tape_each_connection(l->tape, take_connection, l, l->err);
	if (rc == 0)
		rc = tape_each_gap(l->tape, take_gap, l, l->err);
	if (rc == 0)
		rc = walk_events(l);
	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		struct past *p = &l->pasts[i];

		rc = load_live(l, p);
		if (rc || !p->listed)
			continue;
		set_resume(p);
		rc = find_pause(l, p, &begin_ns, &begin_seq);
		if (rc == 0)
			set_pause(p, begin_ns, begin_seq);
	}
	return rc;
}

static void init_pasts(struct load *l, struct stream **streams)
{
	l->pasts = xcalloc(l->count, sizeof(*l->pasts));
	for (size_t i = 0; i < l->count; i++) {
		const struct tape_stream *s = tape_stream_by_id(l->tape, stream_id(streams[i]));

		/* A stream that the tape does not have yet keeps id 0, which no row has. */
		l->pasts[i].stream = streams[i];
		l->pasts[i].id = s ? s->id : UINT32_MAX;
		l->pasts[i].resource = s ? s->resource : UINT32_MAX;
		l->pasts[i].watch_end_ns = INT64_MIN;
	}
}

static void free_pasts(struct load *l)
{
	for (size_t i = 0; i < l->count; i++) {
		for (size_t j = 0; j < l->pasts[i].member_count; j++)
			free(l->pasts[i].members[j].uid);
		free(l->pasts[i].members);
	}
	free(l->pasts);
}

int restart_load(struct recorder_context *x, struct stream **streams, size_t count, struct err *err)
{
	struct load l = {.x = x, .count = count, .err = err};
	int rc = tape_open(x->tape_path, &l.tape, err);

	if (rc)
		return rc;
	init_pasts(&l, streams);
	rc = load_all(&l);
	free_pasts(&l);
	tape_close(l.tape);
	return rc;
}

/* 1 when objects of the resource live at the end of the tape. */
static int has_live(struct tape *tape, uint32_t resource, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int rc = tape_info(tape, &info, err);

	if (rc == 0)
		rc = tape_state_at(tape, info.last_seq, resource, &state, err);
	if (rc)
		return rc;
	rc = state->count > 0;
	tape_state_free(state);
	return rc;
}

/* 1 when the cluster no longer has what the stream followed, in its version, and objects of it live on the tape. */
static int has_vanished(
	struct tape *tape, const struct tape_stream *s, const struct catalog *catalog, struct err *err)
{
	const struct tape_resource *r = tape_resource_by_id(tape, s->resource);

	return r && !catalog_find_version(catalog, r->apigroup, r->version, r->resource)
		       ? has_live(tape, s->resource, err)
		       : 0;
}

static int give_stream(const struct tape *tape, const struct tape_stream *s,
	int (*each)(void *context, const struct stream_spec *spec), void *context)
{
	const struct tape_resource *r = tape_resource_by_id(tape, s->resource);
	const struct catalog_resource known = {.group = (char *)r->apigroup,
		.version = (char *)r->version,
		.resource = (char *)r->resource,
		.kind = (char *)r->kind,
		.namespaced = r->namespaced};
	const struct stream_spec spec = {&known, s->namespace, s->label_selector, s->field_selector};

	return each(context, &spec);
}

int restart_vanished(const char *tape_path, const struct catalog *catalog,
	int (*each)(void *context, const struct stream_spec *spec), void *context, struct err *err)
{
	const struct tape_stream *s;
	struct tape *tape;
	int rc = tape_open(tape_path, &tape, err);

	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && (s = tape_stream_at(tape, i)); i++) {
		rc = has_vanished(tape, s, catalog, err);
		if (rc > 0)
			rc = give_stream(tape, s, each, context);
	}
	tape_close(tape);
	return rc;
}

int restart_cluster(const char *tape_path, char ret_uid[CLUSTER_UID_BYTES], struct err *err)
{
	struct tape_document document;
	struct object_meta meta;
	struct err local;
	struct tape *tape;
	struct buf body;
	int rc = tape_open(tape_path, &tape, err);

	*ret_uid = 0;
	if (rc)
		return rc;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document(tape, DISCOVERY_IDENTITY, "", 0, &document, &body, &local);
	if (rc == 0 && json_scan_object(buf_slice(&body), &meta, NULL) == 0)
		snprintf(ret_uid, CLUSTER_UID_BYTES, "%.*s", (int)meta.uid.len,
			meta.uid.ptr ? meta.uid.ptr : "");
	buf_release(&body);
	tape_close(tape);
	if (rc == 0 || rc == ERR_NOT_FOUND)
		return 0;
	return err_copy(err, &local);
}
