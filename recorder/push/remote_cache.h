/*
 * remote_cache.h: the folder in which parts of tapes stay that were fetched from a store:
 *
 * KUBETAPE_CACHE, else XDG_CACHE_HOME/kubetape, else ~/.cache/kubetape:
 *
 *                           HASH/place           the URL, and the endpoint if one was named
 *                                manifest.json   as it was read last
 *                                NAME.tape/seg-000001.db   with holes, see fetched.h
 *
 * All of it may be removed at any time.
 */
#ifndef RECORDER_PUSH_REMOTE_CACHE_H
#define RECORDER_PUSH_REMOTE_CACHE_H

#include "schema/base/buf.h"

#define REMOTE_CACHE_VARIABLE "KUBETAPE_CACHE"

/* The most disk space of the cache, unless KUBETAPE_CACHE_SIZE says otherwise. */
#define REMOTE_CACHE_BYTES (UINT64_C(4) << 30)

/* ERR_NOT_FOUND if there is no home either. The caller frees. */
int remote_cache_root(char **ret, struct err *err) MUST_CHECK;

/* An empty folder for one command, where its own one is of no use: below TMPDIR, /tmp or /dev/shm, `place` 0 to
 * REMOTE_CACHE_SPARES - 1. It is removed when the process ends; if the process was killed, by the next one that needs
 * such a folder. The caller frees. */
#define REMOTE_CACHE_SPARES 3
int remote_cache_spare(unsigned place, char **ret, struct err *err) MUST_CHECK;

/* ERR_USAGE when KUBETAPE_CACHE_SIZE is no size. */
int remote_cache_size(uint64_t *ret, struct err *err) MUST_CHECK;

/* Makes a folder and those above it, for their owner alone. */
int remote_cache_make(const char *folder, struct err *err) MUST_CHECK;

/* The file is there and has that size, as a hole if it was not. */
int remote_cache_file(const char *path, uint64_t bytes, struct err *err) MUST_CHECK;

/* Makes holes of the files that were used longest ago while all take more than they may. What others have open stays
 * theirs. */
void remote_cache_trim(const char *root);

#endif
