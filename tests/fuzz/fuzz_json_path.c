/*
 * fuzz_json_path.c: a template of kubectl's jsonpath, a zero byte, and a document: what is wrong with either is a sentence, what a
 * template finds lies in the document or is JSON of its own, and the same template prints the same twice. The template is tried as
 * columns and as a path to sort by, too.
 */
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tools/get/custom_columns.h"
#include "tools/get/json_path.h"
#include "tools/get/sort_key.h"

#include <string.h>

static void demand_sentence(int rc, const struct err *err)
{
	fuzz_demand(rc >= 0 || err->text[0]);
}

static void check_found(const struct json_path *p, struct slice document)
{
	struct json_values found = {0};
	struct err err = {0};
	int rc = json_path_find(p, document, &found, &err);

	demand_sentence(rc, &err);
	for (size_t i = 0; rc == 0 && i < found.count; i++) {
		int order = sort_key_compare(found.items[0], found.items[i]);

		fuzz_demand((order > 0) == (sort_key_compare(found.items[i], found.items[0]) < 0));
	}
	if (rc == 0)
		free(found.items);
}

static void check_printed(const struct json_path *p, struct slice document)
{
	struct buf first, second;
	struct err err = {0};
	int rc;

	buf_init(&first, LIMIT_DOCUMENT_BYTES);
	buf_init(&second, LIMIT_DOCUMENT_BYTES);
	rc = json_path_print(p, document, &first, &err);
	demand_sentence(rc, &err);
	fuzz_demand(rc == json_path_print(p, document, &second, NULL));
	fuzz_demand(rc || slice_equal(buf_slice(&first), buf_slice(&second)));
	buf_release(&first);
	buf_release(&second);
}

static void check_template(const char *template, struct slice document)
{
	struct json_path *p = NULL;
	struct err err = {0};
	int rc = json_path_parse(template, &p, &err);

	demand_sentence(rc, &err);
	if (rc == 0) {
		check_printed(p, document);
		json_path_free(p);
	}
	p = NULL;
	rc = json_path_parse_relaxed(slice_of(template), &p, &err);
	demand_sentence(rc, &err);
	if (rc == 0) {
		check_found(p, document);
		json_path_free(p);
	}
}

static void check_columns(const char *template, struct slice document)
{
	struct custom_columns *c = NULL;
	struct err err = {0};
	int rc = custom_columns_new(template, &c, &err);

	demand_sentence(rc, &err);
	if (rc)
		return;
	demand_sentence(custom_columns_add(c, document, &err), &err);
	custom_columns_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *template = (const char *)bytes;
	const uint8_t *zero = len ? memchr(bytes, 0, len) : NULL;
	struct slice document;

	if (!zero || len > 4000)
		return 0;
	document = (struct slice){(const char *)zero + 1, len - (size_t)(zero + 1 - bytes)};
	check_template(template, document);
	check_columns(template, document);
	return 0;
}
