/* copy.c: see copy.h. */
#include "recorder/push/copy.h"

#include <string.h>

static int refuse(const char *tape_path, uint32_t number, const char *why, struct err *err)
{
	return err_set(err, ERR_FAILED,
		"segment %u of '%s' %s: a copy of the tape went on apart from it; it was not pushed: push one of them "
		"below another prefix, or by another --cluster",
		number, tape_path, why);
}

int copy_check(const struct manifest *there, const char *tape_path, const struct segment_file *list,
	size_t count, struct err *err)
{
	const struct manifest_segment *same;
	char here[SEAL_DIGEST_BYTES];
	struct err why;

	while (count && !manifest_has(there, list[count - 1].number))
		count--;
	if (!count)
		return 0;
	same = manifest_find(there, list[count - 1].number);
	if (seal_digest(list[count - 1].path, here, &why) || strcmp(here, same->digest) == 0)
		return 0;
	return refuse(tape_path, same->number, "is not the one that the store has of this tape", err);
}

int copy_check_follows(const struct manifest *there, const char *tape_path, const struct manifest_segment *s,
	struct err *err)
{
	const struct manifest_segment *before = manifest_find(there, s->number - 1);

	if (!before || before->is_off || !*before->digest || !*s->previous ||
		strcmp(before->digest, s->previous) == 0)
		return 0;
	return refuse(tape_path, s->number, "does not follow the one before it that the store has", err);
}
