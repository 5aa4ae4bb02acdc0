/*
 * fault_tally.h: the result of each rule of a fault file: how often it happened, whom it struck, and if
 * nobody, why. A replay that goes back resets its faults, but not this.
 */
#ifndef REPLAYER_FAULT_TALLY_H
#define REPLAYER_FAULT_TALLY_H

#include "replayer/fault/fault.h"

struct fault_tally {
	uint64_t matches; /* events that `event` is true of, while it could still happen */
	uint64_t opened;  /* the most watches in scope that one client opened, for `connection` */
	uint64_t happened;
	uint64_t watches;  /* that were ended, cut or stalled */
	uint64_t requests; /* that were answered otherwise */
	uint64_t frames;   /* that were dropped, doubled or held back */
	unsigned seen;     /* parts of `where` that a request fitted; see fault_internal.h */
};

/* Borrowed; `rule` is below faults_rule_count. */
const struct fault_tally *faults_tally(const struct faults *f, size_t rule);

/* Takes over what `before`, which came of the same rules, has counted. */
void faults_inherit(struct faults *f, const struct faults *before);

/* A watch, or a request, was struck by that rule, which may be a recorded gap. */
void faults_count_watch(struct faults *f, size_t rule);
void faults_count_request(struct faults *f, size_t rule);

/* Whether it struck anything. The replay does not see refused connections: a rule that refuses connections
 * has struck if it happened. */
bool faults_has_struck(const struct faults *f, size_t rule);

/* Why it did not strike: a sentence, which the caller frees. The replay ended at event `seq` and should have
 * ended at `until_seq`. */
char *faults_why_not(const struct faults *f, size_t rule, uint64_t seq, uint64_t until_seq);

#endif
