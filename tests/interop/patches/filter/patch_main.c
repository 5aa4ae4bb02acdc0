/*
 * patch_main.c: kubetape's patches as a filter, for tests that hold them against Go's. A line of input is
 *
 *     strategic TAB type of write_types TAB document TAB patch
 *
 * and its answer one line: the document that comes out, or "error: ..." and why.
 */
#include "replayer/write/patch_strategic.h"

#include <stdio.h>
#include <stdlib.h>

#define FIELDS 4

static int strategic(char *const fields[FIELDS], struct buf *to, struct err *err)
{
	struct field_type type = field_type_find(slice_of(fields[1]));
	cJSON *document = NULL, *patch = NULL;
	int rc = json_tree_parse(slice_of(fields[2]), &document, err);

	if (rc == 0)
		rc = json_tree_parse(slice_of(fields[3]), &patch, err);
	if (rc == 0)
		rc = patch_strategic(document, patch, type, err);
	if (rc == 0)
		rc = json_tree_print(document, to, err);
	cJSON_Delete(document);
	cJSON_Delete(patch);
	return rc;
}

static int answer(char *line, struct buf *to, struct err *err)
{
	char *fields[FIELDS] = {"", "", "", ""}, *rest = line;

	for (size_t i = 0; i < FIELDS && rest; i++)
		fields[i] = strsep(&rest, "\t");
	if (strcmp(fields[0], "strategic") == 0)
		return strategic(fields, to, err);
	return err_set(err, ERR_USAGE, "unknown operation '%s'", fields[0]);
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) > 0) {
		struct buf out;
		struct err err = {0};

		line[strcspn(line, "\n")] = 0;
		buf_init(&out, 16u << 20);
		if (answer(line, &out, &err))
			printf("error: %s\n", err.text);
		else
			printf("%.*s\n", (int)out.len, out.ptr);
		fflush(stdout);
		buf_release(&out);
	}
	free(line);
	return 0;
}
