/* custom_columns.c: see custom_columns.h. */
#include "tools/get/custom_columns.h"

#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/get/go_value.h"
#include "tools/get/json_path.h"

#include <stdlib.h>

#define GAP_BLANKS 3 /* between columns, and how wide one is at least, as kubectl has it */
#define LEAST_WIDE 6

struct custom_columns {
	struct json_path **paths;
	size_t count;
	char **cells; /* row by row, the headings first */
	size_t cell_count;
};

void custom_columns_free(struct custom_columns *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		json_path_free(c->paths[i]);
	for (size_t i = 0; i < c->cell_count; i++)
		free(c->cells[i]);
	free(c->paths);
	free(c->cells);
	free(c);
}

static void add_cell(struct custom_columns *c, struct slice text)
{
	c->cells = xgrow(c->cells, c->cell_count, sizeof(*c->cells));
	c->cells[c->cell_count++] = slice_dup(text);
}

static int add_column(struct custom_columns *c, struct slice spec, struct err *err)
{
	struct slice rest = spec, heading = slice_cut(&rest, ':');
	struct json_path *path;
	int rc;

	if (!rest.ptr || !heading.len || memchr(rest.ptr, ':', rest.len))
		return err_set(err, ERR_USAGE, "expected HEADING:PATH,... as custom-columns, found '%.*s'",
			(int)spec.len, spec.ptr);
	rc = json_path_parse_relaxed(rest, &path, err);
	if (rc)
		return rc;
	c->paths = xgrow(c->paths, c->count, sizeof(struct json_path *));
	c->paths[c->count++] = path;
	add_cell(c, heading);
	return 0;
}

int custom_columns_new(const char *text, struct custom_columns **ret, struct err *err)
{
	struct custom_columns *c = xcalloc(1, sizeof(*c));
	struct slice rest = slice_of(text);
	int rc = 0;

	while (!rc && rest.ptr)
		rc = add_column(c, slice_cut(&rest, ','), err);
	if (rc)
		custom_columns_free(c);
	else
		*ret = c;
	return rc;
}

static int put_cell(const struct json_path *path, struct slice object, struct buf *to, struct err *err)
{
	struct json_values found;
	struct buf text;
	int rc = json_path_find(path, object, &found, err);

	buf_init(&text, LIMIT_OBJECT_BYTES);
	if (!rc && found.count == 0)
		rc = buf_append(&text, "<none>", 6, err);
	for (size_t i = 0; i < found.count && !rc; i++) {
		rc = buf_append(&text, ",", i != 0, err);
		if (!rc)
			rc = go_text_put(found.items[i], &text, err);
	}
	if (!rc)
		rc = visible_append(to, buf_slice(&text), err);
	free(found.items);
	buf_release(&text);
	return rc;
}

int custom_columns_add(struct custom_columns *c, struct slice object, struct err *err)
{
	struct buf cell;
	int rc = 0;

	buf_init(&cell, VISIBLE_GROWTH * (size_t)LIMIT_OBJECT_BYTES);
	for (size_t i = 0; i < c->count && !rc; i++) {
		buf_clear(&cell);
		rc = put_cell(c->paths[i], object, &cell, err);
		if (!rc)
			add_cell(c, (struct slice){cell.len ? cell.ptr : "", cell.len});
	}
	buf_release(&cell);
	return rc;
}

/* In characters. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void custom_columns_print(struct custom_columns *c, FILE *to)
{
	size_t *widths = xcalloc(c->count, sizeof(*widths));

	for (size_t i = 0; i < c->cell_count; i++) {
		size_t *width = &widths[i % c->count], own = width_of(c->cells[i]) + GAP_BLANKS;

		*width = own > *width ? own : *width;
		*width = *width < LEAST_WIDE ? LEAST_WIDE : *width;
	}
	for (size_t i = 0; i < c->cell_count; i++) {
		bool is_last = i % c->count == c->count - 1;

		fputs(c->cells[i], to);
		for (size_t n = width_of(c->cells[i]); !is_last && n < widths[i % c->count]; n++)
			putc(' ', to);
		if (is_last)
			putc('\n', to);
	}
	free(widths);
}
