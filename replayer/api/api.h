/*
 * api.h: what the replay answers, and to which request. api.c routes; each file behind it answers one family
 * of requests (list.c, watch.c, discovery.c, review.c, ...) from the world at the position.
 */
#ifndef REPLAYER_API_H
#define REPLAYER_API_H

#include "replayer/api/accept.h"
#include "replayer/api/ahead_policy.h"
#include "replayer/api/api_path.h"
#include "replayer/api/field_selector.h"
#include "replayer/api/flow_control.h"
#include "replayer/api/respond.h"
#include "replayer/fault/fault.h"
#include "replayer/world/world.h"

struct access;
struct ahead;
struct deck;
struct fault_act;
struct player;
struct run;
struct run_client;
struct run_request;
struct type_cache;
struct watches;
struct view;
struct write_rules;

#define ETAG_BYTES 160 /* 128 digits, the quotes and the end */

/* The OpenAPI document of version 2, once it was asked for, and of which documents it was made. */
struct openapi_kept {
	uint64_t state;
	struct blob *json, *protobuf; /* NULL: there is none */
	char etag[ETAG_BYTES];
};

/* What all requests are answered from. */
struct api {
	struct tape *tape;
	struct world *world;
	struct player *player;
	struct watches *watches;
	const struct marks *marks;
	struct deck *deck;
	struct run *run;
	const struct write_rules *rules; /* what becomes of writes */
	enum ahead_policy ahead_policy;  /* of versions ahead of the position */
	struct ahead *ahead;
	struct fault_act *faults; /* NULL: none */
	struct type_cache *types; /* how fields are merged */
	struct access *access;    /* who may ask */
	struct flow_control flow; /* what is told of priority and fairness */
	struct openapi_kept openapi;
};

/* One request while it is being routed and answered. Nothing of it lives longer. */
struct api_call {
	struct api *api;
	struct exchange *x;
	const struct http_request *request;
	struct run_client *client;  /* who asks */
	struct run_request *stored; /* its row in the run file; NULL: none */
	struct query query;
	struct api_path path;
	struct answer_style style;
	struct accepted accepted;
	/* What faults made of it. */
	struct fault_request fault; /* how they see it */
	uint64_t floor;             /* versions below have expired; 0: as the history says */
	bool is_older;              /* the state of that time on the tape is to be shown */
	int64_t older_ns;
	int64_t timeout_ns; /* the client's own limit; not above 0: none */
	/* Of a version that the replay has not reached: the one to wait for before the error is sent, 0:
	 * none. */
	uint64_t awaited_rv;
	bool has_waited;
};

/* The server's handler; context is a struct api. */
void api_handle(void *context, struct exchange *x, const struct http_request *r);

/* Routes a call again whose request has been copied; it is counted and stored already. */
void api_route_again(struct api_call *call);

/* A watch is asked for. */
static inline bool api_is_watch(const struct api_call *call)
{
	return call->path.forced_watch || query_true(&call->query, "watch");
}

/* How the client wants an object of the collection shown; ERR_FAILED with the status to answer. */
int api_view(struct api_call *call, struct collection *c, struct view *ret, struct status *st) MUST_CHECK;

/* What can be selected by in a collection. */
struct selectable_kind api_selectable_kind(struct api *api, const struct collection *c);

/* A single object has no list form, a list no single form: 0, or ERR_FAILED and the status to answer. A watch
 * sends single objects. */
int api_check_form(
	struct api_call *call, const struct collection *c, bool list, struct status *ret) MUST_CHECK;

/* The collection that the call's path names; what the cluster had and the tape does not have is empty. NULL:
 * nobody knows it. */
struct collection *api_collection(struct api_call *call);

/* Sends an error as the call's client wants it, and releases it. */
void api_fail(struct api_call *call, struct status *status);

#endif
