/* bytes_format.h: sizes as people read and write them. */
#ifndef SCHEMA_BASE_BYTES_FORMAT_H
#define SCHEMA_BASE_BYTES_FORMAT_H

#include "schema/base/err.h"

#include <stdint.h>

/* "512 B", "3.4 GB": powers of ten; returns to. */
#define BYTES_TEXT_BYTES 32
const char *bytes_format(char to[BYTES_TEXT_BYTES], uint64_t bytes);

/* "512", "600k", "16Gi", "1.5GB": k, M, G, T and P are powers of two, with or without i and B, in any case.
 * ERR_USAGE for anything else, and beyond 2^63. */
int bytes_parse(const char *text, int64_t *ret, struct err *err) MUST_CHECK;

#endif
