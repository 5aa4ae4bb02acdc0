/*
 * table_out.c: see table_out.h.
 *
 * Column widths of a table come from its first rows, which are held back for that; later rows that need more
 * room push their line out of shape rather than the memory.
 */
#include "tools/out/table_out.h"

#include "schema/base/out_file.h"
#include "schema/base/visible.h"

#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HELD_ROWS  200
#define HELD_BYTES ((size_t)4 << 20)
/* Where nothing is cut, a cell longer than this does not make the others of its column as wide. */
#define PADDED_WIDTH 60
#define HELD_MAX     ((size_t)1 << 30) /* one row may be as large as SQLite lets it be */

struct table_out {
	FILE *to;
	enum table_format format;
	unsigned width;
	bool on_terminal;
	const char *const *embedded; /* names of columns of JSON that NULL ends, or NULL */
	bool is_exact;               /* their bytes stay as they are */
	char **names;
	size_t column_count, row_count;
	/* For tables: cells as text, one after another, and where each ends. */
	struct buf held;
	size_t *ends, held_cells, ends_cap;
	size_t *widths; /* set once the held rows were written */
	bool *is_right; /* numbers are */
};

enum table_format table_format_parse(const char *name)
{
	if (strcmp(name, "json") == 0)
		return TABLE_JSON;
	if (strcmp(name, "ndjson") == 0)
		return TABLE_NDJSON;
	return strcmp(name, "csv") == 0 ? TABLE_CSV : TABLE_TEXT;
}

