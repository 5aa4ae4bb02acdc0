/* verb.c: see verb.h. */
#include "replayer/request/verb.h"

/* How faults see a request, and of writes, which kind of write; the options that come with it. */
static const struct verb_row {
	const char *name;
	enum fault_request_kind seen_as;
	enum fault_verb written_as;
	const char *options;
} rows[VERB_COUNT] = {
	[VERB_NONE] = {"", FAULT_OTHER, FAULT_VERBS, NULL},
	[VERB_GET] = {"get", FAULT_GET, FAULT_VERBS, NULL},
	[VERB_LIST] = {"list", FAULT_LIST, FAULT_VERBS, NULL},
	[VERB_WATCH] = {"watch", FAULT_WATCH, FAULT_VERBS, NULL},
	[VERB_CREATE] = {"create", FAULT_WRITE, FAULT_CREATE, "CreateOptions"},
	[VERB_UPDATE] = {"update", FAULT_WRITE, FAULT_UPDATE, "UpdateOptions"},
	[VERB_PATCH] = {"patch", FAULT_WRITE, FAULT_PATCH, "PatchOptions"},
	[VERB_DELETE] = {"delete", FAULT_WRITE, FAULT_DELETE, "DeleteOptions"},
	[VERB_DELETE_COLLECTION] = {"deletecollection", FAULT_WRITE, FAULT_DELETE_COLLECTION,
		"DeleteOptions"},
};

enum verb verb_decide(struct slice method, const struct api_path *path, const struct query *query)
{
	bool is_one = path->name.len > 0;

	if (path->kind != API_PATH_RESOURCE)
		return VERB_NONE;
	if (slice_is(method, "GET") || slice_is(method, "HEAD")) {
		if (path->forced_watch || (!is_one && query_true(query, "watch")))
			return VERB_WATCH;
		return is_one ? VERB_GET : VERB_LIST;
	}
	if (slice_is(method, "POST"))
		return VERB_CREATE;
	if (slice_is(method, "PUT"))
		return VERB_UPDATE;
	if (slice_is(method, "PATCH"))
		return VERB_PATCH;
	if (slice_is(method, "DELETE"))
		return is_one ? VERB_DELETE : VERB_DELETE_COLLECTION;
	return VERB_NONE;
}

const char *verb_name(enum verb verb)
{
	return rows[verb].name;
}

enum verb verb_find(struct slice name)
{
	for (enum verb verb = VERB_NONE + 1; verb < VERB_COUNT; verb++) {
		if (slice_is(name, rows[verb].name))
			return verb;
	}
	return VERB_NONE;
}

bool verb_is_write(enum verb verb)
{
	return rows[verb].seen_as == FAULT_WRITE;
}

enum fault_request_kind verb_fault_kind(enum verb verb)
{
	return rows[verb].seen_as;
}

enum fault_verb verb_fault_verb(enum verb verb)
{
	return rows[verb].written_as;
}

const char *verb_options(enum verb verb)
{
	return rows[verb].options;
}
