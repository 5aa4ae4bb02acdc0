/*
 * fuzz.h: a fuzz target is one file with LLVMFuzzerTestOneInput, in libFuzzer's form. `make fuzz` links it
 * with libFuzzer; the unit tests link it with replay_main.c, which feeds it the files of its corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What must hold for every input. */
#define fuzz_demand(condition)                                                                               \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);       \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

#endif
