/* fetched.c: see fetched.h. */
#include "schema/tape/fetched.h"

#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define VFS_NAME    "kubetape-fetched"
#define LEAST_BYTES (256u << 10) /* asked for at once */
#define MOST_BYTES  (8u << 20)   /* ... when one stretch is read after the other */

static const struct fetched_source *source;
static _Thread_local struct err last_error;

/* A file that is open, and what is known of its pages. */
struct fetched_file {
	char *path;
	int fd;
	struct fetched_segment segment;
	struct seal_sums seal;
	uint8_t *known;     /* a byte for each page: it is here and fits its sum */
	uint64_t next_page; /* after the stretch that was fetched last */
	uint64_t stretch_bytes;
	struct buf bytes;
	bool is_whole_wanted; /* of no use unless all of it is on the disk */
	/* Pages in `bytes` that the disk did not take: they are read from there until others are fetched. */
	uint64_t unkept_page, unkept_count;
};

void fetched_set_source(const struct fetched_source *of)
{
	source = of;
}

bool fetched_is(const char *path)
{
	struct fetched_segment segment;

	return source && source->find(source->context, path, &segment, NULL) > 0;
}

bool fetched_is_stray(const char *path)
{
	struct fetched_segment segment;

	return source && source->find(source->context, path, &segment, NULL) == ERR_NOT_FOUND;
}

int fetched_take_error(struct err *err)
{
	int rc = last_error.code ? err_copy(err, &last_error) : 0;

	last_error = (struct err){0};
	return rc;
}

/* ---- pages ---- */

