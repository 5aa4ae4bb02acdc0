/* plural.h: words beside a number. */
#ifndef TOOLS_CLI_PLURAL_H
#define TOOLS_CLI_PLURAL_H

#include <stdint.h>

/* The ending of a noun, as in "%llu event%s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
