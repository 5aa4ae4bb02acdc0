/* open_files.c: see open_files.h. */
#include "schema/base/open_files.h"

/* Some programs that we start close every number that they may have: a limit of a billion takes them minutes.
 */
#define MOST 65536

size_t open_files_raise(struct rlimit *ret_before)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		limit = (struct rlimit){0};
	if (ret_before)
		*ret_before = limit;
	if (limit.rlim_cur >= MOST)
		return MOST;
	limit.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
	setrlimit(RLIMIT_NOFILE, &limit);
	return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (size_t)limit.rlim_cur;
}
