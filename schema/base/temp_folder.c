/* temp_folder.c: see temp_folder.h. */
#include "schema/base/temp_folder.h"

#include "schema/base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A container whose root file system is read-only may have no /tmp, and has its memory. */
static const char *find_parent(void)
{
	const char *named = getenv("TMPDIR");

	if (named && *named)
		return named;
	return access("/tmp", W_OK) && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

int temp_folder_make(const char *purpose, char **ret, struct err *err)
{
	char *folder = xasprintf("%s/kubetape-%s-XXXXXX", find_parent(), purpose);
	int rc;

	if (mkdtemp(folder)) {
		*ret = folder;
		return 0;
	}
	rc = err_set_errno(err, errno, "cannot make '%s'", folder);
	free(folder);
	return rc;
}
