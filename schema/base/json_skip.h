/*
 * json_skip.h: the engines behind json_scan.h: json_skip_*.c, of which json_walk.c chooses one. Nobody else includes it.
 * An engine finds where an object or an array ends. Engines differ in speed only: the same bytes give the same answer.
 */
#ifndef SCHEMA_BASE_JSON_SKIP_H
#define SCHEMA_BASE_JSON_SKIP_H

#include <stdbool.h>

/* `at` points at '{' or '['. Returns the byte after the bracket that closes it, or NULL if the input ends
 * before, or brackets nest deeper than max_depth (>= 1) with the first one counted. */
typedef const char *json_skip_fn(const char *at, const char *end, unsigned max_depth);

/* 64 bytes at a time in plain C. */
json_skip_fn json_skip_portable;

/* The same with AVX2 and PCLMULQDQ; to be called only where json_skip_avx2_works. */
json_skip_fn json_skip_avx2;
bool json_skip_avx2_works(void);

#endif
