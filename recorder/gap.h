/*
 * gap.h: the interval in which a stream was not watched. It begins when a watch ends, and is dropped if the
 * next request resumes there. It becomes a row of the tape if it lasts (an attempt failed) or hides something
 * (the server asks for a relist). The event that ends the gap closes its row.
 */
#ifndef RECORDER_GAP_H
#define RECORDER_GAP_H

#include "recorder/context.h"
#include "recorder/end_reason.h"
#include "recorder/resume.h"

struct gap {
	struct tape_gap row; /* row.id: written to the tape */
	bool unwatched;      /* the stream is not watched now, and the row says since when */
	int64_t begin_mono_ns;
	uint64_t count; /* rows written so far */
	char from_rv[RESUME_RV_BYTES];
	char reason[END_REASON_BYTES];
};

/* A watch ended, at `rv`, for that reason. Nothing happens when the stream was not watched anyway. */
void gap_begin(struct gap *g, struct recorder_context *x, uint32_t stream, const char *reason, const char *rv,
	uint64_t connection);

/* The interval is worth a row; writes it unless it is there. */
int gap_write(struct gap *g, struct recorder_context *x, struct err *err) MUST_CHECK;

/* A difference that a relist showed; counts it. `change` as in tape_missed. */
int gap_missed(struct gap *g, struct recorder_context *x, const struct tape_missed *missed,
	struct err *err) MUST_CHECK;

/* The stream is watched again, from to_rv on. Closes the row if there is one. end_ns 0: now. */
int gap_end(struct gap *g, struct recorder_context *x, const char *how, const char *to_rv,
	uint64_t connection, struct err *err) MUST_CHECK;

#endif
