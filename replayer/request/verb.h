/*
 * verb.h: what a request does, in the words of Kubernetes. It is determined once, when the path and the query
 * are known, and kept in the call (replayer/serve/call.h).
 *
 * To add a verb:
 *   a row in verb.c, and what answers it: serve_resource() of api.c or, for a write, write_do() of write/write.c;
 *   for a write, also a constant in enum fault_verb (fault/fault_rule.h) and its word in FAULT_VERB_WORDS
 *   (fault/fault_keys.h), on which a test insists, with `make fault-schema`;
 *   its name where verbs are listed: FORMAT.md section 9, docs/tables.md, WRITES.md, FAULTS.md, and the sentences
 *   that say what was expected. `git grep -w deletecollection` finds them all.
 */
#ifndef REPLAYER_VERB_H
#define REPLAYER_VERB_H

#include "replayer/fault/fault_rule.h"
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

/* How faults see such a request, and such a write; FAULT_VERBS for what is no write. */
enum fault_request_kind verb_fault_kind(enum verb verb);
enum fault_verb verb_fault_verb(enum verb verb);

/* The kind of the options that a write takes, as "CreateOptions"; NULL for what is no write. */
const char *verb_options(enum verb verb);

#endif
