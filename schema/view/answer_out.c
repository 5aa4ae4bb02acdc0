/* answer_out.c: see answer_out.h. */
#include "schema/view/answer_out.h"

#include "schema/base/json_scan.h"

#include <stdio.h>

#define PIECE_BYTES 512

void answer_put(struct answer_out *o, const char *format, ...)
{
	char *room;
	va_list ap;
	int len;

	if (o->code)
		return;
	room = buf_reserve(o->to, PIECE_BYTES);
	if (!room) {
		o->code = err_set(o->err, ERR_TOO_LARGE, "an answer takes more than %zu bytes", o->to->max);
		return;
	}
	va_start(ap, format);
	len = vsnprintf(room, PIECE_BYTES, format, ap);
	va_end(ap);
	if (len < 0 || len >= PIECE_BYTES)
		o->code = err_set(o->err, ERR_TOO_LARGE, "a piece of an answer takes %d bytes", len);
	else
		o->to->len += (size_t)len;
}

void answer_text(struct answer_out *o, struct slice text)
{
	if (!o->code)
		o->code = json_escape(text, o->to, o->err);
}

void answer_member(struct answer_out *o, const char *name, struct slice text)
{
	answer_put(o, ",\"%s\":", name);
	answer_text(o, text);
}

void answer_number(struct answer_out *o, const char *name, int64_t number)
{
	answer_put(o, ",\"%s\":\"%lld\"", name, (long long)number);
}

struct slice answer_cut(struct slice text, size_t most)
{
	if (text.len <= most)
		return text;
	while (most > 0 && ((unsigned char)text.ptr[most] & 0xc0) == 0x80)
		most--;
	return (struct slice){text.ptr, most};
}
