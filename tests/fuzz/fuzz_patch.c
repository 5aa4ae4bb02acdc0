/*
 * fuzz_patch.c: patches of every kind. Input: three lines: a type of the table (or of none), a document, and
 * what is to be done to it; the rest is a schema of a CRD, by which it is done once more. Whatever comes out
 * is JSON that is read as it was printed; merging twice is merging once.
 */
#include "replayer/write/managed_fields.h"
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_BYTES (1u << 20)

static struct slice take_line(struct slice *rest)
{
	const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
	size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
	struct slice line = {rest->ptr, len};

	*rest = (struct slice){rest->ptr + len + (end ? 1 : 0), rest->len - len - (end ? 1 : 0)};
	return line;
}

/* Too deep or too long is the only reason why a tree is not read again. */
static void check_text(const cJSON *tree)
{
	struct err err = {0};
	struct buf text;
	cJSON *again;
	int rc;

	buf_init(&text, TEXT_BYTES);
	if (json_tree_print(tree, &text, &err) == 0) {
		rc = json_tree_parse(buf_slice(&text), &again, &err);
		fuzz_demand(rc == 0 || rc == ERR_TOO_LARGE);
		if (rc == 0)
			cJSON_Delete(again);
	}
	buf_release(&text);
}

static void try_json_patch(const cJSON *document, const cJSON *patch)
{
	cJSON *made = cJSON_Duplicate(document, true);
	struct err err = {0};
	int rc = patch_json(&made, patch, &err);

	fuzz_demand(rc == 0 || (rc < 0 && err.text[0]));
	check_text(made);
	cJSON_Delete(made);
}

static void try_merge_patch(const cJSON *document, const cJSON *patch)
{
	cJSON *once = cJSON_Duplicate(document, true), *twice;

	patch_merge(once, patch);
	check_text(once);
	twice = cJSON_Duplicate(once, true);
	patch_merge(twice, patch);
	fuzz_demand(json_tree_equal(once, twice));
	cJSON_Delete(once);
	cJSON_Delete(twice);
}

static void try_strategic_patch(const cJSON *document, const cJSON *patch, struct field_type type)
{
	cJSON *made = cJSON_Duplicate(document, true), *used = cJSON_Duplicate(patch, true);
	struct err err = {0};
	int rc = patch_strategic(made, used, type, &err);

	fuzz_demand(rc == 0 || (rc < 0 && err.text[0]));
	check_text(made);
	cJSON_Delete(made);
	cJSON_Delete(used);
}

static void try_update(const cJSON *old, const cJSON *new, const struct field_writer *who)
{
	cJSON *made = cJSON_Duplicate(new, true);

	managed_update(old, made, who);
	check_text(made);
	cJSON_Delete(made);
}

static void try_apply(const cJSON *live, const cJSON *object, const struct field_writer *who, bool force)
{
	cJSON *made = NULL, *conflicts = NULL;
	struct err err = {0};
	int rc = managed_apply(live, object, who, force, &made, &conflicts, &err);

	fuzz_demand(rc < 0 ? err.text[0] != 0 : !made == !!conflicts);
	fuzz_demand(!force || !conflicts);
	if (made)
		check_text(made);
	if (made && !force)
		try_apply(made, object, who, true);
	cJSON_Delete(made);
	cJSON_Delete(conflicts);
}

static void try_all(const cJSON *document, const cJSON *patch, struct field_type type)
{
	const struct field_writer who = {.name = "kubectl",
		.api_version = "v1",
		.subresource = "",
		.now = "2026-01-01T00:00:00Z",
		.ignored = "status",
		.type = type};

	try_strategic_patch(document, patch, type);
	try_update(NULL, patch, &who);
	try_update(document, patch, &who);
	try_apply(NULL, patch, &who, false);
	try_apply(document, patch, &who, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice rest = {(const char *)bytes, len};
	struct slice name = take_line(&rest), old = take_line(&rest), new = take_line(&rest);
	cJSON *document = NULL, *patch = NULL, *schema = NULL;

	if (json_tree_parse(old, &document, NULL) == 0 && json_tree_parse(new, &patch, NULL) == 0 &&
		cJSON_IsObject(document)) {
		try_json_patch(document, patch);
		if (cJSON_IsObject(patch)) {
			try_merge_patch(document, patch);
			try_all(document, patch, field_type_find(name));
			if (json_tree_parse(rest, &schema, NULL) == 0)
				try_all(document, patch, field_type_of_custom(schema));
		}
	}
	cJSON_Delete(document);
	cJSON_Delete(patch);
	cJSON_Delete(schema);
	return 0;
}
