/*
 * fuzz_sql.c: any SQL over any tape is answered, or refused with a sentence, and changes nothing. Input: a
 * number of bytes, as many that say how the tape is changed (crafted_tape.h), then SQL.
 */
#include "schema/base/clock.h"
#include "schema/sql/session.h"
#include "schema/tape/codec.h"
#include "tests/fuzz/crafted_tape.h"

#include <sqlite3.h>

#define ROWS_MAX 500
#define LIMIT_NS (300 * NS_PER_MS)
#define HEAP_MAX (200 << 20)

static int on_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	(void)context, (void)err;
	for (size_t i = 0; i < count; i++)
		fuzz_demand(names[i]);
	return 0;
}

static int on_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	unsigned *rows = context;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (values[i].type == SQL_TEXT || values[i].type == SQL_BLOB)
			sum += codec_hash(values[i].bytes); /* every byte can be read */
	}
	if (++*rows > ROWS_MAX + (sum == 1))
		return err_set(err, ERR_STOPPED, "enough rows");
	return 0;
}

static int on_end(void *context, struct err *err)
{
	(void)context, (void)err;
	return 0;
}

static void ask(const char *tape_path, struct slice sql)
{
	unsigned rows = 0;
	struct sql_sink sink = {on_begin, on_row, on_end, &rows};
	struct sql_session *s;
	struct err err = {0};

	if (sql_session_open(tape_path, &s, &err)) {
		fuzz_demand(err.code < 0 && err.text[0]);
		return;
	}
	sql_session_set(s, "a", "u3");
	sql_session_limit(s, LIMIT_NS);
	if (sql_session_run(s, sql, &sink, &err))
		fuzz_demand(err.code < 0 && err.text[0]);
	sql_session_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const uint8_t unchanged[2];
	const char *tape_path;
	uint64_t before;
	size_t head;

	if (len < 1 || len - 1 < bytes[0])
		return 0;
	head = bytes[0];
	sqlite3_hard_heap_limit64(HEAP_MAX);
	tape_path = crafted_tape(head < 2 ? unchanged : bytes + 1, head < 2 ? 2 : head);
	before = crafted_tape_hash();
	ask(tape_path, (struct slice){(const char *)bytes + 1 + head, len - 1 - head});
	fuzz_demand(crafted_tape_hash() == before);
	return 0;
}
