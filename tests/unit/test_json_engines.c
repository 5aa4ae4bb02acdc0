/*
 * Every engine reads random watch frames as cJSON reads them: members in any order, duplicates, white space
 * anywhere, strings full of backslashes, quotes and brackets, of lengths around the size of a block.
 */
#include "schema/base/json_scan.h"
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <stdio.h>

#define DOCUMENT_MAX (1u << 20)

struct random_json {
	uint64_t state;
	struct buf text;
	bool spaces;
};

/* ck_assert writes to a pipe each time, which is too slow for what happens a million times. */
static void demand(bool condition, const char *what)
{
	if (!condition)
		ck_abort_msg("expected that %s", what);
}

/* splitmix64 */
static uint64_t next_random(struct random_json *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static unsigned below(struct random_json *r, unsigned limit)
{
	return (unsigned)(next_random(r) % limit);
}

static void put(struct random_json *r, const char *text)
{
	demand(buf_append(&r->text, text, strlen(text), NULL) == 0, "the document fits its buffer");
}

static void put_space(struct random_json *r)
{
	static const char *const spaces[] = {" ", "\n", "\t\r", "        "};

	while (r->spaces && below(r, 3) == 0)
		put(r, spaces[below(r, COUNT_OF(spaces))]);
}

static void put_string(struct random_json *r)
{
	static const char *const parts[] = {"a", "name", "{", "}", "[", "]", ",", ":", "\\\"", "\\\\",
		"\\\\\\\\\\\\", "\\n", "\\u0041", "\\ud83d\\ude00", "\xc3\xa9", "\xe2\x82\xac", "\\\\\\\"",
		"}}}}]]]]", "\x7f", "\\/", "0123456789abcdef0123456789abcdef0123456789abcdef"};
	unsigned count = below(r, 8) == 0 ? below(r, 60) : below(r, 5);

	put(r, "\"");
	while (count-- > 0)
		put(r, parts[below(r, COUNT_OF(parts))]);
	put(r, "\"");
}

static void put_scalar(struct random_json *r)
{
	static const char *const scalars[] = {
		"0", "-1", "17.25", "1e9", "-2.5E-3", "true", "false", "null", "1234567"};

	if (below(r, 2))
		put_string(r);
	else
		put(r, scalars[below(r, COUNT_OF(scalars))]);
}

static void put_value(struct random_json *r, unsigned depth);

static void put_container(struct random_json *r, bool is_object, unsigned depth)
{
	unsigned count = below(r, 5);

	put(r, is_object ? "{" : "[");
	put_space(r);
	for (unsigned i = 0; i < count; i++) {
		put(r, i ? "," : "");
		put_space(r);
		if (is_object) {
			put_string(r);
			put_space(r);
			put(r, ":");
		}
		put_value(r, depth + 1);
	}
	put(r, is_object ? "}" : "]");
}

static void put_value(struct random_json *r, unsigned depth)
{
	put_space(r);
	if (depth > 6 || below(r, 3) == 0)
		put_scalar(r);
	else
		put_container(r, below(r, 2), depth);
	put_space(r);
}

/* An object that is likely to have each of the named members, in any order, some twice, with strangers
 * between. One name may have a value of its own kind. */
static void put_named(struct random_json *r, const char *const *names, size_t count, const char *special,
	void (*put_special)(struct random_json *))
{
	unsigned start = below(r, (unsigned)count), members = (unsigned)count + below(r, 3);

	put(r, "{");
	for (unsigned i = 0; i < members; i++) {
		const char *name = names[(start + i * 5) % count];

		put(r, i ? "," : "");
		put_space(r);
		put(r, "\"");
		put(r, name);
		put(r, "\"");
		put_space(r);
		put(r, ":");
		put_space(r);
		if (special && strcmp(name, special) == 0)
			put_special(r);
		else if (below(r, 4) == 0)
			put_value(r, 3);
		else
			put_string(r);
		put_space(r);
	}
	put(r, "}");
}

static void put_metadata(struct random_json *r)
{
	static const char *const names[] = {"name", "namespace", "uid", "resourceVersion",
		"creationTimestamp", "labels", "managedFields"};

	if (below(r, 10) == 0)
		put_value(r, 0);
	else
		put_named(r, names, COUNT_OF(names), NULL, NULL);
}

static void put_object(struct random_json *r)
{
	static const char *const names[] = {
		"kind", "apiVersion", "metadata", "m\\u0065tadata", "spec", "status"};

	put_named(r, names, COUNT_OF(names), "metadata", put_metadata);
}

static struct slice random_frame(struct random_json *r, uint64_t seed)
{
	static const char *const names[] = {"type", "object", "extra", "typ\\u0065"};

	r->state = seed;
	buf_clear(&r->text);
	r->spaces = below(r, 3) == 0;
	put_space(r);
	put_named(r, names, COUNT_OF(names), "object", put_object);
	return buf_slice(&r->text);
}

/* The last member of that name, as cJSON read it. */
static const cJSON *last_member(const cJSON *object, const char *name)
{
	const cJSON *found = NULL, *member;

	if (!cJSON_IsObject(object))
		return NULL;
	cJSON_ArrayForEach(member, object)
	{
		if (strcmp(member->string, name) == 0)
			found = member;
	}
	return found;
}

static void assert_same_text(struct slice raw, const cJSON *object, const char *name)
{
	const cJSON *member = last_member(object, name);
	struct buf text;

	ck_assert_msg((raw.ptr != NULL) == (cJSON_IsString(member) != 0), "%s", name);
	if (!raw.ptr)
		return;
	buf_init(&text, DOCUMENT_MAX);
	ck_assert_int_eq(json_unescape(raw, &text, NULL), 0);
	ck_assert_slice_eq(buf_slice(&text), member->valuestring);
	buf_release(&text);
}

static void assert_as_cjson(struct slice json, int rc, const struct watch_frame *frame)
{
	cJSON *tree = cJSON_ParseWithLength(json.ptr, json.len);
	const cJSON *object, *metadata;

	ck_assert_ptr_nonnull(tree);
	object = last_member(tree, "object");
	metadata = last_member(object, "metadata");
	ck_assert_int_eq(rc == 0, cJSON_IsString(last_member(tree, "type")) && object);
	if (rc == 0) {
		assert_same_text(frame->type, tree, "type");
		assert_same_text(frame->meta.kind, object, "kind");
		assert_same_text(frame->meta.api_version, object, "apiVersion");
		assert_same_text(frame->meta.name, metadata, "name");
		assert_same_text(frame->meta.namespace, metadata, "namespace");
		assert_same_text(frame->meta.uid, metadata, "uid");
		assert_same_text(frame->meta.rv, metadata, "resourceVersion");
		assert_same_text(frame->meta.creation_timestamp, metadata, "creationTimestamp");
	}
	cJSON_Delete(tree);
}

/* Scans with both engines, which must agree in everything, even in the words of an error. */
static int scan_with_both(struct slice json, struct watch_frame *ret)
{
	struct watch_frame first = {0}, second = {0};
	struct err first_err = {0}, second_err = {0};
	int rc;

	json_scan_engine(0);
	rc = json_scan_frame(json, &first, &first_err);
	json_scan_engine(1);
	demand(json_scan_frame(json, &second, &second_err) == rc, "both engines return the same");
	demand(strcmp(first_err.text, second_err.text) == 0, "both engines say the same");
	demand(memcmp(&first, &second, sizeof(first)) == 0, "both engines find the same");
	*ret = first;
	return rc;
}

START_TEST(engines__read_random_frames_as_cjson_does)
{
	struct random_json r = {0};
	struct watch_frame frame;
	size_t good = 0;

	buf_init(&r.text, DOCUMENT_MAX);
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct slice json = random_frame(&r, seed);
		int rc = scan_with_both(json, &frame);

		good += rc == 0;
		assert_as_cjson(json, rc, &frame);
	}
	ck_assert_uint_gt(good, 2000);
	buf_release(&r.text);
}
END_TEST

