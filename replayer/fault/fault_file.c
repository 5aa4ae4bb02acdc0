/*
 * fault_file.c: see fault_file.h. The text is checked to be JSON first; then it is walked along the tables of
 * fault_keys.h. A slice of the text is a place in it, so that every message can name line and column.
 */
#include "replayer/fault/fault_file.h"

#include "replayer/fault/fault_keys.h"
#include "schema/base/clock.h"
#include "schema/base/json_compact.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/sql/predicate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct reader {
	struct slice text;
	const char *name;
	struct err *err;
};

/* Keys of one object that were there, by their place in the table. */
typedef uint32_t key_set;

static char *place_of(const struct reader *r, const char *at)
{
	size_t line = 1, column = 1;

	for (const char *p = r->text.ptr; p < at; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return xasprintf("%s, line %zu, column %zu", r->name, line, column);
}

__attribute__((format(printf, 3, 4))) static int fail(
	const struct reader *r, const char *at, const char *format, ...)
{
	char *place = place_of(r, at), *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	err_set(r->err, ERR_USAGE, "%s: %s", place, text ? text : "out of memory");
	free(place);
	free(text);
	return ERR_USAGE;
}

/* Puts the place before what somebody else said. */
static int fail_at(const struct reader *r, const char *at, const struct err *said)
{
	return fail(r, at, "%s", said->text);
}

/* A piece of the text for a message. */
static int shown(struct slice s)
{
	return (int)(s.len < 60 ? s.len : 60);
}

static const char *type_of(struct slice value)
{
	switch (value.len ? value.ptr[0] : 0) {
	case '{': return "an object";
	case '[': return "an array";
	case '"': return "a string";
	case 't':
	case 'f': return "true or false";
	case 'n': return "null";
	default: return "a number";
	}
}

static int demand(const struct reader *r, struct slice value, const char *what, char opening)
{
	if (value.ptr[0] == opening)
		return 0;
	return fail(r, value.ptr, "expected %s, found %s", what, type_of(value));
}

/* ---- values ---- */

static int read_text(const struct reader *r, struct slice value, char **ret)
{
	struct buf text;
	struct err err;
	int rc = demand(r, value, "a string", '"');

	if (rc < 0)
		return rc;
	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = json_unescape(value, &text, &err);
	if (rc < 0)
		rc = fail_at(r, value.ptr, &err);
	else if (memchr(text.len ? text.ptr : "", 0, text.len))
		rc = fail(r, value.ptr, "a string with a NUL in it");
	if (rc == 0) {
		free(*ret);
		*ret = slice_dup(buf_slice(&text));
	}
	buf_release(&text);
	return rc;
}

static int read_expression(const struct reader *r, struct slice value, char **ret)
{
	struct predicate *p;
	struct err err;
	int rc = read_text(r, value, ret);

	if (rc < 0)
		return rc;
	if (predicate_compile(slice_of(*ret), NULL, &p, &err))
		return fail(r, value.ptr, "bad expression: %s", err.text);
	predicate_free(p);
	return 0;
}

static int read_write(const struct reader *r, struct slice value, char **ret)
{
	struct fault_kind_of_write kind;
	struct err err;
	int rc = read_text(r, value, ret);

	if (rc < 0)
		return rc;
	if (fault_write_parse(*ret, &kind, &err))
		return fail_at(r, value.ptr, &err);
	fault_kind_of_write_release(&kind);
	return 0;
}

/* One of the words, when there are words. */
static int check_word(const struct reader *r, struct slice value, const char *words, const char *found)
{
	if (!words || fault_word_index(words, slice_of(found)) >= 0)
		return 0;
	return fail(r, value.ptr, "unknown word '%.60s', expected one of: %s", found, words);
}

static int add_text(const struct reader *r, struct slice value, const char *words, struct fault_texts *to)
{
	char *text = NULL;
	int rc = read_text(r, value, &text);

	if (rc == 0)
		rc = check_word(r, value, words, text);
	if (rc == 0 && !*text)
		rc = fail(r, value.ptr, "expected a word, found an empty string");
	if (rc < 0) {
		free(text);
		return rc;
	}
	fault_texts_add(to, text);
	return 0;
}

static int read_texts(const struct reader *r, struct slice value, const char *words, struct fault_texts *to)
{
	struct json_iter it;
	struct slice item;
	int rc;

	if (value.ptr[0] == '"')
		return add_text(r, value, words, to);
	rc = demand(r, value, "a string or an array of strings", '[');
	if (rc == 0)
		rc = json_iter_begin(value, &it, r->err);
	while (rc == 0 && json_iter_next(&it, NULL, &item, r->err) > 0)
		rc = add_text(r, item, words, to);
	if (rc == 0 && to->count == 0)
		return fail(r, value.ptr, "expected at least one string");
	return rc;
}

static int read_integer(const struct reader *r, struct slice value, int64_t least, int64_t most, int64_t *ret)
{
	char text[24], *end;
	long long number;

	if (value.len >= sizeof(text) || !strchr("-0123456789", value.ptr[0]))
		return fail(r, value.ptr, "expected an integer, found %s", type_of(value));
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (*end || errno)
		return fail(r, value.ptr, "expected an integer, found '%s'", text);
	if (number < least || number > most)
		return fail(r, value.ptr, "%lld is out of range: expected %" PRId64 " to %" PRId64, number,
			least, most);
	*ret = number;
	return 0;
}

static int read_share(const struct reader *r, struct slice value, double *ret)
{
	char text[40];
	double number;

	if (value.len >= sizeof(text) || !strchr("-0123456789", value.ptr[0]))
		return fail(r, value.ptr, "expected a number, found %s", type_of(value));
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	number = strtod(text, NULL);
	if (!(number > 0 && number <= 1))
		return fail(r, value.ptr, "%s is out of range: expected above 0, at most 1", text);
	*ret = number;
	return 0;
}

static int read_bool(const struct reader *r, struct slice value, bool *ret)
{
	if (value.ptr[0] != 't' && value.ptr[0] != 'f')
		return fail(r, value.ptr, "expected true or false, found %s", type_of(value));
	*ret = value.ptr[0] == 't';
	return 0;
}

static int read_duration(const struct reader *r, struct slice value, int64_t *ret)
{
	char *text = NULL;
	struct err err;
	int rc = read_text(r, value, &text);

	if (rc == 0 && duration_parse(text, ret, &err))
		rc = fail_at(r, value.ptr, &err);
	free(text);
	return rc;
}

static int read_choice(const struct reader *r, struct slice value, const char *words, int *ret)
{
	char *text = NULL;
	int rc = read_text(r, value, &text);

	if (rc == 0)
		rc = check_word(r, value, words, text);
	if (rc == 0)
		*ret = fault_word_index(words, slice_of(text));
	free(text);
	return rc;
}

static int read_json(const struct reader *r, struct slice value, char **ret)
{
	struct buf text;
	int rc = demand(r, value, "an object", '{');

	if (rc < 0)
		return rc;
	buf_init(&text, LIMIT_CONFIG_BYTES * 8);
	rc = json_compact(value, &text, r->err);
	if (rc == 0) {
		free(*ret);
		*ret = slice_dup(buf_slice(&text));
	}
	buf_release(&text);
	return rc;
}

/* ---- objects ---- */

static int read_value(const struct reader *r, const struct fault_key *key, struct slice value, void *base);

static size_t find_key(const struct fault_keys *keys, struct slice name)
{
	size_t i = 0;

	while (i < keys->count && !slice_is(name, keys->keys[i].name))
		i++;
	return i;
}

static int unknown_key(const struct reader *r, struct slice key, const struct fault_keys *keys)
{
	char *list = xstrdup("");

	for (size_t i = 0; i < keys->count; i++) {
		char *longer;

		if (keys->keys[i].kind == KEY_IGNORED)
			continue;
		longer = xasprintf("%s%s%s", list, *list ? ", " : "", keys->keys[i].name);
		free(list);
		list = longer;
	}
	fail(r, key.ptr, "unknown key '%.*s' of %s, expected one of: %s", shown(key), key.ptr, keys->name,
		list);
	free(list);
	return ERR_USAGE;
}

static int check_required(
	const struct reader *r, struct slice object, const struct fault_keys *keys, key_set seen)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (keys->keys[i].required && !(seen >> i & 1))
			return fail(
				r, object.ptr, "'%s' is missing in this %s", keys->keys[i].name, keys->name);
	}
	return 0;
}

