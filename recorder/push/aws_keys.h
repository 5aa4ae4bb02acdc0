/*
 * aws_keys.h: credentials for a store that speaks AWS' protocol, found as AWS' own tools do, in this order:
 *
 *   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   AWS_ROLE_ARN with AWS_WEB_IDENTITY_TOKEN_FILE   (a pod's service account), or the same two of the profile
 *   the profile in ~/.aws/credentials and ~/.aws/config
 *   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI   (a pod identity, a task)
 *   the instance's metadata, version 2
 *
 * Of a profile that is chosen by an option the environment's variables are not looked at, and of one that leads to keys on a way
 * that is not followed nobody else's are taken. Keys that expire are renewed before that.
 */
#ifndef RECORDER_PUSH_AWS_KEYS_H
#define RECORDER_PUSH_AWS_KEYS_H

#include "recorder/push/web_call.h"

struct aws_keys {
	char *key_id, *secret, *token; /* token may be NULL */
	int64_t expires_ns;            /* wall clock; 0: never */
	const char *source;            /* "the environment"; for sentences */
};

struct aws;

/* `profile` may be NULL. Asks nobody yet. The web is borrowed. */
int aws_open(struct web *web, const char *profile, struct aws **ret, struct err *err) MUST_CHECK;
void aws_close(struct aws *a); /* accepts NULL */

/* The keys of now, borrowed until the next call. `renew`: those that were given were refused. ERR_DENIED if no place
 * has any, or the service that issues them refuses; ERR_NETWORK, ERR_PROTOCOL. */
int aws_keys_get(struct aws *a, bool renew, const struct aws_keys **ret, struct err *err) MUST_CHECK;

/* Of the environment, else of the profile; NULL if neither says. Borrowed. */
const char *aws_region(const struct aws *a);
const char *aws_endpoint(const struct aws *a);

#endif
