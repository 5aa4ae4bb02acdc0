/* compare_body.c: see compare_body.h. */
#include "schema/run/compare_body.h"

#include "schema/base/count_of.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"

#include <stdlib.h>

/* ---- words ---- */

struct word {
	char *text, *meaning;
};

/* An open table; never more than half full. */
struct word_table {
	struct word *items;
	size_t count, cap; /* cap: a power of two, or 0 */
};

struct word_table *word_table_new(void)
{
	return xcalloc(1, sizeof(struct word_table));
}

void word_table_free(struct word_table *t)
{
	for (size_t i = 0; t && i < t->cap; i++) {
		free(t->items[i].text);
		free(t->items[i].meaning);
	}
	if (t)
		free(t->items);
	free(t);
}

static struct word *compare_body_find(const struct word_table *t, struct slice text)
{
	uint64_t hash = hash_add(HASH_EMPTY, text);

	for (size_t i = hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
		if (!t->items[i].text || slice_is(text, t->items[i].text))
			return &t->items[i];
	}
}

static void compare_body_grow(struct word_table *t)
{
	struct word_table larger = {.cap = t->cap ? 2 * t->cap : 64, .count = t->count};

	larger.items = xcalloc(larger.cap, sizeof(*larger.items));
	for (size_t i = 0; i < t->cap; i++) {
		if (t->items[i].text)
			*compare_body_find(&larger, slice_of(t->items[i].text)) = t->items[i];
	}
	free(t->items);
	*t = larger;
}

void word_table_add(struct word_table *t, struct slice text, const char *meaning)
{
	struct word *w;

	if (2 * (t->count + 1) > t->cap)
		compare_body_grow(t);
	w = compare_body_find(t, text);
	if (w->text)
		return;
	*w = (struct word){slice_dup(text), xstrdup(meaning)};
	t->count++;
}

bool word_table_has(const struct word_table *t, struct slice text)
{
	return t->count && compare_body_find(t, text)->text;
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-' ||
	       c == '.';
}

/* The word at the head of the text, which `also` may be in; a full stop behind it is none of it. */
static size_t word_length(struct slice text, char also)
{
	size_t n = 0;

	while (n < text.len && (in_word(text.ptr[n]) || text.ptr[n] == also))
		n++;
	while (n && text.ptr[n - 1] == '.')
		n--;
	return n;
}

/* What the head of the text means; NULL when that is not known. Names of holders have an underline in them,
 * which elsewhere stands between names. */
static const char *meaning_of(const struct word_table *t, struct slice text, size_t *ret_len)
{
	static const char also[] = {'_', '-'};

	*ret_len = 0;
	for (size_t i = 0; i < sizeof(also); i++) {
		const struct word *w;

		*ret_len = word_length(text, also[i]);
		w = *ret_len && t->count ? compare_body_find(t, (struct slice){text.ptr, *ret_len}) : NULL;
		if (w && w->text)
			return w->meaning;
	}
	return NULL;
}

int word_table_replace(const struct word_table *t, struct slice text, struct buf *to, struct err *err)
{
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && at < text.len) {
		size_t n;
		const char *meaning = meaning_of(t, (struct slice){text.ptr + at, text.len - at}, &n);

		if (meaning)
			rc = buf_append(to, meaning, strlen(meaning), err);
		else
			rc = buf_append(to, text.ptr + at, n ? n : 1, err);
		at += n ? n : 1;
	}
	return rc;
}

/* ---- bodies ---- */

struct walk {
	const struct compare_body *body;
	struct buf *to;
	struct slice names[LIMIT_JSON_DEPTH];
	size_t depth;    /* names of members on the way */
	unsigned levels; /* brackets on the way */
	bool skip_times, skip_secrets, skip_status;
};

struct member {
	struct slice name, value;
};

static int append_value(struct walk *w, struct slice value, struct err *err);

/* Those that are there twice stay in their order. */
static int by_name(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = slice_compare(a->name, b->name);

	return order ? order : (a->value.ptr > b->value.ptr) - (a->value.ptr < b->value.ptr);
}

/* The members of an object, sorted; the caller frees. */
static int members_of(struct slice object, struct member **ret, size_t *ret_count, struct err *err)
{
	struct member *items = NULL, m;
	struct json_iter it;
	size_t count = 0, cap = 0;
	int rc = json_iter_begin(object, &it, err);

	while (rc == 0 && (rc = json_iter_next(&it, &m.name, &m.value, err)) > 0) {
		if (count == cap) {
			cap = cap ? 2 * cap : 16;
			items = xrealloc(items, cap * sizeof(*items));
		}
		items[count++] = m;
		rc = 0;
	}
	if (rc) {
		free(items);
		return rc;
	}
	if (count)
		qsort(items, count, sizeof(*items), by_name);
	*ret = items;
	*ret_count = count;
	return 0;
}

/* What the server does not take from this request: the status, unless it goes there, and then all but it. */
static bool is_not_taken(const struct walk *w, struct slice name)
{
	static const char *const always[] = {"kind", "apiVersion", "metadata", "status"};
	bool to_status = slice_is(w->body->write->what.subresource, "status");

	if (w->depth != 1 || w->levels != 1 || !w->skip_status)
		return false;
	if (!to_status)
		return w->body->has_status && slice_is(name, "status");
	for (size_t i = 0; i < COUNT_OF(always); i++) {
		if (slice_is(name, always[i]))
			return false;
	}
	return true;
}