/* Reads every member whose key is in the table into base; the key `other`, if not NULL, is left to the
 * caller, who gets its value. */
static int read_members(const struct reader *r, struct slice object, const struct fault_keys *keys,
	void *base, const char *other, struct slice *ret_other, key_set *ret_seen)
{
	struct slice key, value;
	struct json_iter it;
	int rc = demand(r, object, "an object", '{');

	*ret_seen = 0;
	if (rc == 0)
		rc = json_iter_begin(object, &it, r->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, r->err)) > 0) {
		size_t i = find_key(keys, key);

		if (other && slice_is(key, other) && !ret_other->ptr) {
			*ret_other = value;
			rc = 0;
			continue;
		}
		if (i == keys->count && !(other && slice_is(key, other)))
			return unknown_key(r, key, keys);
		if (i == keys->count || *ret_seen >> i & 1)
			return fail(r, key.ptr, "'%.*s' is there twice", shown(key), key.ptr);
		*ret_seen |= (key_set)1 << i;
		rc = read_value(r, &keys->keys[i], value, base);
	}
	return rc < 0 ? rc : check_required(r, object, keys, *ret_seen);
}

/* Every key that is there must belong to the shape (or tell it), and what the
 * shape requires must be there. */
static int check_shape(const struct reader *r, struct slice object, const struct fault_keys *keys,
	const struct fault_shape *shape, key_set seen)
{
	for (size_t i = 0; i < keys->count; i++) {
		struct slice name = slice_of(keys->keys[i].name);
		bool there = seen >> i & 1;

		if (there && !slice_is(name, shape->word) && fault_word_index(shape->keys, name) < 0)
			return fail(r, object.ptr, "'%s' does not go with '%s'%s%s", name.ptr, shape->word,
				*shape->keys ? ", expected of: " : "", shape->keys);
		if (!there && fault_word_index(shape->required, name) >= 0)
			return fail(r, object.ptr, "'%s' needs '%s'", shape->word, name.ptr);
	}
	return 0;
}

