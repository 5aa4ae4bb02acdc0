/* field_selector.c: see field_selector.h. */
#include "replayer/request/field_selector.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

struct term {
	char *label; /* the field as the client named it */
	struct selectable_field field;
	char *path; /* owned path of a custom resource's field, or NULL */
	char *value;
	size_t value_len;
	bool negated;
};

/* The terms of one field, sorted by their values: first those that it must be equal to, from `negated` on
 * those that it must not. */
struct group {
	size_t begin, negated, end;
};

/* An object is read once for each field, however many terms there are. */
struct field_selector {
	struct term *terms;
	size_t count;
	struct group *groups; /* of the terms, once they are resolved */
	size_t group_count;
};

/* A term as it stands in the text. */
struct raw_term {
	struct slice field, value;
	bool negated;
};

/* Cuts the next term off at a comma that no backslash protects. */
static struct slice take_term(struct slice *rest)
{
	size_t len = 0;
	struct slice term;

	while (len < rest->len && rest->ptr[len] != ',')
		len += rest->ptr[len] == '\\' && len + 1 < rest->len ? 2 : 1;
	term = (struct slice){rest->ptr, len};
	if (len < rest->len)
		len++;
	*rest = (struct slice){rest->ptr + len, rest->len - len};
	return term;
}

/* Splits at the first operator. False when there is none. */
static bool split_term(struct slice text, struct raw_term *ret)
{
	for (size_t i = 0; i < text.len; i++) {
		bool negated = i + 1 < text.len && text.ptr[i] == '!' && text.ptr[i + 1] == '=';
		size_t op = negated ? 2 : text.ptr[i] == '=' ? 1 : 0;

		if (op == 0)
			continue;
		if (op == 1 && i + 1 < text.len && text.ptr[i + 1] == '=')
			op = 2;
		*ret = (struct raw_term){{text.ptr, i}, {text.ptr + i + op, text.len - i - op}, negated};
		return true;
	}
	return false;
}

static int unescape(struct slice value, struct term *to, struct err *err)
{
	char *out = xmalloc(value.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '\\') {
			c = ++i < value.len ? value.ptr[i] : 0;
			if (c != '\\' && c != ',' && c != '=') {
				free(out);
				return err_set(err, ERR_PROTOCOL,
					"invalid field selector: invalid escape sequence: \\%.*s", c ? 1 : 0,
					&c);
			}
		} else if (c == ',' || c == '=') {
			free(out);
			return err_set(err, ERR_PROTOCOL,
				"invalid field selector: unescaped character in value: %d", c);
		}
		out[n++] = c;
	}
	out[n] = 0;
	to->value = out;
	to->value_len = n;
	return 0;
}

static int compare_terms(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return slice_compare(*x, *y);
}

/* The API server looks at the terms in sorted order, which decides what it complains of first. */
static struct slice *sorted_terms(struct slice text, size_t *ret_count)
{
	struct slice *terms = NULL;
	size_t n = 0;

	while (text.len) {
		struct slice term = take_term(&text);

		if (term.len == 0)
			continue;
		if (n % 16 == 0)
			terms = xrealloc(terms, (n + 16) * sizeof(*terms));
		terms[n++] = term;
	}
	if (n)
		qsort(terms, n, sizeof(*terms), compare_terms);
	*ret_count = n;
	return terms;
}

static int add_term(struct field_selector *s, struct slice whole, struct slice text, struct err *err)
{
	struct raw_term raw;
	struct term *term = &s->terms[s->count];

	if (!split_term(text, &raw))
		return err_set(err, ERR_PROTOCOL, "invalid selector: '%.*s'; can't understand '%.*s'",
			(int)whole.len, whole.ptr, (int)text.len, text.ptr);
	/* Nothing compared with nothing says nothing. */
	if (raw.field.len == 0 && raw.value.len == 0)
		return 0;
	*term = (struct term){.negated = raw.negated};
	if (unescape(raw.value, term, err))
		return ERR_PROTOCOL;
	term->label = slice_dup(raw.field);
	s->count++;
	return 0;
}

int field_selector_parse(struct slice text, struct field_selector **ret, struct err *err)
{
	struct field_selector *s = xcalloc(1, sizeof(*s));
	size_t count;
	struct slice *terms = sorted_terms(text, &count);
	int rc = 0;

	s->terms = xcalloc(count, sizeof(*s->terms));
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_term(s, text, terms[i], err);
	free(terms);
	if (rc || count == 0) {
		field_selector_free(s);
		s = NULL;
	}
	if (rc == 0)
		*ret = s;
	return rc;
}

