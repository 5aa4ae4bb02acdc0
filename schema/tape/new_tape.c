/* new_tape.c: see new_tape.h. */
#include "schema/tape/new_tape.h"

#include "schema/base/limits.h"
#include "schema/tape/audit_carry.h"
#include "schema/tape/remake_internal.h"
#include "schema/tape/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".tmp-" /* and the maker */
#define JOINED    "-1"

static void new_tape_release(struct new_tape *n)
{
	free(n->path);
	free(n->temporary);
	*n = (struct new_tape){0};
}

bool new_tape_is_file(const char *path)
{
	return segment_is_file_name(path);
}

long new_tape_maker(const char *name, struct slice *ret_name)
{
	const char *mark = strstr(name, TEMPORARY);
	char *end = NULL;
	long pid = mark ? strtol(mark + strlen(TEMPORARY), &end, 10) : 0;

	if (pid <= 0 || (*end && strcmp(end, JOINED) != 0))
		return 0;
	*ret_name = (struct slice){name, (size_t)(mark - name)};
	return pid;
}

int new_tape_begin(const char *path, struct new_tape *ret, struct err *err)
{
	struct new_tape n = {.path = segment_tape_path(path)};
	struct stat st;
	int rc = 0;

	for (size_t len = strlen(n.path); len > 1 && n.path[len - 1] == '/'; len--)
		n.path[len - 1] = 0;
	n.is_file = segment_is_file_name(n.path);
	n.temporary = xasprintf("%s" TEMPORARY "%ld", n.path, (long)getpid());
	if (lstat(n.path, &st) == 0)
		rc = err_set(err, ERR_USAGE, "'%s' exists already", path);
	else if (mkdir(n.temporary, 0700))
		rc = err_set_errno(err, errno, "cannot create '%s'", path);
	if (rc)
		new_tape_release(&n);
	else
		*ret = n;
	return rc;
}

static int name_it(const struct new_tape *n, const char *from, struct err *err)
{
	return rename(from, n->path) ? err_set_errno(err, errno, "cannot rename '%s' to '%s'", from, n->path)
				     : 0;
}

/* ---- one file ---- */

static bool is_one_segment(const struct segment_file *list, size_t count)
{
	return count == 1 && list->sealed;
}

/* The segment of a folder that has one. */
static int name_segment(const struct new_tape *n, const char *folder, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int rc = segment_list(folder, &list, &count, err);

	if (rc)
		return rc;
	if (!is_one_segment(list, count))
		rc = err_set(err, ERR_FAILED, "'%s' has %zu segments, expected 1", folder, count);
	else if (segment_file_bytes(list) > LIMIT_SEGMENT_BYTES)
		rc = err_set(err, ERR_TOO_LARGE,
			"'%s' would have %llu bytes, and a tape in one file has at most %llu: make it a folder",
			n->path, (unsigned long long)segment_file_bytes(list),
			(unsigned long long)LIMIT_SEGMENT_BYTES);
	else
		rc = name_it(n, list->path, err);
	segment_list_free(list, count);
	return rc;
}

/* Several segments, or one that could not be sealed, are written anew. */
static int join(const struct new_tape *n, struct err *err)
{
	const struct remake_options options = {.one_segment = true};
	char *joined = xasprintf("%s" JOINED, n->temporary);
	struct remake_result result;
	struct tape *t;
	int rc = tape_open(n->temporary, &t, err);

	if (!rc) {
		rc = remake_into(t, joined, &options, &result, err);
		tape_close(t);
	}
	if (!rc)
		rc = name_segment(n, joined, err);
	segment_remove_all(joined);
	free(joined);
	return rc;
}

static int name_file(const struct new_tape *n, struct err *err)
{
	struct segment_file *list;
	size_t count;
	bool is_one;
	int rc = segment_list(n->temporary, &list, &count, err);

	if (rc)
		return rc;
	is_one = is_one_segment(list, count);
	segment_list_free(list, count);
	return is_one ? name_segment(n, n->temporary, err) : join(n, err);
}

int new_tape_end(struct new_tape *n, int failed, struct err *err)
{
	if (!failed)
		failed = n->is_file ? name_file(n, err) : name_it(n, n->temporary, err);
	if (!failed && n->is_file)
		failed = audit_carry_out(n->temporary, n->path, err);
	if (failed || n->is_file)
		segment_remove_all(n->temporary);
	new_tape_release(n);
	return failed;
}
