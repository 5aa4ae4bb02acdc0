/* fault_write.c: fault files as text, and their JSON Schema, both from the tables of fault_keys.h. */
#include "replayer/fault/fault_file.h"

#include "replayer/fault/fault_keys.h"
#include "schema/base/clock.h"
#include "schema/base/json_indent.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <inttypes.h>
#include <stdio.h>

/* Text under construction: the first failure is kept, everything after it is nothing. */
struct writer {
	struct buf text;
	struct err *err;
	int rc;
	bool first; /* of the members of the object or array that is open */
};

static void fault_write_put(struct writer *w, const char *text)
{
	if (w->rc == 0)
		w->rc = buf_append(&w->text, text, strlen(text), w->err);
}

static void put_string(struct writer *w, const char *text)
{
	if (w->rc == 0)
		w->rc = json_escape(slice_of(text), &w->text, w->err);
}

static void put_number(struct writer *w, int64_t number)
{
	if (w->rc == 0)
		w->rc = buf_printf(&w->text, w->err, "%" PRId64, number);
}

static void open_with(struct writer *w, const char *bracket)
{
	fault_write_put(w, bracket);
	w->first = true;
}

static void close_with(struct writer *w, const char *bracket)
{
	fault_write_put(w, bracket);
	w->first = false;
}

static void put_item(struct writer *w)
{
	fault_write_put(w, w->first ? "" : ",");
	w->first = false;
}

static void put_key(struct writer *w, const char *key)
{
	put_item(w);
	put_string(w, key);
	fault_write_put(w, ":");
}

static void put_member(struct writer *w, const char *key, const char *value)
{
	put_key(w, key);
	put_string(w, value);
}

/* Appends the text indented, with a line feed. */
static int fault_write_finish(struct writer *w, struct buf *to)
{
	struct json_indent indent = {0};
	int rc = w->rc;

	if (rc == 0)
		rc = json_indent_feed(&indent, buf_slice(&w->text), to, w->err);
	if (rc == 0)
		rc = buf_append(to, "\n", 1, w->err);
	buf_release(&w->text);
	return rc;
}

static struct writer writer(struct err *err)
{
	struct writer w = {.err = err};

	buf_init(&w.text, LIMIT_CONFIG_BYTES);
	return w;
}

/* ---- files ---- */

/* Exact: "90000000001ns" has its nanoseconds. */
static void put_duration(struct writer *w, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{3600 * NS_PER_S, "h"}, {60 * NS_PER_S, "m"}, {NS_PER_S, "s"}, {NS_PER_MS, "ms"},
		{NS_PER_US, "us"}, {1, "ns"}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	if (w->rc == 0)
		w->rc = buf_printf(
			&w->text, w->err, "\"%" PRId64 "%s\"", ns / units[i].ns, ns ? units[i].unit : "s");
}

static void put_texts(struct writer *w, const struct fault_texts *texts)
{
	open_with(w, "[");
	for (size_t i = 0; i < texts->count; i++) {
		put_item(w);
		put_string(w, texts->items[i]);
	}
	close_with(w, "]");
}

static void put_rules(struct writer *w, const struct fault_file *f);
static void put_keys(struct writer *w, const struct fault_keys *keys, const void *base, const void *plain,
	const char *required);

static void put_what(struct writer *w, const struct fault_what *what)
{
	struct fault_rule plain = fault_rule_default();

	if (what->act == FAULT_ERROR && what->code == 410)
		plain.what.code = 410;
	open_with(w, "{");
	put_member(w, "do", fault_do_word(what->act));
	put_keys(w, &fault_what_keys, what, &plain.what, fault_what_shapes[what->act].required);
	close_with(w, "}");
}

static void put_length(struct writer *w, const int64_t *ns)
{
	const int64_t *events =
		ns +
		(offsetof(struct fault_rule, for_events) - offsetof(struct fault_rule, for_ns)) / sizeof(*ns);

	if (!*events) {
		put_duration(w, *ns);
		return;
	}
	fault_write_put(w, "{\"events\":");
	put_number(w, *events);
	fault_write_put(w, "}");
}

static void put_word(struct writer *w, const char *words, int index)
{
	char word[16];

	for (; index > 0; index--)
		words += strcspn(words, " ") + 1;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, " "), words);
	put_string(w, word);
}

