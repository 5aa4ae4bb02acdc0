/*
 * tape_names.h: the resources of a tape by the names that kubectl takes: `pods`, `pod`, `po`,
 * `deployments.apps`, `deploy`, several separated by commas. Short names and categories come from the
 * discovery documents that were recorded.
 */
#ifndef TOOLS_TAPE_NAMES_H
#define TOOLS_TAPE_NAMES_H

#include "schema/tape/reader.h"

struct tape_names {
	const struct tape_resource **items; /* the tape's, valid as long as it says */
	size_t count;
};

/* ERR_NOT_FOUND if the tape has none of that name. */
int tape_names_choose(struct tape *t, const char *names, struct tape_names *ret, struct err *err) MUST_CHECK;
/* A resource whose version has changed has a history in each of them, of which the newest is chosen: a line on stderr for each
 * other one, unless `names` has the version. */
void tape_names_tell_versions(struct tape *t, const struct tape_names *n, const char *names);
void tape_names_release(struct tape_names *n);

#endif
