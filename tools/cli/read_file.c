/* read_file.c: see read_file.h. */
#include "tools/cli/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int read_all(int fd, const char *name, struct buf *to, struct err *err)
{
	for (;;) {
		char *room = buf_reserve(to, 65536);
		ssize_t n;

		if (!room)
			return err_set(err, ERR_TOO_LARGE, "'%s' is larger than the maximum of %zu bytes",
				name, to->max);
		n = read(fd, room, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "cannot read '%s'", name);
		if (n == 0)
			return 0;
		to->len += (size_t)n;
	}
}

int read_file(const char *path, struct buf *to, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	rc = read_all(fd, path, to, err);
	close(fd);
	return rc;
}
