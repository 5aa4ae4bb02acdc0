/* push_book.c: see push_book.h. */
#include "recorder/push/push_book.h"

#include "schema/base/out_file.h"
#include "schema/base/temp_folder.h"
#include "schema/tape/audit_keep.h"

#include <stdlib.h>
#include <unistd.h>

static char *key_of(const char *folder)
{
	return xasprintf("%s%s" PUSH_BOOK_OBJECT, folder, *folder ? "/" : "");
}

/* ---- into the store ---- */

static int put_copy(
	struct s3 *s, const char *folder, const char *path, struct manifest_book *book, struct err *err)
{
	char *key = key_of(folder);
	struct manifest_book copy;
	const struct s3_put put = {
		.key = key, .path = path, .content_type = "application/vnd.sqlite3", .sha256 = copy.sha256};
	int rc = s3_sum_of_path(path, &copy.bytes, copy.sha256, err);

	if (!rc && strcmp(copy.sha256, book->sha256) != 0) {
		rc = s3_put(s, &put, err);
		if (!rc)
			*book = copy;
		rc = rc ? rc : 1;
	}
	free(key);
	return rc;
}

int push_book(
	struct s3 *s, const char *key, const char *tape_path, struct manifest_book *book, struct err *err)
{
	char *folder, *copy;
	int rc = temp_folder_make("audit", &folder, err);

	if (rc)
		return rc;
	copy = xasprintf("%s/" PUSH_BOOK_OBJECT, folder);
	rc = audit_book_copy(tape_path, copy, err);
	if (rc > 0)
		rc = put_copy(s, key, copy, book, err);
	unlink(copy);
	rmdir(folder);
	free(copy);
	free(folder);
	return rc;
}

/* ---- out of it ---- */

static int fetch_to(
	struct s3 *s, const char *key, const struct manifest_book *book, const char *path, struct err *err)
{
	struct out_file *out;
	int rc = out_file_open(path, &out, err);

	if (rc)
		return rc;
	rc = s3_get_to(s, key, book->bytes, out_file_stream(out), err);
	if (!rc)
		return out_file_close(out, err);
	out_file_abandon(out);
	return rc;
}

static bool is_here(const char *path, const struct manifest_book *book)
{
	struct manifest_book here = {0};

	return access(path, F_OK) == 0 && s3_sum_of_path(path, &here.bytes, here.sha256, NULL) == 0 &&
	       strcmp(here.sha256, book->sha256) == 0;
}

int push_book_fetch(struct s3 *s, const char *folder, const struct manifest_book *book,
	const char *tape_folder, struct err *err)
{
	char *path = audit_book_path(tape_folder), *key = key_of(folder);
	int rc = 0;

	if (!*book->sha256)
		unlink(path);
	else if (!is_here(path, book))
		rc = fetch_to(s, key, book, path, err);
	free(path);
	free(key);
	return rc;
}
