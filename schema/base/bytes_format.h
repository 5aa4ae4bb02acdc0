/* bytes_format.h: sizes as people read them. */
#ifndef SCHEMA_BASE_BYTES_FORMAT_H
#define SCHEMA_BASE_BYTES_FORMAT_H

#include <stdint.h>

/* "512 B", "3.4 GB": powers of ten; returns to. */
#define BYTES_TEXT_BYTES 32
const char *bytes_format(char to[BYTES_TEXT_BYTES], uint64_t bytes);

#endif
