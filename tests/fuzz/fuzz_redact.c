/*
 * fuzz_redact.c: Secrets. What is redacted is JSON still, redacting it again changes nothing, and every value
 * of data and stringData is a digest.
 */
#include "schema/base/json_scan.h"
#include "schema/tape/redact.h"
#include "tests/fuzz/fuzz.h"

static struct redactor *redactor(void)
{
	static const unsigned char key[32] = {7};
	static struct redactor *made;

	if (!made)
		made = redactor_with_key(key);
	return made;
}

/* The only text that stays among the values. */
static bool is_digest(struct slice value)
{
	return (value.len == 43 && slice_begins(value, "\"redacted:")) ||
	       (value.len == 58 && slice_begins(value, "\"cmVkYWN0ZWQ6"));
}

/* Every value of the map has become a digest, or is nothing. */
static void check_map(struct slice object, const char *path)
{
	struct slice map, value;
	struct json_iter it;

	if (json_get(object, path, &map, NULL) <= 0 || slice_is(map, "null") || is_digest(map))
		return;
	fuzz_demand(json_iter_begin(map, &it, NULL) == 0);
	while (json_iter_next(&it, NULL, &value, NULL) > 0)
		fuzz_demand(slice_is(value, "null") || is_digest(value));
}

static void redact(struct slice object, struct buf *to)
{
	buf_clear(to);
	fuzz_demand(redactor_object(redactor(), object, to, NULL) == 0);
}

/* The second time bytes that are no UTF-8, in the object of an annotation, have become what JSON writes for
 * them. */
static void check_object(struct slice object)
{
	struct object_meta meta;
	struct buf once, twice, again;

	buf_init(&once, 1 << 24);
	buf_init(&twice, 1 << 24);
	buf_init(&again, 1 << 24);
	if (redactor_object(redactor(), object, &once, NULL) == 0) {
		fuzz_demand(json_scan_object(buf_slice(&once), &meta, NULL) == 0);
		check_map(buf_slice(&once), "data");
		check_map(buf_slice(&once), "stringData");
		redact(buf_slice(&once), &twice);
		redact(buf_slice(&twice), &again);
		fuzz_demand(slice_equal(buf_slice(&twice), buf_slice(&again)));
	}
	buf_release(&once);
	buf_release(&twice);
	buf_release(&again);
}

static void check_others(struct slice bytes)
{
	static const struct redact_target secrets = {{"", 0}, {"secrets", 7}, {"", 0}, false},
					  maps = {{"", 0}, {"configmaps", 10}, {"", 0}, true};
	struct buf out;

	buf_init(&out, 1 << 24);
	fuzz_demand(redactor_body(redactor(), &secrets, bytes, &out, NULL) >= 0);
	fuzz_demand(redactor_body(redactor(), &maps, bytes, &out, NULL) >= 0);
	fuzz_demand(redactor_answer(redactor(), bytes, &out, NULL) == 0);
	fuzz_demand(redactor_error(redactor(), bytes, 410, &out, NULL) == 0);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice text = {(const char *)bytes, len};
	struct object_meta meta;

	if (json_scan_object(text, &meta, NULL) == 0)
		check_object(text);
	check_others(text);
	return 0;
}
