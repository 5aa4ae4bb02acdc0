/* viewer_answers.c: what the page asks of the picture, of single events and of objects. */
#include "replayer/view/viewer_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/tape/position.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_LIMIT_NS (10 * NS_PER_S) /* of the SQL that some answers need */
#define CHANGES_MAX     2000
#define VALUE_MAX       600

/* ---- parameters ---- */

int64_t viewer_number(const struct query *q, const char *name, int64_t otherwise)
{
	char *text = slice_dup(query_get(q, name)), *end;
	int64_t number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (!*text || *end || errno)
		number = otherwise;
	free(text);
	return number;
}

static int read_window(const struct query *q, struct picture_window *ret, struct err *err)
{
	int64_t width = viewer_number(q, "width", 1000);

	ret->from_ns = viewer_number(q, "from", INT64_MIN);
	ret->to_ns = viewer_number(q, "to", INT64_MIN);
	ret->width = (unsigned)width;
	if (ret->to_ns <= ret->from_ns || ret->from_ns == INT64_MIN)
		return err_set(
			err, ERR_USAGE, "expected 'from' and 'to' in nanoseconds, the second one larger");
	if (width < 1 || width > PICTURE_WIDTH_MAX)
		return err_set(err, ERR_USAGE, "bad width %lld: expected 1 to %d", (long long)width,
			PICTURE_WIDTH_MAX);
	return 0;
}

/* ---- of the picture ---- */

static int answer_summary(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};

	(void)q;
	answer_put(&o, "{\"desk\":%s,\"run\":%s,\"golden\":%s,\"sweep\":%s,\"picture\":",
		d->has_replay ? "true" : "false", d->run ? "true" : "false", d->golden ? "true" : "false",
		d->has_sweep ? "true" : "false");
	if (!o.code)
		o.code = picture_summary(d->picture, to, err);
	answer_put(&o, "}");
	return o.code;
}

static int answer_notable(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	(void)q;
	return picture_notable(d->picture, to, err);
}

static int answer_density(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	(void)q;
	return picture_density(d->picture, to, err);
}

static int answer_lanes(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct slice sort = query_get(q, "sort");
	struct picture_choice c = {.filter = query_get(q, "filter"),
		.toggled = query_get(q, "toggled"),
		.writer = query_get(q, "writer"),
		.writers = d->writers,
		.all_open = query_true(q, "all")};
	int64_t first = viewer_number(q, "first", 0), count = viewer_number(q, "count", 200);
	int rc = read_window(q, &c.window, err);

	if (rc)
		return rc;
	if (first < 0 || count < 0 || count > PICTURE_LANES_MAX)
		return err_set(err, ERR_USAGE, "bad count %lld: expected at most %d", (long long)count,
			PICTURE_LANES_MAX);
	c.first = (size_t)first;
	c.count = (size_t)count;
	c.sort = slice_is(sort, "name")   ? PICTURE_BY_NAME
		 : slice_is(sort, "time") ? PICTURE_BY_TIME
					  : PICTURE_BUSY;
	return picture_lanes(d->picture, &c, to, err);
}

static int answer_gaps(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct picture_window w;
	int rc = read_window(q, &w, err);

	return rc ? rc : picture_gaps(d->picture, &w, to, err);
}

static int answer_watches(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct picture_window w;
	int rc = read_window(q, &w, err);

	return rc ? rc : picture_watches(d->picture, &w, to, err);
}

static int answer_writers(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	(void)q;
	return writers_answer(d->writers, to, err);
}

/* ---- of events ---- */

static void put_event(struct answer_out *o, const struct tape_resource *r, const struct event *e)
{
	char time[TIME_TEXT_BYTES];
	char *key = xasprintf("%s%s%s/%.*s/%.*s", r->resource, *r->apigroup ? "." : "", r->apigroup,
		(int)e->namespace.len, e->namespace.ptr, (int)e->name.len, e->name.ptr);

	answer_put(o, "\"seq\":\"%llu\",\"time\":\"%s\",\"type\":\"%s\",\"origin\":\"%s\"",
		(unsigned long long)e->seq, time_format(time, e->time_ns), event_type_name(e->type),
		event_origin_name(e->origin));
	answer_number(o, "time_ns", e->time_ns);
	answer_member(o, "key", slice_of(key));
	answer_member(o, "resource", slice_of(r->resource));
	answer_member(o, "group", slice_of(r->apigroup));
	answer_member(o, "kind", slice_of(r->kind));
	answer_member(o, "namespace", e->namespace);
	answer_member(o, "name", e->name);
	answer_member(o, "uid", e->uid);
	answer_member(o, "rv", e->rv);
	free(key);
}

