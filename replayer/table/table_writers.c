/* table_writers.c: cells that many kinds share; see table_writers.h. */
#include "replayer/table/table_writers.h"

#include <stdlib.h>

int cell_text(const struct table_cell *c)
{
	const char *text = cell_string(c->object, c->column->a, "");

	return cell_put_text(c, *text ? text : c->column->b);
}

int cell_number(const struct table_cell *c)
{
	return cell_put_integer(c, cell_integer(c->object, c->column->a, 0));
}

static int put_word(const struct table_cell *c, const char *word)
{
	return buf_append(c->to, word, strlen(word), c->err);
}

int cell_boolean(const struct table_cell *c)
{
	return put_word(c, cJSON_IsTrue(cell_at(c->object, c->column->a)) ? "true" : "false");
}

int cell_boolean_word(const struct table_cell *c)
{
	const cJSON *value = cell_at(c->object, c->column->a);

	return cell_put_text(c, !value ? "<unset>" : cJSON_IsTrue(value) ? "True" : "False");
}

int cell_scalar(const struct table_cell *c)
{
	const cJSON *value = cell_at(c->object, c->column->a);

	if (!cJSON_IsNumber(value))
		return cell_put_text(c, c->column->b);
	return cell_put_integer(c, (int64_t)value->valuedouble);
}

int cell_scalar_text(const struct table_cell *c)
{
	const cJSON *value = cell_at(c->object, c->column->a);

	if (cJSON_IsNumber(value))
		return cell_put_format(c, "%lld", (long long)value->valuedouble);
	return cell_put_text(c, cJSON_IsString(value) ? value->valuestring : c->column->b);
}

int cell_age(const struct table_cell *c)
{
	return cell_put_age(c, cell_string(c->object, c->column->a, ""));
}

int cell_age_or_none(const struct table_cell *c)
{
	const char *time = cell_string(c->object, c->column->a, "");

	return *time ? cell_put_age(c, time) : cell_put_text(c, "<none>");
}

int cell_ratio(const struct table_cell *c)
{
	return cell_put_format(c, "%lld/%lld", (long long)cell_integer(c->object, c->column->a, 0),
		(long long)cell_integer(c->object, c->column->b, 0));
}

int cell_members(const struct table_cell *c)
{
	int64_t count = cJSON_GetArraySize(cell_at(c->object, c->column->a));

	if (c->column->b)
		count += cJSON_GetArraySize(cell_at(c->object, c->column->b));
	return cell_put_integer(c, count);
}

int cell_list_of(const struct table_cell *c)
{
	struct cell_joined j = {0};
	const cJSON *entry;

	cJSON_ArrayForEach(entry, cell_at(c->object, c->column->a))
	{
		cell_join(&j, ",", cell_string(entry, c->column->b, ""));
	}
	return cell_put_joined(c, &j, "");
}

int cell_first_of(const struct table_cell *c)
{
	const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(cell_at(c->object, c->column->a), 0));

	return cell_put_text(c, text ? text : c->column->b);
}

/* "k=v" of each member, sorted by key. */
static void join_map(struct cell_joined *j, const cJSON *map)
{
	size_t n;
	const cJSON **sorted = cell_sorted(map, &n);

	for (size_t i = 0; i < n; i++) {
		char *pair = xasprintf(
			"%s=%s", sorted[i]->string, cJSON_IsString(sorted[i]) ? sorted[i]->valuestring : "");

		cell_join(j, ",", pair);
		free(pair);
	}
	free(sorted);
}

int cell_labels(const struct table_cell *c)
{
	struct cell_joined j = {0};

	join_map(&j, cell_at(c->object, c->column->a));
	return cell_put_joined(c, &j, "<none>");
}

/* One of matchExpressions as it is written in a selector. */
static void join_expression(struct cell_joined *j, const cJSON *expression)
{
	const char *op = cell_string(expression, "operator", "");
	const char *key = cell_string(expression, "key", "");
	struct cell_joined values = {0};
	const cJSON *value;
	char *text;

	cJSON_ArrayForEach(value, cell_at(expression, "values"))
	{
		cell_join(&values, ",", cJSON_IsString(value) ? value->valuestring : "");
	}
	if (strcmp(op, "In") == 0 || strcmp(op, "NotIn") == 0)
		text = xasprintf("%s %s (%.*s)", key, *op == 'I' ? "in" : "notin", (int)values.text.len,
			values.text.len ? values.text.ptr : "");
	else
		text = xasprintf("%s%s", strcmp(op, "DoesNotExist") == 0 ? "!" : "", key);
	cell_join(j, ",", text);
	free(text);
	buf_release(&values.text);
}

int cell_selector(const struct table_cell *c)
{
	const cJSON *selector = cell_at(c->object, c->column->a), *expression;
	struct cell_joined j = {0};

	join_map(&j, cell_at(selector, "matchLabels"));
	cJSON_ArrayForEach(expression, cell_at(selector, "matchExpressions"))
	{
		join_expression(&j, expression);
	}
	return cell_put_joined(c, &j, c->column->b);
}

int cell_condition(const struct table_cell *c)
{
	const cJSON *condition = cell_entry(cell_at(c->object, "status.conditions"), "type", c->column->a);

	return cell_put_text(c, condition ? cell_string(condition, "status", "") : c->column->b);
}
