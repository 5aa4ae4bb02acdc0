/*
 * object_look.h: what a picture shows of one version of an object: its state in one word, its owner, and the
 * few numbers that lanes draw. It needs no knowledge of the kind: what an object does not say is absent.
 */
#ifndef SCHEMA_VIEW_OBJECT_LOOK_H
#define SCHEMA_VIEW_OBJECT_LOOK_H

#include "schema/base/buf.h"

/* In the order of how much they matter: where several states share a pixel, the last of them is shown. */
enum look_state {
	LOOK_GONE,
	LOOK_PRESENT, /* it is there, and says no more */
	LOOK_READY,   /* Ready, Available, Active, Bound */
	LOOK_SUCCEEDED,
	LOOK_RUNNING, /* runs, and is not ready */
	LOOK_PENDING,
	LOOK_TERMINATING,
	LOOK_DEGRADED, /* not Ready, not Available, or Unknown, and should be */
	LOOK_CRASHING, /* a container waits for its next start, or for an image that cannot be pulled */
	LOOK_FAILED,
	LOOK_STATE_COUNT,
};

/* "Gone" "Present" "Ready" "Succeeded" "Running" "Pending" "Terminating" "Degraded" "CrashLoop" "Failed" */
const char *look_state_name(enum look_state state);

struct object_look {
	enum look_state state;
	int64_t generation;            /* 0: none */
	int64_t restarts;              /* of all containers together */
	int64_t wanted, ready;         /* replicas; wanted is -1 where there are none */
	bool oom_killed;               /* the last end of a container was that */
	struct slice owner_kind;       /* of the controlling owner, else of the first; empty: none */
	struct slice owner_api, owner; /* its apiVersion and name */
	bool is_warning;               /* an Event of type Warning */
	/* The object that an Event is about. */
	struct slice about_kind, about_api, about_namespace, about_name;
};

/* The slices borrow from the object, still escaped. Never fails: an object that is not JSON merely exists. */
void object_look(struct slice resource, struct slice object, struct object_look *ret);

#endif