static struct slice value_of(const struct term *t)
{
	return (struct slice){t->value, t->value_len};
}

static int compare_by_field(const void *a, const void *b)
{
	const struct term *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	if (order == 0)
		order = x->negated - y->negated;
	return order ? order : slice_compare(value_of(x), value_of(y));
}

static void group_terms(struct field_selector *s)
{
	struct group *g = NULL;

	if (s->count)
		qsort(s->terms, s->count, sizeof(*s->terms), compare_by_field);
	s->groups = xcalloc(s->count ? s->count : 1, sizeof(*s->groups));
	for (size_t i = 0; i < s->count; i++) {
		if (!g || strcmp(s->terms[g->begin].label, s->terms[i].label) != 0) {
			g = &s->groups[s->group_count++];
			*g = (struct group){i, i, i};
		}
		g->negated += !s->terms[i].negated;
		g->end = i + 1;
	}
}

int field_selector_resolve(struct field_selector *s, const struct selectable_kind *kind, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; s && i < s->count && rc == 0; i++)
		rc = selectable_field_find(
			kind, slice_of(s->terms[i].label), &s->terms[i].field, &s->terms[i].path, err);
	if (s && rc == 0)
		group_terms(s);
	return rc;
}

void field_selector_free(struct field_selector *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		free(s->terms[i].label);
		free(s->terms[i].path);
		free(s->terms[i].value);
	}
	free(s->terms);
	free(s->groups);
	free(s);
}

static bool find_exact(const struct field_selector *s, enum selectable_how how, struct slice *ret)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->terms[i].field.how == how && !s->terms[i].negated) {
			*ret = (struct slice){s->terms[i].value, s->terms[i].value_len};
			return true;
		}
	}
	return false;
}

bool field_selector_name(const struct field_selector *s, struct slice *ret)
{
	return find_exact(s, SELECT_NAME, ret);
}

bool field_selector_reads_object(const struct field_selector *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		if (s->terms[i].field.how != SELECT_NAME && s->terms[i].field.how != SELECT_NAMESPACE)
			return true;
	}
	return false;
}

/* The text of the value at a path: strings without quotes, everything else as it stands. */
static struct slice value_at(struct slice object, const char *path, const char *unset, struct buf *scratch)
{
	struct slice value;

	if (json_get(object, path, &value, NULL) <= 0 || value.len == 0 || slice_is(value, "null"))
		return slice_of(unset);
	if (value.ptr[0] != '"')
		return value;
	if (!memchr(value.ptr, '\\', value.len))
		return (struct slice){value.ptr + 1, value.len - 2};
	buf_clear(scratch);
	if (json_unescape(value, scratch, NULL))
		return slice_of(unset);
	return buf_slice(scratch);
}

static struct slice field_of(const struct selectable_field *f, struct slice namespace, struct slice name,
	struct slice object, struct buf *scratch)
{
	struct slice value = {NULL, 0};

	switch (f->how) {
	case SELECT_NAME: return name;
	case SELECT_NAMESPACE: return namespace;
	case SELECT_PATH: return value_at(object, f->path, f->unset, scratch);
	case SELECT_EVENT_SOURCE:
		value = value_at(object, "source.component", "", scratch);
		return value.len ? value : value_at(object, "reportingComponent", "", scratch);
	case SELECT_NEVER: break;
	}
	return value;
}

static int compare_value(const void *value, const void *term)
{
	return slice_compare(*(const struct slice *)value, value_of(term));
}

/* Of the sorted values that it must be equal to, the first and the last say whether all are the same. */
static bool group_matches(const struct field_selector *s, const struct group *g, struct slice value)
{
	const struct term *negated = &s->terms[g->negated];

	if (g->negated > g->begin && (!slice_equal(value, value_of(&s->terms[g->begin])) ||
					     !slice_equal(value, value_of(&s->terms[g->negated - 1]))))
		return false;
	return g->end == g->negated ||
	       !bsearch(&value, negated, g->end - g->negated, sizeof(*negated), compare_value);
}

bool field_selector_matches(
	const struct field_selector *s, struct slice namespace, struct slice name, struct slice object)
{
	struct buf scratch;
	bool matches = true;

	buf_init(&scratch, LIMIT_OBJECT_BYTES);
	for (size_t i = 0; s && i < s->group_count && matches; i++) {
		const struct group *g = &s->groups[i];

		matches = group_matches(
			s, g, field_of(&s->terms[g->begin].field, namespace, name, object, &scratch));
	}
	buf_release(&scratch);
	return matches;
}
