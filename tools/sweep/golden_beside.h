/*
 * golden_beside.h: the writes of an earlier run beside those of the present one, as JSON, for the page of a tape
 * (replayer/view/VIEW.md, `golden`). They are compared as `kubetape diff` and the end of a replay do it; the
 * present run may still be written to.
 */
#ifndef TOOLS_GOLDEN_BESIDE_H
#define TOOLS_GOLDEN_BESIDE_H

#include "tools/sweep/run_verdict.h"

struct golden_beside;

/* Borrows both while it lives. Fails as verdict_check does. */
int golden_beside_open(const struct verdict_options *verdict, const char *golden, struct golden_beside **ret,
	struct err *err) MUST_CHECK;
void golden_beside_close(struct golden_beside *b); /* accepts NULL */

/* Appends the answer. The context is a struct golden_beside; one thread at a time. */
int golden_beside_answer(void *context, const char *now, struct buf *to, struct err *err) MUST_CHECK;

#endif
