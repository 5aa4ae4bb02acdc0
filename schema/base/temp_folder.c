/* temp_folder.c: see temp_folder.h. */
#include "schema/base/temp_folder.h"

#include "schema/base/buf.h"

#include <errno.h>
#include <stdlib.h>

int temp_folder_make(const char *purpose, char **ret, struct err *err)
{
	const char *parent = getenv("TMPDIR");
	char *folder = xasprintf("%s/kubetape-%s-XXXXXX", parent && *parent ? parent : "/tmp", purpose);
	int rc;

	if (mkdtemp(folder)) {
		*ret = folder;
		return 0;
	}
	rc = err_set_errno(err, errno, "cannot make '%s'", folder);
	free(folder);
	return rc;
}
