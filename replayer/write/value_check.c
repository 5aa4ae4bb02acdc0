/* value_check.c: see value_check.h. */
#include "replayer/write/value_check.h"

#include "replayer/json/go_json.h"
#include "replayer/json/json_index.h"
#include "replayer/protobuf/protobuf_fields.h"
#include "replayer/write/field_check.h"
#include "schema/base/base64.h"
#include "schema/base/timestamp.h"

#include <math.h>
#include <stdlib.h>

static bool is_whole(const cJSON *value)
{
	return cJSON_IsNumber(value) && floor(value->valuedouble) == value->valuedouble;
}

/* ---- built-in kinds ---- */

static bool is_quantity(const cJSON *value)
{
	const char *p = value->valuestring;

	if (!cJSON_IsString(value))
		return cJSON_IsNumber(value);
	p += *p == '+' || *p == '-';
	if (!strspn(p, "0123456789."))
		return false;
	p += strspn(p, "0123456789.");
	p += strspn(p, "eEinumkKMGTP");
	p += *p == '+' || *p == '-';
	return p[strspn(p, "0123456789")] == '\0';
}

static bool is_int(const cJSON *value, double limit)
{
	return is_whole(value) && value->valuedouble >= -limit && value->valuedouble < limit;
}

static bool is_base64(const char *text)
{
	struct buf bytes;
	bool good;

	buf_init(&bytes, strlen(text) + 4);
	good = base64_decode(slice_of(text), &bytes, NULL) == 0;
	buf_release(&bytes);
	return good;
}

/* Six digits of a fraction, no more and no fewer. */
static bool is_micro_time(const char *text)
{
	const char *dot = strchr(text, '.');

	return timestamp_parse(slice_of(text), NULL) && dot && strspn(dot + 1, "0123456789") == 6;
}

/* Whether one value, no list and no map, is of that form. */
static bool has_form(const cJSON *value, enum protobuf_value of)
{
	switch (of) {
	case VALUE_STRING: return cJSON_IsString(value);
	case VALUE_BYTES: return cJSON_IsString(value) && is_base64(value->valuestring);
	case VALUE_BOOL: return cJSON_IsBool(value);
	case VALUE_INT32: return is_int(value, 2147483648.0);
	case VALUE_INT64: return is_int(value, 9223372036854775808.0);
	case VALUE_NUMBER: return cJSON_IsNumber(value);
	case VALUE_TIME: return cJSON_IsString(value) && timestamp_parse(slice_of(value->valuestring), NULL);
	case VALUE_MICRO_TIME: return cJSON_IsString(value) && is_micro_time(value->valuestring);
	case VALUE_QUANTITY: return is_quantity(value);
	case VALUE_INT_OR_STRING: return cJSON_IsString(value) || is_int(value, 2147483648.0);
	case VALUE_MESSAGE: return cJSON_IsObject(value);
	case VALUE_ANY: break;
	}
	return true;
}

void value_fault_release(struct value_fault *f)
{
	free(f->place);
	free(f->go_type);
}

static const char *const value_words[] = {[VALUE_STRING] = "string",
	[VALUE_BYTES] = "[]uint8",
	[VALUE_BOOL] = "bool",
	[VALUE_INT32] = "int32",
	[VALUE_INT64] = "int64",
	[VALUE_NUMBER] = "float64",
	[VALUE_TIME] = "v1.Time",
	[VALUE_MICRO_TIME] = "v1.MicroTime",
	[VALUE_QUANTITY] = "resource.Quantity",
	[VALUE_INT_OR_STRING] = "intstr.IntOrString",
	[VALUE_MESSAGE] = "object"};

/* A member that is checked, and where it stands. */
struct checked {
	struct protobuf_member member;
	const char *place, *within;
};

/* Times are read as strings. */
static const char *type_of_value(const struct protobuf_member *m)
{
	if (m->value == VALUE_MESSAGE)
		return protobuf_message_type(m->message);
	return m->value == VALUE_TIME || m->value == VALUE_MICRO_TIME ? "string" : value_words[m->value];
}

/* One: it is an item of the list or map that was wrong, and not all of it. */
static bool value_check_tell(const struct checked *c, const cJSON *value, bool one, struct value_fault *ret)
{
	const struct protobuf_member *m = &c->member;
	const char *around = one ? "" : m->is_list ? "[]" : m->is_map ? "map[string]" : "";

	*ret = (struct value_fault){
		.place = xstrdup(c->place),
		.within = c->within,
		.expected = one || !*around ? value_words[m->value]
			    : m->is_list    ? "array"
					    : "map",
		.found = go_json_type(value),
		.go_type = xasprintf("%s%s", around, type_of_value(m)),
		.value = value,
	};
	return true;
}

