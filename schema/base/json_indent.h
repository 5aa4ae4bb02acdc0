/*
 * json_indent.h: compact JSON made readable, two blanks a level, as Go's encoder indents; piece by piece, so
 * that a long list need not be held. Empty objects and arrays stay closed.
 */
#ifndef REPLAYER_JSON_INDENT_H
#define REPLAYER_JSON_INDENT_H

#include "schema/base/buf.h"

struct json_indent {
	unsigned depth;
	bool in_string, escaped;
	bool opened; /* the last thing written was an opening bracket */
};

/* All zero is the start. Input is valid compact JSON, cut anywhere. */
int json_indent_feed(struct json_indent *j, struct slice in, struct buf *to, struct err *err) MUST_CHECK;

#endif