/* A copy of its own size, so that a sanitizer sees a byte read after its end. */
static int scan_copy(struct slice json, struct watch_frame *ret)
{
	char *exact = xmalloc(json.len);
	int rc;

	memcpy(exact, json.ptr, json.len);
	rc = scan_with_both((struct slice){exact, json.len}, ret);
	free(exact);
	return rc;
}

START_TEST(engines__refuse_every_cut_frame)
{
	struct random_json r = {0};
	struct watch_frame frame;

	buf_init(&r.text, DOCUMENT_MAX);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct slice json = random_frame(&r, seed);

		for (size_t len = 0; len < json.len && len < 3000; len++)
			demand(scan_copy((struct slice){json.ptr, len}, &frame) == ERR_PROTOCOL,
				"a cut frame is refused");
	}
	buf_release(&r.text);
}
END_TEST

START_TEST(engines__agree_on_damaged_frames)
{
	static const char bytes[] = "{}[]\"\\,: a0\n\x00\xff";
	struct random_json r = {0};
	struct watch_frame frame;

	buf_init(&r.text, DOCUMENT_MAX);
	for (uint64_t seed = 1; seed <= 5000; seed++) {
		struct slice json = random_frame(&r, seed);
		unsigned flips = 1 + below(&r, 3);

		while (flips-- > 0)
			r.text.ptr[below(&r, (unsigned)json.len)] = bytes[below(&r, sizeof(bytes) - 1)];
		scan_with_both(json, &frame);
	}
	buf_release(&r.text);
}
END_TEST

START_TEST(engines__find_the_end_at_every_distance_and_behind_every_run_of_backslashes)
{
	char text[400];
	struct slice value;

	for (int engine = 0; engine < 2; engine++) {
		json_scan_engine(engine);
		for (int pad = 0; pad < 130; pad++) {
			for (int run = 0; run < 70; run++) {
				/* An even run leaves the quote to close the string, an odd run needs another
				 * one. */
				int n = snprintf(text, sizeof(text), "[\"%*s", pad, "");

				memset(text + n, '\\', (size_t)run);
				n += run;
				n += snprintf(text + n, sizeof(text) - (size_t)n, run % 2 ? "\"]\"]" : "\"]");
				ck_assert_int_eq(
					json_get((struct slice){text, (size_t)n}, "$", &value, NULL), 1);
				ck_assert_uint_eq(value.len, (size_t)n);
			}
		}
	}
}
END_TEST

START_TEST(engines__can_be_chosen)
{
	ck_assert_int_eq(json_scan_engine(0), 0);
	ck_assert_int_eq(json_scan_engine(-1), 0);
#if defined(__x86_64__)
	ck_assert_int_eq(
		json_scan_engine(1), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul"));
#endif
}
END_TEST

UNIT_MAIN("json_engines", engines__read_random_frames_as_cjson_does, engines__refuse_every_cut_frame,
	engines__agree_on_damaged_frames,
	engines__find_the_end_at_every_distance_and_behind_every_run_of_backslashes, engines__can_be_chosen)
