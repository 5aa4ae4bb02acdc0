/* frames.c: see frames.h. */
#include "recorder/frames.h"

#include "schema/base/limits.h"

void frames_init(struct frames *f)
{
	/* An event is a little longer than its object. */
	buf_init(&f->partial, LIMIT_OBJECT_BYTES + 1024);
}

void frames_release(struct frames *f)
{
	buf_release(&f->partial);
}

/* Hands on the line that began in earlier pieces and ends with `end`. */
static int finish_partial(
	struct frames *f, struct slice end, int (*each)(void *, struct slice), void *context, struct err *err)
{
	int rc = buf_append(&f->partial, end.ptr, end.len, err);

	if (rc)
		return rc;
	rc = each(context, buf_slice(&f->partial));
	buf_clear(&f->partial);
	/* One huge object must not hold its memory for the life of the stream. */
	if (f->partial.cap > 1u << 20)
		frames_release(f);
	return rc;
}

int frames_feed(struct frames *f, struct slice bytes, int (*each)(void *context, struct slice line),
	void *context, struct err *err)
{
	while (bytes.len) {
		const char *feed = memchr(bytes.ptr, '\n', bytes.len);
		struct slice line;
		int rc = 0;

		if (!feed)
			return buf_append(&f->partial, bytes.ptr, bytes.len, err);
		line = (struct slice){bytes.ptr, (size_t)(feed - bytes.ptr)};
		bytes = (struct slice){feed + 1, bytes.len - line.len - 1};
		if (f->partial.len)
			rc = finish_partial(f, line, each, context, err);
		else if (line.len)
			rc = each(context, line);
		if (rc)
			return rc;
	}
	return 0;
}
