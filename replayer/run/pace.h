/*
 * pace.h: whether requests come at a steady pace, as of a client that limits its own rate: client-go lets a few pass at
 * once, then one every 200 ms unless told otherwise. Between two of them it is not at rest, though nothing else shows it.
 *
 * A client that answers each event with one request has the pace of the events, and in lock-step these have that of its
 * requests: waiting for longer would make both slower and slower. So a pace counts no more when nothing has come in some
 * rests of that length, and then has to be kept for twice as long.
 */
#ifndef REPLAYER_PACE_H
#define REPLAYER_PACE_H

#include <stdint.h>

/* All zero: nothing has come yet. */
struct pace {
	int64_t last_ns; /* monotonic, of the last request */
	int64_t step_ns; /* between the two before */
	unsigned alike;  /* steps one after the other that were as long */
	int64_t kept_ns; /* the slowest pace that was kept; 0: none was */
	unsigned vain;   /* rests one after the other in which nothing came */
	unsigned doubts; /* how often it was no pace */
};

/* A request has come. */
void pace_note(struct pace *p, int64_t now_ns);

/* Nothing has come for pace_rest_ns, and now something is sent to the client. */
void pace_rested(struct pace *p);

/* A client that has sent nothing for this time does not wait for its turn. 0: no pace was ever kept. */
int64_t pace_rest_ns(const struct pace *p);

#endif
