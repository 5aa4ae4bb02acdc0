/*
 * fuzz_json_text.c: strings. What json_escape writes is a string that cJSON reads, and unescaping it gives
 * the text back, but for bytes that are not UTF-8. What json_unescape reads as a string, cJSON reads alike.
 */
#include "schema/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>

static void check_escape(struct slice text)
{
	struct buf json, plain;
	cJSON *tree;

	buf_init(&json, 8 * text.len + 16);
	buf_init(&plain, 8 * text.len + 16);
	fuzz_demand(json_escape(text, &json, NULL) == 0);
	fuzz_demand(json_unescape(buf_slice(&json), &plain, NULL) == 0);
	if (!memmem(json.ptr, json.len, "\\ufffd", 6))
		fuzz_demand(slice_equal(buf_slice(&plain), text));
	tree = cJSON_ParseWithLength(json.ptr, json.len);
	fuzz_demand(tree && cJSON_IsString(tree));
	/* cJSON ends a string at the first NUL. */
	if (plain.len == 0 || !memchr(plain.ptr, 0, plain.len))
		fuzz_demand(slice_is(buf_slice(&plain), tree->valuestring));
	cJSON_Delete(tree);
	buf_release(&json);
	buf_release(&plain);
}

/* cJSON refuses lone surrogates, which we replace as Go does, and takes \u followed by anything, which we
 * refuse: only what both read is compared. */
static void check_unescape(struct slice inside)
{
	struct buf json, plain;
	cJSON *tree;
	int rc;

	if (inside.len && memchr(inside.ptr, '"', inside.len))
		return;
	buf_init(&json, inside.len + 2);
	buf_init(&plain, 2 * inside.len + 16);
	fuzz_demand(buf_append(&json, "\"", 1, NULL) == 0);
	fuzz_demand(buf_append(&json, inside.ptr, inside.len, NULL) == 0);
	fuzz_demand(buf_append(&json, "\"", 1, NULL) == 0);
	rc = json_unescape(buf_slice(&json), &plain, NULL);
	tree = cJSON_ParseWithLength(json.ptr, json.len);
	fuzz_demand(rc == 0 || rc == ERR_PROTOCOL);
	if (rc == 0 && tree && (plain.len == 0 || !memchr(plain.ptr, 0, plain.len)))
		fuzz_demand(slice_is(buf_slice(&plain), tree->valuestring));
	cJSON_Delete(tree);
	buf_release(&json);
	buf_release(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice text = {(const char *)bytes, len};

	check_escape(text);
	check_unescape(text);
	return 0;
}
