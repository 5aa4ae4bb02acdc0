/*
 * followup.h: what a stream does after a request ended: watch again where it was, list again, and how soon.
 *
 * Every end but a lost history is followed by a watch from the resume point, so that nothing is missed; a
 * list is needed when the server no longer has that history (410), when the stream spoke nonsense, when its
 * resourceVersion is of another life of the cluster, and when errors keep coming at the same place.
 */
#ifndef RECORDER_FOLLOWUP_H
#define RECORDER_FOLLOWUP_H

#include <stdbool.h>

enum followup_step { FOLLOW_WATCH, FOLLOW_LIST };
enum followup_pace { PACE_NOW, PACE_BACKOFF, PACE_SLOW };

struct followup {
	enum followup_step step;
	enum followup_pace pace;
	bool history_lost; /* the resume point is of no more use */
};

struct watch_outcome {
	bool settled;     /* the watch stood: it gave a frame or lasted a second */
	bool short_again; /* it stood for less than a second, as some before it */
	bool bad_frame, backwards;
	bool overtaken;  /* by a GOAWAY without an error: the server closed the connection before it saw the
			    request */
	int http_status; /* 0: no answer */
	int error_code;  /* of an ERROR event, 0 none */
	const char *error_reason;
	bool rv_too_large; /* the ERROR event says so */
	unsigned errors;   /* ERROR events since the last good frame, this one included */
	bool just_listed;  /* the resume point is that of a list made moments ago */
};

struct followup followup_watch(const struct watch_outcome *o);

struct list_outcome {
	bool complete, has_more;
	bool on_later_page;
	int http_status; /* 0: no answer */
};

struct followup followup_list(const struct list_outcome *o);

/* The word for the tape: "rewatch", "relist", "retry". */
const char *followup_word(const struct followup *f, bool was_list);

#endif
