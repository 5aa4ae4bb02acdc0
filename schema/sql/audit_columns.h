/* audit_columns.h: who made an event, as columns, according to the tape's audit book
 * (schema/tape/audit_book.h). */
#ifndef SCHEMA_SQL_AUDIT_COLUMNS_H
#define SCHEMA_SQL_AUDIT_COLUMNS_H

#include "schema/sql/vtab.h"

/* In the order of AUDIT_COLUMNS, which tables of events have hidden, after their own. */
enum audit_column {
	AUDIT_USER,
	AUDIT_USER_AGENT,
	AUDIT_SOURCE_IP,
	AUDIT_VERB,
	AUDIT_COLUMN_COUNT,
	/* Of the table `audit` alone. */
	AUDIT_SUBRESOURCE = AUDIT_COLUMN_COUNT,
	AUDIT_IMPERSONATED_USER,
	AUDIT_REQUESTED,
	AUDIT_ANSWERED,
	AUDIT_HOW,
	AUDIT_ID,
};
#define AUDIT_COLUMNS ", user TEXT HIDDEN, user_agent TEXT HIDDEN, source_ip TEXT HIDDEN, verb TEXT HIDDEN"

/* The request that made the event: 1 and its claim, borrowed until the next call; 0: it is not known. */
int audit_columns_find(
	struct tape_handle *h, const struct event *e, struct audit_claim *ret, struct err *err) MUST_CHECK;

/* One of AUDIT_COLUMNS; NULL where it is not known. */
int audit_columns_result(struct tape_handle *h, sqlite3_context *context, const struct event *e, int column,
	struct err *err) MUST_CHECK;

/* Any column of a claim. */
void audit_claim_result(sqlite3_context *context, const struct audit_claim *c, int column);

#endif
