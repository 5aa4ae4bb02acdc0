/*
 * import_seqs.h: which event of ours an event of an exported tape has become. Numbers move when events were
 * left out, or when the import goes on with a tape. Rows that name events by number come before the events:
 * each wish is told, and granted when the events pass.
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

/* What became of one that was wanted and has passed; 0 else. */
uint64_t import_seqs_get(const struct import_seqs *s, int64_t from);

#endif
