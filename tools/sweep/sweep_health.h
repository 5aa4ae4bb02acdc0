/*
 * sweep_health.h: the health of a run's program when it was quiet: whether it still watches, sends requests,
 * and ends when it is asked to; its memory; and what it served on the way. See sweep_answer.h.
 */
#ifndef TOOLS_SWEEP_HEALTH_H
#define TOOLS_SWEEP_HEALTH_H

#include "schema/base/buf.h"
#include "schema/sql/session.h"

/* It has grown if it takes more than this many times as much as ever without faults, and this much more. */
#define SWEEP_GROWN_TIMES 2
#define SWEEP_GROWN_BYTES (UINT64_C(32) << 20)

/* It lists in vain if it lists more often than this, and than ever without faults, once the faults are over. */
#define SWEEP_LISTS_MORE 5

/* How often it asked for something. */
struct sweep_tally {
	char *path; /* with its selectors */
	uint64_t times;
};
struct sweep_tallies {
	struct sweep_tally *items;
	size_t count;
};

/* The output of a probe on the way, while no fault was active. */
struct sweep_served {
	uint64_t seq;
	int64_t time_ns;
	char *text;
};

struct sweep_health {
	char **watches; /* open when it was quiet at the end, or shortly before: paths with their selectors; sorted */
	size_t watch_count;
	char **asked; /* likewise those that it asked for, since its restart if a fault caused one */
	size_t asked_count;
	bool is_known;      /* false: it ended by itself, and these are unknown */
	bool killed;        /* it did not end when it was asked to */
	bool asks;          /* it asks for something again and again, also when it is quiet */
	int64_t silence_ns; /* how long it had asked for nothing when it was quiet; leases and Events aside */
	uint64_t memory_bytes;       /* when it was quiet at the end; 0: not known */
	struct sweep_tallies listed; /* from its start or the end of the last fault on; pages are one list */
	struct sweep_tallies open;   /* watches when it was quiet at the end */
	struct sweep_served *served;
	size_t served_count;
};

/* `s` has the run, which was quiet for that long at the end. The caller releases, also after a failure. */
int sweep_health_read(
	struct sql_session *s, int64_t settle_ns, struct sweep_health *ret, struct err *err) MUST_CHECK;
void sweep_health_release(struct sweep_health *h);

/* Learns from another run without faults: only facts that hold in both hold. */
void sweep_health_learn(struct sweep_health *h, const struct sweep_health *other);

/* Appends a sentence for each thing that is worse with the fault, and returns their number. A wrong probe on
 * the way counts if it stayed wrong for `settle_ns`. */
size_t sweep_health_compare(const struct sweep_health *without, const struct sweep_health *with,
	int64_t settle_ns, struct buf *to);

#endif
