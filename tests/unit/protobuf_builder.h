/* protobuf_builder.h: protobuf messages made field by field, for tests. */
#ifndef TESTS_UNIT_PROTOBUF_BUILDER_H
#define TESTS_UNIT_PROTOBUF_BUILDER_H

#include "schema/base/buf.h"
#include "tests/unit/unit.h"

#define JSON_MAX (64u << 20)

static struct err err;

/* A message under construction. Messages are made from the inside out, so a few of them must live at once. */
struct message {
	struct buf bytes;
};

static inline void put_varint(struct message *m, uint64_t value)
{
	do {
		unsigned char byte = (unsigned char)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		ck_assert_int_eq(buf_append(&m->bytes, &byte, 1, &err), 0);
		value >>= 7;
	} while (value);
}

static inline void put_int(struct message *m, unsigned number, int64_t value)
{
	put_varint(m, (uint64_t)number << 3);
	put_varint(m, (uint64_t)value);
}

static inline void put_bytes(struct message *m, unsigned number, struct slice bytes)
{
	put_varint(m, (uint64_t)number << 3 | 2);
	put_varint(m, bytes.len);
	ck_assert_int_eq(buf_append(&m->bytes, bytes.ptr, bytes.len, &err), 0);
}

static inline void put_text(struct message *m, unsigned number, const char *text)
{
	put_bytes(m, number, slice_of(text));
}

/* Puts the inner message as a field of the outer one and empties it. */
static inline void put_message(struct message *outer, unsigned number, struct message *inner)
{
	put_bytes(outer, number, buf_slice(&inner->bytes));
	buf_clear(&inner->bytes);
}

static inline struct message message(void)
{
	struct message m;

	buf_init(&m.bytes, JSON_MAX);
	return m;
}

#endif
