/* await_rules.c: the rules of --await; see awaited.h. */
#include "replayer/write/awaited.h"

#include <stdlib.h>

/* "create,delete=" and what follows; only create if nothing is said. */
static int parse_verbs(struct slice *text, struct await_rule *r, struct err *err)
{
	struct slice rest = *text, verbs = slice_cut(&rest, '=');
	bool creates = !rest.ptr;

	if (creates)
		return 0;
	*text = rest;
	do {
		struct slice verb = slice_cut(&verbs, ',');

		creates |= slice_is(verb, "create");
		r->deletes |= slice_is(verb, "delete");
		if (!slice_is(verb, "create") && !slice_is(verb, "delete"))
			return err_set(err, ERR_USAGE,
				"bad verb '%.*s' in '%s': expected create or create,delete", (int)verb.len,
				verb.ptr, r->text);
	} while (verbs.ptr);
	return creates ? 0
		       : err_set(err, ERR_USAGE, "'%s' awaits no creation: expected create,delete=...",
				 r->text);
}

static int parse_rule(struct await_rule *r, struct err *err)
{
	struct slice text = slice_of(r->text), group;
	int rc = parse_verbs(&text, r, err);

	if (rc)
		return rc;
	group = slice_cut(&text, '/');
	r->resource = slice_cut(&group, '.');
	r->group = group;
	r->any_group = !group.ptr;
	r->name = text;
	if (text.ptr && memchr(text.ptr, '/', text.len)) {
		r->namespace = slice_cut(&text, '/');
		r->name = text;
	}
	if (!r->resource.len || (r->name.ptr && !r->name.len))
		return err_set(err, ERR_USAGE,
			"bad object '%s': expected [create,delete=]RESOURCE[.GROUP][/[NAMESPACE/]NAME]",
			r->text);
	return 0;
}

int await_rules_add(struct await_rules *rules, const char *text, struct err *err)
{
	struct await_rule r = {.text = xstrdup(text)};
	int rc = parse_rule(&r, err);

	if (rc) {
		free(r.text);
		return rc;
	}
	rules->items = xrealloc(rules->items, (rules->count + 1) * sizeof(*rules->items));
	rules->items[rules->count++] = r;
	return 0;
}

void await_rules_release(struct await_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->items[i].text);
	free(rules->items);
	*rules = (struct await_rules){0};
}
