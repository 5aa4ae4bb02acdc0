/*
 * fuzz_compare_body.c: a rule and a body with a zero byte between them. What a body is compared as is JSON,
 * and is compared as itself. The same body, as an object whose times are moved: nothing but digits changes.
 */
#include "replayer/world/rebase.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/run/compare_body.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

static int normalize(const struct compare_rules *rules, struct slice body, struct buf *to)
{
	const struct run_write_row write = {.verb = slice_of("update"),
		.what = {.resource = slice_of("pods"), .name = slice_of("a")},
		.body = body};
	struct word_table *words = word_table_new();
	int rc;

	word_table_add(words, slice_of("web-x7k2q"), "web-*");
	word_table_add(words, slice_of("vm_1"), "<holder of a>");
	rc = compare_body_append(&(struct compare_body){rules, &write, words, true}, to, NULL);
	word_table_free(words);
	return rc;
}

static void compare(const char *rule, struct slice body)
{
	struct compare_rules *rules = compare_rules_new();
	struct err err = {0};
	struct buf once, twice;
	struct slice whole;

	buf_init(&once, LIMIT_OBJECT_BYTES);
	buf_init(&twice, LIMIT_OBJECT_BYTES);
	if (compare_rules_ignore(rules, rule, &err))
		fuzz_demand(err.text[0]);
	if (normalize(rules, body, &once) == 0 && once.len) {
		fuzz_demand(json_get(buf_slice(&once), "$", &whole, NULL) > 0 && whole.len == once.len);
		if (once.ptr[0] == '{' || once.ptr[0] == '[') {
			fuzz_demand(normalize(rules, buf_slice(&once), &twice) == 0);
			fuzz_demand(slice_equal(buf_slice(&once), buf_slice(&twice)));
		}
	}
	buf_release(&once);
	buf_release(&twice);
	compare_rules_free(rules);
}

static void move_times(struct slice object)
{
	struct rebase *r = rebase_new(&clock_system, INT64_C(1800000000) * NS_PER_S);
	char *moved = slice_dup(object);

	rebase_object(r, moved, object.len);
	for (size_t i = 0; i < object.len; i++)
		fuzz_demand(moved[i] == object.ptr[i] ||
			    (isdigit((unsigned char)moved[i]) && isdigit((unsigned char)object.ptr[i])));
	free(moved);
	rebase_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL;
	struct slice body;

	if (!zero || len > 20000)
		return 0;
	body = (struct slice){(const char *)zero + 1, len - (size_t)(zero - bytes) - 1};
	compare((const char *)bytes, body);
	if (body.len)
		move_times(body);
	return 0;
}
