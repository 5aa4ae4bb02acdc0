/*
 * openapi_proto.c: see openapi_proto.h. Each message is a row of fields, which say how the member of that
 * name is written.
 */
#include "replayer/serve/openapi_proto.h"

#include "replayer/json/json_tree.h"
#include "schema/base/count_of.h"
#include "schema/base/varint.h"

#include <stdlib.h>

#define WIRE_NUMBER 1 /* eight bytes */
#define WIRE_BYTES  2
#define WRAPS_MAX   3

/* How a member becomes a field. */
enum form {
	TEXT,
	FLAG,
	COUNT,
	NUMBER,
	TEXTS,        /* an array of strings: the field once for each */
	ANY,          /* any value, as YAML, of which JSON is a part */
	ANYS,         /* an array of those */
	MESSAGE,      /* an object */
	MESSAGES,     /* an array of objects: the field once for each */
	PARAMETERS,   /* the same of parameters, of which there are several kinds */
	NAMED,        /* an object whose members have any name: a message of pairs, each a field `pair` */
	TYPES,        /* a string or an array of them: a message of strings */
	SCHEMA_OR,    /* a schema, or true or false: a message with one of the two */
	REQUIREMENTS, /* an array of objects of arrays of strings */
};

struct field {
	const char *name;
	unsigned char number, form, pair;
	const struct message *message;
};

struct message {
	const struct field *fields;
	unsigned char count, extension; /* extension: the field for members "x-..."; 0: there is none */
	/* The message is a field of that number in a message, and that in another, ...; ended by 0. */
	unsigned char wraps[WRAPS_MAX + 1];
};

#define FIELDS(of) of, COUNT_OF(of)

/* clang-format off */
static const struct message schema_message, schema_item;

static const struct field schema_fields[] = {
	{"$ref", 1, TEXT, 0, NULL}, {"format", 2, TEXT, 0, NULL}, {"title", 3, TEXT, 0, NULL},
	{"description", 4, TEXT, 0, NULL}, {"default", 5, ANY, 0, NULL}, {"multipleOf", 6, NUMBER, 0, NULL},
	{"maximum", 7, NUMBER, 0, NULL}, {"exclusiveMaximum", 8, FLAG, 0, NULL}, {"minimum", 9, NUMBER, 0, NULL},
	{"exclusiveMinimum", 10, FLAG, 0, NULL}, {"maxLength", 11, COUNT, 0, NULL}, {"minLength", 12, COUNT, 0, NULL},
	{"pattern", 13, TEXT, 0, NULL}, {"maxItems", 14, COUNT, 0, NULL}, {"minItems", 15, COUNT, 0, NULL},
	{"uniqueItems", 16, FLAG, 0, NULL}, {"maxProperties", 17, COUNT, 0, NULL}, {"minProperties", 18, COUNT, 0, NULL},
	{"required", 19, TEXTS, 0, NULL}, {"enum", 20, ANYS, 0, NULL},
	{"additionalProperties", 21, SCHEMA_OR, 0, &schema_message}, {"type", 22, TYPES, 0, NULL},
	{"items", 23, MESSAGE, 0, &schema_item}, {"allOf", 24, MESSAGES, 0, &schema_message},
	{"properties", 25, NAMED, 1, &schema_message}, {"discriminator", 26, TEXT, 0, NULL},
	{"readOnly", 27, FLAG, 0, NULL}, {"example", 30, ANY, 0, NULL},
};
static const struct message schema_message = {FIELDS(schema_fields), 31, {0}};
static const struct message schema_item = {FIELDS(schema_fields), 31, {1}};

/* What the parameters in a query, a path and a header have in common, with numbers of their own from `first` on. */
#define PLACED {"required", 1, FLAG, 0, NULL}, {"in", 2, TEXT, 0, NULL}, {"description", 3, TEXT, 0, NULL}, \
	{"name", 4, TEXT, 0, NULL}
#define SIMPLE(first) {"type", first, TEXT, 0, NULL}, {"format", first + 1, TEXT, 0, NULL}, \
	{"collectionFormat", first + 3, TEXT, 0, NULL}, {"default", first + 4, ANY, 0, NULL}, \
	{"maximum", first + 5, NUMBER, 0, NULL}, {"minimum", first + 7, NUMBER, 0, NULL}, \
	{"maxLength", first + 9, COUNT, 0, NULL}, {"minLength", first + 10, COUNT, 0, NULL}, \
	{"pattern", first + 11, TEXT, 0, NULL}, {"uniqueItems", first + 14, FLAG, 0, NULL}, \
	{"enum", first + 15, ANYS, 0, NULL}

