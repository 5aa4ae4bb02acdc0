/* columns.c: see columns.h. */
#include "schema/tape/columns.h"

#include "schema/base/hex.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define UUID_TEXT_BYTES 36
#define UUID_BYTES      16

struct columns {
	struct buf bytes[COLUMN_COUNT];
	bool full;
	char number[24];
};

struct columns *columns_new(void)
{
	struct columns *c = xcalloc(1, sizeof(*c));

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		buf_init(&c->bytes[i], LIMIT_INDEX_BYTES);
	return c;
}

void columns_free(struct columns *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		buf_release(&c->bytes[i]);
	free(c);
}

static void put_bytes(struct columns *c, enum column column, const void *bytes, size_t len)
{
	if (buf_append(&c->bytes[column], bytes, len, NULL))
		c->full = true;
}

void column_put(struct columns *c, enum column column, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	put_bytes(c, column, bytes, varint_put(bytes, value));
}

void column_put_parts(
	struct columns *c, const struct text_columns *columns, struct slice previous, struct slice text)
{
	size_t shared = 0;

	while (shared < previous.len && shared < text.len && previous.ptr[shared] == text.ptr[shared])
		shared++;
	column_put(c, columns->shared, shared);
	column_put(c, columns->length, text.len - shared);
	put_bytes(c, columns->bytes, text.ptr + shared, text.len - shared);
}

void column_put_text(struct columns *c, enum column column, struct slice previous, struct slice text)
{
	column_put_parts(c, &(struct text_columns){column, column, column}, previous, text);
}

/* Capital letters would not come back as they were. */
static int small_hex_digit(char c)
{
	return c >= 'A' && c <= 'F' ? -1 : hex_digit(c);
}

