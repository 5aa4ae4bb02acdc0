/* tape_identity.c: see tape_identity.h. */
#include "tools/cli/tape_identity.h"

#include "schema/tape/reader.h"

static int take_id(void *context, const struct tape_segment_info *s)
{
	char **id = context;

	if (!*id && s->tape_id)
		*id = xstrdup(s->tape_id);
	return 0;
}

char *tape_identity(const char *path)
{
	struct tape *t;
	char *id = NULL;

	if (tape_open(path, &t, NULL))
		return NULL;
	(void)!tape_each_segment(t, take_id, &id, NULL);
	tape_close(t);
	return id;
}
