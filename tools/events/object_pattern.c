/* object_pattern.c: see object_pattern.h. */
#include "tools/events/object_pattern.h"

#include "tools/cli/tape_names.h"
#include "tools/out/bookkeeping.h"

#include <fnmatch.h>
#include <stdlib.h>

struct object_pattern {
	uint32_t *resources; /* ids */
	size_t count;
	bool any_resource;
	char *name; /* a shell's pattern; NULL: any */
};

struct object_patterns {
	struct object_pattern *items;
	size_t count;
	bool everything;
};

void object_patterns_free(struct object_patterns *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		free(p->items[i].resources);
		free(p->items[i].name);
	}
	free(p->items);
	free(p);
}

static int take_resources(struct tape *t, const char *names, struct object_pattern *to, struct err *err)
{
	struct tape_names found = {0};
	int rc;

	to->any_resource = strcmp(names, "*") == 0;
	if (to->any_resource)
		return 0;
	rc = tape_names_choose(t, names, &found, err);
	if (rc)
		return rc;
	to->resources = xcalloc(found.count + 1, sizeof(*to->resources));
	for (size_t i = 0; i < found.count; i++)
		to->resources[to->count++] = found.items[i]->id;
	tape_names_tell_versions(t, &found, names);
	tape_names_release(&found);
	return 0;
}

static int take_word(struct tape *t, const char *word, struct object_pattern *to, struct err *err)
{
	const char *slash = strchr(word, '/');
	char *resources;
	int rc;

	if (!*word || slash == word || (slash && (!slash[1] || strchr(slash + 1, '/'))))
		return err_set(
			err, ERR_USAGE, "expected RESOURCE or RESOURCE/NAME-PATTERN, found '%s'", word);
	resources = slash ? slice_dup((struct slice){word, (size_t)(slash - word)}) : xstrdup(word);
	to->name = slash ? xstrdup(slash + 1) : NULL;
	rc = take_resources(t, resources, to, err);
	free(resources);
	return rc;
}

int object_patterns_new(struct tape *t, char *const *words, size_t count, bool everything,
	struct object_patterns **ret, struct err *err)
{
	struct object_patterns *p = xcalloc(1, sizeof(*p));
	int rc = 0;

	p->everything = everything;
	p->items = xcalloc(count + 1, sizeof(*p->items));
	while (p->count < count && !rc) {
		p->count++;
		rc = take_word(t, words[p->count - 1], &p->items[p->count - 1], err);
	}
	if (rc)
		object_patterns_free(p);
	else
		*ret = p;
	return rc;
}

static bool has_resource(const struct object_pattern *p, uint32_t resource)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->resources[i] == resource)
			return true;
	}
	return false;
}

bool object_patterns_names_resource(const struct object_patterns *p, const struct tape_resource *r)
{
	for (size_t i = 0; i < p->count; i++) {
		if (has_resource(&p->items[i], r->id))
			return true;
	}
	return false;
}

static bool means(
	const struct object_patterns *p, const struct object_pattern *item, const struct tape_resource *r)
{
	return has_resource(item, r->id) || (item->any_resource && (p->everything || !is_bookkeeping(r)));
}

enum object_wanted object_patterns_resource(const struct object_patterns *p, const struct tape_resource *r)
{
	bool any = p->count == 0;

	for (size_t i = 0; i < p->count; i++) {
		if (means(p, &p->items[i], r))
			return OBJECT_WANTED;
		any |= p->items[i].any_resource;
	}
	if (!any)
		return OBJECT_UNWANTED;
	return p->everything || !is_bookkeeping(r) ? OBJECT_WANTED : OBJECT_BOOKKEEPING;
}

static bool is_named(const struct object_pattern *item, struct slice name)
{
	char *text;
	bool matches;

	if (!item->name)
		return true;
	text = slice_dup(name);
	matches = fnmatch(item->name, text, 0) == 0;
	free(text);
	return matches;
}

bool object_patterns_name(const struct object_patterns *p, const struct tape_resource *r, struct slice name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (means(p, &p->items[i], r) && is_named(&p->items[i], name))
			return true;
	}
	return p->count == 0;
}
