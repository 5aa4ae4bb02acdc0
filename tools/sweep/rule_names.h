/*
 * rule_names.h: the resources that rules of the command line name (--write, --ignore, --keep), by all names
 * that kubectl takes. The rules themselves know plural names only.
 */
#ifndef TOOLS_RULE_NAMES_H
#define TOOLS_RULE_NAMES_H

#include "schema/base/catalog.h"
#include "tools/cli/options.h"

/* How to treat an unknown name. */
enum rule_names_unknown {
	UNKNOWN_TAKEN,  /* it counts as it is */
	UNKNOWN_WARNED, /* so, but a line of the log says so */
	UNKNOWN_REFUSED,
};

struct rule_names {
	struct catalog known;
	enum rule_names_unknown unknown;
};

/* Of that tape; where it cannot be read (or NULL), of Kubernetes alone, and then names that are not known are
 * taken. */
void rule_names_open(struct rule_names *n, const char *tape, enum rule_names_unknown unknown);
void rule_names_close(struct rule_names *n);

/* The place of the group: "RESOURCE/SUB.GROUP:VERBS=..." or "RESOURCE.GROUP/SUB:VERBS=...". */
enum rule_form { RULE_OF_WRITES, RULE_OF_COMPARISON };

/* Calls `each` with each of the rules, its resource by the plural name; once for each resource if it names several, as
 * `all` does. Without names (NULL) they count as they are. The text is valid during the call. ERR_USAGE for a name that
 * is refused. */
int rule_names_each(const struct rule_names *n, enum rule_form form, const struct text_list *rules,
	int (*each)(void *context, const char *rule, struct err *err), void *context,
	struct err *err) MUST_CHECK;

#endif
