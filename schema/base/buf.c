/* buf.c: see buf.h. */
#include "schema/base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#define SHORT_TEXT_BYTES 256 /* texts that are made without an allocation */

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
	free(b->ptr);
	buf_init(b, b->max);
}

/* Twice the old capacity as often as needed, but never past the maximum. */
static size_t grown_capacity(const struct buf *b, size_t need)
{
	size_t cap = b->cap ? b->cap : 256;

	while (cap < need)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	return cap < b->max ? cap : b->max;
}

char *buf_reserve(struct buf *b, size_t more)
{
	size_t need = b->len + more, cap;
	char *grown;

	if (need < b->len || need > b->max)
		return NULL;
	if (b->ptr && need <= b->cap)
		return b->ptr + b->len;
	cap = grown_capacity(b, need);
	grown = realloc(b->ptr, cap ? cap : 1);
	if (!grown)
		return NULL;
	b->ptr = grown;
	b->cap = cap;
	return b->ptr + b->len;
}

int buf_append(struct buf *b, const void *bytes, size_t len, struct err *err)
{
	char *at;

	if (len == 0)
		return 0;
	at = buf_reserve(b, len);
	if (!at)
		return err_set(err, ERR_TOO_LARGE, "buffer of %zu bytes cannot take %zu more: maximum is %zu",
			b->len, len, b->max);
	memcpy(at, bytes, len);
	b->len += len;
	return 0;
}

/* vasprintf is GNU's. The text is made apart because vsnprintf needs a byte more than the text has. */
static int print_long(struct buf *b, struct err *err, const char *format, va_list ap)
{
	char *text = NULL;
	int n = vasprintf(&text, format, ap), rc;

	if (n < 0)
		return err_set(
			err, ERR_TOO_LARGE, "buffer of %zu bytes cannot take more: out of memory", b->len);
	rc = buf_append(b, text, (size_t)n, err);
	free(text);
	return rc;
}

int buf_printf(struct buf *b, struct err *err, const char *format, ...)
{
	char text[SHORT_TEXT_BYTES];
	va_list ap, again;
	int n, rc;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(text, sizeof(text), format, ap);
	if (n >= 0 && (size_t)n < sizeof(text))
		rc = buf_append(b, text, (size_t)n, err);
	else
		rc = print_long(b, err, format, again);
	va_end(again);
	va_end(ap);
	return rc;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	memmove(b->ptr, b->ptr + n, b->len - n);
	b->len -= n;
}

int slice_compare(struct slice a, struct slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

struct slice slice_cut(struct slice *s, char mark)
{
	const char *at = s->len ? memchr(s->ptr, mark, s->len) : NULL;
	struct slice head = {s->ptr, at ? (size_t)(at - s->ptr) : s->len};

	*s = at ? (struct slice){at + 1, s->len - head.len - 1} : (struct slice){NULL, 0};
	return head;
}

char *slice_dup(struct slice s)
{
	char *copy = xmalloc(s.len + 1);

	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = 0;
	return copy;
}

static void *must(void *memory)
{
	if (!memory) {
		fputs("kubetape: out of memory\n", stderr);
		abort();
	}
	return memory;
}

void *xmalloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return must(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
	return must(realloc(old, size ? size : 1));
}

void *xgrow(void *old, size_t count, size_t item_bytes)
{
	if (count & (count - 1))
		return old; /* between two powers of two */
	return xrealloc(old, (count ? 2 * count : 1) * item_bytes);
}

char *xstrdup(const char *text)
{
	return must(strdup(text));
}

char *xvasprintf(const char *format, va_list ap)
{
	char *text = NULL;

	return must(vasprintf(&text, format, ap) < 0 ? NULL : text);
}

char *xasprintf(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = xvasprintf(format, ap);
	va_end(ap);
	return text;
}

void free_texts(char **list)
{
	for (char **text = list; text && *text; text++)
		free(*text);
	free(list);
}
