/*
 * buf.h: a growing run of bytes with a maximum, and a borrowed run of bytes.
 *
 * Everything that is fed from outside (network, disk, command line) goes through a buffer that was given a
 * maximum, so that no peer decides how much memory we use. The maxima are listed in limits.h.
 */
#ifndef SCHEMA_BASE_BUF_H
#define SCHEMA_BASE_BUF_H

#include "schema/base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes: not terminated, not owned. {NULL, 0} is the empty slice. */
struct slice {
	const char *ptr;
	size_t len;
};

/* Own bytes. All zero with a max set by buf_init is the empty buffer. */
struct buf {
	char *ptr;
	size_t len, cap;
	size_t max; /* appending past this fails with ERR_TOO_LARGE */
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* frees; b is as after buf_init */
static inline void buf_clear(struct buf *b)
{
	b->len = 0;
}

/* Makes room for `more` bytes after len and returns where they go, NULL if that exceeds the maximum or
 * memory; the caller writes and then adds to b->len. */
char *buf_reserve(struct buf *b, size_t more) MUST_CHECK;

/* Both fail with ERR_TOO_LARGE only, naming the maximum; the buffer is then unchanged. */
int buf_append(struct buf *b, const void *bytes, size_t len, struct err *err) MUST_CHECK;
int buf_printf(struct buf *b, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4))) MUST_CHECK;

/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

static inline struct slice buf_slice(const struct buf *b)
{
	return (struct slice){b->ptr, b->len};
}

static inline struct slice slice_of(const char *text)
{
	return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
	return slice_equal(a, slice_of(text));
}

/* Bytewise order, a shorter prefix first. */
int slice_compare(struct slice a, struct slice b);

static inline bool slice_begins(struct slice s, const char *with)
{
	size_t len = strlen(with);

	return s.len >= len && memcmp(s.ptr, with, len) == 0;
}

static inline bool slice_ends(struct slice s, const char *with)
{
	size_t len = strlen(with);

	return s.len >= len && memcmp(s.ptr + s.len - len, with, len) == 0;
}

/* Takes the word off the front of *s; false, and nothing taken, if *s begins with something else. */
static inline bool slice_skip(struct slice *s, const char *word)
{
	size_t len = strlen(word);

	if (!slice_begins(*s, word))
		return false;
	*s = (struct slice){s->ptr + len, s->len - len};
	return true;
}

/* Cuts *s at the first mark: returns the part before it and leaves the part after it in *s. Without a mark
 * returns everything, and *s gets a NULL pointer. */
struct slice slice_cut(struct slice *s, char mark);

/* A terminated copy of the slice; aborts when memory is exhausted. The caller frees. */
char *slice_dup(struct slice s);

/* malloc family for small things whose size we choose ourselves: abort on exhaustion, never return NULL. The
 * tape survives an abort at any moment, so there is nothing better to do. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);

/* Room for one more after `count` items of an array that grows by this alone: it doubles. */
void *xgrow(void *old, size_t count, size_t item_bytes);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

/* Frees a list of own texts that NULL ends; NULL is accepted. */
void free_texts(char **list);

#endif
