/* similar.c: see similar.h. */
#include "schema/base/similar.h"

#include <ctype.h>
#include <stdlib.h>

#define LETTERS_MAX 64 /* words that are longer differ in all */

static char letter(struct slice s, size_t i)
{
	return (char)tolower((unsigned char)s.ptr[i]);
}

static bool are_swapped(struct slice a, struct slice b, size_t y, size_t x)
{
	return y && x && letter(a, y) == letter(b, x - 1) && letter(a, y - 1) == letter(b, x);
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The table of how many steps lead from the beginning of one word to the beginning of the other, of which the
 * last three rows are enough. */
static size_t difference(struct slice a, struct slice b)
{
	size_t rows[3][LETTERS_MAX + 1];

	if (a.len > LETTERS_MAX || b.len > LETTERS_MAX)
		return LETTERS_MAX;
	for (size_t x = 0; x <= b.len; x++)
		rows[0][x] = x;
	for (size_t y = 0; y < a.len; y++) {
		const size_t *above = rows[y % 3], *before = rows[(y + 2) % 3];
		size_t *row = rows[(y + 1) % 3];

		row[0] = y + 1;
		for (size_t x = 0; x < b.len; x++) {
			size_t change = above[x] + (letter(a, y) != letter(b, x));

			row[x + 1] = least_of(change, least_of(row[x], above[x + 1]) + 1);
			if (are_swapped(a, b, y, x))
				row[x + 1] = least_of(row[x + 1], before[x - 1] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

/* Of a short word one letter may be wrong, of others two. */
struct similar similar_to(struct slice word)
{
	return (struct similar){.word = word, .least = word.len < 4 ? 2 : 3};
}

bool similar_offer(struct similar *s, const char *candidate, const void *choice)
{
	size_t found = difference(s->word, slice_of(candidate));

	if (found >= s->least || found >= s->word.len)
		return false;
	s->least = found;
	s->meant = candidate;
	s->choice = choice;
	return true;
}

char *similar_in(struct slice word, const char *candidates)
{
	struct similar s = similar_to(word);
	char *best = NULL;

	while (*candidates) {
		size_t len = strcspn(candidates, " ,");
		char *one = slice_dup((struct slice){candidates, len});

		if (similar_offer(&s, one, NULL)) {
			free(best);
			best = one;
		} else {
			free(one);
		}
		candidates += len + (candidates[len] != 0);
	}
	return best;
}
