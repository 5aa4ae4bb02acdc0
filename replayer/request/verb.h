/*
 * verb.h: what a request does, in the words of Kubernetes. It is determined once, when the path and the query
 * are known, and kept in the call (replayer/serve/call.h).
 *
 * To add a verb:
 *   a row in verb.c, and what answers it: serve_resource() of api.c or, for a write, write_do() of write/write.c;
 *   its line in `kinds` of serve/fault_answer.c, which says how faults see it; for a write, its line in
 *   `fault_verbs` of write/write.c, too, and its word in FAULT_VERB_WORDS (fault/fault_keys.h), with
 *   `make fault-schema`, and in `kinds` of write/write_options.c;
 *   its name where verbs are listed: FORMAT.md section 9, docs/tables.md, WRITES.md, FAULTS.md, and the sentences
 *   that say what was expected. `git grep -w deletecollection` finds them all.
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
