/* position.c: see position.h. */
#include "schema/tape/position.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"
#include "schema/tape/steady_time.h"

#include <stdio.h>
#include <stdlib.h>

int tape_position_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err)
{
	uint64_t next;
	int rc;

	if (time_ns == INT64_MAX)
		time_ns--;
	rc = tape_seq_at_time(t, time_ns + 1, &next, err);
	if (rc == 0)
		*ret_seq = next ? next - 1 : 0;
	return rc;
}

/* ---- resourceVersions ---- */

/* The filter's last event; seq 0 when there is none. */
static int last_event(struct tape *t, const struct tape_filter *filter, uint64_t *ret_seq, struct err *err)
{
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(t, filter, TAPE_BACKWARD, &c, err);

	if (more < 0)
		return more;
	more = tape_cursor_next(c, &e, err);
	if (more >= 0)
		*ret_seq = more ? e.seq : 0;
	tape_cursor_close(c);
	return more < 0 ? more : 0;
}

/* Within one resource the watch delivers in the order of resourceVersions, so the walk goes back from the
 * end, and over what has only higher ones. */
int tape_position_at_rv(
	struct tape *t, uint32_t resource, struct slice rv, uint64_t *ret_seq, struct err *err)
{
	struct tape_filter filter = {.resource = resource};
	char *text;
	int rc;

	if (!rv_valid(rv))
		return err_set(err, ERR_USAGE, "bad resourceVersion '%.*s': expected digits",
			(int)(rv.len < 80 ? rv.len : 80), rv.ptr);
	text = slice_dup(rv);
	filter.rv_max = text;
	rc = last_event(t, &filter, ret_seq, err);
	free(text);
	return rc;
}

/* "pods" in "pods@5321": as the API names it, or with its group as in deployments.apps. */
static int find_resource(struct tape *t, struct slice name, uint32_t *ret_id, struct err *err)
{
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		char *full = xasprintf("%s.%s", r->resource, r->apigroup);
		bool is_it = slice_is(name, r->resource) || slice_is(name, full);

		free(full);
		if (is_it) {
			*ret_id = r->id;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, "bad position: the tape has no resource '%.*s'",
		(int)(name.len < 80 ? name.len : 80), name.ptr);
}

/* Whether a list or a bookmark told of a resourceVersion as high as that. */
struct rv_search {
	const struct tape *tape;
	uint32_t resource;
	struct slice rv;
	bool reached;
};

static int look_at_mark(void *context, const struct tape_mark *mark)
{
	struct rv_search *s = context;
	const struct tape_stream *stream = tape_stream_by_id(s->tape, mark->stream);

	if (stream && (!s->resource || stream->resource == s->resource) && rv_valid(mark->rv) &&
		rv_compare(mark->rv, s->rv) >= 0)
		s->reached = true;
	return 0;
}

/* After the last event of the resource the tape still knows as much as the server told in marks. */
static int place_rv(
	struct tape *t, uint32_t resource, struct slice rv, struct tape_position *p, struct err *err)
{
	const struct tape_filter all = {.resource = resource},
				 higher = {.resource = resource, .rv_min = rv.ptr};
	struct rv_search search = {.tape = t, .resource = resource, .rv = rv};
	uint64_t last = 0, reached = 0;
	int rc = last_event(t, &all, &last, err);

	if (p->seq == 0)
		p->place = POSITION_BEFORE;
	if (rc || p->seq < last || p->seq == 0)
		return rc;
	rc = last_event(t, &higher, &reached, err);
	if (rc == 0 && !reached)
		rc = tape_each_mark(t, look_at_mark, &search, err);
	if (rc == 0 && !reached && !search.reached)
		p->place = POSITION_AFTER;
	return rc;
}

static int find_rv(struct tape *t, const char *text, struct tape_position *p, struct err *err)
{
	const char *at = strchr(text, '@'), *rv = at + 1;
	uint32_t resource = 0;
	int rc = 0;

	if (strncmp(text, "rv:", 3) == 0)
		rv = text + 3;
	else
		rc = find_resource(t, (struct slice){text, (size_t)(at - text)}, &resource, err);
	if (rc == 0)
		rc = tape_position_at_rv(t, resource, slice_of(rv), &p->seq, err);
	return rc ? rc : place_rv(t, resource, slice_of(rv), p, err);
}

/* ---- seqs ---- */

static bool is_seq(const char *text, uint64_t *ret)
{
	const char *digits = strncmp(text, "seq:", 4) == 0 ? text + 4 : text;
	size_t count = strspn(digits, "0123456789");

	if (count == 0 || digits[count] || count > (digits == text ? 9u : 18u))
		return false;
	*ret = strtoull(digits, NULL, 10);
	return true;
}

