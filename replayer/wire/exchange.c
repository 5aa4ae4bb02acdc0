/* exchange.c: see exchange.h. */
#include "replayer/wire/exchange.h"

#include <assert.h>
#include <stdlib.h>

#define RING_KEEP 16 /* a longer ring is given back when it is empty */

static const char last_chunk[] = "0\r\n\r\n";

void exchange_init(
	struct exchange *x, const struct exchange_carrier *carrier, struct exchange_account *account)
{
	*x = (struct exchange){.carrier = carrier, .account = account};
}

static void count_in(struct exchange *x, size_t bytes)
{
	x->waiting_bytes += bytes;
	for (struct exchange_account *a = x->owner ? NULL : x->account; a; a = a->parent)
		a->bytes += bytes;
}

static void count_out(struct exchange *x, size_t bytes)
{
	x->waiting_bytes -= bytes;
	for (struct exchange_account *a = x->owner ? NULL : x->account; a; a = a->parent)
		a->bytes -= bytes;
}

void exchange_own(struct exchange *x, const struct exchange_owner *owner, void *context)
{
	size_t waiting = x->waiting_bytes;

	count_out(x, waiting);
	x->owner = owner;
	x->owner_context = context;
	count_in(x, waiting);
}

static void exchange_grow(struct exchange *x)
{
	uint32_t cap = x->cap ? 2 * x->cap : 4;
	struct exchange_piece *ring = xmalloc(cap * sizeof(*ring));

	for (uint32_t i = 0; i < x->count; i++)
		ring[i] = x->pieces[(x->first + i) % x->cap];
	free(x->pieces);
	x->pieces = ring;
	x->first = 0;
	x->cap = cap;
}

static void exchange_add(struct exchange *x, struct blob *b, struct slice bytes)
{
	if (x->count == x->cap)
		exchange_grow(x);
	x->pieces[(x->first + x->count++) % x->cap] = (struct exchange_piece){b, bytes};
	count_in(x, bytes.len);
	x->body_bytes += bytes.len;
	x->carrier->wake(x);
}

void exchange_answer(
	struct exchange *x, int status, const struct http_header *headers, size_t count, int64_t length)
{
	struct http_header all[HTTP_HEADERS_MAX];
	size_t n = 0;

	assert(x->state == EXCHANGE_OPEN);
	x->state = EXCHANGE_ANSWERING;
	x->status = status;
	for (size_t i = 0; i < count && n < HTTP_HEADERS_MAX; i++)
		all[n++] = headers[i];
	for (size_t i = 0; i < x->more_header_count && n < HTTP_HEADERS_MAX; i++)
		all[n++] = x->more_headers[i];
	x->framing = x->carrier->head(x, status, all, n, length);
}

void exchange_push(struct exchange *x, struct blob *b)
{
	assert(x->state == EXCHANGE_ANSWERING);
	if (!x->head_only)
		exchange_add(x, blob_ref(b), x->framing == FRAMING_CHUNKS ? blob_chunk(b) : blob_body(b));
}

void exchange_push_raw(struct exchange *x, struct blob *b)
{
	exchange_add(x, blob_ref(b), blob_body(b));
}

void exchange_go_on(struct exchange *x)
{
	x->is_prepared = x->state == EXCHANGE_OPEN;
	x->carrier->go_on(x);
}

void exchange_finish(struct exchange *x)
{
	assert(x->state == EXCHANGE_ANSWERING);
	x->state = EXCHANGE_FINISHED;
	if (x->framing == FRAMING_CHUNKS && !x->head_only)
		exchange_add(x, NULL, slice_of(last_chunk));
	x->carrier->wake(x);
}

void exchange_abort(struct exchange *x, enum exchange_abort how)
{
	x->carrier->abort(x, how, EXCHANGE_ABORT_CODE);
}

void exchange_break(struct exchange *x, enum exchange_abort how, uint32_t code)
{
	assert(x->state == EXCHANGE_ANSWERING);
	x->state = EXCHANGE_BROKEN;
	x->break_how = how;
	x->break_code = code;
	x->carrier->wake(x);
}

void exchange_freeze(struct exchange *x, uint64_t by)
{
	x->carrier->freeze(x, by);
}

bool exchange_is_frozen(struct exchange *x)
{
	return x->carrier->is_frozen(x);
}

void exchange_release(struct exchange *x)
{
	const struct exchange_owner *owner = x->owner;
	void *context = x->owner_context;

	if (x->over)
		x->over(x->over_context, x, exchange_is_all_sent(x));
	for (uint32_t i = 0; i < x->count; i++)
		blob_unref(x->pieces[(x->first + i) % x->cap].blob);
	free(x->pieces);
	count_out(x, x->waiting_bytes);
	exchange_init(x, x->carrier, x->account);
	if (owner && owner->closed)
		owner->closed(context);
}

size_t exchange_peek(const struct exchange *x, struct slice *ret, size_t max)
{
	size_t n = 0;

	for (; n < x->count && n < max; n++)
		ret[n] = x->pieces[(x->first + n) % x->cap].bytes;
	return n;
}

void exchange_sent(struct exchange *x, size_t n)
{
	count_out(x, n);
	while (x->count) {
		struct exchange_piece *p = &x->pieces[x->first];

		if (n < p->bytes.len) {
			p->bytes = (struct slice){p->bytes.ptr + n, p->bytes.len - n};
			return;
		}
		n -= p->bytes.len;
		blob_unref(p->blob);
		x->first = (x->first + 1) % x->cap;
		x->count--;
	}
	if (x->cap > RING_KEEP) {
		free(x->pieces);
		x->pieces = NULL;
		x->first = x->cap = 0;
	}
}

bool exchange_refill(struct exchange *x)
{
	if ((x->state != EXCHANGE_ANSWERING && !x->is_prepared) || !x->owner || !x->owner->drained)
		return false;
	if (x->waiting_bytes >= EXCHANGE_LOW_BYTES)
		return false;
	x->is_prepared = false;
	x->owner->drained(x->owner_context);
	return true;
}
