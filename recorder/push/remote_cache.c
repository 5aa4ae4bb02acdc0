/* remote_cache.c: see remote_cache.h. */
#include "recorder/push/remote_cache.h"

#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/regular_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES    512 /* of st_blocks */
#define SPARE_PREFIX   "kubetape-cache-"
#define UNLOCKED_MAX_S 60 /* from its making on, a spare folder may be without its lock */

int remote_cache_root(char **ret, struct err *err)
{
	const char *named = getenv(REMOTE_CACHE_VARIABLE), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	char *path, *real;

	if (named && *named == '/')
		path = xstrdup(named);
	else if (cache && *cache == '/')
		path = xasprintf("%s/kubetape", cache);
	else if (home && *home == '/')
		path = xasprintf("%s/.cache/kubetape", home);
	else
		return err_set(err, ERR_NOT_FOUND,
			"there is no folder for what is fetched: neither " REMOTE_CACHE_VARIABLE
			", XDG_CACHE_HOME nor HOME names one");
	real = realpath(path, NULL); /* as SQLite names what is in it */
	*ret = real ? real : path;
	if (real)
		free(path);
	return 0;
}

/* ---- a folder for one command ---- */

static struct {
	char *folder; /* NULL: none was needed */
	pid_t owner;  /* children leave it alone */
	int lock;     /* descriptor; held as long as the owner lives */
} spare;

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	(void)!remove(path);
	return 0;
}

static void remove_folder(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_spare(void)
{
	if (spare.folder && spare.owner == getpid())
		remove_folder(spare.folder);
}

/* The folder as a descriptor, locked; -1: it is not, as another command has it. */
static int lock_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_old_and_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       clock_wall_ns(&clock_system) / NS_PER_S - st.st_mtim.tv_sec > UNLOCKED_MAX_S;
}

/* Those of commands that were killed. */
static void remove_abandoned(const char *place)
{
	DIR *dir = opendir(place);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *path;
		int fd;

		if (strncmp(e->d_name, SPARE_PREFIX, strlen(SPARE_PREFIX)) != 0)
			continue;
		path = xasprintf("%s/%s", place, e->d_name);
		fd = lock_folder(path);
		if (fd >= 0 && is_old_and_ours(fd))
			remove_folder(path);
		if (fd >= 0)
			close(fd);
		free(path);
	}
	if (dir)
		closedir(dir);
}

int remote_cache_spare(unsigned place, char **ret, struct err *err)
{
	const char *temporary = getenv("TMPDIR");
	const char *const places[REMOTE_CACHE_SPARES] = {
		temporary && *temporary == '/' ? temporary : "/tmp", "/tmp", "/dev/shm"};
	char *folder = xasprintf("%s/" SPARE_PREFIX "XXXXXX", places[place]);

	remove_abandoned(places[place]);
	if (!mkdtemp(folder)) {
		int rc = err_set_errno(err, errno, "cannot make '%s'", folder);

		free(folder);
		return rc;
	}
	remove_spare();
	if (!spare.folder)
		atexit(remove_spare);
	else if (spare.lock >= 0)
		close(spare.lock);
	free(spare.folder);
	spare.lock = lock_folder(folder);
	spare.folder = realpath(folder, NULL);
	spare.owner = getpid();
	*ret = xstrdup(spare.folder ? spare.folder : folder);
	free(folder);
	return 0;
}

/* ---- what is in it ---- */

int remote_cache_make(const char *folder, struct err *err)
{
	char *path = xstrdup(folder);
	int rc = 0;

	for (char *at = strchr(path + 1, '/'); !rc; at = strchr(at + 1, '/')) {
		if (at)
			*at = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			rc = err_set_errno(err, errno, "cannot make '%s'", path);
		if (!at)
			break;
		*at = '/';
	}
	free(path);
	return rc;
}

int remote_cache_file(const char *path, uint64_t bytes, struct err *err)
{
	int fd = regular_file_open(path, O_RDWR | O_CREAT, err), rc = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		rc = err_set_errno(err, errno, "cannot look at '%s'", path);
	else if ((uint64_t)st.st_size != bytes && ftruncate(fd, (off_t)bytes))
		rc = err_set_errno(err, errno, "cannot make '%s'", path);
	close(fd);
	return rc;
}

/* ---- what goes ---- */

struct kept_file {
	char *path;
	uint64_t bytes, size; /* on disk; of the file */
	struct timespec used;
};

struct kept_files {
	struct kept_file *items;
	size_t count;
	uint64_t bytes;
};

static void note_file(struct kept_files *k, const char *path)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_blocks)
		return;
	k->items = xrealloc(k->items, (k->count + 1) * sizeof(*k->items));
	k->items[k->count++] = (struct kept_file){
		xstrdup(path), (uint64_t)st.st_blocks * BLOCK_BYTES, (uint64_t)st.st_size, st.st_mtim};
	k->bytes += (uint64_t)st.st_blocks * BLOCK_BYTES;
}

/* root/HASH/NAME.tape/seg-000001.db: files three deep. */
static void note_folder(struct kept_files *k, const char *folder, int depth)
{
	DIR *dir = opendir(folder);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *path = *e->d_name == '.' ? NULL : xasprintf("%s/%s", folder, e->d_name);

		if (path && depth)
			note_folder(k, path, depth - 1);
		else if (path && strncmp(e->d_name, "seg-", 4) == 0)
			note_file(k, path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

static int compare_use(const void *left, const void *right)
{
	const struct kept_file *a = left, *b = right;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

int remote_cache_size(uint64_t *ret, struct err *err)
{
	const char *text = getenv("KUBETAPE_CACHE_SIZE");
	int64_t bytes = REMOTE_CACHE_BYTES;
	int rc = text && *text ? bytes_parse(text, &bytes, err) : 0;

	if (rc)
		return err_prefix(err, rc, "KUBETAPE_CACHE_SIZE");
	*ret = (uint64_t)bytes;
	return 0;
}

/* A new file, all of it a hole, in its place. */
static bool make_hole(const struct kept_file *f)
{
	char *other = xasprintf("%s.tmp-%d", f->path, (int)getpid());
	bool done = remote_cache_file(other, f->size, NULL) == 0 && rename(other, f->path) == 0;

	if (!done)
		unlink(other);
	free(other);
	return done;
}

void remote_cache_trim(const char *root)
{
	struct kept_files k = {0};
	uint64_t most;

	if (remote_cache_size(&most, NULL))
		return;
	note_folder(&k, root, 2);
	if (k.count)
		qsort(k.items, k.count, sizeof(*k.items), compare_use);
	for (size_t i = 0; i < k.count; i++) {
		if (k.bytes > most && make_hole(&k.items[i]))
			k.bytes -= k.items[i].bytes;
		free(k.items[i].path);
	}
	free(k.items);
}
