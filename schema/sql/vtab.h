/*
 * vtab.h: what all virtual tables over a tape share.
 *
 * One SQLite module, "kubetape", serves every table: the second argument of CREATE VIRTUAL TABLE names a
 * `table_kind`, whose functions see tapes and `struct err` and only as much of SQLite as they must. To add a
 * table: write its kind in a file of its own, declare it below, put it into the list in vtab.c, and a section with its
 * columns into docs/tables.md, which a test compares. Tests that look into every table find it by themselves.
 *
 * All tables of one connection that name one tape share one open tape with its block cache. It is refreshed
 * when a statement opens a scan while no other scan is open, so that a statement sees one fixed view.
 */
#ifndef SCHEMA_SQL_VTAB_H
#define SCHEMA_SQL_VTAB_H

#include "schema/sql/sqlite_api.h"
#include "schema/sql/time_collation.h"
#include "schema/sql/walk_watch.h"
#include "schema/tape/audit_book.h"
#include "schema/tape/reader.h"

struct tape_handle {
	struct tape_handle *next;
	char *path;
	struct tape *tape;
	unsigned table_count, scan_count;
	uint64_t generation;   /* grows with each refresh that may have found something */
	struct tape_info info; /* as of that refresh */
	struct time_reader *times;
	/* Up to which event it is known whether times ever step back; see event_plan.c. */
	uint64_t time_checked_seq;
	int64_t time_checked_ns;
	bool time_steps_back;
	char remark[POSITION_REMARK_BYTES]; /* of a position that a statement named; "" none */
	struct audit_book *book;            /* NULL: the tape has none */
	uint64_t claim_seq;                 /* of the event that was asked about last */
	int has_claim;
	struct audit_claim claim;
};

/* One virtual table of a connection. */
struct table {
	sqlite3_vtab base;
	const struct table_kind *kind;
	struct tape_handle *handle;
	void *cache; /* of the kind's, freed by its drop_cache */
	uint64_t cache_generation;
};

/* One walk over a table; each kind embeds it first in a struct of its own. All zero but base when opened. */
struct scan {
	sqlite3_vtab_cursor base;
	bool at_end;
	int64_t row_id;
};

struct table_kind {
	const char *name;
	const char *summary; /* what a row is, for people */
	const char *columns; /* as between the brackets of CREATE TABLE; or NULL, and declare gives them */
	char *(*declare)(const struct table_kind *kind); /* to be freed by sqlite3_free */
	size_t scan_bytes;
	/* Fills SQLite's answer (xBestIndex). SQLITE_OK, or SQLITE_CONSTRAINT for "not with these". */
	int (*plan)(struct table *t, sqlite3_index_info *info, struct err *err);
	/* Begins a walk at its first row, or sets at_end. May be called again and again. */
	int (*filter)(struct scan *s, const char *plan, int plan_flags, sqlite3_value **args, int arg_count,
		struct err *err);
	int (*next)(struct scan *s, struct err *err); /* to the next row, or sets at_end */
	int (*column)(struct scan *s, sqlite3_context *context, int column, struct err *err);
	double (*share)(const struct scan *s); /* of the walk that is done, 0 to 1; may be NULL */
	void (*reset)(struct scan *s);         /* releases what filter acquired */
	void (*drop_cache)(struct table *t);   /* may be NULL */
	const void *detail;                    /* of the kind's own */
};

static inline struct table *scan_table(const struct scan *s)
{
	return (struct table *)s->base.pVtab;
}

static inline struct tape *scan_tape(const struct scan *s)
{
	return scan_table(s)->handle->tape;
}

extern const struct table_kind events_table, objects_table, changes_table, audit_table;
extern const struct table_kind streams_table, connections_table, gaps_table, coverage_table, missed_table;
extern const struct table_kind marks_table, bookmarks_table, documents_table, segments_table;
extern const struct table_kind logs_table;

/* The kinds in the order in which kubetape_open makes them; NULL past the end. */
const struct table_kind *table_kind_at(size_t index);

/* Says how the walk that begins will read objects, so that enough of them and not more is kept. */
void scan_expects(const struct scan *s, bool stored_order);

/* Registers the module; `db` then owns what belongs to it. */
int vtab_register(sqlite3 *db);

/* Results. Text is copied. */
void result_slice(sqlite3_context *context, struct slice text);
void result_string(sqlite3_context *context, const char *text); /* NULL gives NULL */
void result_time(sqlite3_context *context, int64_t time_ns);

#endif
