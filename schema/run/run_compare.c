/*
 * run_compare.c: see run_compare.h. First what both runs did is crossed off; what is left of either is
 * brought together by its key (verb and object) and becomes the differences.
 */
#include "schema/run/run_compare.h"

#include "schema/run/compare_body.h"
#include "schema/run/compare_load.h"
#include "schema/run/run_reader.h"

#include <stdlib.h>

#define TABLE_MAX (64u << 20) /* cells of the table in which two sequences are compared */

struct run_comparison {
	struct run_side sides[2];
	struct run_reader *readers[2]; /* sides borrow from them */
	char *paths[2];
	struct action_list actions[2];
	bool *matched[2]; /* crossed off */
	struct run_difference *items;
	size_t count, cap;
	struct run_match *matches;
	size_t match_count, match_cap;
};

static void run_compare_add(struct run_comparison *c, enum difference_kind kind,
	const struct run_action *first, const struct run_action *second)
{
	if (c->count == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 16;
		c->items = xrealloc(c->items, c->cap * sizeof(*c->items));
	}
	c->items[c->count++] = (struct run_difference){kind, first, second};
}

static void run_compare_match(
	struct run_comparison *c, const struct run_action *first, const struct run_action *second)
{
	if (c->match_count == c->match_cap) {
		c->match_cap = c->match_cap ? 2 * c->match_cap : 16;
		c->matches = xrealloc(c->matches, c->match_cap * sizeof(*c->matches));
	}
	c->matches[c->match_count++] = (struct run_match){first, second};
}

static bool is_same(const struct run_action *a, const struct run_action *b)
{
	return a->hash == b->hash && strcmp(a->key, b->key) == 0 && strcmp(a->body, b->body) == 0;
}

/* What is left of either run between these bounds: of one key, the first of one beside the first of the
 * other. */
static void pair(struct run_comparison *c, const size_t begin[2], const size_t end[2])
{
	for (size_t i = begin[0]; i < end[0]; i++) {
		const struct run_action *a = &c->actions[0].items[i];
		size_t k = begin[1];

		if (c->matched[0][i])
			continue;
		while (k < end[1] && (c->matched[1][k] || strcmp(a->key, c->actions[1].items[k].key) != 0))
			k++;
		if (k < end[1])
			c->matched[1][k] = true;
		run_compare_add(c, k < end[1] ? OTHER_BODY : ONLY_IN_FIRST, a,
			k < end[1] ? &c->actions[1].items[k] : NULL);
	}
	for (size_t k = begin[1]; k < end[1]; k++) {
		if (!c->matched[1][k])
			run_compare_add(c, ONLY_IN_SECOND, NULL, &c->actions[1].items[k]);
	}
}

/* ---- as sets ---- */

static int by_content(const void *left, const void *right)
{
	const struct run_action *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	if (order == 0)
		order = strcmp(a->body, b->body);
	return order ? order : (a->write > b->write) - (a->write < b->write);
}

static int by_key(const void *left, const void *right)
{
	const struct run_action *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->write > b->write) - (a->write < b->write);
}

/* Every action once, with how often it was repeated; in the order of keys, and of one key in that of time. */
static void make_set(struct action_list *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_content);
	for (size_t i = 0; i < list->count; i++) {
		if (kept && is_same(&list->items[kept - 1], &list->items[i])) {
			list->items[kept - 1].times++;
			run_action_release(&list->items[i]);
		} else {
			list->items[kept++] = list->items[i];
		}
	}
	list->count = kept;
	qsort(list->items, kept, sizeof(*list->items), by_key);
}

