/* segment_list.c: the files in a tape's directory, see segment.h: what their names say, and which are left
 * over. */
#include "schema/base/count_of.h"
#include "schema/base/regular_file.h"
#include "schema/tape/fetched.h"
#include "schema/tape/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Passes over a directory until two agree; a writer makes and seals segments much more slowly. */
#define LIST_TRIES 10

/* Splits a name that the format makes of a number: the number, and what stands after ".db". */
static bool split_name(const char *name, const char *format, uint32_t *ret_number, const char **ret_rest)
{
	size_t prefix = (size_t)(strchr(format, '%') - format);
	char *end, written[32];
	unsigned long number;

	if (strncmp(name, format, prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
		return false;
	number = strtoul(name + prefix, &end, 10);
	if (strncmp(end, ".db", 3) != 0 || number == 0 || number > UINT32_MAX)
		return false;
	/* As we write it: no second name for the same number. */
	snprintf(written, sizeof(written), format, (unsigned)number);
	if (strncmp(name, written, (size_t)(end + 3 - name)) != 0)
		return false;
	*ret_number = (uint32_t)number;
	*ret_rest = end + 3;
	return true;
}

enum name_kind { NAME_FOREIGN, NAME_OURS, NAME_OPEN, NAME_SEALED };

/* OURS: lock, temporary files, SQLite's files beside an open segment. */
static enum name_kind kind_of_name(const char *name, uint32_t *ret_number)
{
	const char *rest;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, FORMAT_LOCK_NAME) == 0)
		return NAME_OURS;
	if (split_name(name, FORMAT_SEALED_NAME, ret_number, &rest))
		return *rest == 0 ? NAME_SEALED : strncmp(rest, ".tmp", 4) == 0 ? NAME_OURS : NAME_FOREIGN;
	if (!split_name(name, FORMAT_OPEN_NAME, ret_number, &rest))
		return NAME_FOREIGN;
	return *rest == 0                                      ? NAME_OPEN
	       : *rest == '-' || strncmp(rest, ".tmp", 4) == 0 ? NAME_OURS
							       : NAME_FOREIGN;
}

bool segment_is_sealed_name(const char *name, uint32_t *ret_number)
{
	return kind_of_name(name, ret_number) == NAME_SEALED;
}

static int compare_files(const void *left, const void *right)
{
	const struct segment_file *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (int)b->sealed - (int)a->sealed;
}

/* Where a number is there twice, sealed and open, the sealed one stands first and counts. */
static size_t drop_second_forms(struct segment_file *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && list[kept - 1].number == list[i].number)
			free(list[i].path);
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* ---- a tape in one file ---- */

bool segment_is_file_name(const char *path)
{
	size_t len = strlen(path), ending = strlen(FORMAT_FILE_ENDING);

	return len > ending && strcmp(path + len - ending, FORMAT_FILE_ENDING) == 0;
}

int segment_refuse_file_name(const char *path, struct err *err)
{
	if (!segment_is_file_name(path))
		return 0;
	return err_set(err, ERR_USAGE,
		"'%s' would be a tape in one file, and what is written as it comes is a folder: name it otherwise, and make one file of it with 'kubetape cut TAPE -o %s'",
		path, path);
}

/* Whether it begins as a segment does, whatever its name is. */
static bool has_head(const char *path)
{
	enum { HEAD_BYTES = 72, APPLICATION_ID = 68 };
	const unsigned char id[] = {FORMAT_APPLICATION_ID >> 24 & 0xff, FORMAT_APPLICATION_ID >> 16 & 0xff,
		FORMAT_APPLICATION_ID >> 8 & 0xff, FORMAT_APPLICATION_ID & 0xff};
	unsigned char head[HEAD_BYTES];
	int fd = regular_file_open(path, O_RDONLY, NULL);
	ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	return got == HEAD_BYTES && memcmp(head + APPLICATION_ID, id, sizeof(id)) == 0;
}

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Segments of a folder are none: each is only a part. */
static bool is_one_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t number;
	enum name_kind kind = kind_of_name(slash ? slash + 1 : path, &number);

	if (kind == NAME_OPEN || kind == NAME_SEALED || !is_regular(path))
		return false;
	return segment_is_file_name(path) || has_head(path);
}