static int write_at(struct fetched_file *f, const char *bytes, size_t len, uint64_t offset, struct err *err)
{
	while (len) {
		ssize_t n = pwrite(f->fd, bytes, len, (off_t)offset);

		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : EIO, "cannot write into the cache");
		bytes += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static bool fits(const struct fetched_file *f, uint64_t page, const char *bytes)
{
	return codec_hash((struct slice){bytes, f->seal.page_bytes}) == seal_get_u64(f->seal.sums + 8 * page);
}

static int fetch_bytes(struct fetched_file *f, uint64_t offset, uint64_t bytes, struct err *err)
{
	buf_clear(&f->bytes);
	f->unkept_count = 0;
	return source->fetch(source->context, f->path, offset, bytes, &f->bytes, err);
}

static int keep_pages(struct fetched_file *f, uint64_t first, uint64_t count, struct err *err)
{
	uint64_t size = f->seal.page_bytes;
	struct err why;
	int rc = write_at(f, f->bytes.ptr, count * size, first * size, &why);

	if (!rc) {
		memset(f->known + first, 1, count);
		return 0;
	}
	if (f->is_whole_wanted)
		return err_copy(err, &why);
	f->unkept_page = first;
	f->unkept_count = count;
	source->unkept(source->context, &why);
	return 0;
}

static bool is_unkept(const struct fetched_file *f, uint64_t page)
{
	return page >= f->unkept_page && page < f->unkept_page + f->unkept_count;
}

static int fetch_pages(struct fetched_file *f, uint64_t first, uint64_t count, struct err *err)
{
	uint64_t size = f->seal.page_bytes;
	int rc = fetch_bytes(f, first * size, count * size, err);

	for (uint64_t i = 0; i < count && !rc; i++) {
		if (!fits(f, first + i, f->bytes.ptr + i * size))
			rc = err_set(err, ERR_CORRUPT,
				"page %" PRIu64 " of '%s' is damaged where it was fetched from",
				first + i + 1, f->path);
	}
	return rc ? rc : keep_pages(f, first, count, err);
}

/* How many pages to ask for, from that one: more where reading goes on after what was asked for last. */
static uint64_t stretch_of(struct fetched_file *f, uint64_t page)
{
	uint64_t count, most = f->stretch_bytes < MOST_BYTES ? 2 * f->stretch_bytes : MOST_BYTES;

	f->stretch_bytes = page == f->next_page ? most : LEAST_BYTES;
	count = f->stretch_bytes / f->seal.page_bytes;
	count = page + count > f->seal.pages ? f->seal.pages - page : count;
	for (uint64_t i = 0; i < count; i++) {
		if (f->known[page + i])
			count = i;
	}
	f->next_page = page + count;
	return count;
}

/* What a file that others have read before, or are reading, has already. */
static void look_here(struct fetched_file *f, uint64_t page)
{
	uint64_t size = f->seal.page_bytes, count = LEAST_BYTES / size;
	char *bytes = xmalloc(LEAST_BYTES);
	ssize_t got = pread(f->fd, bytes, LEAST_BYTES, (off_t)(page * size));

	for (uint64_t i = 0; i < count && page + i < f->seal.pages && got >= (ssize_t)((i + 1) * size); i++)
		f->known[page + i] = f->known[page + i] || fits(f, page + i, bytes + i * size);
	free(bytes);
}

static int need_page(struct fetched_file *f, uint64_t page, struct err *err)
{
	if (is_unkept(f, page))
		return 0;
	if (!f->known[page])
		look_here(f, page);
	return f->known[page] ? 0 : fetch_pages(f, page, stretch_of(f, page), err);
}

/* That much of one page, or of what follows the last one. */
static int read_part(
	struct fetched_file *f, uint64_t page, char *to, size_t len, uint64_t offset, struct err *err)
{
	int rc = page < f->seal.pages ? need_page(f, page, err) : 0;

	if (rc)
		return rc;
	if (is_unkept(f, page))
		memcpy(to, f->bytes.ptr + (offset - f->unkept_page * f->seal.page_bytes), len);
	else if (pread(f->fd, to, len, (off_t)offset) != (ssize_t)len)
		return err_set_errno(err, EIO, "cannot read '%s' at offset %" PRIu64, f->path, offset);
	return 0;
}

static int read_at(struct fetched_file *f, char *to, size_t len, uint64_t offset, struct err *err)
{
	uint64_t size = f->seal.page_bytes;
	int rc = 0;

	while (len && !rc) {
		uint64_t page = offset / size, left = (page + 1) * size - offset;
		size_t part = len < left ? len : (size_t)left;

		rc = read_part(f, page, to, part, offset, err);
		to += part;
		offset += part;
		len -= part;
	}
	return rc;
}

/* ---- a file ---- */

/* The sums and their footer, with which the file ends. */
static int fetch_tail(struct fetched_file *f, struct err *err)
{
	uint64_t least = f->segment.bytes < LEAST_BYTES ? f->segment.bytes : LEAST_BYTES, want;
	int rc = fetch_bytes(f, f->segment.bytes - least, least, err);

	if (rc)
		return rc;
	want = seal_tail_bytes(buf_slice(&f->bytes), f->segment.bytes);
	return want > least ? fetch_bytes(f, f->segment.bytes - want, want, err) : 0;
}

static int fetch_seal(struct fetched_file *f, struct err *err)
{
	struct err why;
	int rc = fetch_tail(f, err);

	rc = rc ? rc
		: seal_take(
			  buf_slice(&f->bytes), f->path, f->segment.bytes, f->segment.digest, &f->seal, err);
	if (rc || !write_at(f, f->bytes.ptr, f->bytes.len, f->segment.bytes - f->bytes.len, &why))
		return rc;
	if (f->is_whole_wanted)
		return err_copy(err, &why);
	source->unkept(source->context, &why);
	return 0;
}

static int load_seal(struct fetched_file *f, struct err *err)
{
	int rc = seal_load(f->fd, f->path, f->segment.digest, &f->seal, NULL);

	return rc ? fetch_seal(f, err) : 0;
}

static void file_close(struct fetched_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	seal_release(&f->seal);
	buf_release(&f->bytes);
	free(f->known);
	free(f->path);
}

static int file_open(struct fetched_file *f, const char *path, bool is_whole_wanted, struct err *err)
{
	int rc;

	*f = (struct fetched_file){
		.fd = -1, .path = xstrdup(path), .next_page = UINT64_MAX, .is_whole_wanted = is_whole_wanted};
	buf_init(&f->bytes, LIMIT_SEGMENT_BYTES);
	rc = source->find(source->context, path, &f->segment, err);
	if (rc <= 0)
		return rc ? rc : err_set(err, ERR_NOT_FOUND, "'%s' is nowhere to be fetched from", path);
	f->fd = regular_file_open(path, O_RDWR, err);
	if (f->fd < 0)
		return f->fd;
	futimens(f->fd, NULL); /* what was used last stays longest */
	rc = load_seal(f, err);
	if (!rc)
		f->known = xcalloc(f->seal.pages, 1);
	return rc;
}

/* What is here is of no use as an answer; it stays where the source has something else. */
static int compare_tail(struct fetched_file *f, struct err *err)
{
	uint64_t len = 8 * f->seal.pages + SEAL_FOOTER_BYTES, at = f->segment.bytes - len;
	int rc = fetch_bytes(f, at, len, err);
	char *here = xmalloc(len);

	if (!rc &&
		(pread(f->fd, here, len, (off_t)at) != (ssize_t)len || memcmp(here, f->bytes.ptr, len) != 0))
		rc = err_set(
			err, ERR_CORRUPT, "the sums of '%s' are damaged where it was fetched from", f->path);
	free(here);
	return rc;
}

static int fetch_all(struct fetched_file *f, struct err *err)
{
	int rc = compare_tail(f, err);

	for (uint64_t page = 0; !rc && page < f->seal.pages; page++) {
		if (!f->known[page])
			rc = fetch_pages(f, page, stretch_of(f, page), err);
	}
	return rc;
}

int fetched_anew(const char *path, int *ret_fd, struct err *err)
{
	struct fetched_file f;
	int rc;

	*ret_fd = -1;
	if (!fetched_is(path))
		return 0;
	rc = file_open(&f, path, true, err);
	rc = rc ? rc : fetch_all(&f, err);
	if (!rc) {
		*ret_fd = f.fd;
		f.fd = -1;
	}
	file_close(&f);
	return rc;
}

/* Without a look at the sums. */
static int copy_all(struct fetched_file *f, struct err *err)
{
	int rc = 0;

	for (uint64_t at = 0; at < f->segment.bytes && !rc; at += MOST_BYTES) {
		uint64_t left = f->segment.bytes - at;

		rc = fetch_bytes(f, at, left < MOST_BYTES ? left : MOST_BYTES, err);
		rc = rc ? rc : write_at(f, f->bytes.ptr, f->bytes.len, at, err);
	}
	return rc;
}

static int complete(const char *path, bool takes_damage, struct err *err)
{
	struct fetched_file f;
	int rc;

	if (!fetched_is(path))
		return 0;
	rc = file_open(&f, path, true, err);
	for (uint64_t page = 0; !rc && page < f.seal.pages; page++)
		rc = need_page(&f, page, err);
	if (takes_damage && rc == ERR_CORRUPT && f.fd >= 0)
		rc = copy_all(&f, err);
	file_close(&f);
	return rc;
}

int fetched_complete(const char *path, struct err *err)
{
	return complete(path, false, err);
}

int fetched_salvage(const char *path, struct err *err)
{
	return complete(path, true, err);
}

/* ---- many files ---- */

struct ahead {
	const char *const *paths;
	size_t count;
	atomic_size_t next;
};

/* Of a file that is no hole any more the first pages are mostly here: a reader finds that out anyway. */
static bool is_hole(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_blocks == 0;
}

static void *fetch_first_pages(void *context)
{
	struct ahead *a = context;

	for (size_t i; (i = atomic_fetch_add(&a->next, 1)) < a->count;) {
		struct fetched_file f;

		if (!is_hole(a->paths[i]))
			continue;
		if (file_open(&f, a->paths[i], false, NULL) == 0)
			(void)!need_page(&f, 0, NULL);
		file_close(&f);
	}
	return NULL;
}

void fetched_ahead(const char *const *paths, size_t count)
{
	struct ahead a = {paths, count, 0};
	pthread_t threads[FETCHED_AHEAD];
	size_t started = 0;

	if (count < 2 || !fetched_is(paths[0]))
		return;
	while (started < FETCHED_AHEAD && started < count &&
		pthread_create(&threads[started], NULL, fetch_first_pages, &a) == 0)
		started++;
	while (started)
		pthread_join(threads[--started], NULL);
}

/* ---- what SQLite asks ---- */

struct vfs_file {
	sqlite3_file base;
	struct fetched_file file;
};

static int keep_error(const struct err *err, int code)
{
	last_error = *err;
	return code;
}

static int vfs_close(sqlite3_file *file)
{
	file_close(&((struct vfs_file *)(void *)file)->file);
	return SQLITE_OK;
}

static int vfs_read(sqlite3_file *file, void *to, int len, sqlite3_int64 offset)
{
	struct err err;

	if (read_at(&((struct vfs_file *)(void *)file)->file, to, (size_t)len, (uint64_t)offset, &err))
		return keep_error(&err, SQLITE_IOERR_READ);
	return SQLITE_OK;
}

static int vfs_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 offset)
{
	(void)file, (void)from, (void)len, (void)offset;
	return SQLITE_READONLY;
}

