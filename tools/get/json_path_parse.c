/* json_path_parse.c: from a template to what it is made of, see json_path.h. */
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tools/get/json_path_internal.h"

#include <ctype.h>
#include <stdlib.h>

#define DEPTH_MAX 64

struct parser {
	const char *all, *at, *end;
	struct err *err;
	unsigned depth;
};

static int refuse(const struct parser *p, const char *why)
{
	return err_set(p->err, ERR_USAGE, "bad jsonpath '%s': %s at byte %zu", p->all, why,
		(size_t)(p->at - p->all));
}

static struct path_node *add_node(struct path_list *to, enum path_kind kind)
{
	to->items = xgrow(to->items, to->count, sizeof(*to->items));
	to->items[to->count] = (struct path_node){.kind = kind};
	return &to->items[to->count++];
}

static struct path_list *add_list(struct path_node *to)
{
	to->lists = xgrow(to->lists, to->list_count, sizeof(*to->lists));
	to->lists[to->list_count] = (struct path_list){NULL, 0};
	return &to->lists[to->list_count++];
}

static int peek(const struct parser *p)
{
	return p->at < p->end ? (unsigned char)*p->at : 0;
}

static bool take(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
		return false;
	p->at += len;
	return true;
}

/* A text becomes a string of JSON. */
static int add_text(struct parser *p, struct path_list *to, struct slice text)
{
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	rc = json_escape(text, &json, p->err);
	if (!rc)
		add_node(to, PATH_VALUE)->text = slice_dup(buf_slice(&json));
	buf_release(&json);
	return rc;
}

/* ---- what stands in quotes ---- */

static char unescaped(char c)
{
	static const char from[] = "ntrabfv", to[] = "\n\t\r\a\b\f\v";
	const char *at = strchr(from, c);

	return c && at ? to[at - from] : c;
}

static int take_quoted(struct parser *p, struct buf *to)
{
	char quote = *p->at++;
	int rc = 0;

	while (!rc && peek(p) && peek(p) != quote) {
		char c = *p->at++;

		if (c == '\\' && peek(p))
			c = unescaped(*p->at++);
		rc = buf_append(to, &c, 1, p->err);
	}
	if (rc)
		return rc;
	return take(p, (char[]){quote, 0}) ? 0 : refuse(p, "a text that does not end");
}

static int parse_quoted(struct parser *p, struct path_list *to)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = take_quoted(p, &text);
	if (!rc)
		rc = add_text(p, to, buf_slice(&text));
	buf_release(&text);
	return rc;
}

/* ---- fields ---- */

static int parse_name(struct parser *p, struct path_list *to)
{
	struct buf name;
	int rc = 0;

	buf_init(&name, LIMIT_CONFIG_BYTES);
	while (!rc && peek(p) && !strchr(" \t\n.,[]()'\"$@{}=<>!", peek(p))) {
		if (*p->at == '\\' && p->at + 1 < p->end)
			p->at++;
		rc = buf_append(&name, p->at++, 1, p->err);
	}
	if (!rc && name.len == 1 && *name.ptr == '*')
		add_node(to, PATH_WILDCARD);
	else if (!rc && name.len)
		add_node(to, PATH_FIELD)->text = slice_dup(buf_slice(&name));
	buf_release(&name);
	return rc;
}

/* ---- brackets ---- */

static int parse_action(struct parser *p, struct path_list *to, const char *ends);

/* "3", "-1", "0:2", ":2", "::2" */
static bool parse_bounds(struct slice text, struct path_node *n)
{
	char *copy = slice_dup(text), *at = copy, *end;
	size_t i = 0;

	n->is_index = !strchr(copy, ':');
	for (; i < 3; i++) {
		n->bounds[i].value = strtol(at, &end, 10);
		n->bounds[i].known = end != at;
		at = end;
		if (*at != ':')
			break;
		at++;
	}
	i = *at != 0 || i == 3 || (n->is_index && !n->bounds[0].known);
	free(copy);
	return !i;
}

/* What stands in quotes is a path: a dot in a name has a backslash before it, there too. */
static int parse_quoted_path(struct parser *p, struct path_list *to)
{
	char quote[2] = {*p->at++, 0};
	int rc = parse_name(p, to);

	while (!rc && take(p, "."))
		rc = parse_name(p, to);
	return rc || take(p, quote) ? rc : refuse(p, "a name that does not end");
}

static int parse_element(struct parser *p, struct path_list *to)
{
	const char *begin;

	while (peek(p) == ' ')
		p->at++;
	if (peek(p) == '\'' || peek(p) == '"')
		return parse_quoted_path(p, to);
	if (take(p, "*")) {
		add_node(to, PATH_WILDCARD);
		return 0;
	}
	for (begin = p->at; peek(p) && strchr("0123456789-:", peek(p)); p->at++)
		;
	if (!parse_bounds((struct slice){begin, (size_t)(p->at - begin)}, add_node(to, PATH_SLICE)))
		return refuse(p, "expected an index, a slice, a name in quotes or *");
	return 0;
}

static int parse_array(struct parser *p, struct path_list *to)
{
	struct path_list first = {NULL, 0};
	struct path_node *n;
	int rc = parse_element(p, &first);

	while (!rc && peek(p) == ' ')
		p->at++;
	if (!rc && peek(p) == ',') {
		n = add_node(to, PATH_UNION);
		*add_list(n) = first;
		while (!rc && take(p, ","))
			rc = parse_element(p, add_list(n));
	} else {
		n = add_node(to, PATH_LIST);
		*add_list(n) = first;
	}
	if (!rc && !take(p, "]"))
		rc = refuse(p, "expected ]");
	return rc;
}

