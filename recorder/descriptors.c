/* descriptors.c: see descriptors.h. */
#include "recorder/descriptors.h"

#include "schema/base/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* Two streams, the tape and its next segment, the loop, and libcurl's own. */
#define LEAST 40

int descriptors_prepare(struct err *err)
{
	int taken[LEAST], count = 0, why;
	struct rlimit limit = {0};

	open_files_raise(NULL);
	while (count < LEAST && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	why = errno;
	for (int i = 0; i < count; i++)
		close(taken[i]);
	if (count == LEAST)
		return 0;
	if (why != EMFILE)
		return err_set_errno(err, why, "cannot open '/dev/null'");
	getrlimit(RLIMIT_NOFILE, &limit);
	return err_set(err, ERR_FAILED,
		"cannot record: of %ju open files that the system allows %d are free, expected %d or more; raise the "
		"limit, as by 'ulimit -n 1024'",
		(uintmax_t)limit.rlim_cur, count, LEAST);
}
