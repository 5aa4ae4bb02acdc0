/*
 * compare_load.c: see compare_load.h. A run is read twice: first for what it made up (the UIDs and names of
 * what was created), then for its writes, in which these stand.
 */
#include "schema/run/compare_load.h"

#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/run/compare_body.h"
#include "schema/run/run_reader.h"

#include <stdlib.h>

#define KEY_BYTES_MAX    (8u * LIMIT_NAME_BYTES)
#define EVENT_ENDING_MIN 8 /* hexadecimal digits of a time, after the last dot of an event's name */

struct load {
	const struct compare_load *with;
	struct word_table *words;
};

static char *resource_word(const struct run_resource *r)
{
	return xasprintf("%.*s.%.*s", (int)r->resource.len, r->resource.ptr, (int)r->apigroup.len,
		r->apigroup.len ? r->apigroup.ptr : "");
}

int compare_load_status(struct compare_load *l, struct run_reader *r, struct err *err)
{
	struct run_written w;
	int rc;

	run_reader_rewind(r);
	while ((rc = run_reader_next_write(r, &w, err)) > 0) {
		if (slice_is(w.row.what.subresource, "status")) {
			char *word = resource_word(&w.row.what);

			word_table_add(l->with_status, slice_of(word), "");
			free(word);
		}
	}
	return rc;
}

/* Every resource of Kubernetes' own groups that has a status takes it from its subresource alone. */
static bool has_status(const struct compare_load *l, const struct run_resource *r)
{
	static const char ending[] = ".k8s.io";
	struct slice group = r->apigroup;
	size_t n = sizeof(ending) - 1;
	char *word;
	bool has;

	if (!group.len || !memchr(group.ptr, '.', group.len) ||
		(group.len > n && memcmp(group.ptr + group.len - n, ending, n) == 0))
		return true;
	word = resource_word(r);
	has = word_table_has(l->with_status, slice_of(word));
	free(word);
	return has;
}

/* ---- what the replay made up ---- */

/* "web-" of a create with generateName and without a name; 0 when it is none. */
static bool generated_prefix(const struct run_write_row *w, struct slice *ret)
{
	struct slice name;

	if (!slice_is(w->verb, "create") || w->what.subresource.len || w->what.name.len == 0 ||
		json_get(w->body, "metadata.generateName", ret, NULL) <= 0 || ret->len <= 2)
		return false;
	if (json_get(w->body, "metadata.name", &name, NULL) > 0 && name.len > 2)
		return false;
	*ret = (struct slice){ret->ptr + 1, ret->len - 2};
	return true;
}

/* Leaders call themselves by their machine and a random UID, and say so in Events. */
static void learn_holder(struct load *l, const struct run_write_row *w)
{
	struct slice holder;
	char *text;

	if (!slice_is(w->what.resource, "leases") ||
		!compare_rules_skip_class(l->with->options->rules, w, CLASS_UIDS) ||
		json_get(w->body, "spec.holderIdentity", &holder, NULL) <= 0 || holder.len <= 2 ||
		holder.ptr[0] != '"')
		return;
	text = xasprintf("<holder of %.*s>", (int)w->what.name.len, w->what.name.len ? w->what.name.ptr : "");
	word_table_add(l->words, (struct slice){holder.ptr + 1, holder.len - 2}, text);
	free(text);
}

static void learn(struct load *l, const struct run_write_row *w)
{
	const struct compare_rules *rules = l->with->options->rules;
	struct slice prefix, name = w->what.name;
	bool generated = generated_prefix(w, &prefix);
	char *text;

	if (generated && !compare_rules_skip_class(rules, w, CLASS_NAMES))
		generated = false;
	if (generated) {
		text = xasprintf("%.*s*", (int)prefix.len, prefix.ptr);
		word_table_add(l->words, name, text);
		free(text);
	}
	if (w->status != 201 || !w->uid.len || !compare_rules_skip_class(rules, w, CLASS_UIDS))
		return;
	text = xasprintf("<uid of %.*s %.*s%s>", (int)w->what.resource.len, w->what.resource.ptr,
		(int)(generated ? prefix.len : name.len), generated ? prefix.ptr : name.ptr,
		generated ? "*" : "");
	word_table_add(l->words, w->uid, text);
	free(text);
}

/* ---- one write ---- */

/* "web-0.17a5f3b2c9d1e8f0": when it was first said is no part of what was said. */
static struct slice without_event_ending(const struct run_write_row *w, struct slice name)
{
	size_t n = 0;

	if (!slice_is(w->what.resource, "events"))
		return name;
	while (n < name.len && strchr("0123456789abcdef", name.ptr[name.len - 1 - n]))
		n++;
	if (n < EVENT_ENDING_MIN || n + 1 >= name.len || name.ptr[name.len - 1 - n] != '.')
		return name;
	return (struct slice){name.ptr, name.len - n - 1};
}

