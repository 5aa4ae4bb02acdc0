/*
 * rewrite.h: the necessary changes of a request's head on its way.
 *
 *     Host, :authority   name the real API server
 *     Accept             loses protobuf and CBOR when the client takes JSON as well: only JSON is the same
 *                        bytes on the tape
 *     Authorization      as it came; or, if the tee uses its own identity, that one, for clients that know
 *                        its secret
 *     Impersonate-...    as they came, unless an option names whom to impersonate
 */
#ifndef TOOLS_TEE_REWRITE_H
#define TOOLS_TEE_REWRITE_H

#include "tools/tee/fields.h"

struct rewrite {
	const char *authority;
	/* Whether the tee uses its own identity. Only clients that send `secret` as their bearer token may
	 * then use it; authorization is the header for the server, NULL: none (the certificate identifies the
	 * tee). */
	bool says_who;
	const char *secret, *authorization;
	const char *as_user;    /* NULL: nobody is impersonated */
	const char **as_groups; /* ended by NULL, or NULL */
};

/* Changes the fields in place. False: the client does not know the secret, or wants to be another user than
 * the configured one: the request must not be sent. */
bool rewrite_fields(const struct rewrite *r, struct field_list *fields);

/* Appends an Accept value without protobuf and CBOR; nothing when nothing else was in it. */
int rewrite_accept(struct slice value, struct buf *to, struct err *err) MUST_CHECK;

/* Whether one of the media types is JSON. */
bool accept_has_json(struct slice value);

#endif
