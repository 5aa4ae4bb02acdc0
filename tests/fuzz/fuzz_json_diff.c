/*
 * fuzz_json_diff.c: two documents with a zero byte between them, compared, and asked who made the changes.
 * What has no differences is equal for cJSON too, and each place that a difference names in the new document
 * holds the value it tells.
 */
#include "schema/base/json_scan.h"
#include "schema/sql/json_diff.h"
#include "schema/sql/managed_fields.h"
#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>

static bool has_name_twice(const cJSON *tree)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, tree)
	{
		if (member->string && cJSON_GetObjectItemCaseSensitive(tree, member->string) != member)
			return true;
		if (has_name_twice(member))
			return true;
	}
	return false;
}

/* Escapes, zero bytes and names twice in one object make a path mean something else than it says. */
static bool is_simple(struct slice json)
{
	cJSON *tree = json.len ? cJSON_ParseWithLength(json.ptr, json.len) : NULL;
	bool twice = has_name_twice(tree);

	cJSON_Delete(tree);
	return !twice && (!json.len || !memchr(json.ptr, '\\', json.len));
}

static void check_place(struct slice new, const struct json_change *c)
{
	char *path = slice_dup(c->path);
	struct slice value;

	if (c->new_value.len && is_simple(new) && strlen(path) == c->path.len &&
		json_get(new, path, &value, NULL) > 0)
		fuzz_demand(slice_equal(value, c->new_value));
	free(path);
}

/* Returns how many differences there are; -1 when it is not JSON. */
static long compare(struct slice old, struct slice new, bool with_noise)
{
	struct json_diff *d = json_diff_new();
	struct err err = {0};
	struct slice manager;
	long count;

	if (json_diff_make(d, old, new, with_noise, &err)) {
		fuzz_demand(err.text[0]);
		json_diff_free(d);
		return -1;
	}
	for (size_t i = 0; i < json_diff_count(d); i++) {
		struct json_change c = json_diff_at(d, i);

		fuzz_demand(c.path.len && c.path.ptr[0] == '$');
		fuzz_demand(!slice_equal(c.old_value, c.new_value));
		check_place(new, &c);
		if (managed_fields_manager(old, new, c.path, &manager, NULL) > 0)
			fuzz_demand(manager.ptr != NULL);
	}
	count = (long)json_diff_count(d);
	json_diff_free(d);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL;
	struct slice old, new;

	if (!zero || len > 20000)
		return 0;
	old = (struct slice){(const char *)bytes, (size_t)(zero - bytes)};
	new = (struct slice){(const char *)zero + 1, len - old.len - 1};
	fuzz_demand((compare(old, new, true) == 0) == (compare(new, old, true) == 0));
	compare(old, new, false);
	return 0;
}
