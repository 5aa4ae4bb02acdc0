/* tape_limits.c: see tape_limits.h. */
#include "tools/cli/tape_limits.h"

#include "schema/base/bytes_format.h"
#include "schema/base/log.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/statvfs.h>

/* What is not sealed yet takes some 12 MB at most when much happens, whatever the segments' size; and as many times of an extent as
 * this if its objects do not compress: in the log, in the segment, and in its sealed copy. A segment that begins with objects of a
 * megabyte that do not compress takes more: 35 MB were seen. */
#define HELD_BYTES  (INT64_C(16) << 20)
#define HELD_MOST   (4 * HELD_BYTES)
#define HELD_COPIES 3

/* Of the disk that the tape is on, or will be; INT64_MAX if nobody knows. */
static int64_t disk_bytes(const char *tape_path)
{
	char *path = xstrdup(tape_path);
	struct statvfs fs;
	bool known = statvfs(path, &fs) == 0 || statvfs(dirname(path), &fs) == 0;

	free(path);
	return known ? (int64_t)(fs.f_blocks * fs.f_frsize) : INT64_MAX;
}

void tape_limits_doubt(const struct tape_limits *l, const char *tape_path)
{
	char wanted[BYTES_TEXT_BYTES], whole[BYTES_TEXT_BYTES];
	int64_t disk = disk_bytes(tape_path);
	int64_t extent = l->extent_size
				 ? l->extent_size
				 : (int64_t)retention_extent_bytes((uint64_t)l->max_size, TAPE_EXTENT_BYTES);

	if (l->keep_free > disk)
		log_warn(
			"'--keep-free' of %s cannot be held: the disk has %s in all; all segments but the newest will be removed",
			bytes_format(wanted, (uint64_t)l->keep_free), bytes_format(whole, (uint64_t)disk));
	if (l->max_size && l->max_size < HELD_MOST)
		log_warn(
			"'--max-size' of %s may be exceeded: what is not sealed yet can take up to %s when much happens, and more if objects are large",
			bytes_format(wanted, (uint64_t)l->max_size), bytes_format(whole, HELD_BYTES));
	else if (l->max_size && l->max_size < HELD_COPIES * extent)
		log_warn(
			"'--max-size' of %s may be exceeded for moments by up to %s, if much comes that does not compress (--extent-size)",
			bytes_format(wanted, (uint64_t)l->max_size),
			bytes_format(whole, (uint64_t)(HELD_COPIES * extent)));
}
