/* test_fault_schema.c: fault-file.schema.json and the parser take the same documents. */
#include "replayer/fault/fault_file.h"
#include "tests/unit/fault_examples.h"
#include "tests/unit/json_schema.h"

static cJSON *schema;
static size_t compared, taken;

/* What only the parser knows begins with one of these: SQL, and what contradicts itself. */
static bool is_beyond_schema(const char *sentence)
{
	static const char *const beyond[] = {"bad expression", "'during' says", "a refused", "bad code",
		"bad retry_after", "'hold' waits", "'times' is", "nothing would", "has a status",
		"needs one of", "is done to", "'burst' keeps", "'pause' stops", "'await' waits",
		"'before_write' counts"};

	for (size_t i = 0; i < COUNT_OF(beyond); i++) {
		if (strstr(sentence, beyond[i]))
			return true;
	}
	return false;
}

static void compare(const cJSON *document)
{
	char *text = cJSON_PrintUnformatted(document);
	struct fault_file f = {0};
	bool parser = fault_file_parse(slice_of(text), "f", &f, &err) == 0;
	bool by_schema = schema_fits(schema, schema, document);

	if (!parser && is_beyond_schema(err.text))
		parser = true;
	ck_assert_msg(parser == by_schema, "the schema %s, the parser: %s\n%s",
		by_schema ? "takes it" : "refuses it", parser ? "takes it" : err.text, text);
	compared++;
	taken += parser;
	fault_file_release(&f);
	cJSON_free(text);
}

/* The n-th node below `parent` in order of the text; NULL when there are not so many. */
static cJSON *node_at(cJSON *parent, size_t *n, cJSON **ret_parent)
{
	cJSON *child, *found;

	cJSON_ArrayForEach(child, parent)
	{
		*ret_parent = parent;
		if ((*n)-- == 0)
			return child;
		found = node_at(child, n, ret_parent);
		if (found)
			return found;
	}
	return NULL;
}

static void put_in_place(cJSON *parent, cJSON *node, cJSON *other)
{
	if (cJSON_IsObject(parent))
		ck_assert(cJSON_ReplaceItemInObjectCaseSensitive(parent, node->string, other));
	else
		ck_assert(cJSON_ReplaceItemViaPointer(parent, node, other));
}

/* Another value in the n-th place; NULL: nothing in its place. False when there is no such place. */
static bool compare_with(const cJSON *document, size_t n, const char *value)
{
	cJSON *copy = cJSON_Duplicate(document, true), *parent = NULL, *node = node_at(copy, &n, &parent);

	if (node && value)
		put_in_place(parent, node, cJSON_Parse(value));
	else if (node)
		cJSON_Delete(cJSON_DetachItemViaPointer(parent, node));
	if (node)
		compare(copy);
	cJSON_Delete(copy);
	return node != NULL;
}

/* One more member in the object at the n-th place. */
static void compare_with_more(const cJSON *document, size_t n)
{
	static const char *const keys[] = {
		"bytes", "nth", "at", "event", "code", "do", "name", "for", "other"};

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		cJSON *copy = cJSON_Duplicate(document, true), *parent = NULL;
		size_t at = n;
		cJSON *node = node_at(copy, &at, &parent);

		if (cJSON_IsObject(node) && !cJSON_HasObjectItem(node, keys[i])) {
			cJSON_AddNumberToObject(node, keys[i], 2);
			compare(copy);
		}
		cJSON_Delete(copy);
	}
}

static void compare_variations(struct slice json)
{
	static const char *const values[] = {"null", "true", "0", "-1", "1", "2.5", "1000", "\"\"", "\"end\"",
		"\"cut\"", "\"10s\"", "\"10 s\"", "\"word\"", "\"watch\"", "\"1\"", "[]", "[\"pods\"]",
		"[\"watch\"]", "[1]", "[\"\"]", "{}", "{\"events\":1}", "{\"events\":0}", "{\"do\":\"end\"}",
		"{\"do\":\"http\",\"code\":500}", "{\"do\":\"http\"}", "{\"do\":\"cut\",\"by\":\"1s\"}",
		"{\"at\":\"+1s\"}", "{\"event\":\"1\",\"nth\":2}", "{\"connection\":1,\"nth\":2}",
		"{\"at\":\"+1s\",\"event\":\"1\"}"};
	cJSON *document = cJSON_ParseWithLength(json.ptr, json.len);
	bool more = true;

	ck_assert_ptr_nonnull(document);
	compare(document);
	for (size_t n = 0; more; n++) {
		more = compare_with(document, n, NULL);
		for (size_t i = 0; i < COUNT_OF(values) && more; i++)
			compare_with(document, n, values[i]);
		if (more)
			compare_with_more(document, n);
	}
	cJSON_Delete(document);
}

START_TEST(schema__and_parser_take_the_same_documents)
{
	struct buf text;

	read_whole("replayer/fault/fault-file.schema.json", &text);
	schema = cJSON_ParseWithLength(text.ptr, text.len);
	buf_release(&text);
	ck_assert_ptr_nonnull(schema);
	each_example(compare_variations);
	ck_assert_uint_gt(taken, 500);
	ck_assert_uint_gt(compared - taken, 2000);
	cJSON_Delete(schema);
}
END_TEST

UNIT_MAIN("fault_schema", schema__and_parser_take_the_same_documents)