unsigned table_out_terminal_width(FILE *to)
{
	struct winsize size;

	return ioctl(fileno(to), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct table_out *table_out_new(FILE *to, enum table_format format, unsigned width)
{
	struct table_out *out = xcalloc(1, sizeof(*out));

	out->to = to;
	out->format = format;
	out->width = width;
	out->on_terminal = isatty(fileno(to));
	buf_init(&out->held, HELD_MAX);
	return out;
}

static void forget_statement(struct table_out *out)
{
	for (size_t i = 0; i < out->column_count; i++)
		free(out->names[i]);
	free(out->names);
	free(out->widths);
	free(out->is_right);
	out->names = NULL;
	out->widths = NULL;
	out->is_right = NULL;
	out->column_count = out->row_count = out->held_cells = 0;
	buf_clear(&out->held);
}

static void put_hex(FILE *to, struct slice bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		fprintf(to, "%02x", (unsigned char)bytes.ptr[i]);
}

/* The shortest form that reads back as the same number. */
static const char *real_text(char to[40], double v)
{
	if (isinf(v))
		return v < 0 ? "-1e999" : "1e999";
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(to, 40, "%.*g", digits, v);
		if (strtod(to, NULL) == v)
			break;
	}
	if (!strpbrk(to, ".eEn"))
		snprintf(to + strlen(to), 40 - strlen(to), ".0");
	return to;
}

/* ---- JSON ---- */

static void put_json_value(FILE *to, const struct sql_value *v)
{
	char text[40];

	switch (v->type) {
	case SQL_NULL: fputs("null", to); break;
	case SQL_INTEGER: fprintf(to, "%lld", (long long)v->integer); break;
	case SQL_REAL: fputs(real_text(text, v->real), to); break;
	case SQL_TEXT: table_out_json_string(to, v->bytes); break;
	case SQL_BLOB:
		fputc('"', to);
		put_hex(to, v->bytes);
		fputc('"', to);
		break;
	}
}

void table_out_embed(struct table_out *out, const char *const *columns, bool exact)
{
	out->embedded = columns;
	out->is_exact = exact;
}

static bool is_embedded(const struct table_out *out, const char *name)
{
	for (const char *const *column = out->embedded; column && *column; column++) {
		if (strcmp(*column, name) == 0)
			return true;
	}
	return false;
}

/* Line feeds in JSON can only stand between its parts. */
static void put_embedded(const struct table_out *out, struct slice json)
{
	while (json.len) {
		const char *feed = memchr(json.ptr, '\n', json.len);
		size_t n = feed ? (size_t)(feed - json.ptr) : json.len;

		if (out->on_terminal || !out->is_exact)
			visible_put_json(out->to, (struct slice){json.ptr, n});
		else
			fwrite(json.ptr, 1, n, out->to);
		json.ptr += n + (feed != NULL);
		json.len -= n + (feed != NULL);
	}
}

static void put_json_row(struct table_out *out, const struct sql_value *values)
{
	if (out->format == TABLE_JSON)
		fputs(out->row_count ? ",\n" : "[", out->to);
	fputc('{', out->to);
	for (size_t i = 0; i < out->column_count; i++) {
		if (i)
			fputc(',', out->to);
		table_out_json_string(out->to, slice_of(out->names[i]));
		fputc(':', out->to);
		if (values[i].type == SQL_TEXT && is_embedded(out, out->names[i]))
			put_embedded(out, values[i].bytes);
		else
			put_json_value(out->to, &values[i]);
	}
	fputs(out->format == TABLE_JSON ? "}" : "}\n", out->to);
}

/* ---- CSV ---- */

/* CSV has no escapes: programs get every byte, a terminal what it can show. */
static void put_csv_text(const struct table_out *out, struct slice text)
{
	struct buf shown;

	if (!out->on_terminal) {
		table_out_csv_text(out->to, text);
		return;
	}
	buf_init(&shown, VISIBLE_GROWTH * text.len);
	if (visible_append(&shown, text, NULL) == 0)
		table_out_csv_text(out->to, buf_slice(&shown));
	buf_release(&shown);
}

static void put_csv_row(struct table_out *out, const struct sql_value *values)
{
	for (size_t i = 0; i < out->column_count; i++) {
		if (i)
			fputc(',', out->to);
		if (values[i].type == SQL_TEXT)
			put_csv_text(out, values[i].bytes);
		else if (values[i].type == SQL_BLOB)
			put_hex(out->to, values[i].bytes);
		else if (values[i].type != SQL_NULL)
			put_json_value(out->to, &values[i]);
	}
	fputc('\n', out->to);
}

/* ---- tables ---- */

static int append_cell(struct buf *to, const struct sql_value *v, struct err *err)
{
	char text[40];
	int rc = 0;

	switch (v->type) {
	case SQL_INTEGER: return buf_printf(to, err, "%lld", (long long)v->integer);
	case SQL_REAL: return buf_printf(to, err, "%s", real_text(text, v->real));
	case SQL_TEXT: return visible_append(to, v->bytes, err);
	case SQL_BLOB:
		for (size_t i = 0; i < v->bytes.len && !rc; i++)
			rc = buf_printf(to, err, "%02x", (unsigned char)v->bytes.ptr[i]);
		return rc;
	default: return 0;
	}
}

static int hold_cell(struct table_out *out, const struct sql_value *v, struct err *err)
{
	int rc = append_cell(&out->held, v, err);

	if (rc)
		return rc;
	if (out->held_cells == out->ends_cap) {
		out->ends_cap = out->ends_cap ? 2 * out->ends_cap : 256;
		out->ends = xrealloc(out->ends, out->ends_cap * sizeof(*out->ends));
	}
	out->ends[out->held_cells++] = out->held.len;
	return 0;
}

static struct slice held_cell(const struct table_out *out, size_t i)
{
	size_t begin = i ? out->ends[i - 1] : 0;

	return (struct slice){out->held.ptr + begin, out->ends[i] - begin};
}

/* Characters, which is columns but for wide and combining ones. */
static size_t display_width(struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	return n;
}

/* The first `columns` characters. */
static struct slice cut_text(struct slice text, size_t columns)
{
	size_t n = 0, i = 0;

	for (; i < text.len; i++) {
		if (((unsigned char)text.ptr[i] & 0xc0) != 0x80 && n++ == columns)
			break;
	}
	return (struct slice){text.ptr, i};
}

/* On a terminal the last column is cut at the edge, and no other takes more than half of it. */
static size_t room_of(const struct table_out *out, size_t column, size_t used)
{
	if (!out->width)
		return SIZE_MAX;
	if (column + 1 < out->column_count)
		return out->width / 2 > 8 ? out->width / 2 : 8;
	return out->width > used + 8 ? out->width - used : 8;
}

static void put_padding(struct table_out *out, size_t count)
{
	while (count--)
		fputc(' ', out->to);
}

/* One line: cell i of it is at first + i of the held ones, or a name when `names`. */
static void put_line(struct table_out *out, size_t first, bool names)
{
	size_t used = 0;

	for (size_t i = 0; i < out->column_count; i++) {
		struct slice text = names ? slice_of(out->names[i]) : held_cell(out, first + i);
		size_t room = room_of(out, i, used), width = display_width(text), padding;
		bool is_last = i + 1 == out->column_count;

		if (width > room) {
			text = cut_text(text, room - 1);
			width = room;
		}
		padding = out->widths[i] > width ? out->widths[i] - width : 0;
		if (out->is_right[i])
			put_padding(out, padding);
		fwrite(text.ptr, 1, text.len, out->to);
		if (display_width(text) < width)
			fputs("\xe2\x80\xa6", out->to);
		if (!out->is_right[i] && !is_last)
			put_padding(out, padding);
		fputs(is_last ? "\n" : "  ", out->to);
		used += (width > out->widths[i] ? width : out->widths[i]) + 2;
	}
}

static void table_out_measure(struct table_out *out)
{
	size_t used = 0;

	out->widths = xcalloc(out->column_count + 1, sizeof(*out->widths));
	for (size_t i = 0; i < out->column_count; i++) {
		size_t room = room_of(out, i, used), widest = display_width(slice_of(out->names[i]));

		for (size_t cell = i; cell < out->held_cells; cell += out->column_count) {
			size_t width = display_width(held_cell(out, cell));

			widest = width > widest ? width : widest;
		}
		widest = !out->width && widest > PADDED_WIDTH ? PADDED_WIDTH : widest;
		out->widths[i] = widest < room ? widest : room;
		used += out->widths[i] + 2;
	}
}

static void put_held(struct table_out *out)
{
	if (!out->widths) {
		table_out_measure(out);
		put_line(out, 0, true);
	}
	for (size_t cell = 0; cell < out->held_cells; cell += out->column_count)
		put_line(out, cell, false);
	out->held_cells = 0;
	buf_clear(&out->held);
}

void table_out_settle(struct table_out *out)
{
	if (out->held_cells)
		put_held(out);
}

static int hold_row(struct table_out *out, const struct sql_value *values, struct err *err)
{
	int rc;

	for (size_t i = 0; i < out->column_count; i++) {
		bool is_number = values[i].type == SQL_INTEGER || values[i].type == SQL_REAL;

		if (out->row_count == 0)
			out->is_right[i] = is_number;
		if (!is_number && values[i].type != SQL_NULL)
			out->is_right[i] = false;
		rc = hold_cell(out, &values[i], err);
		if (rc)
			return rc;
	}
	if (out->widths || out->row_count >= HELD_ROWS || out->held.len >= HELD_BYTES)
		put_held(out);
	return 0;
}

/* ---- the sink ---- */

/* Rows that a failed statement left behind are worth showing. */
void table_out_free(struct table_out *out)
{
	if (!out)
		return;
	if (out->held_cells)
		put_held(out);
	forget_statement(out);
	buf_release(&out->held);
	free(out->ends);
	free(out);
}

/* Authors of custom resource definitions name columns as they like. The caller frees. */
static char *name_of(const struct table_out *out, const char *name)
{
	struct buf shown;
	char *text;

	if (out->format != TABLE_TEXT)
		return xstrdup(name);
	buf_init(&shown, VISIBLE_GROWTH * strlen(name));
	(void)!visible_append(&shown, slice_of(name), NULL); /* it fits */
	text = slice_dup(buf_slice(&shown));
	buf_release(&shown);
	return text;
}

static int on_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct table_out *out = context;

	forget_statement(out);
	out->column_count = count;
	out->names = xcalloc(count + 1, sizeof(*out->names));
	out->is_right = xcalloc(count + 1, sizeof(*out->is_right));
	for (size_t i = 0; i < count; i++)
		out->names[i] = name_of(out, names[i] ? names[i] : "");
	for (size_t i = 0; i < count && out->format == TABLE_CSV; i++) {
		if (i)
			fputc(',', out->to);
		put_csv_text(out, slice_of(out->names[i]));
	}
	if (out->format == TABLE_CSV && count)
		fputc('\n', out->to);
	return out_stream_check(out->to, err);
}

static int on_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct table_out *out = context;
	int rc;

	(void)count;
	switch (out->format) {
	case TABLE_TEXT:
		rc = hold_row(out, values, err);
		if (rc)
			return rc;
		break;
	case TABLE_JSON:
	case TABLE_NDJSON: put_json_row(out, values); break;
	case TABLE_CSV: put_csv_row(out, values); break;
	}
	out->row_count++;
	return out_stream_check(out->to, err);
}

static int on_end(void *context, struct err *err)
{
	struct table_out *out = context;

	if (out->format == TABLE_TEXT && out->column_count)
		put_held(out);
	if (out->format == TABLE_JSON && out->column_count)
		fputs(out->row_count ? "]\n" : "[]\n", out->to);
	forget_statement(out);
	return out_stream_flush(out->to, err);
}

struct sql_sink table_out_sink(struct table_out *out)
{
	return (struct sql_sink){on_begin, on_row, on_end, out};
}
