/* visit_internal.h: shared by visit.c, visit_watch.c, visit_read.c, visit_write.c and visit_tape.c alone. */
#ifndef TOOLS_TEE_VISIT_INTERNAL_H
#define TOOLS_TEE_VISIT_INTERNAL_H

#include "recorder/end_reason.h"
#include "replayer/run/run_words.h"
#include "tools/tee/answer_keeper.h"
#include "tools/tee/decoder.h"
#include "tools/tee/visit.h"
#include "tools/tee/watch_reader.h"

/* The expected kind of answer, if the request succeeds. */
enum visit_kind {
	VISIT_OTHER,    /* nothing that is kept */
	VISIT_DOCUMENT, /* what the server says of itself */
	VISIT_OBJECT,
	VISIT_LIST,
	VISIT_WATCH,
	VISIT_WRITE,
};

struct visit {
	struct office *office;
	uint64_t id; /* of the run */
	struct tee_client *client;
	char *method, *target, *accept,
		*content_type; /* as the client sent them; target without server_path */
	char *server;
	const char *version; /* of HTTP */
	bool tls;
	struct query query;
	struct api_path path;
	enum verb verb;
	enum visit_kind kind;
	bool is_partial; /* asks for another form of the objects: tables, metadata only */
	bool redacts;
	struct run_request_row row; /* times and position; is_stored: it is in the run */
	bool is_stored;
	int64_t begin_mono_ns;
	struct buf asked; /* the request's body */
	bool asked_lost;

	/* the answer */
	int status; /* 0: none yet */
	char *answer_type, *audit_id, *date, *etag;
	int64_t retry_after, answer_mono_ns;
	struct decoder *decoder;
	uint64_t events, bytes, lost_bytes;
	struct watching *watching; /* at most one of the two */
	struct reading *reading;

	/* on the tape */
	struct tee_stream *stream; /* NULL: none, or not known yet */
	struct tape_connection connection;
};

/* How it ended. */
struct visit_ending {
	enum road_end how;
	enum road_party by;
	int64_t code; /* of HTTP/2; -1 none */
	int64_t wall_ns, mono_ns;
};

/* Stored without values of Secrets if it is of them; borrowed until the next call. For an object that cannot
 * be read: a line that says so. */
struct slice visit_clean_object(struct visit *v, struct slice object);

/* Appends the body of the request or of its answer as the run stores it: JSON where it came as protobuf, and
 * without secrets. Returns whether it held any. */
bool visit_clean_body(struct visit *v, struct slice bytes, struct buf *to);

/* A row of `faults` about this request. */
void visit_fault(struct visit *v, int64_t wall_ns, const char *step, const char *what, const char *detail);

/* ---- visit_watch.c ---- */

void visit_watch_begin(struct visit *v, const struct feed_item *item);
void visit_watch_body(struct visit *v, struct slice bytes, const struct feed_item *item);
void visit_watch_lost(struct visit *v);
void visit_watch_tick(struct visit *v, int64_t now_mono_ns);
bool visit_watch_is_closed(const struct visit *v); /* a WebSocket, by the server's word */
void visit_watch_end(struct visit *v, const struct visit_ending *end);
void visit_watch_free(struct visit *v);

/* ---- visit_read.c ---- */

void visit_read_begin(struct visit *v, const struct feed_item *item);
void visit_read_body(struct visit *v, struct slice bytes);
void visit_read_lost(struct visit *v);
void visit_read_end(struct visit *v, const struct visit_ending *end);
void visit_read_free(struct visit *v);

/* Its body, where all of it was collected; empty: it was not, or is not whole. */
struct slice visit_read_whole(const struct visit *v);

/* ---- visit_write.c ---- */

/* Whether it changes something, or tries to: not what only asks for an opinion. */
bool visit_is_write(const struct api_path *path, struct slice method);
void visit_write_end(struct visit *v);

/* ---- visit_tape.c ---- */

/* Finds v->stream, if it is known by now what the objects are: kind may be empty, namespaced a guess. */
void visit_find_stream(struct visit *v, struct slice kind, bool is_namespaced);

void visit_connection_begin(struct visit *v, const char *purpose);
/* status: the body of an error, or of an ERROR event. */
void visit_connection_end(struct visit *v, const struct visit_ending *end, const char *reason,
	struct slice status, struct slice tail);

/* Why it ended, in the words of end_reason.h. */
const char *visit_end_reason(
	char to[END_REASON_BYTES], const struct visit *v, const struct visit_ending *end, bool has_tail);

#endif
