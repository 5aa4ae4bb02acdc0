/*
 * label_selector.c: see label_selector.h. A list of tokens, then one function for each rule of the grammar;
 * where a rule can fail, it fails with the words of the API server, because people search for those.
 */
#include "replayer/request/label_selector.h"

#include "replayer/request/label_syntax.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

#include <errno.h>
#include <stdlib.h>

#define TOKENS_MAX 4096 /* in one selector; a request head of 1 MiB could hold many more */

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_NOT,
	TOKEN_EQUALS,     /* "=" and "==" */
	TOKEN_NOT_EQUALS, /* "!=" */
	TOKEN_GREATER,
	TOKEN_LESS,
	TOKEN_IN,
	TOKEN_NOT_IN,
};

struct token {
	enum token_kind kind;
	struct slice text;
};

enum op { EXISTS, ABSENT, IN, NOT_IN, GREATER, LESS };

struct requirement {
	char *key;
	enum op op;
	char **values; /* sorted, no duplicates */
	size_t value_count;
	int64_t bound; /* of GREATER and LESS */
};

struct label_selector {
	struct requirement *requirements;
	size_t count;
};

struct parser {
	struct token *tokens;
	size_t at, count;
	struct label_selector *out;
};

/* ---- tokens ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
	return c && strchr("=!(),><", c);
}

static struct token next_symbol(struct slice in)
{
	static const struct {
		const char *text;
		enum token_kind kind;
	} symbols[] = {
		{"!=", TOKEN_NOT_EQUALS},
		{"==", TOKEN_EQUALS},
		{"=", TOKEN_EQUALS},
		{"!", TOKEN_NOT},
		{"(", TOKEN_OPEN},
		{")", TOKEN_CLOSE},
		{",", TOKEN_COMMA},
		{">", TOKEN_GREATER},
		{"<", TOKEN_LESS},
	};

	for (size_t i = 0; i < COUNT_OF(symbols); i++) {
		size_t n = strlen(symbols[i].text);

		if (in.len >= n && memcmp(in.ptr, symbols[i].text, n) == 0)
			return (struct token){symbols[i].kind, {in.ptr, n}};
	}
	return (struct token){TOKEN_END, {in.ptr, 0}};
}

static struct token next_token(struct slice in)
{
	struct token t = {TOKEN_WORD, {in.ptr, 0}};

	if (in.len == 0 || in.ptr[0] == 0)
		return (struct token){TOKEN_END, {in.ptr, 0}};
	if (is_symbol(in.ptr[0]))
		return next_symbol(in);
	while (t.text.len < in.len && !is_blank(in.ptr[t.text.len]) && !is_symbol(in.ptr[t.text.len]) &&
		in.ptr[t.text.len])
		t.text.len++;
	if (slice_is(t.text, "in"))
		t.kind = TOKEN_IN;
	else if (slice_is(t.text, "notin"))
		t.kind = TOKEN_NOT_IN;
	return t;
}

static int read_tokens(struct slice in, struct parser *p, struct err *err)
{
	struct token t;

	do {
		while (in.len && is_blank(in.ptr[0]))
			in = (struct slice){in.ptr + 1, in.len - 1};
		t = next_token(in);
		if (p->count == TOKENS_MAX)
			return err_set(err, ERR_PROTOCOL, "label selector of more than %d words", TOKENS_MAX);
		if (p->count % 64 == 0)
			p->tokens = xrealloc(p->tokens, (p->count + 64) * sizeof(*p->tokens));
		p->tokens[p->count++] = t;
		in = (struct slice){t.text.ptr + t.text.len, in.len - t.text.len};
	} while (t.kind != TOKEN_END);
	return 0;
}

/* The token ahead. Among names and values "in" and "notin" are words like others. */
static struct token label_selector_look(const struct parser *p, bool among_words)
{
	struct token t = p->tokens[p->at];

	if (among_words && (t.kind == TOKEN_IN || t.kind == TOKEN_NOT_IN))
		t.kind = TOKEN_WORD;
	return t;
}

static struct token label_selector_take(struct parser *p, bool among_words)
{
	struct token t = label_selector_look(p, among_words);

	if (p->at + 1 < p->count)
		p->at++;
	return t;
}

static int expected(struct token found, const char *what, struct err *err)
{
	return err_set(
		err, ERR_PROTOCOL, "found '%.*s', expected: %s", (int)found.text.len, found.text.ptr, what);
}

/* ---- requirements ---- */

static void add_value(struct requirement *r, struct slice value)
{
	size_t at = 0;

	while (at < r->value_count && slice_compare(slice_of(r->values[at]), value) < 0)
		at++;
	if (at < r->value_count && slice_is(value, r->values[at]))
		return;
	r->values = xrealloc(r->values, (r->value_count + 1) * sizeof(*r->values));
	memmove(r->values + at + 1, r->values + at, (r->value_count - at) * sizeof(*r->values));
	r->values[at] = slice_dup(value);
	r->value_count++;
}

