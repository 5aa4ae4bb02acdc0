/* rule_names.c: see rule_names.h. */
#include "tools/sweep/rule_names.h"

#include "replayer/kinds/resource_names.h"
#include "schema/base/log.h"

#include <stdlib.h>

/* A rule in its parts; all but `rest` empty if it names no resource. */
struct parts {
	struct slice resource, group, sub; /* sub with its slash */
	struct slice rest;                 /* ":VERBS=..." or "=..." */
};

void rule_names_open(struct rule_names *n, const char *tape, enum rule_names_unknown unknown)
{
	struct tape *t = NULL;
	bool read = tape && tape_open(tape, &t, NULL) == 0;

	*n = (struct rule_names){.unknown = read ? unknown : UNKNOWN_TAKEN};
	resource_names_of(read ? t : NULL, &n->known);
	if (read)
		tape_close(t);
}

void rule_names_close(struct rule_names *n)
{
	catalog_release(&n->known);
}

/* What stands before the first of these marks; *rest begins with it. */
static struct slice until(struct slice *rest, const char *marks)
{
	struct slice head = {rest->ptr, 0};

	while (head.len < rest->len && !strchr(marks, rest->ptr[head.len]))
		head.len++;
	*rest = (struct slice){rest->ptr + head.len, rest->len - head.len};
	return head;
}

static bool begins_with(struct slice s, char mark)
{
	return s.len && s.ptr[0] == mark;
}

static struct slice rule_names_skip(struct slice s)
{
	return (struct slice){s.ptr + 1, s.len - 1};
}

/* Without '=' it is a FIELD, or a policy, alone; a bracket of a FIELD may hold another. */
static struct parts take_apart(enum rule_form form, const char *rule)
{
	const char *equals = strchr(rule, '='), *bracket = strchr(rule, '[');
	struct slice rest = slice_of(rule);
	struct parts p = {.rest = rest};

	if (!equals || (bracket && bracket < equals))
		return p;
	p.resource = until(&rest, "./:=");
	for (int i = 0; i < 2; i++) {
		if (begins_with(rest, '/')) {
			p.sub = until(&rest, form == RULE_OF_WRITES ? ".:=" : ":=");
		} else if (begins_with(rest, '.')) {
			rest = rule_names_skip(rest);
			p.group = until(&rest, "/:=");
		}
	}
	p.rest = rest;
	return p;
}

static char *put_together(
	enum rule_form form, const struct parts *p, const struct catalog_resource *r, bool any_group)
{
	const char *dot = *r->group && !any_group ? "." : "", *group = any_group ? "" : r->group;
	int sub = (int)p->sub.len, rest = (int)p->rest.len;

	if (form == RULE_OF_WRITES)
		return xasprintf("%s%.*s%s%s%.*s", r->resource, sub, p->sub.ptr ? p->sub.ptr : "", dot, group,
			rest, p->rest.ptr);
	return xasprintf("%s%s%s%.*s%.*s", r->resource, dot, group, sub, p->sub.ptr ? p->sub.ptr : "", rest,
		p->rest.ptr);
}

/* A plural name that is known stands as it is, without a group for all that have it. */
static bool is_plural(const struct rule_names *n, const struct parts *p)
{
	for (size_t i = 0; i < n->known.count; i++) {
		const struct catalog_resource *r = &n->known.items[i];

		if (slice_is(p->resource, r->resource) && (!p->group.ptr || slice_is(p->group, r->group)))
			return true;
	}
	return false;
}

/* 0 when it is taken all the same. */
static int unknown(const struct rule_names *n, const char *rule, const char *name, struct err *err)
{
	struct err why;
	char *meant;

	if (n->unknown == UNKNOWN_TAKEN)
		return 0;
	meant = resource_names_meant(&n->known, name);
	err_set(&why, ERR_USAGE,
		"bad rule '%.200s': neither the tape nor Kubernetes has a resource '%.60s'%s%s%s", rule, name,
		meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	free(meant);
	if (n->unknown == UNKNOWN_REFUSED)
		return err_copy(err, &why);
	log_warn("%s", why.text);
	return 0;
}

static int each_meant(const struct rule_names *n, enum rule_form form, const char *rule,
	int (*each)(void *context, const char *rule, struct err *err), void *context, struct err *err)
{
	struct parts p = take_apart(form, rule);
	struct catalog_choice choice = {0};
	char *name;
	int rc = 0;

	if (p.resource.len == 0 || slice_is(p.resource, "*") || is_plural(n, &p))
		return each(context, rule, err);
	name = xasprintf("%.*s%s%.*s", (int)p.resource.len, p.resource.ptr, p.group.ptr ? "." : "",
		(int)p.group.len, p.group.ptr ? p.group.ptr : "");
	if (!catalog_find(&n->known, name, &choice)) {
		rc = unknown(n, rule, name, err);
		if (rc == 0)
			rc = each(context, rule, err);
	}
	for (size_t i = 0; i < choice.count && rc == 0; i++) {
		char *text = put_together(form, &p, choice.items[i], !p.group.ptr && choice.count == 1);

		rc = each(context, text, err);
		free(text);
	}
	catalog_choice_release(&choice);
	free(name);
	return rc;
}

int rule_names_each(const struct rule_names *n, enum rule_form form, const struct text_list *rules,
	int (*each)(void *context, const char *rule, struct err *err), void *context, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < rules->count && rc == 0; i++)
		rc = n ? each_meant(n, form, rules->items[i], each, context, err)
		       : each(context, rules->items[i], err);
	return rc;
}
