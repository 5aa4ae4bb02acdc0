/* json_skip_avx2.c: the engine for x86-64 CPUs of 2013 and later, chosen at run time. */
#include "schema/base/json_skip.h"

bool json_skip_avx2_works(void)
{
	return false;
}

const char *json_skip_avx2(const char *at, const char *end, unsigned max_depth)
{
	return json_skip_portable(at, end, max_depth);
}
