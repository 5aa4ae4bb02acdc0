/*
 * varint.h: unsigned integers of 1 to 10 bytes, seven bits a byte, low bits first, the high bit set on all
 * bytes but the last (LEB128), and the zigzag form of signed ones. Every varint of the tape is written and
 * read here.
 */
#ifndef SCHEMA_BASE_VARINT_H
#define SCHEMA_BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX_BYTES 10

static inline size_t varint_put(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		to[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	to[n++] = (uint8_t)value;
	return n;
}

/* A place to read from. After the first failure every later read fails too, so
 * that callers may check once. */
struct varint_reader {
	const uint8_t *at, *end;
	bool failed;
};

static inline uint64_t varint_get(struct varint_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->failed = true;
	r->at = r->end;
	return 0;
}

static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Sums and differences modulo 2^64: columns of a damaged tape may say anything. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
