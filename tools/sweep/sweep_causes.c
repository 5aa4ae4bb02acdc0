/* sweep_causes.c: findings of one cause: what differs, without whose it is. See sweep_report.h. */
#include "schema/base/count_of.h"
#include "tools/sweep/sweep_oracle.h"
#include "tools/sweep/sweep_report.h"

#include <stdlib.h>

#define KEY_BYTES 2000
#define BROKEN    " is broken"

/* A sentence without its " (without the fault: ...)". Functions of Go have parentheses of their own: main.(*Store).Get. */
static size_t before_remark(const char *text)
{
	const char *remark = strstr(text, " (");

	return remark ? (size_t)(remark - text) : strlen(text);
}

/* What a sentence says, whatever object it is about: "configmaps is missing". Empty of a remark on the one before. */
static char *sort_of(const char *line, size_t len)
{
	static const char *const hows[] = {" is missing", SWEEP_NOT_WRITTEN, SWEEP_OTHER_CONTENT, " is left",
		SWEEP_DELETED, SWEEP_NOT_DELETED};
	char *text = slice_dup((struct slice){line, len}), *space = strchr(text, ' '), *sort = NULL;

	for (size_t i = 0; i < COUNT_OF(hows) && !sort && space; i++) {
		if (strstr(text, hows[i]))
			sort = xasprintf("%.*s%s", (int)(space - text), text, hows[i]);
	}
	if (!sort && *text >= '0' && *text <= '9' && space) {
		char *earlier = strstr(text, "the earlier ");
		size_t most = earlier ? (size_t)(earlier - text) + 12 + strcspn(earlier + 12, " ")
				      : before_remark(text);

		sort = slice_dup((struct slice){space + 1, most - (size_t)(space + 1 - text)});
	}
	if (!sort && strncmp(text, "the probe prints", 16) == 0)
		sort = xstrdup("the probe prints something else");
	if (!sort && strncmp(text, "invariant ", 10) == 0 && strstr(text, BROKEN))
		sort = slice_dup(
			(struct slice){text, (size_t)(strstr(text, BROKEN) - text) + strlen(BROKEN)});
	if (!sort && *text == '(') /* where the one before was seen */
		sort = xstrdup("");
	if (!sort)
		sort = slice_dup((struct slice){text, before_remark(text)});
	free(text);
	return sort;
}

/* The sort of the first of the sentences; *rest is moved behind it. The caller frees. */
static char *next_sort(const char **rest)
{
	size_t len = strcspn(*rest, "\n");
	char *sort = sort_of(*rest, len);

	*rest += len + ((*rest)[len] == '\n');
	return sort;
}

/* Another status is often no more than what the program remembers of its trouble. */
static bool is_of_status(const char *line)
{
	static const char words[] = SWEEP_OTHER_CONTENT ": status";
	const char *at = strstr(line, words);

	return at && at < line + strcspn(line, "\n") && strchr(".[ ", at[sizeof(words) - 1]);
}

/* The same sort, for people. Takes it over. */
static char *tell_status(char *sort, const char *line)
{
	char *content = strstr(sort, SWEEP_OTHER_CONTENT), *told;

	if (!content || !is_of_status(line))
		return sort;
	told = xasprintf("%.*s is left with another status", (int)(content - sort), sort);
	free(sort);
	return told;
}

#define BETWEEN "; "

/* Whether one of the sorts in a key is that. */
static bool has_sort(const char *key, const char *sort)
{
	size_t len = strlen(sort);

	for (const char *at = key; (at = strstr(at, sort)); at++) {
		bool begins =
			at == key || ((size_t)(at - key) >= strlen(BETWEEN) &&
					     strncmp(at - strlen(BETWEEN), BETWEEN, strlen(BETWEEN)) == 0);

		if (begins && (!at[len] || strncmp(at + len, BETWEEN, strlen(BETWEEN)) == 0))
			return true;
	}
	return false;
}

/* The sorts of the sentences, each once, in their order. NULL has none. For people what follows from a panic is no part of
 * the cause: it depends on how far the program had come. */
static char *key_of(const char *differences, bool for_people)
{
	bool panics = for_people && differences && sweep_oracle_is_alarm(differences);
	const char *rest = differences;
	char *key = xstrdup("");

	while (rest && *rest) {
		const char *line = rest;
		char *sort = next_sort(&rest);

		if (for_people)
			sort = tell_status(sort, line);
		if (*sort && !has_sort(key, sort) && strlen(key) < KEY_BYTES &&
			(!panics || sweep_oracle_is_alarm(sort))) {
			char *longer = xasprintf("%s%s%s", key, *key ? BETWEEN : "", sort);

			free(key);
			key = longer;
		}
		free(sort);
	}
	return key;
}

bool sweep_is_cause(const struct sweep_try *t, const char *key)
{
	char *own = key_of(t->differences, true);
	bool is = strcmp(own, key) == 0;

	free(own);
	return is;
}

bool sweep_share_cause(const char *differences, const char *others)
{
	const char *rest = differences;
	char *key = key_of(others, false);
	bool share = false;

	while (*rest && !share) {
		char *sort = next_sort(&rest);

		share = *sort && has_sort(key, sort);
		free(sort);
	}
	free(key);
	return share;
}

bool sweep_knows_cause(const struct sweep_try *tries, size_t count, const char *differences)
{
	for (size_t i = 0; i < count; i++) {
		if (tries[i].verdict == SWEEP_WRONG && sweep_share_cause(tries[i].differences, differences))
			return true;
	}
	return false;
}

/* Conditions are written for people. */
static bool tells_condition(const struct sweep_try *t)
{
	return t->differences && strstr(t->differences, SWEEP_OTHER_CONTENT ": status.conditions[");
}

/* A telling one, an earlier pattern, fewer events, an earlier place. */
static bool is_simpler(const struct sweep_try *a, const struct sweep_try *b)
{
	if (tells_condition(a) != tells_condition(b))
		return tells_condition(a);
	if (a->position->pattern != b->position->pattern)
		return a->position->pattern < b->position->pattern;
	if (a->position->hidden != b->position->hidden)
		return a->position->hidden < b->position->hidden;
	return a->position->seq < b->position->seq;
}

static void count_in(struct sweep_causes *c, const struct sweep_try *t)
{
	char *key = key_of(t->differences, true);
	size_t i = 0;

	while (i < c->count && strcmp(c->items[i].key, key) != 0)
		i++;
	if (i < c->count) {
		free(key);
	} else {
		c->items = xrealloc(c->items, ++c->count * sizeof(*c->items));
		c->items[i] = (struct sweep_cause){.key = key, .example = t};
	}
	c->items[i].places++;
	c->items[i].by_pattern[t->position->pattern]++;
	if (is_simpler(t, c->items[i].example))
		c->items[i].example = t;
}

static int by_places(const void *left, const void *right)
{
	const struct sweep_cause *a = left, *b = right;

	if (a->places != b->places)
		return a->places > b->places ? -1 : 1;
	return strcmp(a->key, b->key);
}

void sweep_causes_find(const struct sweep_report *r, enum sweep_verdict of, struct sweep_causes *ret)
{
	*ret = (struct sweep_causes){0};
	for (size_t i = 0; i < r->count; i++) {
		if (r->tries[i].verdict == of)
			count_in(ret, &r->tries[i]);
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_places);
}

void sweep_causes_release(struct sweep_causes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].key);
	free(c->items);
	*c = (struct sweep_causes){0};
}
