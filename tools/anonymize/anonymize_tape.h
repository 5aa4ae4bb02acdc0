/* anonymize_tape.h: a tape with pseudonyms in place of whatever it names (anonymize.h). */
#ifndef TOOLS_ANONYMIZE_TAPE_H
#define TOOLS_ANONYMIZE_TAPE_H

#include "schema/tape/remake.h"
#include "tools/anonymize/anonymize.h"

struct anonymize_options {
	/* Called with "collecting", "rewriting" or "proving" and how much of it is done; non-zero stops. */
	int (*progress)(void *context, const char *doing, uint64_t done, uint64_t total);
	void *context;
	const char *program;
};

/*
 * Collects the words of `from`, makes `to`, which must not exist, and reads it whole again to prove that no
 * word is left that was to be replaced. Documents that are not JSON are left out. On failure nothing is left of
 * `to`.
 */
int anonymize_tape(struct tape *from, const char *to, struct anonymizer *a,
	const struct anonymize_options *options, struct remake_result *ret, struct err *err) MUST_CHECK;

#endif
