/*
 * coverage_internal.h: the state that coverage_load.c builds from the rows of a tape, and from which
 * coverage.c answers. Included by these two alone.
 */
#ifndef SCHEMA_TAPE_COVERAGE_INTERNAL_H
#define SCHEMA_TAPE_COVERAGE_INTERNAL_H

#include "schema/tape/coverage.h"
#include "schema/tape/steady_time.h"

#define NEVER INT64_MAX

/* One interval without a watch; its reason is one of the coverage's words. */
struct coverage_gap {
	uint64_t id;
	uint32_t stream;
	int64_t begin_ns, end_ns; /* NEVER: open */
	uint64_t begin_seq, end_seq, connection_before;
	const char *reason;
	bool by_recorder; /* it was stopped or killed */
};

struct coverage_stream {
	uint32_t resource;
	bool has_mark, has_list, has_watch, has_open_gap;
	bool asks_first;     /* it was to begin with a list, which may have been cut off */
	uint64_t listed_seq; /* when the first list was complete */
	int64_t listed_ns, last_mark_ns;
	uint64_t last_watch; /* its connection */
	int64_t watch_begin_ns;
	int64_t watch_end_ns;  /* NEVER: it still runs, or did when the tape broke off */
	int64_t steady_end_ns; /* the same on the axis without steps */
	const char *end_reason;
};

struct gap_place {
	uint64_t id;
	size_t index;
};

/* When a watch ended that its recorder ended. */
struct watch_end {
	uint64_t connection;
	int64_t ns, steady_ns;
};

struct coverage {
	struct coverage_stream *streams; /* [id - 1] */
	size_t stream_count;
	struct coverage_gap *gaps; /* in the order of streams and beginnings */
	struct gap_place *places;  /* of those that are rows, in the order of ids */
	size_t gap_count, place_count, left_count;
	struct watch_end *ends; /* in the order of connections */
	size_t end_count;
	struct steady_time *steady;
	int64_t *stops; /* their steady times, in order */
	size_t stop_count;
	int64_t last_begin_ns; /* the last request of a stream began, on the steady axis */
	char **words;
	size_t word_count;
	bool has_lists, has_import;
	struct tape_span span;
};

/* NULL if there is none. */
static inline struct coverage_stream *coverage_stream_of(const struct coverage *c, uint32_t id)
{
	return id && id <= c->stream_count ? &c->streams[id - 1] : NULL;
}

/* The order of struct gap_place. */
int coverage_compare_places(const void *left, const void *right);

#endif
