/*
 * access.h: who may talk to a replay.
 *
 *     a request with ...                   is served if
 *     the replay's token, or one that      always
 *     it has given out (TokenRequest)
 *     another token                        never: 401 (with --anonymous: as one without)
 *     no token                             its process runs on this machine, as our user or as root; with
 *                                          --anonymous always; with --token-file never: 401
 *     a Host of some other site            never: 421, because a browser may have been led here under a name
 *                                          that is not ours
 *     an Origin of some other site         never: 403, because a web page sent it
 *
 * Beyond loopback everybody is served, as --anonymous says, unless --token-file names a token. Control paths
 * take the control token alone, which the replay prints; the control socket serves nothing else, and only our
 * user and root.
 */
#ifndef REPLAYER_ACCESS_H
#define REPLAYER_ACCESS_H

#include "replayer/request/query.h"
#include "replayer/request/status.h"
#include "replayer/wire/http.h"

struct access;

struct access_options {
	const char *host;       /* listened on, numeric */
	const char *token_file; /* NULL: the token is made up, and no request of ours needs it */
	bool anonymous;
	const char **names; /* further ones under which the replay may be asked */
	size_t name_count;
};

/* The options are borrowed. ERR_NOT_FOUND, ERR_IO, ERR_USAGE of the token file. */
int access_open(const struct access_options *options, struct access **ret, struct err *err) MUST_CHECK;
void access_free(struct access *a); /* accepts NULL */

/* Logs on standard error whom the replay serves, if that is not only its own user. */
void access_warn(const struct access *a);

/* The tokens that clients send as "Authorization: Bearer", and for control; borrowed. */
const char *access_token(const struct access *a);
const char *access_control_token(const struct access *a);

/* A new token, as clients request them for service accounts: it is as good as the replay's. `id` makes it
 * unique. The caller frees. */
char *access_make_token(const struct access *a, const char *id);

/* 0, or ERR_FAILED with the answer in `st`. is_control: the path is one of control.h. */
int access_check(struct access *a, const struct http_request *r, const struct query *q, bool is_control,
	struct status *st) MUST_CHECK;

#endif
