/*
 * h1_road.c: HTTP/1.1 in both directions; see road.h. Heads are collected and read, bodies walked over.
 *
 *     a head -> the body that it announces -> the next head
 *
 * An answer with 101, or with 2xx to CONNECT, ends HTTP on this connection.
 */
#include "tools/tee/road_internal.h"

#include "replayer/wire/http.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static void begin_head(struct h1_lane *l)
{
	l->state = H1_IN_HEAD;
	l->scanned = 0;
	buf_release(&l->head);
}

void h1_road_init(struct road *r)
{
	buf_init(&r->requests.head, LIMIT_REQUEST_HEAD_BYTES);
	buf_init(&r->answers.head, LIMIT_REQUEST_HEAD_BYTES);
}

void h1_road_release(struct road *r)
{
	buf_release(&r->requests.head);
	buf_release(&r->answers.head);
}

/* ---- talks, in order ---- */

static void push_talk(struct road *r, struct talk *t)
{
	if (r->last)
		r->last->next = t;
	else
		r->first = t;
	r->last = t;
}

static struct talk *pop_talk(struct road *r)
{
	struct talk *t = r->first;

	if (t) {
		r->first = t->next;
		r->last = r->first ? r->last : NULL;
	}
	return t;
}

void h1_road_end(struct road *r, enum road_party by, enum road_end how)
{
	bool is_to_close = r->answers.state == H1_IN_BODY && r->answers.body.framing == H1_UNTIL_CLOSE;
	struct talk *t = pop_talk(r);

	/* Where only the end of the connection ends a body, it is a whole one. */
	if (t && is_to_close && how == ROAD_FIN && by == PARTY_SERVER)
		talk_end(t, ROAD_COMPLETE, by, -1);
	else if (t)
		talk_end(t, how, by, -1);
	while ((t = pop_talk(r)))
		talk_end(t, how, by, -1);
	if (r->upgraded)
		talk_end(r->upgraded, how, by, -1);
	r->upgraded = NULL;
}

/* ---- heads ---- */

/* Moves bytes of a head over to l->head, up to its end: 1 when it is whole. */
static int collect_head(struct h1_lane *l, struct slice *in, struct err *err)
{
	size_t before = l->head.len, whole;
	int rc;

	/* Empty lines before a request are passed over, as servers do. */
	while (!before && in->len && (*in->ptr == '\r' || *in->ptr == '\n'))
		*in = (struct slice){in->ptr + 1, in->len - 1};
	rc = buf_append(&l->head, in->ptr, in->len, err);
	if (rc)
		return rc;
	whole = h1_head_length(buf_slice(&l->head), &l->scanned);
	if (!whole) {
		*in = (struct slice){in->ptr + in->len, 0};
		return 0;
	}
	/* What was there before may hold it already, where it was kept for another reason. */
	if (whole < before)
		return err_set(err, ERR_PROTOCOL, "more than a head was kept");
	*in = (struct slice){in->ptr + (whole - before), in->len - (whole - before)};
	l->head.len = whole;
	return 1;
}

/* Which body fields announce; false when they contradict each other. */
static bool read_framing(const struct field_list *fields, enum h1_framing otherwise, struct h1_body *ret)
{
	struct slice coding = field_value(fields, "Transfer-Encoding");
	size_t lengths = field_count(fields, "Content-Length");
	uint64_t length = 0;

	if (coding.len) {
		h1_body_begin(ret, H1_CHUNKED, 0);
		return lengths == 0 && field_count(fields, "Transfer-Encoding") == 1 &&
		       slice_equal_nocase(coding, slice_of("chunked"));
	}
	if (!lengths) {
		h1_body_begin(ret, otherwise, 0);
		return true;
	}
	h1_body_begin(ret, H1_LENGTH, 0);
	if (lengths > 1 || !field_number(field_value(fields, "Content-Length"), &length))
		return false;
	h1_body_begin(ret, H1_LENGTH, length);
	return true;
}

/* ---- requests ---- */

/* "GET /path HTTP/1.1" */
static bool read_request_line(struct slice line, struct talk_head *ret)
{
	const char *first = memchr(line.ptr, ' ', line.len), *last = memrchr(line.ptr, ' ', line.len);
	struct slice version;

	if (!first || first == last)
		return false;
	ret->method = (struct slice){line.ptr, (size_t)(first - line.ptr)};
	ret->target = (struct slice){first + 1, (size_t)(last - first - 1)};
	version = (struct slice){last + 1, line.len - (size_t)(last + 1 - line.ptr)};
	return ret->method.len && ret->target.len &&
	       (slice_is(version, "HTTP/1.1") || slice_is(version, "HTTP/1.0"));
}

static int pass_head_unread(struct road *r, struct buf *out, struct err *err)
{
	int rc = road_give_up(r, "what a client sends is not HTTP", err);

	if (rc == 0)
		rc = buf_append(out, r->requests.head.ptr, r->requests.head.len, err);
	begin_head(&r->requests);
	return rc;
}

static int h1_road_refuse(struct err *err)
{
	return err_set(err, ERR_DENIED, "a client asks without the tee's own token, or as somebody else");
}

static int send_head(struct road *r, struct buf *out, struct err *err)
{
	struct talk_head head = {.fields = &r->fields, .version = "1.1"};
	struct slice line;
	struct talk *t;
	int rc;

	field_list_clear(&r->fields);
	if (!h1_head_parse(buf_slice(&r->requests.head), &line, &r->fields) ||
		!read_request_line(line, &head) || !read_framing(&r->fields, H1_NO_BODY, &r->requests.body))
		return pass_head_unread(r, out, err);
	t = road_begin_talk(r, &head);
	push_talk(r, t);
	if (!rewrite_fields(r->o.rewrite, &r->fields))
		return h1_road_refuse(err);
	rc = h1_head_write(line, &r->fields, out, err);
	begin_head(&r->requests);
	r->requests.state = H1_IN_BODY;
	return rc;
}

