/*
 * label_syntax.h: which keys and values a label may have, and the API server's words for errors. A key is an
 * optional DNS subdomain and a slash, then 1 to 63 of [A-Za-z0-9._-]; a value is up to 63 of the same; both
 * begin and end alphanumeric.
 */
#ifndef REPLAYER_LABEL_SYNTAX_H
#define REPLAYER_LABEL_SYNTAX_H

#include "schema/base/buf.h"

#define LABEL_PROBLEM_MAX 1024

/* True if there is a problem, with its text in ret. */
bool label_key_problem(struct slice key, char ret[LABEL_PROBLEM_MAX]);

/* NULL if the value is good. */
const char *label_value_problem(struct slice value);

#endif
