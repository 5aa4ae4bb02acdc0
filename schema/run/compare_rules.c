/* compare_rules.c: see compare_rules.h. */
#include "schema/run/compare_rules.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

struct rule {
	char *text;                        /* slices point into it */
	struct slice resource, group, sub; /* empty: any */
	struct slice verbs;                /* "update,patch"; empty: any */
	bool whole;                        /* FIELD is *: the write itself */
	bool deep;                         /* `**.`: the names are the end of the path */
	enum compare_class of;             /* CLASS_NONE: a field */
	struct slice names[RULE_DEPTH_MAX];
	size_t name_count;
};

struct rule_list {
	struct rule *items;
	size_t count;
};

struct compare_rules {
	struct rule_list ignored, kept;
};

/* Server-made members come first, then what depends on when a program ran: whether it makes a lease or takes
 * one over, and how often it renews it, how often an event was said. */
const char *const compare_rules_default[] = {
	"@times",
	"@uids",
	"@names",
	"@secrets",
	"@status",
	"@conflicts",
	"**.resourceVersion",
	"**.creationTimestamp",
	"metadata.generation",
	"metadata.selfLink",
	"metadata.managedFields",
	"leases.coordination.k8s.io:create,update,patch=*",
	"events:update,patch=*",
	"events=metadata.name",
	"events=count",
	"events=deprecatedCount",
	"events=series",
	"events=reportingInstance",
	"events=source.host",
	"events=deprecatedSource.host",
	NULL,
};

static const struct {
	const char *word;
	enum compare_class of;
} classes[] = {{"@times", CLASS_TIMES}, {"@uids", CLASS_UIDS}, {"@names", CLASS_NAMES},
	{"@secrets", CLASS_SECRETS}, {"@status", CLASS_STATUS}, {"@conflicts", CLASS_CONFLICTS}};

/* ---- reading a rule ---- */

/* What stands before the first of these bytes; *rest begins with it. */
static struct slice until(struct slice *rest, const char *bytes)
{
	size_t n = 0;
	struct slice head;

	while (n < rest->len && !strchr(bytes, rest->ptr[n]))
		n++;
	head = (struct slice){rest->ptr, n};
	*rest = (struct slice){rest->ptr + n, rest->len - n};
	return head;
}

static bool compare_rules_skip(struct slice *rest, char byte)
{
	if (rest->len == 0 || rest->ptr[0] != byte)
		return false;
	*rest = (struct slice){rest->ptr + 1, rest->len - 1};
	return true;
}

/* The `=` that ends the head; none when the first thing is a FIELD. A bracket may hold another. */
static const char *head_end(const char *text)
{
	const char *equals = strchr(text, '='), *bracket = strchr(text, '[');

	return equals && (!bracket || equals < bracket) ? equals : NULL;
}

static int parse_head(struct rule *rule, struct slice head, struct err *err)
{
	static const char known[] = ",create,update,patch,delete,deletecollection,";
	struct slice verbs;

	rule->resource = until(&head, "./:");
	if (compare_rules_skip(&head, '.'))
		rule->group = until(&head, "/:");
	if (compare_rules_skip(&head, '/'))
		rule->sub = until(&head, ":");
	if (compare_rules_skip(&head, ':'))
		rule->verbs = verbs = head;
	else
		verbs = (struct slice){NULL, 0};
	if (slice_is(rule->resource, "*"))
		rule->resource = (struct slice){NULL, 0};
	while (verbs.len) {
		struct slice verb = until(&verbs, ",");
		char *word = xasprintf(",%.*s,", (int)verb.len, verb.ptr);
		bool good = verb.len && strstr(known, word);

		free(word);
		if (!good)
			return err_set(err, ERR_USAGE, "bad rule '%s': '%.*s' is no verb of a write",
				rule->text, (int)verb.len, verb.ptr);
		compare_rules_skip(&verbs, ',');
	}
	return 0;
}

static int add_name(struct rule *rule, struct slice name, struct err *err)
{
	if (name.len == 0)
		return err_set(err, ERR_USAGE, "bad rule '%s': a name in the field is empty", rule->text);
	if (rule->name_count == RULE_DEPTH_MAX)
		return err_set(
			err, ERR_USAGE, "bad rule '%s': more than %d names", rule->text, RULE_DEPTH_MAX);
	rule->names[rule->name_count++] = name;
	return 0;
}

