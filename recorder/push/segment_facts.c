/* segment_facts.c: see segment_facts.h. */
#include "recorder/push/segment_facts.h"

#include "schema/base/regular_file.h"
#include "schema/tape/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int take_events(void *context, const struct tape_segment_info *s)
{
	struct manifest_segment *to = context;

	to->first_seq = s->first_seq;
	to->last_seq = s->last_seq;
	to->events = s->events;
	to->first_time_ns = s->first_time_ns;
	to->last_time_ns = s->last_time_ns;
	return 0;
}

int segment_facts_events(const char *path, struct manifest_segment *s, struct err *err)
{
	struct tape *t;
	int rc = reader_open_sealed(path, s->number, &t, err);

	if (rc)
		return rc;
	rc = tape_each_segment(t, take_events, s, err);
	tape_close(t);
	return rc;
}

int segment_facts_sum(const char *path, struct manifest_segment *s, struct err *err)
{
	int fd = regular_file_open(path, O_RDONLY, err), rc;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		rc = err_set_errno(err, errno, "cannot look at '%s'", path);
	else
		rc = s3_sum_of_file(fd, 0, s->bytes = (uint64_t)st.st_size, s->sha256, err);
	close(fd);
	return rc;
}

static int note_damage(void *context, const struct seal_damage *d)
{
	return err_set(context, ERR_CORRUPT, "%s has sum %s, expected %s", d->what, d->found, d->expected);
}

int segment_facts(const char *path, struct manifest_segment *s, struct err *err)
{
	struct err damage = {0};
	int rc = seal_check(path, note_damage, NULL, &damage, s->digest, err);

	if (damage.code)
		return err_copy(err, &damage);
	rc = rc ? rc : segment_facts_events(path, s, err);
	return rc ? rc : segment_facts_sum(path, s, err);
}
