/*
 * lost_bits.h: which of an extent's events are lost, one bit each, and how many of those before one.
 */
#ifndef SCHEMA_TAPE_LOST_BITS_H
#define SCHEMA_TAPE_LOST_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lost_bits;

/* None of them is lost to begin with. */
struct lost_bits *lost_bits_new(size_t events);
void lost_bits_free(struct lost_bits *b); /* accepts NULL */

void lost_bits_set(struct lost_bits *b, size_t event);
/* After the last one was set, and before lost_bits_before. */
void lost_bits_count(struct lost_bits *b);

/* All of these accept NULL: none is lost. */
bool lost_bits_has(const struct lost_bits *b, size_t event);
size_t lost_bits_before(const struct lost_bits *b, size_t event);
/* The first lost event at or after that one, and the first that is not; `events` of lost_bits_new if there is
 * none. */
size_t lost_bits_next(const struct lost_bits *b, size_t event, size_t events);
size_t lost_bits_next_kept(const struct lost_bits *b, size_t event, size_t events);

#endif
