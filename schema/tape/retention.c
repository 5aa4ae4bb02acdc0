/* retention.c: see retention.h. A segment's age is that of its file: sealing is the
 * last time it is written. */
#include "schema/tape/retention.h"

#include "schema/base/clock.h"
#include "schema/tape/segment.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

static uint64_t free_bytes(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}

static bool is_too_much(const struct retention *limits, const char *tape_path, uint64_t total, int64_t age_ns)
{
	return (limits->max_bytes && total > limits->max_bytes) ||
	       (limits->max_age_ns && age_ns > limits->max_age_ns) ||
	       (limits->keep_free_bytes && free_bytes(tape_path) < limits->keep_free_bytes);
}

/* How many of the oldest may go: the newest sealed one stays, as the next segment is made from it. */
static size_t removable(const struct segment_file *list, size_t count)
{
	while (count && !list[count - 1].sealed)
		count--;
	return count ? count - 1 : 0;
}

int retention_apply(const char *tape_path, const struct retention *limits, int64_t now_ns,
	struct retention_removed *ret, struct err *err)
{
	struct segment_file *list;
	size_t count, may_go;
	uint64_t total;
	int rc = segment_list(tape_path, &list, &count, err);

	*ret = (struct retention_removed){0};
	if (rc)
		return rc;
	total = total_bytes(list, count);
	may_go = removable(list, count);
	for (size_t i = 0; i < may_go && list[i].sealed && !rc; i++) {
		struct sealed_file file = look_at(list[i].path);

		if (!is_too_much(limits, tape_path, total, now_ns - file.sealed_ns))
			break;
		if (unlink(list[i].path)) {
			rc = err_set_errno(err, errno, "cannot remove '%s'", list[i].path);
			break;
		}
		total -= file.bytes;
		ret->segments++;
		ret->bytes += file.bytes;
	}
	segment_list_free(list, count);
	return rc;
}
