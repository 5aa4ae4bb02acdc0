/* identity.c: see identity.h. */
#include "schema/tape/identity.h"

static int take_id(void *context, const struct tape_segment_info *s)
{
	char **id = context;

	if (s->tape_id && *s->tape_id)
		*id = xstrdup(s->tape_id);
	return *id != NULL;
}

int tape_identity_of(struct tape *t, char **ret, struct err *err)
{
	char *id = NULL;
	int rc = tape_each_segment(t, take_id, &id, err);

	if (rc < 0)
		return rc;
	if (!id)
		return err_set(err, ERR_NOT_FOUND, "tape '%s' has nothing on it yet", tape_path_of(t));
	*ret = id;
	return 0;
}

int tape_identity_read(const char *path, char **ret, struct err *err)
{
	struct tape *t;
	int rc = tape_open(path, &t, err);

	if (rc)
		return rc;
	rc = tape_identity_of(t, ret, err);
	tape_close(t);
	return rc;
}

char *tape_identity(const char *path)
{
	char *id = NULL;

	return tape_identity_read(path, &id, NULL) ? NULL : id;
}
