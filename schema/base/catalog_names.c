/* catalog_names.c: what a name means among the resources of a catalog; see catalog.h. */
#include "schema/base/catalog.h"

#include "schema/base/count_of.h"
#include "schema/base/similar.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

/* How a name means a resource, best first. */
enum match { MATCH_NONE, MATCH_CATEGORY, MATCH_SHORT, MATCH_FULL };

static bool has_string(char *const *list, const char *word)
{
	for (; list && *list; list++) {
		if (strcmp(*list, word) == 0)
			return true;
	}
	return false;
}

static enum match match_word(const struct catalog_resource *r, const char *word)
{
	if (strcmp(r->resource, word) == 0 || strcmp(r->singular, word) == 0 ||
		strcasecmp(r->kind, word) == 0)
		return MATCH_FULL;
	if (has_string(r->short_names, word))
		return MATCH_SHORT;
	return has_string(r->categories, word) ? MATCH_CATEGORY : MATCH_NONE;
}

/* "RESOURCE", "RESOURCE.GROUP" or "RESOURCE.VERSION.GROUP", lower case. */
static enum match match_name(const struct catalog_resource *r, const char *name)
{
	size_t word_len = strcspn(name, "."), version_len = strlen(r->version);
	const char *rest = name[word_len] ? name + word_len + 1 : NULL;
	char *word;
	enum match m;

	if (rest && strcmp(rest, r->group) != 0) {
		bool is_version = strncmp(rest, r->version, version_len) == 0 && rest[version_len] == '.' &&
				  strcmp(rest + version_len + 1, r->group) == 0;

		if (!is_version)
			return MATCH_NONE;
	}
	word = slice_dup((struct slice){name, word_len});
	m = match_word(r, word);
	free(word);
	return rest && m == MATCH_CATEGORY ? MATCH_NONE : m;
}

static bool same_thing(const struct catalog_resource *a, const struct catalog_resource *b)
{
	return strcmp(a->resource, b->resource) == 0 && strcmp(a->group, b->group) == 0;
}

const struct catalog_resource *catalog_find_version(
	const struct catalog *c, const char *group, const char *version, const char *resource)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct catalog_resource *r = &c->items[i];

		if (strcmp(r->group, group) == 0 && strcmp(r->version, version) == 0 &&
			strcmp(r->resource, resource) == 0)
			return r;
	}
	return NULL;
}

bool catalog_has(const struct catalog *c, const char *group, const char *resource)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->items[i].group, group) == 0 && strcmp(c->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

static void catalog_names_choose(struct catalog_choice *choice, const struct catalog_resource *r)
{
	for (size_t i = 0; i < choice->count; i++) {
		if (same_thing(choice->items[i], r))
			return;
	}
	choice->items = xrealloc(choice->items, (choice->count + 1) * sizeof(*choice->items));
	choice->items[choice->count++] = r;
}

void catalog_choice_release(struct catalog_choice *choice)
{
	free(choice->items);
	*choice = (struct catalog_choice){0};
}

/* The first resource of the best match; watchable ones before others. NULL when there is none. */
static const struct catalog_resource *best_match(const struct catalog *c, const char *name, enum match *ret)
{
	const struct catalog_resource *best = NULL;
	int best_score = 0;

	for (size_t i = 0; i < c->count; i++) {
		enum match m = match_name(&c->items[i], name);
		int score = m ? 2 * (int)m + c->items[i].watchable : 0;

		if (score > best_score) {
			best_score = score;
			best = &c->items[i];
			*ret = m;
		}
	}
	return best;
}

static void choose_category(const struct catalog *c, const char *name, struct catalog_choice *choice)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->items[i].watchable && match_name(&c->items[i], name) == MATCH_CATEGORY)
			catalog_names_choose(choice, &c->items[i]);
	}
}

/* Says what was meant, if one of the names is so similar that it may have been. */
static int not_there(const struct catalog *c, const char *name, struct err *err)
{
	struct similar similar = similar_to((struct slice){name, strcspn(name, ".")});
	const struct catalog_resource *meant;

	for (size_t i = 0; i < c->count; i++) {
		if (!c->items[i].watchable)
			continue;
		similar_offer(&similar, c->items[i].resource, &c->items[i]);
		similar_offer(&similar, c->items[i].kind, &c->items[i]);
	}
	meant = similar.choice;
	if (!meant)
		return err_set(err, ERR_NOT_FOUND, "server does not have a resource '%s'", name);
	return err_set(err, ERR_NOT_FOUND, "server does not have a resource '%s'; did you mean '%s%s%s'?",
		name, meant->resource, *meant->group ? "." : "", meant->group);
}

static int choose_name(
	const struct catalog *c, const char *name, struct catalog_choice *choice, struct err *err)
{
	enum match m = MATCH_NONE;
	const struct catalog_resource *r = best_match(c, name, &m);

	if (!r)
		return not_there(c, name, err);
	if (!r->watchable)
		return err_set(err, ERR_NOT_FOUND, "resource '%s' cannot be listed and watched", name);
	if (m == MATCH_CATEGORY)
		choose_category(c, name, choice);
	else
		catalog_names_choose(choice, r);
	return 0;
}