/* What stands between the brackets of "in (a,b)"; an empty place is the empty value. */
static int parse_list(struct parser *p, struct requirement *r, struct err *err)
{
	for (;;) {
		struct token t = label_selector_take(p, true);

		if (t.kind == TOKEN_WORD) {
			add_value(r, t.text);
			t = label_selector_look(p, true);
			if (t.kind == TOKEN_CLOSE)
				return 0;
			if (t.kind != TOKEN_COMMA)
				return expected(t, "',' or ')'", err);
			continue;
		}
		if (t.kind != TOKEN_COMMA)
			return expected(t, "',', or identifier", err);
		if (r->value_count == 0)
			add_value(r, slice_of(""));
		t = label_selector_look(p, true);
		if (t.kind == TOKEN_CLOSE || t.kind == TOKEN_COMMA)
			add_value(r, slice_of(""));
		if (t.kind == TOKEN_CLOSE)
			return 0;
		if (t.kind == TOKEN_COMMA)
			label_selector_take(p, true);
	}
}

static int parse_values(struct parser *p, struct requirement *r, struct err *err)
{
	struct token t = label_selector_take(p, true);
	int rc;

	if (t.kind != TOKEN_OPEN)
		return err_set(err, ERR_PROTOCOL, "found '%.*s' expected: '('", (int)t.text.len, t.text.ptr);
	t = label_selector_look(p, true);
	if (t.kind == TOKEN_CLOSE) {
		label_selector_take(p, true);
		add_value(r, slice_of(""));
		return 0;
	}
	if (t.kind != TOKEN_WORD && t.kind != TOKEN_COMMA)
		return expected(t, "',', ')' or identifier", err);
	rc = parse_list(p, r, err);
	if (rc == 0)
		label_selector_take(p, true);
	return rc;
}

static int parse_exact_value(struct parser *p, struct requirement *r, struct err *err)
{
	struct token t = label_selector_look(p, true);

	if (t.kind == TOKEN_END || t.kind == TOKEN_COMMA) {
		add_value(r, slice_of(""));
		return 0;
	}
	t = label_selector_take(p, true);
	if (t.kind != TOKEN_WORD)
		return expected(t, "identifier", err);
	add_value(r, t.text);
	return 0;
}

static int parse_operator(struct parser *p, struct requirement *r, struct err *err)
{
	struct token t = label_selector_take(p, false);

	switch (t.kind) {
	case TOKEN_IN: r->op = IN; return parse_values(p, r, err);
	case TOKEN_NOT_IN: r->op = NOT_IN; return parse_values(p, r, err);
	case TOKEN_EQUALS: r->op = IN; return parse_exact_value(p, r, err);
	case TOKEN_NOT_EQUALS: r->op = NOT_IN; return parse_exact_value(p, r, err);
	case TOKEN_GREATER: r->op = GREATER; return parse_exact_value(p, r, err);
	case TOKEN_LESS: r->op = LESS; return parse_exact_value(p, r, err);
	default: return expected(t, "in, notin, =, ==, !=, gt, lt", err);
	}
}

static int parse_bound(struct requirement *r, struct err *err)
{
	char *end;

	errno = 0;
	r->bound = strtoll(r->values[0], &end, 10);
	if (*r->values[0] && *end == 0 && errno == 0)
		return 0;
	return err_set(err, ERR_PROTOCOL,
		"values[0]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, the value must be an integer",
		r->values[0]);
}

static int check_values(const struct requirement *r, struct slice key, struct err *err)
{
	for (size_t i = 0; i < r->value_count; i++) {
		const char *problem = label_value_problem(slice_of(r->values[i]));

		if (problem)
			return err_set(err, ERR_PROTOCOL, "values[%zu][%.*s]: Invalid value: \"%s\": %s", i,
				(int)key.len, key.ptr, r->values[i], problem);
	}
	return 0;
}

static int parse_requirement(struct parser *p, struct requirement *r, struct err *err)
{
	struct token t = label_selector_take(p, true), next;
	bool negated = t.kind == TOKEN_NOT;
	char problem[LABEL_PROBLEM_MAX];
	int rc = 0;

	if (negated)
		t = label_selector_take(p, true);
	if (t.kind != TOKEN_WORD)
		return expected(t, "identifier", err);
	if (label_key_problem(t.text, problem))
		return err_set(err, ERR_PROTOCOL, "<nil>: Invalid value: \"%.*s\": %s", (int)t.text.len,
			t.text.ptr, problem);
	r->key = slice_dup(t.text);
	next = label_selector_look(p, true);
	r->op = negated ? ABSENT : EXISTS;
	if (!negated && next.kind != TOKEN_END && next.kind != TOKEN_COMMA)
		rc = parse_operator(p, r, err);
	if (rc == 0 && (r->op == GREATER || r->op == LESS))
		rc = parse_bound(r, err);
	return rc ? rc : check_values(r, t.text, err);
}

