/* duration.c: see duration.h. */
#include "replayer/request/duration.h"
#include "schema/base/count_of.h"

static struct slice duration_skip(struct slice s, size_t n)
{
	return (struct slice){s.ptr + n, s.len - n};
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(struct slice s)
{
	size_t n = 0;

	while (n < s.len && is_digit(s.ptr[n]))
		n++;
	return n;
}

/* Takes the number off; false when there is none. */
static bool take_number(struct slice *rest, double *ret)
{
	size_t whole = count_digits(*rest), part = 0;
	double value = 0, scale = 0.1;

	for (size_t i = 0; i < whole; i++)
		value = value * 10 + (rest->ptr[i] - '0');
	*rest = duration_skip(*rest, whole);
	if (rest->len && rest->ptr[0] == '.') {
		*rest = duration_skip(*rest, 1);
		part = count_digits(*rest);
		for (size_t i = 0; i < part; i++, scale /= 10)
			value += (rest->ptr[i] - '0') * scale;
		*rest = duration_skip(*rest, part);
	}
	*ret = value;
	return whole || part;
}

static struct slice take_unit(struct slice *rest)
{
	struct slice unit = {rest->ptr, 0};

	while (unit.len < rest->len && rest->ptr[unit.len] != '.' && !is_digit(rest->ptr[unit.len]))
		unit.len++;
	*rest = duration_skip(*rest, unit.len);
	return unit;
}

/* 0 for what is no unit. */
static double unit_ns(struct slice unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3}, {"ms", 1e6}, {"s", 1e9},
		{"m", 60e9}, {"h", 3600e9}};

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (slice_is(unit, units[i].name))
			return units[i].ns;
	}
	return 0;
}

char *go_duration_parse(struct slice text, int64_t *ret_ns)
{
	struct slice rest = text;
	bool negative = rest.len && rest.ptr[0] == '-';
	double sum = 0, number;

	if (rest.len && (rest.ptr[0] == '-' || rest.ptr[0] == '+'))
		rest = duration_skip(rest, 1);
	while (!slice_is(rest, "0")) {
		struct slice unit;

		if (!take_number(&rest, &number))
			return xasprintf("time: invalid duration \"%.*s\"", (int)text.len, text.ptr);
		unit = take_unit(&rest);
		if (unit.len == 0)
			return xasprintf("time: missing unit in duration \"%.*s\"", (int)text.len, text.ptr);
		if (unit_ns(unit) == 0)
			return xasprintf("time: unknown unit \"%.*s\" in duration \"%.*s\"", (int)unit.len,
				unit.ptr, (int)text.len, text.ptr);
		sum += number * unit_ns(unit);
		if (rest.len == 0)
			break;
	}
	sum = sum < 9e18 ? sum : 9e18;
	*ret_ns = (int64_t)(negative ? -sum : sum);
	return NULL;
}
