/* audit_carry.c: see audit_carry.h. */
#include "schema/tape/audit_carry.h"

#include "schema/tape/audit_book_internal.h"
#include "schema/tape/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CARRIED_AT_ONCE 10000 /* events in one transaction */

struct carrier {
	struct audit_book **from, *to;
	size_t from_count, done;
	const char *folder;
	bool skips_damage;
};

static int carry_claims(struct carrier *c, const struct audit_claim *claims, int count, struct err *err)
{
	int rc = c->to ? 0 : audit_book_create(c->folder, &c->to, err);

	for (int i = 0; i < count && i < CLAIMS_MAX && rc >= 0; i++)
		rc = audit_book_put(c->to, &claims[i], err);
	if (rc >= 0 && ++c->done % CARRIED_AT_ONCE == 0)
		rc = audit_book_flush(c->to, err);
	return rc < 0 ? rc : 0;
}

static int carry_event(struct carrier *c, const struct event *e, struct err *err)
{
	struct audit_claim claims[CLAIMS_MAX];
	int rc = 0;

	for (size_t i = 0; i < c->from_count && !rc; i++) {
		int count = book_claims_of(c->from[i], e, claims, err);

		if (count > 0)
			rc = carry_claims(c, claims, count, err);
		else if (count < 0 && (count != ERR_CORRUPT || !c->skips_damage))
			rc = count;
	}
	return rc;
}

static int carry_events(struct carrier *c, struct tape *t, struct err *err)
{
	const struct tape_filter all = {0};
	struct tape_cursor *cursor;
	struct event e;
	int more = tape_cursor_open(t, &all, TAPE_STORED, &cursor, err), rc = 0;

	if (more)
		return more;
	while (!rc && (more = tape_cursor_next(cursor, &e, err)) > 0)
		rc = carry_event(c, &e, err);
	tape_cursor_close(cursor);
	return rc ? rc : more;
}

/* Objects that the tape begins with, if it is a part of another one. */
static int carry_state(struct carrier *c, struct tape *t, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc || info.first_seq == 1)
		return rc;
	rc = tape_state_at(t, info.first_seq ? info.first_seq - 1 : UINT64_MAX, 0, &state, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < state->count && !rc; i++) {
		const struct tape_live *live = &state->live[i];

		rc = carry_event(
			c, &(struct event){.type = EVENT_ADDED, .uid = live->uid, .rv = live->rv}, err);
	}
	tape_state_free(state);
	return rc;
}

static int carry_into(struct carrier *c, struct err *err)
{
	struct tape *t;
	int rc = tape_open(c->folder, &t, err);

	if (rc)
		return rc;
	rc = carry_events(c, t, err);
	if (!rc)
		rc = carry_state(c, t, err);
	tape_close(t);
	return rc;
}

/* The new book is whole or not there. */
static int carry_end(struct carrier *c, int rc, struct err *err)
{
	if (c->to && !rc)
		rc = audit_book_flush(c->to, err);
	audit_book_close(c->to);
	for (size_t i = 0; i < c->from_count; i++)
		audit_book_close(c->from[i]);
	free(c->from);
	return rc;
}

int audit_carry(const char *const *from, size_t count, const char *folder, bool skips_damage, struct err *err)
{
	struct carrier c = {.from = xcalloc(count, sizeof(*c.from)),
		.from_count = count,
		.folder = folder,
		.skips_damage = skips_damage};
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		rc = audit_book_open(from[i], &c.from[i], err);
		if (skips_damage && rc == ERR_CORRUPT)
			rc = 0;
		any = any || c.from[i];
	}
	if (!rc && any)
		rc = carry_into(&c, err);
	return carry_end(&c, rc, err);
}

/* ---- with other names ---- */

struct renaming {
	struct carrier carrier;
	const struct audit_rewrite *rewrite;
	struct err *err;
};

static int carry_renamed(void *context, const struct audit_claim *claim)
{
	struct renaming *r = context;
	struct audit_claim own = *claim;
	int rc = r->rewrite ? r->rewrite->rewrite(r->rewrite->context, &own, r->err) : 0;

	return rc ? rc : carry_claims(&r->carrier, &own, 1, r->err);
}

int audit_carry_all(
	const char *from, const char *folder, const struct audit_rewrite *rewrite, struct err *err)
{
	struct renaming r = {.carrier = {.folder = folder}, .rewrite = rewrite, .err = err};
	struct audit_book *book;
	int rc = audit_book_open(from, &book, err);

	if (rc || !book)
		return rc;
	rc = audit_book_each(book, carry_renamed, &r, err);
	audit_book_close(book);
	return carry_end(&r.carrier, rc, err);
}

/* ---- beside one file ---- */

int audit_carry_out(const char *folder, const char *file, struct err *err)
{
	char *from = audit_book_path(folder), *to = audit_book_path(file);
	int rc = 0;

	if (access(from, F_OK) == 0 && rename(from, to))
		rc = err_set_errno(err, errno, "cannot rename '%s' to '%s'", from, to);
	free(from);
	free(to);
	return rc;
}
