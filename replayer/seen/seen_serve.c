/* seen_serve.c: see seen.h. Requests: which of the live client's a request is, and its answer. */
#include "replayer/seen/seen_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/codec.h"

#include <stdio.h>
#include <stdlib.h>

/* A client that is that much ahead of the live one asks for something else. */
#define AHEAD_NS (30 * NS_PER_S)

/* ---- what is asked for ---- */

/* How long a client is willing to wait is up to chance, and how it looks does not matter. */
static bool is_beside(struct slice name)
{
	return slice_is(name, "timeoutSeconds") || slice_is(name, "timeout") || slice_is(name, "pretty");
}

/* In whatever order the parameters stand. */
static uint64_t hash_of(const struct query *q, uint64_t path, struct slice accept)
{
	uint64_t sum = memmem(accept.ptr ? accept.ptr : "", accept.len, "as=", 3) ? 1 : 0;

	for (size_t i = 0; i < q->count; i++) {
		const struct query_pair *p = &q->pairs[i];

		if (!is_beside(p->name))
			sum += hash_add(hash_add(hash_add(HASH_EMPTY, p->name), slice_of("=")), p->value);
	}
	return hash_add(path, (struct slice){(const char *)&sum, sizeof(sum)});
}

void seen_key(const char *target, const char *accept, uint64_t *ret_key, uint64_t *ret_path)
{
	struct query q;

	query_parse(slice_of(target), &q);
	*ret_path = hash_add(HASH_EMPTY, q.path);
	*ret_key = hash_of(&q, *ret_path, slice_of(accept));
	query_release(&q);
}

static bool has_word(struct slice text, const char *word)
{
	return text.len && memmem(text.ptr, text.len, word, strlen(word));
}

/* A client that does not read what came in protobuf or CBOR cannot be given it again. */
static bool can_read(const struct told *t, struct slice accept)
{
	static const char *const forms[] = {"protobuf", "cbor"};

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		if (strstr(t->live->content_type, forms[i]) && !has_word(accept, forms[i]))
			return false;
	}
	return true;
}

static struct told *seen_serve_find(struct seen *s, uint64_t key, struct slice accept)
{
	for (size_t i = 0; i < s->count; i++) {
		struct told *t = &s->tolds[i];

		if (t->key == key && !t->is_given && can_read(t, accept))
			return t;
	}
	return NULL;
}

static bool is_of_client(const struct seen *s, const struct api_call *call)
{
	struct slice agent = http_header_find(call->request, "User-Agent");

	return call->path.kind == API_PATH_RESOURCE && slice_is(call->request->method, "GET") &&
	       (!*s->client || has_word(agent, s->client));
}

/* ---- answers ---- */

enum exchange_abort seen_abort_of(enum seen_end end)
{
	switch (end) {
	case SEEN_RESET: return ABORT_RST;
	case SEEN_RST_STREAM: return ABORT_STREAM;
	case SEEN_GOAWAY: return ABORT_GOAWAY;
	default: return ABORT_FIN;
	}
}

static void push_body(struct exchange *x, const struct buf *body)
{
	struct blob *b;

	if (!body->len)
		return;
	b = blob_of(buf_slice(body));
	exchange_push(x, b);
	blob_unref(b);
}

static void send_answer(struct exchange *x, const struct seen_request *r, const struct buf *body)
{
	bool is_whole = r->end == SEEN_COMPLETE;
	char seconds[24];
	struct http_header headers[3];
	size_t count = 0;

	headers[count++] = (struct http_header){slice_of("Cache-Control"), slice_of("no-cache, private")};
	if (*r->content_type)
		headers[count++] = (struct http_header){slice_of("Content-Type"), slice_of(r->content_type)};
	snprintf(seconds, sizeof(seconds), "%lld", (long long)r->retry_after);
	if (r->retry_after >= 0)
		headers[count++] = (struct http_header){slice_of("Retry-After"), slice_of(seconds)};
	exchange_answer(x, r->status, headers, count, is_whole ? (int64_t)body->len : -1);
	push_body(x, body);
	if (is_whole)
		exchange_finish(x);
	else
		exchange_break(x, seen_abort_of(r->end),
			r->h2_error >= 0 ? (uint32_t)r->h2_error : EXCHANGE_ABORT_CODE);
}

