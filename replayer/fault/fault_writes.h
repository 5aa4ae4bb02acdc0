/* fault_writes.h: faults of programs' writes, and faults that begin at them; the rest is in fault.h. */
#ifndef REPLAYER_FAULT_WRITES_H
#define REPLAYER_FAULT_WRITES_H

#include "replayer/fault/fault.h"

struct fault_write {
	enum fault_verb verb;
	const struct tape_resource *resource;
	struct slice subresource;
	bool aside; /* of a lease or an Event: only rules that name these count it */
	const struct fault_request *request;
};

/* The fate of a write. */
struct fault_write_answer {
	const struct fault_what *what; /* NULL: as ever; one that strikes writes, or FAULT_RESTART */
	size_t rule_index;
	bool done_first; /* it is done, but its writer gets an error, or nothing yet */
};

/* A write has come. */
void faults_write_begins(struct faults *f, const struct fault_now *now, const struct fault_write *w,
	struct fault_write_answer *ret);
/* It has made a version of an object, which no watch has been sent yet. The tape makes them as well: of an event that is
 * not shown as it is, because a program wrote the object. What strikes the event strikes them. */
struct fault_written {
	uint64_t seq, rv;
	bool is_tapes;
};
void faults_write_version(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct fault_written *what);
/* The write is done, or has failed: applies the faults after it. */
void faults_write_ends(struct faults *f, const struct fault_now *now);

#endif
