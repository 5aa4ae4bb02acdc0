/* bytes_format.c: see bytes_format.h. */
#include "schema/base/bytes_format.h"

#include <stdio.h>

const char *bytes_format(char to[BYTES_TEXT_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1000 && unit < 4; unit++)
		value /= 1000;
	snprintf(to, BYTES_TEXT_BYTES, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return to;
}
