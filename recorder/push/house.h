/*
 * house.h: what a ClickHouse database has of tapes. It makes its tables where they lack:
 *
 *   events, gaps, missed, connections, logs
 *                the rows of every segment, each with cluster, tape and segment
 *   segments     a row for each segment whose rows are all there, written last: the account
 *   audit        what the audit book says of each event that it knows
 *   audit_hours  a row for each hour of requests whose answers are all there: the account of those
 *
 * Rows are inserted in blocks with a token made of the block's place and of its bytes. A segment that was inserted in part is
 * inserted again whole: the server drops the blocks that it remembers, and ReplacingMergeTree those that it does not. Where
 * rows lack afterwards, because the server remembers some that somebody removed, all come once more with other tokens.
 */
#ifndef RECORDER_PUSH_HOUSE_H
#define RECORDER_PUSH_HOUSE_H

#include "recorder/push/clickhouse.h"
#include "recorder/push/manifest.h"

struct house;

/* Texts are borrowed. */
struct house_options {
	const char *url, *cluster, *tape_id;
	const struct s3_options *store; /* how to wait */
};
int house_open(const struct house_options *options, struct house **ret, struct err *err) MUST_CHECK;
void house_close(struct house *h); /* accepts NULL */

const char *house_url(const struct house *h); /* borrowed */

/* Adds the tape's segments that are there. If a table is gone, it is made again, and they are all off (is_off). */
int house_read(struct house *h, struct manifest *to, struct err *err) MUST_CHECK;

/* Inserts the rows of a sealed segment, and first its state, the objects that were live at its beginning, if nothing before it is
 * there. */
int house_put(struct house *h, const char *path, const struct manifest_segment *s, bool with_state,
	struct err *err) MUST_CHECK;

/* Inserts the new entries of the tape's audit book; nothing if there is no book. */
int house_put_audit(struct house *h, const char *tape_path, struct err *err) MUST_CHECK;

/* All of it is there. */
int house_note(struct house *h, const struct manifest_segment *s, struct err *err) MUST_CHECK;

#endif
