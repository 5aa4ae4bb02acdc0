/*
 * redact.h: takes the values out of Secrets before they reach the tape. Every value of data and stringData,
 * also inside the last-applied-configuration annotation, becomes `redacted:` and a digest, so that equal
 * values are seen to be equal and a change is seen to be one.
 *
 * The digest is HMAC-SHA256, cut to 128 bits, with a key of its own for each tape. The key is kept beside the
 * tape, in FILE.tape.key, and not in it: who is given the tape alone cannot try out likely passwords. Without
 * the file a new key is made, and digests from then on differ from those before.
 */
#ifndef SCHEMA_TAPE_REDACT_H
#define SCHEMA_TAPE_REDACT_H

#include "schema/base/buf.h"

struct redactor;

/* Reads or makes the key of the tape at that path. */
int redactor_open(const char *tape_path, struct redactor **ret, struct err *err) MUST_CHECK;
void redactor_close(struct redactor *r);

/* With the tape's key if there is one to be read, so that digests compare with those on the tape; with a key
 * that nobody keeps otherwise. Writes nothing. */
struct redactor *redactor_of_tape(const char *tape_path);

/* Removes the key if this redactor made it. NULL is fine. */
void redactor_discard(struct redactor *r);

/* With a fixed key, for tests. */
struct redactor *redactor_with_key(const unsigned char key[32]);

/* Whether objects of this resource hold secrets. */
bool redactor_concerns(const char *group, const char *resource);

/* Appends the object without its secrets; everything else stays byte for byte. */
int redactor_object(struct redactor *r, struct slice object, struct buf *to, struct err *err) MUST_CHECK;

/* Appends what a client sent about a resource: an object or a patch, without secrets. A body in which they
 * cannot be found (no JSON object, such as a JSON Patch of a Secret; a token to be reviewed) becomes the text
 * "redacted". */
int redactor_body(struct redactor *r, struct slice group, struct slice resource, struct slice body,
	struct buf *to, struct err *err) MUST_CHECK;

#endif
