/*
 * house_audit.c: the answers of a tape's audit book as rows, a part for each hour in which requests came. Claims are added
 * to a book, mostly about the latest events, and retention takes the oldest away: so only the hours whose sums differ
 * from those in the account are inserted again.
 */
#include "recorder/push/house_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/audit_book.h"
#include "schema/tape/codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HOUR_NS (3600 * NS_PER_S)

struct hour {
	uint32_t number; /* since 1970 */
	uint64_t sum;    /* of its rows */
};

struct hours {
	struct hour *items; /* upwards */
	size_t count;
};

struct audit_push {
	struct house *house;
	struct hours there, now;
	uint64_t answers, attempt;
	bool has_inserted;
	const struct hour *at; /* the hour whose rows are being inserted; NULL: none */
};

static int compare_hours(const void *left, const void *right)
{
	const struct hour *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static bool has_hour(const struct hours *in, const struct hour *wanted)
{
	const struct hour *found =
		in->count ? bsearch(wanted, in->items, in->count, sizeof(*in->items), compare_hours) : NULL;

	return found && found->sum == wanted->sum;
}

static struct hour *hour_of(struct hours *in, uint32_t number)
{
	if (!in->count || in->items[in->count - 1].number != number) {
		in->items = xgrow(in->items, in->count, sizeof(*in->items));
		in->items[in->count++] = (struct hour){.number = number};
	}
	return &in->items[in->count - 1];
}

/* ---- the account ---- */

static void take_hour(struct slice line, struct hours *to)
{
	unsigned long number;
	char text[64];
	uint64_t sum;

	snprintf(text, sizeof(text), "%.*s", line.len < sizeof(text) ? (int)line.len : 0, line.ptr);
	if (sscanf(text, "%lu\t%16" SCNx64, &number, &sum) == 2)
		hour_of(to, (uint32_t)number)->sum = sum;
}

static int read_account(struct house *h, struct hours *to, struct err *err)
{
	struct slice rest;
	struct buf answer;
	struct err why;
	int rc;

	buf_init(&answer, LIMIT_DOCUMENT_BYTES);
	rc = house_select(h, "hour, digest FROM audit_hours FINAL", " ORDER BY hour", &answer, &rest, &why);
	while (!rc && rest.len)
		take_hour(slice_cut(&rest, '\n'), to);
	buf_release(&answer);
	if (rc == ERR_NOT_FOUND)
		return house_make_tables(h, err);
	return rc ? err_copy(err, &why) : 0;
}

/* ---- rows ---- */

static int put_asker(struct house *h, const struct audit_claim *c)
{
	const struct slice texts[] = {
		c->verb, c->subresource, c->user, c->impersonated_user, c->user_agent, c->source_ip};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = house_bytes(h, texts[i]);
	rc = rc ? rc : house_known(h, c->begin_ns);
	rc = rc ? rc : house_known(h, c->end_ns);
	return rc ? rc : house_bytes(h, c->audit_id);
}

static int put_answer(struct house *h, const struct audit_answer *a)
{
	const struct audit_claim none = {.begin_ns = -1, .end_ns = -1};
	int rc = house_tape(h);

	rc = rc ? rc : house_bytes(h, a->uid);
	rc = rc ? rc : house_bytes(h, a->rv);
	rc = rc ? rc : house_word(h, a->claim ? audit_how_name(a->claim->how) : "disputed");
	return rc ? rc : put_asker(h, a->claim ? a->claim : &none);
}

static uint32_t hour_number(const struct audit_answer *a)
{
	return a->first_ns > 0 ? (uint32_t)(a->first_ns / HOUR_NS) : 0;
}

static int add_to_sum(void *context, const struct audit_answer *a)
{
	struct audit_push *p = context;
	struct hour *hour = hour_of(&p->now, hour_number(a));
	int rc = put_answer(p->house, a);

	p->answers++;
	hour->sum = codec_hash_two(
		(struct slice){(const char *)&hour->sum, sizeof(hour->sum)}, house_rows(p->house));
	house_clear(p->house);
	return rc;
}

/* The account says that an hour is there once all its rows are. */
static int end_hour(struct audit_push *p)
{
	struct house *h = p->house;
	char digest[17];
	int rc = p->at ? house_send(h) : 0;

	if (rc || !p->at)
		return rc;
	h->attempt = house_attempt();
	rc = house_begin(h, HOUSE_AUDIT_HOURS);
	snprintf(digest, sizeof(digest), "%016" PRIx64, p->at->sum);
	rc = rc ? rc : house_tape(h);
	rc = rc ? rc : house_small(h, p->at->number);
	rc = rc ? rc : house_word(h, digest);
	rc = rc ? rc : house_send(h);
	p->at = NULL;
	return rc;
}

static int begin_hour(struct audit_push *p, uint32_t number)
{
	const struct hour wanted = {.number = number}, *found;
	int rc = end_hour(p);

	/* What others add to the book meanwhile has its turn at the next push. */
	found = p->now.count ? bsearch(&wanted, p->now.items, p->now.count, sizeof(wanted), compare_hours)
			     : NULL;
	if (rc || !found || has_hour(&p->there, found))
		return rc;
	p->at = found;
	p->house->part = number;
	p->house->attempt = p->attempt;
	p->has_inserted = true;
	return house_begin(p->house, HOUSE_AUDIT);
}

static int insert_answer(void *context, const struct audit_answer *a)
{
	struct audit_push *p = context;
	uint32_t number = hour_number(a);
	int rc = 0;

	if (!p->at || p->at->number != number)
		rc = begin_hour(p, number);
	if (rc || !p->at)
		return rc;
	rc = put_answer(p->house, a);
	return rc ? rc : house_end_row(p->house);
}

static int put_answers(struct audit_push *p, struct audit_book *book)
{
	int rc = audit_book_answers(book, insert_answer, p, p->house->err);

	return rc ? rc : end_hour(p);
}

/* As with events, rows that somebody removed come once more. */
static int put_book(struct audit_push *p, struct audit_book *book, struct err *err)
{
	uint64_t rows = 0;
	int rc = read_account(p->house, &p->there, err);

	p->house->err = err;
	rc = rc ? rc : house_begin(p->house, HOUSE_AUDIT);
	rc = rc ? rc : audit_book_answers(book, add_to_sum, p, err);
	rc = rc ? rc : put_answers(p, book);
	if (rc || !p->has_inserted)
		return rc;
	rc = house_count(p->house, "audit", "", &rows, err);
	if (rc || rows >= p->answers)
		return rc;
	p->attempt = house_attempt();
	p->there.count = 0;
	return put_answers(p, book);
}

int house_put_audit(struct house *h, const char *tape_path, struct err *err)
{
	struct audit_push p = {.house = h};
	struct audit_book *book;
	int rc = audit_book_open(tape_path, &book, err);

	if (!rc && book)
		rc = put_book(&p, book, err);
	audit_book_close(book);
	free(p.there.items);
	free(p.now.items);
	return rc;
}
