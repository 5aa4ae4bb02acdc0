/* tape_set.h: many tapes, as people name them: a tape, a folder with tapes in it, a place in a store; each with a name for its
 * cluster before it, if they like: eu=X.tape. */
#ifndef TOOLS_TAPE_SET_H
#define TOOLS_TAPE_SET_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

struct tape_set {
	struct sql_tape *tapes; /* texts are the set's own */
	size_t count;
};

/* A tape that is there and cannot be read gets a problem; one of several names, as of links, comes once. The name of a
 * cluster comes from the words; else from a part cluster=NAME of the path, as in a store; else it is that of the tape's
 * file. ERR_NOT_FOUND if there is no tape. The caller releases in any case. */
int tape_set_find(const struct text_list *words, struct tape_set *ret, struct err *err) MUST_CHECK;
void tape_set_release(struct tape_set *set);

/* Says on stderr which of those that can be read are one tape: copies, and what was pushed as two clusters. */
void tape_set_tell_twins(const struct tape_set *set);

#endif
