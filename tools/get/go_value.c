/* go_value.c: see go_value.h. */
#include "tools/get/go_value.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_BYTES 400 /* of a float64 without an exponent */

/* ---- members ---- */

void go_members_free(struct go_members *m)
{
	for (size_t i = 0; i < m->count; i++)
		buf_release(&m->items[i].name);
	free(m->items);
	*m = (struct go_members){NULL, 0};
}

static int by_name(const void *left, const void *right)
{
	const struct go_member *a = left, *b = right;
	int order = slice_compare(buf_slice(&a->name), buf_slice(&b->name));

	return order ? order : (a->value.ptr > b->value.ptr) - (a->value.ptr < b->value.ptr);
}

/* Of equal names the last one counts. */
static void sort_members(struct go_members *m)
{
	size_t kept = 0;

	if (m->count)
		qsort(m->items, m->count, sizeof(*m->items), by_name);
	for (size_t i = 0; i < m->count; i++) {
		if (kept && slice_equal(buf_slice(&m->items[kept - 1].name), buf_slice(&m->items[i].name)))
			buf_release(&m->items[--kept].name);
		m->items[kept++] = m->items[i];
	}
	m->count = kept;
}

int go_members_of(struct slice value, struct go_members *ret, struct err *err)
{
	struct go_members m = {NULL, 0};
	struct json_iter it;
	struct slice key = {NULL, 0}, item;
	int more = 0, rc = 0;

	*ret = m;
	if (!value.len || (value.ptr[0] != '{' && value.ptr[0] != '['))
		return 0;
	rc = json_iter_begin(value, &it, err);
	while (!rc && (more = json_iter_next(&it, &key, &item, err)) > 0) {
		m.items = xgrow(m.items, m.count, sizeof(*m.items));
		m.items[m.count] = (struct go_member){.key = key, .value = item};
		buf_init(&m.items[m.count].name, LIMIT_OBJECT_BYTES);
		if (value.ptr[0] == '{')
			rc = json_unescape(key, &m.items[m.count].name, err);
		m.count++;
	}
	if (value.ptr[0] == '{')
		sort_members(&m);
	*ret = m;
	return rc ? rc : more;
}

/* ---- numbers ---- */

/* Shortest digits that read back as the number, and its exponent: 1.5e+02 is "15" and 2. */
static int shortest_digits(double number, char digits[32])
{
	char text[40];
	int count = 0;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, fabs(number));
		if (strtod(text, NULL) == fabs(number))
			break;
	}
	for (const char *c = text; *c && *c != 'e'; c++) {
		if (*c != '.')
			digits[count++] = *c;
	}
	digits[count] = 0;
	return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* `low` is the lowest exponent that is written without one: encoding/json has -6, fmt -4; both go up to 20. */
static int put_float(double number, int low, int width, struct buf *to, struct err *err)
{
	char digits[32], text[NUMBER_BYTES];
	int exponent = shortest_digits(number, digits), precision = (int)strlen(digits) - 1 - exponent;

	if (number != 0 && (exponent < low || exponent >= 21)) {
		snprintf(text, sizeof(text), "%s%c%s%s", number < 0 ? "-" : "", digits[0],
			digits[1] ? "." : "", digits + 1);
		return buf_printf(to, err, "%se%c%0*d", text, exponent < 0 ? '-' : '+', width, abs(exponent));
	}
	if (precision > 0)
		return buf_printf(to, err, "%.*f", precision, number);
	return buf_printf(
		to, err, "%s%s%.*s", number < 0 ? "-" : "", digits, -precision, "00000000000000000000");
}

