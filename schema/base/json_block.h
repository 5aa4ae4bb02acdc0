/*
 * json_block.h: code that the engines share: 64 bytes of JSON as bit masks (bit i is byte i), and how to tell
 * real quotes and brackets from bytes that only look like them.
 *
 * Three steps for each block: a quote after an odd run of backslashes does not count; the exclusive or of all
 * quote bits up to each position shows which bytes are in a string; brackets in strings do not count. State
 * goes from block to block: whether the next byte is escaped, whether we are in a string, and the depth.
 */
#ifndef SCHEMA_BASE_JSON_BLOCK_H
#define SCHEMA_BASE_JSON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define JSON_BLOCK_BYTES 64
#define JSON_INLINE      static inline __attribute__((always_inline))

struct json_masks {
	uint64_t quote, backslash, open, close;
};

struct json_state {
	uint64_t escaped;   /* 1 if the first byte of the next block is escaped */
	uint64_t in_string; /* all ones when the next block starts inside a string */
	unsigned depth, max_depth;
};

/* The bytes that a backslash escapes. In a run of backslashes the second, fourth, ... are escaped, and so is
 * the byte after a run of odd length: that is, in each run and one byte beyond, every byte at odd distance
 * from the run's start. Adding the starts at even positions makes a carry ripple through just those runs,
 * which tells runs that start even from runs that start odd. */
JSON_INLINE uint64_t json_block_escaped(uint64_t backslash, struct json_state *s)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	uint64_t first = s->escaped, starts, even_runs, odd_runs;

	if (__builtin_expect(backslash == 0, 1)) {
		s->escaped = 0;
		return first;
	}
	backslash &= ~first;
	starts = backslash & ~(backslash << 1);
	even_runs = backslash & ~(backslash + (starts & even));
	odd_runs = backslash & ~even_runs;
	s->escaped = odd_runs >> 63;
	return first | (even_runs << 1 & ~even) | (odd_runs << 1 & even);
}

/* Bit i of the result is the exclusive or of bits 0 to i. */
JSON_INLINE uint64_t json_prefix_xor(uint64_t bits)
{
	for (unsigned shift = 1; shift < 64; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

/* Counts brackets one by one. Returns the length up to the one that closes the container, 0 if it continues
 * in the next block, -1 if it is nested too deeply. */
JSON_INLINE int json_block_count(uint64_t open, uint64_t close, struct json_state *s)
{
	for (uint64_t both = open | close; both; both &= both - 1) {
		if (open & both & -both) {
			if (s->depth == s->max_depth)
				return -1;
			s->depth++;
		} else if (--s->depth == 0) {
			return __builtin_ctzll(both) + 1;
		}
	}
	return 0;
}

#endif
