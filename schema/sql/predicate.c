/*
 * predicate.c: see predicate.h. The event at hand is a virtual table of one row with the columns of `events`,
 * so that names, affinities and the collation of times are the same; SQLite asks only for the columns that
 * the expression reads.
 */
#include "schema/sql/predicate.h"

#include "schema/base/clock.h"
#include "schema/sql/event_plan.h"
#include "schema/sql/sandbox.h"

#include <stdlib.h>

/* Of one value: the progress handler is not called within a function that makes it. */
#define TEXT_BYTES_MAX (8 << 20)
#define PROGRESS_STEPS 1000 /* some ten microseconds of SQLite's virtual machine */

struct predicate {
	sqlite3 *db;
	sqlite3_stmt *statement;
	const struct tape_resource *resource;
	const struct event *event;
	struct slice object;
	int64_t limit_ns, deadline_ns;
	bool timed_out;
	struct time_reader times;
};

struct event_table {
	sqlite3_vtab base;
	const struct predicate *predicate;
};

struct event_cursor {
	sqlite3_vtab_cursor base;
	bool at_end;
};

/* ---- the table ---- */

static int table_connect(
	sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_message)
{
	struct event_table *t;
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE event (" EVENT_COLUMNS ")");

	(void)argc, (void)argv, (void)ret_message;
	if (rc != SQLITE_OK)
		return rc;
	t = xcalloc(1, sizeof(*t));
	t->predicate = context;
	*ret = &t->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

/* What the time is compared with, where it is a constant. */
static int check_time(sqlite3_vtab *t, sqlite3_index_info *info, int i)
{
	const struct predicate *p = ((struct event_table *)t)->predicate;
	sqlite3_value *value;
	struct err err;
	int64_t ns;

	if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK ||
		event_plan_read_time(&p->times, value, &ns, &err) >= 0)
		return SQLITE_OK;
	sqlite3_free(t->zErrMsg);
	t->zErrMsg = sqlite3_mprintf("%s", err.text);
	return SQLITE_ERROR;
}

static int table_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
	int rc = SQLITE_OK;

	info->estimatedRows = 1;
	info->estimatedCost = 1;
	for (int i = 0; i < info->nConstraint && rc == SQLITE_OK; i++) {
		if (event_plan_usable_time(info, i))
			rc = check_time(t, info, i);
	}
	return rc;
}

static int table_open(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	(void)t;
	*ret = xcalloc(1, sizeof(struct event_cursor));
	return SQLITE_OK;
}

static int table_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static int table_filter(
	sqlite3_vtab_cursor *c, int plan_number, const char *plan, int argc, sqlite3_value **argv)
{
	(void)plan_number, (void)plan, (void)argc, (void)argv;
	((struct event_cursor *)c)->at_end = false;
	return SQLITE_OK;
}

static int table_next(sqlite3_vtab_cursor *c)
{
	((struct event_cursor *)c)->at_end = true;
	return SQLITE_OK;
}

static int table_at_end(sqlite3_vtab_cursor *c)
{
	return ((struct event_cursor *)c)->at_end;
}

/* The object is not copied: it stays until the statement is reset. */
static int table_column(sqlite3_vtab_cursor *c, sqlite3_context *context, int column)
{
	const struct predicate *p = ((struct event_table *)c->pVtab)->predicate;

	if (column == COLUMN_OBJECT)
		sqlite3_result_text64(context, p->object.ptr ? p->object.ptr : "", p->object.len,
			SQLITE_STATIC, SQLITE_UTF8);
	else
		event_result_of(context, p->resource, p->event, column);
	return SQLITE_OK;
}

static int table_row_id(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
	(void)c;
	*ret = 1;
	return SQLITE_OK;
}

/* Without xCreate it is there under its module's name, and cannot be made under another. */
static const sqlite3_module event_module = {
	.xConnect = table_connect,
	.xBestIndex = table_plan,
	.xDisconnect = table_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_at_end,
	.xColumn = table_column,
	.xRowid = table_row_id,
};

/* ---- the predicate ---- */

static int on_progress(void *context)
{
	struct predicate *p = context;

	if (!p->deadline_ns || clock_mono_ns(&clock_system) < p->deadline_ns)
		return 0;
	p->timed_out = true;
	return 1;
}

