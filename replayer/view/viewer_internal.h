/* viewer_internal.h: shared by viewer.c, viewer_answers.c, viewer_state.c, viewer_golden.c and
 * viewer_sql.c. */
#ifndef REPLAYER_VIEW_VIEWER_INTERNAL_H
#define REPLAYER_VIEW_VIEWER_INTERNAL_H

#include "replayer/request/query.h"
#include "replayer/view/viewer.h"
#include "schema/base/limits.h"
#include "schema/sql/session.h"
#include "schema/view/answer_out.h"
#include "schema/view/picture.h"
#include "schema/view/writers.h"

#include <stdatomic.h>

#define VIEWER_BODY_MAX  (1u << 20) /* of a statement */
#define VIEWER_JOB_BYTES 4096       /* what a waiting request is counted as */

struct exchange;

/* A request for data on its way through a thread. */
struct viewer_job {
	struct viewer *viewer;
	struct exchange *x; /* NULL: the client is gone */
	struct query query;
	struct buf target, body; /* own; the query points into the first */
	struct slice name;       /* of the answer: "lanes" */
	bool is_served;          /* `answer` or `err` holds what to send */
	int code;
	struct buf answer;
	struct err err;
};

/* The state of a thread; each has its own. */
struct viewer_desk {
	const char *tape, *run;
	bool has_replay;                    /* it is beside a replay */
	bool has_sweep;                     /* and has the report of one */
	const struct viewer_golden *golden; /* NULL: none */
	struct viewer_desk *golden_desk;    /* the tape with the golden run; has no more than a session */
	struct picture *picture;
	struct sql_session *session;
	struct writers *writers;
	atomic_bool closes; /* what runs, or begins, is to stop */
	struct err failure; /* of reading the tape; code 0: none */
};

/* ---- viewer_answers.c: on the thread for pictures ---- */

void viewer_answer(struct viewer_desk *d, struct viewer_job *job);

/* A parameter as a number; `otherwise` when it is absent or none. */
int64_t viewer_number(const struct query *q, const char *name, int64_t otherwise);

/* Runs a statement with its rows as `"columns":[..],"rows":[[..],..]`, at most `most` of them, and texts cut
 * to `cut` bytes. Integers beyond 53 bits are strings. */
int viewer_put_rows(struct viewer_desk *d, struct answer_out *o, struct slice sql, size_t most, size_t cut,
	struct err *err) MUST_CHECK;

/* ---- viewer_state.c ---- */

int viewer_state(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err) MUST_CHECK;

/* ---- viewer_golden.c: on the thread for SQL ---- */

void viewer_golden(struct viewer_desk *d, struct viewer_job *job);

/* ---- viewer_sql.c: on the thread for SQL ---- */

void viewer_sql(struct viewer_desk *d, struct viewer_job *job);
int viewer_open_session(struct viewer_desk *d, struct err *err) MUST_CHECK;

#endif
