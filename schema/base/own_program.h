/* own_program.h: the file to execute for one more process of this program. */
#ifndef SCHEMA_BASE_OWN_PROGRAM_H
#define SCHEMA_BASE_OWN_PROGRAM_H

#include <limits.h>

/*
 * Not always /proc/self/exe: what the launcher of the tarball starts is the dynamic loader
 * (tools/deploy/package/launcher.c), which knows nothing of our arguments. Then it is the launcher.
 */
const char *own_program(char to[PATH_MAX]);

#endif
