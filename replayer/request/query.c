/* query.c: see query.h. */
#include "replayer/request/query.h"

#include "replayer/wire/http.h"
#include "schema/base/hex.h"

#include <stdlib.h>

/* Decodes into *to and moves it; false when an escape is broken. Decoding never lengthens. */
static bool decode(struct slice in, bool plus_is_blank, char **to, struct slice *ret)
{
	char *at = *to;

	for (size_t i = 0; i < in.len; i++) {
		int high, low;

		if (in.ptr[i] != '%') {
			*at++ = plus_is_blank && in.ptr[i] == '+' ? ' ' : in.ptr[i];
			continue;
		}
		high = i + 2 < in.len ? hex_digit(in.ptr[i + 1]) : -1;
		low = i + 2 < in.len ? hex_digit(in.ptr[i + 2]) : -1;
		if (high < 0 || low < 0)
			return false;
		*at++ = (char)(high << 4 | low);
		i += 2;
	}
	*ret = (struct slice){*to, (size_t)(at - *to)};
	*to = at;
	return true;
}

static void add_pair(struct query *q, struct slice text, char **to)
{
	const char *equals = memchr(text.ptr, '=', text.len);
	struct slice name = {text.ptr, equals ? (size_t)(equals - text.ptr) : text.len};
	struct slice value = {equals ? equals + 1 : NULL, equals ? text.len - name.len - 1 : 0};
	struct query_pair *pair = &q->pairs[q->count];

	if (text.len == 0 || q->count == QUERY_PAIRS_MAX || memchr(text.ptr, ';', text.len))
		return;
	if (decode(name, true, to, &pair->name) && decode(value, true, to, &pair->value))
		q->count++;
}

void query_parse(struct slice target, struct query *ret)
{
	const char *mark = memchr(target.ptr, '?', target.len);
	size_t path_len = mark ? (size_t)(mark - target.ptr) : target.len;
	struct slice rest = {mark ? mark + 1 : NULL, mark ? target.len - path_len - 1 : 0};
	char *to = xmalloc(2 * target.len + 1);

	ret->bytes = to;
	ret->count = 0;
	ret->path = (struct slice){NULL, 0};
	ret->bad_path = !decode((struct slice){target.ptr, path_len}, false, &to, &ret->path);
	if (rest.len)
		memcpy(to, rest.ptr, rest.len);
	rest.ptr = to;
	ret->raw = rest;
	to += rest.len;
	while (rest.len) {
		const char *end = memchr(rest.ptr, '&', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		size_t skip = end ? len + 1 : len;

		add_pair(ret, (struct slice){rest.ptr, len}, &to);
		rest = (struct slice){rest.ptr + skip, rest.len - skip};
	}
}

void query_release(struct query *q)
{
	free(q->bytes);
	q->bytes = NULL;
}

static const struct query_pair *query_find(const struct query *q, const char *name)
{
	for (size_t i = 0; i < q->count; i++) {
		if (slice_is(q->pairs[i].name, name))
			return &q->pairs[i];
	}
	return NULL;
}

bool query_has(const struct query *q, const char *name)
{
	return query_find(q, name) != NULL;
}

struct slice query_get(const struct query *q, const char *name)
{
	const struct query_pair *pair = query_find(q, name);

	return pair ? pair->value : (struct slice){NULL, 0};
}

bool query_true(const struct query *q, const char *name)
{
	const struct query_pair *pair = query_find(q, name);

	return pair && !slice_is(pair->value, "0") && !slice_equal_nocase(pair->value, slice_of("false"));
}
