/*
 * test_tape_values.c: an open segment has no sums of its pages, so any value in it may be any other. One
 * after the other is: a reader has rows or a sentence, and what is recovered is sound.
 */
#include "schema/sql/extension.h"
#include "schema/sql/session.h"
#include "schema/tape/format.h"
#include "tests/unit/recover_check.h"

#include <sqlite3.h>
#include <sys/stat.h>

static const char *const values[] = {"NULL", "-1", "9223372036854775807", "'x'"};

struct subject {
	struct model m;
	char *segment; /* path of the file; its bytes before any was changed */
	char *bytes;
	size_t size;
	unsigned cases;
};

static void add_every_kind_of_row(struct tape_writer *w)
{
	struct tape_gap gap = {
		.stream = 1, .from_rv = "7", .to_rv = "9", .reason = "rst", .how_ended = "relist"};
	struct tape_missed missed = {
		.change = "added", .resource = 1, .name = slice_of("a"), .rv = slice_of("8")};
	struct err err;

	add_rows(w);
	ck_assert_ok(tape_writer_gap(w, &gap, &err), &err);
	missed.gap = gap.id;
	ck_assert_ok(tape_writer_missed(w, &missed, &err), &err);
}

static void begin(struct subject *s)
{
	static const struct tape_writer_options options = {.extent_bytes = 20000};
	struct tape_writer *w;
	struct stat st;
	FILE *file;

	model_init(&s->m, 5);
	w = model_open(&s->m, &options);
	add_every_kind_of_row(w);
	model_steps(&s->m, w, 20, 10);
	tape_writer_abandon(w);
	s->segment = xasprintf("%s/open-000001.db", s->m.path);
	ck_assert_int_eq(stat(s->segment, &st), 0);
	s->size = (size_t)st.st_size;
	s->bytes = xmalloc(s->size);
	file = fopen(s->segment, "re");
	ck_assert_uint_eq(fread(s->bytes, 1, s->size, file), s->size);
	fclose(file);
}

static void put_back(const struct subject *s)
{
	FILE *file = fopen(s->segment, "we");

	ck_assert_uint_eq(fwrite(s->bytes, 1, s->size, file), s->size);
	ck_assert_int_eq(fclose(file), 0);
}

static void end(struct subject *s)
{
	free(s->segment);
	free(s->bytes);
	model_release(&s->m);
}

static int ignore_row(void *context, const struct sql_value *row, size_t count, struct err *err)
{
	(void)context, (void)row, (void)count, (void)err;
	return 0;
}

static void ask(const struct subject *s, const char *change)
{
	const struct sql_sink sink = {NULL, ignore_row, NULL, NULL};
	struct sql_session *session;
	struct err err = {0};
	const char *table, *summary;

	if (sql_session_open(s->m.path, &session, &err)) {
		ck_assert_msg(*err.text, "no sentence: %s", change);
		return;
	}
	for (size_t i = 0; (table = sql_table_name(i, &summary)); i++) {
		char *statement = xasprintf("SELECT * FROM %s", table);

		err = (struct err){0};
		if (sql_session_run(session, slice_of(statement), &sink, &err))
			ck_assert_msg(*err.text, "no sentence: %s, %s", change, statement);
		free(statement);
	}
	sql_session_close(session);
}

static int note_damage(void *context, const struct tape_damage *damage)
{
	(void)context;
	ck_assert_str_ne(damage->what, "");
	return 0;
}

static void check(struct subject *s, const char *change)
{
	struct tape_verify_options options = {.damaged = note_damage};
	struct tape_recover_options none = {0};
	struct tape_verify_result verified;
	struct tape_recover_result recovered;
	char *to = xasprintf("%s/recovered-%u", s->m.dir, ++s->cases);
	struct err err = {0};

	if (tape_verify(s->m.path, &options, &verified, &err))
		ck_assert_msg(*err.text, "no sentence: verify, %s", change);
	ask(s, change);
	if (tape_recover(s->m.path, to, &none, &recovered, &err) == 0)
		check_sound(to);
	else
		ck_assert_msg(*err.text, "no sentence: recover, %s", change);
	free(to);
}

/* False when the column does not take the value. */
static bool change(const struct subject *s, const char *sql)
{
	sqlite3 *db;
	int code;

	put_back(s);
	ck_assert_int_eq(sqlite3_open(s->segment, &db), SQLITE_OK);
	code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
	return code == SQLITE_OK;
}

static void try_column(struct subject *s, const char *table, const char *column)
{
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		char *sql = xasprintf("UPDATE %s SET \"%s\" = %s WHERE rowid = (SELECT min(rowid) FROM %s)",
			table, column, values[i], table);

		if (change(s, sql))
			check(s, sql);
		free(sql);
	}
}

START_TEST(tape__stands_any_value_in_any_column)
{
	struct subject s;
	sqlite3_stmt *columns;
	sqlite3 *db;

	begin(&s);
	ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (int i = 0; i < TABLE_COUNT; i++) {
		char *sql =
			xasprintf("CREATE TABLE %s (%s)", table_formats[i].name, table_formats[i].columns);

		ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		free(sql);
	}
	ck_assert_int_eq(sqlite3_prepare_v2(db,
				 "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
				 "WHERE m.type = 'table'",
				 -1, &columns, NULL),
		SQLITE_OK);
	while (sqlite3_step(columns) == SQLITE_ROW)
		try_column(&s, (const char *)sqlite3_column_text(columns, 0),
			(const char *)sqlite3_column_text(columns, 1));
	sqlite3_finalize(columns);
	sqlite3_close(db);
	end(&s);
}
END_TEST

START_TEST(tape__stands_the_loss_of_any_table)
{
	struct subject s;

	begin(&s);
	for (int i = 0; i < TABLE_COUNT; i++) {
		char *sql = xasprintf("DROP TABLE %s", table_formats[i].name);

		ck_assert(change(&s, sql));
		check(&s, sql);
		free(sql);
	}
	end(&s);
}
END_TEST

UNIT_MAIN("tape values", tape__stands_any_value_in_any_column, tape__stands_the_loss_of_any_table)