static struct requirement *new_requirement(struct label_selector *s)
{
	s->requirements = xrealloc(s->requirements, (s->count + 1) * sizeof(*s->requirements));
	s->requirements[s->count] = (struct requirement){0};
	return &s->requirements[s->count++];
}

static int parse_selector(struct parser *p, struct err *err)
{
	int rc;

	for (;;) {
		struct token t = label_selector_look(p, true);

		if (t.kind == TOKEN_END)
			return 0;
		if (t.kind != TOKEN_WORD && t.kind != TOKEN_NOT)
			return expected(t, "!, identifier, or 'end of string'", err);
		rc = parse_requirement(p, new_requirement(p->out), err);
		if (rc)
			return err_prefix(err, rc, "unable to parse requirement");
		t = label_selector_take(p, true);
		if (t.kind == TOKEN_END)
			return 0;
		if (t.kind != TOKEN_COMMA)
			return expected(t, "',' or 'end of string'", err);
		t = label_selector_look(p, true);
		if (t.kind != TOKEN_WORD && t.kind != TOKEN_NOT)
			return expected(t, "identifier after ','", err);
	}
}

int label_selector_parse(struct slice text, struct label_selector **ret, struct err *err)
{
	struct parser p = {.out = xcalloc(1, sizeof(*p.out))};
	int rc = read_tokens(text.len ? text : slice_of(""), &p, err);

	if (rc == 0)
		rc = parse_selector(&p, err);
	free(p.tokens);
	if (rc || p.out->count == 0) {
		label_selector_free(p.out);
		p.out = NULL;
	}
	if (rc == 0)
		*ret = p.out;
	return rc;
}

void label_selector_free(struct label_selector *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < s->requirements[i].value_count; k++)
			free(s->requirements[i].values[k]);
		free(s->requirements[i].values);
		free(s->requirements[i].key);
	}
	free(s->requirements);
	free(s);
}

/* ---- matching ---- */

/* Keys and values of labels hold no character that JSON escapes, so they compare as they stand. 1 and the
 * value without quotes, or 0. */
static bool find_label(struct slice labels, const char *key, struct slice *ret)
{
	struct json_iter it;
	struct slice name, value;
	bool found = false;

	if (labels.len == 0 || json_iter_begin(labels, &it, NULL))
		return false;
	while (json_iter_next(&it, &name, &value, NULL) > 0) {
		if (slice_is(name, key) && value.len >= 2 && value.ptr[0] == '"') {
			*ret = (struct slice){value.ptr + 1, value.len - 2};
			found = true;
		}
	}
	return found;
}

static int compare_value(const void *value, const void *among)
{
	return slice_compare(*(const struct slice *)value, slice_of(*(char *const *)among));
}

static bool has_value(const struct requirement *r, struct slice value)
{
	return r->value_count &&
	       bsearch(&value, r->values, r->value_count, sizeof(*r->values), compare_value);
}

static bool compare_bound(const struct requirement *r, struct slice value)
{
	char digits[24], *end;
	int64_t number;

	if (value.len == 0 || value.len >= sizeof(digits))
		return false;
	memcpy(digits, value.ptr, value.len);
	digits[value.len] = 0;
	errno = 0;
	number = strtoll(digits, &end, 10);
	if (*end || errno)
		return false;
	return r->op == GREATER ? number > r->bound : number < r->bound;
}

static bool requirement_matches(const struct requirement *r, bool present, struct slice value)
{
	switch (r->op) {
	case EXISTS: return present;
	case ABSENT: return !present;
	case IN: return present && has_value(r, value);
	case NOT_IN: return !present || !has_value(r, value);
	case GREATER:
	case LESS: return present && compare_bound(r, value);
	}
	return false;
}

/* A label is looked for once for all requirements of its key that follow one another. */
bool label_selector_matches(const struct label_selector *s, struct slice labels)
{
	struct slice value = {NULL, 0};
	const char *key = NULL;
	bool present = false;

	for (size_t i = 0; s && i < s->count; i++) {
		const struct requirement *r = &s->requirements[i];

		if (!key || strcmp(key, r->key) != 0)
			present = find_label(labels, r->key, &value);
		key = r->key;
		if (!requirement_matches(r, present, value))
			return false;
	}
	return true;
}