/* 8-4-4-4-12 lower-case hexadecimal digits, as the API server writes UIDs. */
static bool uuid_to_bytes(struct slice text, uint8_t to[UUID_BYTES])
{
	size_t n = 0;

	if (text.len != UUID_TEXT_BYTES)
		return false;
	for (size_t i = 0; i < UUID_TEXT_BYTES; i += 2) {
		int high, low;

		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (text.ptr[i] != '-')
				return false;
			i++;
		}
		high = small_hex_digit(text.ptr[i]);
		low = small_hex_digit(text.ptr[i + 1]);
		if (high < 0 || low < 0)
			return false;
		to[n++] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void uuid_to_text(const uint8_t from[UUID_BYTES], char to[UUID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
}

void column_put_uid(struct columns *c, enum column column, struct slice uid)
{
	uint8_t bytes[UUID_BYTES];

	if (uuid_to_bytes(uid, bytes)) {
		column_put(c, column, 0);
		put_bytes(c, column, bytes, sizeof(bytes));
		return;
	}
	column_put(c, column, uid.len + 1);
	put_bytes(c, column, uid.ptr, uid.len);
}

struct slice column_number_text(struct columns *c, uint64_t number)
{
	int n = snprintf(c->number, sizeof(c->number), "%llu", (unsigned long long)number);

	return (struct slice){c->number, (size_t)n};
}

static int put_varint(struct buf *to, uint64_t value, struct err *err)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	return buf_append(to, bytes, varint_put(bytes, value), err);
}

/* What no index began with before there were such ones: all have at least one event, and compact ones a unit above 0. */
static int mark_compact(struct buf *to, uint64_t unit, struct err *err)
{
	int rc;

	if ((rc = put_varint(to, 0, err)) || (rc = put_varint(to, 0, err)))
		return rc;
	return put_varint(to, unit, err);
}

int columns_write(struct columns *c, size_t events, size_t objects, size_t blocks, uint64_t unit,
	struct buf *to, struct err *err)
{
	size_t count = unit ? COLUMN_COUNT : COLUMN_COUNT_PLAIN;
	int rc = 0;

	if (c->full)
		return err_set(err, ERR_TOO_LARGE, "index of an extent exceeds %u bytes", LIMIT_INDEX_BYTES);
	if ((unit && (rc = mark_compact(to, unit, err))) || (rc = put_varint(to, events, err)) ||
		(rc = put_varint(to, objects, err)) || (rc = put_varint(to, blocks, err)))
		return rc;
	for (size_t i = 0; i < count; i++) {
		rc = put_varint(to, c->bytes[i].len, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < count; i++) {
		rc = buf_append(to, c->bytes[i].ptr, c->bytes[i].len, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* A column has at least one byte for each of its values, which bounds what a damaged count may claim. */
static bool counts_are_possible(const struct column_reader *r, const uint64_t lengths[COLUMN_COUNT])
{
	return r->blocks <= lengths[COLUMN_BLOCK] && r->objects <= lengths[COLUMN_RUN] &&
	       r->events <= lengths[COLUMN_PLACE] && r->events <= lengths[COLUMN_SEQ];
}

/* Returns how many columns there are. */
static size_t get_form(struct varint_reader *head, struct column_reader *r)
{
	static const struct text_columns together = {COLUMN_NAME, COLUMN_NAME, COLUMN_NAME};
	static const struct text_columns apart = {COLUMN_NAME, COLUMN_NAME_LENGTH, COLUMN_NAME_BYTES};

	r->unit = 1;
	r->names = together;
	r->events = varint_get(head);
	if (r->events)
		return COLUMN_COUNT_PLAIN;
	r->unit = varint_get(head);
	r->by_object = r->unit == 0;
	if (r->by_object)
		r->unit = varint_get(head);
	r->names = apart;
	r->events = varint_get(head);
	return COLUMN_COUNT;
}

int column_reader_begin(struct slice index, struct column_reader *ret, struct err *err)
{
	struct varint_reader head = {
		(const uint8_t *)index.ptr, (const uint8_t *)index.ptr + index.len, false};
	uint64_t lengths[COLUMN_COUNT] = {0};
	struct column_reader r = {0};
	size_t count = get_form(&head, &r);

	r.objects = varint_get(&head);
	r.blocks = varint_get(&head);
	for (size_t i = 0; i < count; i++)
		lengths[i] = varint_get(&head);
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (head.failed || lengths[i] > (uint64_t)(head.end - head.at))
			return err_set(
				err, ERR_CORRUPT, "index of an extent: column %zu ends after the index", i);
		r.columns[i] = (struct varint_reader){head.at, head.at + lengths[i], false};
		head.at += lengths[i];
	}
	if (head.at != head.end || !r.unit || !counts_are_possible(&r, lengths))
		return err_set(err, ERR_CORRUPT, "index of an extent: counts do not fit the columns");
	*ret = r;
	return 0;
}

static bool columns_take(struct varint_reader *r, void *to, uint64_t len)
{
	if (len > (uint64_t)(r->end - r->at)) {
		r->failed = true;
		return false;
	}
	memcpy(to, r->at, len);
	r->at += len;
	return true;
}

struct slice column_get_parts(
	struct column_reader *r, const struct text_columns *columns, struct slice previous, char *scratch)
{
	struct varint_reader *head = &r->columns[columns->shared], *from = &r->columns[columns->bytes];
	uint64_t shared = varint_get(head), rest = varint_get(&r->columns[columns->length]);

	if (head->failed || r->columns[columns->length].failed || shared > previous.len ||
		rest > LIMIT_NAME_BYTES || shared + rest > LIMIT_NAME_BYTES) {
		from->failed = true;
		return (struct slice){NULL, 0};
	}
	if (shared)
		memcpy(scratch, previous.ptr, shared);
	if (!columns_take(from, scratch + shared, rest))
		return (struct slice){NULL, 0};
	return (struct slice){scratch, shared + rest};
}

struct slice column_get_text(
	struct column_reader *r, enum column column, struct slice previous, char *scratch)
{
	return column_get_parts(r, &(struct text_columns){column, column, column}, previous, scratch);
}

struct slice column_get_uid(struct column_reader *r, enum column column, char *scratch)
{
	struct varint_reader *from = &r->columns[column];
	uint64_t form = varint_get(from);
	uint8_t bytes[UUID_BYTES];

	if (form > LIMIT_NAME_BYTES + 1)
		from->failed = true;
	if (from->failed ||
		!columns_take(from, form ? (void *)scratch : (void *)bytes, form ? form - 1 : UUID_BYTES))
		return (struct slice){NULL, 0};
	if (form)
		return (struct slice){scratch, form - 1};
	uuid_to_text(bytes, scratch);
	return (struct slice){scratch, UUID_TEXT_BYTES};
}

bool column_reader_done(const struct column_reader *r)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (r->columns[i].failed || r->columns[i].at != r->columns[i].end)
			return false;
	}
	return true;
}