static const struct field body_fields[] = {
	{"description", 1, TEXT, 0, NULL}, {"name", 2, TEXT, 0, NULL}, {"in", 3, TEXT, 0, NULL},
	{"required", 4, FLAG, 0, NULL}, {"schema", 5, MESSAGE, 0, &schema_message},
};
static const struct field query_fields[] = {PLACED, {"allowEmptyValue", 5, FLAG, 0, NULL}, SIMPLE(6)};
static const struct field path_fields[] = {PLACED, SIMPLE(5)};
static const struct {
	const char *in;
	struct message message;
} parameters[] = {
	{"body", {FIELDS(body_fields), 6, {1, 1}}},
	{"query", {FIELDS(query_fields), 23, {3, 2, 1}}},
	{"path", {FIELDS(path_fields), 22, {4, 2, 1}}},
	{"header", {FIELDS(path_fields), 22, {1, 2, 1}}},
};

static const struct field response_fields[] = {
	{"description", 1, TEXT, 0, NULL}, {"schema", 2, MESSAGE, 0, &schema_item},
};
static const struct message response_message = {FIELDS(response_fields), 5, {1}};

static const struct field operation_fields[] = {
	{"tags", 1, TEXTS, 0, NULL}, {"summary", 2, TEXT, 0, NULL}, {"description", 3, TEXT, 0, NULL},
	{"operationId", 5, TEXT, 0, NULL}, {"produces", 6, TEXTS, 0, NULL}, {"consumes", 7, TEXTS, 0, NULL},
	{"parameters", 8, PARAMETERS, 0, NULL}, {"responses", 9, NAMED, 1, &response_message},
	{"schemes", 10, TEXTS, 0, NULL}, {"deprecated", 11, FLAG, 0, NULL},
};
static const struct message operation_message = {FIELDS(operation_fields), 13, {0}};

static const struct field path_item_fields[] = {
	{"get", 2, MESSAGE, 0, &operation_message}, {"put", 3, MESSAGE, 0, &operation_message},
	{"post", 4, MESSAGE, 0, &operation_message}, {"delete", 5, MESSAGE, 0, &operation_message},
	{"options", 6, MESSAGE, 0, &operation_message}, {"head", 7, MESSAGE, 0, &operation_message},
	{"patch", 8, MESSAGE, 0, &operation_message}, {"parameters", 9, PARAMETERS, 0, NULL},
};
static const struct message path_item_message = {FIELDS(path_item_fields), 10, {0}};

static const struct field info_fields[] = {
	{"title", 1, TEXT, 0, NULL}, {"version", 2, TEXT, 0, NULL}, {"description", 3, TEXT, 0, NULL},
};
static const struct message info_message = {FIELDS(info_fields), 7, {0}};

/* A key in a header is the only scheme that API servers have. */
static const struct field scheme_fields[] = {
	{"type", 1, TEXT, 0, NULL}, {"name", 2, TEXT, 0, NULL}, {"in", 3, TEXT, 0, NULL},
	{"description", 4, TEXT, 0, NULL},
};
static const struct message scheme_message = {FIELDS(scheme_fields), 5, {2}};

static const struct field document_fields[] = {
	{"swagger", 1, TEXT, 0, NULL}, {"info", 2, MESSAGE, 0, &info_message},
	{"paths", 8, NAMED, 2, &path_item_message}, {"definitions", 9, NAMED, 1, &schema_message},
	{"security", 12, REQUIREMENTS, 0, NULL}, {"securityDefinitions", 13, NAMED, 1, &scheme_message},
};
static const struct message document_message = {FIELDS(document_fields), 16, {0}};
/* clang-format on */

/* ---- values ---- */

static int put_varint(uint64_t value, struct buf *to, struct err *err)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	return buf_append(to, bytes, varint_put(bytes, value), err);
}

static int put_key(unsigned number, unsigned wire, struct buf *to, struct err *err)
{
	return put_varint(number << 3 | wire, to, err);
}

static int put_bytes(unsigned number, struct slice bytes, struct buf *to, struct err *err)
{
	int rc = put_key(number, WIRE_BYTES, to, err);

	if (rc == 0)
		rc = put_varint(bytes.len, to, err);
	return rc ? rc : buf_append(to, bytes.ptr, bytes.len, err);
}

/* Between begin and end stands a message, whose length is not known before. */
static int begin_message(unsigned number, size_t *ret_at, struct buf *to, struct err *err)
{
	static const char room[VARINT_MAX_BYTES] = {0};
	int rc = put_key(number, WIRE_BYTES, to, err);

	*ret_at = to->len;
	return rc ? rc : buf_append(to, room, sizeof(room), err);
}