/* Where the actions of that key begin, or would; and where they end. */
static void range_of(const struct action_list *list, const char *key, size_t *ret_begin, size_t *ret_end)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(list->items[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_begin = low;
	while (low < list->count && strcmp(list->items[low].key, key) == 0)
		low++;
	*ret_end = low;
}

/* Crosses off, among the actions of one key. */
static void match_key(struct run_comparison *c, const size_t begin[2], const size_t end[2])
{
	for (size_t i = begin[0]; i < end[0]; i++) {
		const struct run_action *a = &c->actions[0].items[i];
		size_t k = begin[1];

		while (k < end[1] && (c->matched[1][k] || !is_same(a, &c->actions[1].items[k])))
			k++;
		if (k == end[1])
			continue;
		c->matched[0][i] = c->matched[1][k] = true;
		if (a->counts && a->times != c->actions[1].items[k].times)
			run_compare_add(c, OTHER_TIMES, a, &c->actions[1].items[k]);
		else
			run_compare_match(c, a, &c->actions[1].items[k]);
	}
}

static void compare_sets(struct run_comparison *c)
{
	size_t at[2] = {0, 0}, end[2];

	while (at[0] < c->actions[0].count || at[1] < c->actions[1].count) {
		const char *a = at[0] < c->actions[0].count ? c->actions[0].items[at[0]].key : NULL;
		const char *b = at[1] < c->actions[1].count ? c->actions[1].items[at[1]].key : NULL;
		const char *key = !b || (a && strcmp(a, b) <= 0) ? a : b;

		for (int side = 0; side < 2; side++)
			range_of(&c->actions[side], key, &at[side], &end[side]);
		match_key(c, at, end);
		pair(c, at, end);
		memcpy(at, end, sizeof(at));
	}
}

/* ---- the last of each object ---- */

static bool is_of_one_object(const struct run_action *a, const struct run_action *b)
{
	return strcmp(a->apigroup, b->apigroup) == 0 && strcmp(a->resource, b->resource) == 0 &&
	       strcmp(a->namespace, b->namespace) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->subresource, b->subresource) == 0;
}

static int by_object(const void *left, const void *right)
{
	const struct run_action *a = left, *b = right;
	int order = strcmp(a->apigroup, b->apigroup);

	order = order ? order : strcmp(a->resource, b->resource);
	order = order ? order : strcmp(a->namespace, b->namespace);
	order = order ? order : strcmp(a->name, b->name);
	order = order ? order : strcmp(a->subresource, b->subresource);
	return order ? order : (a->write > b->write) - (a->write < b->write);
}

/* Objects with generated names bear one name here, so that all that was done to them stays. */
static bool is_superseded(const struct action_list *list, size_t i)
{
	const struct run_action *a = &list->items[i];

	return i + 1 < list->count && is_of_one_object(a, a + 1) && !strchr(a->name, '*');
}

