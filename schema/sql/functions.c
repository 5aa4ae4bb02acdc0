/* functions.c: see functions.h. */
#include "schema/sql/functions.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"
#include "schema/base/rv.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/sql/json_diff.h"
#include "schema/sql/managed_fields.h"
#include "schema/sql/vtab.h"

#include <errno.h>
#include <stdlib.h>

/* How SQLite's own JSON functions mark a text that is JSON. */
#define JSON_SUBTYPE 74

static struct slice value_slice(sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	return (struct slice){text, text ? (size_t)sqlite3_value_bytes(value) : 0};
}

static void result_err(sqlite3_context *context, const struct err *err)
{
	sqlite3_result_error(context, err->text, -1);
}

/* ---- jget ---- */

int result_escaped(sqlite3_context *context, struct slice escaped, struct err *err)
{
	struct buf text;
	int rc;

	if (!escaped.len || !memchr(escaped.ptr, '\\', escaped.len)) {
		result_slice(context, escaped);
		return 0;
	}
	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = json_unescape(escaped, &text, err);
	if (rc) {
		buf_release(&text);
		return rc;
	}
	result_slice(context, buf_slice(&text));
	buf_release(&text);
	return 0;
}

/* Integers that do not fit become reals, as SQLite reads them in SQL text. */
static void result_json_number(sqlite3_context *context, struct slice value)
{
	char text[64], *end;
	long long integer;

	if (value.len >= sizeof(text)) {
		result_slice(context, value);
		return;
	}
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	errno = 0;
	integer = strtoll(text, &end, 10);
	if (!*end && !errno)
		sqlite3_result_int64(context, integer);
	else
		sqlite3_result_double(context, strtod(text, NULL));
}

int result_json(sqlite3_context *context, struct slice value, struct err *err)
{
	switch (value.len ? value.ptr[0] : 0) {
	case '"': return result_escaped(context, (struct slice){value.ptr + 1, value.len - 2}, err);
	case 't': sqlite3_result_int(context, 1); return 0;
	case 'f': sqlite3_result_int(context, 0); return 0;
	case 'n':
	case 0: return 0;
	case '{':
	case '[':
		result_slice(context, value);
		sqlite3_result_subtype(context, JSON_SUBTYPE);
		return 0;
	default: result_json_number(context, value); return 0;
	}
}

static void jget(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice json = value_slice(argv[0]), value;
	const char *path = (const char *)sqlite3_value_text(argv[1]);
	struct err err = {0};
	int found;

	(void)argc;
	if (!json.ptr || !path)
		return;
	found = json_get(json, path, &value, &err);
	if (found < 0 || (found > 0 && result_json(context, value, &err)))
		result_err(context, &err);
}

/* ---- jdiff ---- */

static int append_member(struct buf *to, const char *name, struct slice value, bool is_json, struct err *err)
{
	int rc;

	if (value.len == 0 && is_json)
		return 0;
	rc = buf_printf(to, err, "%s\"%s\":", to->ptr[to->len - 1] == '{' ? "" : ",", name);
	if (rc)
		return rc;
	return is_json ? visible_append_json(to, value, err) : json_escape(value, to, err);
}

/* Between quotes it is still as JSON has it. */
static int append_manager(
	struct buf *to, struct slice old, struct slice new, struct slice path, struct err *err)
{
	struct slice manager;
	int found = managed_fields_manager(old, new, path, &manager, err);

	if (found <= 0)
		return found;
	manager = (struct slice){manager.ptr - 1, manager.len + 2};
	return append_member(to, "manager", manager, true, err);
}

/* What jdiff compares, and what it tells. */
struct two_texts {
	struct slice old, new;
	bool with_noise, with_managers;
};

static int append_change(
	struct buf *to, const struct json_change *c, const struct two_texts *texts, struct err *err)
{
	const char *op = !c->old_value.len ? "add" : !c->new_value.len ? "remove" : "replace";
	int rc;

	if ((rc = buf_append(to, to->len > 1 ? ",{" : "{", to->len > 1 ? 2 : 1, err)) ||
		(rc = append_member(to, "path", c->path, false, err)) ||
		(rc = append_member(to, "field", c->field, false, err)) ||
		(rc = append_member(to, "op", slice_of(op), false, err)) ||
		(rc = append_member(to, "old", c->old_value, true, err)) ||
		(rc = append_member(to, "new", c->new_value, true, err)) ||
		(texts->with_managers && (rc = append_manager(to, texts->old, texts->new, c->path, err))))
		return rc;
	return buf_append(to, "}", 1, err);
}

