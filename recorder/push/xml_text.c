/* xml_text.c: see xml_text.h. */
#include "recorder/push/xml_text.h"

#include "schema/base/count_of.h"

#include <stdio.h>
#include <stdlib.h>

#define TAG_BYTES 64

static const char *find(struct slice in, const char *what)
{
	return in.len ? memmem(in.ptr, in.len, what, strlen(what)) : NULL;
}

bool xml_cut(struct slice *from, const char *tag, struct slice *ret)
{
	char begin[TAG_BYTES], end[TAG_BYTES];
	const char *at, *close;
	struct slice rest;

	snprintf(begin, sizeof(begin), "<%s>", tag);
	snprintf(end, sizeof(end), "</%s>", tag);
	if (!(at = find(*from, begin)))
		return false;
	at += strlen(begin);
	rest = (struct slice){at, from->len - (size_t)(at - from->ptr)};
	if (!(close = find(rest, end)))
		return false;
	*ret = (struct slice){at, (size_t)(close - at)};
	close += strlen(end);
	*from = (struct slice){close, rest.len - (size_t)(close - rest.ptr)};
	return true;
}

/* The character that an entity at the front stands for; 0 for one that is not known. */
static char take_entity(struct slice *s)
{
	static const struct {
		const char *name;
		char stands_for;
	} entities[] = {
		{"&amp;", '&'},
		{"&lt;", '<'},
		{"&gt;", '>'},
		{"&quot;", '"'},
		{"&apos;", '\''},
		{"&#34;", '"'},
		{"&#39;", '\''},
	};

	for (size_t i = 0; i < COUNT_OF(entities); i++) {
		if (slice_skip(s, entities[i].name))
			return entities[i].stands_for;
	}
	return 0;
}

char *xml_unescape(struct slice text)
{
	char *to = xmalloc(text.len + 1), *at = to;

	while (text.len) {
		char c = *text.ptr == '&' ? take_entity(&text) : 0;

		if (!c) {
			c = *text.ptr;
			text = (struct slice){text.ptr + 1, text.len - 1};
		}
		*at++ = c;
	}
	*at = 0;
	return to;
}

char *xml_text(struct slice document, const char *tag)
{
	struct slice text;

	return xml_cut(&document, tag, &text) ? xml_unescape(text) : NULL;
}