/* The position before the first event. */
static uint64_t start_of(const struct tape_info *info)
{
	return info->first_seq ? info->first_seq - 1 : 0;
}

static void place_seq(const struct tape_info *info, uint64_t seq, struct tape_position *p)
{
	p->seq = seq;
	if (seq > info->last_seq) {
		p->seq = info->last_seq;
		p->place = POSITION_AFTER;
	} else if (seq < start_of(info)) {
		p->place = POSITION_BEFORE;
	}
}

/* ---- times ---- */

/* Rows are only looked at where events do not tell. */
static int find_span(struct tape *t, struct tape_span *ret, struct err *err)
{
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	*ret = coverage_span(c);
	coverage_free(c);
	return 0;
}

static struct moment_frame frame_of(const struct tape_info *info)
{
	return (struct moment_frame){clock_wall_ns(&clock_system), info->first_time_ns, info->last_time_ns};
}

/* Without events, rows tell from when to when the tape goes. */
static int find_frame(struct tape *t, const struct tape_info *info, struct moment_frame *ret, struct err *err)
{
	struct moment_frame frame = frame_of(info);
	struct tape_span span;
	int rc = info->events ? 0 : find_span(t, &span, err);

	if (rc)
		return rc;
	if (!info->events) {
		frame.first_ns = span.begin_ns;
		frame.last_ns = span.end_ns;
	}
	*ret = frame;
	return 0;
}

int tape_position_frame(struct tape *t, struct moment_frame *ret, struct err *err)
{
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	return rc ? rc : find_frame(t, &info, ret, err);
}

/* Whether the recorder's clock was set back, and so showed that time twice. */
static int find_set_back(struct tape *t, struct tape_position *p, struct err *err)
{
	struct steady_time *s;
	int rc = steady_time_load(t, &s, err);

	if (rc)
		return rc;
	p->set_back_ns = steady_time_set_back(s, p->time_ns);
	steady_time_free(s);
	return 0;
}

static int find_time(struct tape *t, const struct moment *m, const struct tape_info *info,
	struct tape_position *p, struct err *err)
{
	struct moment_frame frame;
	int rc = find_frame(t, info, &frame, err);

	if (rc)
		return rc;
	p->by_time = true;
	p->time_ns = moment_resolve(m, &frame, &p->days);
	if (!info->events || p->time_ns > frame.last_ns || p->time_ns < frame.first_ns)
		rc = find_span(t, &p->span, err);
	if (p->time_ns < p->span.begin_ns)
		p->place = POSITION_BEFORE;
	else if (p->time_ns > p->span.end_ns && !p->span.live)
		p->place = POSITION_AFTER;
	rc = rc ? rc : tape_position_at_time(t, p->time_ns, &p->seq, err);
	return rc ? rc : find_set_back(t, p, err);
}

/* ---- texts ---- */

static int find_named(struct tape *t, const char *text, const struct tape_info *info, struct tape_position *p,
	struct err *err)
{
	struct moment m;
	uint64_t seq;

	if (strcmp(text, "start") == 0) {
		p->seq = start_of(info);
		return 0;
	}
	if (strcmp(text, "end") == 0) {
		p->is_end = true;
		p->seq = info->last_seq;
		return 0;
	}
	if (is_seq(text, &seq)) {
		place_seq(info, seq, p);
		return 0;
	}
	if (strncmp(text, "rv:", 3) == 0 || (strchr(text, '@') && *text != '@'))
		return find_rv(t, text, p, err);
	if (moment_parse(slice_of(text), &m, NULL))
		return err_set(err, ERR_USAGE,
			"bad position '%.80s': expected a time (%s), a seq, rv:N or RESOURCE@RV", text,
			MOMENT_FORMS);
	return find_time(t, &m, info, p, err);
}

/* Before the first event: a tape may begin with a list before it. */
static int find_begin_time(struct tape *t, struct tape_position *p, struct err *err)
{
	int rc = find_span(t, &p->span, err);

	p->time_ns = p->span.begin_ns;
	return rc;
}

/* Of the event that counts. */
static int find_event_time(
	struct tape *t, const struct tape_info *info, struct tape_position *p, struct err *err)
{
	struct buf strings;
	struct event e;
	int rc;