static int read_when(const struct reader *r, struct slice object, struct fault_when *ret)
{
	const struct fault_shape *shape = NULL;
	key_set seen;
	int rc = read_members(r, object, &fault_when_keys, ret, NULL, NULL, &seen);

	for (size_t i = 0; i < FAULT_TRIGGERS && rc == 0 && !shape; i++) {
		if (!(seen >> find_key(&fault_when_keys, slice_of(fault_when_shapes[i].word)) & 1))
			continue;
		shape = &fault_when_shapes[i];
		ret->trigger = (enum fault_trigger)i;
	}
	if (rc == 0 && !shape)
		return fail(r, object.ptr, "expected one of the keys: at, event, connection, write");
	if (rc < 0)
		return rc;
	ret->place = place_of(r, object.ptr);
	return check_shape(r, object, &fault_when_keys, shape, seen);
}

static int read_where(const struct reader *r, struct slice object, struct fault_where *ret)
{
	key_set seen;

	ret->place = place_of(r, object.ptr);
	return read_members(r, object, &fault_where_keys, ret, NULL, NULL, &seen);
}

static int read_do(const struct reader *r, struct slice value, int *ret)
{
	char *word = NULL, *list = xstrdup("");
	int rc = read_text(r, value, &word), act = 0;

	for (int i = 0; i < FAULT_DO_COUNT; i++) {
		char *longer = xasprintf("%s%s%s", list, i ? " " : "", fault_what_shapes[i].word);

		free(list);
		list = longer;
	}
	if (rc == 0)
		rc = check_word(r, value, list, word);
	while (rc == 0 && strcmp(fault_what_shapes[act].word, word) != 0)
		act++;
	free(word);
	free(list);
	if (rc == 0)
		*ret = act;
	return rc;
}

static int read_what(const struct reader *r, struct slice value, struct fault_what *ret)
{
	struct slice what = {NULL, 0};
	key_set seen = 0;
	int rc = 0;

	if (value.ptr[0] == '"')
		what = value;
	else if (value.ptr[0] == '{')
		rc = read_members(r, value, &fault_what_keys, ret, "do", &what, &seen);
	else
		return fail(r, value.ptr, "expected a word or an object, found %s", type_of(value));
	if (rc == 0 && !what.ptr)
		return fail(r, value.ptr, "'do' is missing");
	if (rc == 0)
		rc = read_do(r, what, &ret->act);
	if (rc < 0)
		return rc;
	return check_shape(r, value, &fault_what_keys, &fault_what_shapes[ret->act], seen);
}

