/*
 * fault_shim.c: preloaded into a program, makes the system fail on the files below one directory.
 *
 *   FAULT_DIR    the directory; calls on other files are let through and not counted
 *   FAULT_AT     which call fails, from 1; 0: none
 *   FAULT_MODE   once     that call fails, later ones do not
 *                sticky   that call fails and every one after it
 *                short    that call, if it writes, writes half; the next one fails
 *                cut      at that call the power goes: what was written and not synced is lost, wholly or
 *                         in part, and the process ends with CUT_EXIT
 *                kill     before that call the process is killed
 *   FAULT_ERRNO  ENOSPC or EIO, for the first three
 *   FAULT_SEED   for cut: which part is lost
 *   FAULT_CALLS  write (or not set): calls that write are counted; read: those that read
 *   FAULT_COUNT  a file that gets the number of calls counted, when the process ends
 *
 * Counted are open (for writing), write, pwrite, ftruncate, fsync, fdatasync, rename and unlink; or open (for
 * reading), read and pread. For cut every write keeps what it overwrites until the file is synced; names
 * that were made, changed or removed can be undone until their directory is synced. At the cut a part of all
 * that is undone, the newest first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CUT_EXIT 137
#define MAX_FDS  4096

/* Something that a power cut may undo. */
struct undo {
	struct undo *older;
	enum { UNDO_BYTES, UNDO_SIZE, UNDO_CREATE, UNDO_RENAME, UNDO_UNLINK } kind;
	int fd; /* our own, to the file */
	ino_t inode;
	off_t offset; /* or the size before */
	size_t length;
	char *bytes;
	char path[512], other[512]; /* rename: from, to; unlink: the name, our own link */
};

enum mode { MODE_NONE, MODE_ONCE, MODE_STICKY, MODE_SHORT, MODE_CUT, MODE_KILL };

static struct {
	pthread_mutex_t lock;
	bool ready;
	char dir[400];
	size_t dir_len;
	unsigned long at, count;
	enum mode mode;
	bool reads; /* are counted, not writes */
	int number;
	uint64_t random;
	struct undo *newest;
	unsigned links;
	bool ours[MAX_FDS]; /* fds of files below dir */
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define REAL(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

static void prepare(void)
{
	const char *dir = getenv("FAULT_DIR"), *mode = getenv("FAULT_MODE"), *at = getenv("FAULT_AT");
	const char *number = getenv("FAULT_ERRNO"), *seed = getenv("FAULT_SEED");
	const char *calls = getenv("FAULT_CALLS");
	static const char *const modes[] = {"none", "once", "sticky", "short", "cut", "kill"};

	if (shim.ready)
		return;
	shim.ready = true;
	snprintf(shim.dir, sizeof(shim.dir), "%s", dir ? dir : "");
	shim.dir_len = strlen(shim.dir);
	shim.at = at ? strtoul(at, NULL, 10) : 0;
	shim.number = number && strcmp(number, "EIO") == 0 ? EIO : ENOSPC;
	shim.reads = calls && strcmp(calls, "read") == 0;
	shim.random = seed ? strtoull(seed, NULL, 10) : 1;
	for (size_t i = 0; mode && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(mode, modes[i]) == 0)
			shim.mode = (enum mode)i;
	}
}

static bool below(const char *path)
{
	return shim.dir_len && path && strncmp(path, shim.dir, shim.dir_len) == 0;
}

static bool is_ours(int fd)
{
	return fd >= 0 && fd < MAX_FDS && shim.ours[fd];
}

static uint64_t next_random(void)
{
	shim.random = shim.random * 6364136223846793005u + 1442695040888963407u;
	return shim.random >> 33;
}

/* ---- the power cut ---- */

static struct undo *add_undo(int kind)
{
	struct undo *u = calloc(1, sizeof(*u));

