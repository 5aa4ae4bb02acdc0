/*
 * view.h: how an answer shows objects: as they were recorded, as metadata only, or as rows of a table. A view
 * writes list heads and tails, items, single objects and the frames of a watch; list.c and watch.c say which.
 */
#ifndef REPLAYER_VIEW_H
#define REPLAYER_VIEW_H

#include "replayer/request/accept.h"
#include "replayer/world/change.h"
#include "replayer/world/world.h"

enum table_include { INCLUDE_METADATA, INCLUDE_NONE, INCLUDE_OBJECT };

struct view {
	enum answer_form form;
	bool beta; /* meta.k8s.io/v1beta1 */
	enum table_include include;
	bool no_headers; /* the columns were sent already: later events of a table watch */
	const struct collection *collection;
	int64_t now_ns; /* for the ages in a table */
};

/* The metadata of a list. */
struct list_meta {
	uint64_t rv;
	const char *continue_token; /* "" none */
	int64_t remaining;          /* -1: not given */
};

/* kind and apiVersion of the collection's objects; borrowed, the second into `to`. */
#define API_VERSION_MAX 512
const char *view_api_version(const struct collection *c, char to[API_VERSION_MAX]);

int view_list_head(
	const struct view *v, const struct list_meta *m, struct buf *to, struct err *err) MUST_CHECK;
/* The text before an item. */
int view_list_separator(const struct view *v, bool first, struct buf *to, struct err *err) MUST_CHECK;
int view_list_item(const struct view *v, struct slice object, struct buf *to, struct err *err) MUST_CHECK;
int view_list_tail(const struct view *v, const struct list_meta *m, bool empty, struct buf *to,
	struct err *err) MUST_CHECK;

/* One object as the whole answer, or as the object of a watch event. */
int view_object(const struct view *v, struct slice object, struct buf *to, struct err *err) MUST_CHECK;

/* The frame of a watch for a change that this view shows as `type` with these bytes: encoded once for all
 * watchers with such a view. The caller owns the reference; NULL if it cannot be encoded. */
struct blob *view_frame(const struct view *v, struct change *c, enum event_type type, struct slice object);

/* A frame that belongs to no change. */
struct blob *view_new_frame(const struct view *v, const char *type, struct slice object);

/* The object of a BOOKMARK: kind, apiVersion and version, and the empty members that were recorded for the
 * kind or, for want of a recorded bookmark, that Kubernetes gives it. initial_end: with the annotation that
 * ends the initial events. */
int bookmark_object(const struct collection *c, struct slice recorded, uint64_t rv, bool initial_end,
	struct buf *to, struct err *err) MUST_CHECK;

#endif