/* a.b[c.d].e */
static int parse_names(struct rule *rule, struct slice rest, struct err *err)
{
	int rc = add_name(rule, until(&rest, ".["), err);

	while (rc == 0 && rest.len) {
		struct slice name;

		if (compare_rules_skip(&rest, '.')) {
			name = until(&rest, ".[");
		} else {
			compare_rules_skip(&rest, '[');
			name = until(&rest, "]");
			if (!compare_rules_skip(&rest, ']'))
				return err_set(err, ERR_USAGE, "bad rule '%s': ']' is missing", rule->text);
		}
		rc = add_name(rule, name, err);
	}
	return rc;
}

static int parse_field(struct rule *rule, struct slice field, struct err *err)
{
	if (slice_is(field, "*")) {
		rule->whole = true;
		return 0;
	}
	for (size_t i = 0; i < COUNT_OF(classes); i++) {
		if (slice_is(field, classes[i].word)) {
			rule->of = classes[i].of;
			return 0;
		}
	}
	if (field.len && field.ptr[0] == '@')
		return err_set(err, ERR_USAGE,
			"bad rule '%s': expected @times, @uids, @names, @secrets, @status or @conflicts",
			rule->text);
	rule->deep = field.len > 3 && memcmp(field.ptr, "**.", 3) == 0;
	if (rule->deep)
		field = (struct slice){field.ptr + 3, field.len - 3};
	return parse_names(rule, field, err);
}

static int compare_rules_add(struct rule_list *list, const char *text, struct err *err)
{
	struct rule rule = {.text = xstrdup(text)};
	const char *equals = head_end(rule.text);
	int rc = 0;

	if (equals)
		rc = parse_head(&rule, (struct slice){rule.text, (size_t)(equals - rule.text)}, err);
	if (rc == 0)
		rc = parse_field(&rule, slice_of(equals ? equals + 1 : rule.text), err);
	if (rc) {
		free(rule.text);
		return rc;
	}
	list->items = xrealloc(list->items, (list->count + 1) * sizeof(rule));
	list->items[list->count++] = rule;
	return 0;
}

int compare_rules_ignore(struct compare_rules *r, const char *text, struct err *err)
{
	return compare_rules_add(&r->ignored, text, err);
}

int compare_rules_keep(struct compare_rules *r, const char *text, struct err *err)
{
	return compare_rules_add(&r->kept, text, err);
}

struct compare_rules *compare_rules_new_bare(void)
{
	return xcalloc(1, sizeof(struct compare_rules));
}

struct compare_rules *compare_rules_new(void)
{
	struct compare_rules *r = compare_rules_new_bare();

	for (const char *const *text = compare_rules_default; *text; text++) {
		if (compare_rules_add(&r->ignored, *text, NULL))
			abort(); /* our own */
	}
	return r;
}

static void compare_rules_release(struct rule_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].text);
	free(list->items);
}

void compare_rules_free(struct compare_rules *r)
{
	if (!r)
		return;
	compare_rules_release(&r->ignored);
	compare_rules_release(&r->kept);
	free(r);
}

/* ---- asking ---- */

static bool has_verb(struct slice verbs, struct slice verb)
{
	while (verbs.len) {
		if (slice_equal(until(&verbs, ","), verb))
			return true;
		compare_rules_skip(&verbs, ',');
	}
	return false;
}

static bool concerns(const struct rule *rule, const struct run_write_row *w)
{
	return (!rule->resource.len || slice_equal(rule->resource, w->what.resource)) &&
	       (!rule->group.len || slice_equal(rule->group, w->what.apigroup)) &&
	       (!rule->sub.len || slice_equal(rule->sub, w->what.subresource)) &&
	       (!rule->verbs.len || has_verb(rule->verbs, w->verb));
}

/* What is asked for: the write (of CLASS_NONE, without names), a class, or a field. */
struct question {
	const struct run_write_row *write;
	enum compare_class of;
	const struct slice *names;
	size_t count;
};

