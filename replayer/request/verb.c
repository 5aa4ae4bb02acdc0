/* verb.c: see verb.h. */
#include "replayer/request/verb.h"

static const struct verb_row {
	const char *name;
	bool is_write;
} rows[VERB_COUNT] = {
	[VERB_NONE] = {"", false},
	[VERB_GET] = {"get", false},
	[VERB_LIST] = {"list", false},
	[VERB_WATCH] = {"watch", false},
	[VERB_CREATE] = {"create", true},
	[VERB_UPDATE] = {"update", true},
	[VERB_PATCH] = {"patch", true},
	[VERB_DELETE] = {"delete", true},
	[VERB_DELETE_COLLECTION] = {"deletecollection", true},
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
	return rows[verb].is_write;
}