/* Whole numbers keep their digits if 64 bits hold them. */
static int put_number(struct slice number, bool is_json, struct buf *to, struct err *err)
{
	char text[NUMBER_BYTES], *end;

	snprintf(text, sizeof(text), "%.*s", (int)number.len, number.ptr);
	errno = 0;
	(void)strtoll(text, &end, 10);
	if (!*end && errno == 0)
		return buf_append(to, number.ptr, number.len, err);
	return is_json ? put_float(strtod(text, NULL), -6, 1, to, err)
		       : put_float(strtod(text, NULL), -4, 2, to, err);
}

/* ---- JSON ---- */

static int put_line(int indent, int depth, struct buf *to, struct err *err)
{
	return indent ? buf_printf(to, err, "\n%*s", indent * depth, "") : 0;
}

static int put_string(struct slice string, struct buf *to, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = json_unescape(string, &text, err);
	if (!rc)
		rc = json_escape(buf_slice(&text), to, err);
	buf_release(&text);
	return rc;
}

static int put_members(
	const struct go_members *m, bool is_object, int indent, int depth, struct buf *to, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < m->count && !rc; i++) {
		rc = buf_append(to, ",", i != 0, err);
		if (!rc)
			rc = put_line(indent, depth + 1, to, err);
		if (!rc && is_object)
			rc = json_escape(buf_slice(&m->items[i].name), to, err);
		if (!rc && is_object)
			rc = buf_append(to, ": ", indent ? 2 : 1, err);
		if (!rc)
			rc = go_json_put(m->items[i].value, indent, depth + 1, to, err);
	}
	return !rc && m->count ? put_line(indent, depth, to, err) : rc;
}

int go_json_put(struct slice value, int indent, int depth, struct buf *to, struct err *err)
{
	struct go_members m;
	bool is_object;
	int rc;

	value = json_trim(value);
	is_object = value.len && value.ptr[0] == '{';
	if (depth > LIMIT_JSON_DEPTH)
		return err_set(
			err, ERR_TOO_LARGE, "cannot print JSON deeper than %d levels", LIMIT_JSON_DEPTH);
	if (value.len && value.ptr[0] == '"')
		return put_string(value, to, err);
	if (value.len && (value.ptr[0] == '-' || (value.ptr[0] >= '0' && value.ptr[0] <= '9')))
		return put_number(value, true, to, err);
	if (!is_object && !(value.len && value.ptr[0] == '['))
		return buf_append(to, value.ptr, value.len, err);
	rc = go_members_of(value, &m, err);
	if (!rc)
		rc = buf_append(to, is_object ? "{" : "[", 1, err);
	if (!rc)
		rc = put_members(&m, is_object, indent, depth, to, err);
	if (!rc)
		rc = buf_append(to, is_object ? "}" : "]", 1, err);
	go_members_free(&m);
	return rc;
}

/* ---- as text ---- */

static int put_text_members(struct slice value, bool is_object, struct buf *to, struct err *err)
{
	struct go_members m;
	int rc = go_members_of(value, &m, err);

	if (!rc)
		rc = buf_append(to, is_object ? "map[" : "[", is_object ? 4 : 1, err);
	for (size_t i = 0; i < m.count && !rc; i++) {
		rc = buf_append(to, " ", i != 0, err);
		if (!rc && is_object)
			rc = buf_printf(to, err, "%.*s:", (int)m.items[i].name.len, m.items[i].name.ptr);
		if (!rc)
			rc = go_text_put(m.items[i].value, to, err);
	}
	go_members_free(&m);
	return rc ? rc : buf_append(to, "]", 1, err);
}

int go_text_put(struct slice value, struct buf *to, struct err *err)
{
	char first;

	value = json_trim(value);
	first = value.len ? value.ptr[0] : 0;
	if (first == '{' || first == '[')
		return put_text_members(value, first == '{', to, err);
	if (first == '"')
		return json_unescape(value, to, err);
	if (first == 'n')
		return buf_append(to, "<nil>", 5, err);
	if (first == '-' || (first >= '0' && first <= '9'))
		return put_number(value, false, to, err);
	return buf_append(to, value.ptr, value.len, err);
}
