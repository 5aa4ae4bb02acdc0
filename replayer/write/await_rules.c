/* await_rules.c: the rules of --await; see awaited.h. */
#include "replayer/write/awaited.h"

#include <stdlib.h>

static void parse_verbs(struct slice *text, struct await_rule *r)
{
	r->updates = slice_skip(text, "update=");
	r->deletes = slice_skip(text, "create,delete=");
	r->creates = r->deletes || slice_skip(text, "create=");
	if (!r->creates && !r->updates)
		r->creates = !(r->deletes = slice_skip(text, "delete="));
}

/* SUBRESOURCE:MANAGER, or only the latter: then `head` ends with it. */
static void parse_update(struct slice *head, struct slice tail, struct await_rule *r)
{
	struct slice *with_manager = tail.ptr ? &tail : head, manager = *with_manager;

	*with_manager = slice_cut(&manager, ':');
	r->subresource = tail;
	r->manager = manager;
	r->binds = slice_is(*head, "pods") && slice_is(tail, "binding");
}

/* [NAMESPACE/]NAME */
static void parse_name(struct slice tail, struct await_rule *r)
{
	r->name = tail;
	if (tail.ptr && memchr(tail.ptr, '/', tail.len)) {
		r->namespace = slice_cut(&tail, '/');
		r->name = tail;
	}
}

static int parse_rule(struct await_rule *r, struct err *err)
{
	struct slice tail = slice_of(r->text), head, group;

	if (slice_skip(&tail, "finalizer=") && tail.len) {
		r->finalizer = tail;
		return 0;
	}
	tail = slice_of(r->text);
	parse_verbs(&tail, r);
	head = slice_cut(&tail, '/');
	if (r->updates)
		parse_update(&head, tail, r);
	else
		parse_name(tail, r);
	group = head;
	r->resource = slice_cut(&group, '.');
	r->group = group;
	r->any_group = !group.ptr && !r->binds;
	if (r->resource.len && !memchr(head.ptr, '=', head.len) && (!r->updates || r->manager.len) &&
		(!r->name.ptr || r->name.len))
		return 0;
	return err_set(err, ERR_USAGE,
		"bad rule '%s': expected [create,delete=|delete=]RESOURCE[.GROUP][/[NAMESPACE/]NAME], "
		"update=RESOURCE[.GROUP][/SUBRESOURCE]:MANAGER or finalizer=NAME",
		r->text);
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