static bool compare_rules_fits(const struct rule *rule, const struct question *q)
{
	size_t skipped;

	if (!concerns(rule, q->write))
		return false;
	if (rule->whole || rule->of || q->of || !q->count)
		return rule->of == q->of && rule->whole == !(q->of || q->count);
	if (rule->name_count > q->count || (!rule->deep && rule->name_count < q->count))
		return false;
	skipped = q->count - rule->name_count;
	for (size_t i = 0; i < rule->name_count; i++) {
		if (!slice_is(rule->names[i], "*") && !slice_equal(rule->names[i], q->names[skipped + i]))
			return false;
	}
	return true;
}

static bool any(const struct rule_list *list, const struct question *q)
{
	for (size_t i = 0; i < list->count; i++) {
		if (compare_rules_fits(&list->items[i], q))
			return true;
	}
	return false;
}

static bool is_ignored(const struct compare_rules *r, const struct question *q)
{
	return any(&r->ignored, q) && !any(&r->kept, q);
}

bool compare_rules_skip_write(const struct compare_rules *r, const struct run_write_row *w)
{
	return is_ignored(r, &(struct question){.write = w});
}

bool compare_rules_skip_class(
	const struct compare_rules *r, const struct run_write_row *w, enum compare_class c)
{
	return is_ignored(r, &(struct question){.write = w, .of = c});
}

bool compare_rules_skip_field(
	const struct compare_rules *r, const struct run_write_row *w, const struct slice *names, size_t count)
{
	return is_ignored(r, &(struct question){.write = w, .names = names, .count = count});
}

/* ---- asking about objects ---- */

int compare_rules_check_objects(const struct compare_rules *r, struct err *err)
{
	for (size_t i = 0; i < r->ignored.count; i++) {
		const struct rule *rule = &r->ignored.items[i];

		if (rule->sub.len || rule->verbs.len || rule->of)
			return err_set(err, ERR_USAGE,
				"bad rule '%s': objects are compared, and not writes: expected [RESOURCE[.GROUP]=]FIELD",
				rule->text);
	}
	return 0;
}

static struct run_write_row row_of(const char *resource)
{
	struct slice group = slice_of(resource);
	struct run_write_row w = {.what.resource = until(&group, ".")};

	compare_rules_skip(&group, '.');
	w.what.apigroup = group;
	return w;
}

bool compare_rules_skip_object(const struct compare_rules *r, const char *resource)
{
	const struct run_write_row w = row_of(resource);

	return compare_rules_skip_write(r, &w);
}

/* The first step of a path; *ret_item: it stands in brackets, as an item of an array does. False: none is left. */
static bool next_step(struct slice *path, struct slice *ret_step, bool *ret_item)
{
	*ret_item = compare_rules_skip(path, '[');
	if (!*ret_item)
		compare_rules_skip(path, '.');
	*ret_step = until(path, *ret_item ? "]" : ".[");
	if (*ret_item)
		compare_rules_skip(path, ']');
	return ret_step->len || path->len;
}

/* Whether the path begins with these names. Those of items may be left out. */
static bool begins_with(struct slice path, const struct slice *names, size_t count)
{
	struct slice step;
	bool is_item;

	if (!count)
		return true;
	if (!next_step(&path, &step, &is_item))
		return false;
	if ((slice_is(*names, "*") || slice_equal(*names, step)) && begins_with(path, names + 1, count - 1))
		return true;
	return is_item && begins_with(path, names, count);
}

static bool fits_path(const struct rule *rule, struct slice path)
{
	struct slice step;
	bool is_item, begins = begins_with(path, rule->names, rule->name_count);

	while (!begins && rule->deep && next_step(&path, &step, &is_item))
		begins = begins_with(path, rule->names, rule->name_count);
	return begins;
}

bool compare_rules_skip_path(const struct compare_rules *r, const char *resource, struct slice field)
{
	const struct run_write_row w = row_of(resource);

	for (size_t i = 0; i < r->ignored.count; i++) {
		const struct rule *rule = &r->ignored.items[i];

		if (concerns(rule, &w) && (rule->whole || (rule->name_count && fits_path(rule, field))))
			return true;
	}
	return false;
}
