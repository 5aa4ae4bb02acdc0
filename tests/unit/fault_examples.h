/* fault_examples.h: the examples in replayer/fault/FAULTS.md, for the tests. */
#ifndef TESTS_UNIT_FAULT_EXAMPLES_H
#define TESTS_UNIT_FAULT_EXAMPLES_H

#include "schema/base/buf.h"
#include "schema/base/limits.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static struct err err;

static inline void read_whole(const char *path, struct buf *ret)
{
	FILE *file = fopen(path, "re");
	char piece[4096];
	size_t n;

	ck_assert_msg(file != NULL, "%s", path);
	buf_init(ret, LIMIT_CONFIG_BYTES);
	while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
		ck_assert_int_eq(buf_append(ret, piece, n, &err), 0);
	fclose(file);
}

/* The examples of FAULTS.md: what stands between ```json and ```. Calls `each` with every one. */
static inline size_t each_example(void (*each)(struct slice json))
{
	struct buf text;
	const char *at;
	size_t count = 0;

	read_whole("replayer/fault/FAULTS.md", &text);
	ck_assert_int_eq(buf_append(&text, "", 1, &err), 0);
	for (at = text.ptr; (at = strstr(at, "```json\n")) != NULL; count++) {
		const char *end = strstr(at + 8, "```");

		ck_assert_ptr_nonnull(end);
		each((struct slice){at + 8, (size_t)(end - at - 8)});
		at = end + 3;
	}
	buf_release(&text);
	return count;
}

#endif
