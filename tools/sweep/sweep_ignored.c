/* sweep_ignored.c: see sweep_ignored.h. */
#include "tools/sweep/sweep_ignored.h"

#include <stdlib.h>

static int add(void *rules, const char *text, struct err *err)
{
	return compare_rules_ignore(rules, text, err);
}

int sweep_ignored_make(const struct text_list *rules, const struct rule_names *names,
	struct compare_rules **ret, struct err *err)
{
	struct compare_rules *made = rules->count ? compare_rules_new_bare() : NULL;
	int rc = rule_names_each(names, RULE_OF_COMPARISON, rules, add, made, err);

	if (rc == 0 && made)
		rc = compare_rules_check_objects(made, err);
	if (rc)
		compare_rules_free(made);
	else
		*ret = made;
	return rc;
}

int sweep_ignored_of_tape(
	const struct text_list *rules, const char *tape, struct compare_rules **ret, struct err *err)
{
	struct rule_names names;
	int rc;

	if (!rules->count)
		return sweep_ignored_make(rules, NULL, ret, err);
	rule_names_open(&names, tape, UNKNOWN_REFUSED);
	rc = sweep_ignored_make(rules, &names, ret, err);
	rule_names_close(&names);
	return rc;
}

bool sweep_ignores(const struct compare_rules *rules, struct slice resource)
{
	char *name;
	bool is;

	if (!rules)
		return false;
	name = slice_dup(resource);
	is = compare_rules_skip_object(rules, name);
	free(name);
	return is;
}
