/* sort_key.c: see sort_key.h. */
#include "tools/get/sort_key.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_missing(struct slice v)
{
	return !v.len || v.ptr[0] == 'n';
}

static bool is_number(struct slice v)
{
	return v.ptr[0] == '-' || isdigit((unsigned char)v.ptr[0]);
}

static double number_of(struct slice v)
{
	char *text = slice_dup(v);
	double number = strtod(text, NULL);

	free(text);
	return number;
}

/* A quantity of Kubernetes: digits, and what they are counted in. */
static bool read_quantity(const char *text, double *ret)
{
	static const struct {
		const char *suffix;
		double factor;
	} rows[] = {{"", 1}, {"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9},
		{"T", 1e12}, {"P", 1e15}, {"E", 1e18}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30},
		{"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
	char *end;

	if (strspn(text, "+-0123456789.") == 0)
		return false;
	*ret = strtod(text, &end);
	for (size_t i = 0; i < COUNT_OF(rows) && end != text; i++) {
		if (strcmp(end, rows[i].suffix) != 0)
			continue;
		*ret *= rows[i].factor;
		return true;
	}
	return false;
}

static char *text_of(struct slice json)
{
	struct buf text;
	char *copy;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	copy = slice_dup(json_unescape(json, &text, NULL) ? json : buf_slice(&text));
	buf_release(&text);
	return copy;
}

static int compare_texts(struct slice a, struct slice b)
{
	char *x = text_of(a), *y = text_of(b);
	double p, q;
	int order;

	if (read_quantity(x, &p) && read_quantity(y, &q))
		order = (p > q) - (p < q);
	else
		order = strcmp(x, y);
	free(x);
	free(y);
	return order;
}

int sort_key_compare(struct slice a, struct slice b)
{
	if (is_missing(a) || is_missing(b))
		return is_missing(b) - is_missing(a);
	if (is_number(a) && is_number(b)) {
		double x = number_of(a), y = number_of(b);

		return (x > y) - (x < y);
	}
	return a.ptr[0] == '"' && b.ptr[0] == '"' ? compare_texts(a, b) : slice_compare(a, b);
}
