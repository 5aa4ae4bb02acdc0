/* audit_lines.c: see audit_lines.h. */
#include "tools/audit/audit_lines.h"

#include "schema/base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE_BYTES (256u << 10)

/* Gives the whole lines of the buffer, and keeps what follows the last line feed. */
static int give_lines(struct buf *b, size_t looked_at,
	int (*each)(void *context, struct slice line, struct err *err), void *context, struct err *err)
{
	size_t begin = 0;
	const char *feed;
	int rc = 0;

	while (!rc && (feed = memchr(b->ptr + looked_at, '\n', b->len - looked_at))) {
		rc = each(context, (struct slice){b->ptr + begin, (size_t)(feed - b->ptr) - begin}, err);
		looked_at = begin = (size_t)(feed - b->ptr) + 1;
	}
	buf_consume(b, begin);
	return rc;
}

static char *make_room(struct buf *b, const char *path, struct err *err)
{
	char *room = buf_reserve(b, PIECE_BYTES);

	if (!room)
		err_set(err, ERR_TOO_LARGE, "a line of '%s' has more than %u bytes, the maximum", path,
			LIMIT_OBJECT_BYTES);
	return room;
}

/* ---- a whole file ---- */

static int open_log(const char *path, gzFile *ret, struct err *err)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_USAGE, "'%s' is a folder; name the files in it", path);
	}
	*ret = gzdopen(fd, "rb"); /* takes what is not gzip as it is */
	if (*ret)
		return 0;
	close(fd);
	return err_set(err, ERR_FAILED, "cannot read '%s'", path);
}

static int read_failed(gzFile file, const char *path, struct err *err)
{
	int code = Z_OK;
	const char *words = gzerror(file, &code);

	if (code == Z_ERRNO)
		return err_set_errno(err, errno, "cannot read '%s'", path);
	if (strncmp(words, "<fd:", 4) == 0 && strstr(words, ": "))
		words = strstr(words, ": ") + 2; /* the descriptor is no name */
	return err_set(err, ERR_FAILED, "cannot read '%s': it is a damaged gzip file (%s)", path, words);
}

static int read_lines(gzFile file, const char *path, struct buf *b,
	int (*each)(void *context, struct slice line, struct err *err), void *context, struct err *err)
{
	int rc = 0, n = 1;

	while (!rc && n > 0) {
		char *room = make_room(b, path, err);

		if (!room)
			return ERR_TOO_LARGE;
		n = gzread(file, room, PIECE_BYTES);
		if (n <= 0)
			break;
		b->len += (size_t)n;
		rc = give_lines(b, b->len - (size_t)n, each, context, err);
	}
	if (!rc && n < 0)
		return read_failed(file, path, err);
	return rc || !b->len ? rc : each(context, buf_slice(b), err);
}

int audit_lines_read(const char *path, int (*each)(void *context, struct slice line, struct err *err),
	void *context, struct err *err)
{
	struct buf b;
	gzFile file;
	int rc = open_log(path, &file, err);

	if (rc)
		return rc;
	buf_init(&b, LIMIT_OBJECT_BYTES + PIECE_BYTES);
	rc = read_lines(file, path, &b, each, context, err);
	/* gzread takes the end of a file that was cut off for its end. */
	if (gzclose_r(file) == Z_BUF_ERROR && !rc)
		rc = err_set(err, ERR_FAILED,
			"cannot read '%s': it ends in the middle of what was compressed", path);
	buf_release(&b);
	return rc;
}

/* ---- a file that grows ---- */

struct audit_tail {
	char *path;
	int fd; /* -1: not there */
	bool at_end;
	struct buf half;
};

void audit_tail_free(struct audit_tail *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	buf_release(&t->half);
	free(t->path);
	free(t);
}

static int tail_open(struct audit_tail *t, struct err *err)
{
	t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (t->fd < 0 && errno != ENOENT)
		return err_set_errno(err, errno, "cannot open '%s'", t->path);
	if (t->fd >= 0 && t->at_end)
		(void)lseek(t->fd, 0, SEEK_END);
	t->at_end = false; /* of the next one nothing is left out */
	return 0;
}

struct audit_tail *audit_tail_new(const char *path, bool at_end)
{
	struct audit_tail *t = xcalloc(1, sizeof(*t));

	t->path = xstrdup(path);
	t->fd = -1;
	t->at_end = at_end;
	buf_init(&t->half, LIMIT_OBJECT_BYTES + PIECE_BYTES);
	(void)!tail_open(t, NULL);
	return t;
}

/* Cut to nothing, after a copy of it was made: what follows is new, and the half line has its rest in the copy. */
static void tail_check_cut(struct audit_tail *t)
{
	struct stat st;

	if (fstat(t->fd, &st) || st.st_size >= lseek(t->fd, 0, SEEK_CUR))
		return;
	(void)lseek(t->fd, 0, SEEK_SET);
	buf_clear(&t->half);
}

static int tail_read_file(struct audit_tail *t,
	int (*each)(void *context, struct slice line, struct err *err), void *context, struct err *err)
{
	int rc = 0;
	ssize_t n = 1;

	tail_check_cut(t);
	while (!rc && n > 0) {
		char *room = make_room(&t->half, t->path, err);

		if (!room)
			return ERR_TOO_LARGE;
		n = read(t->fd, room, PIECE_BYTES);
		if (n <= 0)
			break;
		t->half.len += (size_t)n;
		rc = give_lines(&t->half, t->half.len - (size_t)n, each, context, err);
	}
	return !rc && n < 0 && errno != EINTR ? err_set_errno(err, errno, "cannot read '%s'", t->path) : rc;
}

/* Whether the name has been given to another file. */
static bool tail_is_renamed(const struct audit_tail *t)
{
	struct stat own, named;

	return fstat(t->fd, &own) == 0 && stat(t->path, &named) == 0 &&
	       (own.st_ino != named.st_ino || own.st_dev != named.st_dev);
}

int audit_tail_read(struct audit_tail *t, int (*each)(void *context, struct slice line, struct err *err),
	void *context, struct err *err)
{
	bool renamed = true;
	int rc = t->fd < 0 ? tail_open(t, err) : 0;

	while (!rc && renamed && t->fd >= 0) {
		renamed = tail_is_renamed(t); /* before reading: nothing is added to it any more */
		rc = tail_read_file(t, each, context, err);
		if (rc || !renamed)
			break;
		close(t->fd);
		buf_clear(&t->half);
		rc = tail_open(t, err);
	}
	return rc;
}
