/*
 * kshrk_archive.c: see kshrk_archive.h. Of ZIP what such an archive needs: the directory at the end, in its
 * 64-bit form where there are more than 65,534 entries, and entries that are stored as they are. Nothing here
 * trusts the bytes: every offset is checked before it is followed.
 */
#include "tools/import/kshrk_archive.h"

#include "schema/base/json_scan.h"
#include "schema/base/moment.h"
#include "schema/tape/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FRONT_BYTES     (64u << 10)  /* of a record, in which its time stands */
#define RECORD_MAX      (256u << 20) /* bytes of one record, decompressed */
#define END_BYTES       22           /* of the end record, without its comment */
#define END_SCAN        (END_BYTES + 65535)
#define END64_BYTES     56
#define LOCATOR64_BYTES 20
#define ENTRY_BYTES     46
#define LOCAL_BYTES     30

struct entry {
	uint64_t offset, bytes; /* of its data */
	int64_t time_ns;
	size_t number;
};

struct kshrk_archive {
	const char *name;
	const uint8_t *map;
	size_t len;
	struct entry *entries;
	size_t count, at;
	uint64_t passed; /* bytes of those that were given */
	struct buf record;
};

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | at[bytes];
	return n;
}

static bool has_bytes(const struct kshrk_archive *a, uint64_t offset, uint64_t count)
{
	return offset <= a->len && count <= a->len - offset;
}

static int kshrk_archive_damaged(
	const struct kshrk_archive *a, const char *what, uint64_t offset, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "'%s' is no whole archive: %s at offset %llu", a->name, what,
		(unsigned long long)offset);
}

bool kshrk_archive_is(struct slice first_bytes)
{
	return first_bytes.len >= 4 && memcmp(first_bytes.ptr, "PK", 2) == 0 &&
	       (first_bytes.ptr[2] == 3 || first_bytes.ptr[2] == 5);
}

/* ---- the directory ---- */

struct directory {
	uint64_t offset, bytes, count;
};

static int find_end(const struct kshrk_archive *a, uint64_t *ret, struct err *err)
{
	size_t lowest = a->len > END_SCAN ? a->len - END_SCAN : 0;

	for (size_t at = a->len >= END_BYTES ? a->len - END_BYTES + 1 : 0; at-- > lowest;) {
		if (memcmp(a->map + at, "PK\5\6", 4) == 0) {
			*ret = at;
			return 0;
		}
	}
	return kshrk_archive_damaged(a, "it has no directory: cut off, perhaps,", a->len, err);
}

/* The 64-bit form stands before the other one, after a locator. */
static int find_directory(const struct kshrk_archive *a, struct directory *ret, struct err *err)
{
	uint64_t end = 0, end64;
	int rc = find_end(a, &end, err);

	if (rc)
		return rc;
	*ret = (struct directory){.count = number_at(a->map + end + 10, 2),
		.bytes = number_at(a->map + end + 12, 4),
		.offset = number_at(a->map + end + 16, 4)};
	if (ret->count == 0xffff || ret->offset == 0xffffffff) {
		if (end < LOCATOR64_BYTES || memcmp(a->map + end - LOCATOR64_BYTES, "PK\6\7", 4) != 0)
			return kshrk_archive_damaged(a, "no 64-bit directory", end, err);
		end64 = number_at(a->map + end - LOCATOR64_BYTES + 8, 8);
		if (!has_bytes(a, end64, END64_BYTES) || memcmp(a->map + end64, "PK\6\6", 4) != 0)
			return kshrk_archive_damaged(a, "no 64-bit directory", end64, err);
		*ret = (struct directory){.count = number_at(a->map + end64 + 32, 8),
			.bytes = number_at(a->map + end64 + 40, 8),
			.offset = number_at(a->map + end64 + 48, 8)};
	}
	if (!has_bytes(a, ret->offset, ret->bytes) || ret->count > ret->bytes / ENTRY_BYTES)
		return kshrk_archive_damaged(a, "the directory lies outside", ret->offset, err);
	return 0;
}

