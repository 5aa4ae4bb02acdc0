/* run_reader.c: see run_reader.h. */
#include "schema/run/run_reader.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <errno.h>

#define FACTS_MAX 64

struct run_reader {
	sqlite3 *db;
	sqlite3_stmt *writes;
	char *path;
	struct {
		char *name, *value;
	} facts[FACTS_MAX];
	size_t fact_count;
};

static int unreadable(const struct run_reader *r, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "cannot read the run '%s': %s", r->path, sqlite3_errmsg(r->db));
}

static int pragma(struct run_reader *r, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) || sqlite3_step(stmt) != SQLITE_ROW)
		rc = unreadable(r, err);
	else
		*ret = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rc;
}

/* A run holds plain tables only; anything else was put there by somebody else. */
static int run_reader_check(struct run_reader *r, struct err *err)
{
	int64_t id, version, strangers;
	int rc = pragma(r, "PRAGMA application_id", &id, err);

	if (rc == 0 && id != RUN_APPLICATION_ID)
		return err_set(err, ERR_CORRUPT, "'%s' is not a run: its application_id is %lld, expected %d",
			r->path, (long long)id, RUN_APPLICATION_ID);
	if (rc == 0)
		rc = pragma(r, "PRAGMA user_version", &version, err);
	if (rc == 0 && (version < 1 || version > RUN_VERSION))
		return err_set(err, ERR_CORRUPT, "'%s' is a run of version %lld, expected at most %d",
			r->path, (long long)version, RUN_VERSION);
	if (rc == 0)
		rc = pragma(r,
			"SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')"
			" OR sql LIKE 'CREATE VIRTUAL%'",
			&strangers, err);
	if (rc == 0 && strangers)
		return err_set(err, ERR_CORRUPT, "'%s' is not a run: %lld tables do not belong to one",
			r->path, (long long)strangers);
	return rc;
}

static char *text_of(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	return xstrdup(text ? (const char *)text : "");
}

static int read_facts(struct run_reader *r, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (sqlite3_prepare_v2(r->db, "SELECT name, value FROM run", -1, &stmt, NULL))
		return unreadable(r, err);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && r->fact_count < FACTS_MAX) {
		r->facts[r->fact_count].name = text_of(stmt, 0);
		r->facts[r->fact_count++].value = text_of(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : unreadable(r, err);
}

static int run_reader_prepare(struct run_reader *r, struct err *err)
{
	static const char sql[] =
		"SELECT write, request, time_ns, tape_time_ns, seq, client, verb, apigroup, version, resource,"
		" subresource, namespace, name, policy, content_type, dry_run, body, object, status, reason, rv, uid"
		" FROM writes ORDER BY write";

	return sqlite3_prepare_v2(r->db, sql, -1, &r->writes, NULL) ? unreadable(r, err) : 0;
}

int run_path_check(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return err_set_errno(err, errno, "cannot open the run '%s'", path);
	return S_ISREG(st.st_mode) ? 0 : err_set(err, ERR_CORRUPT, "'%s' is not a run: it is no file", path);
}

int run_reader_open(const char *path, struct run_reader **ret, struct err *err)
{
	struct run_reader *r;
	int rc = run_path_check(path, err);

	if (rc)
		return rc;
	r = xcalloc(1, sizeof(*r));
	r->path = xasprintf("%s%s", *path == '/' ? "" : "./", path);
	if (sqlite3_open_v2(r->path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
		rc = err_set(err, ERR_IO, "cannot open the run '%s': %s", path, sqlite3_errmsg(r->db));
	if (rc == 0)
		sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == 0)
		rc = run_reader_check(r, err);
	if (rc == 0)
		rc = read_facts(r, err);
	if (rc == 0)
		rc = run_reader_prepare(r, err);
	if (rc)
		run_reader_close(r);
	else
		*ret = r;
	return rc;
}

void run_reader_close(struct run_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->fact_count; i++) {
		free(r->facts[i].name);
		free(r->facts[i].value);
	}
	sqlite3_finalize(r->writes);
	sqlite3_close(r->db);
	free(r->path);
	free(r);
}

const char *run_reader_fact(const struct run_reader *r, const char *name)
{
	for (size_t i = 0; i < r->fact_count; i++) {
		if (strcmp(r->facts[i].name, name) == 0)
			return r->facts[i].value;
	}
	return NULL;
}

static struct slice run_reader_column(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return (struct slice){text, text ? (size_t)sqlite3_column_bytes(stmt, i) : 0};
}

static int64_t time_column(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_type(stmt, i) == SQLITE_NULL ? RUN_NO_TIME : sqlite3_column_int64(stmt, i);
}

int run_reader_next_write(struct run_reader *r, struct run_written *ret, struct err *err)
{
	sqlite3_stmt *s = r->writes;
	int rc = sqlite3_step(s);

	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return unreadable(r, err);
	*ret = (struct run_written){.write = (uint64_t)sqlite3_column_int64(s, 0),
		.row = {.request = (uint64_t)sqlite3_column_int64(s, 1),
			.time_ns = time_column(s, 2),
			.tape_time_ns = time_column(s, 3),
			.seq = (uint64_t)sqlite3_column_int64(s, 4),
			.client = run_reader_column(s, 5),
			.verb = run_reader_column(s, 6),
			.what = {run_reader_column(s, 7), run_reader_column(s, 8), run_reader_column(s, 9),
				run_reader_column(s, 10), run_reader_column(s, 11), run_reader_column(s, 12)},
			.policy = run_reader_column(s, 13),
			.content_type = run_reader_column(s, 14),
			.dry_run = sqlite3_column_int(s, 15) != 0,
			.body = run_reader_column(s, 16),
			.object = run_reader_column(s, 17),
			.status = sqlite3_column_int(s, 18),
			.reason = run_reader_column(s, 19),
			.rv = run_reader_column(s, 20),
			.uid = run_reader_column(s, 21)}};
	return 1;
}

void run_reader_rewind(struct run_reader *r)
{
	sqlite3_reset(r->writes);
}
