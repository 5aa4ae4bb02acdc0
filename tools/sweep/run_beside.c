/* run_beside.c: see run_beside.h. */
#include "tools/sweep/run_beside.h"

#include "schema/base/buf.h"

char *run_beside(const char *tape)
{
	struct slice stem = slice_of(tape);

	while (stem.len > 1 && stem.ptr[stem.len - 1] == '/')
		stem.len--;
	if (stem.len > 5 && memcmp(stem.ptr + stem.len - 5, ".tape", 5) == 0)
		stem.len -= 5;
	return xasprintf("%.*s.run", (int)stem.len, stem.ptr);
}