static int append_changes(
	struct buf *to, const struct json_diff *d, const struct two_texts *texts, struct err *err)
{
	int rc = buf_append(to, "[", 1, err);

	for (size_t i = 0; i < json_diff_count(d) && !rc; i++) {
		struct json_change c = json_diff_at(d, i);

		rc = append_change(to, &c, texts, err);
	}
	return rc ? rc : buf_append(to, "]", 1, err);
}

static void jdiff(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct two_texts texts = {value_slice(argv[0]), value_slice(argv[1]),
		argc > 2 && sqlite3_value_int(argv[2]), argc > 3 && sqlite3_value_int(argv[3])};
	struct json_diff *d;
	struct err err = {0};
	struct buf to;

	if (!texts.old.ptr || !texts.new.ptr)
		return;
	d = json_diff_new();
	buf_init(&to, LIMIT_LIST_BYTES);
	if (json_diff_make(d, texts.old, texts.new, texts.with_noise, &err) ||
		append_changes(&to, d, &texts, &err)) {
		result_err(context, &err);
	} else {
		result_slice(context, buf_slice(&to));
		sqlite3_result_subtype(context, JSON_SUBTYPE);
	}
	buf_release(&to);
	json_diff_free(d);
}

/* ---- times and versions ---- */

static void to_ns(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice text = value_slice(argv[0]);
	int64_t ns;

	(void)argc;
	if (text.ptr && moment_is_absolute(text, &ns))
		sqlite3_result_int64(context, ns);
}

static void to_time(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		result_time(context, sqlite3_value_int64(argv[0]));
}

static void duration(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[TIME_TEXT_BYTES];

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		result_string(context, duration_format(text, sqlite3_value_int64(argv[0])));
}

static void rv_cmp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice a = value_slice(argv[0]), b = value_slice(argv[1]);
	int order;

	(void)argc;
	if (!rv_valid(a) || !rv_valid(b))
		return;
	order = rv_compare(a, b);
	sqlite3_result_int(context, (order > 0) - (order < 0));
}

static void version(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc, (void)argv;
	result_string(context, KUBETAPE_VERSION);
}

/* ---- opening a tape ---- */

static int open_table(sqlite3 *db, const char *path, const char *prefix, const char *kind, struct err *err)
{
	char *sql = sqlite3_mprintf("DROP TABLE IF EXISTS temp.\"%w%w\";"
				    "CREATE VIRTUAL TABLE temp.\"%w%w\" USING kubetape(%Q, %Q)",
		prefix, kind, prefix, kind, path, kind);
	char *message = NULL;
	int rc = 0;

	if (!sql || sqlite3_exec(db, sql, NULL, NULL, &message))
		rc = err_set(err, ERR_FAILED, "%s", message ? message : "out of memory");
	sqlite3_free(message);
	sqlite3_free(sql);
	return rc;
}

/* Makes the temp tables PREFIXevents, PREFIXobjects, ... of the tape, in place of such tables that exist. */
static int open_tape(sqlite3 *db, const char *path, const char *prefix, struct err *err)
{
	const struct table_kind *kind;
	int rc;

	for (size_t i = 0; (kind = table_kind_at(i)); i++) {
		rc = open_table(db, path, prefix, kind->name, err);
		if (rc)
			return rc;
	}
	return 0;
}

static void kubetape_open(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	const char *prefix = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : "";
	struct err err = {0};

	if (!path || !prefix) {
		sqlite3_result_error(context, "kubetape_open wants the path of a tape", -1);
		return;
	}
	if (open_tape(sqlite3_context_db_handle(context), path, prefix, &err))
		result_err(context, &err);
	else
		result_string(context, path);
}

int functions_register(sqlite3 *db)
{
	static const int pure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	static const struct {
		const char *name;
		int arg_count, flags;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{"jget", 2, pure, jget},
		{"jdiff", 2, pure, jdiff},
		{"jdiff", 3, pure, jdiff},
		{"jdiff", 4, pure, jdiff},
		{"to_ns", 1, pure, to_ns},
		{"to_time", 1, pure, to_time},
		{"duration", 1, pure, duration},
		{"rv_cmp", 2, pure, rv_cmp},
		{"kubetape_version", 0, pure, version},
		{"kubetape_open", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, kubetape_open},
		{"kubetape_open", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, kubetape_open},
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < COUNT_OF(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arg_count,
			functions[i].flags, NULL, functions[i].call, NULL, NULL, NULL);
	return rc;
}
