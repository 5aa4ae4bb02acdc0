/*
 * query.h: the path and the query of a request target, decoded as the API server decodes them: a repeated
 * parameter counts once (the first), a pair that is not valid percent-encoding is dropped silently.
 */
#ifndef REPLAYER_QUERY_H
#define REPLAYER_QUERY_H

#include "schema/base/buf.h"

#define QUERY_PAIRS_MAX 64 /* later pairs are ignored */

struct query_pair {
	struct slice name, value;
};

struct query {
	struct slice path; /* decoded */
	struct slice raw;  /* what stood after the question mark, as it was */
	bool bad_path;     /* the path is not valid percent-encoding */
	struct query_pair pairs[QUERY_PAIRS_MAX];
	size_t count;
	char *bytes; /* what the slices point into */
};

/* Never fails: see bad_path. Does not release earlier contents. */
void query_parse(struct slice target, struct query *ret);
void query_release(struct query *q);

/* True if the parameter is there at all, whatever its value. */
bool query_has(const struct query *q, const char *name);

/* Its first value, the empty slice when absent. */
struct slice query_get(const struct query *q, const char *name);

/* Absent, "0" and any case of "false" are false, everything else is true. */
bool query_true(const struct query *q, const char *name);

#endif
