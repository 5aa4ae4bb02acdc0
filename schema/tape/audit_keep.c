/* audit_keep.c: see audit_keep.h. */
#include "schema/tape/audit_keep.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/text_map.h"
#include "schema/tape/audit_book_internal.h"
#include "schema/tape/reader.h"

#include <stdlib.h>
#include <unistd.h>

/* By how much the server's clock may differ from the recorder's. */
#define CLOCKS_NS (600 * NS_PER_S)

/* ---- what stays ---- */

/* Versions of objects that the tape begins with. */
struct first_state {
	struct tape_state *state;
	struct text_map versions; /* their resourceVersions, by uid */
	char **texts;
	size_t text_count;
};

static char *keep_text(struct first_state *s, struct slice text)
{
	s->texts = xgrow(s->texts, s->text_count, sizeof(*s->texts));
	return s->texts[s->text_count++] = slice_dup(text);
}

static int load_state(struct tape *t, uint64_t first_seq, struct first_state *s, struct err *err)
{
	int rc = tape_state_at(t, first_seq - 1, 0, &s->state, err);

	for (size_t i = 0; !rc && i < s->state->count; i++) {
		const struct tape_live *live = &s->state->live[i];

		text_map_put(&s->versions, keep_text(s, live->uid), keep_text(s, live->rv));
	}
	return rc;
}

static void release_state(struct first_state *s)
{
	tape_state_free(s->state);
	text_map_release(&s->versions);
	for (size_t i = 0; i < s->text_count; i++)
		free(s->texts[i]);
	free(s->texts);
}

static bool is_first_version(const struct first_state *s, struct slice uid, struct slice rv)
{
	char *key = slice_dup(uid);
	const char *version = text_map_get(&s->versions, key);

	free(key);
	return version && slice_is(rv, version);
}

/* ---- removing ---- */

static int delete_claim(struct audit_book *b, sqlite3_stmt *stmt, sqlite3_stmt *row, struct err *err)
{
	int step;

	for (int i = 0; i < 3; i++)
		book_bind(stmt, i + 1, book_text_at(row, i));
	step = sqlite3_step(stmt);
	sqlite3_reset(stmt);
	return step == SQLITE_DONE ? 0 : segment_failed(b->db, err, "cannot write '%s'", b->path);
}

/* Rows are deleted behind the one at which the walk stands. */
static int64_t delete_older(
	struct audit_book *b, const struct first_state *s, int64_t before_ns, struct err *err)
{
	sqlite3_stmt *rows = NULL, *stmt = NULL;
	int64_t count = 0;
	int step, rc = segment_prepare(b->db,
			  "SELECT uid, rv, audit_id FROM claim WHERE end_ns < ?1 ORDER BY uid, rv, audit_id",
			  &rows, err);

	if (!rc)
		rc = segment_prepare(
			b->db, "DELETE FROM claim WHERE uid = ?1 AND rv = ?2 AND audit_id = ?3", &stmt, err);
	if (!rc)
		sqlite3_bind_int64(rows, 1, before_ns);
	while (!rc && (step = sqlite3_step(rows)) != SQLITE_DONE) {
		if (step != SQLITE_ROW) {
			rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
		} else if (!is_first_version(s, book_text_at(rows, 0), book_text_at(rows, 1))) {
			rc = delete_claim(b, stmt, rows, err);
			count++;
		}
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(stmt);
	return rc ? rc : count;
}

static int64_t prune(struct audit_book *b, const struct first_state *s, int64_t before_ns, struct err *err)
{
	int64_t count;
	int rc = segment_exec(b->db, "BEGIN IMMEDIATE", err);

	if (rc)
		return rc;
	count = delete_older(b, s, before_ns, err);
	if (count > 0)
		rc = segment_exec(b->db, "DELETE FROM actor WHERE id NOT IN (SELECT actor FROM claim)", err);
	rc = count < 0 ? (int)count : rc;
	rc = rc ? rc : segment_exec(b->db, "COMMIT", err);
	return rc ? rc : count;
}

static int64_t prune_of(struct tape *t, const char *path, struct err *err)
{
	struct first_state state = {0};
	struct audit_book *b = NULL;
	struct tape_info info;
	int64_t count = 0;
	int rc = tape_info(t, &info, err);

	if (rc || info.first_seq <= 1)
		return rc;
	rc = load_state(t, info.first_seq, &state, err);
	if (!rc)
		rc = audit_book_create(path, &b, err);
	if (!rc)
		count = prune(b, &state, time_sub(info.first_time_ns, CLOCKS_NS), err);
	audit_book_close(b);
	release_state(&state);
	return rc ? rc : count;
}

static bool has_book(const char *tape_path)
{
	char *path = audit_book_path(tape_path);
	bool has = access(path, F_OK) == 0;

	free(path);
	return has;
}

int64_t audit_book_prune(const char *tape_path, struct err *err)
{
	struct tape *t;
	int64_t count;
	int rc;

	if (!has_book(tape_path))
		return 0;
	rc = tape_open(tape_path, &t, err);
	if (rc)
		return rc;
	count = prune_of(t, tape_path, err);
	tape_close(t);
	return count;
}

/* ---- copying ---- */

int audit_book_copy(const char *tape_path, const char *to, struct err *err)
{
	struct audit_book *b;
	sqlite3_stmt *stmt;
	int rc = audit_book_open(tape_path, &b, err);

	if (rc || !b)
		return rc;
	rc = segment_prepare(b->db, "VACUUM INTO ?1", &stmt, err);
	if (!rc) {
		book_bind(stmt, 1, slice_of(to));
		if (sqlite3_step(stmt) != SQLITE_DONE)
			rc = segment_failed(b->db, err, "cannot copy '%s' to '%s'", b->path, to);
		sqlite3_finalize(stmt);
	}
	audit_book_close(b);
	return rc ? rc : 1;
}