/* What an Event says, in its own escapes. */
static void put_raw(struct answer_out *o, const char *name, struct slice object, const char *path)
{
	struct slice value;

	if (o->code || json_get(object, path, &value, NULL) <= 0 || !value.len || value.ptr[0] != '"')
		return;
	answer_put(o, ",\"%s\":", name);
	if (!o->code)
		o->code = buf_append(o->to, value.ptr, value.len, o->err);
}

static int put_changes(struct viewer_desk *d, struct answer_out *o, const char *where, struct err *err)
{
	char *sql = xasprintf("SELECT seq, to_time(time_ns), field, path, op, old_json, new_json, manager, "
			      "user, user_agent FROM changes WHERE %s ORDER BY seq",
		where);
	int rc;

	sql_session_limit(d->session, ANSWER_LIMIT_NS);
	answer_put(o, ",\"changes\":{");
	rc = o->code ? o->code : viewer_put_rows(d, o, slice_of(sql), CHANGES_MAX, VALUE_MAX, err);
	answer_put(o, "}");
	free(sql);
	return rc ? rc : o->code;
}

static void set_number(struct viewer_desk *d, const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	sql_session_set(d->session, name, text);
}

/* The event that is asked for: by its number, by an object's key and a time, or by a time alone. */
static int find_event(struct viewer_desk *d, const struct query *q, uint64_t *ret, struct err *err)
{
	uint64_t seq = (uint64_t)viewer_number(q, "seq", 0);
	int64_t at_ns = viewer_number(q, "at", INT64_MAX);
	struct picture_near near;
	char *key;
	int rc;

	if (!query_has(q, "key")) {
		*ret = seq;
		return seq ? 0 : tape_position_at_time(picture_tape(d->picture), at_ns, ret, err);
	}
	key = slice_dup(query_get(q, "key"));
	rc = picture_find(d->picture, key, seq, at_ns, &near, err);
	free(key);
	if (!rc)
		*ret = near.at;
	return rc;
}

/* An event with its object, borrowed until it is released. */
struct told_event {
	struct event e;
	struct slice object;
	const struct tape_resource *resource; /* NULL: the event could not be read */
	struct buf keep;
};

static int read_event(struct viewer_desk *d, uint64_t seq, struct told_event *ret, struct err *err)
{
	struct tape *t = picture_tape(d->picture);
	int rc;

	buf_init(&ret->keep, LIMIT_OBJECT_BYTES);
	rc = tape_event(t, seq, &ret->e, &ret->keep, err);
	if (!rc)
		rc = tape_object(t, seq, &ret->object, err);
	ret->resource = rc ? NULL : tape_resource_by_id(t, ret->e.resource);
	return rc;
}

static int put_event_and_changes(struct viewer_desk *d, struct answer_out *o, uint64_t seq, struct err *err)
{
	struct told_event told;
	int rc = read_event(d, seq, &told, err);

	if (told.resource) {
		put_event(o, told.resource, &told.e);
		put_raw(o, "reason", told.object, "reason");
		put_raw(o, "message", told.object, "message");
		set_number(d, "seq", seq);
		rc = put_changes(d, o, "seq = :seq", err);
	}
	buf_release(&told.keep);
	return rc;
}

/* One event in a few words: who changed what. */
static int answer_event(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	uint64_t seq;
	int rc = find_event(d, q, &seq, err);

	if (rc)
		return rc;
	if (!seq)
		return err_set(err, ERR_NOT_FOUND, "there is no event up to then");
	answer_put(&o, "{");
	rc = put_event_and_changes(d, &o, seq, err);
	answer_put(&o, "}");
	return rc ? rc : o.code;
}

/* ---- of objects ---- */

/* The object as it was at a position, as the text of its JSON: numbers keep their digits. */
static int put_object(struct viewer_desk *d, struct answer_out *o, uint64_t seq, bool brief, struct err *err)
{
	struct told_event told;
	int rc = read_event(d, seq, &told, err);

	if (told.resource) {
		put_event(o, told.resource, &told.e);
		answer_member(o, "object", brief ? (struct slice){NULL, 0} : told.object);
	}
	buf_release(&told.keep);
	return rc;
}

