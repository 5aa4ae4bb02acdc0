/* run_seen.c: see run_seen.h. */
#include "schema/run/run_seen.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"
#include "schema/run/run_reader.h"
#include "schema/run/run_schema.h"

#include <sqlite3.h>
#include <stdlib.h>

struct run_seen {
	sqlite3 *db;
	char *path;
	struct seen_request *requests;
	size_t count;
	sqlite3_stmt *frame, *pieces;
};

static int unreadable(const struct run_seen *s, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "cannot read the run '%s': %s", s->path, sqlite3_errmsg(s->db));
}

static int run_seen_prepare(struct run_seen *s, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	return sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) ? unreadable(s, err) : 0;
}

/* ---- requests ---- */

static char *text_column(sqlite3_stmt *stmt, int i)
{
	const unsigned char *text = sqlite3_column_text(stmt, i);

	return xstrdup(text ? (const char *)text : "");
}

static int64_t number_column(sqlite3_stmt *stmt, int i, int64_t otherwise)
{
	return sqlite3_column_type(stmt, i) == SQLITE_NULL ? otherwise : sqlite3_column_int64(stmt, i);
}

static uint64_t rv_column(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);
	uint64_t rv;

	return text && rv_to_u64(slice_of(text), &rv) ? rv : 0;
}

static enum seen_end end_of(const char *how, const char *by)
{
	static const struct {
		const char *word;
		enum seen_end end;
	} words[] = {{"complete", SEEN_COMPLETE}, {"fin", SEEN_FIN}, {"reset", SEEN_RESET},
		{"rst_stream", SEEN_RST_STREAM}, {"goaway", SEEN_GOAWAY}};

	for (size_t i = 0; how && by && i < COUNT_OF(words); i++) {
		if (strcmp(by, "server") == 0 && strcmp(how, words[i].word) == 0)
			return words[i].end;
	}
	return SEEN_OPEN;
}

static void take_request(struct seen_request *r, sqlite3_stmt *stmt)
{
	*r = (struct seen_request){.id = (uint64_t)sqlite3_column_int64(stmt, 0),
		.time_ns = sqlite3_column_int64(stmt, 1),
		.end_ns = number_column(stmt, 2, INT64_MAX),
		.path = text_column(stmt, 3),
		.accept = text_column(stmt, 4),
		.content_type = text_column(stmt, 5),
		.rv = rv_column(stmt, 13),
		.status = sqlite3_column_int(stmt, 6),
		.is_watch = sqlite3_column_int(stmt, 7),
		.has_holes = sqlite3_column_int(stmt, 8),
		.h2_error = number_column(stmt, 9, -1),
		.retry_after = number_column(stmt, 10, -1)};
	r->end = end_of(
		(const char *)sqlite3_column_text(stmt, 11), (const char *)sqlite3_column_text(stmt, 12));
}

/* What has no answer in the run was none that is kept: a log, a document. */
static const char requests_sql[] =
	"SELECT request, time_ns, end_ns, path, accept, content_type, status, " RUN_IS_WATCH ","
	" request IN (SELECT request FROM faults WHERE what = 'not_recorded'), h2_error, retry_after, how, ended_by, rv"
	" FROM requests r WHERE resource IS NOT NULL AND verb IN ('get', 'list', 'watch')"
	" AND instr(ifnull(client, ''), ?1) AND (" RUN_IS_WATCH " OR (how IS NOT NULL AND"
	" (ifnull(bytes, 0) = 0 OR EXISTS (SELECT 1 FROM answers a WHERE a.request = r.request))))"
	" ORDER BY request";

static int load_requests(struct run_seen *s, const char *client, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = SQLITE_DONE, rc = run_seen_prepare(s, requests_sql, &stmt, err);

	if (rc == 0)
		sqlite3_bind_text(stmt, 1, client, -1, SQLITE_STATIC);
	while (rc == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (s->count == LIMIT_SEEN_REQUESTS) {
			rc = err_set(err, ERR_TOO_LARGE, "the run '%s' has more than %d reads of that client",
				s->path, LIMIT_SEEN_REQUESTS);
			break;
		}
		s->requests = xgrow(s->requests, s->count, sizeof(*s->requests));
		take_request(&s->requests[s->count++], stmt);
	}
	sqlite3_finalize(stmt);
	return rc == 0 && code != SQLITE_DONE ? unreadable(s, err) : rc;
}

static struct seen_request *find_request(struct run_seen *s, uint64_t id)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->requests[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->count && s->requests[low].id == id ? &s->requests[low] : NULL;
}

/* ---- frames ---- */

/* A delivery that is the tape's event byte for byte has no row of its own in `frames`. */
static const char frames_sql[] =
	"SELECT d.request, d.number, d.out_ns, d.seq, d.type, f.rowid, d.rv FROM deliveries d"
	" LEFT JOIN frames f ON f.request = d.request AND f.number = d.number"
	" UNION ALL SELECT request, number, out_ns, 0, NULL, rowid, rv FROM frames"
	" WHERE (request, number) NOT IN (SELECT request, number FROM deliveries WHERE number IS NOT NULL)"
	" ORDER BY 1, 2";

static void take_frame(struct seen_frame *f, sqlite3_stmt *stmt)
{
	const char *type = (const char *)sqlite3_column_text(stmt, 4);
	int64_t row = number_column(stmt, 5, 0);

	*f = (struct seen_frame){.row = row,
		.out_ns = sqlite3_column_int64(stmt, 2),
		.rv = rv_column(stmt, 6),
		.event = (uint64_t)sqlite3_column_int64(stmt, 3),
		.type = type ? *type : 0};
	f->seq = row ? 0 : f->event;
}

