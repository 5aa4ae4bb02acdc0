/* fault_do.h: what a fault does, and to whom; fault_keys.c has the words. */
#ifndef REPLAYER_FAULT_DO_H
#define REPLAYER_FAULT_DO_H

#include <stdbool.h>

/*
 * What happens. To add one:
 *   a constant here, and its row in fault_what_shapes (fault_keys.c): word, keys, and what it is aimed at;
 *   the code that carries it out, by what it is aimed at:
 *     watches   strike_watch() of serve/fault_act.c, which has a line for every constant
 * requests answer_instead() of serve/fault_answer.c; an act that does not replace the replay's answer, such
 * as an older list, is decided in fault_stream.c
 *     frames    touch() of fault_frames.c
 *     writes    refuse_as_fault() of write/write.c
 *   if --gap takes it, its word in gap_spec_words and is_short_word() (gap_spec.c);
 *   its line in FAULTS.md, on which a test insists, and fault-file.schema.json, which `make fault-schema` writes
 *   from the tables and a test compares with them.
 */
enum fault_do {
	/* to running watches */
	FAULT_END,        /* the stream ends cleanly */
	FAULT_CUT,        /* some bytes of the next frame, then as FAULT_FIN */
	FAULT_FIN,        /* the connection is closed without an end of the body */
	FAULT_RST,        /* the connection is reset */
	FAULT_GOAWAY,     /* HTTP/2: GOAWAY, then closed; HTTP/1.1: as FAULT_FIN */
	FAULT_RST_STREAM, /* HTTP/2: the stream is reset; HTTP/1.1: as FAULT_RST */
	FAULT_STALL,      /* the connection stays, and nothing moves on it */
	FAULT_ERROR,      /* an ERROR event, then as FAULT_END */
	/* to requests */
	FAULT_REFUSE,     /* nobody listens */
	FAULT_HTTP,       /* an HTTP error */
	FAULT_STALE_LIST, /* lists show an older state */
	FAULT_STALE_VIEW, /* lists that may be old show it, and watches stand still there */
	FAULT_SLOW,       /* the first list of each client waits */
	FAULT_WAIT,       /* the request waits until it is over */
	/* to single frames */
	FAULT_DELAY,
	FAULT_DUPLICATE,
	FAULT_REORDER, /* after events of other resources */
	FAULT_DROP,
	FAULT_BURST, /* kept back while it lasts, then all at once */
	FAULT_ECHO,  /* what programs wrote comes later, and what follows it */
	/* to single writes */
	FAULT_WRITE_ERROR, /* an HTTP error, before or after it was done */
	FAULT_WRITE_RESET, /* no answer: the connection is reset, before or after it was done */
	FAULT_WRITE_LATE,  /* it is done, and its answer waits */
	/* to the command */
	FAULT_RESTART, /* it is killed, and started again when the fault is over */
	/* to the tape's clock */
	FAULT_PAUSE,   /* it stands still */
	FAULT_NOTHING, /* only what the rest of the rule says, such as a compaction */
	FAULT_DO_COUNT,
};

/* The acts by what they do; fault_keys.c has the table. */
bool fault_ends_streams(int act);
bool fault_answers_requests(int act); /* in place of the replay: an error, or nothing */
bool fault_touches_frames(int act);
bool fault_lasts(int act); /* for as long as the rule says: on requests and frames */
bool fault_strikes_writes(int act);

/* Acts that keep frames of a watch back until the fault is over, while the tape's clock continues. */
static inline bool fault_keeps_frames_back(int act)
{
	return act == FAULT_BURST || act == FAULT_STALE_VIEW || act == FAULT_ECHO;
}

/* Acts that leave requests without an answer until the fault is over. */
static inline bool fault_keeps_requests(int act)
{
	return act == FAULT_STALL || act == FAULT_WAIT;
}

#endif
