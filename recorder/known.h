/*
 * known.h: the objects that one stream believes to exist: for each its UID, its resourceVersion and the event
 * that brought it. A relist is compared with it, and it shows whether an event is a repetition. About 120
 * bytes an object; the objects themselves are on the tape.
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

/* Appends an object made of these facts alone, in place of a last state that the tape should have but cannot
 * return. */
int known_stub(const struct known_object *object, struct buf *to, struct err *err) MUST_CHECK;

/*
 * A sweep finds objects that a list no longer has: known_sweep_begin, known_put or known_saw for everything
 * listed, then known_unseen repeatedly; the caller removes each object before it asks for the next.
 */
void known_sweep_begin(struct known *k);
void known_saw(struct known *k, struct slice namespace, struct slice name);
bool known_was_seen(const struct known *k, struct slice namespace, struct slice name);
bool known_unseen(struct known *k, struct known_object *ret);

#endif