static void put_value(struct writer *w, const struct fault_key *key, const void *value)
{
	static const struct fault_rule plain;

	switch (key->kind) {
	case KEY_TEXT:
	case KEY_WRITE:
	case KEY_EXPRESSION: put_string(w, *(char *const *)value); break;
	case KEY_JSON: fault_write_put(w, *(char *const *)value); break;
	case KEY_TEXTS: put_texts(w, value); break;
	case KEY_INTEGER: put_number(w, *(const int64_t *)value); break;
	case KEY_SHARE:
		if (w->rc == 0)
			w->rc = buf_printf(&w->text, w->err, "%.17g", *(const double *)value);
		break;
	case KEY_BOOL: fault_write_put(w, *(const bool *)value ? "true" : "false"); break;
	case KEY_DURATION: put_duration(w, *(const int64_t *)value); break;
	case KEY_CHOICE: put_word(w, key->words, *(const int *)value); break;
	case KEY_LENGTH: put_length(w, value); break;
	case KEY_WHEN:
		open_with(w, "{");
		put_keys(w, &fault_when_keys, value, &(struct fault_when){.nth = 1, .every = 1}, "");
		close_with(w, "}");
		break;
	case KEY_WHERE:
		open_with(w, "{");
		put_keys(w, &fault_where_keys, value, &plain.where, "");
		close_with(w, "}");
		break;
	case KEY_WHAT: put_what(w, value); break;
	case KEY_RULES: put_rules(w, value); break;
	case KEY_IGNORED: break;
	}
}

/* Whether the value is what an absent key means. */
static bool is_plain(const struct fault_key *key, const void *value, const void *plain)
{
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_WRITE:
	case KEY_EXPRESSION:
	case KEY_JSON: return !*(char *const *)value;
	case KEY_TEXTS: return ((const struct fault_texts *)value)->count == 0;
	case KEY_INTEGER:
	case KEY_DURATION: return *(const int64_t *)value == *(const int64_t *)plain;
	case KEY_SHARE: return *(const double *)value == *(const double *)plain;
	case KEY_BOOL: return *(const bool *)value == *(const bool *)plain;
	case KEY_CHOICE: return *(const int *)value == *(const int *)plain;
	case KEY_WHERE: return fault_where_is_all(value);
	case KEY_IGNORED: return true;
	default: return false;
	}
}

/* What is as if absent is left out, unless it is one of the required. */
static void put_keys(struct writer *w, const struct fault_keys *keys, const void *base, const void *plain,
	const char *required)
{
	for (size_t i = 0; i < keys->count; i++) {
		const struct fault_key *key = &keys->keys[i];
		const void *value = (const char *)base + key->offset;

		if (is_plain(key, value, (const char *)plain + key->offset) &&
			fault_word_index(required, slice_of(key->name)) < 0)
			continue;
		put_key(w, key->name);
		put_value(w, key, value);
	}
}

/* What fault_rule_finish fills in is left out again where it would not be taken: a length for ever, and what
 * requests get while there is no while. */
static void put_rule(struct writer *w, const struct fault_rule *r)
{
	const struct fault_rule plain = fault_rule_default();
	bool lasts = r->for_ns != 0;

	open_with(w, "{");
	for (size_t i = 0; i < fault_rule_keys.count; i++) {
		const struct fault_key *key = &fault_rule_keys.keys[i];
		const void *value = (const char *)r + key->offset;
		bool is_length = key->kind == KEY_LENGTH;

		if (is_plain(key, value, (const char *)&plain + key->offset))
			continue;
		if (is_length && !r->for_events && (!lasts || r->for_ns == FAULT_FOREVER))
			continue;
		if (value == &r->during && !lasts)
			continue;
		put_key(w, key->name);
		put_value(w, key, value);
	}
	close_with(w, "}");
}

static void put_rules(struct writer *w, const struct fault_file *f)
{
	open_with(w, "[");
	for (size_t i = 0; i < f->count - f->recorded_count; i++) {
		put_item(w);
		put_rule(w, &f->rules[i]);
	}
	close_with(w, "]");
}

