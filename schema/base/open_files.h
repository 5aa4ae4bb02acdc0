/* open_files.h: how many files and sockets the process may have open. */
#ifndef SCHEMA_BASE_OPEN_FILES_H
#define SCHEMA_BASE_OPEN_FILES_H

#include <stddef.h>
#include <sys/resource.h>

/* Allows as many as the system lets us, up to 65,536, and returns how many. *ret_before (may be NULL): what was
 * allowed before, which is what programs that we start should find: some wait on every number that they may
 * have, others cannot count far. */
size_t open_files_raise(struct rlimit *ret_before);

#endif
