/* blob.c: see blob.h. */
#include "replayer/wire/blob.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct blob *blob_join(const struct slice *parts, size_t count)
{
	char head[24];
	size_t len = 0;
	int head_len;
	struct blob *b;
	char *to;

	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	assert(len > 0);
	head_len = snprintf(head, sizeof(head), "%zx\r\n", len);
	b = xmalloc(sizeof(*b) + (size_t)head_len + len + 2);
	*b = (struct blob){.refs = 1, .head = (uint32_t)head_len, .len = len};
	memcpy(b->bytes, head, (size_t)head_len);
	to = b->bytes + head_len;
	for (size_t i = 0; i < count; i++) {
		if (parts[i].len)
			memcpy(to, parts[i].ptr, parts[i].len);
		to += parts[i].len;
	}
	memcpy(to, "\r\n", 2);
	return b;
}

void blob_unref(struct blob *b)
{
	if (b && --b->refs == 0)
		free(b);
}
