/* object_name.c: see object_name.h. */
#include "tools/cli/object_name.h"

#include "tools/cli/sql_progress.h"
#include "tools/cli/tape_names.h"

#include <stdio.h>
#include <stdlib.h>

#define UIDS_SHOWN 2

static int by_name(
	struct sql_session *s, const char *tape_path, const char *resource, const char *name, struct err *err)
{
	struct tape_names names = {0};
	struct tape *t = NULL;
	int rc = tape_open(tape_path, &t, err);

	if (!rc)
		rc = tape_names_choose(t, resource, &names, err);
	if (!rc) {
		sql_session_set(s, "resource", names.items[0]->resource);
		sql_session_set(s, "apigroup", names.items[0]->apigroup);
		sql_session_set(s, "version", names.items[0]->version);
		sql_session_set(s, "name", name);
		names.count = 1;
		tape_names_tell_versions(t, &names, resource);
	}
	tape_names_release(&names);
	tape_close(t);
	return rc;
}

/* ---- UIDs ---- */

struct found_uids {
	char *uids[UIDS_SHOWN];
	size_t count;
};

static int keep_uid(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct found_uids *found = context;

	(void)count, (void)err;
	if (found->count < UIDS_SHOWN)
		found->uids[found->count++] = slice_dup(values[0].bytes);
	return 0;
}

static void release_uids(struct found_uids *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->uids[i]);
}

/* The number of the event before the tape's own: :before. What lives there need not have an event on the tape. */
static int set_before(struct sql_session *s, const char *tape_path, struct err *err)
{
	struct tape_info info;
	struct tape *t = NULL;
	char number[24];
	int rc = tape_open(tape_path, &t, err);

	if (!rc)
		rc = tape_info(t, &info, err);
	tape_close(t);
	if (rc)
		return rc;
	snprintf(number, sizeof(number), "%llu",
		info.first_seq ? (unsigned long long)info.first_seq - 1 : 0ULL);
	sql_session_set(s, "before", number);
	return 0;
}

/* The UID itself, which is looked up, or those that begin so, for which all are walked through. */
static int find_uids(struct sql_session *s, const char *tape_path, const char *word, struct found_uids *ret,
	struct err *err)
{
	struct sql_sink sink = {.row = keep_uid, .context = ret};
	int rc;

	sql_session_set(s, "uid", word);
	rc = sql_progress_run(s, slice_of("SELECT uid FROM events WHERE uid = :uid LIMIT 1"), &sink, err);
	if (rc || ret->count || !*word || (rc = set_before(s, tape_path, err)))
		return rc;
	rc = sql_progress_run(
		s, slice_of("SELECT uid FROM objects(:before) WHERE uid = :uid LIMIT 1"), &sink, err);
	if (rc || ret->count)
		return rc;
	return sql_progress_run(s,
		slice_of(
			"SELECT uid FROM events WHERE substr(uid, 1, length(:uid)) = :uid "
			"UNION SELECT uid FROM objects(:before) WHERE substr(uid, 1, length(:uid)) = :uid LIMIT 2"),
		&sink, err);
}

static bool is_resource(const char *tape_path, const char *word)
{
	struct tape_names names = {0};
	struct tape *t = NULL;
	bool found;

	if (tape_open(tape_path, &t, NULL))
		return false;
	found = tape_names_choose(t, word, &names, NULL) == 0;
	tape_names_release(&names);
	tape_close(t);
	return found;
}

static int by_uid(struct sql_session *s, const char *tape_path, const char *word, struct object_name *ret,
	struct err *err)
{
	struct found_uids found = {0};
	int rc = find_uids(s, tape_path, word, &found, err);

	if (!rc && !(found.count && strcmp(found.uids[0], word) == 0) && is_resource(tape_path, word))
		rc = err_set(
			err, ERR_USAGE, "'%s' is a resource, not an object; name one: %s/NAME", word, word);
	else if (!rc && found.count == 0)
		rc = err_set(err, ERR_NOT_FOUND, "the tape has no event of '%s'", word);
	else if (!rc && found.count > 1)
		rc = err_set(err, ERR_USAGE, "several UIDs begin with '%s', among them '%s' and '%s'", word,
			found.uids[0], found.uids[1]);
	if (!rc) {
		sql_session_set(s, "uid", found.uids[0]);
		*ret = (struct object_name){true, xstrdup(found.uids[0])};
	}
	release_uids(&found);
	return rc;
}

int object_name_choose(struct sql_session *s, const char *tape_path, char *const *words, size_t count,
	struct object_name *ret, struct err *err)
{
	const char *slash = strchr(words[0], '/'), *name = count > 1 ? words[1] : slash ? slash + 1 : NULL;
	char *resource;
	int rc;

	if (!name)
		return by_uid(s, tape_path, words[0], ret, err);
	if ((slash && count > 1) || !*name)
		return err_set(err, ERR_USAGE, "expected RESOURCE/NAME or RESOURCE NAME, found '%s%s%s'",
			words[0], count > 1 ? " " : "", count > 1 ? words[1] : "");
	resource = slice_dup((struct slice){words[0], slash ? (size_t)(slash - words[0]) : strlen(words[0])});
	rc = by_name(s, tape_path, resource, name, err);
	if (!rc)
		*ret = (struct object_name){false, xasprintf("%s/%s", resource, name)};
	free(resource);
	return rc;
}
