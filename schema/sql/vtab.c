/*
 * vtab.c: the SQLite module behind every table of a tape; see vtab.h.
 *
 * SQLite's callbacks are translated here, once: they find the table's kind, pass a `struct err`, and turn its
 * sentence into SQLite's error message. The list of open tapes belongs to the module's registration and so
 * to the connection.
 */
#include "schema/sql/vtab.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

/* Decoded blocks kept for each tape. A walk in seq order comes back to every block of an extent again and
 * again and wants all of them kept; one in the order of storage never does, and memory that is used over and
 * over costs less than fresh memory. */
#define ORDERED_CACHE_BYTES ((size_t)72 << 20)
#define STORED_CACHE_BYTES  ((size_t)4 << 20)
#define INDEX_CACHE_BYTES   ((size_t)192 << 20) /* a million and a half events */

struct registry {
	struct tape_handle *first;
	struct time_reader times;
	const struct scan *outermost;   /* the oldest open scan that can tell how far it is */
	const struct walk_watch *watch; /* NULL: nobody watches */
};

static const struct table_kind *const kinds[] = {
	&events_table,
	&objects_table,
	&changes_table,
	&audit_table,
	&streams_table,
	&connections_table,
	&gaps_table,
	&coverage_table,
	&missed_table,
	&marks_table,
	&bookmarks_table,
	&documents_table,
	&logs_table,
	&segments_table,
};

const struct table_kind *table_kind_at(size_t index)
{
	return index < COUNT_OF(kinds) ? kinds[index] : NULL;
}

static const struct table_kind *find_kind(const char *name)
{
	for (size_t i = 0; table_kind_at(i); i++) {
		if (sqlite3_stricmp(table_kind_at(i)->name, name) == 0)
			return table_kind_at(i);
	}
	return NULL;
}

static int code_of(const struct err *err)
{
	switch (err->code) {
	case ERR_CORRUPT: return SQLITE_CORRUPT;
	case ERR_NOT_FOUND: return SQLITE_CANTOPEN;
	case ERR_IO: return SQLITE_IOERR;
	case ERR_TOO_LARGE: return SQLITE_TOOBIG;
	case ERR_STOPPED: return SQLITE_INTERRUPT;
	case ERR_BUSY: return SQLITE_SCHEMA; /* the plan no longer fits: SQLite makes another one */
	default: return SQLITE_ERROR;
	}
}

static int vtab_fail(sqlite3_vtab *base, const struct err *err)
{
	sqlite3_free(base->zErrMsg);
	base->zErrMsg = sqlite3_mprintf("%s", err->text);
	return code_of(err);
}

/* ---- open tapes ---- */

static int handle_open(struct registry *r, const char *path, struct tape_handle **ret, struct err *err)
{
	struct tape_handle *h;
	struct tape_info info;
	struct tape *tape;
	int rc;

	for (h = r->first; h; h = h->next) {
		if (strcmp(h->path, path) == 0) {
			h->table_count++;
			*ret = h;
			return 0;
		}
	}
	rc = tape_open(path, &tape, err);
	if (rc)
		return rc;
	rc = tape_info(tape, &info, err);
	if (rc) {
		tape_close(tape);
		return rc;
	}
	tape_set_cache(tape, ORDERED_CACHE_BYTES);
	if (!r->first) /* of many tapes side by side each keeps less */
		tape_set_index_cache(tape, INDEX_CACHE_BYTES);
	h = xcalloc(1, sizeof(*h));
	*h = (struct tape_handle){.next = r->first,
		.path = xstrdup(path),
		.tape = tape,
		.table_count = 1,
		.generation = 1,
		.info = info,
		.times = &r->times};
	r->first = h;
	*ret = h;
	return 0;
}

/* Tapes that begin and end alike count as one: it may be one under two names. */
static void set_times(struct registry *r)
{
	struct moment_frame frame = {.now_ns = clock_wall_ns(&clock_system)};

	r->times.tape_count = 0;
	for (const struct tape_handle *h = r->first; h; h = h->next) {
		bool same = frame.first_ns == h->info.first_time_ns && frame.last_ns == h->info.last_time_ns;

		r->times.tape_count += r->times.tape_count == 0 || !same;
		frame.first_ns = h->info.first_time_ns;
		frame.last_ns = h->info.last_time_ns;
	}
	r->times.frame = frame;
}

static void handle_unlink(struct registry *r, const struct tape_handle *h)
{
	for (struct tape_handle **at = &r->first; *at; at = &(*at)->next) {
		if (*at == h) {
			*at = h->next;
			return;
		}
	}
}

static void handle_close(struct registry *r, struct tape_handle *h)
{
	if (--h->table_count)
		return;
	handle_unlink(r, h);
	audit_book_close(h->book);
	tape_close(h->tape);
	free(h->path);
	free(h);
}

/* Who made which event is written beside the tape, by others. */
static int book_refresh(struct tape_handle *h, struct err *err)
{
	h->claim_seq = 0;
	return h->book ? audit_book_refresh(h->book, err) : audit_book_open(h->path, &h->book, err);
}

