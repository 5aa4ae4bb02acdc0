/* tee_stream_internal.h: shared by tee_stream.c and tee_listing.c alone. */
#ifndef TOOLS_TEE_TEE_STREAM_INTERNAL_H
#define TOOLS_TEE_TEE_STREAM_INTERNAL_H

#include "recorder/end_reason.h"
#include "recorder/resume.h"
#include "tools/tee/tee_stream.h"

/* An interval in which the stream was not watched. */
struct tee_gap {
	bool is_open;
	struct tape_gap row;   /* row.id: it is on the tape */
	int64_t begin_mono_ns; /* -1: before this life of the tee */
	char from_rv[RESUME_RV_BYTES], reason[END_REASON_BYTES];
};

struct tee_stream {
	struct ledger *ledger;
	struct tee_stream *next;
	uint32_t id; /* on the tape */
	char *namespace, *labels, *fields;
	bool is_whole, is_listed;
	bool is_lost;             /* some of it was not written down, and nothing has come since */
	struct known *view;       /* the objects that its clients have seen */
	char rv[RESUME_RV_BYTES]; /* the latest version that was seen; "" none */
	unsigned watches;         /* that are open */
	struct tee_gap gap;
	struct tee_listing *listing; /* that is running; NULL: none */
};

/* A list that is being read. */
struct tee_listing {
	struct tee_stream *stream; /* NULL: another one has begun, nothing is learnt of this one */
	bool is_first, is_watch;
	bool is_covered;     /* a watch of a larger selection will bring what is new */
	struct tape *reader; /* for the last state of deleted objects */
	uint64_t unchanged;
	uint64_t first_seq, last_seq; /* of the events that it brought to the tape; 0: none */
};

/* A watch of all objects that it could have is open. */
bool tee_stream_is_covered(const struct tee_stream *s);

/* That version has been seen. */
void tee_stream_reach(struct tee_stream *s, struct slice rv);

void tee_gap_begin(struct tee_stream *s, const char *reason, uint64_t connection);
int tee_gap_write(struct tee_stream *s, struct err *err) MUST_CHECK;
int tee_gap_end(struct tee_stream *s, const char *how, struct slice to_rv, uint64_t connection,
	struct err *err) MUST_CHECK;

#endif
