/* config_file.c: see config_file.h. */
#include "schema/base/config_file.h"

#include "schema/base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int read_config_file(const char *path, struct buf *to, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	ssize_t n = 1;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	while (rc == 0 && n > 0) {
		char block[8192];

		n = read(fd, block, sizeof(block));
		if (n < 0)
			rc = err_set_errno(err, errno, "cannot read '%s'", path);
		else if (to->len + (size_t)n > LIMIT_CONFIG_BYTES)
			rc = err_set(
				err, ERR_TOO_LARGE, "'%s' is larger than %u bytes", path, LIMIT_CONFIG_BYTES);
		else
			rc = buf_append(to, block, (size_t)n, err);
	}
	close(fd);
	return rc;
}

int read_config_text(const char *path, struct buf *to, struct err *err)
{
	int rc = read_config_file(path, to, err);

	rc = rc ? rc : buf_append(to, "", 1, err);
	to->len -= rc == 0;
	return rc;
}
