/* sweep_counts.h: how often a program has created and deleted, found at the end or not. */
#ifndef TOOLS_SWEEP_COUNTS_H
#define TOOLS_SWEEP_COUNTS_H

#include "schema/base/buf.h"
#include "schema/run/compare_rules.h"
#include "schema/sql/session.h"
#include "tools/cli/options.h"

#define SWEEP_EARLIER "deletions of the earlier "

struct sweep_count {
	char *key; /* "creates of pods", "deletions of pods", "deletions of the earlier pods shop/web-0" */
	int64_t times;
	int64_t ended; /* deletions by others of what it had made: at another pace it may come before them */
	int64_t replaced; /* deletions that it followed with a creation of that name at once, as an update */
};

/* By key. */
struct sweep_counts {
	struct sweep_count *items;
	size_t count;
};

/* Of the session's run. `ignored` are objects that do not count; NULL: none. The caller releases, whatever is returned. */
int sweep_counts_read(struct sql_session *s, const struct compare_rules *ignored, struct sweep_counts *ret,
	struct err *err) MUST_CHECK;
void sweep_counts_release(struct sweep_counts *c);

/* NULL: never. */
const struct sweep_count *sweep_counts_find(const struct sweep_counts *c, const char *key);

/* Whether it is about what had been there before the fault. */
bool sweep_count_is_earlier(const char *key);

/* After keys have changed: counts of one key become one. */
void sweep_counts_merge(struct sweep_counts *c);

/* How much more often it was than without faults: below 1 there is nothing to tell. */
int64_t sweep_counts_excess(const struct sweep_counts *without, const struct sweep_count *now);

/* Appends a sentence for each that was more often; how many there are. Either those of what had been there before the
 * fault, or all others. Doing so less often is harmless by itself: the remains show the harm. `than` names the first:
 * "without the gap". Keys in `excused` do not count. */
size_t sweep_counts_compare(const struct sweep_counts *without, const struct sweep_counts *with,
	const struct text_list *excused, const char *than, bool earlier, struct buf *to);

/* The same for what was neither more nor less often in one of two runs without faults; all but the earlier. */
size_t sweep_counts_compare_pace(
	const struct sweep_counts *one, const struct sweep_counts *other, const char *than, struct buf *to);

#endif