static void list_one_file(const char *path, struct segment_file **ret, size_t *ret_count)
{
	struct segment_file *list = xcalloc(1, sizeof(*list));

	*list = (struct segment_file){.number = 1, .sealed = true, .path = xstrdup(path)};
	*ret = list;
	*ret_count = 1;
}

/* ---- a folder ---- */

/* What cannot be opened as a folder, as errno says. */
static int segment_list_refuse(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint32_t number;
	enum name_kind kind = kind_of_name(name, &number);

	if (errno != ENOTDIR)
		return err_set_errno(err, errno, "cannot open tape '%s'", path);
	if (kind == NAME_OPEN || kind == NAME_SEALED)
		return err_set(err, ERR_CORRUPT, "'%s' is a segment: a tape is the folder, here '%.*s'", path,
			slash ? (int)(slash - path) : 1, slash ? path : ".");
	return err_set(
		err, ERR_CORRUPT, "'%s' is not a tape: a tape is a folder, or one file NAME.ktape", path);
}

/* One pass over the directory. ret_lock: it has a writer's lock file; ret_foreign: it has something else. */
static int read_list(
	const char *tape_path, struct segment_file **ret, size_t *ret_count, bool *ret_tape, struct err *err)
{
	DIR *dir = opendir(tape_path);
	struct segment_file *list = NULL;
	bool lock = false, foreign = false;
	size_t count = 0;
	struct dirent *entry;

	if (!dir)
		return segment_list_refuse(tape_path, err);
	while ((entry = readdir(dir))) {
		struct segment_file file = {0};
		enum name_kind kind = kind_of_name(entry->d_name, &file.number);

		lock = lock || strcmp(entry->d_name, FORMAT_LOCK_NAME) == 0;
		foreign = foreign || kind == NAME_FOREIGN;
		if (kind != NAME_OPEN && kind != NAME_SEALED)
			continue;
		file.sealed = kind == NAME_SEALED;
		file.path = xasprintf("%s/%s", tape_path, entry->d_name);
		if (fetched_is_stray(file.path)) {
			free(file.path);
			continue;
		}
		list = xrealloc(list, (count + 1) * sizeof(*list));
		list[count++] = file;
	}
	closedir(dir);
	if (count)
		qsort(list, count, sizeof(*list), compare_files);
	*ret_count = drop_second_forms(list, count);
	*ret = list;
	*ret_tape = count || (lock && !foreign);
	return 0;
}

static bool same_list(
	const struct segment_file *a, size_t a_count, const struct segment_file *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++) {
		if (a[i].number != b[i].number || a[i].sealed != b[i].sealed)
			return false;
	}
	return true;
}

/* A directory may change while it is read, so that a segment that was renamed meanwhile shows under neither
 * name: what two passes agree on is true. */
