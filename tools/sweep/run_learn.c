/* run_learn.c: see run_learn.h. */
#include "tools/sweep/run_learn.h"

#include "schema/base/log.h"
#include "schema/sql/json_diff.h"

#include <stdlib.h>

#define RULE_BYTES_MAX 4096

void run_lessons_release(struct run_lessons *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->keys[i]);
	free(l->keys);
	*l = (struct run_lessons){0};
}

static bool has(const struct run_lessons *l, const char *text)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->keys[i], text) == 0)
			return true;
	}
	return false;
}

static void run_learn_add(struct run_lessons *l, const char *text)
{
	l->keys = xrealloc(l->keys, (l->count + 1) * sizeof(char *));
	l->keys[l->count++] = xstrdup(text);
}

static const char *key_of(const struct run_difference *d)
{
	return d->first ? d->first->key : d->second->key;
}

bool run_lessons_cover(const struct run_lessons *l, const struct run_difference *d)
{
	return has(l, key_of(d));
}

static void learn_write(struct run_lessons *l, const struct run_difference *d)
{
	const struct run_action *a = d->first ? d->first : d->second;

	if (run_lessons_cover(l, d))
		return;
	run_learn_add(l, key_of(d));
	log_info("good runs differ in whether they %s %s '%s%s%s': not compared", a->verb, a->resource,
		a->namespace, *a->namespace ? "/" : "", a->name);
}

/* The name that begins at *at, "name", "\"a.b\"" or "[0]" with what leads to it; *at is moved behind it. */
static struct slice next_name(struct slice path, size_t *at, bool *ret_item, bool *ret_quoted)
{
	bool item = path.ptr[*at] == '[', quoted = !item && *at + 1 < path.len && path.ptr[*at + 1] == '"';
	const char *ends = item ? "]" : quoted ? "\"" : ".[";
	size_t from = *at + 1 + quoted, end = from;

	while (end < path.len && !strchr(ends, path.ptr[end]))
		end++;
	*at = end + (item || quoted);
	*ret_item = item;
	*ret_quoted = quoted;
	return (struct slice){path.ptr + from, end - from};
}

/* "$.spec.containers[0].image" as a FIELD, "spec.containers.image"; false when it can not be one. */
static bool append_field(struct slice path, struct buf *to)
{
	size_t at = 1, begin = to->len;
	bool item, quoted;

	while (at < path.len) {
		struct slice name = next_name(path, &at, &item, &quoted);
		const char *before = quoted ? "[" : to->len > begin ? "." : "";

		if ((item || quoted) && to->len == begin)
			return false;
		if (!item &&
			buf_printf(to, NULL, "%s%.*s%s", before, (int)name.len, name.ptr, quoted ? "]" : ""))
			return false;
	}
	return to->len > begin;
}

static bool learn_field(
	struct run_lessons *l, struct compare_rules *rules, const struct run_action *a, struct slice path)
{
	struct buf text;
	bool done;

	buf_init(&text, RULE_BYTES_MAX);
	done = !buf_printf(&text, NULL, "%s%s%s%s%s:%s=", a->resource, *a->apigroup ? "." : "", a->apigroup,
		       *a->subresource ? "/" : "", a->subresource, a->verb) &&
	       append_field(path, &text) && buf_append(&text, "", 1, NULL) == 0;
	if (done && !has(l, text.ptr)) {
		done = compare_rules_ignore(rules, text.ptr, NULL) == 0;
		run_learn_add(l, text.ptr);
		log_info("good runs differ in '%s': not compared", text.ptr);
	}
	buf_release(&text);
	return done;
}

static int learn_fields(struct run_lessons *l, struct compare_rules *rules, struct json_diff *diff,
	const struct run_difference *d, struct err *err)
{
	const char *old = *d->first->body ? d->first->body : "{}";
	const char *new = *d->second->body ? d->second->body : "{}";
	int rc = json_diff_make(diff, slice_of(old), slice_of(new), true, err);

	for (size_t i = 0; rc == 0 && i < json_diff_count(diff); i++) {
		if (!learn_field(l, rules, d->first, json_diff_at(diff, i).path))
			learn_write(l, d);
	}
	return rc;
}

int run_learn(struct run_lessons *l, struct compare_rules *rules, const struct compare_options *options,
	const char *first, const char *other, struct err *err)
{
	struct run_comparison *c;
	struct json_diff *diff;
	int rc = run_compare(first, other, options, &c, err);

	if (rc)
		return rc;
	diff = json_diff_new();
	for (size_t i = 0; i < run_comparison_count(c) && rc == 0; i++) {
		struct run_difference d = run_comparison_at(c, i);

		if (d.kind == OTHER_BODY)
			rc = learn_fields(l, rules, diff, &d, err);
		else
			learn_write(l, &d);
	}
	json_diff_free(diff);
	run_comparison_free(c);
	return rc;
}
