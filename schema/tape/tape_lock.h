/*
 * tape_lock.h: one writer at a time. The lock is flock(2) on the file `lock` in the tape's directory; only
 * its holder may make, change or remove anything there.
 *
 * Several writers may start at the same moment on a tape that does not exist yet. One of them makes the
 * directory, one (perhaps another) gets the lock, and the others change nothing. A holder that made nothing
 * of the tape removes lock file and directory again, so a locked file counts only while its name leads to it.
 */
#ifndef SCHEMA_TAPE_TAPE_LOCK_H
#define SCHEMA_TAPE_TAPE_LOCK_H

#include "schema/base/err.h"

#include <stdbool.h>

struct tape_lock {
	int fd;       /* -1: not held */
	bool created; /* the directory was made for it */
};

/* Makes the directory when there is none, and takes the lock. ERR_BUSY if another process holds it,
 * ERR_CORRUPT if the path leads to something that is not a tape: nothing was changed. */
int tape_lock_take(const char *tape_path, struct tape_lock *ret, struct err *err) MUST_CHECK;

/* Whether the lock that is held is the one at that path: not if the directory was moved or removed. */
bool tape_lock_is_in_place(const char *tape_path, const struct tape_lock *lock);

/* Gives it back if it is held. With is_unused, nothing is left of a directory that was made for it. */
void tape_lock_release(const char *tape_path, struct tape_lock *lock, bool is_unused);

/* Keeps writers away; shared with other readers. *ret_fd, which the caller closes, is -1 if there is no lock
 * file that a writer could hold. ERR_BUSY if one does. */
int tape_lock_share(const char *tape_path, int *ret_fd, struct err *err) MUST_CHECK;

#endif
