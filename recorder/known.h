/*
 * known.h: what one stream believes to exist: for every live object its UID, its resourceVersion and the
 * event that brought it. A relist is compared with it, and a repeated event is told by it. About 120 bytes an
 * object; the objects themselves are on the tape.
 */
#ifndef RECORDER_KNOWN_H
#define RECORDER_KNOWN_H

#include "schema/base/buf.h"

struct known;

struct known_object {
	struct slice namespace, name, uid, rv; /* borrowed until the next known_put or known_remove of it */
	uint64_t seq;                          /* the tape's event that gave this version; 0 not known */
};

struct known *known_new(void);
void known_free(struct known *k);
size_t known_count(const struct known *k);

/* False if the key is not there. */
bool known_get(const struct known *k, struct slice namespace, struct slice name, struct known_object *ret);

/* Takes the object in or replaces it, and counts it as seen in the running sweep. Strings are copied.
 * ERR_TOO_LARGE if a string exceeds LIMIT_NAME_BYTES. */
int known_put(struct known *k, const struct known_object *object, struct err *err) MUST_CHECK;

void known_remove(struct known *k, struct slice namespace, struct slice name);

/* Appends an object of what is known alone: it stands for a last state that the tape (it should) cannot give
 * back. */
int known_stub(const struct known_object *object, struct buf *to, struct err *err) MUST_CHECK;

/*
 * A sweep finds what a list no longer has: known_sweep_begin, known_put or known_saw for everything listed,
 * then known_unseen again and again; the caller removes what it was given before it asks for the next.
 */
void known_sweep_begin(struct known *k);
void known_saw(struct known *k, struct slice namespace, struct slice name);
bool known_was_seen(const struct known *k, struct slice namespace, struct slice name);
bool known_unseen(struct known *k, struct known_object *ret);

#endif
