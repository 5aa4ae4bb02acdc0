/* regular_file.c: see regular_file.h. */
#include "schema/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int regular_file_refuse(const char *path, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "'%s' is not a regular file", path);
}

/* Opening a FIFO for writing without a reader, and a socket, fail with ENXIO. */
int regular_file_open(const char *path, int flags, struct err *err)
{
	struct stat st;
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == ENXIO || errno == EISDIR
			       ? regular_file_refuse(path, err)
			       : err_set_errno(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return regular_file_refuse(path, err);
}

/* SEEK_DATA is Linux's. */
uint64_t regular_file_next_data(int fd, uint64_t offset)
{
	off_t at = lseek(fd, (off_t)offset, SEEK_DATA);

	if (at >= 0)
		return (uint64_t)at;
	return errno == ENXIO ? UINT64_MAX : offset;
}

int regular_file_check(const char *path, struct err *err)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode) ? 0 : regular_file_refuse(path, err);
}
