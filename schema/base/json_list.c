/*
 * json_list.c: see json_list.h. Items and members are read where they lie, by the functions that read a whole
 * document. What fails at the end of the bytes may only be unfinished: it is looked at again when twice as
 * much is there, so that a large item is not walked for each of its pieces.
 */
#include "schema/base/json_list.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/json_walk.h"

#define LEAST_MORE_BYTES 4096
#define KEEP_BYTES       (1u << 20)
#define MAX_TEXT_BYTES   (1u << 20) /* of a continue token and the like */

void json_list_init(struct json_list *l, size_t max_bytes)
{
	struct buf *texts[] = {&l->kind, &l->api_version, &l->rv, &l->continue_token};

	*l = (struct json_list){.is_first = true};
	buf_init(&l->pending, max_bytes);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		buf_init(texts[i], MAX_TEXT_BYTES);
}

void json_list_release(struct json_list *l)
{
	struct buf *bufs[] = {&l->pending, &l->kind, &l->api_version, &l->rv, &l->continue_token};

	for (size_t i = 0; i < COUNT_OF(bufs); i++)
		buf_release(bufs[i]);
}

void json_list_clear(struct json_list *l)
{
	struct buf *bufs[] = {&l->pending, &l->kind, &l->api_version, &l->rv, &l->continue_token};

	if (l->pending.cap > KEEP_BYTES)
		buf_release(&l->pending);
	for (size_t i = 0; i < COUNT_OF(bufs); i++)
		buf_clear(bufs[i]);
	l->state = JSON_LIST_BEGINS;
	l->is_first = true;
	l->look_again = 0;
	l->item_count = 0;
}

/* ---- members of the list ---- */

static int keep_text(struct buf *to, struct slice value, bool plain, struct err *err)
{
	bool is_text = value.len >= 2 && value.ptr[0] == '"';

	buf_clear(to);
	if (!is_text)
		return 0;
	return plain ? json_unescape(value, to, err) : buf_append(to, value.ptr + 1, value.len - 2, err);
}

static int keep_metadata(struct json_list *l, struct slice metadata, struct err *err)
{
	struct slice key, value;
	struct json_iter it;
	int rc;

	buf_clear(&l->rv);
	buf_clear(&l->continue_token);
	if (metadata.ptr[0] != '{')
		return 0;
	rc = json_iter_begin(metadata, &it, err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, err)) > 0) {
		rc = 0;
		if (json_text_is(key, "resourceVersion"))
			rc = keep_text(&l->rv, value, false, err);
		else if (json_text_is(key, "continue"))
			rc = keep_text(&l->continue_token, value, true, err);
	}
	return rc;
}

static int keep_member(struct json_list *l, const struct json_key *key, struct slice value, struct err *err)
{
	if (json_text_is(key->text, "kind"))
		return keep_text(&l->kind, value, false, err);
	if (json_text_is(key->text, "apiVersion"))
		return keep_text(&l->api_version, value, false, err);
	if (json_text_is(key->text, "metadata"))
		return keep_metadata(l, value, err);
	if (json_text_is(key->text, "items") && !slice_is(value, "null"))
		return err_set(err, ERR_PROTOCOL, "bad list: 'items' begins with '%c', expected an array",
			value.ptr[0]);
	return 0;
}

/* ---- one step ---- */

/* Where reading stands; a step works on a copy, which counts if the step came to its end. */
struct place {
	struct json_cursor at;
	enum json_list_state state;
	bool is_first;
};

struct reading {
	struct json_list *list;
	json_list_each *each;
	void *context;
	struct err *err;
	bool failed; /* not for want of bytes */
};

static int fail_unfinished(struct json_cursor *c)
{
	return err_set(c->err, ERR_PROTOCOL, "bad list: it never ends");
}

/* A value that ends with the bytes may go on: 12 may be 123. */
static int take_whole(struct json_cursor *c, struct slice *ret_value)
{
	int rc = json_take(c, ret_value);

	if (rc < 0)
		return rc;
	(void)json_peek(c);
	return c->at < c->end ? 0 : fail_unfinished(c);
}

