/* remote_find.h: the tapes that are at a place in a store, or below it. */
#ifndef RECORDER_PUSH_REMOTE_FIND_H
#define RECORDER_PUSH_REMOTE_FIND_H

#include "recorder/push/s3.h"

/* Places below which tapes are looked for: PREFIX/cluster=.../tape=... is two deep. */
#define REMOTE_DEPTH 4

struct remote_places {
	char **keys; /* of folders that have a manifest or segments, without a slash at the end, in order */
	size_t count;
};

/* ERR_NOT_FOUND if there is no tape at all. The caller releases. */
int remote_find(struct s3 *s, const char *key, struct remote_places *ret, struct err *err) MUST_CHECK;
void remote_places_release(struct remote_places *p);

#endif
