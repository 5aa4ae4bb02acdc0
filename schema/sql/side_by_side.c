/* side_by_side.c: see side_by_side.h. SQLite moves conditions of a statement into each part of such a view, so that the tapes
 * answer them as they do alone; a position (`at`) is one of them, and stands in the view as a column for that. */
#include "schema/sql/side_by_side.h"

#include "schema/sql/extension.h"

#include <stdlib.h>

#define VIEW_BYTES (16u << 20)

static int run(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return err_set(err, ERR_FAILED, "%s", sqlite3_errmsg(db));
}

static int open_one(sqlite3 *db, const struct sql_tape *tape, size_t number, struct err *err)
{
	char *sql = sqlite3_mprintf("SELECT kubetape_open(%Q, 'tape%u_')", tape->path, (unsigned)number);
	int rc = run(db, sql, err);

	sqlite3_free(sql);
	return rc;
}

/* *ret_number, from 1, is the first tape that can be asked. If none can, the error is the problem of the first. */
static int open_each(sqlite3 *db, struct sql_tape *tapes, size_t count, size_t *ret_number, struct err *err)
{
	*ret_number = 0;
	for (size_t i = 0; i < count; i++) {
		struct err problem = {0};

		if (!tapes[i].problem && open_one(db, &tapes[i], i + 1, &problem))
			tapes[i].problem = xstrdup(problem.text);
		if (!tapes[i].problem && !*ret_number)
			*ret_number = i + 1;
	}
	return *ret_number ? 0 : err_set(err, ERR_FAILED, "'%s': %s", tapes->name, tapes->problem);
}

/* The columns of a table that a view of it has: those that `*` gives, and the positions. The caller frees. */
static int list_columns(sqlite3 *db, const char *table, size_t number, char **ret, struct err *err)
{
	sqlite3_stmt *stmt;
	char *sql = sqlite3_mprintf(
		"SELECT group_concat('\"' || name || '\"', ', ') FROM "
		"pragma_table_xinfo('tape%u_%q') WHERE hidden <> 1 OR name IN ('at', 'at_seq', 'at_rv')",
		(unsigned)number, table);
	int rc = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) || sqlite3_step(stmt) != SQLITE_ROW)
		rc = err_set(err, ERR_FAILED, "%s", sqlite3_errmsg(db));
	else
		*ret = xstrdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return rc;
}

static int append_part(struct buf *view, const char *table, const char *columns, const struct sql_tape *tape,
	size_t number, bool is_first, struct err *err)
{
	char *part = sqlite3_mprintf("%s SELECT %Q AS cluster, %s FROM tape%u_%s",
		is_first ? "" : " UNION ALL", tape->cluster, columns, (unsigned)number, table);
	int rc = buf_append(view, part, strlen(part), err);

	sqlite3_free(part);
	return rc;
}

static int make_view(sqlite3 *db, const char *table, const struct sql_tape *tapes, size_t count, size_t first,
	struct err *err)
{
	char *columns = NULL;
	struct buf view;
	int rc = list_columns(db, table, first, &columns, err);

	buf_init(&view, VIEW_BYTES);
	rc = rc ? rc : buf_printf(&view, err, "CREATE TEMP VIEW %s AS", table);
	for (size_t i = first - 1; i < count && !rc; i++) {
		if (!tapes[i].problem)
			rc = append_part(&view, table, columns, &tapes[i], i + 1, i + 1 == first, err);
	}
	rc = rc ? rc : buf_append(&view, "", 1, err);
	rc = rc ? rc : run(db, view.ptr, err);
	buf_release(&view);
	free(columns);
	return rc;
}

static int list_tapes(sqlite3 *db, const struct sql_tape *tapes, size_t count, struct err *err)
{
	int rc = run(db, "CREATE TEMP TABLE tapes(cluster TEXT, tape TEXT, problem TEXT)", err);

	for (size_t i = 0; i < count && !rc; i++) {
		char *sql = sqlite3_mprintf("INSERT INTO tapes VALUES(%Q, %Q, %Q)", tapes[i].cluster,
			tapes[i].name, tapes[i].problem);

		rc = run(db, sql, err);
		sqlite3_free(sql);
	}
	return rc;
}

int side_by_side_open(sqlite3 *db, struct sql_tape *tapes, size_t count, struct err *err)
{
	const char *table, *summary;
	size_t first;
	int rc;

	if (count > SIDE_BY_SIDE_MAX)
		return err_set(err, ERR_TOO_LARGE, "found %zu tapes, at most %d can be asked at once", count,
			SIDE_BY_SIDE_MAX);
	rc = open_each(db, tapes, count, &first, err);
	for (size_t i = 0; !rc && (table = sql_table_name(i, &summary)); i++)
		rc = make_view(db, table, tapes, count, first, err);
	return rc ? rc : list_tapes(db, tapes, count, err);
}

int side_by_side_note(sqlite3 *db, size_t number, const char *problem, struct err *err)
{
	char *sql =
		sqlite3_mprintf("UPDATE tapes SET problem = %Q WHERE rowid = %u", problem, (unsigned)number);
	int rc = run(db, sql, err);

	sqlite3_free(sql);
	return rc;
}