static char *name_of(const struct load *l, const struct run_write_row *w)
{
	bool skip = compare_rules_skip_class(l->with->options->rules, w, CLASS_NAMES);
	struct slice name = skip ? without_event_ending(w, w->what.name) : w->what.name;
	struct buf text;
	char *made;

	buf_init(&text, KEY_BYTES_MAX);
	if (word_table_replace(l->words, name, &text, NULL))
		buf_clear(&text);
	if (name.len < w->what.name.len && buf_append(&text, ".*", 2, NULL))
		buf_clear(&text);
	made = slice_dup(text.len ? buf_slice(&text) : w->what.name);
	buf_release(&text);
	return made;
}

static int action_of(
	const struct load *l, const struct run_written *from, struct run_action *a, struct err *err)
{
	const struct run_write_row *w = &from->row;
	const struct compare_body body = {.rules = l->with->options->rules,
		.write = w,
		.words = l->words,
		.has_status = has_status(l->with, &w->what)};
	struct slice prefix;
	struct buf text;
	int rc;

	*a = (struct run_action){.write = from->write,
		.seq = w->seq,
		.tape_time_ns = w->tape_time_ns,
		.status = w->status,
		.verb = slice_dup(w->verb),
		.apigroup = slice_dup(w->what.apigroup),
		.resource = slice_dup(w->what.resource),
		.subresource = slice_dup(w->what.subresource),
		.namespace = slice_dup(w->what.namespace),
		.name = name_of(l, w),
		.dry_run = w->dry_run,
		.counts = generated_prefix(w, &prefix) && w->status == 201 && slice_is(w->policy, "overlay"),
		.times = 1};
	a->key = xasprintf("%s\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s%s", a->apigroup, a->resource, a->namespace,
		a->name, a->subresource, a->verb, w->dry_run ? "?" : "");
	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = compare_body_append(&body, &text, err);
	a->body = slice_dup(buf_slice(&text));
	a->hash = hash_add(hash_add(HASH_EMPTY, slice_of(a->key)), slice_of(a->body));
	buf_release(&text);
	if (rc)
		run_action_release(a);
	return rc;
}

/* ---- a run ---- */

static bool holds(struct slice text, const char *part)
{
	return !part || (text.len && memmem(text.ptr, text.len, part, strlen(part)));
}

static bool counts(const struct compare_load *l, const struct run_write_row *w)
{
	const struct compare_rules *rules = l->options->rules;

	return holds(w->client, l->options->client) && !compare_rules_skip_write(rules, w) &&
	       (w->status != 409 || !compare_rules_skip_class(rules, w, CLASS_CONFLICTS));
}

/* When the program was asked to end: of what it wrote then it depends on its haste how much arrived. */
static int64_t quiet_ns(const struct run_reader *r)
{
	const char *text = run_reader_fact(r, "quiet_ns");

	return text ? strtoll(text, NULL, 10) : INT64_MAX;
}

static int tell_progress(const struct compare_options *o, uint64_t done, uint64_t total, struct err *err)
{
	if (o->progress && o->progress(o->context, done, total))
		return err_set(err, ERR_STOPPED, "the comparison was stopped");
	return 0;
}

static int read_actions(
	struct load *l, struct run_reader *r, uint64_t bytes, struct action_list *to, struct err *err)
{
	int64_t until_ns = quiet_ns(r);
	struct run_written w;
	uint64_t done = 0;
	int rc;

	run_reader_rewind(r);
	while ((rc = run_reader_next_write(r, &w, err)) > 0) {
		done += w.row.body.len;
		rc = tell_progress(l->with->options, done, bytes, err);
		if (rc)
			return rc;
		if (w.row.time_ns >= until_ns || !counts(l->with, &w.row))
			continue;
		if (to->count == to->cap) {
			to->cap = to->cap ? 2 * to->cap : 64;
			to->items = xrealloc(to->items, to->cap * sizeof(*to->items));
		}
		rc = action_of(l, &w, &to->items[to->count], err);
		if (rc)
			return rc;
		to->count++;
	}
	return rc;
}

int compare_load_actions(const struct compare_load *with, struct run_reader *r, struct action_list *to,
	size_t *ret_writes, struct err *err)
{
	struct load l = {with, word_table_new()};
	struct run_written w;
	uint64_t bytes = 0;
	int rc;

	*ret_writes = 0;
	run_reader_rewind(r);
	while ((rc = run_reader_next_write(r, &w, err)) > 0) {
		learn(&l, &w.row);
		learn_holder(&l, &w.row);
		bytes += w.row.body.len;
		++*ret_writes;
	}
	if (rc == 0)
		rc = read_actions(&l, r, bytes, to, err);
	word_table_free(l.words);
	return rc;
}

void run_action_release(struct run_action *a)
{
	free(a->verb);
	free(a->apigroup);
	free(a->resource);
	free(a->subresource);
	free(a->namespace);
	free(a->name);
	free(a->key);
	free(a->body);
}

void action_list_release(struct action_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		run_action_release(&list->items[i]);
	free(list->items);
	*list = (struct action_list){0};
}