static int read_member(struct reading *r, struct place *p)
{
	struct json_key key;
	struct slice value;
	int rc = json_next_member(&p->at, &p->is_first, &key);

	if (rc <= 0) {
		p->state = JSON_LIST_ENDED;
		return rc;
	}
	if (json_peek(&p->at) == '[' && json_text_is(key.text, "items")) {
		p->state = JSON_LIST_ITEMS;
		p->is_first = true;
		return json_enter(&p->at, '[');
	}
	rc = take_whole(&p->at, &value);
	if (rc < 0)
		return rc;
	rc = keep_member(r->list, &key, value, r->err);
	r->failed = rc != 0;
	return rc;
}

static int read_item(struct reading *r, struct place *p)
{
	struct slice item;
	int rc = json_next_item(&p->at, &p->is_first);

	if (rc <= 0) {
		p->state = JSON_LIST_MEMBERS;
		p->is_first = false;
		return rc;
	}
	rc = take_whole(&p->at, &item);
	if (rc < 0)
		return rc;
	r->list->item_count++;
	rc = r->each(r->context, item, r->err);
	r->failed = rc != 0;
	return rc;
}

static int read_step(struct reading *r, struct place *p)
{
	switch (p->state) {
	case JSON_LIST_BEGINS:
		p->state = JSON_LIST_MEMBERS;
		p->at.depth = 0;
		return json_enter(&p->at, '{');
	case JSON_LIST_MEMBERS: p->at.depth = 1; return read_member(r, p);
	case JSON_LIST_ITEMS: p->at.depth = 2; return read_item(r, p);
	case JSON_LIST_ENDED: break;
	}
	return json_finish(&p->at);
}

/* ---- all that is there ---- */

static bool has_more(struct place *p)
{
	(void)json_peek(&p->at);
	return p->at.at < p->at.end;
}

/* is_last: what is unfinished will not be finished, and `err` tells. */
static int read_pending(struct json_list *l, struct reading *r, bool is_last)
{
	struct place place = {
		json_cursor_over(buf_slice(&l->pending), is_last ? r->err : NULL), l->state, l->is_first};
	const char *begin = place.at.begin;
	int rc = 0;

	while (rc == 0 && has_more(&place)) {
		struct place next = place;

		rc = read_step(r, &next);
		if (rc == 0)
			place = next;
	}
	l->state = place.state;
	l->is_first = place.is_first;
	buf_consume(&l->pending, (size_t)(place.at.at - begin));
	l->look_again = 2 * l->pending.len + LEAST_MORE_BYTES;
	return rc && !r->failed && !is_last ? 0 : rc;
}

/* Where the scanner says "at byte N" that is counted from there. */
static int say_where(const struct json_list *l, int rc, const struct reading *r)
{
	return rc && !r->failed ? err_prefix(r->err, rc, "after %ju items", (uintmax_t)l->item_count) : rc;
}

int json_list_feed(
	struct json_list *l, struct slice bytes, json_list_each *each, void *context, struct err *err)
{
	struct reading r = {l, each, context, err, false};
	bool is_full = bytes.len > l->pending.max - l->pending.len;
	int rc = is_full ? read_pending(l, &r, false) : 0;

	if (rc == 0 && bytes.len > l->pending.max - l->pending.len) {
		r.failed = true;
		rc = err_set(err, ERR_TOO_LARGE, "an item of the list, after %ju, is larger than %zu bytes",
			(uintmax_t)l->item_count, l->pending.max);
	}
	if (rc == 0)
		rc = buf_append(&l->pending, bytes.ptr, bytes.len, err);
	if (rc == 0 && l->pending.len >= l->look_again)
		rc = read_pending(l, &r, false);
	return rc;
}

int json_list_end(struct json_list *l, json_list_each *each, void *context, struct err *err)
{
	struct reading r = {l, each, context, err, false};
	int rc = read_pending(l, &r, true);

	if (rc == 0 && l->state != JSON_LIST_ENDED)
		rc = err_set(err, ERR_PROTOCOL, "bad list: it never ends");
	return say_where(l, rc, &r);
}