static int read_length(const struct reader *r, struct slice value, int64_t *ret_ns)
{
	static const struct fault_key keys[] = {{"events", KEY_INTEGER,
		offsetof(struct fault_rule, for_events) - offsetof(struct fault_rule, for_ns), NULL, 1,
		INT64_MAX, true, NULL}};
	static const struct fault_keys length_keys = {"length", keys, 1};
	key_set seen;

	if (value.ptr[0] == '"')
		return read_duration(r, value, ret_ns);
	if (value.ptr[0] == '{')
		return read_members(r, value, &length_keys, ret_ns, NULL, NULL, &seen);
	return fail(r, value.ptr, "expected a duration such as \"10s\" or {\"events\": 3}, found %s",
		type_of(value));
}

static int read_rule(const struct reader *r, struct slice value, struct fault_file *to)
{
	struct fault_rule rule = fault_rule_default();
	struct err err;
	key_set seen;
	int rc = read_members(r, value, &fault_rule_keys, &rule, NULL, NULL, &seen);

	if (rc == 0 && fault_rule_finish(&rule, to->count + 1, &err))
		rc = fail_at(r, value.ptr, &err);
	if (rc == 0 && fault_file_add(to, &rule, &err))
		rc = fail_at(r, value.ptr, &err);
	if (rc < 0)
		fault_rule_release(&rule);
	return rc;
}

static int read_rules(const struct reader *r, struct slice value, struct fault_file *to)
{
	struct json_iter it;
	struct slice item;
	int rc = demand(r, value, "an array of rules", '[');

	if (rc == 0)
		rc = json_iter_begin(value, &it, r->err);
	while (rc == 0 && json_iter_next(&it, NULL, &item, r->err) > 0)
		rc = read_rule(r, item, to);
	return rc;
}

static int read_value(const struct reader *r, const struct fault_key *key, struct slice value, void *base)
{
	void *to = (char *)base + key->offset;

	switch (key->kind) {
	case KEY_TEXT: return read_text(r, value, to);
	case KEY_TEXTS: return read_texts(r, value, key->words, to);
	case KEY_EXPRESSION: return read_expression(r, value, to);
	case KEY_WRITE: return read_write(r, value, to);
	case KEY_INTEGER: return read_integer(r, value, key->least, key->most, to);
	case KEY_SHARE: return read_share(r, value, to);
	case KEY_BOOL: return read_bool(r, value, to);
	case KEY_DURATION: return read_duration(r, value, to);
	case KEY_CHOICE: return read_choice(r, value, key->words, to);
	case KEY_JSON: return read_json(r, value, to);
	case KEY_LENGTH: return read_length(r, value, to);
	case KEY_WHEN: return read_when(r, value, to);
	case KEY_WHERE: return read_where(r, value, to);
	case KEY_WHAT: return read_what(r, value, to);
	case KEY_RULES: return read_rules(r, value, base);
	case KEY_IGNORED: break;
	}
	return 0;
}

/* ---- files ---- */

static struct slice trimmed(struct slice s)
{
	while (s.len && strchr(" \t\r\n", s.ptr[0]))
		s = (struct slice){s.ptr + 1, s.len - 1};
	return s;
}

int fault_file_parse(struct slice json, const char *name, struct fault_file *ret, struct err *err)
{
	const struct reader r = {
		json.len ? json : slice_of(""), name, err}; /* an empty file has no bytes to point to */
	struct fault_file file = {.seed = FAULT_SEED_DEFAULT};
	const char *expected;
	size_t at;
	key_set seen;
	int rc;

	if (json.len > LIMIT_CONFIG_BYTES)
		return err_set(err, ERR_TOO_LARGE, "%s has %zu bytes, at most %u are read", name, json.len,
			LIMIT_CONFIG_BYTES);
	if (json_check(r.text, &at, &expected))
		return fail(&r, r.text.ptr + at, "bad JSON: expected %s", expected);
	rc = read_members(&r, trimmed(json), &fault_file_keys, &file, NULL, NULL, &seen);
	if (rc < 0)
		fault_file_release(&file);
	else
		*ret = file;
	return rc;
}

int fault_file_text(const char *path, struct buf *to, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	char piece[4096];
	size_t n;
	int rc = 0;

	if (!file)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	while (rc == 0 && (n = fread(piece, 1, sizeof(piece), file)) > 0) {
		if (to->len + n > LIMIT_CONFIG_BYTES || buf_append(to, piece, n, NULL))
			rc = err_set(
				err, ERR_TOO_LARGE, "'%s' has more than %u bytes", path, LIMIT_CONFIG_BYTES);
	}
	if (rc == 0 && ferror(file))
		rc = err_set_errno(err, errno, "cannot read '%s'", path);
	if (!is_stdin)
		fclose(file);
	return rc;
}
