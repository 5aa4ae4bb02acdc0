/* new_tape.c: see new_tape.h. */
#include "schema/tape/new_tape.h"

#include "schema/tape/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct new_tape *n)
{
	free(n->path);
	free(n->temporary);
	*n = (struct new_tape){0};
}

int new_tape_begin(const char *path, struct new_tape *ret, struct err *err)
{
	struct new_tape n = {.path = segment_tape_path(path)};
	struct stat st;
	int failed = 0;

	for (size_t len = strlen(n.path); len > 1 && n.path[len - 1] == '/'; len--)
		n.path[len - 1] = 0;
	n.temporary = xasprintf("%s.tmp-%ld", n.path, (long)getpid());
	if (lstat(n.path, &st) == 0)
		failed = err_set(err, ERR_USAGE, "'%s' exists already", path);
	else if (mkdir(n.temporary, 0700))
		failed = err_set_errno(err, errno, "cannot create '%s'", path);
	if (failed)
		release(&n);
	else
		*ret = n;
	return failed;
}

int new_tape_end(struct new_tape *n, int failed, struct err *err)
{
	if (!failed && rename(n->temporary, n->path))
		failed = err_set_errno(err, errno, "cannot rename '%s' to '%s'", n->temporary, n->path);
	if (failed)
		segment_remove_all(n->temporary);
	release(n);
	return failed;
}
