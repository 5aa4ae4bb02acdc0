/*
 * verify_log.c: SQLite's log beside an open segment. SQLite ends its reading at the first frame whose sum
 * does not hold, and says nothing: a flipped bit hides every transaction after it. What stands after can be
 * proved all the same (raw_wal.h).
 */
#include "schema/tape/raw_wal.h"
#include "schema/tape/verify_internal.h"

#include <stdlib.h>

#define LOOKS_MAX 10

struct place {
	uint64_t offset, length; /* length 0: intact, or begun again by its writer while it was read */
};

static struct place verify_log_look(const struct verifier *v)
{
	struct raw_wal *log = raw_wal_open(v->file->path);
	struct place found;

	if (!log || !raw_wal_is_broken(log, &found.offset, &found.length) || !raw_wal_is_current(log))
		found = (struct place){0};
	raw_wal_close(log);
	return found;
}

/* A writer is perhaps in the middle of a frame when the first look reads it, and after it at the next one:
 * what is damaged is so at the same place each time. */
void verify_log(struct verifier *v)
{
	struct place found = verify_log_look(v), before = {0};
	const char *database = v->name;
	char *name;

	for (int looks = 1; found.length && found.offset != before.offset && looks < LOOKS_MAX; looks++) {
		before = found;
		found = verify_log_look(v);
	}
	if (!found.length)
		return;
	name = xasprintf("%s-wal", database);
	v->name = name;
	verify_report(v, found.offset, found.length, "", "",
		"bad checksum of %s, which hides whole transactions after it",
		found.offset ? "a frame" : "the header");
	v->name = database;
	free(name);
}
