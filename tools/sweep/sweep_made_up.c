/* sweep_made_up.c: see sweep_made_up.h. */
#include "tools/sweep/sweep_made_up.h"

#include "replayer/json/json_tree.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define ENDING_MIN 5
#define ALPHABET   "abcdefghijklmnopqrstuvwxyz0123456789"
#define LEVELS     2 /* a name may be made of another's: "web-x7k2p-9d4fz" */

/* The length of the part before the random ending; 0: the key does not end like that. */
static size_t stem_len(const char *key)
{
	const char *hyphen = strrchr(key, '-');
	size_t len = hyphen ? strlen(hyphen + 1) : 0;

	return len >= ENDING_MIN && strspn(hyphen + 1, ALPHABET) == len ? (size_t)(hyphen + 1 - key) : 0;
}

/* The key with "*" in the place of its random endings, of which there are that many or fewer: "pods shop/web-*-*". NULL: it
 * has none. The caller frees. */
static char *stem_of(const char *key, int levels)
{
	size_t len = stem_len(key), inner = 0;
	char *rest;

	if (!len)
		return NULL;
	rest = slice_dup((struct slice){key, len - 1});
	if (levels > 1)
		inner = stem_len(rest);
	free(rest);
	return inner ? xasprintf("%.*s*-*", (int)inner, key) : xasprintf("%.*s*", (int)len, key);
}

char *sweep_made_up_stem(const char *key)
{
	return stem_of(key, 1);
}

/* What names an object in the key of a count; NULL: it names none. */
static const char *name_in_count(const char *key)
{
	return sweep_count_is_earlier(key) ? key + strlen(SWEEP_EARLIER) : NULL;
}

/* ---- learning ---- */

/* Names of one stem that only the first run has, less those that only the second has. */
struct stem {
	char *text;
	int balance;
};

struct stems {
	struct stem *items;
	size_t count;
	bool others; /* there are keys without a stem */
	int levels;
};

static void stems_add(struct stems *to, const char *key, int by)
{
	char *stem = stem_of(key, to->levels);
	size_t i = 0;

	if (!stem) {
		to->others = true;
		return;
	}
	while (i < to->count && strcmp(to->items[i].text, stem) != 0)
		i++;
	if (i < to->count) {
		free(stem);
	} else {
		to->items = xrealloc(to->items, (i + 1) * sizeof(*to->items));
		to->items[to->count++] = (struct stem){.text = stem};
	}
	to->items[i].balance += by;
}

/* Adds the keys that only `a` has. */
static void stems_collect(
	struct stems *to, const struct sweep_answer *a, const struct sweep_answer *than, int by)
{
	for (size_t i = 0; i < a->effect_count; i++) {
		if (!sweep_effect_find(than->effects, than->effect_count, a->effects[i].key))
			stems_add(to, a->effects[i].key, by);
	}
	for (size_t i = 0; i < a->counts.count; i++) {
		const char *name = name_in_count(a->counts.items[i].key);

		if (name && !sweep_counts_find(&than->counts, a->counts.items[i].key))
			stems_add(to, name, by);
	}
}

/* Whether both runs are alike but for the endings of that many levels; then adds what is new. */
static bool learn_levels(struct text_list *stems, const struct sweep_answer *one,
	const struct sweep_answer *other, int levels, bool *ret_grows)
{
	struct stems found = {.levels = levels};
	bool are_alike;

	stems_collect(&found, one, other, 1);
	stems_collect(&found, other, one, -1);
	are_alike = !found.others;
	for (size_t i = 0; i < found.count; i++)
		are_alike &= found.items[i].balance == 0;
	for (size_t i = 0; i < found.count; i++) {
		*ret_grows |= are_alike && text_list_keep(stems, found.items[i].text);
		free(found.items[i].text);
	}
	free(found.items);
	return are_alike;
}

bool sweep_made_up_learn(
	struct text_list *stems, const struct sweep_answer *one, const struct sweep_answer *other)
{
	bool grows = false;

	for (int levels = 1; levels <= LEVELS && !learn_levels(stems, one, other, levels, &grows);)
		levels++;
	return grows;
}

/* ---- applying ---- */

/* Gives the key its stem, if that is known. */
static bool shorten(const struct text_list *stems, char **key, const char *name)
{
	for (int levels = 1; levels <= LEVELS; levels++) {
		char *stem = stem_of(name, levels), *whole;

		if (!stem || !text_list_has(stems, stem)) {
			free(stem);
			continue;
		}
		whole = xasprintf("%.*s%s", (int)(name - *key), *key, stem);
		free(stem);
		free(*key);
		*key = whole;
		return true;
	}
	return false;
}

void sweep_made_up_drop_name(char **content)
{
	cJSON *tree;
	struct buf out;

	if (!*content || json_tree_parse(slice_of(*content), &tree, NULL))
		return;
	buf_init(&out, LIMIT_DOCUMENT_BYTES);
	cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "metadata"), "name");
	if (json_tree_print(tree, &out, NULL) == 0) {
		free(*content);
		*content = slice_dup(buf_slice(&out));
	}
	buf_release(&out);
	cJSON_Delete(tree);
}

void sweep_made_up_apply(const struct text_list *stems, struct sweep_answer *a)
{
	bool renamed = false;

	for (size_t i = 0; i < a->effect_count; i++) {
		struct sweep_effect *e = &a->effects[i];

		if (!shorten(stems, &e->key, e->key))
			continue;
		sweep_made_up_drop_name(&e->content);
		sweep_made_up_drop_name(&e->tape);
		renamed = true;
	}
	for (size_t i = 0; i < a->counts.count; i++) {
		const char *name = name_in_count(a->counts.items[i].key);

		if (name)
			renamed |= shorten(stems, &a->counts.items[i].key, name);
	}
	if (!renamed)
		return;
	sweep_answer_sort(a);
	sweep_counts_merge(&a->counts);
}