/* In a sealed segment nothing changes: what was read of it stays good. */
static int handle_refresh(struct tape_handle *h, struct err *err)
{
	bool was_open = h->info.open;
	int more, rc;

	if (h->scan_count)
		return 0;
	if ((more = rc = tape_refresh(h->tape, err)) < 0 || (rc = tape_info(h->tape, &h->info, err)))
		return rc;
	h->generation += more || was_open || h->info.open;
	return book_refresh(h, err);
}

void scan_expects(const struct scan *s, bool stored_order)
{
	struct tape_handle *h = scan_table(s)->handle;

	tape_set_cache(
		h->tape, stored_order && h->scan_count == 1 ? STORED_CACHE_BYTES : ORDERED_CACHE_BYTES);
}

/* ---- tables ---- */

/* A module argument without its SQL quotes. The caller frees. */
static char *unquoted(const char *arg)
{
	size_t len = strlen(arg);
	char quote = arg[0] == '[' ? ']' : arg[0];
	char *text = xmalloc(len + 1), *to = text;

	if (len < 2 || !strchr("'\"`[", arg[0]) || arg[len - 1] != quote) {
		memcpy(text, arg, len + 1);
		return text;
	}
	for (const char *c = arg + 1; c < arg + len - 1; c++) {
		*to++ = *c;
		if (*c == quote && c[1] == quote && c + 1 < arg + len - 1)
			c++;
	}
	*to = 0;
	return text;
}

struct owned_table {
	struct table table;
	struct registry *registry;
};

static int table_open(
	struct registry *r, const char *path, const char *kind, struct owned_table **ret, struct err *err)
{
	struct tape_handle *handle = NULL;
	struct owned_table *t;
	int rc;

	if (!find_kind(kind))
		return err_set(err, ERR_USAGE, "a tape has no table '%s'", kind);
	rc = handle_open(r, path, &handle, err);
	if (rc)
		return rc;
	t = xcalloc(1, sizeof(*t));
	t->table.kind = find_kind(kind);
	t->table.handle = handle;
	t->registry = r;
	set_times(r);
	*ret = t;
	return 0;
}

static void table_free(struct owned_table *t)
{
	if (t->table.kind->drop_cache)
		t->table.kind->drop_cache(&t->table);
	handle_close(t->registry, t->table.handle);
	set_times(t->registry);
	sqlite3_free(t->table.base.zErrMsg);
	free(t);
}

static int declare(sqlite3 *db, const struct table_kind *kind)
{
	char *columns = kind->columns ? sqlite3_mprintf("%s", kind->columns) : kind->declare(kind);
	char *sql = columns ? sqlite3_mprintf("CREATE TABLE x(%z)", columns) : NULL;
	int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
}

static int on_connect(
	sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_message)
{
	struct err err = {0};
	struct owned_table *t = NULL;
	char *path, *kind;
	int rc;

	if (argc < 4 || argc > 5) {
		*ret_message =
			sqlite3_mprintf("kubetape wants the path of a tape and perhaps a table's name: "
					"USING kubetape('X.tape', 'gaps')");
		return SQLITE_ERROR;
	}
	path = unquoted(argv[3]);
	kind = unquoted(argc > 4 ? argv[4] : "events");
	if (table_open(context, path, kind, &t, &err))
		*ret_message = sqlite3_mprintf("%s", err.text);
	free(path);
	free(kind);
	if (!t)
		return SQLITE_ERROR;
	rc = declare(db, t->table.kind);
	if (rc) {
		table_free(t);
		return rc;
	}
	*ret = &t->table.base;
	return SQLITE_OK;
}

/* A function of its own, so that SQLite does not take the module for one that needs no CREATE. */
static int on_create(
	sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_message)
{
	return on_connect(db, context, argc, argv, ret, ret_message);
}

static int on_disconnect(sqlite3_vtab *base)
{
	table_free((struct owned_table *)base);
	return SQLITE_OK;
}

static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *t = (struct table *)base;
	struct err err = {0};
	int rc = t->kind->plan(t, info, &err);

	return rc < 0 ? vtab_fail(base, &err) : rc;
}

/* ---- scans ---- */

static struct registry *registry_of(struct table *t)
{
	return ((struct owned_table *)t)->registry;
}

static bool is_scanned(const struct registry *r)
{
	for (const struct tape_handle *h = r->first; h; h = h->next) {
		if (h->scan_count)
			return true;
	}
	return false;
}

static int failure(void *registry, struct err *err)
{
	return time_reader_failure(&((struct registry *)registry)->times, err);
}

static void need_position(void *registry, bool needs)
{
	((struct registry *)registry)->times.needs_position = needs;
}

static size_t remark(void *registry, char to[POSITION_REMARK_BYTES], const char **ret_path)
{
	size_t count = 0;

	for (struct tape_handle *h = ((struct registry *)registry)->first; h; h = h->next) {
		if (!h->remark[0])
			continue;
		if (count++ == 0) {
			memcpy(to, h->remark, POSITION_REMARK_BYTES);
			*ret_path = h->path;
		}
		h->remark[0] = 0;
	}
	return count;
}

static struct walk_progress vtab_look(void *registry)
{
	const struct scan *s = ((struct registry *)registry)->outermost;

