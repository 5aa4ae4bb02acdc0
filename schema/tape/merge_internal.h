/*
 * merge_internal.h: what merge.c (the order of things), merge_order.c (events and marks of both in one order),
 * merge_events.c (which of them go into the new tape), merge_gaps.c (what neither saw) and merge_rows.c (everything else)
 * share.
 */
#ifndef SCHEMA_TAPE_MERGE_INTERNAL_H
#define SCHEMA_TAPE_MERGE_INTERNAL_H

#include "schema/base/text_map.h"
#include "schema/tape/coverage.h"
#include "schema/tape/merge.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/writer_internal.h"

/* In this order if they are of one time. */
enum merge_rank {
	MERGE_STATE,   /* an object that a tape begins with */
	MERGE_LISTED,  /* an event that no watch saw */
	MERGE_LIST,    /* a mark: a list is complete */
	MERGE_WATCHED, /* an event that a watch saw */
	MERGE_MARK,    /* another mark */
};

/* An event, an object that a tape begins with, or a mark of one of the tapes. */
struct merge_entry {
	int64_t time_ns;
	uint64_t rv;       /* of what a watch saw, if it is a number; else 0 */
	uint64_t seq;      /* of an event; of a mark: its index */
	uint32_t resource; /* of the new tape */
	uint8_t source, rank;
};

/* One tape's information about a stream. */
struct merge_mark {
	struct tape_mark mark; /* own texts; the stream is that of the new tape */
};

/* A gap of one of them, with its end where it has one. */
struct merge_gap {
	struct tape_gap gap; /* own texts */
	int64_t end_ns;      /* INT64_MAX: open */
};

struct merge_source {
	struct tape *tape;
	struct tape_info info;
	struct coverage *coverage;
	struct tape_span span;
	int64_t shift_ns;              /* to be taken off its times */
	uint32_t *resources, *streams; /* [old id - 1]: new ids */
	struct merge_mark *marks;
	struct merge_gap *gaps;
	size_t mark_count, gap_count;
	uint64_t *seqs; /* [old seq - first]: the last event of the new tape when it was its turn */
	uint64_t *kept; /* [the same]: its own number there, 0: the other one has it, or it is older */
};

/* An object of the new tape as it was last. */
struct merge_live {
	char *key, *uid, *rv;
	struct slice namespace; /* in key */
	uint32_t resource, stream;
	uint64_t seq; /* of the source's event */
	uint8_t source;
	bool lives;
	bool in[2]; /* according to that source's own events, it is live */
};

struct merge {
	struct merge_source sources[2];
	const struct merge_options *o;
	struct merge_result result;
	struct tape_writer *w;
	struct merge_entry *entries;
	size_t entry_count;
	struct text_map live; /* struct merge_live by "resource namespace/name" */
	struct merge_live **lives;
	size_t live_count;
	bool *listed;      /* [new stream id - 1]: a list of it is on the new tape */
	char **highest;    /* [new stream id - 1]: version given by a mark, or NULL */
	int64_t *times_ns; /* of the events of the new tape */
	size_t time_count;
	struct buf names;
};

static inline int64_t merge_time(const struct merge_source *s, int64_t time_ns)
{
	return time_ns - s->shift_ns;
}

/* merge_order.c */
int merge_read(
	struct merge *m, struct err *err) MUST_CHECK; /* entries, marks; the shift of the second tape */
void merge_sort(struct merge *m);

/* merge_events.c */
int merge_put_entries(struct merge *m, struct err *err) MUST_CHECK;
void merge_events_release(struct merge *m);

/* merge_gaps.c */
int merge_read_gaps(struct merge *m, struct err *err) MUST_CHECK;
/* Whether that source watched at that time, of the new tape, all that the stream shows. */
bool merge_was_seen_at(const struct merge *m, size_t source, uint32_t stream, int64_t time_ns);
int merge_put_gaps(struct merge *m, size_t source, struct err *err) MUST_CHECK;
int merge_put_pauses(struct merge *m, struct err *err) MUST_CHECK;
void merge_gaps_release(struct merge_source *s);

/* merge_rows.c */
int merge_registry(struct merge *m, struct err *err) MUST_CHECK;
int merge_put_rows(struct merge *m, struct err *err) MUST_CHECK;
void merge_rows_release(struct merge *m);
/* The last event of the new tape when that one of the old was its turn. */
uint64_t merge_map_seq(const struct merge_source *s, uint64_t seq);
/* Ids of the two take turns. */
uint64_t merge_map_id(const struct merge *m, const struct merge_source *s, uint64_t id);
/* How many events of the new tape came by then. */
uint64_t merge_seq_at(const struct merge *m, int64_t time_ns);

#endif
