/*
 * audit_claims.c: the answers of an audit book: which of the requests that claim an event made it.
 */
#include "schema/tape/audit_book_internal.h"

#include "schema/base/count_of.h"

const char *audit_how_name(enum audit_how how)
{
	return how == AUDIT_BY_VERSION ? "version" : how == AUDIT_BY_UID ? "uid" : "moment";
}

static int keep_text(struct audit_book *b, struct slice *text, struct err *err)
{
	size_t begin = b->texts.len;
	int rc = buf_append(&b->texts, text->ptr, text->len, err);

	text->ptr = b->texts.ptr + begin;
	return rc;
}

static int keep_claim(struct audit_book *b, struct audit_claim *c, struct err *err)
{
	struct slice *const texts[] = {&c->uid, &c->rv, &c->audit_id, &c->verb, &c->subresource, &c->user,
		&c->impersonated_user, &c->user_agent, &c->source_ip};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = keep_text(b, texts[i], err);
	return rc;
}

/* All claims of one event, CLAIMS_MAX + 1 for more of them; their texts are kept in the book. */
static int read_claims(struct audit_book *b, struct slice uid, struct slice rv,
	struct audit_claim to[CLAIMS_MAX], struct err *err)
{
	sqlite3_stmt *rows = b->statements[FIND_CLAIMS];
	int count = 0, step = SQLITE_DONE, rc = 0;

	buf_clear(&b->texts);
	if (!buf_reserve(&b->texts, b->texts.max)) /* so that nothing moves */
		return err_set(err, ERR_TOO_LARGE, "no memory for the claims of an event");
	book_bind(rows, 1, uid);
	book_bind(rows, 2, rv);
	while (!rc && count <= CLAIMS_MAX && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct audit_claim c = book_claim(rows);

		if (!book_is_intact(rows, &c))
			rc = book_damaged(b, &c, err);
		else if (count < CLAIMS_MAX && !(rc = keep_claim(b, &c, err)))
			to[count] = c;
		count++;
	}
	if (!rc && step != SQLITE_DONE && step != SQLITE_ROW)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	sqlite3_reset(rows);
	return rc ? rc : count;
}

/* A deletecollection answers what it listed; what others deleted before it came to that is among it all the same. */
static bool is_listed(const struct audit_claim *a)
{
	return !a->rv.len && slice_is(a->verb, "deletecollection");
}

/* Whether `a` was over when all others of its kind had yet to come. */
static bool is_before_all(const struct audit_claim *all, int count, const struct audit_claim *a)
{
	for (int i = 0; i < count; i++) {
		if (&all[i] == a || all[i].how == AUDIT_BY_MOMENT || (is_listed(&all[i]) && !is_listed(a)))
			continue;
		if (all[i].begin_ns <= a->end_ns)
			return false;
	}
	return true;
}

/* The claim that is the answer, or NULL. */
static const struct audit_claim *choose_claim(const struct audit_claim *all, int count)
{
	const struct audit_claim *listed = NULL;
	int sure = 0;

	if (count > CLAIMS_MAX)
		return NULL;
	for (int i = 0; i < count; i++) {
		sure += all[i].how != AUDIT_BY_MOMENT;
		if (all[i].how == AUDIT_BY_MOMENT || !is_before_all(all, count, &all[i]))
			continue;
		if (!is_listed(&all[i]))
			return &all[i];
		listed = &all[i];
	}
	if (listed)
		return listed;
	return !sure && count == 1 && all[0].alone ? &all[0] : NULL;
}

int book_claims_of(
	struct audit_book *b, const struct event *e, struct audit_claim to[CLAIMS_MAX], struct err *err)
{
	struct slice rv = e->type == EVENT_DELETED ? (struct slice){"", 0} : e->rv;

	if (!b || !e->uid.len || !book_has_key(&b->keys, book_key(e->uid, rv)))
		return 0;
	return read_claims(b, e->uid, rv, to, err);
}

int audit_book_find(struct audit_book *b, const struct event *e, struct audit_claim *ret, struct err *err)
{
	struct audit_claim all[CLAIMS_MAX];
	const struct audit_claim *found;
	int count = book_claims_of(b, e, all, err);

	if (count <= 0)
		return count;
	found = choose_claim(all, count);
	if (found)
		*ret = *found;
	return found != NULL;
}

/* ---- all of it ---- */

int audit_book_answers(struct audit_book *b, int (*each)(void *context, const struct audit_answer *answer),
	void *context, struct err *err)
{
	struct audit_claim all[CLAIMS_MAX];
	sqlite3_stmt *rows;
	int step = SQLITE_DONE,
	    rc = segment_prepare(b->db,
		    "SELECT uid, rv, min(begin_ns) FROM claim GROUP BY uid, rv ORDER BY 3, 1, 2", &rows, err);

	if (rc)
		return rc;
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct audit_answer a = {
			book_text_at(rows, 0), book_text_at(rows, 1), sqlite3_column_int64(rows, 2), NULL};
		int count = read_claims(b, a.uid, a.rv, all, err);

		a.claim = count > 0 ? choose_claim(all, count) : NULL;
		rc = count < 0 ? count : each(context, &a);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	sqlite3_finalize(rows);
	return rc;
}

int audit_book_count(struct audit_book *b, struct audit_book_counts *ret, struct err *err)
{
	struct audit_claim all[CLAIMS_MAX];
	sqlite3_stmt *rows;
	int step, count = 0, rc = segment_prepare(b->db, "SELECT DISTINCT uid, rv FROM claim", &rows, err);

	if (rc)
		return rc;
	*ret = (struct audit_book_counts){0};
	while ((step = sqlite3_step(rows)) == SQLITE_ROW && count >= 0) {
		count = read_claims(b, book_text_at(rows, 0), book_text_at(rows, 1), all, err);
		ret->events++;
		ret->disputed += count >= 0 && !choose_claim(all, count);
	}
	if (count >= 0 && step != SQLITE_DONE)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	sqlite3_finalize(rows);
	return count < 0 ? count : rc;
}

int audit_book_each(struct audit_book *b, int (*each)(void *context, const struct audit_claim *claim),
	void *context, struct err *err)
{
	sqlite3_stmt *rows;
	int step = SQLITE_DONE, rc = segment_prepare(b->db, CLAIM_ROWS, &rows, err);

	if (rc)
		return rc;
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct audit_claim c = book_claim(rows);

		rc = book_is_intact(rows, &c) ? each(context, &c) : book_damaged(b, &c, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	sqlite3_finalize(rows);
	return rc;
}

void audit_book_verify(struct audit_book *b, void (*damaged)(void *context, const char *what), void *context)
{
	sqlite3_stmt *rows = NULL;
	struct err err = {0};
	int step = SQLITE_DONE, rc = segment_prepare(b->db, CLAIM_ROWS, &rows, &err);

	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct audit_claim c = book_claim(rows);

		if (book_is_intact(rows, &c))
			continue;
		(void)book_damaged(b, &c, &err);
		damaged(context, err.text);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(b->db, &err, "cannot read '%s'", b->path);
	if (rc)
		damaged(context, err.text);
	sqlite3_finalize(rows);
}
