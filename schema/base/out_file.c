/*
 * out_file.c: see out_file.h.
 *
 * A file without a name (O_TMPFILE) is given one beside its target and renamed; between the two calls is the
 * only moment at which the end of the program leaves something behind. Where a file is a mount of its own, as
 * containers have them, or its folder may not be written, it cannot be replaced and is emptied instead.
 */
#include "schema/base/out_file.h"
#include "schema/base/count_of.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINKS_MAX   40 /* as many as Linux follows */
#define NAME_TRIES  16
#define OWNERS_MODE 0600

struct out_file {
	FILE *stream;
	char *name;   /* as it was given, for errors */
	char *target; /* where it is to appear; NULL: written to directly */
	char *part;   /* its name until then; NULL: it has none */
	char path[32];
};

/* ---- what a name stands for ---- */

/* The descriptor that a name means, -1 when it means none. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		size_t len = strlen(folders[i]);
		char *end;
		long fd;

		if (strncmp(path, folders[i], len) != 0 || path[len] < '0' || path[len] > '9')
			continue;
		fd = strtol(path + len, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}

/* The folder that a path lies in, with its last slash; empty for the current one. */
static struct slice folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (struct slice){path, slash ? (size_t)(slash + 1 - path) : 0};
}

char *out_file_target(const char *path)
{
	char *target = xstrdup(path);

	for (int i = 0; i < LINKS_MAX && descriptor_of(target) < 0; i++) {
		struct slice folder = folder_of(target);
		char link[PATH_MAX], *next;
		ssize_t n = readlink(target, link, sizeof(link) - 1);

		if (n <= 0)
			break;
		link[n] = 0;
		next = *link == '/' ? xstrdup(link) : xasprintf("%.*s%s", (int)folder.len, folder.ptr, link);
		free(target);
		target = next;
	}
	return target;
}

int out_file_refuse_stream(const char *path, const char *what, struct err *err)
{
	char *target = out_file_target(path);
	bool is_stream = descriptor_of(target) >= 0;

	free(target);
	return is_stream ? err_set(err, ERR_USAGE, "%s: it cannot be written to '%s'", what, path) : 0;
}

/* A mount cannot be replaced by a rename. */
static bool is_mount(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, 0, STATX_TYPE, &st) == 0 && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* ---- files without a name ---- */

static bool has_descriptor_names(void)
{
	return access("/proc/self/fd", X_OK) == 0;
}

static int open_unnamed(struct slice folder, int flags)
{
	char *path = xasprintf("%.*s", folder.len ? (int)folder.len : 1, folder.len ? folder.ptr : ".");
	int fd = has_descriptor_names() ? open(path, O_TMPFILE | O_CLOEXEC | flags, OWNERS_MODE) : -1;

	free(path);
	return fd;
}

/* A name that nobody can foresee. The caller frees. */
static char *make_name(struct slice folder)
{
	unsigned long long number = 0;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		abort(); /* no Linux that we run on lacks it */
	return xasprintf("%.*s.kubetape-%016llx", (int)folder.len, folder.ptr, number);
}

static int open_named(struct slice folder, char **ret_part)
{
	char *part = make_name(folder);
	int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OWNERS_MODE);

	if (fd < 0)
		free(part);
	else
		*ret_part = part;
	return fd;
}

/* Gives the open file a name beside its target. Returns 0, or -1 with errno. */
static int give_name(struct out_file *f)
{
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fileno(f->stream));
	for (int i = 0; i < NAME_TRIES; i++) {
		char *part = make_name(folder_of(f->target));

		if (linkat(AT_FDCWD, from, AT_FDCWD, part, AT_SYMLINK_FOLLOW) == 0) {
			f->part = part;
			return 0;
		}
		free(part);
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* Where temporary files go: a folder, with a slash after it. The caller frees. */
static char *temporary_folder(const struct out_file *beside)
{
	const char *usual = getenv("TMPDIR");

	if (beside && beside->target)
		return slice_dup(folder_of(beside->target));
	return xasprintf("%s/", usual && *usual ? usual : "/tmp");
}

int out_file_temporary(const struct out_file *beside, FILE **ret, struct err *err)
{
	char *folder = temporary_folder(beside), *part = NULL;
	int fd = open_unnamed(slice_of(folder), O_RDWR), rc = 0;

	if (fd < 0)
		fd = open_named(slice_of(folder), &part);
	if (part)
		unlink(part);
	*ret = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!*ret)
		rc = err_set_errno(
			err, errno, "cannot make a temporary file in '%s'", *folder ? folder : ".");
	if (rc && fd >= 0)
		close(fd);
	free(part);
	free(folder);
	return rc;
}

/* ---- opening ---- */

/* Each returns a descriptor, or -1 with errno. */

static int duplicate(int given)
{
	int flags = fcntl(given, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		errno = EBADF;
	else if (flags >= 0)
		return fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return -1;
}

static int connect_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, saved;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static int open_directly(const char *path, const struct stat *st)
{
	if (S_ISSOCK(st->st_mode))
		return connect_socket(path);
	return open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | (S_ISREG(st->st_mode) ? O_TRUNC : 0));
}

/* Owner and permissions of the file that is to be replaced; what was granted to a group whose members we
 * cannot name is not granted to another one. */
static void succeed(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) == 0)
		(void)fchmod(fd, old->st_mode & 0777);
	else if (old->st_uid == geteuid())
		(void)fchmod(fd, old->st_mode & 0707);
}

