/* bundle_files.c: see bundle_files.h. */
#include "tools/import/bundle_files.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define READ_BYTES  (64u << 10)
#define TAR_MAGIC   257  /* where "ustar" stands */
#define HEADS_MAX   1000 /* blocks in a row that are no head of an entry */
#define ZIP_NAME_AT 30   /* in the head of the first entry */

struct bundle_files {
	const char *name;
	struct archive *archive; /* NULL: a folder */
	gzFile gzip;             /* what it is read through; NULL: it reads the file itself */
	char *bytes;             /* READ_BYTES of that */
	FTS *walk;
	FTSENT *file; /* that was given last */
	size_t root_len;
	uint64_t entries, unpacked, lost;
	bool is_tolerant;
};

bool bundle_files_may_be(struct slice first)
{
	static const char *const compressed[] = {"\x1f\x8b", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "BZh"};
	static const char shark[] = "k8shark-capture/";

	for (size_t i = 0; i < sizeof(compressed) / sizeof(*compressed); i++) {
		if (slice_begins(first, compressed[i]))
			return true;
	}
	if (slice_begins(first, "PK"))
		return first.len > ZIP_NAME_AT &&
		       !slice_begins((struct slice){first.ptr + ZIP_NAME_AT, first.len - ZIP_NAME_AT}, shark);
	return first.len >= TAR_MAGIC + 5 && memcmp(first.ptr + TAR_MAGIC, "ustar", 5) == 0;
}

/* ---- folders ---- */

static int compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int open_folder(struct bundle_files *f, struct err *err)
{
	char *roots[] = {xstrdup(f->name), NULL};

	f->walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
	f->root_len = strlen(roots[0]);
	free(roots[0]);
	return f->walk ? 0 : err_set_errno(err, errno, "cannot read '%s'", f->name);
}

static int next_in_folder(struct bundle_files *f, struct bundle_file *ret, struct err *err)
{
	errno = 0;
	while ((f->file = fts_read(f->walk))) {
		if (f->file->fts_info == FTS_DNR || f->file->fts_info == FTS_ERR)
			return err_set_errno(err, f->file->fts_errno, "cannot read '%s'", f->file->fts_path);
		if (f->file->fts_info != FTS_F)
			continue;
		ret->path = f->file->fts_path + f->root_len;
		ret->path += *ret->path == '/';
		ret->time_ns =
			f->file->fts_statp->st_mtim.tv_sec * NS_PER_S + f->file->fts_statp->st_mtim.tv_nsec;
		return 1;
	}
	return errno ? err_set_errno(err, errno, "cannot read '%s'", f->name) : 0;
}

static int read_descriptor(int fd, const char *path, struct buf *to, struct err *err)
{
	ssize_t got;

	do {
		char *place = buf_reserve(to, READ_BYTES);

		if (!place)
			return err_set(err, ERR_TOO_LARGE, "the file has more than %zu bytes", to->max);
		got = read(fd, place, READ_BYTES);
		if (got > 0)
			to->len += (size_t)got;
	} while (got > 0);
	return got < 0 ? err_set_errno(err, errno, "cannot read '%s'", path) : 0;
}

/* What was a file a moment ago may be a FIFO or a link now. */
static int read_in_folder(struct bundle_files *f, struct buf *to, struct err *err)
{
	const char *path = f->file->fts_path;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	rc = read_descriptor(fd, path, to, err);
	close(fd);
	return rc;
}

/* ---- archives ---- */

static int bundle_files_fail(struct bundle_files *f, struct err *err)
{
	const char *why = archive_error_string(f->archive);

	if (!f->entries && why && strncmp(why, "Unrecognized", strlen("Unrecognized")) == 0)
		return err_set(err, ERR_USAGE,
			"'%s' is compressed and holds no archive: unpack it first, as by `zcat`", f->name);
	return err_set(
		err, ERR_CORRUPT, "'%s' is a damaged archive: %s", f->name, why ? why : "no reason given");
}

/* zlib checks the sum at the end of what it unpacks; libarchive does not. Negative with its words when what there is
 * is damaged or cut off. */
static int unpack_gzip(struct bundle_files *f, const char **ret_why)
{
	int got = gzread(f->gzip, f->bytes, READ_BYTES), code;

	*ret_why = gzerror(f->gzip, &code);
	return got == 0 && code != Z_OK && code != Z_STREAM_END ? -1 : got;
}

static la_ssize_t read_gzip(struct archive *archive, void *context, const void **ret)
{
	struct bundle_files *f = context;
	const char *why;
	int got = unpack_gzip(f, &why);

	*ret = f->bytes;
	if (got < 0)
		archive_set_error(archive, EINVAL, "%s", why);
	return got;
}

static int open_gzip(struct bundle_files *f, int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	f->gzip = own < 0 ? NULL : gzdopen(own, "rb");
	if (!f->gzip) {
		if (own >= 0)
			close(own);
		return ARCHIVE_FATAL;
	}
	f->bytes = xmalloc(READ_BYTES);
	return archive_read_open(f->archive, f, NULL, read_gzip, NULL);
}

/* A tar ends before the sum of what holds it. */
static int check_rest(struct bundle_files *f, struct err *err)
{
	const char *why = "its end is too far away";
	int got;

	do
		got = f->gzip ? unpack_gzip(f, &why) : 0;
	while (got > 0 && (uint64_t)gztell(f->gzip) <= LIMIT_BUNDLE_UNPACKED);
	return got == 0 ? 0 : err_set(err, ERR_CORRUPT, "'%s' is a damaged archive: %s", f->name, why);
}

