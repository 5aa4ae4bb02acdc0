/* catalog.c: see catalog.h. */
#include "recorder/catalog.h"

#include "schema/base/json_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#define MAX_SIMILAR 64 /* letters of names that are compared for what was meant */

/* ---- reading discovery documents ---- */

static void resource_release(struct catalog_resource *r)
{
	free(r->group);
	free(r->version);
	free(r->resource);
	free(r->kind);
	free(r->singular);
	free_texts(r->short_names);
	free_texts(r->categories);
}

void catalog_release(struct catalog *c)
{
	for (size_t i = 0; i < c->count; i++)
		resource_release(&c->items[i]);
	free(c->items);
	*c = (struct catalog){0};
}

static struct slice unquote(struct slice value)
{
	if (value.len < 2 || value.ptr[0] != '"')
		return (struct slice){0};
	return (struct slice){value.ptr + 1, value.len - 2};
}

/* The text of the string at `path`, empty when it is no string. Names in discovery need no unescaping. */
static struct slice string_at(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 ? unquote(value) : (struct slice){0};
}

static bool true_at(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 && slice_is(value, "true");
}

/* Calls `each` for the items of the array at `path`; an absent array has none. */
static int each_item(struct slice json, const char *path, int (*each)(void *context, struct slice item),
	void *context, struct err *err)
{
	struct slice array, key, item;
	struct json_iter it;
	int rc = json_get(json, path, &array, err);

	if (rc <= 0 || slice_is(array, "null"))
		return rc < 0 ? rc : 0;
	rc = json_iter_begin(array, &it, err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &item, err)) > 0)
		rc = each(context, item);
	return rc;
}

struct strings {
	char **items;
	size_t count;
};

static int add_string(void *context, struct slice item)
{
	struct strings *s = context;

	s->items = xrealloc(s->items, (s->count + 2) * sizeof(*s->items));
	s->items[s->count++] = slice_dup(unquote(item));
	s->items[s->count] = NULL;
	return 0;
}

static char **strings_at(struct slice json, const char *path)
{
	struct strings s = {0};

	/* A broken array leaves what came before it. */
	if (each_item(json, path, add_string, &s, NULL))
		return s.items;
	return s.items;
}

static bool is_watchable(struct slice json)
{
	char **verbs = strings_at(json, "$.verbs");
	unsigned found = 0;

	for (char **v = verbs; v && *v; v++)
		found |= (strcmp(*v, "list") == 0) | (strcmp(*v, "watch") == 0) << 1;
	free_texts(verbs);
	return found == 3;
}

static void add_resource(struct catalog *c, struct catalog_resource r)
{
	c->items = xrealloc(c->items, (c->count + 1) * sizeof(*c->items));
	c->items[c->count++] = r;
}

struct place {
	struct catalog *catalog;
	struct slice group, version;
	struct err *err;
};

static int add_aggregated_resource(void *context, struct slice json)
{
	const struct place *at = context;
	struct slice kind = string_at(json, "$.responseKind.kind");

	if (!kind.len)
		return 0;
	add_resource(at->catalog, (struct catalog_resource){
					  .group = slice_dup(at->group),
					  .version = slice_dup(at->version),
					  .resource = slice_dup(string_at(json, "$.resource")),
					  .kind = slice_dup(kind),
					  .singular = slice_dup(string_at(json, "$.singularResource")),
					  .short_names = strings_at(json, "$.shortNames"),
					  .categories = strings_at(json, "$.categories"),
					  .namespaced = slice_is(string_at(json, "$.scope"), "Namespaced"),
					  .watchable = is_watchable(json),
				  });
	return 0;
}

static int add_aggregated_version(void *context, struct slice json)
{
	struct place *at = context;

	at->version = string_at(json, "$.version");
	return each_item(json, "$.resources", add_aggregated_resource, at, at->err);
}

static int add_aggregated_group(void *context, struct slice json)
{
	struct place *at = context;

	at->group = string_at(json, "$.metadata.name");
	return each_item(json, "$.versions", add_aggregated_version, at, at->err);
}

int catalog_add_aggregated(struct catalog *c, struct slice json, struct err *err)
{
	struct place at = {.catalog = c, .err = err};

	if (!slice_is(string_at(json, "$.kind"), "APIGroupDiscoveryList"))
		return err_set(err, ERR_PROTOCOL, "aggregated discovery is no APIGroupDiscoveryList");
	return each_item(json, "$.items", add_aggregated_group, &at, err);
}

