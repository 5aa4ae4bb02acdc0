/* sorted_rows.c: see sorted_rows.h. */
#include "tools/get/sorted_rows.h"

#include "tools/get/sort_key.h"

#include <stdlib.h>

struct sorted_row {
	char *key, *texts[SORTED_VALUES_MAX];
	struct sql_value values[SORTED_VALUES_MAX];
	size_t count, place;
};

int sorted_rows_add(struct sorted_rows *s, struct slice object, const struct sql_value *values, size_t count,
	struct err *err)
{
	struct json_values found;
	struct sorted_row *row;
	int rc = json_path_find(s->by, object, &found, err);

	if (!rc) {
		s->items = xgrow(s->items, s->count, sizeof(*s->items));
		row = &s->items[s->count];
		*row = (struct sorted_row){.count = count, .place = s->count};
		s->count++;
		s->key_found |= found.count != 0;
		row->key = slice_dup(found.count ? found.items[0] : (struct slice){"", 0});
		for (size_t i = 0; i < count; i++) {
			row->values[i] = values[i];
			row->texts[i] = slice_dup(values[i].bytes);
			row->values[i].bytes.ptr = row->texts[i];
		}
	}
	free(found.items);
	return rc;
}

static int by_key(const void *left, const void *right)
{
	const struct sorted_row *a = left, *b = right;
	int order = sort_key_compare(slice_of(a->key), slice_of(b->key));

	return order ? order : (a->place > b->place) - (a->place < b->place);
}

int sorted_rows_give(struct sorted_rows *s, const struct sql_sink *to, struct err *err)
{
	int rc = 0;

	if (s->count)
		qsort(s->items, s->count, sizeof(*s->items), by_key);
	for (size_t i = 0; i < s->count && !rc; i++)
		rc = to->row(to->context, s->items[i].values, s->items[i].count, err);
	return rc;
}

void sorted_rows_release(struct sorted_rows *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->items[i].key);
		for (size_t k = 0; k < s->items[i].count; k++)
			free(s->items[i].texts[k]);
	}
	free(s->items);
	*s = (struct sorted_rows){.by = s->by};
}
