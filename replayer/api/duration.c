/* duration.c: see duration.h. */
#include "replayer/api/duration.h"

static struct slice skip(struct slice s, size_t n)
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
static bool take_number(struct slice *rest)
{
	size_t whole = count_digits(*rest), part = 0;

	*rest = skip(*rest, whole);
	if (rest->len && rest->ptr[0] == '.') {
		*rest = skip(*rest, 1);
		part = count_digits(*rest);
		*rest = skip(*rest, part);
	}
	return whole || part;
}

static struct slice take_unit(struct slice *rest)
{
	struct slice unit = {rest->ptr, 0};

	while (unit.len < rest->len && rest->ptr[unit.len] != '.' && !is_digit(rest->ptr[unit.len]))
		unit.len++;
	*rest = skip(*rest, unit.len);
	return unit;
}

static bool is_unit(struct slice unit)
{
	static const char *const units[] = {"ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (slice_is(unit, units[i]))
			return true;
	}
	return false;
}

char *duration_problem(struct slice text)
{
	struct slice rest = text;

	if (rest.len && (rest.ptr[0] == '-' || rest.ptr[0] == '+'))
		rest = skip(rest, 1);
	if (slice_is(rest, "0"))
		return NULL;
	do {
		struct slice unit;

		if (!take_number(&rest))
			return xasprintf("time: invalid duration \"%.*s\"", (int)text.len, text.ptr);
		unit = take_unit(&rest);
		if (unit.len == 0)
			return xasprintf("time: missing unit in duration \"%.*s\"", (int)text.len, text.ptr);
		if (!is_unit(unit))
			return xasprintf("time: unknown unit \"%.*s\" in duration \"%.*s\"", (int)unit.len,
				unit.ptr, (int)text.len, text.ptr);
	} while (rest.len);
	return NULL;
}