static bool is_gzip(int fd)
{
	unsigned char magic[2];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && magic[0] == 0x1f && magic[1] == 0x8b;
}

static int open_archive(struct bundle_files *f, int fd, struct err *err)
{
	int rc;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, ERR_USAGE, "an archive cannot be read from a pipe: '%s' must be a file",
			f->name);
	f->archive = archive_read_new();
	if (!f->archive)
		return err_set(err, ERR_FAILED, "there is no memory to read '%s'", f->name);
	archive_read_support_filter_xz(f->archive);
	archive_read_support_filter_zstd(f->archive);
	archive_read_support_filter_bzip2(f->archive);
	archive_read_support_format_tar(f->archive);
	archive_read_support_format_zip(f->archive);
	rc = is_gzip(fd) ? open_gzip(f, fd) : archive_read_open_fd(f->archive, fd, READ_BYTES);
	return rc ? bundle_files_fail(f, err) : 0;
}

/* A head that is none is passed over: some programs write a size that is off by one, and then the head after a
 * file that fills its last block is taken for a part of that file. */
static int next_head(struct bundle_files *f, struct archive_entry **ret, struct err *err)
{
	for (int tries = 0; tries < HEADS_MAX; tries++) {
		int rc = archive_read_next_header(f->archive, ret);

		if (rc == ARCHIVE_EOF)
			return check_rest(f, err);
		if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN)
			return 1;
		if (rc != ARCHIVE_RETRY || !f->is_tolerant)
			break;
		f->lost += tries == 0;
	}
	return bundle_files_fail(f, err);
}

/* What was skipped was unpacked, too. */
static int check_unpacked(struct bundle_files *f, struct archive_entry *entry, struct err *err)
{
	int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;

	f->unpacked += size > 0 ? (uint64_t)size : 0;
	if (f->unpacked > LIMIT_BUNDLE_UNPACKED ||
		(uint64_t)archive_filter_bytes(f->archive, 0) > LIMIT_BUNDLE_UNPACKED)
		return err_set(err, ERR_TOO_LARGE, "'%s' unpacks to more than %llu bytes", f->name,
			(unsigned long long)LIMIT_BUNDLE_UNPACKED);
	return 0;
}

static int next_in_archive(struct bundle_files *f, struct bundle_file *ret, struct err *err)
{
	struct archive_entry *entry;
	int more, rc;

	while ((more = next_head(f, &entry, err)) > 0) {
		f->entries++;
		rc = check_unpacked(f, entry, err);
		if (rc)
			return rc;
		if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
			continue;
		ret->path = archive_entry_pathname_utf8(entry);
		if (!ret->path)
			ret->path = archive_entry_pathname(entry);
		ret->time_ns = archive_entry_mtime_is_set(entry) ? archive_entry_mtime(entry) * NS_PER_S : 0;
		if (ret->path)
			return 1;
		f->lost++;
	}
	return more;
}

static int read_in_archive(struct bundle_files *f, struct buf *to, struct err *err)
{
	ssize_t got;

	do {
		char *place = buf_reserve(to, READ_BYTES);

		if (!place)
			return err_set(err, ERR_TOO_LARGE, "the file has more than %zu bytes", to->max);
		got = archive_read_data(f->archive, place, READ_BYTES);
		if (got > 0)
			to->len += (size_t)got;
	} while (got > 0);
	return got < 0 ? bundle_files_fail(f, err) : 0;
}

/* ---- both ---- */

int bundle_files_open(int fd, const char *name, struct bundle_files **ret, struct err *err)
{
	struct bundle_files *f = xcalloc(1, sizeof(*f));
	struct stat st;
	int rc;

	f->name = name;
	if (fstat(fd, &st) < 0)
		rc = err_set_errno(err, errno, "cannot read '%s'", name);
	else
		rc = S_ISDIR(st.st_mode) ? open_folder(f, err) : open_archive(f, fd, err);
	if (rc)
		bundle_files_close(f);
	else
		*ret = f;
	return rc;
}

void bundle_files_close(struct bundle_files *f)
{
	if (!f)
		return;
	if (f->walk)
		fts_close(f->walk);
	if (f->archive)
		archive_read_free(f->archive);
	if (f->gzip)
		gzclose(f->gzip);
	free(f->bytes);
	free(f);
}

void bundle_files_tolerate(struct bundle_files *f)
{
	f->is_tolerant = true;
}

int bundle_files_next(struct bundle_files *f, struct bundle_file *ret, struct err *err)
{
	return f->archive ? next_in_archive(f, ret, err) : next_in_folder(f, ret, err);
}

int bundle_files_read(struct bundle_files *f, struct buf *to, struct err *err)
{
	return f->archive ? read_in_archive(f, to, err) : read_in_folder(f, to, err);
}

uint64_t bundle_files_passed(const struct bundle_files *f)
{
	if (f->gzip)
		return (uint64_t)gzoffset(f->gzip);
	return f->archive ? (uint64_t)archive_filter_bytes(f->archive, -1) : 0;
}

uint64_t bundle_files_lost(const struct bundle_files *f)
{
	return f->lost;
}
