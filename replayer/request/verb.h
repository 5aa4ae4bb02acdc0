/*
 * verb.h: what a request does, in the words of Kubernetes. It is decided once, when the path and the query
 * are known, and stands in the call (replayer/serve/call.h).
 *
 * To add a verb: a row in verb.c, and whatever answers it in api.c; then its place in the tables of
 * fault_answer.c (how faults see it) and, for a write, in write.c. Its name stands in run files, in rules of
 * --write and --ignore and in predicates: FORMAT.md section 9, WRITES.md and FAULTS.md list it.
 */
#ifndef REPLAYER_VERB_H
#define REPLAYER_VERB_H

#include "replayer/request/api_path.h"
#include "replayer/request/query.h"

enum verb {
	VERB_NONE, /* no resource is asked for, or by a method that the API does not have */
	VERB_GET,
	VERB_LIST,
	VERB_WATCH,
	VERB_CREATE,
	VERB_UPDATE,
	VERB_PATCH,
	VERB_DELETE,
	VERB_DELETE_COLLECTION,
	VERB_COUNT,
};

/* HEAD reads as GET does. */
enum verb verb_decide(struct slice method, const struct api_path *path, const struct query *query);

const char *verb_name(enum verb verb); /* "get"; "" for VERB_NONE */

/* VERB_NONE if no verb has that name. */
enum verb verb_find(struct slice name);

/* Changes something: create, update, patch, delete, deletecollection. */
bool verb_is_write(enum verb verb);

#endif
