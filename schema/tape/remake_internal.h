/*
 * remake_internal.h: what remake.c (the order of things), remake_events.c, remake_streams.c (resources and
 * streams, and where the stretch begins in each), remake_rows.c, remake_gaps.c and remake_documents.c share, and
 * what new_tape.c makes one segment of several with.
 */
#ifndef SCHEMA_TAPE_REMAKE_INTERNAL_H
#define SCHEMA_TAPE_REMAKE_INTERNAL_H

#include "schema/tape/coverage.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/remake.h"
#include "schema/tape/row_reader.h"
#include "schema/tape/seq_map.h"
#include "schema/tape/writer_internal.h"

/* A document that is kept: its texts are copies, its body stays on the old tape. */
struct kept_document {
	struct tape_document document;
	bool begins;   /* it is from before the stretch */
	bool replaced; /* and so is a later one of its path and variant */
};

/* A gap that is kept, for the differences that name it. */
struct kept_gap {
	uint64_t id;
	uint32_t stream;
};

/* A stream of the old tape, and what becomes of it. */
struct remade_stream {
	uint32_t *ids; /* in the new tape: one, or one for each wanted namespace; NULL: it is not kept */
	uint32_t count;
	bool by_namespace; /* ids are in the order of the wanted namespaces */
	/* Where the stretch begins: whether the stream was listed by then, and the version it had. */
	bool listed;
	char *rv;          /* NULL: not known */
	uint64_t mark_seq; /* of the last mark before: events after it may have higher versions */
};

/* The first event of a stream of the new tape that a hook refused; an old seq, 0: there is none. */
struct left_out {
	uint64_t seq;
	int64_t time_ns;
};

struct remake {
	struct tape *from;
	const struct remake_options *o;
	struct remake_result result;
	struct tape_info info;
	struct tape_writer *w;
	uint64_t first_seq, last_seq; /* the events of the stretch; last before first: there are none */
	bool whole;                   /* every event of it is kept, as it is or rewritten */
	struct seq_map seqs;
	struct remade_stream *streams; /* [old id - 1] */
	size_t stream_count;
	uint32_t *resources;      /* [old id - 1]: the new id, or 0 */
	struct tape_state *state; /* at the beginning */
	bool *state_wanted;
	/* Ids of connections and gaps: the old one times this, for a stream that becomes several. */
	int64_t id_spread;
	struct coverage *coverage;
	struct kept_gap *gaps; /* in the order of ids */
	size_t gap_count;
	struct row_reader readers[TABLE_COUNT];
	struct value
		*held[TABLE_COUNT]; /* of rows that hold until the next one: the last before the stretch */
	bool begun[TABLE_COUNT];    /* what held at the beginning is on the new tape */
	struct kept_document *documents;
	size_t document_count;
	struct left_out *left_out; /* [new stream id - 1] */
	size_t left_out_count;
	struct buf names;
	struct buf scratch; /* of names that were read off a rewritten object */
};

/* Whether a row of that position and time counts as before the point. A NULL point is before everything. */
bool remake_passed(const struct remake_point *p, uint64_t seq, int64_t time_ns);

/* remake.c: makes the tape in a folder that is empty or not there. */
int remake_into(struct tape *from, const char *folder, const struct remake_options *options,
	struct remake_result *ret, struct err *err) MUST_CHECK;

/* remake_streams.c */
int remake_registry(struct remake *r, struct err *err) MUST_CHECK;
void remake_streams_release(struct remake *r);
/* NULL: it is not kept. */
struct remade_stream *remake_stream(const struct remake *r, uint32_t old_id);
/* The id of the stream that an object of that namespace belongs to now; 0: none. */
uint32_t remake_stream_id(const struct remake *r, uint32_t old_id, struct slice namespace);
/* Finds each stream's version at the beginning; writes marks that record it, and gaps of streams that lack
 * events. */
int remake_find_begins(struct remake *r, struct err *err) MUST_CHECK;
void remake_put_begins(struct remake *r);
void remake_note_left_out(struct remake *r, uint32_t new_id, uint64_t seq, int64_t time_ns);
void remake_put_left_out(struct remake *r);

/* remake_events.c */
int remake_choose_state(struct remake *r, struct err *err) MUST_CHECK;
/* As the writer's seed. */
int remake_put_state(void *context, sqlite3 *db, int64_t *extent_id, struct err *err) MUST_CHECK;
int remake_put_events(struct remake *r, size_t segment, struct err *err) MUST_CHECK;

/* remake_rows.c */
int remake_rows_open(struct remake *r, struct err *err) MUST_CHECK;
void remake_rows_close(struct remake *r);
/* Those of a segment of the old tape, which come in order, after its events. */
int remake_put_rows(struct remake *r, size_t segment, struct err *err) MUST_CHECK;
/* Rows that were valid at the beginning, unless a row of the part has them. */
void remake_put_held(struct remake *r);
/* Makes one row of the new tape of the values, as they are or as a hook makes them. */
int remake_put_row(struct remake *r, enum table table, struct value *values, struct err *err) MUST_CHECK;

/* remake_gaps.c: gaps, even those without a row, and the differences that were found after them. */
int remake_put_gaps(struct remake *r, struct err *err) MUST_CHECK;
int remake_put_missed(struct remake *r, struct err *err) MUST_CHECK;

/* remake_documents.c */
int remake_choose_documents(struct remake *r, struct err *err) MUST_CHECK;
void remake_documents_release(struct remake *r);
/* Those of the stretch in a segment of the old tape; before the first of them those that held at the
 * beginning, in whichever segment. */
int remake_put_begin_documents(struct remake *r, struct err *err) MUST_CHECK;
int remake_put_documents(struct remake *r, size_t segment, struct err *err) MUST_CHECK;

#endif
