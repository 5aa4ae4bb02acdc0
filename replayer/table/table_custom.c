/*
 * table_custom.c: the columns that a CRD declares; see table_columns.h. Their values are named by the simple
 * JSONPath that CRDs may use: .a.b, ['a.b'], [0], [*] (the first), [?(@.type=="Ready")].
 */
#include "replayer/table/table_columns.h"
#include "replayer/table/table_writers.h"
#include "replayer/world/crd.h"

#include <stdlib.h>

#define NAME_MAX_BYTES 256

/* Copies up to any of the stop characters; moves *at there. False when it is too long or empty. */
static bool take_name(const char **at, const char *stops, char to[NAME_MAX_BYTES])
{
	size_t len = strcspn(*at, stops);

	if (len == 0 || len >= NAME_MAX_BYTES)
		return false;
	memcpy(to, *at, len);
	to[len] = 0;
	*at += len;
	return true;
}

/* [?(@.type=="Ready")]: the first entry of which that holds. */
static const cJSON *table_custom_filter(const cJSON *list, const char **at)
{
	char member[NAME_MAX_BYTES], value[NAME_MAX_BYTES];

	*at += strlen("?(@.");
	if (!take_name(at, "=]", member) || strncmp(*at, "==", 2) != 0)
		return NULL;
	*at += 2;
	if (**at != '"' && **at != '\'')
		return NULL;
	(*at)++;
	if (!take_name(at, "\"'", value))
		return NULL;
	(*at)++;
	if (**at == ')')
		(*at)++;
	return cell_entry(list, member, value);
}

/* What stands between brackets; *at is behind the opening one. */
static const cJSON *bracket(const cJSON *object, const char **at)
{
	char name[NAME_MAX_BYTES];

	if (strncmp(*at, "?(@.", 4) == 0)
		return table_custom_filter(object, at);
	if (**at == '\'' || **at == '"') {
		(*at)++;
		if (!take_name(at, "'\"", name))
			return NULL;
		(*at)++;
		return cJSON_GetObjectItemCaseSensitive(object, name);
	}
	if (!take_name(at, "]", name))
		return NULL;
	return cJSON_GetArrayItem(object, strcmp(name, "*") == 0 ? 0 : (int)strtol(name, NULL, 10));
}

static const cJSON *find_value(const cJSON *object, const char *path)
{
	char name[NAME_MAX_BYTES];

	while (object && *path) {
		if (*path == '.') {
			path++;
		} else if (*path == '[') {
			path++;
			object = bracket(object, &path);
			if (*path++ != ']')
				return NULL;
		} else {
			if (!take_name(&path, ".[", name))
				return NULL;
			object = cJSON_GetObjectItemCaseSensitive(object, name);
		}
	}
	return cJSON_IsNull(object) ? NULL : object;
}

static int put_null(const struct table_cell *c)
{
	return buf_append(c->to, "null", 4, c->err);
}

/* A column of type string shows anything as text. */
static int put_as_text(const struct table_cell *c, const cJSON *value)
{
	char *text;
	int rc;

	if (cJSON_IsString(value))
		return cell_put_text(c, value->valuestring);
	text = cJSON_PrintUnformatted(value);
	rc = cell_put_text(c, text ? text : "");
	free(text);
	return rc;
}

static int write_custom(const struct table_cell *c)
{
	const cJSON *value = find_value(c->object, c->column->a);
	const char *type = c->column->type;

	if (!value)
		return put_null(c);
	if (strcmp(type, "string") == 0)
		return put_as_text(c, value);
	if (strcmp(type, "date") == 0 && cJSON_IsString(value))
		return cell_put_age(c, value->valuestring);
	if (strcmp(type, "integer") == 0 && cJSON_IsNumber(value))
		return cell_put_integer(c, (int64_t)value->valuedouble);
	if (strcmp(type, "number") == 0 && cJSON_IsNumber(value))
		return buf_printf(c->to, c->err, "%.15g", value->valuedouble);
	if (strcmp(type, "boolean") == 0 && cJSON_IsBool(value))
		return buf_printf(c->to, c->err, cJSON_IsTrue(value) ? "true" : "false");
	return put_null(c);
}

static struct table_column name_column(void)
{
	return (struct table_column){"Name", "string", 0, cell_text, "metadata.name", "", "name", NULL};
}

/* What the API server shows where a definition declares nothing. */
static struct table_column age_column(void)
{
	return (struct table_column){.name = xstrdup("Age"),
		.type = xstrdup("date"),
		.write = write_custom,
		.a = xstrdup(".metadata.creationTimestamp")};
}

static struct table_column read_column(const cJSON *declared)
{
	const char *path = cell_string(declared, "jsonPath", "");
	const char *description = cell_string(declared, "description", "");

	return (struct table_column){
		.name = xstrdup(cell_string(declared, "name", "")),
		.type = xstrdup(cell_string(declared, "type", "string")),
		.priority = (int)cell_integer(declared, "priority", 0),
		.write = write_custom,
		.a = xstrdup(path),
		.format = xstrdup(cell_string(declared, "format", "")),
		.description =
			*description ? xstrdup(description)
				     : xasprintf("Custom resource definition column (in JSONPath format): %s",
					       path),
	};
}

struct table_column *table_custom_columns(struct slice crd, const char *version)
{
	struct slice entry = crd.len ? crd_version(crd, version) : crd;
	cJSON *object = entry.len ? cJSON_ParseWithLength(entry.ptr, entry.len) : NULL;
	const cJSON *declared = cell_at(object, "additionalPrinterColumns"), *column;
	struct table_column *made;
	size_t n = 1;

	made = xcalloc((size_t)cJSON_GetArraySize(declared) + 3, sizeof(*made));
	made[0] = name_column();
	cJSON_ArrayForEach(column, declared)
	{
		made[n++] = read_column(column);
	}
	if (n == 1)
		made[n] = age_column();
	cJSON_Delete(object);
	return made;
}

/* The first column is constant. */
void table_custom_columns_free(struct table_column *columns)
{
	for (struct table_column *c = columns ? columns + 1 : NULL; c && c->name; c++) {
		free((void *)(uintptr_t)c->name);
		free((void *)(uintptr_t)c->type);
		free((void *)(uintptr_t)c->a);
		free((void *)(uintptr_t)c->format);
		free((void *)(uintptr_t)c->description);
	}
	free(columns);
}
