/* rv.c: see rv.h. */
#include "schema/base/rv.h"

#define RV_MAX_DIGITS 40

bool rv_valid(struct slice rv)
{
	if (rv.len == 0 || rv.len > RV_MAX_DIGITS)
		return false;
	for (size_t i = 0; i < rv.len; i++) {
		if (rv.ptr[i] < '0' || rv.ptr[i] > '9')
			return false;
	}
	return true;
}

static struct slice strip_zeros(struct slice rv)
{
	while (rv.len > 1 && rv.ptr[0] == '0') {
		rv.ptr++;
		rv.len--;
	}
	return rv;
}

int rv_compare(struct slice a, struct slice b)
{
	a = strip_zeros(a);
	b = strip_zeros(b);
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return a.len ? memcmp(a.ptr, b.ptr, a.len) : 0;
}

bool rv_to_u64(struct slice rv, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (!rv_valid(rv) || (rv.len > 1 && rv.ptr[0] == '0'))
		return false;
	for (size_t i = 0; i < rv.len; i++) {
		uint64_t digit = (uint64_t)(rv.ptr[i] - '0');

		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return true;
}
