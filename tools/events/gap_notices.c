/* gap_notices.c: see gap_notices.h. */
#include "tools/events/gap_notices.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "tools/events/event_line.h"

#include <stdio.h>
#include <stdlib.h>

#define LOOK_EVERY_NS NS_PER_S

int gap_notices_open(struct gap_notices *n, const char *command, struct tape *t,
	const struct tape_resource *r, const char *namespace, int64_t from_ns, struct err *err)
{
	char *name = xasprintf("%s%s%s", r->resource, *r->apigroup ? "." : "", r->apigroup);
	int rc;

	*n = (struct gap_notices){.command = command};
	rc = object_patterns_new(t, &name, 1, true, &n->patterns, err);
	free(name);
	n->wanted = (struct event_gaps_wanted){n->patterns, namespace, from_ns, INT64_MAX};
	return rc;
}

void gap_notices_close(struct gap_notices *n)
{
	object_patterns_free(n->patterns);
	event_gaps_release(&n->gaps);
}

static int print_gaps(
	const struct gap_notices *n, const struct event_gap *gaps, size_t count, struct err *err)
{
	const struct event_line_style style = {.json = false};
	struct buf line;
	int rc;

	buf_init(&line, LIMIT_LIST_BYTES);
	rc = event_line_put_gaps(&style, gaps, count, &line, err);
	if (!rc)
		fprintf(stderr, "kubetape %s: %.*s", n->command, (int)line.len, line.ptr);
	buf_release(&line);
	return rc;
}

int gap_notices_tell(struct gap_notices *n, struct tape *t, bool is_last, struct err *err)
{
	int64_t now_ns = clock_mono_ns(&clock_system);
	const struct event_gap *gaps;
	size_t count;
	int rc;

	if (n->looked_ns && !is_last && now_ns - n->looked_ns < LOOK_EVERY_NS)
		return 0;
	n->looked_ns = now_ns;
	rc = event_gaps_load(&n->gaps, t, &n->wanted, err);
	while (!rc && (count = event_gaps_take(&n->gaps, UINT64_MAX, &gaps)))
		rc = print_gaps(n, gaps, count, err);
	return rc;
}
