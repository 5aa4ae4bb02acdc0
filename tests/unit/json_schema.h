/*
 * json_schema.h: enough of JSON Schema to hold a parser against its schema. A keyword that is not known here
 * fails the test, so that nothing of a schema is passed over.
 */
#ifndef TESTS_UNIT_JSON_SCHEMA_H
#define TESTS_UNIT_JSON_SCHEMA_H

#include "replayer/json/json_tree.h"
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>

static inline bool schema_fits(const cJSON *root, const cJSON *schema, const cJSON *value);

static inline bool schema_is_type(const char *type, const cJSON *v)
{
	if (strcmp(type, "integer") == 0)
		return cJSON_IsNumber(v) && v->valuedouble == (double)(long long)v->valuedouble;
	return (strcmp(type, "object") == 0 && cJSON_IsObject(v)) ||
	       (strcmp(type, "array") == 0 && cJSON_IsArray(v)) ||
	       (strcmp(type, "string") == 0 && cJSON_IsString(v)) ||
	       (strcmp(type, "number") == 0 && cJSON_IsNumber(v)) ||
	       (strcmp(type, "boolean") == 0 && cJSON_IsBool(v));
}

static inline bool schema_matches_pattern(const char *pattern, const cJSON *v)
{
	regex_t regex;
	bool matches;

	if (!cJSON_IsString(v))
		return true;
	ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	matches = regexec(&regex, v->valuestring, 0, NULL, 0) == 0;
	regfree(&regex);
	return matches;
}

static inline bool schema_is_one_of(const cJSON *words, const cJSON *v)
{
	const cJSON *word;

	cJSON_ArrayForEach(word, words)
	{
		if (json_tree_equal(word, v))
			return true;
	}
	return false;
}

/* How many of the schemas take it. */
static inline int schema_count(const cJSON *root, const cJSON *schemas, const cJSON *v)
{
	const cJSON *schema;
	int count = 0;

	cJSON_ArrayForEach(schema, schemas)
	{
		count += schema_fits(root, schema, v);
	}
	return count;
}

static inline const cJSON *schema_referred(const cJSON *root, const char *ref)
{
	const cJSON *defs = cJSON_GetObjectItemCaseSensitive(root, "$defs");
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(defs, ref + strlen("#/$defs/"));

	ck_assert_msg(found != NULL, "%s", ref);
	return found;
}

static inline bool schema_takes_members(const cJSON *root, const cJSON *schema, const cJSON *v)
{
	const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	const cJSON *member;

	cJSON_ArrayForEach(member, v)
	{
		const cJSON *inner = cJSON_GetObjectItemCaseSensitive(properties, member->string);

		if (cJSON_IsObject(v) && (!inner || !schema_fits(root, inner, member)))
			return false;
	}
	return true;
}

static inline bool schema_has_required(const cJSON *names, const cJSON *v)
{
	const cJSON *name;

	cJSON_ArrayForEach(name, names)
	{
		if (cJSON_IsObject(v) && !cJSON_HasObjectItem(v, name->valuestring))
			return false;
	}
	return true;
}

static inline bool schema_all_items(const cJSON *root, const cJSON *schema, const cJSON *v)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, v)
	{
		if (cJSON_IsArray(v) && !schema_fits(root, schema, item))
			return false;
	}
	return true;
}

static inline bool schema_keyword(const cJSON *root, const cJSON *schema, const cJSON *k, const cJSON *v)
{
	const char *name = k->string;
	double n = k->valuedouble;

#define IS(word) (strcmp(name, word) == 0)
	if (IS("description") || IS("title") || IS("$schema") || IS("$defs") || IS("properties"))
		return true;
	if (IS("type"))
		return schema_is_type(k->valuestring, v);
	if (IS("enum"))
		return schema_is_one_of(k, v);
	if (IS("const"))
		return json_tree_equal(k, v);
	if (IS("pattern"))
		return schema_matches_pattern(k->valuestring, v);
	if (IS("minLength"))
		return !cJSON_IsString(v) || strlen(v->valuestring) >= (size_t)n;
	if (IS("minimum"))
		return !cJSON_IsNumber(v) || v->valuedouble >= n;
	if (IS("exclusiveMinimum"))
		return !cJSON_IsNumber(v) || v->valuedouble > n;
	if (IS("maximum"))
		return !cJSON_IsNumber(v) || v->valuedouble <= n;
	if (IS("minItems"))
		return !cJSON_IsArray(v) || cJSON_GetArraySize(v) >= (int)n;
	if (IS("maxItems"))
		return !cJSON_IsArray(v) || cJSON_GetArraySize(v) <= (int)n;
	if (IS("required"))
		return schema_has_required(k, v);
	if (IS("additionalProperties") && cJSON_IsFalse(k))
		return schema_takes_members(root, schema, v);
	if (IS("items"))
		return schema_all_items(root, k, v);
	if (IS("oneOf"))
		return schema_count(root, k, v) == 1;
	if (IS("allOf"))
		return schema_count(root, k, v) == cJSON_GetArraySize(k);
	if (IS("$ref"))
		return schema_fits(root, schema_referred(root, k->valuestring), v);
#undef IS
	ck_abort_msg("schema has keyword '%s', which the test does not know", name);
	return false;
}

static inline bool schema_fits(const cJSON *root, const cJSON *schema, const cJSON *value)
{
	const cJSON *keyword;

	cJSON_ArrayForEach(keyword, schema)
	{
		if (!schema_keyword(root, schema, keyword, value))
			return false;
	}
	return true;
}

#endif