static bool is_record(struct slice name)
{
	static const char begin[] = "k8shark-capture/records/", end[] = ".json.zst";

	return name.len > sizeof(begin) + sizeof(end) && memcmp(name.ptr, begin, sizeof(begin) - 1) == 0 &&
	       memcmp(name.ptr + name.len - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

/* Where the data of a stored entry lies follows from a header of its own. */
static int add_entry(struct kshrk_archive *a, const uint8_t *at, struct err *err)
{
	uint64_t method = number_at(at + 10, 2), bytes = number_at(at + 20, 4), local = number_at(at + 42, 4);
	uint64_t data;

	if (method != 0)
		return err_set(err, ERR_USAGE,
			"entries of '%s' are compressed by ZIP itself (method %llu): only stored ones can be read",
			a->name, (unsigned long long)method);
	if (!has_bytes(a, local, LOCAL_BYTES) || memcmp(a->map + local, "PK\3\4", 4) != 0)
		return kshrk_archive_damaged(a, "no entry", local, err);
	data = local + LOCAL_BYTES + number_at(a->map + local + 26, 2) + number_at(a->map + local + 28, 2);
	if (!has_bytes(a, data, bytes))
		return kshrk_archive_damaged(a, "an entry lies outside", data, err);
	a->entries[a->count] = (struct entry){.offset = data, .bytes = bytes, .number = a->count};
	a->count++;
	return 0;
}

static int read_directory(struct kshrk_archive *a, struct err *err)
{
	struct directory d = {0};
	const uint8_t *at, *end;
	int rc = find_directory(a, &d, err);

	if (rc)
		return rc;
	a->entries = xcalloc(d.count + 1, sizeof(*a->entries));
	at = a->map + d.offset;
	end = at + d.bytes;
	for (uint64_t i = 0; i < d.count; i++) {
		uint64_t name_len, length;

		if (end - at < ENTRY_BYTES || memcmp(at, "PK\1\2", 4) != 0)
			return kshrk_archive_damaged(a, "no directory entry", (uint64_t)(at - a->map), err);
		name_len = number_at(at + 28, 2);
		length = ENTRY_BYTES + name_len + number_at(at + 30, 2) + number_at(at + 32, 2);
		if (length > (uint64_t)(end - at))
			return kshrk_archive_damaged(
				a, "a directory entry is cut off", (uint64_t)(at - a->map), err);
		if (is_record((struct slice){(const char *)at + ENTRY_BYTES, name_len}) &&
			(rc = add_entry(a, at, err)))
			return rc;
		at += length;
	}
	return 0;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Nobody makes an archive whose entries share bytes, unless a small one is to become a large one. */
static int check_overlaps(struct kshrk_archive *a, struct err *err)
{
	qsort(a->entries, a->count, sizeof(*a->entries), compare_offsets);
	for (size_t i = 1; i < a->count; i++) {
		if (a->entries[i].offset - a->entries[i - 1].offset < a->entries[i - 1].bytes)
			return kshrk_archive_damaged(a, "two entries overlap", a->entries[i].offset, err);
	}
	return 0;
}

/* ---- records ---- */

static int read_record(struct kshrk_archive *a, const struct entry *e, size_t most, struct err *err)
{
	struct slice data = {(const char *)a->map + e->offset, (size_t)e->bytes};
	int rc;

	buf_clear(&a->record);
	rc = codec_unpack_front(data, most, &a->record, err);
	if (rc)
		return err_prefix(
			err, rc, "record at offset %llu of '%s'", (unsigned long long)e->offset, a->name);
	return 0;
}

/* The record may be cut off after the time. */
static bool find_time(struct slice record, int64_t *ret_ns)
{
	struct slice key, value;
	struct json_iter it;

	if (json_iter_begin(record, &it, NULL))
		return false;
	while (json_iter_next(&it, &key, &value, NULL) > 0) {
		if (slice_is(key, "captured_at") && value.len > 2 && value.ptr[0] == '"')
			return moment_is_absolute((struct slice){value.ptr + 1, value.len - 2}, ret_ns);
	}
	return false;
}

/* The time stands near the front; where it does not, the whole record is looked through. */
static int read_time(struct kshrk_archive *a, struct entry *e, struct err *err)
{
	int rc = read_record(a, e, FRONT_BYTES, err);

	if (rc || find_time(buf_slice(&a->record), &e->time_ns) || a->record.len < FRONT_BYTES)
		return rc;
	rc = read_record(a, e, SIZE_MAX, err);
	if (!rc)
		(void)find_time(buf_slice(&a->record), &e->time_ns);
	return rc;
}

static int compare_times(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int read_times(struct kshrk_archive *a, struct err *err)
{
	int rc;

	for (size_t i = 0; i < a->count; i++) {
		rc = read_time(a, &a->entries[i], err);
		if (rc)
			return rc;
	}
	qsort(a->entries, a->count, sizeof(*a->entries), compare_times);
	return 0;
}

static int map_file(struct kshrk_archive *a, int fd, struct err *err)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "an archive cannot be read from a pipe: '%s' must be a file",
			a->name);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_set_errno(err, errno, "cannot read '%s'", a->name);
	a->map = map;
	a->len = (size_t)st.st_size;
	return 0;
}

int kshrk_archive_open(int fd, const char *name, struct kshrk_archive **ret, struct err *err)
{
	struct kshrk_archive *a = xcalloc(1, sizeof(*a));
	int rc;

	a->name = name;
	buf_init(&a->record, RECORD_MAX);
	if ((rc = map_file(a, fd, err)) || (rc = read_directory(a, err)) || (rc = check_overlaps(a, err)) ||
		(rc = read_times(a, err))) {
		kshrk_archive_close(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void kshrk_archive_close(struct kshrk_archive *a)
{
	if (!a)
		return;
	if (a->map)
		munmap((void *)a->map, a->len);
	free(a->entries);
	buf_release(&a->record);
	free(a);
}

int kshrk_archive_next(struct kshrk_archive *a, struct slice *ret, struct err *err)
{
	int rc;

	if (a->at == a->count)
		return 0;
	rc = read_record(a, &a->entries[a->at], SIZE_MAX, err);
	if (rc)
		return rc;
	a->passed += a->entries[a->at++].bytes;
	*ret = buf_slice(&a->record);
	return 1;
}

uint64_t kshrk_archive_passed(const struct kshrk_archive *a)
{
	return a->passed;
}
