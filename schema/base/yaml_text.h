/*
 * yaml_text.h: texts in YAML, in the style and folded as kubectl and API servers print them: plain if that is
 * safe, in single or double quotes, or as a block of lines. Characters that control a terminal or change the
 * direction of text are always escaped.
 */
#ifndef SCHEMA_BASE_YAML_TEXT_H
#define SCHEMA_BASE_YAML_TEXT_H

#include "schema/base/buf.h"

#include <stdio.h>

/* The output, and the number of characters in its line so far, which decides where long lines are folded. */
struct yaml_pen {
	FILE *to;
	size_t column;
};

void yaml_put(struct yaml_pen *p, const char *text);
void yaml_put_spaces(struct yaml_pen *p, unsigned count);

/* Writes a text and ends its line. Further lines begin in column `indent`. */
void yaml_put_text(struct yaml_pen *p, struct slice text, unsigned indent);

/* Writes a name and its colon. Returns false if it was too long to stand in a line with its value, which then
 * follows the colon as an item of a list follows its dash. */
bool yaml_put_key(struct yaml_pen *p, struct slice name, unsigned indent);

#endif