static void end_message(size_t at, struct buf *to)
{
	uint8_t bytes[VARINT_MAX_BYTES];
	size_t len = to->len - at - VARINT_MAX_BYTES, n = varint_put(bytes, len);

	memcpy(to->ptr + at, bytes, n);
	memmove(to->ptr + at + n, to->ptr + at + VARINT_MAX_BYTES, len);
	to->len = at + n + len;
}

static int put_text(unsigned number, const cJSON *value, struct buf *to, struct err *err)
{
	return cJSON_IsString(value) ? put_bytes(number, slice_of(value->valuestring), to, err) : 0;
}

static int put_flag(unsigned number, bool value, struct buf *to, struct err *err)
{
	int rc = put_key(number, 0, to, err);

	return rc ? rc : put_varint(value, to, err);
}

/* json_tree keeps numbers that a double does not hold as raw text. */
static double number_of(const cJSON *value)
{
	return cJSON_IsRaw(value) ? strtod(value->valuestring, NULL) : value->valuedouble;
}

static int put_count(unsigned number, const cJSON *value, struct buf *to, struct err *err)
{
	double count = number_of(value);
	int rc = put_key(number, 0, to, err);

	return rc ? rc : put_varint(count >= 0 && count < 9e18 ? (uint64_t)count : 0, to, err);
}