/* Calls `each` for every word of a list separated by commas, in lower case. */
static int each_name(const char *names, int (*each)(void *context, const char *name), void *context)
{
	int rc = 0;

	while (rc == 0 && *names) {
		size_t len = strcspn(names, ",");
		char *name = slice_dup((struct slice){names, len});

		for (char *p = name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		if (len)
			rc = each(context, name);
		free(name);
		names += len + (names[len] == ',');
	}
	return rc;
}

struct naming {
	const struct catalog *catalog;
	struct catalog_choice *choice;
	struct err *err;
};

static int choose_one(void *context, const char *name)
{
	struct naming *n = context;

	return choose_name(n->catalog, name, n->choice, n->err);
}

int catalog_choose(const struct catalog *c, const char *names, struct catalog_choice *choice, struct err *err)
{
	struct naming n = {c, choice, err};

	return each_name(names, choose_one, &n);
}

void catalog_choose_all(const struct catalog *c, struct catalog_choice *choice)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->items[i].watchable)
			catalog_names_choose(choice, &c->items[i]);
	}
}

static void remove_at(struct catalog_choice *choice, size_t i)
{
	memmove(&choice->items[i], &choice->items[i + 1], (choice->count - i - 1) * sizeof(*choice->items));
	choice->count--;
}

/* The same stored objects under two groups; those of `keep` stay when both are chosen. */
static const struct {
	const char *resource, *keep, *drop;
} twins[] = {
	{"events", "", "events.k8s.io"},
	{"ingresses", "networking.k8s.io", "extensions"},
};
#define TWINS (COUNT_OF(twins))

static bool are_twins(const struct catalog_resource *a, const struct catalog_resource *b)
{
	for (size_t t = 0; t < TWINS && strcmp(a->resource, b->resource) == 0; t++) {
		const char *keep = twins[t].keep, *drop = twins[t].drop;

		if (strcmp(a->resource, twins[t].resource) == 0 &&
			((strcmp(a->group, keep) == 0 && strcmp(b->group, drop) == 0) ||
				(strcmp(a->group, drop) == 0 && strcmp(b->group, keep) == 0)))
			return true;
	}
	return false;
}

static void choose_twins(
	const struct catalog *c, const struct catalog_resource *of, struct catalog_choice *choice)
{
	for (size_t i = 0; i < c->count; i++) {
		if (are_twins(&c->items[i], of))
			catalog_names_choose(choice, &c->items[i]);
	}
}

struct finding {
	const struct catalog *catalog;
	struct catalog_choice *choice;
};

static int find_one(void *context, const char *name)
{
	const struct finding *f = context;
	enum match m = MATCH_NONE;
	const struct catalog_resource *r = best_match(f->catalog, name, &m);

	if (!r)
		return ERR_NOT_FOUND;
	if (m == MATCH_CATEGORY)
		choose_category(f->catalog, name, f->choice);
	else
		catalog_names_choose(f->choice, r);
	if (!strchr(name, '.'))
		choose_twins(f->catalog, r, f->choice);
	return 0;
}

bool catalog_find(const struct catalog *c, const char *name, struct catalog_choice *choice)
{
	struct finding f = {c, choice};

	return each_name(name, find_one, &f) == 0;
}

static bool is_group(const char *name)
{
	return strncmp(name, "*.", 2) == 0;
}

static bool has_one_of(const struct catalog_choice *out, const struct catalog_resource *r, bool or_twin)
{
	for (size_t i = 0; i < out->count; i++) {
		if (same_thing(r, out->items[i]) || (or_twin && are_twins(r, out->items[i])))
			return true;
	}
	return false;
}

static int exclude_one(void *context, const char *name)
{
	struct naming *n = context;
	struct catalog_choice out = {0};

	for (size_t i = 0; is_group(name) && i < n->choice->count; i++) {
		if (strcmp(n->choice->items[i]->group, name + 2) == 0)
			catalog_names_choose(&out, n->choice->items[i]);
	}
	if (!is_group(name) && choose_name(n->catalog, name, &out, NULL))
		return 0;
	for (size_t i = n->choice->count; i-- > 0;) {
		if (has_one_of(&out, n->choice->items[i], !strchr(name, '.')))
			remove_at(n->choice, i);
	}
	catalog_choice_release(&out);
	return 0;
}

void catalog_exclude(const struct catalog *c, const char *names, struct catalog_choice *choice)
{
	struct naming n = {c, choice, NULL};

	(void)each_name(names, exclude_one, &n);
}

struct doubt {
	const struct catalog *catalog;
	void (*each)(const struct err *why);
};

static int doubt_one(void *context, const char *name)
{
	const struct doubt *d = context;
	enum match m;
	struct err why = {0};

	if (is_group(name)) {
		for (size_t i = 0; i < d->catalog->count; i++) {
			if (strcmp(d->catalog->items[i].group, name + 2) == 0)
				return 0;
		}
		(void)err_set(&why, ERR_NOT_FOUND, "server does not have a group '%s'", name + 2);
	} else if (best_match(d->catalog, name, &m)) {
		return 0;
	} else {
		(void)not_there(d->catalog, name, &why);
	}
	d->each(&why);
	return 0;
}

void catalog_unknown(const struct catalog *c, const char *names, void (*each)(const struct err *why))
{
	struct doubt d = {c, each};

	(void)each_name(names, doubt_one, &d);
}

size_t catalog_drop_twins(struct catalog_choice *choice)
{
	size_t dropped = 0;

	for (size_t t = 0; t < TWINS; t++) {
		size_t drop = SIZE_MAX;
		bool kept = false;

		for (size_t i = 0; i < choice->count; i++) {
			const struct catalog_resource *r = choice->items[i];

			if (strcmp(r->resource, twins[t].resource) != 0)
				continue;
			kept |= strcmp(r->group, twins[t].keep) == 0;
			if (strcmp(r->group, twins[t].drop) == 0)
				drop = i;
		}
		if (kept && drop != SIZE_MAX) {
			remove_at(choice, drop);
			dropped++;
		}
	}
	return dropped;
}