int segment_list(const char *tape_path, struct segment_file **ret, size_t *ret_count, struct err *err)
{
	struct segment_file *list, *again;
	size_t count, again_count;
	bool is_tape, agreed = false;
	int rc;

	if (is_one_file(tape_path)) {
		list_one_file(tape_path, ret, ret_count);
		return 0;
	}
	rc = read_list(tape_path, &list, &count, &is_tape, err);
	for (int i = 0; i < LIST_TRIES && !rc && !agreed; i++) {
		rc = read_list(tape_path, &again, &again_count, &is_tape, err);
		agreed = !rc && same_list(list, count, again, again_count);
		segment_list_free(list, count);
		list = rc ? NULL : again;
		count = rc ? 0 : again_count;
	}
	if (rc)
		return rc;
	if (!is_tape) {
		segment_list_free(list, count);
		return err_set(err, ERR_CORRUPT, "'%s' is not a tape: it has no segment", tape_path);
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

bool segment_is_gone(const char *tape_path, const struct segment_file *file)
{
	struct segment_file *list;
	size_t count;
	bool gone;

	if (access(file->path, F_OK) == 0 || segment_list(tape_path, &list, &count, NULL))
		return false;
	gone = count && list[0].number > file->number;
	segment_list_free(list, count);
	return gone;
}

struct file_sizes {
	uint64_t bytes, allocated;
};

static struct file_sizes sizes_of(const struct segment_file *file)
{
	static const char *const suffixes[] = {"", "-wal"};
	struct file_sizes sizes = {0};

	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		char *path = xasprintf("%s%s", file->path, suffixes[i]);
		struct stat st;

		if (stat(path, &st) == 0) {
			sizes.bytes += (uint64_t)st.st_size;
			sizes.allocated += (uint64_t)st.st_blocks * 512;
		}
		free(path);
	}
	return sizes;
}

uint64_t segment_file_bytes(const struct segment_file *file)
{
	return sizes_of(file).bytes;
}

uint64_t segment_allocated_bytes(const struct segment_file *file)
{
	struct file_sizes sizes = sizes_of(file);

	if (fetched_is(file->path)) /* its holes are filled when they are read */
		return sizes.bytes;
	return sizes.allocated < sizes.bytes ? sizes.allocated : sizes.bytes;
}

void segment_list_free(struct segment_file *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].path);
	free(list);
}

/* The segment that it builds upon, its own number if that is none or nobody can tell. */
static uint32_t base_of(const struct segment_file *file)
{
	uint32_t base = file->number;
	sqlite3 *db;

	if (segment_open(file, false, &db, NULL))
		return base;
	if (segment_base(db, file->number, &base, NULL))
		base = file->number;
	sqlite3_close(db);
	return base;
}

size_t segment_count_orphans(const struct segment_file *list, size_t count)
{
	size_t orphans = 0;

	while (orphans < count && base_of(&list[orphans]) < list[0].number)
		orphans++;
	return orphans < count ? orphans : 0;
}

size_t segment_count_group(const struct segment_file *list, size_t count)
{
	size_t group = count ? 1 : 0;

	while (group < count && base_of(&list[group]) <= list[0].number)
		group++;
	return group;
}

static bool is_leftover(const char *name, const struct segment_file *list, size_t count)
{
	uint32_t number = 0;
	enum name_kind kind = kind_of_name(name, &number);

	if (kind == NAME_OURS && strstr(name, ".db.tmp"))
		return true;
	if (kind != NAME_OPEN && !(kind == NAME_OURS && strstr(name, ".db-")))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (list[i].number == number && !list[i].sealed)
			return false;
	}
	return true;
}

void segment_sweep(const char *tape_path)
{
	struct segment_file *list;
	DIR *dir = opendir(tape_path);
	struct dirent *entry;
	size_t count;

	if (!dir || segment_list(tape_path, &list, &count, NULL)) {
		if (dir)
			closedir(dir);
		return;
	}
	while ((entry = readdir(dir))) {
		if (is_leftover(entry->d_name, list, count))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	segment_list_free(list, count);
}

static void remove_files(const char *tape_path, const char *but)
{
	DIR *dir = opendir(tape_path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!but || strcmp(entry->d_name, but) != 0)
			unlinkat(dirfd(dir), entry->d_name, 0); /* not the directories . and .. */
	}
	if (dir)
		closedir(dir);
}

void segment_remove_files(const char *tape_path)
{
	remove_files(tape_path, FORMAT_LOCK_NAME);
}

void segment_remove_all(const char *tape_path)
{
	remove_files(tape_path, NULL);
	rmdir(tape_path);
}
