/* lost_bits.c: see lost_bits.h. */
#include "schema/tape/lost_bits.h"

#include "schema/base/buf.h"

#include <stdlib.h>

#define WORD_BITS 64

struct lost_bits {
	size_t events, words;
	uint64_t *bits;
	uint32_t *before; /* of each word: bits set in the words before; NULL until they are counted */
};

struct lost_bits *lost_bits_new(size_t events)
{
	struct lost_bits *b = xcalloc(1, sizeof(*b));

	b->events = events;
	b->words = events / WORD_BITS + 1;
	b->bits = xcalloc(b->words, sizeof(*b->bits));
	return b;
}

void lost_bits_free(struct lost_bits *b)
{
	if (!b)
		return;
	free(b->bits);
	free(b->before);
	free(b);
}

void lost_bits_set(struct lost_bits *b, size_t event)
{
	b->bits[event / WORD_BITS] |= UINT64_C(1) << event % WORD_BITS;
}

void lost_bits_count(struct lost_bits *b)
{
	uint32_t sum = 0;

	free(b->before);
	b->before = xcalloc(b->words, sizeof(*b->before));
	for (size_t i = 0; i < b->words; i++) {
		b->before[i] = sum;
		sum += (uint32_t)__builtin_popcountll(b->bits[i]);
	}
}

bool lost_bits_has(const struct lost_bits *b, size_t event)
{
	return b && b->bits[event / WORD_BITS] >> event % WORD_BITS & 1;
}

size_t lost_bits_before(const struct lost_bits *b, size_t event)
{
	uint64_t below = (UINT64_C(1) << event % WORD_BITS) - 1;

	if (!b)
		return 0;
	return b->before[event / WORD_BITS] +
	       (size_t)__builtin_popcountll(b->bits[event / WORD_BITS] & below);
}

/* The first bit at or after `event` that is set in the words, each xor `flip`. */
static size_t next_bit(const struct lost_bits *b, size_t event, uint64_t flip)
{
	size_t word = event / WORD_BITS;
	uint64_t bits = (b->bits[word] ^ flip) >> event % WORD_BITS << event % WORD_BITS;

	while (!bits && ++word < b->words)
		bits = b->bits[word] ^ flip;
	return bits ? word * WORD_BITS + (size_t)__builtin_ctzll(bits) : b->events;
}

size_t lost_bits_next(const struct lost_bits *b, size_t event, size_t events)
{
	return b && event < events ? next_bit(b, event, 0) : events;
}

size_t lost_bits_next_kept(const struct lost_bits *b, size_t event, size_t events)
{
	size_t next = b && event < events ? next_bit(b, event, UINT64_MAX) : event;

	return next < events ? next : events;
}
