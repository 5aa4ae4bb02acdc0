/* sweep_made_up.c: see sweep_made_up.h. */
#include "tools/sweep/sweep_made_up.h"

#include "replayer/json/json_tree.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define ENDING_MIN 5
#define ALPHABET   "abcdefghijklmnopqrstuvwxyz0123456789"

/* The length of what stands before the ending; 0: there is none, or it is no such name. */
static size_t stem_len(const char *key)
{
	const char *hyphen = strrchr(key, '-');
	size_t len = hyphen ? strlen(hyphen + 1) : 0;

	return len >= ENDING_MIN && strspn(hyphen + 1, ALPHABET) == len ? (size_t)(hyphen + 1 - key) : 0;
}

/* What names an object in the key of a count; NULL: it names none. */
static const char *name_in_count(const char *key)
{
	return sweep_is_earlier(key) ? key + strlen(SWEEP_EARLIER) : NULL;
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

static void add(struct stems *to, const char *key, int by)
{
	size_t len = stem_len(key), i = 0;

	if (!len) {
		to->others = true;
		return;
	}
	while (i < to->count &&
		(strlen(to->items[i].text) != len || strncmp(to->items[i].text, key, len) != 0))
		i++;
	if (i == to->count) {
		to->items = xrealloc(to->items, (i + 1) * sizeof(*to->items));
		to->items[to->count++] = (struct stem){.text = slice_dup((struct slice){key, len})};
	}
	to->items[i].balance += by;
}

static bool has_effect(const struct sweep_answer *a, const char *key)
{
	for (size_t i = 0; i < a->effect_count; i++) {
		if (strcmp(a->effects[i].key, key) == 0)
			return true;
	}
	return false;
}

static bool has_count(const struct sweep_answer *a, const char *key)
{
	for (size_t i = 0; i < a->count_count; i++) {
		if (strcmp(a->counts[i].key, key) == 0)
			return true;
	}
	return false;
}

/* Of those that only `a` has. */
static void collect(struct stems *to, const struct sweep_answer *a, const struct sweep_answer *than, int by)
{
	for (size_t i = 0; i < a->effect_count; i++) {
		if (!has_effect(than, a->effects[i].key))
			add(to, a->effects[i].key, by);
	}
	for (size_t i = 0; i < a->count_count; i++) {
		const char *name = name_in_count(a->counts[i].key);

		if (name && !has_count(than, a->counts[i].key))
			add(to, name, by);
	}
}

bool sweep_made_up_learn(
	struct text_list *stems, const struct sweep_answer *one, const struct sweep_answer *other)
{
	struct stems found = {0};
	bool are_alike, grows = false;

	collect(&found, one, other, 1);
	collect(&found, other, one, -1);
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
		if (strlen(stems->items[i]) == len && strncmp(stems->items[i], key, len) == 0)
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

/* Counts of what has one name now are one. */
static void merge_counts(struct sweep_answer *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->count_count; i++) {
		struct sweep_effect *last = kept ? &a->counts[kept - 1] : NULL, *c = &a->counts[i];
		char *sum;

		if (!last || strcmp(last->key, c->key) != 0) {
			a->counts[kept++] = *c;
			continue;
		}
		sum = xasprintf("%lld", atoll(last->content) + atoll(c->content));
		free(last->content);
		last->content = sum;
		free(c->key);
		free(c->resource);
		free(c->content);
	}
	a->count_count = kept;
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
	for (size_t i = 0; i < a->count_count; i++) {
		const char *name = name_in_count(a->counts[i].key);

		if (name && is_made_up(stems, name)) {
			put_star(&a->counts[i].key);
			renamed = true;
		}
	}
	if (!renamed)
		return;
	sweep_answer_sort(a);
	merge_counts(a);
}