int fault_file_write(const struct fault_file *f, struct buf *to, struct err *err)
{
	const struct fault_file plain = {.seed = FAULT_SEED_DEFAULT};
	struct writer w = writer(err);

	open_with(&w, "{");
	put_keys(&w, &fault_file_keys, f, &plain, "");
	close_with(&w, "}");
	return fault_write_finish(&w, to);
}

/* ---- the schema ---- */

#define DURATION_PATTERN "^([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h|d))+$|^[0-9]+([.][0-9]+)?$"

static void put_words(struct writer *w, const char *words)
{
	open_with(w, "[");
	for (const char *at = words; *at;) {
		size_t len = strcspn(at, " ");
		char word[16];

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		put_item(w);
		put_string(w, word);
		at += len + (at[len] == ' ');
	}
	close_with(w, "]");
}

/* A string, of the words if there are any, without its braces. */
static void put_string_type(struct writer *w, const char *words, bool not_empty)
{
	put_member(w, "type", "string");
	if (not_empty && !words)
		fault_write_put(w, ",\"minLength\":1");
	if (!words)
		return;
	put_key(w, "enum");
	put_words(w, words);
}

static void put_texts_type(struct writer *w, const char *words)
{
	put_key(w, "oneOf");
	open_with(w, "[{");
	put_string_type(w, words, true);
	fault_write_put(w, "},");
	open_with(w, "{");
	put_member(w, "type", "array");
	put_key(w, "minItems");
	put_number(w, 1);
	put_key(w, "items");
	open_with(w, "{");
	put_string_type(w, words, true);
	close_with(w, "}}]");
}

static void put_integer_type(struct writer *w, int64_t least, int64_t most)
{
	put_member(w, "type", "integer");
	put_key(w, "minimum");
	put_number(w, least);
	if (most == INT64_MAX)
		return;
	put_key(w, "maximum");
	put_number(w, most);
}

static void put_duration_type(struct writer *w)
{
	put_member(w, "type", "string");
	put_member(w, "pattern", DURATION_PATTERN);
}

static void put_write_type(struct writer *w)
{
	char verbs[] = FAULT_VERB_WORDS, pattern[sizeof(verbs) + 64];

	for (char *blank = verbs; (blank = strchr(blank, ' '));)
		*blank = '|';
	snprintf(pattern, sizeof(pattern), "^(%s)( [a-z0-9.-]+(/[a-z]+)?)?$", verbs);
	put_member(w, "type", "string");
	put_member(w, "pattern", pattern);
}

static void put_type(struct writer *w, const struct fault_key *key)
{
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_EXPRESSION: put_string_type(w, NULL, false); break;
	case KEY_WRITE: put_write_type(w); break;
	case KEY_CHOICE: put_string_type(w, key->words, false); break;
	case KEY_TEXTS: put_texts_type(w, key->words); break;
	case KEY_INTEGER: put_integer_type(w, key->least, key->most); break;
	case KEY_SHARE:
		put_member(w, "type", "number");
		fault_write_put(w, ",\"exclusiveMinimum\":0,\"maximum\":1");
		break;
	case KEY_BOOL: put_member(w, "type", "boolean"); break;
	case KEY_DURATION: put_duration_type(w); break;
	case KEY_JSON: put_member(w, "type", "object"); break;
	case KEY_WHEN: put_member(w, "$ref", "#/$defs/when"); break;
	case KEY_WHERE: put_member(w, "$ref", "#/$defs/where"); break;
	case KEY_WHAT:
		put_member(w, "$ref", strcmp(key->name, "during") ? "#/$defs/what" : "#/$defs/during");
		break;
	case KEY_LENGTH: put_member(w, "$ref", "#/$defs/length"); break;
	case KEY_RULES:
		put_member(w, "type", "array");
		fault_write_put(w, ",\"maxItems\":");
		put_number(w, FAULT_RULES_MAX);
		fault_write_put(w, ",\"items\":{\"$ref\":\"#/$defs/rule\"}");
		break;
	case KEY_IGNORED: break;
	}
}

static void put_property(struct writer *w, const struct fault_key *key)
{
	put_key(w, key->name);
	open_with(w, "{");
	put_member(w, "description", key->help);
	put_type(w, key);
	close_with(w, "}");
}

