/* rv_collation.c: see rv_collation.h. */
#include "schema/sql/rv_collation.h"

#include "schema/base/rv.h"

static int rv_collation_compare(void *context, int a_len, const void *a_bytes, int b_len, const void *b_bytes)
{
	struct slice a = {a_bytes, (size_t)a_len}, b = {b_bytes, (size_t)b_len};
	bool a_is_rv = rv_valid(a), b_is_rv = rv_valid(b);

	(void)context;
	if (a_is_rv && b_is_rv)
		return rv_compare(a, b);
	if (a_is_rv != b_is_rv)
		return a_is_rv ? -1 : 1;
	return slice_compare(a, b);
}

int rv_collation_register(sqlite3 *db)
{
	return sqlite3_create_collation_v2(db, RV_COLLATION, SQLITE_UTF8, NULL, rv_collation_compare, NULL);
}