static int answer_object(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	uint64_t seq = (uint64_t)viewer_number(q, "seq", 0);
	char *key = slice_dup(query_get(q, "key"));
	struct answer_out o = {to, err, 0};
	struct picture_near near = {0};
	int rc = picture_find(d->picture, key, seq, viewer_number(q, "at", INT64_MAX), &near, err);

	free(key);
	if (rc)
		return rc;
	answer_put(&o, "{\"before\":\"%llu\",\"after\":\"%llu\"", (unsigned long long)near.before,
		(unsigned long long)near.after);
	if (near.at) {
		answer_put(&o, ",");
		rc = put_object(d, &o, near.at, query_true(q, "brief"), err);
	}
	answer_put(&o, "}");
	return rc ? rc : o.code;
}

/* "pods/shop/web-0" as parameters of a statement. */
static int set_key(struct viewer_desk *d, struct slice key, struct err *err)
{
	struct slice resource = slice_cut(&key, '/'), group, namespace;

	if (!key.ptr)
		return err_set(err, ERR_USAGE, "bad key: expected RESOURCE/NAMESPACE/NAME");
	namespace = slice_cut(&key, '/');
	group = resource;
	resource = slice_cut(&group, '.');
	{
		char *texts[] = {slice_dup(resource), slice_dup(group), slice_dup(namespace), slice_dup(key)};
		static const char *const names[] = {"resource", "apigroup", "namespace", "name"};

		for (size_t i = 0; i < 4; i++) {
			sql_session_set(d->session, names[i], texts[i]);
			free(texts[i]);
		}
	}
	return 0;
}

static int answer_changes(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	int rc = set_key(d, query_get(q, "key"), err);

	if (rc)
		return rc;
	set_number(d, "after", (uint64_t)viewer_number(q, "after", 0));
	set_number(d, "until", (uint64_t)viewer_number(q, "until", INT64_MAX));
	answer_put(&o, "{\"key\":");
	answer_text(&o, query_get(q, "key"));
	rc = put_changes(d, &o,
		"resource = :resource AND apigroup = :apigroup AND namespace = :namespace AND name = :name AND "
		"seq > :after AND seq <= :until",
		err);
	answer_put(&o, "}");
	return rc ? rc : o.code;
}

/* Any form in which people write positions, as an event and a time. */
static int answer_position(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	int64_t at_ns = viewer_number(q, "at_ns", INT64_MIN);
	char *text, remark[POSITION_REMARK_BYTES] = "";
	struct answer_out o = {to, err, 0};
	struct tape_position p = {.time_ns = at_ns, .days = 1};
	int rc;

	text = slice_dup(query_get(q, "at"));
	if (at_ns != INT64_MIN)
		rc = tape_position_at_time(picture_tape(d->picture), at_ns, &p.seq, err);
	else
		rc = tape_position_find(picture_tape(d->picture), text, &p, err);
	if (!rc) {
		(void)!tape_position_remark(&p, text, remark);
		answer_put(&o, "{\"seq\":\"%llu\"", (unsigned long long)p.seq);
		answer_number(&o, "time_ns", p.time_ns);
		answer_member(&o, "remark", slice_of(remark));
		answer_put(&o, "}");
	}
	free(text);
	return rc ? rc : o.code;
}

/* ---- all of them ---- */

void viewer_answer(struct viewer_desk *d, struct viewer_job *job)
{
	static const struct {
		const char *name;
		int (*answer)(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err);
	} rows[] = {{"summary", answer_summary}, {"density", answer_density}, {"notable", answer_notable},
		{"lanes", answer_lanes}, {"gaps", answer_gaps}, {"watches", answer_watches},
		{"writers", answer_writers}, {"event", answer_event}, {"object", answer_object},
		{"changes", answer_changes}, {"position", answer_position}, {"state", viewer_state}};

	if (d->failure.code) {
		job->code = err_copy(&job->err, &d->failure);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (!slice_is(job->name, rows[i].name))
			continue;
		job->code = rows[i].answer(d, &job->query, &job->answer, &job->err);
		return;
	}
	job->code = err_set(&job->err, ERR_NOT_FOUND, "there is no answer '%.*s'",
		(int)(job->name.len < 100 ? job->name.len : 100), job->name.ptr);
}
