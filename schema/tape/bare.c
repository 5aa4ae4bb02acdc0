/* bare.c: see bare.h. */
#include "schema/tape/bare.h"

#define KEY "\"resourceVersion\":\""

/* What is taken out: of events that were inferred nothing, as their version is not that of their object. */
static struct slice taken_of(const struct extent *x, const struct extent_event *e, char text[RV_TEXT_BYTES])
{
	if ((e->head & HEAD_ORIGIN_MASK) >> HEAD_ORIGIN_SHIFT == ORIGIN_INFERRED)
		return (struct slice){text, 0};
	return extent_event_rv(x, e, text);
}

/* The beginning of the value of the next such key; NULL if there is none. */
static const char *next_value(struct slice object, const char *from)
{
	const char *end = object.ptr + object.len, *at;

	at = memmem(from, (size_t)(end - from), KEY, strlen(KEY));
	return at ? at + strlen(KEY) : NULL;
}

static bool begins_with(struct slice object, const char *at, struct slice value)
{
	size_t left = (size_t)(object.ptr + object.len - at);

	return left > value.len && memcmp(at, value.ptr, value.len) == 0 && at[value.len] == '"';
}

/* The first value that is this version; NULL if there is none, or if an empty value comes before it. */
static const char *place_of(struct slice object, struct slice version)
{
	static const struct slice empty = {"", 0};
	const char *at = object.ptr;

	while ((at = next_value(object, at)) && !begins_with(object, at, version)) {
		if (begins_with(object, at, empty))
			return NULL;
	}
	return at;
}

/* Both parts of the object, with a text between. */
static bool put_parts(
	struct slice object, const char *at, struct slice between, const char *rest, struct buf *to)
{
	return buf_append(to, object.ptr, (size_t)(at - object.ptr), NULL) == 0 &&
	       buf_append(to, between.ptr, between.len, NULL) == 0 &&
	       buf_append(to, rest, (size_t)(object.ptr + object.len - rest), NULL) == 0;
}

size_t bare_length(const struct extent *x, const struct extent_event *e)
{
	char text[RV_TEXT_BYTES];
	size_t taken = taken_of(x, e, text).len;

	return e->length > taken ? e->length - taken : 0;
}

bool bare_put(const struct extent *x, const struct extent_event *e, struct slice object, struct buf *to)
{
	char text[RV_TEXT_BYTES];
	struct slice version = taken_of(x, e, text);
	const char *at = version.len ? place_of(object, version) : object.ptr;

	return at && put_parts(object, at, (struct slice){at, 0}, at + version.len, to);
}

bool bare_get(const struct extent *x, const struct extent_event *e, struct slice bare, struct buf *to)
{
	static const struct slice empty = {"", 0};
	char text[RV_TEXT_BYTES];
	struct slice version = taken_of(x, e, text);
	const char *at = bare.ptr;

	while (version.len && (at = next_value(bare, at)) && !begins_with(bare, at, empty))
		;
	return at && put_parts(bare, at, version, at, to);
}
