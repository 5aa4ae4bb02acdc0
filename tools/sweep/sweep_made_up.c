/* sweep_made_up.c: see sweep_made_up.h. */
#include "tools/sweep/sweep_made_up.h"

#include "replayer/json/json_tree.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define ENDING_MIN 5
#define ALPHABET   "abcdefghijklmnopqrstuvwxyz0123456789"

/* The length of the part before the random ending; 0: the key does not end like that. */
static size_t stem_len(const char *key)
{
	const char *hyphen = strrchr(key, '-');
	size_t len = hyphen ? strlen(hyphen + 1) : 0;

	return len >= ENDING_MIN && strspn(hyphen + 1, ALPHABET) == len ? (size_t)(hyphen + 1 - key) : 0;
}

static bool is_stem(const char *stem, const char *key, size_t len)
{
	return strlen(stem) == len && strncmp(stem, key, len) == 0;
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
};

static void stems_add(struct stems *to, const char *key, int by)
{
	size_t len = stem_len(key), i = 0;

	if (!len) {
		to->others = true;
		return;
	}
	while (i < to->count && !is_stem(to->items[i].text, key, len))
		i++;
	if (i == to->count) {
		to->items = xrealloc(to->items, (i + 1) * sizeof(*to->items));
		to->items[to->count++] = (struct stem){.text = slice_dup((struct slice){key, len})};
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

bool sweep_made_up_learn(
	struct text_list *stems, const struct sweep_answer *one, const struct sweep_answer *other)
{
	struct stems found = {0};
	bool are_alike, grows = false;

	stems_collect(&found, one, other, 1);
	stems_collect(&found, other, one, -1);
	are_alike = !found.others;
	for (size_t i = 0; i < found.count; i++)
		are_alike &= found.items[i].balance == 0;
	for (size_t i = 0; i < found.count; i++) {
		grows |= are_alike && text_list_keep(stems, found.items[i].text);
		free(found.items[i].text);
	}
	free(found.items);
	return grows;
}

/* ---- applying ---- */

static bool is_made_up(const struct text_list *stems, const char *key)
{
	size_t len = stem_len(key);

	for (size_t i = 0; len && i < stems->count; i++) {
		if (is_stem(stems->items[i], key, len))
			return true;
	}
	return false;
}

static void put_star(char **key)
{
	char *starred = xasprintf("%.*s*", (int)(strrchr(*key, '-') + 1 - *key), *key);

	free(*key);
	*key = starred;
}

static void drop_name(char **content)
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

		if (!is_made_up(stems, e->key))
			continue;
		put_star(&e->key);
		drop_name(&e->content);
		drop_name(&e->tape);
		renamed = true;
	}
	for (size_t i = 0; i < a->counts.count; i++) {
		const char *name = name_in_count(a->counts.items[i].key);

		if (name && is_made_up(stems, name)) {
			put_star(&a->counts.items[i].key);
			renamed = true;
		}
	}
	if (!renamed)
		return;
	sweep_answer_sort(a);
	sweep_counts_merge(&a->counts);
}
