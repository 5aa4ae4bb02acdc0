/*
 * import_seqs.h: maps event numbers of an exported tape to ours. Numbers change if events were left out, or
 * if the import continues a tape. Rows that name events by number come before the events: each number is
 * requested, and resolved when the events pass.
 */
#ifndef TOOLS_IMPORT_SEQS_H
#define TOOLS_IMPORT_SEQS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. */
struct import_seqs {
	struct import_seq {
		int64_t from;
		uint64_t to;
	} * items;
	size_t count, done; /* those before done are granted, and in order */
	bool sorted;        /* the others are, too */
};

void import_seqs_release(struct import_seqs *s);

/* The last event that is not after `from` will be asked for. */
void import_seqs_want(struct import_seqs *s, int64_t from);

/* Every event before `from` has passed; the last of them has become `last`. */
void import_seqs_pass(struct import_seqs *s, int64_t from, uint64_t last);

/* The new number of a requested event that has passed; 0 otherwise. */
uint64_t import_seqs_get(const struct import_seqs *s, int64_t from);

#endif