/* `old`: what is there already, NULL: nothing. */
static int open_beside(struct out_file *f, const struct stat *old)
{
	struct slice folder = folder_of(f->target);
	int fd;

	if (!f->target[folder.len]) { /* "folder/" */
		errno = EISDIR;
		return -1;
	}
	fd = open_unnamed(folder, O_RDWR);
	if (fd < 0)
		fd = open_named(folder, &f->part);
	if (fd >= 0 && fchmod(fd, OWNERS_MODE) == 0 && old)
		succeed(fd, old);
	return fd;
}

static int open_target(struct out_file *f)
{
	struct stat st;
	bool is_there = stat(f->name, &st) == 0;
	int fd;

	if (!is_there && errno != ENOENT)
		return -1;
	if (is_there && (!S_ISREG(st.st_mode) || is_mount(f->name)))
		return open_directly(f->name, &st);
	f->target = out_file_target(f->name);
	fd = open_beside(f, is_there ? &st : NULL);
	if (fd >= 0 || !is_there || (errno != EACCES && errno != EPERM && errno != EROFS))
		return fd;
	free(f->target);
	f->target = NULL;
	return open_directly(f->name, &st);
}

static void out_file_release(struct out_file *f)
{
	if (f->stream)
		fclose(f->stream);
	free(f->name);
	free(f->target);
	free(f->part);
	free(f);
}

int out_file_open(const char *path, struct out_file **ret, struct err *err)
{
	struct out_file *f = xcalloc(1, sizeof(*f));
	char *links = out_file_target(path);
	int given = descriptor_of(links), fd, rc = 0;

	free(links);
	f->name = xstrdup(path);
	fd = given >= 0 ? duplicate(given) : open_target(f);
	if (fd >= 0)
		f->stream = fdopen(fd, "w");
	if (!f->stream) {
		rc = err_set_errno(err, errno, given >= 0 ? "cannot write '%s'" : "cannot make '%s'", path);
		if (fd >= 0)
			close(fd);
		out_file_abandon(f);
		return rc;
	}
	if (has_descriptor_names())
		snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", fd);
	*ret = f;
	return 0;
}

/* 0, or an errno. */
static int check_target(const char *name, const char *target)
{
	struct slice folder = folder_of(target);
	char *beside = folder.len ? slice_dup(folder) : xstrdup(".");
	bool can_make = access(beside, W_OK | X_OK) == 0;
	int rc = can_make ? 0 : errno;
	struct stat st;

	free(beside);
	if (stat(name, &st))
		return !target[folder.len] ? EISDIR : rc;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return (S_ISREG(st.st_mode) && can_make) || access(name, W_OK) == 0 ? 0 : errno;
}

int out_file_check(const char *path, struct err *err)
{
	char *target = out_file_target(path);
	int given = descriptor_of(target), rc, fd;

	if (given < 0) {
		rc = check_target(path, target);
	} else {
		fd = duplicate(given);
		rc = fd < 0 ? errno : 0;
		if (fd >= 0)
			close(fd);
	}
	free(target);
	if (!rc)
		return 0;
	return err_set_errno(err, rc, given >= 0 ? "cannot write '%s'" : "cannot make '%s'", path);
}

FILE *out_file_stream(struct out_file *f)
{
	return f->stream;
}

const char *out_file_path(const struct out_file *f)
{
	return *f->path ? f->path : f->part;
}

/* ---- closing ---- */

/* EINVAL and EROFS: not a file that could be on a disk. */
static int sync_file(FILE *stream)
{
	if (fsync(fileno(stream)) == 0 || errno == EINVAL || errno == EROFS)
		return 0;
	return -1;
}

static int put_in_place(struct out_file *f)
{
	if (sync_file(f->stream) || (!f->part && give_name(f)))
		return -1;
	if (rename(f->part, f->target))
		return -1;
	free(f->part);
	f->part = NULL;
	return 0;
}

int out_file_close(struct out_file *f, struct err *err)
{
	int rc = out_stream_flush(f->stream, NULL) ? err_set_errno(err, errno, "cannot write '%s'", f->name)
						   : 0;

	if (rc == 0 && f->target && put_in_place(f))
		rc = err_set_errno(err, errno, "cannot write '%s'", f->name);
	if (rc) {
		out_file_abandon(f);
		return rc;
	}
	if (fclose(f->stream))
		rc = err_set_errno(err, errno, "cannot write '%s'", f->name);
	f->stream = NULL;
	out_file_release(f);
	return rc;
}

void out_file_abandon(struct out_file *f)
{
	if (!f)
		return;
	if (f->part)
		unlink(f->part);
	out_file_release(f);
}

int out_file_write(const char *path, struct slice bytes, struct err *err)
{
	struct out_file *f;
	int rc = out_file_open(path, &f, err);

	if (rc)
		return rc;
	fwrite(bytes.ptr, 1, bytes.len, f->stream);
	return out_file_close(f, err);
}

/* ---- any stream ---- */

int out_stream_check(FILE *to, struct err *err)
{
	return ferror(to) ? err_set_errno(err, errno ? errno : EIO, "cannot write the output") : 0;
}

int out_stream_flush(FILE *to, struct err *err)
{
	if (fflush(to))
		return err_set_errno(err, errno, "cannot write the output");
	return ferror(to) ? err_set(err, ERR_IO, "cannot write the output: a part of it was lost") : 0;
}

bool out_stream_is_open(FILE *to)
{
	int flags = fcntl(fileno(to), F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}
