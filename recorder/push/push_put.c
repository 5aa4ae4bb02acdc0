/* push_put.c: see push_put.h. */
#include "recorder/push/push_put.h"

#include <stdlib.h>

#define PUT_TRIES 3

static int refuse_other(
	const char *key, const struct s3_object *object, const struct manifest_segment *s, struct err *err)
{
	return err_set(err, ERR_FAILED,
		"the store has another '%s': %llu bytes with sum '%.16s', expected %llu with '%.16s'; "
		"remove it there, or push to another prefix",
		key, (unsigned long long)object->bytes, object->sha256, (unsigned long long)s->bytes,
		s->sha256);
}

/* After it was written, or when the store says that it has an object of that name: this push was answered too late, or another one is
 * under way. ERR_NOT_FOUND if it is not there although the store said so, as versitygw does that was killed while it
 * put parts together. */
static int check_stored(struct s3 *store, const char *key, struct manifest_segment *s, struct err *err)
{
	struct s3_object object;
	struct err why;
	int rc = s3_head(store, key, &object, &why);

	if (rc == ERR_NOT_FOUND)
		return err_set(err, rc, "the store said that it has '%s', and then that it has not", key);
	if (rc)
		return err_copy(err, &why);
	if (!*object.sha256 && object.bytes == s->bytes)
		return err_set(err, ERR_FAILED,
			"the store has '%s' without the header x-amz-meta-sha256 by which kubetape knows it; it has to keep "
			"metadata of objects",
			key);
	if (!manifest_is_object(s, &object))
		return refuse_other(key, &object, s, err);
	manifest_note_etag(s, object.etag);
	return 0;
}

static int put_and_check(
	struct s3 *store, const struct s3_put *put, struct manifest_segment *s, struct err *err)
{
	struct err why;
	int rc = s3_put(store, put, &why);

	if (!rc || rc == ERR_BUSY)
		return check_stored(store, put->key, s, err);
	return err_copy(err, &why);
}

/* What the store has in place of a segment was this one, as the manifest or its own sum says, and was cut or changed since. */
static bool was_ours(
	const struct manifest *m, const struct s3_object *object, const struct manifest_segment *s)
{
	const struct manifest_segment *named = manifest_find(m, s->number);

	return (named && named->is_off && strcmp(named->sha256, s->sha256) == 0) ||
	       strcmp(object->sha256, s->sha256) == 0;
}

/* On condition that nothing has its name, or only what `there` describes. */
static int put_over(struct s3 *store, const char *path, const char *key, const struct s3_object *there,
	struct manifest_segment *s, struct err *err)
{
	const struct s3_put put = {.key = key,
		.path = path,
		.content_type = "application/vnd.sqlite3",
		.sha256 = s->sha256,
		.only_new = !there,
		.only_etag = there ? there->etag : NULL};
	int rc = ERR_NOT_FOUND;

	for (int i = 0; i < PUT_TRIES && rc == ERR_NOT_FOUND; i++)
		rc = put_and_check(store, &put, s, err);
	return rc == ERR_NOT_FOUND ? ERR_FAILED : rc;
}

int push_put(struct s3 *store, const char *folder, const struct manifest *m, const char *path,
	struct manifest_segment *s, struct err *err)
{
	char *key = manifest_segment_key(folder, s->number);
	struct err why;
	struct s3_object object;
	int rc = s3_head(store, key, &object, &why);

	if (!rc && manifest_is_object(s, &object))
		manifest_note_etag(s, object.etag);
	else if (!rc && !was_ours(m, &object, s))
		rc = refuse_other(key, &object, s, err);
	else if (!rc || rc == ERR_NOT_FOUND)
		rc = put_over(store, path, key, rc ? NULL : &object, s, err);
	else
		err_copy(err, &why);
	free(key);
	return rc;
}
