/* test_row_store.c: rows of a table, in memory and, when they are many, in a file. */
#include "schema/sql/row_store.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define TEXT_BYTES 1000

static void make_text(char text[TEXT_BYTES + 1], size_t row)
{
	memset(text, 'a' + (int)(row % 26), TEXT_BYTES);
	text[TEXT_BYTES] = 0;
	snprintf(text, TEXT_BYTES, "%zu", row);
	text[strlen(text)] = '.';
}

static struct row_store *make_store(size_t rows)
{
	struct row_store *s = row_store_new(3);
	char text[TEXT_BYTES + 1];

	for (size_t i = 0; i < rows; i++) {
		make_text(text, i);
		row_store_put(s, (struct cell){CELL_INTEGER, 0, (int64_t)i});
		row_store_put_text(s, slice_of(text));
		row_store_put(s, (struct cell){CELL_NULL, 0, 0});
	}
	return s;
}

static void check_row(struct row_view *v, const struct row_store *s, size_t row)
{
	char text[TEXT_BYTES + 1];
	struct err err;

	make_text(text, row);
	ck_assert_ok(row_view_seek(v, s, row, &err), &err);
	ck_assert_int_eq(row_view_cell(v, s, row, 0)->value, (int64_t)row);
	ck_assert_slice_eq(row_view_text(v, row_view_cell(v, s, row, 1)), text);
	ck_assert_int_eq(row_view_cell(v, s, row, 2)->kind, CELL_NULL);
}

static void check_store(size_t rows)
{
	struct row_store *s = make_store(rows);
	struct row_view v = {0}, other = {0};
	struct err err;

	ck_assert_ok(row_store_finish(s, &err), &err);
	ck_assert_uint_eq(row_store_count(s), rows);
	for (size_t i = 0; i < rows; i++) {
		check_row(&v, s, i);
		if (i % 997 == 0)
			check_row(&other, s, rows - 1 - i);
	}
	row_view_release(&v);
	row_view_release(&other);
	row_store_free(s);
}

START_TEST(row_store__gives_back_what_was_put)
{
	check_store(1);
	check_store(5000);
}
END_TEST

START_TEST(row_store__keeps_in_a_file_what_is_too_much_for_memory)
{
	check_store(3 * ROW_STORE_MEMORY / TEXT_BYTES / 2);
}
END_TEST

START_TEST(row_store__tells_a_text_that_is_too_large)
{
	struct row_store *s = row_store_new(1);
	struct err err;

	row_store_put_text(s, (struct slice){"", (size_t)1 << 30});
	row_store_put(s, (struct cell){CELL_NULL, 0, 0});
	ck_assert_int_eq(row_store_finish(s, &err), ERR_TOO_LARGE);
	row_store_free(s);
}
END_TEST

UNIT_MAIN("row store", row_store__gives_back_what_was_put,
	row_store__keeps_in_a_file_what_is_too_much_for_memory, row_store__tells_a_text_that_is_too_large)