static bool check_message(const cJSON *object, unsigned message, const char *place, struct value_fault *ret);

static bool check_one(const struct checked *c, const cJSON *value, struct value_fault *ret)
{
	const struct protobuf_member *m = &c->member;

	if (cJSON_IsNull(value))
		return false;
	if (has_form(value, m->value))
		return m->value == VALUE_MESSAGE && check_message(value, m->message, c->place, ret);
	return value_check_tell(c, value, true, ret);
}

static bool check_member(const struct checked *c, const cJSON *value, struct value_fault *ret)
{
	const cJSON *part;

	if (cJSON_IsNull(value) || (!c->member.is_list && !c->member.is_map))
		return check_one(c, value, ret);
	if (c->member.is_list ? !cJSON_IsArray(value) : !cJSON_IsObject(value))
		return value_check_tell(c, value, false, ret);
	cJSON_ArrayForEach(part, value)
	{
		if (check_one(c, part, ret))
			return true;
	}
	return false;
}

static const char *bare_type(unsigned message)
{
	const char *type = protobuf_message_type(message), *dot = strrchr(type, '.');

	return dot ? dot + 1 : type;
}

static bool check_message(const cJSON *object, unsigned message, const char *place, struct value_fault *ret)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, object)
	{
		struct checked c = {.within = bare_type(message)};
		char *inner;
		bool wrong;

		if (!protobuf_find_member(message, member->string, &c.member))
			continue;
		inner = field_member_place(place, member->string);
		c.place = inner;
		wrong = check_member(&c, member, ret);
		free(inner);
		if (wrong)
			return true;
	}
	return false;
}

bool value_check_builtin(
	const char *api_version, const char *kind, const cJSON *object, struct value_fault *ret)
{
	unsigned message;

	return protobuf_find_message(slice_of(api_version), slice_of(kind), &message) &&
	       check_message(object, message, "", ret);
}

bool value_check_metadata(const cJSON *metadata, struct value_fault *ret)
{
	struct checked c = {.place = "", .within = "ObjectMeta"};
	unsigned message;

	return metadata && protobuf_find_message(slice_of("v1"), slice_of("ConfigMap"), &message) &&
	       protobuf_find_member(message, "metadata", &c.member) && check_one(&c, metadata, ret);
}

/* ---- schemas ---- */

const char *const value_reasons[] = {
	[VALUE_INVALID] = "FieldValueInvalid",
	[VALUE_OF_OTHER_TYPE] = "FieldValueTypeInvalid",
	[VALUE_REQUIRED] = "FieldValueRequired",
	[VALUE_NOT_SUPPORTED] = "FieldValueNotSupported",
	[VALUE_TOO_LONG] = "FieldValueTooLong",
	[VALUE_TOO_MANY] = "FieldValueTooMany",
};

/* NULL when there are enough. */
static cJSON *value_check_add(cJSON *faults, enum value_reason reason, const char *place, char *message)
{
	cJSON *fault = NULL;

	if (cJSON_GetArraySize(faults) < VALUE_FAULTS_MAX) {
		fault = cJSON_CreateObject();
		cJSON_AddNumberToObject(fault, "reason", reason);
		cJSON_AddStringToObject(fault, "field", place);
		cJSON_AddStringToObject(fault, "message", message);
		cJSON_AddItemToArray(faults, fault);
	}
	free(message);
	return fault;
}

static void add_invalid(cJSON *faults, const char *place, const cJSON *value, char *problem)
{
	char *shown = cJSON_IsArray(value) ? xasprintf("%d", cJSON_GetArraySize(value))
					   : cJSON_PrintUnformatted(value);

	value_check_add(faults, VALUE_INVALID, place,
		xasprintf("Invalid value: %s: %s in body %s", shown, place, problem));
	free(shown);
	free(problem);
}

static const char *schema_word(const cJSON *value)
{
	return cJSON_IsString(value)   ? "string"
	       : is_whole(value)       ? "integer"
	       : cJSON_IsNumber(value) ? "number"
	       : cJSON_IsBool(value)   ? "boolean"
	       : cJSON_IsArray(value)  ? "array"
	       : cJSON_IsNull(value)   ? "null"
				       : "object";
}

