/*
 * house_internal.h: what house.c, house_block.c (tables, values and blocks), house_rows.c (a segment's rows) and house_audit.c (the
 * audit book's) share.
 */
#ifndef RECORDER_PUSH_HOUSE_INTERNAL_H
#define RECORDER_PUSH_HOUSE_INTERNAL_H

#include "recorder/push/house.h"
#include "schema/tape/reader.h"

#define HOUSE_BLOCK_BYTES (8u << 20)

enum house_table {
	HOUSE_EVENTS,
	HOUSE_GAPS,
	HOUSE_MISSED,
	HOUSE_CONNECTIONS,
	HOUSE_LOGS,
	HOUSE_AUDIT,
	HOUSE_AUDIT_HOURS,
	HOUSE_SEGMENTS,
	HOUSE_TABLES
};

struct house {
	struct house_options options;
	struct clickhouse *server;
	/* The block that is being filled. */
	enum house_table table;
	uint32_t part; /* a segment, or an hour of the audit book */
	unsigned block;
	struct buf rows; /* head_bytes of a head, and rows */
	size_t head_bytes;
	uint64_t attempt;  /* part of the tokens: 0, or a number of its own, so that no block is dropped */
	uint64_t events;   /* rows of the segment in HOUSE_EVENTS */
	struct tape *tape; /* of the segment */
	struct err *err;   /* of the walk */
};

int house_make_tables(struct house *h, struct err *err) MUST_CHECK;
/* Whether one is gone of those that have rows of each segment. */
int house_lacks_table(struct house *h, bool *ret, struct err *err) MUST_CHECK;

/* *ret are the lines that answer "SELECT `what` WHERE ...`rest`", of this tape, in `to`. The first column is a number. ERR_FAILED
 * for an answer that is no such table, or is not whole. */
int house_select(struct house *h, const char *what, const char *rest, struct buf *to, struct slice *ret,
	struct err *err) MUST_CHECK;

/* How many rows the table has of the tape, duplicates among them. `more`: " AND ...", or "". */
int house_count(
	struct house *h, const char *table, const char *more, uint64_t *ret, struct err *err) MUST_CHECK;

/* A number that no other attempt had. */
uint64_t house_attempt(void);

/* A row is its values in the order of the table's columns; negative codes come with h->err. */
int house_begin(struct house *h, enum house_table table) MUST_CHECK;
struct slice house_rows(const struct house *h); /* of the block, borrowed until the next value */
void house_clear(struct house *h);              /* forgets them */
int house_bytes(struct house *h, struct slice bytes) MUST_CHECK;
int house_word(struct house *h, const char *text) MUST_CHECK; /* NULL: the empty one */
int house_flag(struct house *h, bool flag) MUST_CHECK;
int house_small(struct house *h, uint32_t number) MUST_CHECK;
int house_number(struct house *h, uint64_t number) MUST_CHECK;
int house_known(struct house *h, int64_t number) MUST_CHECK; /* negative: NULL */
int house_time(struct house *h, int64_t time_ns) MUST_CHECK;
int house_tape(struct house *h) MUST_CHECK;
int house_place(struct house *h) MUST_CHECK; /* tape and segment */
int house_resource(struct house *h, uint32_t id) MUST_CHECK;
int house_end_row(struct house *h) MUST_CHECK; /* sends the block once it is large */
int house_send(struct house *h) MUST_CHECK;    /* what is left of it */

/* house_rows.c: all of the segment that h->tape shows. */
int house_put_rows(struct house *h, const struct manifest_segment *s, bool with_state) MUST_CHECK;

#endif
