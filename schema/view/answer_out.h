/* answer_out.h: writing JSON piece by piece; the first failure is kept, and what follows it does nothing. */
#ifndef SCHEMA_VIEW_ANSWER_OUT_H
#define SCHEMA_VIEW_ANSWER_OUT_H

#include "schema/base/buf.h"

struct answer_out {
	struct buf *to;
	struct err *err;
	int code; /* 0, or why it failed */
};

/* Text as it is: punctuation and numbers. */
void answer_put(struct answer_out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string of any bytes; invalid UTF-8 is replaced. */
void answer_text(struct answer_out *o, struct slice text);

/* The same after `,"name":`. */
void answer_member(struct answer_out *o, const char *name, struct slice text);

/* `,"name":"123"`: numbers that may need all of 64 bits. */
void answer_number(struct answer_out *o, const char *name, int64_t number);

/* The text up to this many bytes, cut between two characters. */
struct slice answer_cut(struct slice text, size_t most);

#endif