/* Whether the value is of the schema's type; says so if not. */
static bool check_type(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	bool either = cJSON_IsTrue(json_tree_at(schema, "x-kubernetes-int-or-string", NULL));
	const char *type = either ? "integer,string" : json_tree_text(schema, "type");
	const char *found = schema_word(value);
	bool fits = !*type || strcmp(type, found) == 0 ||
		    (strcmp(type, "number") == 0 && cJSON_IsNumber(value)) ||
		    (either && (is_whole(value) || cJSON_IsString(value)));
	cJSON *fault;

	if (!fits) {
		fault = value_check_add(faults, VALUE_OF_OTHER_TYPE, place,
			xasprintf("Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", found,
				place, type, found));
		cJSON_AddStringToObject(fault, "expected", type);
		cJSON_AddStringToObject(fault, "found", found);
	}
	return fits;
}

static void check_enum(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	const cJSON *known = json_tree_at(schema, "enum", NULL), *item;
	char *shown, *all = xstrdup("");

	cJSON_ArrayForEach(item, known)
	{
		char *text = cJSON_PrintUnformatted(item);
		char *more = xasprintf("%s%s%s", all, *all ? ", " : "", text);

		free(all);
		cJSON_free(text);
		all = more;
		if (json_tree_equal(item, value))
			break;
	}
	if (known && !item) {
		shown = cJSON_PrintUnformatted(value);
		value_check_add(faults, VALUE_NOT_SUPPORTED, place,
			xasprintf("Unsupported value: %s: supported values: %s", shown, all));
		cJSON_free(shown);
	}
	free(all);
}

/* A limit of the schema, if it has that one. */
static bool limit(const cJSON *schema, const char *name, double *ret)
{
	const cJSON *value = json_tree_at(schema, name, NULL);

	*ret = cJSON_IsNumber(value) ? value->valuedouble : 0;
	return cJSON_IsNumber(value);
}

static void check_number(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	bool above = cJSON_IsTrue(json_tree_at(schema, "exclusiveMinimum", NULL));
	bool below = cJSON_IsTrue(json_tree_at(schema, "exclusiveMaximum", NULL));
	double n = value->valuedouble, bound;

	if (limit(schema, "minimum", &bound) && (above ? n <= bound : n < bound))
		add_invalid(faults, place, value,
			xasprintf("should be greater than %s%.15g", above ? "" : "or equal to ", bound));
	if (limit(schema, "maximum", &bound) && (below ? n >= bound : n > bound))
		add_invalid(faults, place, value,
			xasprintf("should be less than %s%.15g", below ? "" : "or equal to ", bound));
}

/* In characters, not bytes. */
static double length_of(const char *text)
{
	double n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xC0) != 0x80;
	return n;
}

static void check_text(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	double length = length_of(value->valuestring), bound;

	if (limit(schema, "minLength", &bound) && length < bound)
		add_invalid(faults, place, value, xasprintf("should be at least %.0f chars long", bound));
	if (limit(schema, "maxLength", &bound) && length > bound)
		value_check_add(faults, VALUE_TOO_LONG, place,
			xasprintf("Too long: may not be more than %.0f bytes", bound));
}

static void check_count(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	bool array = cJSON_IsArray(value);
	const char *what = array ? "items" : "properties";
	int count = cJSON_GetArraySize(value);
	double bound;

	if (limit(schema, array ? "minItems" : "minProperties", &bound) && count < bound)
		add_invalid(faults, place, value, xasprintf("should have at least %.0f %s", bound, what));
	if (limit(schema, array ? "maxItems" : "maxProperties", &bound) && count > bound)
		value_check_add(faults, VALUE_TOO_MANY, place,
			xasprintf("Too many: %d: must have at most %.0f item%s", count, bound,
				bound == 1 ? "" : "s"));
}

static bool is_nothing(const cJSON *value, const cJSON *schema)
{
	return !value || (cJSON_IsNull(value) && !cJSON_IsTrue(json_tree_at(schema, "nullable", NULL)));
}