	if (!u)
		abort();
	u->kind = kind;
	u->fd = -1;
	u->older = shim.newest;
	shim.newest = u;
	return u;
}

static void note_file(struct undo *u, int fd)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	u->fd = REAL(open)(path, O_RDWR); /* never closed: that would drop the file's locks */
	u->inode = fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void note_write(int fd, off_t offset, size_t length)
{
	struct undo *u;
	struct stat st;
	ssize_t n;

	if (shim.mode != MODE_CUT || fstat(fd, &st))
		return;
	if (offset + (off_t)length > st.st_size) {
		u = add_undo(UNDO_SIZE);
		note_file(u, fd);
		u->offset = st.st_size;
	}
	u = add_undo(UNDO_BYTES);
	note_file(u, fd);
	u->offset = offset;
	u->bytes = malloc(length ? length : 1);
	n = u->bytes ? REAL(pread)(u->fd, u->bytes, length, offset) : 0;
	u->length = n > 0 ? (size_t)n : 0;
}

static void note_truncate(int fd, off_t length)
{
	struct undo *u;
	struct stat st;

	if (shim.mode != MODE_CUT || fstat(fd, &st))
		return;
	if (length < st.st_size)
		note_write(fd, length, (size_t)(st.st_size - length));
	u = add_undo(UNDO_SIZE);
	note_file(u, fd);
	u->offset = st.st_size;
}

static bool is_of_names(const struct undo *u)
{
	return u->kind >= UNDO_CREATE;
}

/* fd was synced: of a file, its bytes are safe; of a directory, the names. */
static void forget(int fd)
{
	struct undo **link = &shim.newest;
	struct stat st;

	if (shim.mode != MODE_CUT || fstat(fd, &st))
		return;
	while (*link) {
		struct undo *u = *link;

		if (S_ISDIR(st.st_mode) ? !is_of_names(u) : is_of_names(u) || u->inode != st.st_ino) {
			link = &u->older;
			continue;
		}
		if (u->kind == UNDO_UNLINK)
			REAL(unlink)(u->other);
		*link = u->older;
		free(u->bytes);
		free(u);
	}
}

static void undo_one(struct undo *u)
{
	switch (u->kind) {
	case UNDO_BYTES:
		if (u->length && REAL(pwrite)(u->fd, u->bytes, u->length, u->offset) < 0)
			abort();
		break;
	case UNDO_SIZE:
		if (REAL(ftruncate)(u->fd, u->offset))
			abort();
		break;
	case UNDO_CREATE: REAL(unlink)(u->path); break;
	case UNDO_RENAME: REAL(rename)(u->other, u->path); break;
	case UNDO_UNLINK: REAL(rename)(u->other, u->path); break;
	}
}

/* Names go back in the reverse order in which they were changed, some number of them; of bytes each write is
 * lost or not by itself, or all are. */
static void cut_power(void)
{
	unsigned names = 0, keep_names;
	bool all = next_random() % 3 == 0;

	for (struct undo *u = shim.newest; u; u = u->older)
		names += is_of_names(u);
	keep_names = all ? 0 : (unsigned)(next_random() % (names + 1));
	for (struct undo *u = shim.newest; u; u = u->older) {
		if (is_of_names(u) ? names-- > keep_names : all || next_random() % 2)
			undo_one(u);
		else if (u->kind == UNDO_UNLINK)
			REAL(unlink)(u->other);
	}
	_exit(CUT_EXIT);
}

/* ---- counting ---- */

/* One more call that reads, or writes. True when it is to fail, with errno set. */
static bool fails(bool reads)
{
	bool now;

	if (reads != shim.reads)
		return false;
	shim.count++;
	now = shim.at && shim.count == shim.at;
	if (now && shim.mode == MODE_CUT)
		cut_power();
	if (now && shim.mode == MODE_KILL)
		raise(SIGKILL);
	if (shim.mode == MODE_SHORT)
		now = shim.at && shim.count == shim.at + 1;
	if (!now && !(shim.mode == MODE_STICKY && shim.at && shim.count > shim.at))
		return false;
	errno = shim.number;
	return true;
}

/* How much of a write is done. */
static size_t length_now(size_t length)
{
	return shim.mode == MODE_SHORT && shim.count == shim.at && length > 1 ? length / 2 : length;
}

__attribute__((destructor)) static void tell_count(void)
{
	const char *path = getenv("FAULT_COUNT");
	char text[32];
	int fd = path ? REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	int n = snprintf(text, sizeof(text), "%lu\n", shim.count);

	if (fd >= 0 && REAL(write)(fd, text, (size_t)n) != n)
		abort();
}

static void enter(void)
{
	pthread_mutex_lock(&shim.lock);
	prepare();
}

static void leave(void)
{
	int saved = errno;

	pthread_mutex_unlock(&shim.lock);
	errno = saved;
}

/* ---- the calls ---- */

static int open_common(int directory, const char *path, int flags, mode_t mode)
{
	bool writes = flags & (O_WRONLY | O_RDWR | O_CREAT), made;
	int fd = -1;

	enter();
	made = below(path) && (flags & O_CREAT) && access(path, F_OK);
	if (!below(path) || !fails(!writes))
		fd = REAL(openat)(directory, path, flags, mode);
	if (fd >= 0 && fd < MAX_FDS)
		shim.ours[fd] = below(path);
	if (fd >= 0 && made && shim.mode == MODE_CUT)
		snprintf(add_undo(UNDO_CREATE)->path, 512, "%s", path);
	leave();
	return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(ap, int) : 0;
}

#define DEFINE_OPEN(name)                                                                                    \
	int name(const char *path, int flags, ...)                                                           \
	{                                                                                                    \
		va_list ap;                                                                                  \
		mode_t mode;                                                                                 \
                                                                                                             \
		va_start(ap, flags);                                                                         \
		mode = mode_of(flags, ap);                                                                   \
		va_end(ap);                                                                                  \
		return open_common(AT_FDCWD, path, flags, mode);                                             \
	}
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int close(int fd)
{
	enter();
	if (fd >= 0 && fd < MAX_FDS)
		shim.ours[fd] = false;
	leave();
	return REAL(close)(fd);
}

static ssize_t write_common(int fd, const void *bytes, size_t length, off_t offset, bool at_offset)
{
	ssize_t n = -1;
	size_t now = length;

	enter();
	if (is_ours(fd)) {
		if (fails(false))
			goto end;
		now = length_now(length);
		note_write(fd, at_offset ? offset : lseek(fd, 0, SEEK_CUR), now);
	}
	n = at_offset ? REAL(pwrite)(fd, bytes, now, offset) : REAL(write)(fd, bytes, now);
end:
	leave();
	return n;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	return write_common(fd, bytes, length, 0, false);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	return write_common(fd, bytes, length, offset, true);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	return write_common(fd, bytes, length, offset, true);
}

static bool read_fails(int fd)
{
	bool failed;

	enter();
	failed = is_ours(fd) && fails(true);
	leave();
	return failed;
}

ssize_t read(int fd, void *bytes, size_t length)
{
	return read_fails(fd) ? -1 : REAL(read)(fd, bytes, length);
}

ssize_t pread(int fd, void *bytes, size_t length, off_t offset)
{
	return read_fails(fd) ? -1 : REAL(pread)(fd, bytes, length, offset);
}

ssize_t pread64(int fd, void *bytes, size_t length, off_t offset)
{
	return read_fails(fd) ? -1 : REAL(pread)(fd, bytes, length, offset);
}

static int truncate_common(int fd, off_t length)
{
	int failed = -1;

	enter();
	if (is_ours(fd)) {
		if (fails(false))
			goto end;
		note_truncate(fd, length);
	}
	failed = REAL(ftruncate)(fd, length);
end:
	leave();
	return failed;
}

int ftruncate(int fd, off_t length)
{
	return truncate_common(fd, length);
}

int ftruncate64(int fd, off_t length)
{
	return truncate_common(fd, length);
}

static int sync_common(int fd, int (*sync)(int))
{
	int failed = -1;

	enter();
	if (!is_ours(fd) || !fails(false))
		failed = sync(fd);
	if (!failed && is_ours(fd))
		forget(fd);
	leave();
	return failed;
}

int fsync(int fd)
{
	return sync_common(fd, REAL(fsync));
}

int fdatasync(int fd)
{
	return sync_common(fd, REAL(fdatasync));
}

int rename(const char *from, const char *to)
{
	struct undo *u;
	int failed = -1;

	enter();
	if (below(to) && fails(false))
		goto end;
	failed = REAL(rename)(from, to);
	if (!failed && below(to) && shim.mode == MODE_CUT) {
		u = add_undo(UNDO_RENAME);
		snprintf(u->path, sizeof(u->path), "%s", from);
		snprintf(u->other, sizeof(u->other), "%s", to);
	}
end:
	leave();
	return failed;
}

static int unlink_common(const char *path)
{
	struct undo *u;

	if (below(path) && fails(false))
		return -1;
	if (below(path) && shim.mode == MODE_CUT && access(path, F_OK) == 0) {
		u = add_undo(UNDO_UNLINK);
		snprintf(u->path, sizeof(u->path), "%s", path);
		snprintf(u->other, sizeof(u->other), "%.480s-undo-%u", shim.dir, shim.links++);
		if (link(path, u->other))
			abort();
	}
	return REAL(unlink)(path);
}

int unlink(const char *path)
{
	int failed;

	enter();
	failed = unlink_common(path);
	leave();
	return failed;
}
