/* remote_find.c: see remote_find.h. A folder with a manifest is a tape, and nothing below it is looked at, so that the number
 * of segments makes no difference. So is one with segments alone, whose first push has not ended or whose manifest was removed. */
#include "recorder/push/remote_find.h"

#include "recorder/push/manifest.h"

#include <stdlib.h>

struct folder_look {
	const char *prefix; /* with its slash, or "" */
	bool is_tape;
	char **below;
	size_t count;
};

static void add_text(char ***list, size_t *count, char *text)
{
	*list = xrealloc(*list, (*count + 1) * sizeof(**list));
	(*list)[(*count)++] = text;
}

static int take_entry(void *context, const struct s3_entry *entry)
{
	struct folder_look *l = context;
	const char *key = entry->key;
	size_t len = strlen(key), prefix = strlen(l->prefix);

	if (len > prefix &&
		(strcmp(key + prefix, MANIFEST_NAME) == 0 || strncmp(key + prefix, "seg-", 4) == 0))
		l->is_tape = true;
	else if (len > prefix && key[len - 1] == '/')
		add_text(&l->below, &l->count, slice_dup((struct slice){key, len - 1}));
	return 0;
}

static int look_into(struct s3 *s, const char *key, int depth, struct remote_places *ret, struct err *err)
{
	char *prefix = xasprintf("%s%s", key, *key ? "/" : "");
	struct folder_look look = {.prefix = prefix};
	int rc = s3_list(s, prefix, "/", take_entry, &look, err);

	if (!rc && look.is_tape)
		add_text(&ret->keys, &ret->count, xstrdup(key));
	for (size_t i = 0; i < look.count; i++) {
		if (!rc && !look.is_tape && depth)
			rc = look_into(s, look.below[i], depth - 1, ret, err);
		free(look.below[i]);
	}
	free(look.below);
	free(prefix);
	return rc;
}

int remote_find(struct s3 *s, const char *key, struct remote_places *ret, struct err *err)
{
	struct remote_places places = {0};
	int rc = look_into(s, key, REMOTE_DEPTH, &places, err);

	if (!rc && !places.count)
		rc = err_set(err, ERR_NOT_FOUND, "no tape there");
	if (rc) {
		remote_places_release(&places);
		return rc;
	}
	*ret = places;
	return 0;
}

void remote_places_release(struct remote_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->keys[i]);
	free(p->keys);
	*p = (struct remote_places){0};
}
