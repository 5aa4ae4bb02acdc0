/* tape_lock.c: see tape_lock.h. */
#include "schema/tape/tape_lock.h"

#include "schema/base/regular_file.h"
#include "schema/tape/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A writer that begins while others end without having made anything may find the directory or the lock gone
 * so often. */
#define TAKE_TRIES 100

static char *lock_path(const char *tape_path)
{
	return xasprintf("%s/" FORMAT_LOCK_NAME, tape_path);
}

static bool is_empty_directory(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool others = !dir;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			others = true;
	}
	if (dir)
		closedir(dir);
	return !others;
}

/* A directory that is there must be empty or a tape: nothing of anybody else's is touched. */
static int check_directory(const char *path, struct err *err)
{
	struct segment_file *list;
	size_t count;
	struct stat st;
	int rc;

	if (stat(path, &st))
		return err_set_errno(err, errno, "cannot open '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_CORRUPT, "'%s' is not a tape: it is not a directory", path);
	if (is_empty_directory(path))
		return 0;
	rc = segment_list(path, &list, &count, err);
	if (rc)
		return rc;
	segment_list_free(list, count);
	return 0;
}

/* Sets *created also if it fails afterwards. */
static int make_directory(const char *path, bool *created, struct err *err)
{
	char *parent, *slash;
	int rc;

	rc = segment_refuse_file_name(path, err);
	if (rc)
		return rc;
	*created = mkdir(path, 0700) == 0;
	if (!*created)
		return errno == EEXIST ? check_directory(path, err)
				       : err_set_errno(err, errno, "cannot create '%s'", path);
	parent = xstrdup(path);
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = 0;
	rc = segment_sync_directory(slash ? parent : ".", err);
	free(parent);
	return rc;
}

/* Another holder may have removed the file between our open() and our flock(). */
static bool is_in_place(int fd, const char *path)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && stat(path, &named) == 0 && locked.st_dev == named.st_dev &&
	       locked.st_ino == named.st_ino;
}

static int take_file(const char *tape_path, int *ret_fd, struct err *err)
{
	char *path = lock_path(tape_path);
	int fd = regular_file_open(path, O_RDWR | O_CREAT, err), rc = 0;

	if (fd < 0)
		rc = fd;
	else if (flock(fd, LOCK_EX | LOCK_NB))
		rc = err_set(err, ERR_BUSY, "tape '%s' is being written by another process", tape_path);
	else if (!is_in_place(fd, path))
		rc = err_set(err, ERR_NOT_FOUND, "cannot lock '%s': others remove it", path);
	if (!rc)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

int tape_lock_take(const char *tape_path, struct tape_lock *ret, struct err *err)
{
	bool created_once = false;
	int rc = ERR_NOT_FOUND;

	for (int i = 0; i < TAKE_TRIES && rc == ERR_NOT_FOUND; i++) {
		struct tape_lock lock = {.fd = -1};

		rc = make_directory(tape_path, &lock.created, err);
		created_once = created_once || lock.created;
		if (!rc)
			rc = take_file(tape_path, &lock.fd, err);
		lock.created = created_once;
		if (!rc)
			*ret = lock;
	}
	return rc;
}

bool tape_lock_is_in_place(const char *tape_path, const struct tape_lock *lock)
{
	char *path = lock_path(tape_path);
	bool in_place = is_in_place(lock->fd, path);

	free(path);
	return in_place;
}

void tape_lock_release(const char *tape_path, struct tape_lock *lock, bool is_unused)
{
	char *path;

	if (lock->fd < 0)
		return;
	if (is_unused && lock->created && tape_lock_is_in_place(tape_path, lock)) {
		path = lock_path(tape_path);
		unlink(path);
		rmdir(tape_path);
		free(path);
	}
	close(lock->fd);
	lock->fd = -1;
}

int tape_lock_share(const char *tape_path, int *ret_fd, struct err *err)
{
	char *path = lock_path(tape_path);
	int fd = regular_file_open(path, O_RDONLY, NULL);

	free(path);
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB)) {
		close(fd);
		return err_set(err, ERR_BUSY,
			"tape '%s' is being written by another process: stop that first", tape_path);
	}
	*ret_fd = fd < 0 ? -1 : fd;
	return 0;
}
