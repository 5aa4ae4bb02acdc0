/* time_collation.c: see time_collation.h. */
#include "schema/sql/time_collation.h"

#include "schema/base/clock.h"

/* The form that our own columns have: 2026-11-21T08:44:17.123456789Z. Such texts sort bytewise. */
#define CANONICAL_LENGTH 30

static bool is_digit_at(struct slice text, size_t i)
{
	return text.ptr[i] >= '0' && text.ptr[i] <= '9';
}

static bool is_canonical(struct slice text)
{
	static const char form[] = "0000-00-00T00:00:00.000000000Z";

	if (text.len != CANONICAL_LENGTH)
		return false;
	for (size_t i = 0; i < CANONICAL_LENGTH; i++) {
		if (form[i] == '0' ? !is_digit_at(text, i) : text.ptr[i] != form[i])
			return false;
	}
	return true;
}

/* Absolute forms only: a column's order must not depend on when it is asked for. */
bool time_collation_parse(struct slice text, int64_t *ret_ns)
{
	char copy[64];

	if (text.len < 10 || text.len >= sizeof(copy) || text.ptr[4] != '-' || !is_digit_at(text, 0))
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	return strlen(copy) == text.len && time_parse(copy, 0, 0, ret_ns, NULL) == 0;
}

static int compare(void *context, int a_len, const void *a_bytes, int b_len, const void *b_bytes)
{
	struct slice a = {a_bytes, (size_t)a_len}, b = {b_bytes, (size_t)b_len};
	int64_t a_ns = 0, b_ns = 0;
	bool a_is_time, b_is_time;

	(void)context;
	if (is_canonical(a) && is_canonical(b))
		return memcmp(a.ptr, b.ptr, CANONICAL_LENGTH);
	a_is_time = time_collation_parse(a, &a_ns);
	b_is_time = time_collation_parse(b, &b_ns);
	if (a_is_time && b_is_time)
		return (a_ns > b_ns) - (a_ns < b_ns);
	if (a_is_time != b_is_time)
		return a_is_time ? -1 : 1;
	return slice_compare(a, b);
}

int time_collation_register(sqlite3 *db)
{
	return sqlite3_create_collation_v2(db, TIME_COLLATION, SQLITE_UTF8, NULL, compare, NULL);
}
