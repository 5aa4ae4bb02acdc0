/*
 * clickhouse.h: statements for a ClickHouse server over its HTTP interface.
 *
 * Calls wait until they are answered; a server that is busy or away is asked again for as long as the options say.
 * Errors: ERR_USAGE, ERR_DENIED, ERR_NOT_FOUND no such table, ERR_FAILED what else the server refuses, in its words;
 * ERR_NETWORK, ERR_STOPPED, ERR_TOO_LARGE. Not thread-safe.
 */
#ifndef RECORDER_PUSH_CLICKHOUSE_H
#define RECORDER_PUSH_CLICKHOUSE_H

#include "recorder/push/s3.h"

/* clickhouse+http://[USER@]HOST[:PORT]/DATABASE, or clickhouse+https; also malformed ones. */
bool clickhouse_is_url(const char *text);

struct clickhouse;

/* Asks nobody yet. User and password are those of the URL and of CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. Of the options
 * those count that say how to wait. */
int clickhouse_open(const char *url, const struct s3_options *options, struct clickhouse **ret,
	struct err *err) MUST_CHECK;
void clickhouse_close(struct clickhouse *c); /* accepts NULL */

/* The URL without a user; borrowed. */
const char *clickhouse_url(const struct clickhouse *c);

/* Executes; what the server answers is appended to `to` (may be NULL). */
int clickhouse_ask(struct clickhouse *c, const char *sql, struct buf *to, struct err *err) MUST_CHECK;

/* Inserts rows in the format RowBinaryWithNamesAndTypes: the table may have other columns, and is refused where it has
 * these with other types. Rows that were inserted with that token before are not inserted again. */
int clickhouse_insert(struct clickhouse *c, const char *table, struct slice rows, const char *token,
	struct err *err) MUST_CHECK;

/* Appends the text as a string of SQL, with its quotes. */
int clickhouse_quote(const char *text, struct buf *to, struct err *err) MUST_CHECK;

#endif
