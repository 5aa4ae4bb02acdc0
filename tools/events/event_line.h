/*
 * event_line.h: an event as a line: what it changed and who wrote that.
 *
 *   2026-11-21T09:51:30.156Z    365 MODIFIED deployments shop/web  spec.replicas 6 -> 9  by kubectl
 *
 * For people: the number is a position; +FIELD and -FIELD were added and removed; "by ?" is not known,
 * "by alice (kubectl)" comes from the audit log. For programs one JSON object a line, which docs/incident.md
 * describes.
 */
#ifndef TOOLS_EVENT_LINE_H
#define TOOLS_EVENT_LINE_H

#include "schema/sql/event_changes.h"
#include "tools/events/event_gaps.h"

struct event_line_style {
	bool json;
	bool wide;  /* all changes, whole values, nine digits, resourceVersion and UID */
	bool color; /* for people */
	bool local; /* times, for people */
};

/* Appends one line, its end included. `c` holds the changes of `e`, which is of resource `r`. */
int event_line_put(const struct event_line_style *style, const struct tape_resource *r, const struct event *e,
	struct event_changes *c, struct buf *to, struct err *err) MUST_CHECK;

/* Gaps: for people one line for all of them, which have one reason and one end; for programs a line for each. */
int event_line_put_gaps(const struct event_line_style *style, const struct event_gap *gaps, size_t count,
	struct buf *to, struct err *err) MUST_CHECK;

/* The same for programs, event_json.c; see above. */
int event_json_put(const struct tape_resource *r, const struct event *e, struct event_changes *c,
	struct buf *to, struct err *err) MUST_CHECK;
int event_json_put_gap(const struct event_gap *g, struct buf *to, struct err *err) MUST_CHECK;

#endif
