/* text_length.c: see text_length.h. */
#include "schema/sql/text_length.h"

#include "schema/sql/sqlite_api.h"

#define EACH_BYTE UINT64_C(0x0101010101010101)

static unsigned is_continuation(char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Of eight bytes: those with bit 7 and without bit 6, then the sum of all. */
static size_t continuations(uint64_t eight)
{
	return ((eight >> 7 & ~eight >> 6 & EACH_BYTE) * EACH_BYTE) >> 56;
}

size_t text_length_of(struct slice text)
{
	const char *nul = text.len ? memchr(text.ptr, 0, text.len) : NULL;
	size_t len = nul ? (size_t)(nul - text.ptr) : text.len, count = len, i = 0;

	for (; i + 32 <= len; i += 32) {
		uint64_t w[4];

		memcpy(w, text.ptr + i, 32);
		if ((w[0] | w[1] | w[2] | w[3]) & EACH_BYTE << 7)
			count -= continuations(w[0]) + continuations(w[1]) + continuations(w[2]) +
				 continuations(w[3]);
	}
	for (; i < len; i++)
		count -= is_continuation(text.ptr[i]);
	return count;
}

void text_length(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice text;

	(void)argc;
	switch (sqlite3_value_type(argv[0])) {
	case SQLITE_NULL: return;
	case SQLITE_BLOB: sqlite3_result_int(context, sqlite3_value_bytes(argv[0])); return;
	default: /* numbers by their text */
		text.ptr = (const char *)sqlite3_value_text(argv[0]);
		text.len = text.ptr ? (size_t)sqlite3_value_bytes(argv[0]) : 0;
		sqlite3_result_int64(context, (sqlite3_int64)text_length_of(text));
	}
}
