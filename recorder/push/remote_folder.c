/* remote_folder.c: see remote_folder.h. */
#include "recorder/push/remote_folder.h"

#include "recorder/push/remote_cache.h"
#include "schema/base/config_file.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/tape/format.h"
#include "schema/tape/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int read_file(const char *folder, const char *name, struct buf *to, struct err *err)
{
	char *path = xasprintf("%s/%s", folder, name);
	int rc = read_config_file(path, to, err);

	free(path);
	return rc;
}

int remote_folder_read(
	const char *folder, struct s3_place *ret_place, struct manifest *ret_manifest, struct err *err)
{
	struct buf text;
	char *url;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = read_file(folder, "place", &text, err);
	url = slice_dup(buf_slice(&text));
	rc = rc ? rc : s3_place_parse(url, ret_place, err);
	buf_clear(&text);
	rc = rc ? rc : read_file(folder, MANIFEST_NAME, &text, err);
	rc = rc ? rc : manifest_parse(buf_slice(&text), ret_manifest, err);
	free(url);
	buf_release(&text);
	return rc;
}

/* What tells a store from others: its endpoint, or the profile that may have one. */
static const char *store_name(const struct s3_options *options)
{
	const char *names[] = {options->endpoint, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"),
		options->profile, getenv("AWS_PROFILE")};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (names[i] && *names[i])
			return names[i];
	}
	return "";
}

/* Tapes of different stores and places have different folders. */
int remote_folder_of(const char *root, const struct s3_options *options, const struct s3_place *p, char **ret,
	struct err *err)
{
	char sum[S3_SUM_BYTES], *what = xasprintf("%s\n%s\n%s", store_name(options), p->bucket, p->key);
	int rc = s3_sum_of(slice_of(what), sum, err);

	free(what);
	if (!rc)
		*ret = xasprintf("%s/%.*s", root, REMOTE_HASH_DIGITS, sum);
	return rc;
}

/* A name that is safe as a file's. */
char *remote_folder_tape(const char *folder, const struct manifest *m)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	bool is_safe =
		*m->name && *m->name != '.' && strlen(m->name) < 200 && m->name[strspn(m->name, safe)] == 0;

	return xasprintf("%s/%s" REMOTE_TAPE_ENDING, folder, is_safe ? m->name : "tape");
}

/* Readers want segments without holes between them: those from the last hole on. */
static size_t first_of_run(const struct manifest *m)
{
	size_t first = m->segment_count;

	while (first &&
		(first == m->segment_count || m->segments[first - 1].number + 1 == m->segments[first].number))
		first--;
	return first;
}

/* Those that the store has had, and lost since the folder was laid out, would be a hole in the tape. */
static int remove_others(const char *tape, uint32_t first, uint32_t last, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int rc = segment_list(tape, &list, &count, err);

	for (size_t i = 0; i < count && !rc; i++) {
		if (list[i].number >= first && list[i].number <= last)
			continue;
		if (unlink(list[i].path) && errno != ENOENT)
			rc = err_set_errno(err, errno, "cannot remove '%s'", list[i].path);
	}
	segment_list_free(list, count);
	return rc;
}

int remote_folder_lay_out(const char *tape, const struct manifest *m, char **ret_note, struct err *err)
{
	size_t first = first_of_run(m);
	int rc = remote_cache_make(tape, err);

	for (size_t i = first; i < m->segment_count && !rc; i++) {
		char *path = xasprintf("%s/" FORMAT_SEALED_NAME, tape, m->segments[i].number);

		rc = remote_cache_file(path, m->segments[i].bytes, err);
		free(path);
	}
	if (!rc)
		rc = remove_others(
			tape, m->segments[first].number, m->segments[m->segment_count - 1].number, err);
	if (!rc && first)
		*ret_note = xasprintf(
			"the store lacks segments between %u and %u: the tape is read from %u on, "
			"what came before is not shown",
			m->segments[first - 1].number, m->segments[first].number, m->segments[first].number);
	return rc;
}

static bool has_file(const char *folder, const char *name, struct slice text)
{
	struct buf there;
	bool has;

	buf_init(&there, LIMIT_DOCUMENT_BYTES);
	has = read_file(folder, name, &there, NULL) == 0 && there.len == text.len &&
	      memcmp(there.ptr, text.ptr, text.len) == 0;
	buf_release(&there);
	return has;
}

/* Nothing is written where nothing is new: a disk may be full, and have all that is needed. */
static int write_file(const char *folder, const char *name, struct slice text, struct err *err)
{
	char *path;
	int rc;

	if (has_file(folder, name, text))
		return 0;
	path = xasprintf("%s/%s", folder, name);
	rc = out_file_write(path, text, err);
	free(path);
	return rc;
}

/* What the folder needs so that other processes find the rest. */
int remote_folder_note(
	const char *folder, const struct s3_place *p, const struct manifest *m, struct err *err)
{
	char *url = xasprintf("%s%s/%s", S3_SCHEME, p->bucket, p->key);
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	rc = remote_cache_make(folder, err);
	rc = rc ? rc : manifest_format(m, &json, err);
	rc = rc ? rc : write_file(folder, MANIFEST_NAME, buf_slice(&json), err);
	rc = rc ? rc : write_file(folder, "place", slice_of(url), err);
	buf_release(&json);
	free(url);
	return rc;
}
