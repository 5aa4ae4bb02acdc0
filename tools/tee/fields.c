/* fields.c: see fields.h. */
#include "tools/tee/fields.h"

#include "replayer/wire/http.h"

#include <stdlib.h>

void field_list_clear(struct field_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].own);
	l->count = l->bytes = 0;
}

void field_list_release(struct field_list *l)
{
	field_list_clear(l);
	free(l->items);
	*l = (struct field_list){.count = 0};
}

static struct field *fields_add(struct field_list *l)
{
	if (l->count == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 32;
		l->items = xrealloc(l->items, l->cap * sizeof(*l->items));
	}
	l->items[l->count] = (struct field){.own = NULL};
	return &l->items[l->count++];
}

void field_list_add(struct field_list *l, struct slice name, struct slice value)
{
	struct field *f = fields_add(l);

	f->name = name;
	f->value = value;
	l->bytes += name.len + value.len;
}

struct field *field_first(const struct field_list *l, const char *name)
{
	struct slice wanted = slice_of(name);

	for (size_t i = 0; i < l->count; i++) {
		if (slice_equal_nocase(l->items[i].name, wanted))
			return &l->items[i];
	}
	return NULL;
}

struct slice field_value(const struct field_list *l, const char *name)
{
	const struct field *f = field_first(l, name);

	return f ? f->value : (struct slice){NULL, 0};
}

size_t field_count(const struct field_list *l, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += slice_equal_nocase(l->items[i].name, slice_of(name));
	return n;
}

void field_change(struct field *f, struct slice value)
{
	char *own = slice_dup(value);

	free(f->own);
	f->own = own;
	f->value = (struct slice){own, value.len};
	f->line = (struct slice){NULL, 0};
}

void field_append(struct field_list *l, const char *name, struct slice value)
{
	struct field *f = fields_add(l);

	f->name = slice_of(name);
	field_change(f, value);
}

void field_remove(struct field_list *l, size_t index)
{
	free(l->items[index].own);
	memmove(&l->items[index], &l->items[index + 1], (l->count - index - 1) * sizeof(*l->items));
	l->count--;
}

bool field_number(struct slice digits, uint64_t *ret)
{
	uint64_t number = 0;

	if (digits.len == 0 || digits.len > 18)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(digits.ptr[i] - '0');
	}
	*ret = number;
	return true;
}

/* ---- HTTP/1.1 ---- */

/* An empty line is a line feed after a line feed, with or without a carriage return between them. */
size_t h1_head_length(struct slice in, size_t *scanned)
{
	size_t from = *scanned > 2 ? *scanned - 2 : 0;

	while (from < in.len) {
		const char *feed = memchr(in.ptr + from, '\n', in.len - from);
		size_t next = feed ? (size_t)(feed - in.ptr) + 1 : in.len;

		if (feed && next < in.len && in.ptr[next] == '\n')
			return next + 1;
		if (feed && next + 1 < in.len && in.ptr[next] == '\r' && in.ptr[next + 1] == '\n')
			return next + 2;
		from = next;
	}
	*scanned = in.len;
	return 0;
}

/* Takes a line off the front: without its end, and *ret_whole with it. */
static struct slice take_line(struct slice *rest, struct slice *ret_whole)
{
	const char *feed = memchr(rest->ptr, '\n', rest->len);
	size_t len = feed ? (size_t)(feed - rest->ptr) : rest->len;

	*ret_whole = (struct slice){rest->ptr, feed ? len + 1 : len};
	*rest = (struct slice){rest->ptr + ret_whole->len, rest->len - ret_whole->len};
	if (len && ret_whole->ptr[len - 1] == '\r')
		len--;
	return (struct slice){ret_whole->ptr, len};
}

static bool is_name(struct slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == 0x7f)
			return false;
	}
	return name.len > 0;
}

bool h1_head_parse(struct slice head, struct slice *ret_first, struct field_list *ret)
{
	struct slice whole, line;

	*ret_first = take_line(&head, &whole);
	if (!ret_first->len)
		return false;
	while ((line = take_line(&head, &whole)).len) {
		const char *colon = memchr(line.ptr, ':', line.len);
		struct slice name = {line.ptr, colon ? (size_t)(colon - line.ptr) : 0};

		if (!is_name(name) || !http_is_value((struct slice){colon + 1, line.len - name.len - 1}))
			return false;
		field_list_add(ret, name, slice_trim((struct slice){colon + 1, line.len - name.len - 1}));
		ret->items[ret->count - 1].line = whole;
	}
	return true;
}

int h1_head_write(struct slice first, const struct field_list *fields, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "%.*s\r\n", (int)first.len, first.ptr);

	for (size_t i = 0; i < fields->count && rc == 0; i++) {
		const struct field *f = &fields->items[i];

		rc = f->line.len ? buf_append(to, f->line.ptr, f->line.len, err)
				 : buf_printf(to, err, "%.*s: %.*s\r\n", (int)f->name.len, f->name.ptr,
					   (int)f->value.len, f->value.len ? f->value.ptr : "");
	}
	return rc ? rc : buf_append(to, "\r\n", 2, err);
}
