/*
 * text_length.h: SQL's length() for columns of a tape: the answer of SQLite's own, which counts the
 * characters of a text one by one and takes longer for an object than it takes to decode it.
 */
#ifndef SCHEMA_SQL_TEXT_LENGTH_H
#define SCHEMA_SQL_TEXT_LENGTH_H

#include "schema/base/buf.h"

struct sqlite3_context;
struct sqlite3_value;

/* Of one argument, as sqlite3_create_function wants it. */
void text_length(struct sqlite3_context *context, int argc, struct sqlite3_value **argv);

/* Characters of a UTF-8 text, up to its first NUL: the bytes that do not continue a character. */
size_t text_length_of(struct slice text);

#endif