static enum path_operator parse_operator(struct parser *p)
{
	static const struct {
		const char *word;
		enum path_operator op;
	} rows[] = {{"==", PATH_EQ}, {"!=", PATH_NE}, {"<=", PATH_LE}, {">=", PATH_GE}, {"<", PATH_LT},
		{">", PATH_GT}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (take(p, rows[i].word))
			return rows[i].op;
	}
	return PATH_EXISTS;
}

static int parse_filter(struct parser *p, struct path_list *to)
{
	struct path_list left = {NULL, 0}, right = {NULL, 0};
	enum path_operator op;
	struct path_node *n;
	int rc = parse_action(p, &left, "=!<>)");

	op = parse_operator(p);
	if (!rc && op != PATH_EXISTS)
		rc = parse_action(p, &right, ")");
	if (!rc && !take(p, ")]"))
		rc = refuse(p, "expected )]");
	n = add_node(to, PATH_FILTER);
	n->op = op;
	*add_list(n) = left;
	*add_list(n) = right;
	return rc;
}

/* ---- what stands in braces ---- */

static int parse_word(struct parser *p, struct path_list *to)
{
	const char *begin = p->at;
	size_t len;

	while (isalnum(peek(p)) || peek(p) == '_' || peek(p) == '.' || peek(p) == '-' || peek(p) == '+')
		p->at++;
	len = (size_t)(p->at - begin);
	if (isalpha((unsigned char)*begin) && !slice_is((struct slice){begin, len}, "true") &&
		!slice_is((struct slice){begin, len}, "false"))
		return refuse(p, "an unknown word before this");
	add_node(to, PATH_VALUE)->text = slice_dup((struct slice){begin, len});
	return 0;
}

static int parse_step(struct parser *p, struct path_list *to)
{
	if (take(p, "[?("))
		return parse_filter(p, to);
	if (take(p, "..")) {
		add_node(to, PATH_RECURSIVE);
		return peek(p) == '[' ? 0 : parse_name(p, to);
	}
	if (take(p, "["))
		return parse_array(p, to);
	if (take(p, "."))
		return parse_name(p, to);
	if (take(p, " ") || take(p, "@") || take(p, "$"))
		return 0;
	if (peek(p) == '"' || peek(p) == '\'')
		return parse_quoted(p, to);
	if (isalnum(peek(p)) || peek(p) == '-' || peek(p) == '+')
		return parse_word(p, to);
	return refuse(p, p->at == p->end ? "it does not end" : "an unexpected character");
}

/* Up to one of the characters that end it, which stays. */
static int parse_action(struct parser *p, struct path_list *to, const char *ends)
{
	int rc = 0;

	if (p->depth++ > DEPTH_MAX)
		return refuse(p, "it nests too deep");
	while (!rc && !(peek(p) && strchr(ends, peek(p))))
		rc = parse_step(p, to);
	p->depth--;
	return rc;
}

/* ---- the template ---- */

static int parse_template(struct parser *p, struct path_list *to, bool in_range);

static int parse_range(struct parser *p, struct path_list *to)
{
	struct path_list over = {NULL, 0}, body = {NULL, 0};
	struct path_node *n;
	int rc = parse_action(p, &over, "}");

	if (!rc) {
		p->at++;
		rc = p->depth++ > DEPTH_MAX ? refuse(p, "it nests too deep") : parse_template(p, &body, true);
		p->depth--;
	}
	n = add_node(to, PATH_RANGE);
	*add_list(n) = over;
	*add_list(n) = body;
	return rc;
}

static int parse_braces(struct parser *p, struct path_list *to)
{
	struct path_list inside = {NULL, 0};
	int rc = parse_action(p, &inside, "}");

	*add_list(add_node(to, PATH_LIST)) = inside;
	if (!rc)
		p->at++;
	return rc;
}

static int parse_template(struct parser *p, struct path_list *to, bool in_range)
{
	int rc = 0;

	while (!rc && p->at < p->end) {
		const char *brace = memchr(p->at, '{', (size_t)(p->end - p->at));
		const char *stop = brace ? brace : p->end;

		if (stop > p->at)
			rc = add_text(p, to, (struct slice){p->at, (size_t)(stop - p->at)});
		p->at = stop;
		if (rc || !take(p, "{"))
			continue;
		while (take(p, " "))
			;
		if (take(p, "end}"))
			return in_range ? 0 : refuse(p, "an end without a range");
		rc = take(p, "range ") ? parse_range(p, to) : parse_braces(p, to);
	}
	return rc || !in_range ? rc : refuse(p, "a range without an end");
}

int json_path_parse(const char *template, struct json_path **ret, struct err *err)
{
	struct json_path *path = xcalloc(1, sizeof(*path));
	struct parser p = {template, template, template + strlen(template), err, 0};
	int rc = parse_template(&p, &path->root, false);

	if (rc)
		json_path_free(path);
	else
		*ret = path;
	return rc;
}

int json_path_parse_relaxed(struct slice path, struct json_path **ret, struct err *err)
{
	bool braces = path.len > 1 && path.ptr[0] == '{' && path.ptr[path.len - 1] == '}';
	char *template;
	int rc;

	if (braces)
		path = (struct slice){path.ptr + 1, path.len - 2};
	(void)slice_skip(&path, ".");
	if (!path.len || memchr(path.ptr, '{', path.len) || memchr(path.ptr, '}', path.len))
		return err_set(err, ERR_USAGE, "expected a path such as '.metadata.name', found '%.*s'",
			(int)path.len, path.ptr);
	template = xasprintf("{.%.*s}", (int)path.len, path.ptr);
	rc = json_path_parse(template, ret, err);
	free(template);
	return rc;
}