static int add_classic_resource(void *context, struct slice json)
{
	const struct place *at = context;
	struct slice name = string_at(json, "$.name"), kind = string_at(json, "$.kind");

	if (!name.len || !kind.len || memchr(name.ptr, '/', name.len))
		return 0;
	add_resource(at->catalog, (struct catalog_resource){
					  .group = slice_dup(at->group),
					  .version = slice_dup(at->version),
					  .resource = slice_dup(name),
					  .kind = slice_dup(kind),
					  .singular = slice_dup(string_at(json, "$.singularName")),
					  .short_names = strings_at(json, "$.shortNames"),
					  .categories = strings_at(json, "$.categories"),
					  .namespaced = true_at(json, "$.namespaced"),
					  .watchable = is_watchable(json),
				  });
	return 0;
}

int catalog_add_classic(struct catalog *c, struct slice json, struct err *err)
{
	struct place at = {.catalog = c, .err = err};
	struct slice gv = string_at(json, "$.groupVersion");
	const char *slash = gv.len ? memchr(gv.ptr, '/', gv.len) : NULL;

	if (!slice_is(string_at(json, "$.kind"), "APIResourceList") || !gv.len)
		return err_set(err, ERR_PROTOCOL, "discovery document is no APIResourceList");
	at.version = gv;
	if (slash) {
		at.group = (struct slice){gv.ptr, (size_t)(slash - gv.ptr)};
		at.version = (struct slice){slash + 1, gv.len - at.group.len - 1};
	}
	return each_item(json, "$.resources", add_classic_resource, &at, err);
}

struct version_walk {
	int (*each)(void *context, struct slice group_version);
	void *context;
	struct slice preferred;
	struct err *err;
};

static int walk_version(void *context, struct slice json)
{
	struct version_walk *walk = context;
	struct slice gv = string_at(json, "$.groupVersion");

	return !gv.len || slice_equal(gv, walk->preferred) ? 0 : walk->each(walk->context, gv);
}

static int walk_group(void *context, struct slice json)
{
	struct version_walk *walk = context;
	int rc = 0;

	walk->preferred = string_at(json, "$.preferredVersion.groupVersion");
	if (walk->preferred.len)
		rc = walk->each(walk->context, walk->preferred);
	return rc ? rc : each_item(json, "$.versions", walk_version, walk, walk->err);
}

int catalog_group_versions(struct slice json, int (*each)(void *context, struct slice group_version),
	void *context, struct err *err)
{
	struct version_walk walk = {.each = each, .context = context, .err = err};

	if (!slice_is(string_at(json, "$.kind"), "APIGroupList"))
		return err_set(err, ERR_PROTOCOL, "document at '/apis' is no APIGroupList");
	return each_item(json, "$.groups", walk_group, &walk, err);
}

/* ---- names ---- */

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

bool catalog_has(const struct catalog *c, const char *group, const char *resource)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->items[i].group, group) == 0 && strcmp(c->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

static void choose(struct catalog_choice *choice, const struct catalog_resource *r)
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
			choose(choice, &c->items[i]);
	}
}

/* How many letters to change, to leave out or to put in. Names that are too long differ in all. */
static size_t difference(const char *a, size_t a_len, const char *b)
{
	size_t row[MAX_SIMILAR + 1], b_len = strlen(b);

	if (a_len > MAX_SIMILAR || b_len > MAX_SIMILAR)
		return MAX_SIMILAR;
	for (size_t i = 0; i <= b_len; i++)
		row[i] = i;
	for (size_t y = 0; y < a_len; y++) {
		size_t left_above = row[0]++;

		for (size_t x = 0; x < b_len; x++) {
			size_t change = left_above + (a[y] != tolower((unsigned char)b[x]));
			size_t one_more = (row[x] < row[x + 1] ? row[x] : row[x + 1]) + 1;

			left_above = row[x + 1];
			row[x + 1] = change < one_more ? change : one_more;
		}
	}
	return row[b_len];
}

static size_t least_difference(const struct catalog_resource *r, const char *name)
{
	size_t len = strcspn(name, "."), plural = difference(name, len, r->resource);
	size_t kind = difference(name, len, r->kind);

	return plural < kind ? plural : kind;
}

/* Says what was meant, if one of the names is so similar that it may have been. */
static int not_there(const struct catalog *c, const char *name, struct err *err)
{
	size_t least = strcspn(name, ".") < 4 ? 2 : 3;
	const struct catalog_resource *meant = NULL;

	for (size_t i = 0; i < c->count; i++) {
		size_t found = c->items[i].watchable ? least_difference(&c->items[i], name) : MAX_SIMILAR;

		if (found < least) {
			least = found;
			meant = &c->items[i];
		}
	}
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
		choose(choice, r);
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
			choose(choice, &c->items[i]);
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
#define TWINS (sizeof(twins) / sizeof(twins[0]))

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
			choose(&out, n->choice->items[i]);
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
