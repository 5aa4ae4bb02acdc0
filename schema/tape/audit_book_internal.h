/* audit_book_internal.h: what audit_book.c (the file), audit_claims.c (its answers), audit_carry.c and audit_keep.c share. */
#ifndef SCHEMA_TAPE_AUDIT_BOOK_INTERNAL_H
#define SCHEMA_TAPE_AUDIT_BOOK_INTERNAL_H

#include "schema/tape/audit_book.h"
#include "schema/tape/segment.h"

#define CLAIMS_MAX 16 /* of one event: more of them decide nothing */

#define CLAIM_COLUMNS                                                                                        \
	"uid, rv, audit_id, verb, subresource, user, impersonated_user, user_agent, source_ip, how, alone, " \
	"begin_ns, end_ns, sum"
#define CLAIM_ROWS "SELECT " CLAIM_COLUMNS " FROM claim LEFT JOIN actor ON actor.id = claim.actor"

enum book_statement {
	FIND_CLAIMS,
	ADD_ACTOR,
	FIND_ACTOR,
	ADD_CLAIM,
	BOOK_STATEMENTS,
};

/* Hashes of the claimed events, so that the many events without a claim need no access to the file. */
struct book_keys {
	uint64_t *slots; /* 0: empty */
	size_t size, count;
};

struct audit_book {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *statements[BOOK_STATEMENTS];
	bool in_transaction;
	struct book_keys keys;
	int64_t data_version; /* of the keys */
	struct buf texts;     /* of the claims of one event */
};

/* The key of a claim. */
uint64_t book_key(struct slice uid, struct slice rv);
bool book_has_key(const struct book_keys *s, uint64_t key);

/* A row of CLAIM_ROWS; the slices point into the statement, until its next step. */
struct slice book_text_at(sqlite3_stmt *row, int column);
struct audit_claim book_claim(sqlite3_stmt *row);
bool book_is_intact(sqlite3_stmt *row, const struct audit_claim *c);
int book_damaged(const struct audit_book *b, const struct audit_claim *c, struct err *err);
void book_bind(sqlite3_stmt *stmt, int index, struct slice text);

/* Every claim of the event; CLAIMS_MAX + 1 is returned for more than CLAIMS_MAX. Their texts are the book's
 * until the next call. */
int book_claims_of(
	struct audit_book *b, const struct event *e, struct audit_claim to[CLAIMS_MAX], struct err *err);

#endif
