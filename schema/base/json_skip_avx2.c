/*
 * json_skip_avx2.c: the engine for x86-64 CPUs of 2013 and later, chosen at run time. Vector compares make
 * the masks of json_block.h, and a carry-less multiplication by all ones is the running exclusive or.
 */
#include "schema/base/json_skip.h"

#if defined(__x86_64__)

#include "schema/base/json_block.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi")))

bool json_skip_avx2_works(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
}

AVX2 JSON_INLINE uint64_t equal_bits(__m256i low, __m256i high, char byte)
{
	__m256i wanted = _mm256_set1_epi8(byte);
	uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
	uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));

	return first | (uint64_t)second << 32;
}

AVX2 JSON_INLINE struct json_masks read_block(const char *at)
{
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
	__m256i space = _mm256_set1_epi8(0x20);
	struct json_masks m;

	m.quote = equal_bits(low, high, '"');
	m.backslash = equal_bits(low, high, '\\');
	low = _mm256_or_si256(low, space); /* makes [ and ] into { and }, and no other byte */
	high = _mm256_or_si256(high, space);
	m.open = equal_bits(low, high, '{');
	m.close = equal_bits(low, high, '}');
	return m;
}

AVX2 JSON_INLINE uint64_t prefix_xor(uint64_t bits)
{
	__m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), _mm_set1_epi8(-1), 0);

	return (uint64_t)_mm_cvtsi128_si64(product);
}

/* As json_block_count, but a block in which the container cannot end costs two population counts. */
AVX2 JSON_INLINE int count(uint64_t open, uint64_t close, struct json_state *s)
{
	unsigned opens = (unsigned)__builtin_popcountll(open), closes = (unsigned)__builtin_popcountll(close);

	if (s->depth <= closes || opens > s->max_depth - s->depth)
		return json_block_count(open, close, s);
	s->depth += opens - closes;
	return 0;
}

AVX2 JSON_INLINE int step(const char *at, struct json_state *s)
{
	struct json_masks m = read_block(at);
	uint64_t quote = m.quote & ~json_block_escaped(m.backslash, s);
	uint64_t in_string = prefix_xor(quote) ^ s->in_string;

	s->in_string = (uint64_t)((int64_t)in_string >> 63);
	return count(m.open & ~in_string, m.close & ~in_string, s);
}

AVX2 const char *json_skip_avx2(const char *at, const char *end, unsigned max_depth)
{
	struct json_state s = {.max_depth = max_depth};
	char tail[JSON_BLOCK_BYTES];
	int n;

	for (; end - at >= JSON_BLOCK_BYTES; at += JSON_BLOCK_BYTES) {
		n = step(at, &s);
		if (n)
			return n < 0 ? NULL : at + n;
	}
	memset(tail, ' ', sizeof(tail));
	memcpy(tail, at, (size_t)(end - at));
	n = step(tail, &s);
	return n <= 0 ? NULL : at + n;
}

#else

bool json_skip_avx2_works(void)
{
	return false;
}

const char *json_skip_avx2(const char *at, const char *end, unsigned max_depth)
{
	return json_skip_portable(at, end, max_depth);
}

#endif
