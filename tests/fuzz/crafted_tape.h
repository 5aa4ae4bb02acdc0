/*
 * crafted_tape.h: a small tape of a sealed and an open segment, made once, and changed as an input says:
 * bytes, or values of columns, after which the checksums are made right again, so that the change is
 * believed.
 *
 * Input: file, way, then changes. File: bit 0 sealed or open; 2: what a killed writer left; 4: of that, the
 * log. Way: bit 0 bytes or columns, 4 cut the file at the first offset. By bytes: offset (3), xor (1). By
 * columns: table, column, row, kind, value (4).
 */
#ifndef TESTS_FUZZ_CRAFTED_TAPE_H
#define TESTS_FUZZ_CRAFTED_TAPE_H

#include "tests/fuzz/fuzz.h"

/* Makes the tape that the input, of 2 bytes and more, describes; its path stays the same and is removed at
 * the end. */
const char *crafted_tape(const uint8_t *bytes, size_t len);

/* Of all its files; but for the shared memory, in which readers leave marks, and an empty log, which SQLite
 * makes for a reader. */
uint64_t crafted_tape_hash(void);

void crafted_tape_remove(const char *path);

#endif