	if (!s)
		return (struct walk_progress){NULL, 0};
	return (struct walk_progress){scan_table(s)->kind->name, scan_table(s)->kind->share(s)};
}

static void watch(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct walk_watch *w = sqlite3_value_pointer(argv[0], WALK_WATCH_TYPE);
	struct registry *r = sqlite3_user_data(context);

	(void)argc;
	if (!w)
		return;
	w->registry = r;
	w->look = vtab_look;
	w->failure = failure;
	w->remark = remark;
	w->need_position = need_position;
	r->watch = w;
}

static bool is_unreadable(const struct err *err)
{
	switch (err->code) {
	case ERR_CORRUPT:
	case ERR_IO:
	case ERR_NETWORK:
	case ERR_DENIED:
	case ERR_NOT_FOUND: /* it was there when it was opened */
	case ERR_PROTOCOL: return true;
	default: return false;
	}
}

/* Whether somebody hears that a part of the tape is lost to the statement, which then goes on. */
static bool is_borne(struct table *t, const struct err *err)
{
	const struct walk_watch *w = registry_of(t)->watch;

	if (!w || !w->lost || !is_unreadable(err))
		return false;
	w->lost(w->context, t->handle->path, err->text);
	return true;
}

static int scan_fail(struct scan *s, const struct err *err)
{
	if (!is_borne(scan_table(s), err))
		return vtab_fail(s->base.pVtab, err);
	s->at_end = true;
	return SQLITE_OK;
}

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct table *t = (struct table *)base;
	struct err err = {0};
	struct scan *s;

	if (handle_refresh(t->handle, &err) && !is_borne(t, &err)) /* else it is as it was */
		return vtab_fail(base, &err);
	if (!is_scanned(registry_of(t))) {
		set_times(registry_of(t));
		registry_of(t)->times.wrong.code = 0;
	}
	s = xcalloc(1, t->kind->scan_bytes);
	s->base.pVtab = base; /* SQLite sets it only behind us */
	t->handle->scan_count++;
	if (t->kind->share && !registry_of(t)->outermost)
		registry_of(t)->outermost = s;
	*ret = &s->base;
	return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *base)
{
	struct scan *s = (struct scan *)base;

	scan_table(s)->kind->reset(s);
	scan_table(s)->handle->scan_count--;
	if (registry_of(scan_table(s))->outermost == s)
		registry_of(scan_table(s))->outermost = NULL;
	free(s);
	return SQLITE_OK;
}

static int on_filter(
	sqlite3_vtab_cursor *base, int plan_flags, const char *plan, int arg_count, sqlite3_value **args)
{
	struct scan *s = (struct scan *)base;
	struct err err = {0};

	scan_table(s)->kind->reset(s);
	s->at_end = false;
	s->row_id = 0;
	if (scan_table(s)->kind->filter(s, plan ? plan : "", plan_flags, args, arg_count, &err) < 0 ||
		failure(registry_of(scan_table(s)), &err))
		return scan_fail(s, &err);
	return SQLITE_OK;
}

static int on_next(sqlite3_vtab_cursor *base)
{
	struct scan *s = (struct scan *)base;
	struct err err = {0};

	if (s->at_end) /* a column could not be read */
		return SQLITE_OK;
	if (failure(registry_of(scan_table(s)), &err) || scan_table(s)->kind->next(s, &err) < 0)
		return scan_fail(s, &err);
	return SQLITE_OK;
}

static int on_eof(sqlite3_vtab_cursor *base)
{
	return ((struct scan *)base)->at_end;
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct scan *s = (struct scan *)base;
	struct err err = {0};

	if (scan_table(s)->kind->column(s, context, column, &err) < 0)
		return scan_fail(s, &err);
	return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct scan *)base)->row_id;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xCreate = on_create,
	.xConnect = on_connect,
	.xBestIndex = on_best_index,
	.xDisconnect = on_disconnect,
	.xDestroy = on_disconnect,
	.xOpen = on_open,
	.xClose = on_close,
	.xFilter = on_filter,
	.xNext = on_next,
	.xEof = on_eof,
	.xColumn = on_column,
	.xRowid = on_rowid,
};

int vtab_register(sqlite3 *db)
{
	struct registry *r = xcalloc(1, sizeof(*r));

	/* The function first: when the module cannot be made, nothing is left that points to the list. */
	if (sqlite3_create_function_v2(
		    db, "kubetape_watch", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, r, watch, NULL, NULL, NULL)) {
		free(r);
		return SQLITE_ERROR;
	}
	if (time_collation_register(db, TIME_COLLATION, &r->times)) {
		free(r);
		return SQLITE_ERROR;
	}
	return sqlite3_create_module_v2(db, "kubetape", &module, r, free);
}

/* ---- results ---- */

void result_slice(sqlite3_context *context, struct slice text)
{
	sqlite3_result_text64(context, text.ptr ? text.ptr : "", text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void result_string(sqlite3_context *context, const char *text)
{
	if (text)
		result_slice(context, slice_of(text));
}

void result_time(sqlite3_context *context, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	result_string(context, time_format(text, time_ns));
}
