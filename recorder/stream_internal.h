/* stream_internal.h: what stream.c, stream_list.c, stream_watch.c and stream_conceal.c share. */
#ifndef RECORDER_STREAM_INTERNAL_H
#define RECORDER_STREAM_INTERNAL_H

#include "recorder/backoff.h"
#include "recorder/end_reason.h"
#include "recorder/followup.h"
#include "recorder/frames.h"
#include "recorder/gap.h"
#include "recorder/ingest.h"
#include "recorder/listing.h"
#include "recorder/status_body.h"
#include "recorder/stream.h"
#include "recorder/trouble.h"

enum stream_state {
	STREAM_IDLE,     /* not started yet */
	STREAM_LISTING,  /* a page was asked for */
	STREAM_OPENING,  /* a watch was asked for, no header yet */
	STREAM_WATCHING, /* the header was 200 */
	STREAM_PROBING,  /* a list of one item shows whether the resume point is still of this cluster */
	STREAM_WAITING,  /* for the timer; `step` says what is next */
	STREAM_STOPPED,
};

/* What the running watch has delivered so far. */
struct watch {
	struct frames frames;
	int64_t timeout_seconds;
	int64_t open_mono_ns; /* when the header came */
	int64_t last_byte_mono_ns;
	uint64_t frame_count;
	bool suspicious; /* it was found too silent once */
	bool settled;    /* it gave a frame, or stood for a second */
	/* Why the stream ended it. */
	bool bad_frame;                 /* what it sent is no frame */
	bool backwards;                 /* its resourceVersions went back */
	bool stalled;                   /* it was too silent twice */
	char tail_reason[ERR_TEXT_MAX]; /* why a frame was bad */
	struct buf bad;                 /* its bytes, as they may be kept */
	struct buf error;               /* the Status of an ERROR event, likewise */
};

struct stream {
	struct recorder_context *x;
	uint32_t id, resource_id;
	char *group, *version, *resource, *kind, *namespace, *label_selector, *field_selector;
	char *api_version, *path, *name;

	bool is_withdrawn; /* discovery did not have it, the last time */
	enum stream_state state;
	enum followup_step step; /* after STREAM_WAITING */
	uv_timer_t timer;        /* see stream_set_timer */
	struct http_request *request;
	struct connection connection;
	struct buf body;         /* of an error, complete; of a list, its beginning, in case that it is not a
				list */
	uint64_t body_bytes;     /* of the answer to a list, so far */
	bool is_page;            /* the answer to a list has status 200 */
	struct err page_err;     /* why the current page is not a list */
	struct share unfinished; /* what frames and page hold */

	struct ingest ingest;
	struct resume resume;
	struct gap gap;
	struct backoff backoff;
	struct listing listing;
	struct watch watch;

	bool listed;       /* a whole list is on the tape */
	bool told_settled; /* the recorder knows that the stream stands */
	bool no_limit;     /* the next list is asked for in one piece */
	int refusal;       /* 401, 403 or 404 if the last attempt met it, else 0 */
	bool told_refused; /* the recorder knows of a refusal */
	bool overtaken;    /* the last attempt was, by a GOAWAY */
	bool saw_bookmark; /* in any watch: silence means something then */
	bool new_epoch;    /* the next list begins another life of the cluster */
	bool unordered;    /* its resourceVersions went back too often to mean anything */
	uint64_t watch_events;
	double rate; /* events a second of the last watch that was long enough to measure */
	bool rate_known;
	unsigned error_count, backwards_count, short_count;
	struct trouble trouble;
	int64_t listed_mono_ns;
};

/* The only place where the state changes. */
void stream_enter(struct stream *s, enum stream_state state);

/* When it fires, a stream that waits takes its next step, and a watch that stands settles. */
void stream_set_timer(struct stream *s, uint64_t ms);

/* Goes on as the follow-up says, now or after a delay; returns the delay in ns. */
int64_t stream_plan(struct stream *s, const struct followup *f, int retry_after_s);
void stream_go(struct stream *s, const struct followup *f, int64_t delay_ns);

/* Reports to the recorder that the tape failed. */
void stream_fatal(struct stream *s, const struct err *err);

/* Appends "&fieldSelector=..&labelSelector=.." as far as there are selectors. */
int stream_add_selectors(struct stream *s, struct buf *target, struct err *err) MUST_CHECK;

/* stream_list.c */
void stream_begin_list(struct stream *s);
void stream_begin_probe(struct stream *s);

/* stream_watch.c */
void stream_begin_watch(struct stream *s);
void stream_settle(struct stream *s);
void stream_watch_ended(struct stream *s, const struct http_answer *answer);

/* stream_conceal.c: whether what the server sends may be kept only without values of Secrets. */
bool stream_conceals(const struct stream *s);

/* Removes what must not be kept or logged from the body of an answer that is not a list. */
void stream_conceal_answer(struct stream *s);

/* Keeps the bytes of a bad frame, or what may be kept of them. */
void stream_keep_bad(struct stream *s, struct slice bytes);

/* The bytes of the bad frame, or after the last line feed, as they may be kept; borrowed until the next
 * watch. */
struct slice stream_tail(struct stream *s);

/* Keeps the object of an ERROR frame. */
int stream_take_error(struct stream *s, struct slice object, struct err *err) MUST_CHECK;

/* Writes the mark, its object without values of Secrets. That of an ERROR must be the one that was kept. */
int stream_put_mark(struct stream *s, struct tape_mark *mark, struct err *err) MUST_CHECK;

/* Reports the settled state once. */
void stream_tell_settled(struct stream *s);

/* Reports an answer that is not a list to the recorder, unless the stream has settled before, or a refusal was
 * reported. */
void stream_tell_refused(struct stream *s, const struct http_answer *answer, const struct err *err);

/* Accounts for what the stream holds of frames and items that are not whole. False: it is too much for all
 * streams together, and has to go. */
bool stream_hold(struct stream *s);

/* Notes whether the answer was a refusal. */
void stream_note_status(struct stream *s, const struct http_answer *answer);

#endif
