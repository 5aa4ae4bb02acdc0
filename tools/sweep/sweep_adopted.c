/* sweep_adopted.c: see sweep_adopted.h. */
#include "tools/sweep/sweep_adopted.h"

#include "tools/sweep/sweep_made_up.h"

#include <stdlib.h>

/* How many effects have that key. */
static size_t count_key(const struct sweep_answer *a, const char *key)
{
	const struct sweep_effect *first = sweep_effect_find(a->effects, a->effect_count, key);
	size_t n = 0;

	while (first && first + n < a->effects + a->effect_count && strcmp(first[n].key, key) == 0)
		n++;
	return n;
}

/* Of the deletion of that object, if the answer has one; else NULL. */
static char *deletion_in(const struct sweep_answer *a, const char *key)
{
	char *deletion = xasprintf("%s%s", SWEEP_DELETION_OF, key);

	if (sweep_effect_find(a->effects, a->effect_count, deletion))
		return deletion;
	free(deletion);
	return NULL;
}

/* From now on the effects are copies. */
static void copy_all(struct sweep_adopted *to)
{
	struct sweep_effect *copies = xcalloc(to->count, sizeof(*copies));

	for (size_t i = 0; i < to->count; i++) {
		const struct sweep_effect *e = &to->effects[i];

		copies[i] = (struct sweep_effect){.key = xstrdup(e->key),
			.resource = xstrdup(e->resource),
			.content = xstrdup(e->content),
			.tape = e->tape ? xstrdup(e->tape) : NULL,
			.made_seq = e->made_seq};
	}
	to->effects = copies;
	to->owned = true;
}

/* The same object with the key of those with drawn names. It counts as a whole: nothing of it is the tape's alone. */
static void rename_one(struct sweep_effect *e, char *drawn)
{
	e->own_key = e->key;
	e->key = drawn;
	free(e->tape);
	e->tape = NULL;
	sweep_made_up_drop_name(&e->content);
}

/* The key of drawn names that this one may stand for, of which `makes` has more than there are; NULL: none. The caller frees. */
static char *drawn_for(
	const struct sweep_adopted *to, const struct sweep_answer *makes, const struct sweep_effect *e)
{
	char *drawn = sweep_made_up_stem(e->key);
	size_t have = 0;

	for (size_t i = 0; drawn && i < to->count; i++)
		have += strcmp(to->effects[i].key, drawn) == 0;
	if (drawn && have < count_key(makes, drawn))
		return drawn;
	free(drawn);
	return NULL;
}

void sweep_adopted_find(
	const struct sweep_answer *keeps, const struct sweep_answer *makes, struct sweep_adopted *ret)
{
	*ret = (struct sweep_adopted){.effects = keeps->effects, .count = keeps->effect_count};
	for (size_t i = 0; i < ret->count; i++) {
		const char *key = ret->effects[i].key;
		char *drawn, *deletion;

		if (strncmp(key, SWEEP_DELETION_OF, strlen(SWEEP_DELETION_OF)) == 0 || count_key(makes, key))
			continue;
		drawn = drawn_for(ret, makes, &ret->effects[i]);
		if (!drawn)
			continue;
		if (!ret->owned)
			copy_all(ret);
		deletion = deletion_in(makes, ret->effects[i].key);
		if (deletion)
			(void)text_list_keep(&ret->ends, deletion);
		free(deletion);
		rename_one(&ret->effects[i], drawn);
	}
	if (ret->owned)
		sweep_effects_sort(ret->effects, ret->count);
}

void sweep_adopted_release(struct sweep_adopted *a)
{
	if (a->owned)
		sweep_effects_free(a->effects, a->count);
	text_list_release(&a->ends);
	*a = (struct sweep_adopted){0};
}
