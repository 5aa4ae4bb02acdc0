/* row_store.c: see row_store.h. Pages are closed when they are large enough, at the end of a row. */
#include "schema/sql/row_store.h"

#include "schema/base/limits.h"
#include "schema/base/out_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t)1 << 20)

struct row_page {
	size_t first, count; /* rows */
	size_t cell_bytes, text_bytes;
	char *bytes; /* cells, and after them the texts; NULL when they are in the file */
	off_t offset;
};

struct row_store {
	unsigned width;
	struct row_page *pages;
	size_t page_count, rows;
	struct buf cells, texts; /* of the page that is being filled */
	size_t memory_bytes;
	FILE *file;
	off_t file_bytes;
	struct err err; /* the first thing that went wrong */
};

struct row_store *row_store_new(unsigned width)
{
	struct row_store *s = xcalloc(1, sizeof(*s));

	s->width = width;
	buf_init(&s->cells, SIZE_MAX);
	buf_init(&s->texts, 2 * (size_t)LIMIT_OBJECT_BYTES);
	return s;
}

void row_store_free(struct row_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->page_count; i++)
		free(s->pages[i].bytes);
	free(s->pages);
	buf_release(&s->cells);
	buf_release(&s->texts);
	if (s->file)
		fclose(s->file);
	free(s);
}

/* ---- filling ---- */

static int write_page(struct row_store *s, struct row_page *p, struct err *err)
{
	size_t len = p->cell_bytes + p->text_bytes;
	int rc = s->file ? 0 : out_file_temporary(NULL, &s->file, err);

	if (rc)
		return rc;
	p->offset = s->file_bytes;
	if (fwrite(p->bytes, 1, len, s->file) != len || fflush(s->file))
		return err_set_errno(err, errno, "cannot keep rows in a temporary file");
	s->file_bytes += (off_t)len;
	free(p->bytes);
	p->bytes = NULL;
	return 0;
}

static void close_page(struct row_store *s)
{
	size_t width_bytes = s->width * sizeof(struct cell);
	struct row_page p = {.first = s->rows,
		.count = s->cells.len / width_bytes,
		.cell_bytes = s->cells.len,
		.text_bytes = s->texts.len};

	if (!p.count)
		return;
	p.bytes = xmalloc(p.cell_bytes + p.text_bytes);
	memcpy(p.bytes, s->cells.ptr, p.cell_bytes);
	if (p.text_bytes)
		memcpy(p.bytes + p.cell_bytes, s->texts.ptr, p.text_bytes);
	s->pages = xgrow(s->pages, s->page_count, sizeof(*s->pages));
	s->pages[s->page_count++] = p;
	s->rows += p.count;
	buf_clear(&s->cells);
	buf_clear(&s->texts);
	if (s->memory_bytes + p.cell_bytes + p.text_bytes > ROW_STORE_MEMORY && !s->err.code)
		(void)!write_page(s, &s->pages[s->page_count - 1], &s->err);
	else
		s->memory_bytes += p.cell_bytes + p.text_bytes;
}

void row_store_put(struct row_store *s, struct cell cell)
{
	if (s->err.code)
		return;
	if (s->cells.len + s->texts.len >= PAGE_BYTES && s->cells.len % (s->width * sizeof(cell)) == 0)
		close_page(s);
	(void)!buf_append(&s->cells, &cell, sizeof(cell), &s->err);
}

void row_store_put_text(struct row_store *s, struct slice text)
{
	struct cell cell = {CELL_TEXT, (uint32_t)text.len, 0};

	if (s->err.code)
		return;
	if (text.len > LIMIT_OBJECT_BYTES) {
		(void)err_set(&s->err, ERR_TOO_LARGE, "a text of %zu bytes exceeds the maximum of %u",
			text.len, LIMIT_OBJECT_BYTES);
		return;
	}
	/* The cell first: it may close the page that is full. */
	row_store_put(s, cell);
	if (s->err.code)
		return;
	((struct cell *)(void *)(s->cells.ptr + s->cells.len))[-1].value = (int64_t)s->texts.len;
	(void)!buf_append(&s->texts, text.ptr, text.len, &s->err);
}

int row_store_finish(struct row_store *s, struct err *err)
{
	if (!s->err.code)
		close_page(s);
	return s->err.code ? err_copy(err, &s->err) : 0;
}

size_t row_store_count(const struct row_store *s)
{
	return s->rows;
}

/* ---- looking ---- */

static const struct row_page *page_of(const struct row_store *s, size_t row)
{
	size_t low = 0, high = s->page_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->pages[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return &s->pages[low];
}

static int read_page(struct row_view *v, const struct row_store *s, const struct row_page *p, struct err *err)
{
	size_t len = p->cell_bytes + p->text_bytes;

	v->own = xmalloc(len);
	if (pread(fileno(s->file), v->own, len, p->offset) != (ssize_t)len)
		return err_set_errno(err, EIO, "cannot read rows from a temporary file");
	return 0;
}

int row_view_seek(struct row_view *v, const struct row_store *s, size_t row, struct err *err)
{
	const struct row_page *p;
	const char *bytes;
	int rc;

	if (row - v->first < v->count)
		return 0;
	row_view_release(v);
	p = page_of(s, row);
	if (!p->bytes && (rc = read_page(v, s, p, err)))
		return rc;
	bytes = p->bytes ? p->bytes : v->own;
	v->first = p->first;
	v->count = p->count;
	v->cells = (const struct cell *)(const void *)bytes;
	v->texts = bytes + p->cell_bytes;
	return 0;
}

void row_view_release(struct row_view *v)
{
	free(v->own);
	*v = (struct row_view){0};
}

const struct cell *row_view_cell(
	const struct row_view *v, const struct row_store *s, size_t row, unsigned column)
{
	return &v->cells[(row - v->first) * s->width + column];
}
