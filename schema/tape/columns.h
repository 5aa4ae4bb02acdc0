/*
 * columns.h: the columns of an extent's index: which there are, and how a value is put into one and got out
 * of it. The order of the enum is the order in the file; FORMAT.md ("Index of an extent") says what each
 * value means.
 */
#ifndef SCHEMA_TAPE_COLUMNS_H
#define SCHEMA_TAPE_COLUMNS_H

#include "schema/base/buf.h"
#include "schema/base/varint.h"

enum column {
	COLUMN_BLOCK,     /* a block: events << 1 | kind */
	COLUMN_RESOURCE,  /* an object: resource id minus that of the object before */
	COLUMN_RUN,       /* an object: how many events */
	COLUMN_NAMESPACE, /* an object: text, sharing a prefix with the object before */
	COLUMN_NAME,      /* an object: text, likewise */
	COLUMN_UID,       /* an object: 0 and 16 bytes for a canonical UUID, else length + 1 and bytes */
	COLUMN_PLACE,     /* layout order: zigzag of the event's index minus that of the one before */
	COLUMN_LENGTH,    /* layout order: zigzag of the length minus that of the one before */
	COLUMN_SEQ,       /* seq order: seq minus that of the one before, minus one */
	COLUMN_TIME,      /* seq order: zigzag of time_ns minus that of the one before */
	COLUMN_HEAD,      /* seq order, or layout order (by_object): type, origin and flags */
	COLUMN_STREAM,    /* likewise: stream id */
	COLUMN_RV,        /* seq order: 0 for a text, else 1 + zigzag of the distance from the last number */
	COLUMN_RV_TEXT,   /* one for each 0 above: text */
	/* Of a compact index alone, where COLUMN_NAME has what is shared, and times are counted in units. */
	COLUMN_NAME_LENGTH, /* an object: the rest's length */
	COLUMN_NAME_BYTES,  /* an object: the rest */
	COLUMN_COUNT,
};
#define COLUMN_COUNT_PLAIN COLUMN_NAME_LENGTH

/* Where the parts of a text go: one after the other into one column, or each into its own. */
struct text_columns {
	enum column shared, length, bytes;
};

struct columns;
struct columns *columns_new(void);
void columns_free(struct columns *c);
void column_put(struct columns *c, enum column column, uint64_t value);
void column_put_text(struct columns *c, enum column column, struct slice previous, struct slice text);
void column_put_parts(
	struct columns *c, const struct text_columns *columns, struct slice previous, struct slice text);
void column_put_uid(struct columns *c, enum column column, struct slice uid);
/* The digits of a number, valid until the next call. */
struct slice column_number_text(struct columns *c, uint64_t number);
/* The whole index: counts, the length of each column, the columns. unit: of the times in a compact one, in ns; 0: it is
 * not compact. */
int columns_write(struct columns *c, size_t events, size_t objects, size_t blocks, uint64_t unit,
	struct buf *to, struct err *err) MUST_CHECK;

struct column_reader {
	size_t events, objects, blocks;
	uint64_t unit;  /* of the times, in ns */
	bool by_object; /* heads and streams are in layout order */
	struct text_columns names;
	struct varint_reader columns[COLUMN_COUNT];
};

/* Borrows index. Counts are checked against the columns' lengths, so that they may
 * be trusted for allocation. */
int column_reader_begin(struct slice index, struct column_reader *ret, struct err *err) MUST_CHECK;

static inline uint64_t column_get(struct column_reader *r, enum column column)
{
	return varint_get(&r->columns[column]);
}

/* Rebuilds a text in `scratch` (at least LIMIT_NAME_BYTES); {NULL, 0} when damaged, and the column has
 * failed. */
struct slice column_get_text(
	struct column_reader *r, enum column column, struct slice previous, char *scratch);
struct slice column_get_parts(
	struct column_reader *r, const struct text_columns *columns, struct slice previous, char *scratch);
struct slice column_get_uid(struct column_reader *r, enum column column, char *scratch);

/* True if every column was read to its end without a failure. */
bool column_reader_done(const struct column_reader *r);

#endif