/* The members of an object's schema after its properties: those of `required` and the one word. */
static void close_object(struct writer *w, const char *word, const char *required)
{
	close_with(w, "}");
	put_key(w, "additionalProperties");
	fault_write_put(w, "false");
	put_key(w, "required");
	open_with(w, "[");
	if (*word) {
		put_item(w);
		put_string(w, word);
	}
	for (const char *at = required; *at; at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ')) {
		char name[16];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " "), at);
		put_item(w);
		put_string(w, name);
	}
	close_with(w, "]");
	close_with(w, "}");
}

static void put_object(struct writer *w, const struct fault_keys *keys)
{
	char required[64] = "";

	open_with(w, "{");
	put_member(w, "type", "object");
	put_key(w, "properties");
	open_with(w, "{");
	for (size_t i = 0; i < keys->count; i++) {
		put_property(w, &keys->keys[i]);
		if (keys->keys[i].required)
			snprintf(required + strlen(required), sizeof(required) - strlen(required), "%s%s",
				*required ? " " : "", keys->keys[i].name);
	}
	close_object(w, "", required);
}

/* One shape; `tag` NULL: its word is a key, else the value of that key. */
static void put_shape(
	struct writer *w, const struct fault_keys *keys, const struct fault_shape *shape, const char *tag)
{
	put_item(w);
	open_with(w, "{");
	put_member(w, "description", shape->help);
	put_member(w, "type", "object");
	put_key(w, "properties");
	open_with(w, "{");
	if (tag) {
		put_key(w, tag);
		open_with(w, "{");
		put_member(w, "const", shape->word);
		close_with(w, "}");
	}
	for (size_t i = 0; i < keys->count; i++) {
		struct slice name = slice_of(keys->keys[i].name);

		if ((!tag && slice_is(name, shape->word)) || fault_word_index(shape->keys, name) >= 0)
			put_property(w, &keys->keys[i]);
	}
	close_object(w, tag ? tag : shape->word, shape->required);
}

/* The words that need no further key, and an object for each. */
static void put_acts(struct writer *w, bool during)
{
	open_with(w, "{");
	put_key(w, "oneOf");
	open_with(w, "[{");
	put_key(w, "enum");
	open_with(w, "[");
	for (int i = 0; i < FAULT_DO_COUNT; i++) {
		if (*fault_what_shapes[i].required || (during && !fault_what_shapes[i].during))
			continue;
		put_item(w);
		put_string(w, fault_what_shapes[i].word);
	}
	close_with(w, "]}");
	for (int i = 0; i < FAULT_DO_COUNT; i++) {
		if (!during || fault_what_shapes[i].during)
			put_shape(w, &fault_what_keys, &fault_what_shapes[i], "do");
	}
	close_with(w, "]}");
}

static void put_when_schema(struct writer *w)
{
	open_with(w, "{");
	put_key(w, "oneOf");
	open_with(w, "[");
	for (size_t i = 0; i < FAULT_TRIGGERS; i++)
		put_shape(w, &fault_when_keys, &fault_when_shapes[i], NULL);
	close_with(w, "]}");
}

static void put_length_schema(struct writer *w)
{
	open_with(w, "{");
	put_key(w, "oneOf");
	open_with(w, "[{");
	put_duration_type(w);
	fault_write_put(w,
		"},{\"type\":\"object\",\"properties\":{\"events\":{\"type\":\"integer\",\"minimum\":1}},"
		"\"additionalProperties\":false,\"required\":[\"events\"]}]}");
	w->first = false;
}

int fault_schema_write(struct buf *to, struct err *err)
{
	struct writer w = writer(err);

	open_with(&w, "{");
	put_member(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_member(&w, "title", "kubetape fault file");
	put_key(&w, "allOf");
	open_with(&w, "[");
	put_object(&w, &fault_file_keys);
	close_with(&w, "]");
	put_key(&w, "$defs");
	open_with(&w, "{");
	put_key(&w, "rule");
	put_object(&w, &fault_rule_keys);
	put_key(&w, "when");
	put_when_schema(&w);
	put_key(&w, "where");
	put_object(&w, &fault_where_keys);
	put_key(&w, "what");
	put_acts(&w, false);
	put_key(&w, "during");
	put_acts(&w, true);
	put_key(&w, "length");
	put_length_schema(&w);
	close_with(&w, "}");
	close_with(&w, "}");
	return fault_write_finish(&w, to);
}
