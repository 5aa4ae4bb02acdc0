/*
 * call.h: one request while it is being answered, and what all of them are answered from. api.c makes a call
 * of each request and routes it; each file of this folder answers one family of requests (list.c, watch.c,
 * discovery.c, review.c, ...) from the world at the position.
 */
#ifndef REPLAYER_CALL_H
#define REPLAYER_CALL_H

#include "replayer/fault/fault.h"
#include "replayer/request/accept.h"
#include "replayer/request/api_path.h"
#include "replayer/request/body.h"
#include "replayer/request/field_selector.h"
#include "replayer/request/respond.h"
#include "replayer/request/verb.h"
#include "replayer/serve/ahead_policy.h"
#include "replayer/serve/flow_control.h"
#include "replayer/world/world.h"

struct access;
struct ahead;
struct api_call;
struct awaited;
struct deck;
struct fault_act;
struct offload;
struct player;
struct run;
struct run_client;
struct run_request;
struct seen;
struct service_pool;
struct type_cache;
struct upkeep;
struct watches;
struct view;
struct write_rules;

#define ETAG_BYTES 160 /* 128 digits, the quotes and the end */

/* The OpenAPI document of version 2, after the first request for it, and the documents from which it was
 * made. */
struct openapi_kept {
	uint64_t state;
	struct blob *json, *protobuf; /* NULL: there is none */
	char etag[ETAG_BYTES];
};

/* The data for answering all requests. */
struct api {
	struct tape *tape;
	struct world *world;
	struct player *player;
	struct watches *watches;
	const struct marks *marks;
	struct deck *deck;  /* for control requests */
	uint64_t until_seq; /* where the replay ends */
	struct run *run;
	const struct write_rules *rules;    /* what becomes of writes */
	const char *const *held_finalizers; /* see write/finalizer_hold.h */
	size_t held_finalizer_count;
	const char *const *released_finalizers; /* see write/follow_tape.h */
	size_t released_finalizer_count;
	struct awaited *awaited;        /* what programs are to make; NULL: nothing */
	enum ahead_policy ahead_policy; /* of versions ahead of the position */
	struct ahead *ahead;
	struct fault_act *faults;      /* NULL: none */
	struct seen *seen;             /* what one client saw; NULL: nothing is repeated */
	struct type_cache *types;      /* how fields are merged */
	struct access *access;         /* who may ask */
	struct offload *offload;       /* what does long work */
	struct service_pool *services; /* what addresses services have; NULL: nobody has asked */
	struct upkeep *upkeep;         /* the replay's own work on written objects */
	struct flow_control flow;      /* the answers' headers of priority and fairness */
	struct openapi_kept openapi;
	/* Routes a call again that has waited; its request was copied, counted and stored before. */
	void (*route_again)(struct api_call *call);
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
	enum verb verb;
	struct body body;
	struct answer_style style;
	struct accepted accepted;
	/* The effects of faults on it. */
	struct fault_request fault; /* how they see it */
	uint64_t floor;             /* versions below have expired; 0: as the history says */
	bool is_older;              /* show that older state */
	struct fault_state older;
	int64_t timeout_ns; /* the client's own limit; not above 0: none */
	/* The version, not yet reached, to wait for before the error is sent; 0: none. */
	uint64_t awaited_rv;
	bool has_waited;
};

/* Puts the accepted form of a list (or a watch) or of an object into the call; ERR_FAILED with the status to
 * answer. */
int api_negotiate(struct api_call *call, const struct collection *c, bool list, struct status *st) MUST_CHECK;

/* After that: how objects are shown. */
int api_choose_view(
	struct api_call *call, struct collection *c, struct view *ret, struct status *st) MUST_CHECK;

/* Both for an object, whose form must be one that it has. */
int api_view(struct api_call *call, struct collection *c, struct view *ret, struct status *st) MUST_CHECK;

/* The fields that selectors may name in a collection. */
struct selectable_kind api_selectable_kind(struct api *api, const struct collection *c);

/* A single object has no list form, a list no single form: 0, or ERR_FAILED and the status to answer. A watch
 * sends single objects. */
int api_check_form(
	struct api_call *call, const struct collection *c, bool list, struct status *ret) MUST_CHECK;

/* Sends an error as the call's client wants it, and releases it. */
void api_fail(struct api_call *call, struct status *status);

#endif
