/*
 * patch_main.c: kubetape's patches as a filter, for tests that hold them against Go's. A line of input is
 *
 *     json TAB document TAB patch
 *     strategic TAB type of write_types TAB document TAB patch
 *
 *     update TAB type TAB document (empty: none yet) TAB new document TAB manager
 *     apply TAB type TAB document (empty: none yet) TAB what is applied TAB manager TAB force, or nothing
 *
 * and its answer one line: the document that comes out, "error: ..." and why, or "conflicts: ..." and which.
 */
#include "replayer/write/managed_fields.h"
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"

#include <stdio.h>
#include <stdlib.h>

#define FIELDS 6

static int json(char *const fields[FIELDS], struct buf *to, struct err *err)
{
	cJSON *document = NULL, *patch = NULL;
	int rc = json_tree_parse(slice_of(fields[1]), &document, err);

	if (rc == 0)
		rc = json_tree_parse(slice_of(fields[2]), &patch, err);
	if (rc == 0)
		rc = patch_json(&document, patch, err);
	if (rc == 0)
		rc = json_tree_print(document, to, err);
	cJSON_Delete(document);
	cJSON_Delete(patch);
	return rc;
}

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

/* A type whose objects begin empty, as they do in the tests that this is held against. */
static struct field_writer writer_of(char *const fields[FIELDS])
{
	struct field_type type = field_type_find(slice_of(fields[1]));

	type.custom_object = true;
	return (struct field_writer){.name = fields[4],
		.api_version = "v1",
		.subresource = "",
		.now = "2026-01-01T00:00:00Z",
		.type = type};
}

static int read_two(char *const fields[FIELDS], cJSON **ret_old, cJSON **ret_new, struct err *err)
{
	int rc = *fields[2] ? json_tree_parse(slice_of(fields[2]), ret_old, err) : 0;

	return rc ? rc : json_tree_parse(slice_of(fields[3]), ret_new, err);
}

static int update(char *const fields[FIELDS], struct buf *to, struct err *err)
{
	const struct field_writer who = writer_of(fields);
	cJSON *old = NULL, *new = NULL;
	int rc = read_two(fields, &old, &new, err);

	if (rc == 0) {
		managed_update(old, new, &who);
		rc = json_tree_print(new, to, err);
	}
	cJSON_Delete(old);
	cJSON_Delete(new);
	return rc;
}

static int apply(char *const fields[FIELDS], struct buf *to, struct err *err)
{
	const struct field_writer who = writer_of(fields);
	cJSON *live = NULL, *object = NULL, *made = NULL, *conflicts = NULL;
	int rc = read_two(fields, &live, &object, err);

	if (rc == 0)
		rc = managed_apply(live, object, &who, *fields[5], &made, &conflicts, err);
	if (rc == 0 && conflicts)
		rc = buf_printf(to, err, "conflicts: ");
	if (rc == 0)
		rc = json_tree_print(made ? made : conflicts, to, err);
	cJSON_Delete(live);
	cJSON_Delete(object);
	cJSON_Delete(made);
	cJSON_Delete(conflicts);
	return rc;
}

static int answer(char *line, struct buf *to, struct err *err)
{
	char *fields[FIELDS] = {"", "", "", "", "", ""}, *rest = line;

	for (size_t i = 0; i < FIELDS && rest; i++)
		fields[i] = strsep(&rest, "\t");
	if (strcmp(fields[0], "json") == 0)
		return json(fields, to, err);
	if (strcmp(fields[0], "strategic") == 0)
		return strategic(fields, to, err);
	if (strcmp(fields[0], "update") == 0)
		return update(fields, to, err);
	if (strcmp(fields[0], "apply") == 0)
		return apply(fields, to, err);
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
