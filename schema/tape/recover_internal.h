/*
 * recover_internal.h: shared by recover.c (the whole), recover_plan.c (what is lost), recover_tell.c (reports
 * it) and recover_write.c (the new tape).
 */
#ifndef SCHEMA_TAPE_RECOVER_INTERNAL_H
#define SCHEMA_TAPE_RECOVER_INTERNAL_H

#include "schema/tape/recover.h"
#include "schema/tape/salvage_extent.h"

/* Why a run of seqs is not there, with a number for the sentence. */
enum hole_why {
	HOLE_NO_EXTENT,       /* extent N cannot be found */
	HOLE_BAD_INDEX,       /* the index of extent N is damaged */
	HOLE_BAD_CHUNKS,      /* chunks of extent N are damaged */
	HOLE_NO_SEGMENT,      /* the segment is missing */
	HOLE_NO_LAST_EXTENT,  /* its last extent cannot be found */
	HOLE_BAD_LAST_EXTENT, /* the last extent cannot be read */
};

/* The old tape's seqs, in order and without holes between them: each span is a hole, or the events of an
 * extent. */
struct span {
	uint64_t first, last;
	uint64_t lost_before;       /* seqs lost in spans before, rescued ones among them */
	size_t segment;             /* SIZE_MAX: of a segment that is not there */
	struct kept_extent *extent; /* NULL: a hole */
	enum hole_why why;
	int64_t number;
};

/* Successive seqs that are lost. */
struct lost_run {
	uint64_t first, last;
	const struct span *span;
};

/* An event that is lost in its place but is in a later segment's state. */
struct rescued {
	uint64_t seq;
	uint32_t segment, extent, index;
};

struct recovery {
	const struct tape_recover_options *options;
	struct salvaged *segments;
	size_t segment_count;
	struct registry registry;     /* of all segments */
	uint64_t first_seq, last_seq; /* of the old tape, as far as known */
	struct span *spans;
	size_t span_count;
	struct rescued *rescued; /* sorted by seq */
	size_t rescued_count;
	struct tape_recover_result result;
	uint64_t told; /* losses */
	uint64_t done_bytes, total_bytes;
};

/* recover_plan.c: what is lost, what is rescued. */
int recover_plan(struct recovery *r, struct err *err) MUST_CHECK;
/* The seq that an old one has in the new tape: of a lost one, that of the last one before it. */
uint64_t recover_map(const struct recovery *r, uint64_t seq);
/* The first run of lost seqs at or after that one; false if there is none. */
bool recover_next_run(const struct recovery *r, uint64_t seq, struct lost_run *ret);

/* recover_tell.c: all that is not in the new tape. */
int recover_tell(struct recovery *r, struct err *err) MUST_CHECK;

/* recover_write.c */
int recover_write(struct recovery *r, const char *to, struct err *err) MUST_CHECK;

#endif