static int append_member(struct walk *w, const struct member *m, bool first, struct err *err)
{
	int rc = first ? 0 : buf_append(w->to, ",", 1, err);

	if (rc == 0)
		rc = buf_append(w->to, "\"", 1, err);
	if (rc == 0)
		rc = buf_append(w->to, m->name.ptr, m->name.len, err);
	if (rc == 0)
		rc = buf_append(w->to, "\":", 2, err);
	return rc ? rc : append_value(w, m->value, err);
}

static int append_object(struct walk *w, struct slice object, struct err *err)
{
	struct member *items;
	size_t count;
	bool first = true;
	int rc = members_of(object, &items, &count, err);

	if (rc)
		return rc;
	rc = buf_append(w->to, "{", 1, err);
	for (size_t i = 0; i < count && rc == 0; i++) {
		w->names[w->depth++] = items[i].name;
		if (!is_not_taken(w, items[i].name) &&
			!compare_rules_skip_field(w->body->rules, w->body->write, w->names, w->depth)) {
			rc = append_member(w, &items[i], first, err);
			first = false;
		}
		w->depth--;
	}
	free(items);
	return rc ? rc : buf_append(w->to, "}", 1, err);
}

/* One operation of a JSON Patch is ignored with the field it goes to. */
static bool is_ignored_operation(const struct walk *w, struct slice operation)
{
	struct slice pointer, names[RULE_DEPTH_MAX];
	size_t count = 0, at = 2; /* after the quote and the first slash */

	if (w->levels != 1 || json_get(operation, "path", &pointer, NULL) <= 0 || pointer.len < 3)
		return false;
	while (at < pointer.len && count < RULE_DEPTH_MAX) {
		size_t end = at;

		while (end < pointer.len - 1 && pointer.ptr[end] != '/')
			end++;
		names[count++] = (struct slice){pointer.ptr + at, end - at};
		at = end + 1;
	}
	return compare_rules_skip_field(w->body->rules, w->body->write, names, count);
}

static int append_array(struct walk *w, struct slice array, struct err *err)
{
	struct json_iter it;
	struct slice value;
	bool first = true;
	int rc = json_iter_begin(array, &it, err);

	if (rc == 0)
		rc = buf_append(w->to, "[", 1, err);
	while (rc == 0 && (rc = json_iter_next(&it, NULL, &value, err)) > 0) {
		if (is_ignored_operation(w, value)) {
			rc = 0;
			continue;
		}
		rc = first ? 0 : buf_append(w->to, ",", 1, err);
		first = false;
		if (rc == 0)
			rc = append_value(w, value, err);
	}
	return rc ? rc : buf_append(w->to, "]", 1, err);
}

/* "redacted:" and 32 digits, also in base64. */
static bool is_digest(struct slice text)
{
	return (text.len == 41 && slice_begins(text, "redacted:")) ||
	       (text.len == 56 && slice_begins(text, "cmVkYWN0ZWQ6"));
}

static int append_text(struct walk *w, struct slice text, struct err *err)
{
	struct slice inner = {text.ptr + 1, text.len - 2};

	if (w->skip_times && timestamp_parse(inner, NULL))
		return buf_printf(w->to, err, "\"<time>\"");
	if (w->skip_secrets && is_digest(inner))
		return buf_printf(w->to, err, "\"<secret>\"");
	return word_table_replace(w->body->words, text, w->to, err);
}

static int append_value(struct walk *w, struct slice value, struct err *err)
{
	int rc;

	if (value.len >= 2 && value.ptr[0] == '"')
		return append_text(w, value, err);
	if (value.len == 0 || (value.ptr[0] != '{' && value.ptr[0] != '['))
		return buf_append(w->to, value.ptr, value.len, err);
	if (w->levels == LIMIT_JSON_DEPTH - 1)
		return err_set(
			err, ERR_TOO_LARGE, "a body is nested deeper than %d levels", LIMIT_JSON_DEPTH);
	w->levels++;
	rc = value.ptr[0] == '{' ? append_object(w, value, err) : append_array(w, value, err);
	w->levels--;
	return rc;
}

int compare_body_append(const struct compare_body *b, struct buf *to, struct err *err)
{
	struct slice body = b->write->body;
	struct walk *w;
	size_t begin = to->len;
	int rc;

	if (body.len == 0)
		return 0;
	w = xcalloc(1, sizeof(*w));
	w->body = b;
	w->to = to;
	w->skip_times = compare_rules_skip_class(b->rules, b->write, CLASS_TIMES);
	w->skip_secrets = compare_rules_skip_class(b->rules, b->write, CLASS_SECRETS);
	w->skip_status = compare_rules_skip_class(b->rules, b->write, CLASS_STATUS);
	rc = json_get(body, "$", &body, NULL) > 0 ? append_value(w, body, err) : ERR_PROTOCOL;
	free(w);
	if (rc == 0 || rc == ERR_TOO_LARGE)
		return rc;
	to->len = begin;
	return json_escape(b->write->body, to, err);
}
