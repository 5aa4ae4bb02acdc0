/* version.h: which kubetape this is. */
#ifndef TOOLS_VERSION_H
#define TOOLS_VERSION_H

#include <stdio.h>

/* Four lines: program and version; the commit it was built from; which formats it writes; the libraries it runs with. */
void version_print(FILE *to);

#endif
