/*
 * event_plan.h: the columns that every table of events has, and the conditions on them that the tape itself
 * can answer (push-down).
 *
 * Pushed down: seq, time, time_ns and rv (= and ranges), apigroup, version, resource, namespace, name, uid
 * (=), and ORDER BY seq in both directions; ORDER BY time too on a tape whose times never step back, which is
 * looked up once. What is pushed down narrows the walk; SQLite still checks every row, so a bound may be
 * wider than the condition but never narrower.
 *
 * A plan is text that EXPLAIN QUERY PLAN shows, and that people can read: a word for each condition, column
 * and operator, and after them in brackets how the events are walked: `resource= rv>= (by seq)`.
 */
#ifndef SCHEMA_SQL_EVENT_PLAN_H
#define SCHEMA_SQL_EVENT_PLAN_H

#include "schema/sql/vtab.h"

enum event_column {
	COLUMN_SEQ,
	COLUMN_TIME,
	COLUMN_TIME_NS,
	COLUMN_ORIGIN,
	COLUMN_TYPE,
	COLUMN_APIGROUP,
	COLUMN_VERSION,
	COLUMN_RESOURCE,
	COLUMN_NAMESPACE,
	COLUMN_NAME,
	COLUMN_UID,
	COLUMN_RV,
	COLUMN_BYTES,
	COLUMN_OBJECT,
	COLUMN_OF_KIND, /* the first column of the kind's own */
};

/* Up to rv, and up to object; `time` compares as a time whatever its form (time_collation.h), `rv` as a
 * number (rv_collation.h). */
#define EVENT_NAME_COLUMNS                                                                                   \
	"seq INTEGER, time TEXT COLLATE kubetape_time, time_ns INTEGER, origin TEXT, type TEXT, "            \
	"apigroup TEXT, version TEXT, resource TEXT, namespace TEXT, name TEXT, uid TEXT, "                  \
	"rv TEXT COLLATE kubetape_rv"
#define EVENT_COLUMNS EVENT_NAME_COLUMNS ", bytes INTEGER, object TEXT"

/* Bits of the plan's flags: how to walk. */
enum event_walk {
	WALK_BACKWARD = 1,
	WALK_STORED = 2,
	WALK_BY_TIME = 4, /* the order of seq was taken for the order of time */
	WALK_NUMBERS = 8, /* nothing but seq is asked for, and seq has no holes */
};

/* How many events the tape has, for plans. */
uint64_t event_plan_count(struct table *t);

/* Fills usage, order, cost, idxStr and idxNum. `reads_objects`: whether walking costs a decode a row.
 * `input`: a hidden column, with its name, whose `= value` the walk gets unchanged; 0 for none. Returns
 * SQLITE_OK or SQLITE_CONSTRAINT. */
int event_plan_make(
	struct table *t, sqlite3_index_info *info, bool reads_objects, int input, const char *input_name);

/* One condition of a plan. */
struct plan_word {
	struct slice column;
	char op; /* '=' '>' '<', 'g' and 'l' for >= and <= */
};

/* Appends the condition to the plan, which is the caller's to free with sqlite3_free; returns the new one. */
char *plan_word_add(char *plan, const char *column, unsigned char op);

/* The next word of the plan, or false after the last. */
bool plan_word_next(const char **plan, struct plan_word *ret);

/* The name of a column that all tables of events have. */
const char *event_column_name(int column);

/* True if condition i may be used and compares text bytewise. */
bool event_plan_usable_text(sqlite3_index_info *info, int i);

/* True if condition i may be used and compares times, in a way that a plan has a word for. */
bool event_plan_usable_time(sqlite3_index_info *info, int i);

/* True if condition i may be used in a way that a plan has a word for. */
bool event_plan_usable_number(sqlite3_index_info *info, int i);

/* Whether a column with this name holds nanoseconds since 1970. */
bool event_plan_is_ns(struct slice column);

/* ERR_USAGE for a text that is compared with nanoseconds: it would be after every number. */
int event_plan_check_ns(struct slice column, sqlite3_value *value, struct err *err) MUST_CHECK;

/* Reads a value that is compared with a time: 1, 0 for one that is never equal, less or more (NULL), or
 * ERR_USAGE. */
int event_plan_read_time(
	const struct time_reader *times, sqlite3_value *value, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* The conditions of one walk. */
struct event_query {
	struct tape_filter filter; /* borrows from texts */
	bool nothing;              /* no event can match */
	uint8_t *wanted;           /* by resource id, NULL if filter says it all */
	uint32_t wanted_end;       /* ids from here on are not wanted */
	char *texts[5];
};
/* ERR_USAGE for a text that is compared with a time and is not one. */
int event_query_make(struct tape_handle *h, const char *plan, sqlite3_value **args, int arg_count,
	struct event_query *ret, struct err *err) MUST_CHECK;
void event_query_release(struct event_query *q);

/* Opens the walk that plan flags and query ask for; NULL in *ret when nothing can match. ERR_BUSY if the
 * tape has grown so that another plan is needed. */
int event_query_open(struct tape_handle *h, const struct event_query *q, int walk_flags,
	struct tape_cursor **ret, struct err *err) MUST_CHECK;

/* The next event that the query wants: 1, 0 at the end, negative on failure. */
int event_query_next(
	const struct event_query *q, struct tape_cursor *c, struct event *ret, struct err *err) MUST_CHECK;

/* Any column of `e` but the object. */
void event_result(sqlite3_context *context, const struct tape *t, const struct event *e, int column);

/* The same for an event whose resource is at hand. */
void event_result_of(
	sqlite3_context *context, const struct tape_resource *r, const struct event *e, int column);

#endif
