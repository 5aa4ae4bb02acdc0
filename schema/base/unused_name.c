/* unused_name.c: see unused_name.h. */
#include "schema/base/unused_name.h"

#include "schema/base/buf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define SAME_NAME_MAX 1000

static bool is_used(const char *folder, const char *name, const char *ending)
{
	char *path = xasprintf("%s/%s%s", folder, name, ending);
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

char *unused_name(const char *folder, const char *name, const char *ending)
{
	char *found = xstrdup(name);

	for (int i = 2; i < SAME_NAME_MAX && is_used(folder, found, ending); i++) {
		free(found);
		found = xasprintf("%s-%d", name, i);
	}
	return found;
}
