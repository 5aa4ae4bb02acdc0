/*
 * reader_ids.c: which ids the rows of a sealed segment have, see reader_internal.h. It is looked up while the segment is open
 * anyway: to open one again costs more than most of its tables, of which many have no row.
 */
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

/* Those of which rows are read segment by segment. */
#define FIRST_TABLE TABLE_CONNECTION
#define LAST_TABLE  TABLE_DOCUMENT

/* "SELECT (SELECT min(id) FROM gap), (SELECT max(id) FROM gap), ...": each looks at one end of its table. */
static char *ids_sql(void)
{
	char *sql = xstrdup("SELECT ");

	for (enum table table = FIRST_TABLE; table <= LAST_TABLE; table++) {
		const char *name = table_formats[table].name;
		char *longer = xasprintf("%s%s(SELECT min(id) FROM %s), (SELECT max(id) FROM %s)", sql,
			table == FIRST_TABLE ? "" : ", ", name, name);

		free(sql);
		sql = longer;
	}
	return sql;
}

static struct id_range range_of(sqlite3_stmt *row, int column)
{
	struct id_range ids = no_ids();

	if (sqlite3_column_type(row, column) != SQLITE_NULL) {
		ids.lowest = sqlite3_column_int64(row, column);
		ids.highest = sqlite3_column_int64(row, column + 1);
	}
	return ids;
}

void reader_note_ids(struct tape_segment *s, sqlite3 *db)
{
	char *sql = ids_sql();
	sqlite3_stmt *row;
	int rc = segment_prepare(db, sql, &row, NULL);

	free(sql);
	if (rc)
		return;
	s->knows_ids = sqlite3_step(row) == SQLITE_ROW;
	for (enum table table = FIRST_TABLE; s->knows_ids && table <= LAST_TABLE; table++)
		s->ids[table] = range_of(row, 2 * (table - FIRST_TABLE));
	sqlite3_finalize(row);
}

const struct id_range *reader_ids(const struct tape *t, size_t segment, enum table table)
{
	const struct tape_segment *s = &t->segments[segment];

	return s->knows_ids && table >= FIRST_TABLE && table <= LAST_TABLE ? &s->ids[table] : NULL;
}
