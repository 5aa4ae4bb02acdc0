/* retention.c: see retention.h. A segment's age is that of its file: sealing is the
 * last time it is written. */
#include "schema/tape/retention.h"

#include "schema/base/clock.h"
#include "schema/tape/segment.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SMALL_EXTENT_BYTES (4u << 20)
#define LOG_BYTES          (4u << 20) /* SQLite writes back a log of 1,000 pages */
#define FILES_OF_A_SEGMENT 4          /* itself, log and index of that, and the sealed copy */

struct sealed_file {
	uint64_t bytes;
	int64_t sealed_ns;
};

static struct sealed_file look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct sealed_file){0, INT64_MAX};
	return (struct sealed_file){
		(uint64_t)st.st_size, (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec};
}

static uint64_t total_bytes(const struct segment_file *list, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += look_at(list[i].path).bytes;
	return sum;
}

/* Of a file system without free inodes for a new segment none can be used; some have no limit, and say 0 of 0. */
static uint64_t free_bytes(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		return UINT64_MAX;
	return fs.f_files && fs.f_favail < FILES_OF_A_SEGMENT ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

static bool is_too_much(const struct retention *limits, uint64_t total, int64_t age_ns)
{
	return (limits->max_bytes && total > limits->max_bytes) ||
	       (limits->max_age_ns && age_ns > limits->max_age_ns);
}

static bool disk_is_short(const struct retention *limits, const char *tape_path)
{
	return limits->keep_free_bytes && free_bytes(tape_path) < limits->keep_free_bytes;
}

/* How many of the oldest may go: the newest sealed one stays, as the next segment is made from it. */
static size_t removable(const struct segment_file *list, size_t count)
{
	while (count && !list[count - 1].sealed)
		count--;
	return count ? count - 1 : 0;
}

static bool is_elsewhere(const struct retention *limits, const struct segment_file *file)
{
	return !limits->may_go || limits->may_go(limits->context, file->number);
}

static bool is_held(const struct retention *limits, const struct segment_file *file)
{
	return limits->hold_ns && look_at(file->path).sealed_ns >= limits->hold_ns;
}

static int remove_files(const struct retention *limits, const struct segment_file *list, size_t count,
	struct retention_removed *removed, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct sealed_file file = look_at(list[i].path);

		if (unlink(list[i].path))
			return err_set_errno(err, errno, "cannot remove '%s'", list[i].path);
		removed->segments++;
		removed->bytes += file.bytes;
		removed->forced += !is_elsewhere(limits, &list[i]);
	}
	return 0;
}

/* A group is as old as the newest of its segments, and goes as a whole: what of it is nowhere else stays unless the disk is
 * short. */
static bool group_is_too_much(const struct retention *limits, const char *tape_path, uint64_t total,
	const struct segment_file *list, size_t group, int64_t now_ns)
{
	if (disk_is_short(limits, tape_path))
		return true;
	for (size_t i = 0; i < group; i++) {
		if (!is_elsewhere(limits, &list[i]) || is_held(limits, &list[i]))
			return false;
	}
	return is_too_much(limits, total, time_sub(now_ns, look_at(list[group - 1].path).sealed_ns));
}

static int remove_groups(const char *tape_path, const struct retention *limits, int64_t now_ns,
	const struct segment_file *list, size_t count, struct retention_removed *ret, struct err *err)
{
	uint64_t total = total_bytes(list, count);
	size_t may_go = removable(list, count), at = segment_count_orphans(list, count), group;
	int rc = remove_files(limits, list, at < may_go ? at : may_go, ret, err);

	for (; !rc && at < count; at += group) {
		/* What is not too old by its first segment need not be looked at. */
		if (!group_is_too_much(limits, tape_path, total - ret->bytes, list + at, 1, now_ns))
			break;
		group = segment_count_group(list + at, count - at);
		ret->held_up = at + group == count;
		if (at + group > may_go ||
			!group_is_too_much(limits, tape_path, total - ret->bytes, list + at, group, now_ns))
			break;
		rc = remove_files(limits, list + at, group, ret, err);
	}
	return rc;
}

/* What comes next may take more than a segment is meant to, as an extent is packed as a whole; its log as much again; and so does
 * its sealed copy. However little comes, the log of the open segment grows until SQLite writes it back. */
static uint64_t room_for_next(const struct retention *limits, const struct segment_file *newest)
{
	uint64_t half = limits->max_bytes / 2, next = LOG_BYTES + 3 * look_at(newest->path).bytes;

	return next < half ? next : half;
}

int retention_apply(const char *tape_path, const struct retention *limits, int64_t now_ns,
	struct retention_removed *ret, struct err *err)
{
	struct retention own = *limits;
	struct segment_file *list;
	size_t count;
	int rc = segment_list(tape_path, &list, &count, err);

	*ret = (struct retention_removed){0};
	if (rc)
		return rc;
	if (limits->leaves_room && count)
		own.max_bytes -= room_for_next(limits, &list[removable(list, count)]);
	rc = remove_groups(tape_path, &own, now_ns, list, count, ret, err);
	segment_list_free(list, count);
	return rc;
}

uint64_t retention_extent_bytes(uint64_t max_bytes, uint64_t usual)
{
	uint64_t eighth = max_bytes / 8;

	if (!max_bytes || eighth >= usual)
		return usual;
	return eighth > SMALL_EXTENT_BYTES ? eighth : SMALL_EXTENT_BYTES;
}