/* On lines of its own, so that a comment at the expression's end ends there. */
static int predicate_prepare(struct predicate *p, struct slice expression, struct err *err)
{
	static const char before[] = "SELECT 1 FROM event WHERE (\n", after[] = "\n)";
	const char *rest;
	struct buf sql;
	int rc, code;

	buf_init(&sql, PREDICATE_BYTES_MAX + sizeof(before) + sizeof(after));
	if ((code = buf_append(&sql, before, strlen(before), err)) ||
		(code = buf_append(&sql, expression.ptr, expression.len, err)) ||
		(code = buf_append(&sql, after, sizeof(after), err))) {
		buf_release(&sql);
		return code;
	}
	rc = sqlite3_prepare_v2(p->db, sql.ptr, (int)sql.len, &p->statement, &rest);
	if (rc != SQLITE_OK)
		rc = err_set(err, ERR_USAGE, "%s", sqlite3_errmsg(p->db));
	else if (!p->statement || *rest)
		rc = err_set(err, ERR_USAGE, "expected one expression, found something after it");
	else if (sqlite3_bind_parameter_count(p->statement))
		rc = err_set(err, ERR_USAGE, "parameters such as '%s' have no value here",
			sqlite3_bind_parameter_name(p->statement, 1)
				? sqlite3_bind_parameter_name(p->statement, 1)
				: "?");
	buf_release(&sql);
	return rc;
}

static void set_times(struct predicate *p, const struct moment_frame *frame)
{
	p->times.tape_count = 1;
	if (frame)
		p->times.frame = *frame;
}

int predicate_compile(
	struct slice expression, const struct moment_frame *frame, struct predicate **ret, struct err *err)
{
	struct predicate *p;
	int rc;

	if (memchr(expression.len ? expression.ptr : "", 0, expression.len))
		return err_set(err, ERR_USAGE, "the expression has a NUL byte in it");
	if (expression.len > PREDICATE_BYTES_MAX)
		return err_set(err, ERR_USAGE, "the expression has %zu bytes, at most %u are taken",
			expression.len, PREDICATE_BYTES_MAX);
	p = xcalloc(1, sizeof(*p));
	p->limit_ns = PREDICATE_LIMIT_NS;
	set_times(p, frame);
	rc = sandbox_open(&p->db, err);
	if (rc == 0 && (sqlite3_create_module_v2(p->db, "event", &event_module, p, NULL) ||
			       time_collation_register(p->db, TIME_COLLATION, &p->times)))
		rc = err_set(
			err, ERR_FAILED, "cannot make the table of one event: %s", sqlite3_errmsg(p->db));
	if (rc == 0) {
		sandbox_close_doors(p->db, SANDBOX_STEADY);
		sqlite3_progress_handler(p->db, PROGRESS_STEPS, on_progress, p);
		sqlite3_limit(p->db, SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX);
		rc = predicate_prepare(p, expression, err);
	}
	if (rc < 0) {
		predicate_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void predicate_free(struct predicate *p)
{
	if (!p)
		return;
	sqlite3_finalize(p->statement);
	sqlite3_close(p->db);
	free(p);
}

/* SQLite names the first such word if it is not to take any for a text. */
char *predicate_doubt(struct predicate *p)
{
	static const char words[] = "no such column: ";
	sqlite3_stmt *statement = NULL;
	char *doubt = NULL;

	sqlite3_db_config(p->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	(void)sqlite3_prepare_v2(p->db, sqlite3_sql(p->statement), -1, &statement, NULL);
	if (!statement && strncmp(sqlite3_errmsg(p->db), words, sizeof(words) - 1) == 0)
		doubt = xasprintf(
			"%s names no column of an event and is taken for a text; write texts as 'text'",
			sqlite3_errmsg(p->db) + sizeof(words) - 1);
	sqlite3_finalize(statement);
	sqlite3_db_config(p->db, SQLITE_DBCONFIG_DQS_DML, 1, NULL);
	return doubt;
}

void predicate_limit(struct predicate *p, int64_t limit_ns)
{
	p->limit_ns = limit_ns;
}

static int test_failed(struct predicate *p, struct err *err)
{
	char limit[TIME_TEXT_BYTES];
	int rc = time_reader_failure(&p->times, err);

	if (rc)
		return rc;
	if (p->timed_out)
		return err_set(err, ERR_STOPPED, "the expression took longer than %s for event %llu",
			duration_format(limit, p->limit_ns), (unsigned long long)p->event->seq);
	return err_set(err, ERR_FAILED, "the expression cannot be computed for event %llu: %s",
		(unsigned long long)p->event->seq, sqlite3_errmsg(p->db));
}

int predicate_test(struct predicate *p, const struct tape_resource *resource, const struct event *e,
	struct slice object, struct err *err)
{
	int rc;

	p->resource = resource;
	p->event = e;
	p->object = object;
	p->timed_out = false;
	p->deadline_ns = p->limit_ns ? clock_mono_ns(&clock_system) + p->limit_ns : 0;
	rc = sqlite3_step(p->statement);
	if (p->times.wrong.code || (rc != SQLITE_ROW && rc != SQLITE_DONE))
		rc = test_failed(p, err);
	else
		rc = rc == SQLITE_ROW;
	sqlite3_reset(p->statement);
	p->object = (struct slice){NULL, 0};
	return rc;
}
