/* table_cells.c: what all cell writers use; see table_columns.h. */
#include "replayer/table/age.h"
#include "replayer/table/table_columns.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY_MAX 256

const cJSON *cell_at(const cJSON *object, const char *path)
{
	char key[KEY_MAX];

	while (object && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = 0;
		object = cJSON_GetObjectItemCaseSensitive(object, key);
		path += len + (path[len] == '.');
	}
	return cJSON_IsNull(object) ? NULL : object;
}

const char *cell_string(const cJSON *object, const char *path, const char *otherwise)
{
	const char *text = cJSON_GetStringValue(cell_at(object, path));

	return text ? text : otherwise;
}

int64_t cell_integer(const cJSON *object, const char *path, int64_t otherwise)
{
	const cJSON *number = cell_at(object, path);

	return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : otherwise;
}

const cJSON *cell_entry(const cJSON *list, const char *key, const char *value)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, list)
	{
		if (strcmp(cell_string(entry, key, ""), value) == 0)
			return entry;
	}
	return NULL;
}

bool cell_has_condition(const cJSON *object, const char *type)
{
	const cJSON *condition = cell_entry(cell_at(object, "status.conditions"), "type", type);

	return condition && strcmp(cell_string(condition, "status", ""), "True") == 0;
}

static int compare_keys(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

const cJSON **cell_sorted(const cJSON *map, size_t *ret_count)
{
	size_t n = 0;
	const cJSON **sorted, *entry;

	if (!cJSON_IsObject(map))
		map = NULL;
	sorted = xcalloc((size_t)cJSON_GetArraySize(map) + 1, sizeof(const cJSON *));
	cJSON_ArrayForEach(entry, map)
	{
		sorted[n++] = entry;
	}
	qsort(sorted, n, sizeof(*sorted), compare_keys);
	*ret_count = n;
	return sorted;
}

int cell_put_text(const struct table_cell *c, const char *text)
{
	return json_escape(slice_of(text), c->to, c->err);
}

int cell_put_integer(const struct table_cell *c, int64_t value)
{
	return buf_printf(c->to, c->err, "%lld", (long long)value);
}

int cell_put_format(const struct table_cell *c, const char *format, ...)
{
	char *text;
	va_list ap;
	int rc;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		abort();
	va_end(ap);
	rc = cell_put_text(c, text);
	free(text);
	return rc;
}

int cell_put_age(const struct table_cell *c, const char *timestamp)
{
	char age[AGE_TEXT_MAX];

	return cell_put_text(c, age_format(age, slice_of(timestamp), c->now_ns));
}

void cell_join(struct cell_joined *j, const char *separator, const char *text)
{
	if (!j->text.max)
		buf_init(&j->text, LIMIT_OBJECT_BYTES);
	if (buf_printf(&j->text, NULL, "%s%s", j->count ? separator : "", text) == 0)
		j->count++;
}

int cell_put_joined(const struct table_cell *c, struct cell_joined *j, const char *when_empty)
{
	struct slice text = j->count ? buf_slice(&j->text) : slice_of(when_empty);
	int rc = json_escape(text, c->to, c->err);

	buf_release(&j->text);
	j->count = 0;
	return rc;
}