/* Passes on what of the input is body; at its end the next head follows, or the client is heard out. A server
 * may have answered by then: the last talk is over. */
static int send_body(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	struct slice from = *in, data;
	enum h1_step step;
	int rc;

	while ((step = h1_body_next(&r->requests.body, in, &data)) == H1_STEP_DATA) {
		if (r->last)
			talk_asked(r->last, data);
	}
	rc = buf_append(out, from.ptr, from.len - in->len, err);
	if (rc == 0 && step == H1_STEP_NONSENSE)
		rc = road_give_up(r, "what a client sends is not HTTP", err);
	if (step != H1_STEP_OVER)
		return rc;
	if (r->last)
		talk_asked_end(r->last);
	r->requests.state = r->last && r->last->wants_upgrade ? H1_WAITING : H1_IN_HEAD;
	return rc;
}

static int collect_request(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	int rc = collect_head(&r->requests, in, err);

	if (rc <= 0)
		return rc;
	return send_head(r, out, err);
}

/* An empty body ends without a byte. */
static bool has_work(const struct road *r, const struct slice *in)
{
	if (r->protocol != ROAD_HTTP1 || r->requests.state == H1_WAITING)
		return false;
	return in->len ||
	       (r->requests.state == H1_IN_BODY &&
		       (r->requests.body.framing == H1_NO_BODY ||
			       (r->requests.body.framing == H1_LENGTH && r->requests.body.left == 0)));
}

int h1_road_request(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	int rc = 0;

	while (rc == 0 && has_work(r, in))
		rc = r->requests.state == H1_IN_HEAD ? collect_request(r, in, out, err)
						     : send_body(r, in, out, err);
	return rc;
}

/* ---- answers ---- */

/* "HTTP/1.1 200 OK" */
static int read_status(struct slice line)
{
	uint64_t status = 0;

	if (line.len < 12 || !slice_begins(line, "HTTP/1.") ||
		!field_number((struct slice){line.ptr + 9, 3}, &status) || status < 100)
		return 0;
	return (int)status;
}

static void become_raw(struct road *r)
{
	struct talk *t = pop_talk(r);

	r->protocol = ROAD_RAW;
	while (r->first)
		talk_end(pop_talk(r), ROAD_UNREAD, PARTY_TEE, -1);
	r->upgraded = t && t->feeds_upgraded ? t : NULL;
	if (t && !r->upgraded)
		talk_end(t, ROAD_COMPLETE, PARTY_SERVER, -1);
}

/* The answer to a request that wanted an upgrade was another: HTTP goes on. */
static void end_answer(struct road *r)
{
	struct talk *t = pop_talk(r);

	begin_head(&r->answers);
	if (t && t->wants_upgrade && r->requests.state == H1_WAITING)
		begin_head(&r->requests);
	if (t)
		talk_end(t, ROAD_COMPLETE, PARTY_SERVER, -1);
}

static int take_final(struct road *r, int status, struct err *err)
{
	struct talk *t = r->first;
	bool bodiless = status == 204 || status == 304 || (t && t->is_head);
	bool upgraded = status == 101 || (t && t->is_connect && status < 300);

	if (t)
		talk_answer(t, status, &r->fields);
	if (upgraded) {
		become_raw(r);
		return 0;
	}
	if (!read_framing(&r->fields, H1_UNTIL_CLOSE, &r->answers.body))
		return road_give_up(r, "what the server sends is not HTTP", err);
	if (bodiless)
		h1_body_begin(&r->answers.body, H1_NO_BODY, 0);
	begin_head(&r->answers);
	r->answers.state = H1_IN_BODY;
	return 0;
}

static int take_answer_head(struct road *r, struct slice *in, struct err *err)
{
	struct slice line;
	int rc = collect_head(&r->answers, in, err), status;

	if (rc == 0)
		return 0;
	field_list_clear(&r->fields);
	status = rc > 0 && h1_head_parse(buf_slice(&r->answers.head), &line, &r->fields) ? read_status(line)
											 : 0;
	if (!status)
		return road_give_up(r, "what the server sends is not HTTP", err);
	if (status < 200 && status != 101) { /* the final answer is still to come */
		begin_head(&r->answers);
		return 0;
	}
	rc = take_final(r, status, err);
	if (rc == 0 && r->protocol == ROAD_HTTP1 && r->answers.body.framing != H1_CHUNKED &&
		r->answers.body.framing != H1_UNTIL_CLOSE && r->answers.body.left == 0)
		end_answer(r);
	return rc;
}

static int take_answer_body(struct road *r, struct slice *in, struct err *err)
{
	struct slice data;
	enum h1_step step;

	while ((step = h1_body_next(&r->answers.body, in, &data)) == H1_STEP_DATA) {
		if (r->first)
			talk_body(r->first, data);
	}
	if (step == H1_STEP_NONSENSE)
		return road_give_up(r, "what the server sends is not HTTP", err);
	if (step == H1_STEP_OVER)
		end_answer(r);
	return 0;
}

int h1_road_answer(struct road *r, struct slice *in, struct err *err)
{
	int rc = 0;

	while (rc == 0 && in->len && r->protocol == ROAD_HTTP1)
		rc = r->answers.state == H1_IN_HEAD ? take_answer_head(r, in, err)
						    : take_answer_body(r, in, err);
	return rc;
}
