/* sweep_gathered.c: see sweep_gathered.h. */
#include "tools/sweep/sweep_gathered.h"

#include <ctype.h>
#include <stdlib.h>

#define WORDS_MAX 400 /* longer texts are left alone: every word is looked for among all others */

struct word {
	char *text;
	bool found;
};

struct words {
	struct word *items;
	size_t count;
};

struct sweep_gathered {
	struct words without, with;
	struct words unseen; /* that writes put there which answer to what could not be seen */
	struct words known;  /* that stood there at some time */
};

static bool is_part_of_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr("-_.:/@+", c));
}

/* What stands between quotes, commas, blanks and the like. In the text of JSON "\n" is a blank. */
static void words_add(struct words *to, struct slice text)
{
	size_t at = 0, len;

	while (at < text.len && to->count < WORDS_MAX) {
		if (!is_part_of_word(text.ptr[at])) {
			at += text.ptr[at] == '\\' ? 2 : 1;
			continue;
		}
		for (len = 1; at + len < text.len && is_part_of_word(text.ptr[at + len]);)
			len++;
		to->items = xgrow(to->items, to->count, sizeof(*to->items));
		to->items[to->count++] = (struct word){slice_dup((struct slice){text.ptr + at, len}), false};
		at += len;
	}
}

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i].text);
	free(w->items);
}

/* The first from `at` on that was not found before; the count: there is none. */
static size_t find_word(const struct words *in, size_t at, const char *text)
{
	while (at < in->count && (in->items[at].found || strcmp(in->items[at].text, text) != 0))
		at++;
	return at;
}

/* Marks those of `of` that are in `in` as well, each once. */
static void find_each(struct words *of, struct words *in)
{
	for (size_t i = 0; i < of->count; i++) {
		size_t at = find_word(in, 0, of->items[i].text);

		of->items[i].found = at < in->count;
		if (of->items[i].found)
			in->items[at].found = true;
	}
}

struct sweep_gathered *sweep_gathered_new(struct slice without, struct slice with)
{
	struct sweep_gathered *g = xcalloc(1, sizeof(*g));

	words_add(&g->without, without);
	words_add(&g->with, with);
	return g;
}

void sweep_gathered_free(struct sweep_gathered *g)
{
	words_release(&g->without);
	words_release(&g->with);
	words_release(&g->unseen);
	words_release(&g->known);
	free(g);
}

static bool is_same_at(const struct words *a, size_t at, const struct words *b, size_t from, size_t count)
{
	size_t i = 0;

	while (i < count && strcmp(a->items[at + i].text, b->items[from + i].text) == 0)
		i++;
	return i == count;
}

/* Marks in the new text what it has of the old one: all but the oldest, in front or behind; else what both have. */
static void find_kept(struct words *now, struct words *old)
{
	for (size_t kept = old->count < now->count ? old->count : now->count; kept; kept--) {
		bool in_front = is_same_at(now, 0, old, old->count - kept, kept);
		size_t first = in_front ? 0 : now->count - kept;

		if (!in_front && !is_same_at(now, first, old, 0, kept))
			continue;
		for (size_t i = first; i < first + kept; i++)
			now->items[i].found = true;
		return;
	}
	find_each(now, old);
}

void sweep_gathered_write(struct sweep_gathered *g, struct slice before, struct slice after, bool unseen)
{
	struct words old = {0}, now = {0};

	words_add(&old, before);
	words_add(&now, after);
	words_add(&g->known, after);
	find_kept(&now, &old);
	for (size_t i = 0; i < now.count && unseen; i++) {
		if (!now.items[i].found)
			words_add(&g->unseen, slice_of(now.items[i].text));
	}
	words_release(&old);
	words_release(&now);
}

/* Of all words from `first` to before `end`. */
struct part {
	struct words *of;
	size_t first, end;
};

static void forget_found(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		w->items[i].found = false;
}

/* Marks in `in` what the part has, in its order; whether that is all of it. */
static bool find_in_order(struct words *in, struct part p)
{
	size_t next = 0;

	forget_found(in);
	for (size_t i = p.first; i < p.end; i++) {
		next = find_word(in, next, p.of->items[i].text);
		if (next == in->count)
			return false;
		in->items[next++].found = true;
	}
	return true;
}

/* Whether unseen writes put there whatever is not marked. */
static bool is_rest_unseen(const struct words *of, struct words *unseen)
{
	forget_found(unseen);
	for (size_t i = 0; i < of->count; i++) {
		size_t at = of->items[i].found ? 0 : find_word(unseen, 0, of->items[i].text);

		if (at == unseen->count)
			return false;
		unseen->items[at].found |= !of->items[i].found;
	}
	return true;
}

static bool is_all_known(struct part p, const struct words *known)
{
	size_t i = p.first;

	while (i < p.end && find_word(known, 0, p.of->items[i].text) < known->count)
		i++;
	return i == p.end;
}

/* Whether the text with the fault is some older words, and what is left of the text without it. */
static bool is_rest_of(struct sweep_gathered *g, struct part older, struct part left)
{
	return is_all_known(older, &g->known) && find_in_order(&g->without, left) &&
	       is_rest_unseen(&g->without, &g->unseen);
}

bool sweep_gathered_is_unseen(struct sweep_gathered *g)
{
	size_t end = g->with.count;
	bool is = false;

	if (!g->unseen.count || g->without.count < 2 || g->without.count == WORDS_MAX || end == WORDS_MAX)
		return false;
	for (size_t n = 0; n <= end && !is; n++) /* older ones, in front or behind */
		is = is_rest_of(g, (struct part){&g->with, 0, n}, (struct part){&g->with, n, end}) ||
		     is_rest_of(
			     g, (struct part){&g->with, end - n, end}, (struct part){&g->with, 0, end - n});
	return is;
}