	p->time_ns = info->first_time_ns;
	if (!info->events || p->seq < info->first_seq)
		return info->first_seq > 1 ? find_begin_time(t, p, err) : 0;
	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	rc = tape_event(t, p->seq, &e, &strings, err);
	if (rc == 0)
		p->time_ns = e.time_ns;
	buf_release(&strings);
	return rc;
}

int tape_position_find(struct tape *t, const char *text, struct tape_position *ret, struct err *err)
{
	struct tape_position p = {.days = 1};
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc)
		return rc;
	p.span = (struct tape_span){.first_seq = info.first_seq,
		.last_seq = info.last_seq,
		.begin_ns = info.first_time_ns,
		.end_ns = info.last_time_ns};
	rc = find_named(t, text, &info, &p, err);
	if (rc == 0 && p.place == POSITION_BEFORE)
		p.seq = start_of(&info);
	if (rc == 0 && !p.by_time)
		rc = find_event_time(t, &info, &p, err);
	if (rc == 0 && p.place != POSITION_ON_TAPE)
		rc = find_span(t, &p.span, err); /* to be told */
	if (rc == 0)
		*ret = p;
	return rc;
}

struct coverage_point tape_position_point(const struct tape_position *p, const struct coverage *c)
{
	if (p->is_end)
		return (struct coverage_point){p->seq, coverage_span(c).end_ns, true};
	return (struct coverage_point){p->seq, p->time_ns, p->by_time};
}

/* ---- what to say ---- */

/* " is 2026-11-21T12:00:00.000000000Z, 2h07m", or " lies" where that says nothing new. */
static void describe_distance(const struct tape_position *p, char to[2 * TIME_TEXT_BYTES + 16])
{
	char time[TIME_TEXT_BYTES], length[TIME_TEXT_BYTES];
	int64_t bound_ns = p->place == POSITION_BEFORE ? p->span.begin_ns : p->span.end_ns;
	int64_t distance_ns = time_sub(p->time_ns, bound_ns);

	if (!p->by_time || distance_ns == INT64_MAX || distance_ns == INT64_MIN) {
		snprintf(to, 2 * TIME_TEXT_BYTES + 16, " lies");
		return;
	}
	duration_format(length, distance_ns < 0 ? -distance_ns : distance_ns);
	snprintf(to, 2 * TIME_TEXT_BYTES + 16, " is %s, %s", time_format(time, p->time_ns), length);
}

static void describe_outside(const struct tape_position *p, const char *text, char to[POSITION_REMARK_BYTES])
{
	char begin[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES], distance[2 * TIME_TEXT_BYTES + 16];
	const char *side = p->place == POSITION_BEFORE ? "before the beginning" : "after the end";

	if (!p->span.last_seq) {
		snprintf(to, POSITION_REMARK_BYTES, "'%.60s' lies %s of the tape, which has no events", text,
			side);
		return;
	}
	describe_distance(p, distance);
	if (p->span.last_seq < p->span.first_seq) {
		snprintf(to, POSITION_REMARK_BYTES,
			"'%.60s'%s %s of the tape, which has the state after event %llu, from %s to %s, and no event",
			text, distance, side, (unsigned long long)p->span.last_seq,
			time_format(begin, p->span.begin_ns), time_format(end, p->span.end_ns));
		return;
	}
	snprintf(to, POSITION_REMARK_BYTES,
		"'%.60s'%s %s of the tape, which goes from %s (event %llu) to %s (event %llu)", text,
		distance, side, time_format(begin, p->span.begin_ns), (unsigned long long)p->span.first_seq,
		time_format(end, p->span.end_ns), (unsigned long long)p->span.last_seq);
}

static void describe_set_back(const struct tape_position *p, const char *text, char to[POSITION_REMARK_BYTES])
{
	char length[TIME_TEXT_BYTES];

	snprintf(to, POSITION_REMARK_BYTES,
		"'%.60s' was twice, as the recorder's clock was set back by %s: the state after event %llu was taken",
		text, duration_format(length, p->set_back_ns), (unsigned long long)p->seq);
}

bool tape_position_remark(const struct tape_position *p, const char *text, char to[POSITION_REMARK_BYTES])
{
	char time[TIME_TEXT_BYTES];

	if (p->place != POSITION_ON_TAPE) {
		describe_outside(p, text, to);
		return true;
	}
	if (p->set_back_ns) {
		describe_set_back(p, text, to);
		return true;
	}
	if (p->days <= 1)
		return false;
	snprintf(to, POSITION_REMARK_BYTES, "'%.60s' is on %llu days of the tape: the first was taken, %s",
		text, (unsigned long long)p->days, time_format(time, p->time_ns));
	return true;
}
