/* open_files.h: how many files and sockets the process may have open. */
#ifndef SCHEMA_BASE_OPEN_FILES_H
#define SCHEMA_BASE_OPEN_FILES_H

#include <stddef.h>
#include <sys/resource.h>

/* Raises the limit as far as the system allows, up to 65,536, and returns it. *ret_before (may be NULL) gets
 * the limit before, which programs that we start should have: some loop over all possible descriptors, others
 * cannot handle large ones. */
size_t open_files_raise(struct rlimit *ret_before);

#endif