static int take_piece(void *context, struct slice packed, size_t raw_bytes, struct err *err)
{
	struct buf *body = context;

	if (raw_bytes > body->max - body->len)
		return err_set(err, ERR_TOO_LARGE, "an answer has more than %zu bytes", body->max);
	return codec_unpack(packed, raw_bytes, body, err);
}

static void seen_serve_answer(struct seen *s, struct told *t, struct exchange *x)
{
	struct buf body;
	const struct seen_taker taker = {take_piece, &body};
	struct err err;

	if (!t->live->status) {
		exchange_abort(x, seen_abort_of(t->live->end));
		return;
	}
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (run_seen_answer(s->run_seen, t->live, &taker, &err)) {
		log_error("%s", err.text);
		exchange_abort(x, ABORT_FIN);
	} else {
		send_answer(x, t->live, &body);
	}
	buf_release(&body);
}

/* ---- answers that wait ---- */

static void unlink_parked(struct parked *p)
{
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	free(p);
}

/* The client has gone; the next one that asks gets the answer. */
static void on_parked_closed(void *owner)
{
	struct parked *p = owner;

	p->told->is_given = false;
	unlink_parked(p);
}

static const struct exchange_owner parked_owner = {.closed = on_parked_closed};

static void park(struct seen *s, struct told *t, struct exchange *x)
{
	struct parked *p = xcalloc(1, sizeof(*p));

	*p = (struct parked){.next = s->parked, .link = &s->parked, .told = t, .x = x};
	if (p->next)
		p->next->link = &p->next;
	s->parked = p;
	exchange_own(x, &parked_owner, p);
	player_nudge(s->place.player);
}

static struct parked *find_due(const struct seen *s, int64_t now_ns)
{
	struct parked *p = s->parked;

	while (p && p->told->live->time_ns > now_ns)
		p = p->next;
	return p;
}

/* From the beginning each time: an answer may end a connection, and others that wait with it. */
void seen_serve_parked(struct seen *s)
{
	int64_t now_ns = seen_now(s);
	struct parked *p;

	while ((p = find_due(s, now_ns))) {
		struct exchange *x = p->x;
		struct told *t = p->told;

		exchange_own(x, NULL, NULL);
		unlink_parked(p);
		seen_serve_answer(s, t, x);
	}
}

int64_t seen_next_parked(const struct seen *s)
{
	int64_t next_ns = INT64_MAX;

	for (const struct parked *p = s->parked; p; p = p->next)
		next_ns = p->told->live->time_ns < next_ns ? p->told->live->time_ns : next_ns;
	return next_ns;
}

/* ---- requests ---- */

/* The live client had a watch of that path then: it was connected, and did not ask. */
static bool was_watching(const struct seen *s, uint64_t path, int64_t now_ns)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct told *t = &s->tolds[i];

		if (t->live->is_watch && t->path == path && t->live->time_ns <= now_ns &&
			t->live->end_ns > now_ns)
			return true;
	}
	return false;
}

/* Before the clock runs nothing waits for it. */
static bool is_early(const struct seen *s, const struct told *t)
{
	return player_state(s->place.player) != PLAYER_WAITING && t->live->time_ns > seen_now(s);
}

static bool is_far_ahead(const struct seen *s, const struct told *t)
{
	int64_t now_ns = seen_now(s);

	return is_early(s, t) && t->live->time_ns - now_ns > AHEAD_NS && was_watching(s, t->path, now_ns);
}

static bool serve_otherwise(struct seen *s, const struct api_call *call, uint64_t path)
{
	log_debug("'%.*s' was not asked by the live client: the tape answers", (int)call->request->target.len,
		call->request->target.ptr);
	if (call->verb == VERB_WATCH)
		seen_let_go(s, path);
	player_nudge(s->place.player);
	return false;
}

bool seen_serve(struct seen *s, struct api_call *call)
{
	struct slice accept = http_header_find(call->request, "Accept");
	uint64_t path, key;
	struct told *t;

	if (!is_of_client(s, call))
		return false;
	path = hash_add(HASH_EMPTY, call->query.path);
	key = hash_of(&call->query, path, accept);
	t = seen_serve_find(s, key, accept);
	if (!t || (!t->live->is_watch && is_far_ahead(s, t)))
		return serve_otherwise(s, call, path);
	t->is_given = true;
	if (t->live->is_watch)
		seen_watch_open(s, t, call);
	else if (is_early(s, t))
		park(s, t, call->x);
	else
		seen_serve_answer(s, t, call->x);
	return true;
}