static void keep_last(struct action_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_object);
	for (size_t i = 0; i < list->count; i++) {
		if (is_superseded(list, i))
			run_action_release(&list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

/* ---- as sequences ---- */

/* The longest common subsequence of what lies between the common head and tail: in cell (i, k) the length
 * from there on decides the way, of which only the direction is kept. */
struct table {
	char *way; /* = both, - the first's, + the second's */
	size_t rows, columns;
};

static int fill_table(const struct run_comparison *c, size_t head, struct table *t, struct err *err)
{
	uint32_t *row, *below;

	if (t->rows && t->columns > TABLE_MAX / t->rows)
		return err_set(err, ERR_TOO_LARGE,
			"too much to compare in order: %zu writes and %zu between the first and the last difference",
			t->rows, t->columns);
	t->way = xmalloc(t->rows * t->columns + 1);
	row = xcalloc(t->columns + 1, sizeof(*row));
	below = xcalloc(t->columns + 1, sizeof(*below));
	for (size_t i = t->rows; i-- > 0;) {
		uint32_t *swap = below;

		below = row;
		row = swap;
		row[t->columns] = 0;
		for (size_t k = t->columns; k-- > 0;) {
			char *way = &t->way[i * t->columns + k];

			if (is_same(&c->actions[0].items[head + i], &c->actions[1].items[head + k])) {
				row[k] = below[k + 1] + 1;
				*way = '=';
			} else {
				*way = below[k] >= row[k + 1] ? '-' : '+';
				row[k] = *way == '-' ? below[k] : row[k + 1];
			}
		}
	}
	free(row);
	free(below);
	return 0;
}

/* Walks the table; every stretch between common actions is paired by itself. */
static void follow(struct run_comparison *c, size_t head, const struct table *t)
{
	size_t i = 0, k = 0, begin[2] = {head, head};

	while (i < t->rows && k < t->columns) {
		char way = t->way[i * t->columns + k];

		if (way == '=') {
			pair(c, begin, (const size_t[2]){head + i, head + k});
			run_compare_match(c, &c->actions[0].items[head + i], &c->actions[1].items[head + k]);
			begin[0] = head + i + 1;
			begin[1] = head + k + 1;
		}
		i += way != '+';
		k += way != '-';
	}
	pair(c, begin, (const size_t[2]){head + t->rows, head + t->columns});
}

static int compare_sequences(struct run_comparison *c, struct err *err)
{
	const struct action_list *a = &c->actions[0], *b = &c->actions[1];
	size_t shorter = a->count < b->count ? a->count : b->count, head = 0, tail = 0;
	struct table t = {0};
	int rc;

	for (; head < shorter && is_same(&a->items[head], &b->items[head]); head++)
		run_compare_match(c, &a->items[head], &b->items[head]);
	while (tail < shorter - head &&
		is_same(&a->items[a->count - 1 - tail], &b->items[b->count - 1 - tail])) {
		tail++;
		run_compare_match(c, &a->items[a->count - tail], &b->items[b->count - tail]);
	}
	t.rows = a->count - head - tail;
	t.columns = b->count - head - tail;
	rc = fill_table(c, head, &t, err);
	if (rc == 0)
		follow(c, head, &t);
	free(t.way);
	return rc;
}

/* ---- the whole ---- */

static uint64_t number_fact(const struct run_reader *r, const char *name)
{
	const char *text = run_reader_fact(r, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static void describe(struct run_comparison *c, int side)
{
	const struct run_reader *r = c->readers[side];
	const char *tape = run_reader_fact(r, "tape"), *source = run_reader_fact(r, "source");

	c->sides[side].is_live = source && strcmp(source, "tee") == 0;
	c->sides[side].path = c->paths[side];
	c->sides[side].tape = tape ? tape : "";
	c->sides[side].first_seq = number_fact(r, "first_seq");
	c->sides[side].last_seq = number_fact(r, "last_seq");
	c->sides[side].ended_seq = number_fact(r, "ended_seq");
	c->sides[side].ended = run_reader_fact(r, c->sides[side].is_live ? "end_ns" : "exit_code") != NULL;
}

static int run_compare_load(struct run_comparison *c, const struct compare_options *options, struct err *err)
{
	struct compare_load l = {options, word_table_new()};
	int rc = 0;

	for (int side = 0; side < 2 && rc == 0; side++)
		rc = compare_load_status(&l, c->readers[side], err);
	for (int side = 0; side < 2 && rc == 0; side++) {
		rc = compare_load_actions(
			&l, c->readers[side], &c->actions[side], &c->sides[side].writes, err);
		c->sides[side].compared = c->actions[side].count;
	}
	word_table_free(l.with_status);
	return rc;
}

static int compare(struct run_comparison *c, enum compare_order order, struct err *err)
{
	for (int side = 0; side < 2; side++) {
		if (order == COMPARE_LAST)
			keep_last(&c->actions[side]);
		if (order != COMPARE_ORDERED)
			make_set(&c->actions[side]);
		c->matched[side] = xcalloc(c->actions[side].count + 1, sizeof(bool));
	}
	if (order == COMPARE_ORDERED)
		return compare_sequences(c, err);
	compare_sets(c);
	return 0;
}

int run_compare(const char *first, const char *second, const struct compare_options *options,
	struct run_comparison **ret, struct err *err)
{
	struct run_comparison *c = xcalloc(1, sizeof(*c));
	int rc = 0;

	c->paths[0] = xstrdup(first);
	c->paths[1] = xstrdup(second);
	for (int side = 0; side < 2 && rc == 0; side++) {
		rc = run_reader_open(c->paths[side], &c->readers[side], err);
		if (rc == 0)
			describe(c, side);
	}
	if (rc == 0)
		rc = run_compare_load(c, options, err);
	if (rc == 0)
		rc = compare(c, options->order, err);
	if (rc)
		run_comparison_free(c);
	else
		*ret = c;
	return rc;
}

void run_comparison_free(struct run_comparison *c)
{
	if (!c)
		return;
	for (int side = 0; side < 2; side++) {
		action_list_release(&c->actions[side]);
		run_reader_close(c->readers[side]);
		free(c->matched[side]);
		free(c->paths[side]);
	}
	free(c->items);
	free(c->matches);
	free(c);
}

size_t run_comparison_count(const struct run_comparison *c)
{
	return c->count;
}

struct run_difference run_comparison_at(const struct run_comparison *c, size_t index)
{
	return c->items[index];
}

size_t run_comparison_match_count(const struct run_comparison *c)
{
	return c->match_count;
}

struct run_match run_comparison_match_at(const struct run_comparison *c, size_t index)
{
	return c->matches[index];
}

const struct run_side *run_comparison_side(const struct run_comparison *c, int side)
{
	return &c->sides[side];
}
