/* beside.c: see beside.h. */
#include "schema/tape/beside.h"

#include "schema/base/buf.h"

#include <string.h>

char *tape_beside(const char *tape_path, const char *ending)
{
	size_t len = strlen(tape_path);

	while (len > 1 && tape_path[len - 1] == '/')
		len--;
	return xasprintf("%.*s.%s", (int)len, tape_path, ending);
}