static int put_number(unsigned number, const cJSON *value, struct buf *to, struct err *err)
{
	double plain = number_of(value);
	uint64_t bits;
	uint8_t bytes[8];
	int rc = put_key(number, WIRE_NUMBER, to, err);

	memcpy(&bits, &plain, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	return rc ? rc : buf_append(to, bytes, sizeof(bytes), err);
}

/* A message whose field 2 is YAML. */
static int put_any(unsigned number, const cJSON *value, struct buf *to, struct err *err)
{
	size_t outer, inner;
	int rc = begin_message(number, &outer, to, err);

	if (rc == 0)
		rc = begin_message(2, &inner, to, err);
	if (rc == 0)
		rc = json_tree_print(value, to, err);
	if (rc == 0)
		rc = buf_append(to, "\n", 1, err);
	if (rc)
		return rc;
	end_message(inner, to);
	end_message(outer, to);
	return 0;
}

static int put_texts(unsigned number, const cJSON *list, struct buf *to, struct err *err)
{
	const cJSON *text;
	int rc = 0;

	cJSON_ArrayForEach(text, list)
	{
		if (rc == 0)
			rc = put_text(number, text, to, err);
	}
	return rc;
}

/* ---- messages ---- */

static int put_fields(const struct message *m, const cJSON *object, struct buf *to, struct err *err);

static int put_message(
	unsigned number, const struct message *m, const cJSON *object, struct buf *to, struct err *err)
{
	size_t places[WRAPS_MAX + 1], n = 0, wraps = strlen((const char *)m->wraps);
	int rc = begin_message(number, &places[n++], to, err);

	while (rc == 0 && n <= wraps) {
		rc = begin_message(m->wraps[wraps - n], &places[n], to, err);
		n++;
	}
	if (rc == 0)
		rc = put_fields(m, object, to, err);
	while (rc == 0 && n > 0)
		end_message(places[--n], to);
	return rc;
}

static int put_parameter(unsigned number, const cJSON *object, struct buf *to, struct err *err)
{
	const char *in = json_tree_text(object, "in");

	for (size_t i = 0; i < COUNT_OF(parameters); i++) {
		if (strcmp(parameters[i].in, in) == 0)
			return put_message(number, &parameters[i].message, object, to, err);
	}
	return 0;
}

/* A pair: field 1 is the name of the member, field 2 its value. */
static int put_pair(
	unsigned number, const struct message *m, const cJSON *member, struct buf *to, struct err *err)
{
	size_t at;
	int rc = begin_message(number, &at, to, err);

	if (rc == 0)
		rc = put_bytes(1, slice_of(member->string), to, err);
	if (rc == 0 && m)
		rc = put_message(2, m, member, to, err);
	else if (rc == 0)
		rc = put_any(2, member, to, err);
	if (rc == 0)
		end_message(at, to);
	return rc;
}

static int put_named(const struct field *f, const cJSON *object, struct buf *to, struct err *err)
{
	const cJSON *member;
	size_t at;
	int rc = begin_message(f->number, &at, to, err);

	cJSON_ArrayForEach(member, object)
	{
		if (rc == 0 && cJSON_IsObject(member))
			rc = put_pair(f->pair, f->message, member, to, err);
	}
	if (rc == 0)
		end_message(at, to);
	return rc;
}

/* Each of {"name": ["text", ...]} is a message of pairs of a name and a message of texts. */
static int put_requirement(unsigned number, const cJSON *object, struct buf *to, struct err *err)
{
	size_t outer, pair, texts;
	int rc = begin_message(number, &outer, to, err);

	for (const cJSON *list = object->child; list && rc == 0; list = list->next) {
		rc = begin_message(1, &pair, to, err);
		if (rc == 0)
			rc = put_bytes(1, slice_of(list->string), to, err);
		if (rc == 0)
			rc = begin_message(2, &texts, to, err);
		if (rc == 0)
			rc = put_texts(1, list, to, err);
		if (rc)
			return rc;
		end_message(texts, to);
		end_message(pair, to);
	}
	if (rc == 0)
		end_message(outer, to);
	return rc;
}

static int put_types(unsigned number, const cJSON *value, struct buf *to, struct err *err)
{
	size_t at;
	int rc = begin_message(number, &at, to, err);

	if (rc == 0)
		rc = cJSON_IsArray(value) ? put_texts(1, value, to, err) : put_text(1, value, to, err);
	if (rc == 0)
		end_message(at, to);
	return rc;
}

static int put_schema_or_flag(const struct field *f, const cJSON *value, struct buf *to, struct err *err)
{
	size_t at;
	int rc = begin_message(f->number, &at, to, err);

	if (rc == 0)
		rc = cJSON_IsBool(value) ? put_flag(2, cJSON_IsTrue(value), to, err)
					 : put_message(1, f->message, value, to, err);
	if (rc == 0)
		end_message(at, to);
	return rc;
}

static int put_each(const struct field *f, const cJSON *list, struct buf *to, struct err *err)
{
	const cJSON *item;
	int rc = 0;

	cJSON_ArrayForEach(item, list)
	{
		if (rc == 0 && f->form == ANYS)
			rc = put_any(f->number, item, to, err);
		else if (rc == 0 && !cJSON_IsObject(item))
			continue;
		else if (rc == 0 && f->form == MESSAGES)
			rc = put_message(f->number, f->message, item, to, err);
		else if (rc == 0 && f->form == PARAMETERS)
			rc = put_parameter(f->number, item, to, err);
		else if (rc == 0)
			rc = put_requirement(f->number, item, to, err);
	}
	return rc;
}

static int put_field(const struct field *f, const cJSON *value, struct buf *to, struct err *err)
{
	bool is_number = cJSON_IsNumber(value) || cJSON_IsRaw(value);

	switch ((enum form)f->form) {
	case TEXT: return put_text(f->number, value, to, err);
	case FLAG: return cJSON_IsTrue(value) ? put_flag(f->number, true, to, err) : 0;
	case COUNT: return is_number ? put_count(f->number, value, to, err) : 0;
	case NUMBER: return is_number ? put_number(f->number, value, to, err) : 0;
	case TEXTS: return cJSON_IsArray(value) ? put_texts(f->number, value, to, err) : 0;
	case ANY: return put_any(f->number, value, to, err);
	case MESSAGE: return cJSON_IsObject(value) ? put_message(f->number, f->message, value, to, err) : 0;
	case NAMED: return cJSON_IsObject(value) ? put_named(f, value, to, err) : 0;
	case TYPES: return put_types(f->number, value, to, err);
	case SCHEMA_OR:
		return cJSON_IsObject(value) || cJSON_IsBool(value) ? put_schema_or_flag(f, value, to, err)
								    : 0;
	case ANYS:
	case MESSAGES:
	case PARAMETERS:
	case REQUIREMENTS: break;
	}
	return cJSON_IsArray(value) ? put_each(f, value, to, err) : 0;
}

static int put_member(const struct message *m, const cJSON *member, struct buf *to, struct err *err)
{
	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->fields[i].name, member->string) == 0)
			return put_field(&m->fields[i], member, to, err);
	}
	if (m->extension && strncmp(member->string, "x-", 2) == 0)
		return put_pair(m->extension, NULL, member, to, err);
	return 0;
}

static int put_fields(const struct message *m, const cJSON *object, struct buf *to, struct err *err)
{
	const cJSON *member;
	int rc = 0;

	cJSON_ArrayForEach(member, object)
	{
		if (rc == 0)
			rc = put_member(m, member, to, err);
	}
	return rc;
}

int openapi_proto_write(const cJSON *document, struct buf *to, struct err *err)
{
	return put_fields(&document_message, document, to, err);
}