static int vfs_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file, (void)size;
	return SQLITE_READONLY;
}

static int vfs_number_ok(sqlite3_file *file, int number)
{
	(void)file, (void)number;
	return SQLITE_OK;
}

static int vfs_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct vfs_file *)(void *)file)->file.segment.bytes;
	return SQLITE_OK;
}

static int vfs_reserved(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int vfs_control(sqlite3_file *file, int what, void *argument)
{
	(void)file, (void)what, (void)argument;
	return SQLITE_NOTFOUND;
}

static int vfs_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int vfs_traits(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = vfs_close,
	.xRead = vfs_read,
	.xWrite = vfs_write,
	.xTruncate = vfs_truncate,
	.xSync = vfs_number_ok,
	.xFileSize = vfs_size,
	.xLock = vfs_number_ok,
	.xUnlock = vfs_number_ok,
	.xCheckReservedLock = vfs_reserved,
	.xFileControl = vfs_control,
	.xSectorSize = vfs_sector,
	.xDeviceCharacteristics = vfs_traits,
};

/* Files of SQLite's own, for sorting, are ordinary ones. */
static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
	sqlite3_vfs *ordinary = sqlite3_vfs_find(NULL);
	struct vfs_file *f = (struct vfs_file *)(void *)file;
	struct err err;

	(void)vfs;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return ordinary->xOpen(ordinary, path, file, flags, ret_flags);
	f->base.pMethods = NULL;
	if (file_open(&f->file, path, false, &err)) {
		file_close(&f->file);
		return keep_error(&err, SQLITE_CANTOPEN);
	}
	f->base.pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static sqlite3_vfs fetched;

static void register_vfs(void)
{
	const sqlite3_vfs *ordinary = sqlite3_vfs_find(NULL);

	fetched = *ordinary;
	fetched.zName = VFS_NAME;
	fetched.xOpen = vfs_open;
	fetched.pNext = NULL;
	if (fetched.szOsFile < (int)sizeof(struct vfs_file))
		fetched.szOsFile = (int)sizeof(struct vfs_file);
	sqlite3_vfs_register(&fetched, 0);
}

const char *fetched_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_vfs);
	return VFS_NAME;
}
