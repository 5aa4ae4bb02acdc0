/*
 * visible.h: text from outside as a person may see it: it stays on its line, does nothing to a terminal, and
 * reads from left to right where it should. Active characters (utf8.h) and bytes that are not UTF-8 become
 * \n, \t, \x1b or \u202e; everything else, backslashes too, stays as it is.
 */
#ifndef SCHEMA_BASE_VISIBLE_H
#define SCHEMA_BASE_VISIBLE_H

#include "schema/base/buf.h"

#include <stdio.h>

/* A text grows at most by this factor. */
#define VISIBLE_GROWTH 6

int visible_append(struct buf *to, struct slice text, struct err *err) MUST_CHECK;
void visible_put(FILE *to, struct slice text);
void visible_puts(FILE *to, const char *text);

/* JSON with the same meaning, in which active characters are escaped, and invalid UTF-8 is U+FFFD. */
int visible_append_json(struct buf *to, struct slice json, struct err *err) MUST_CHECK;
void visible_put_json(FILE *to, struct slice json);

#endif
