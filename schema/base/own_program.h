/* own_program.h: the file to execute for one more process of this program. */
#ifndef SCHEMA_BASE_OWN_PROGRAM_H
#define SCHEMA_BASE_OWN_PROGRAM_H

#include <limits.h>

/*
 * This is not always /proc/self/exe: the launcher of the tarball starts the dynamic loader
 * (tools/deploy/package/launcher.c), which knows nothing of our arguments. In that case it is the launcher.
 */
const char *own_program(char to[PATH_MAX]);

#endif
