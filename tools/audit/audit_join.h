/*
 * audit_join.h: finds the events of a tape that requests of an audit log made, and notes them in the tape's audit
 * book.
 *
 *   a write that answered an object   its uid and resourceVersion are those of the event
 *   a delete that answered Status     the deletion of that uid
 *   level Metadata                    the one event of that object that came between the two times of the request,
 *                                     and that fits the verb, the version it was based on and managedFields
 *
 * An event is noted only where nothing else can be meant; everything else is counted by its reason. A write that
 * changes nothing answers a version that another request made: an event from before the request, or one whose
 * managedFields changed under another manager's name, is not its own.
 */
#ifndef TOOLS_AUDIT_JOIN_H
#define TOOLS_AUDIT_JOIN_H

#include "schema/base/buf.h"

/* The result for a line. */
enum audit_outcome {
	AUDIT_JOINED,
	AUDIT_KNOWN, /* joined in an earlier reading */
	AUDIT_AMBIGUOUS,
	AUDIT_UNCHANGED,
	AUDIT_UNSURE,
	AUDIT_CONTRADICTED,
	AUDIT_NOT_ON_TAPE,
	AUDIT_NOT_RECORDED,
	AUDIT_NO_NAME,
	AUDIT_NO_WRITE,
	AUDIT_FAILED,
	AUDIT_DRY_RUN,
	AUDIT_OTHER_STAGE,
	AUDIT_BAD_LINE,
	AUDIT_OUTCOMES,
};

struct audit_outcome_words {
	const char *name, *text; /* for programs; for people, after a number */
};
extern const struct audit_outcome_words audit_outcome_words[AUDIT_OUTCOMES];

struct audit_totals {
	uint64_t lines, outcomes[AUDIT_OUTCOMES];
	uint64_t events, disputed; /* in the book: with a claim; of those, claimed by several requests */
};

struct audit_joiner;

/* tolerance_ns: how far the clocks of the server and the recorder, and the watch's delay, may put a request and
 * its event apart. */
int audit_joiner_open(
	const char *tape_path, int64_t tolerance_ns, struct audit_joiner **ret, struct err *err) MUST_CHECK;
void audit_joiner_close(struct audit_joiner *j); /* accepts NULL */

/* One line of the log, without its line feed; an empty one is ignored. Only failures of the tape are
 * errors. */
int audit_joiner_take(struct audit_joiner *j, struct slice line, struct err *err) MUST_CHECK;

/* The time from which the events of a line can be looked for: a tolerance after its request was answered; 0
 * if the line is not a successful write. */
int64_t audit_joiner_ready_ns(struct audit_joiner *j, struct slice line);

/* Sees what the tape's writer has added. */
int audit_joiner_refresh(struct audit_joiner *j, struct err *err) MUST_CHECK;

/* Makes the claims durable, and returns the results for all lines. */
int audit_joiner_flush(struct audit_joiner *j, struct err *err) MUST_CHECK;
int audit_joiner_totals(struct audit_joiner *j, struct audit_totals *ret, struct err *err) MUST_CHECK;

#endif