static int load_frames(struct run_seen *s, struct err *err)
{
	struct seen_request *r = NULL;
	sqlite3_stmt *stmt = NULL;
	size_t total = 0;
	int code = SQLITE_DONE, rc = run_seen_prepare(s, frames_sql, &stmt, err);

	while (rc == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(stmt, 0);

		if (!r || r->id != id)
			r = find_request(s, id);
		if (!r || !r->is_watch)
			continue;
		if (++total > LIMIT_SEEN_FRAMES) {
			rc = err_set(err, ERR_TOO_LARGE,
				"the run '%s' has more than %d events for that client", s->path,
				LIMIT_SEEN_FRAMES);
			break;
		}
		r->frames = xgrow(r->frames, r->frame_count, sizeof(*r->frames));
		take_frame(&r->frames[r->frame_count++], stmt);
	}
	sqlite3_finalize(stmt);
	return rc == 0 && code != SQLITE_DONE ? unreadable(s, err) : rc;
}

/* ---- opening ---- */

/* The names that a run has, so that somebody can pick one. */
static int no_such_client(struct run_seen *s, const char *client, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	char *names = NULL;
	int rc = run_seen_prepare(
		s, "SELECT group_concat(DISTINCT ifnull(client, '')) FROM clients", &stmt, err);

	if (rc)
		return rc;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		names = text_column(stmt, 0);
	rc = err_set(err, ERR_USAGE,
		"no client of the run '%s' is called '%s' and has read something; it has: %s", s->path,
		client, names && *names ? names : "none");
	free(names);
	sqlite3_finalize(stmt);
	return rc;
}

static int run_seen_check(const char *path, const char *tape_id, struct err *err)
{
	struct run_reader *r;
	const char *source, *of;
	int rc = run_reader_open(path, &r, err);

	if (rc)
		return rc;
	source = run_reader_fact(r, "source");
	of = run_reader_fact(r, "tape_id");
	if (!source || strcmp(source, "tee"))
		rc = err_set(err, ERR_USAGE,
			"the run '%s' was made by a replay: what a client saw is in one of 'kubetape tee'",
			path);
	else if (!of || strcmp(of, tape_id))
		rc = err_set(err, ERR_USAGE, "the run '%s' belongs to another tape", path);
	run_reader_close(r);
	return rc;
}

static int open_database(struct run_seen *s, struct err *err)
{
	static const char frame_sql[] = "SELECT type, encoding, body FROM frames WHERE rowid = ?1";
	static const char pieces_sql[] =
		"SELECT raw_bytes, data FROM answers WHERE request = ?1 ORDER BY piece";
	int rc;

	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
		return err_set(err, ERR_IO, "cannot open the run '%s': %s", s->path, sqlite3_errmsg(s->db));
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	rc = run_seen_prepare(s, frame_sql, &s->frame, err);
	return rc ? rc : run_seen_prepare(s, pieces_sql, &s->pieces, err);
}

int run_seen_open(
	const char *path, const char *tape_id, const char *client, struct run_seen **ret, struct err *err)
{
	struct run_seen *s;
	int rc = run_seen_check(path, tape_id, err);

	if (rc)
		return rc;
	s = xcalloc(1, sizeof(*s));
	s->path = xasprintf("%s%s", *path == '/' ? "" : "./", path);
	rc = open_database(s, err);
	if (rc == 0)
		rc = load_requests(s, client, err);
	if (rc == 0 && !s->count)
		rc = no_such_client(s, client, err);
	if (rc == 0)
		rc = load_frames(s, err);
	if (rc)
		run_seen_close(s);
	else
		*ret = s;
	return rc;
}

static void release_request(struct seen_request *r)
{
	free((void *)(uintptr_t)r->path);
	free((void *)(uintptr_t)r->accept);
	free((void *)(uintptr_t)r->content_type);
	free(r->frames);
}

void run_seen_close(struct run_seen *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		release_request(&s->requests[i]);
	free(s->requests);
	sqlite3_finalize(s->frame);
	sqlite3_finalize(s->pieces);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

const struct seen_request *run_seen_requests(const struct run_seen *s, size_t *ret_count)
{
	*ret_count = s->count;
	return s->requests;
}

/* ---- bodies ---- */

static struct slice blob_column(sqlite3_stmt *stmt, int i)
{
	const void *bytes = sqlite3_column_blob(stmt, i);

	return (struct slice){bytes, (size_t)sqlite3_column_bytes(stmt, i)};
}

int run_seen_frame(struct run_seen *s, const struct seen_frame *frame, struct seen_text *ret, struct buf *to,
	struct err *err)
{
	const char *type, *encoding;
	struct slice body;

	sqlite3_reset(s->frame);
	sqlite3_bind_int64(s->frame, 1, frame->row);
	if (sqlite3_step(s->frame) != SQLITE_ROW)
		return unreadable(s, err);
	type = (const char *)sqlite3_column_text(s->frame, 0);
	encoding = (const char *)sqlite3_column_text(s->frame, 1);
	body = blob_column(s->frame, 2);
	*ret = (struct seen_text){type ? type : "", encoding ? encoding : ""};
	return body.len ? buf_append(to, body.ptr, body.len, err) : 0;
}

int run_seen_answer(
	struct run_seen *s, const struct seen_request *r, const struct seen_taker *taker, struct err *err)
{
	int code, rc = 0;

	sqlite3_reset(s->pieces);
	sqlite3_bind_int64(s->pieces, 1, (int64_t)r->id);
	while (rc == 0 && (code = sqlite3_step(s->pieces)) == SQLITE_ROW)
		rc = taker->take(taker->context, blob_column(s->pieces, 1),
			(size_t)sqlite3_column_int64(s->pieces, 0), err);
	if (rc == 0 && code != SQLITE_DONE)
		rc = unreadable(s, err);
	sqlite3_reset(s->pieces);
	return rc;
}