static void check_object(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	const cJSON *properties = json_tree_at(schema, "properties", NULL), *member, *name;
	const cJSON *others = json_tree_at(schema, "additionalProperties", NULL);
	struct json_index members;

	json_index_init(&members, value);
	cJSON_ArrayForEach(name, json_tree_at(schema, "required", NULL))
	{
		const cJSON *of = cJSON_IsString(name)
					  ? cJSON_GetObjectItemCaseSensitive(properties, name->valuestring)
					  : NULL;
		char *inner = of ? field_member_place(place, name->valuestring) : NULL;

		if (of && is_nothing(json_index_find(&members, name->valuestring), of) &&
			!json_tree_at(of, "default", NULL))
			value_check_add(faults, VALUE_REQUIRED, inner, xstrdup("Required value"));
		free(inner);
	}
	json_index_release(&members);
	cJSON_ArrayForEach(member, value)
	{
		const cJSON *of = cJSON_GetObjectItemCaseSensitive(properties, member->string);
		char *inner = field_member_place(place, member->string);

		of = of ? of : cJSON_IsObject(others) ? others : NULL;
		if (of && !is_nothing(member, of))
			value_check_schema(member, of, inner, faults);
		free(inner);
	}
}

static void check_items(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	const cJSON *of = json_tree_at(schema, "items", NULL), *item;
	int i = 0;

	cJSON_ArrayForEach(item, value)
	{
		char *inner = xasprintf("%s[%d]", place, i++);

		if (cJSON_IsObject(of))
			value_check_schema(item, of, inner, faults);
		free(inner);
	}
}

void value_check_schema(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults)
{
	if (cJSON_IsNull(value) && cJSON_IsTrue(json_tree_at(schema, "nullable", NULL)))
		return;
	if (!check_type(value, schema, place, faults))
		return;
	check_enum(value, schema, place, faults);
	if (cJSON_IsNumber(value))
		check_number(value, schema, place, faults);
	else if (cJSON_IsString(value))
		check_text(value, schema, place, faults);
	else if (cJSON_IsArray(value) || cJSON_IsObject(value))
		check_count(value, schema, place, faults);
	if (cJSON_IsObject(value))
		check_object(value, schema, place, faults);
	else if (cJSON_IsArray(value))
		check_items(value, schema, place, faults);
}

/* ---- what a schema makes of a value ---- */

static bool drops_others(const cJSON *schema)
{
	return json_tree_at(schema, "properties", NULL) &&
	       !json_tree_at(schema, "additionalProperties", NULL) &&
	       !cJSON_IsTrue(json_tree_at(schema, "x-kubernetes-preserve-unknown-fields", NULL)) &&
	       !cJSON_IsTrue(json_tree_at(schema, "x-kubernetes-embedded-resource", NULL));
}

static void fill_in(cJSON *object, const cJSON *schema)
{
	struct json_index members;
	const cJSON *of;

	json_index_init(&members, object);
	cJSON_ArrayForEach(of, json_tree_at(schema, "properties", NULL))
	{
		const cJSON *given = json_tree_at(of, "default", NULL);

		if (given && is_nothing(json_index_find(&members, of->string), of))
			json_index_set(&members, object, of->string, cJSON_Duplicate(given, true));
	}
	json_index_release(&members);
}

static bool is_of_every_object(const char *name)
{
	return strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0 || strcmp(name, "metadata") == 0;
}

static void value_check_complete(cJSON *value, const cJSON *schema, bool whole);

static void complete_object(cJSON *object, const cJSON *schema, bool whole)
{
	const cJSON *properties = json_tree_at(schema, "properties", NULL);
	const cJSON *others = json_tree_at(schema, "additionalProperties", NULL);
	cJSON *member, *next;

	fill_in(object, schema);
	for (member = object->child; member; member = next) {
		const cJSON *of = cJSON_GetObjectItemCaseSensitive(properties, member->string);

		next = member->next;
		of = of ? of : cJSON_IsObject(others) ? others : NULL;
		if (whole && is_of_every_object(member->string))
			continue;
		if (of && cJSON_IsNull(member) && is_nothing(member, of))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
		else if (of)
			value_check_complete(member, of, false);
		else if (drops_others(schema))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
	}
}

static void value_check_complete(cJSON *value, const cJSON *schema, bool whole)
{
	const cJSON *items = json_tree_at(schema, "items", NULL);
	cJSON *item;

	if (cJSON_IsObject(value))
		complete_object(value, schema, whole);
	for (item = cJSON_IsArray(value) ? value->child : NULL; item; item = item->next)
		value_check_complete(item, items, false);
}

void value_complete(cJSON *object, const cJSON *schema)
{
	value_check_complete(object, schema, true);
}
