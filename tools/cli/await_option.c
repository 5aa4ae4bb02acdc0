/* await_option.c: see await_option.h. */
#include "tools/cli/await_option.h"

#include "schema/base/limits.h"
#include "tools/cli/read_file.h"

#include <stdlib.h>

static int add_lines(struct slice text, struct await_rules *to, struct err *err)
{
	int rc = 0;

	while (text.len && rc == 0) {
		char *line = slice_dup(slice_cut(&text, '\n'));

		rc = await_rules_add(to, line, err);
		free(line);
	}
	return rc;
}

static int add_file(const char *path, struct await_rules *to, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = read_file(path, &text, err);
	if (rc == 0)
		rc = add_lines(buf_slice(&text), to, err);
	buf_release(&text);
	return rc;
}

int await_option_read(const struct text_list *values, struct await_rules *ret, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < values->count && rc == 0; i++)
		rc = *values->items[i] == '@' ? add_file(values->items[i] + 1, ret, err)
					      : await_rules_add(ret, values->items[i], err);
	return rc;
}
