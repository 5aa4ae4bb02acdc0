/*
 * view_desk.h: the replay desk of the page (view/viewer.h): the controls of control.h, the clients and how
 * far each is, and how late events are.
 *
 *     GET  desk              {"status":..,"clients":[..],"late":..}
 *     POST desk/ACTION       an action of control.h, and then the same
 */
#ifndef REPLAYER_VIEW_DESK_H
#define REPLAYER_VIEW_DESK_H

#include "replayer/deck.h"
#include "replayer/request/query.h"
#include "replayer/run/run.h"

struct view_desk {
	struct deck *deck;
	const struct run *run;
};

/* For viewer_options; the context is a struct view_desk. */
int view_desk_serve(void *context, struct slice method, struct slice what, const struct query *q,
	struct slice body, struct buf *to, struct err *err) MUST_CHECK;

#endif
