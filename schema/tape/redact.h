/*
 * redact.h: takes the values of Secrets out of whatever is stored.
 *
 * Every value of data and stringData becomes `redacted:` and a digest, so that equal values are seen to be
 * equal and a change is seen to be one. What stays is named in redact_rules.c: a member that no rule names is
 * taken for a value, and so is an annotation that may hold the object or a part of it. Redacting again
 * changes nothing.
 *
 * The digest is HMAC-SHA256, cut to 128 bits, with a key of its own for each tape. The key is kept beside the
 * tape, in FILE.tape.key, and not in it: a reader of the tape alone cannot try out likely passwords. Without
 * the file a new key is made, and digests from then on differ from those before.
 */
#ifndef SCHEMA_TAPE_REDACT_H
#define SCHEMA_TAPE_REDACT_H

#include "schema/base/buf.h"

struct redactor;

/* Reads or makes the key of the tape at that path. ERR_CORRUPT if the file is not a key; a file of another
 * user is refused (ERR_DENIED), because that user would know the key. */
int redactor_open(const char *tape_path, struct redactor **ret, struct err *err) MUST_CHECK;
void redactor_close(struct redactor *r); /* NULL is fine */

/* With the tape's key if there is one to be read, so that digests compare with those on the tape; else with that of
 * a key file, which is read or made as by redactor_open; NULL: with a key that nobody keeps. */
int redactor_of_tape(
	const char *tape_path, const char *key_path, struct redactor **ret, struct err *err) MUST_CHECK;

/* With a random key that nobody keeps. */
int redactor_random(struct redactor **ret, struct err *err) MUST_CHECK;

/* Removes the key if this redactor made it. NULL is fine. */
void redactor_discard(struct redactor *r);

/* With a fixed key, for tests. */
struct redactor *redactor_with_key(const unsigned char key[32]);

/* The digest of any text, under the key. */
int redactor_digest(
	const struct redactor *r, struct slice text, unsigned char ret[32], struct err *err) MUST_CHECK;

/* Whether objects of this resource, or of this kind, are Secrets. */
bool redactor_concerns(const char *group, const char *resource);
bool redactor_concerns_kind(struct slice api_version, struct slice kind);

/* Appends a Secret, or a list of them, without its values; everything else stays byte for byte. ERR_PROTOCOL
 * if it is not a JSON object; the part appended until then must not be used. */
int redactor_object(struct redactor *r, struct slice object, struct buf *to, struct err *err) MUST_CHECK;

/* Appends bytes that a server sent about Secrets and that are not a Secret: a Status unchanged, and for
 * everything else one line with length and digest ("redacted: 245 bytes, digest 0a1b..."). */
int redactor_answer(struct redactor *r, struct slice body, struct buf *to, struct err *err) MUST_CHECK;

/* Like it, for the object of an ERROR frame: anything but a Status becomes a Status with that line as its
 * message, and `code` unless that is 0. */
int redactor_error(
	struct redactor *r, struct slice object, long code, struct buf *to, struct err *err) MUST_CHECK;

/* Appends that line for any bytes. */
int redactor_bytes(struct redactor *r, struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

/* The target of a client's write. */
struct redact_target {
	struct slice group, resource, subresource;
	bool secret; /* for an answer: the request held secrets, whatever its target */
};

/* Appends a client's body: an object, a list, a patch. A body for a resource without secrets stays, unless it
 * is a Secret all the same. A body in which values cannot be distinguished becomes the text "redacted". In a
 * Status that answers a request with secrets, messages that may repeat a part of it (of 400, 422 and 500)
 * become digests. Returns 1 if anything was replaced, 0 if the body stays unchanged. */
int redactor_body(struct redactor *r, const struct redact_target *target, struct slice body, struct buf *to,
	struct err *err) MUST_CHECK;

#endif
