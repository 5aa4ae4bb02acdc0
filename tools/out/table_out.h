/*
 * table_out.h: rows as text, the way every command prints them.
 *
 *   table    aligned columns under their names, one line a row. NULL is empty, control characters are
 *            escaped so that nothing in a tape can steer the terminal; on a terminal long cells are cut.
 *   json     one array of objects a statement
 *   ndjson   one object a line
 *   csv      a line of names, then one a row; quoted where needed; NULL is empty, the empty text is ""
 *
 * JSON and CSV carry any UTF-8 text exactly, JSON by escapes where a character is active (utf8.h); bytes that
 * are not UTF-8 become U+FFFD in JSON. On a terminal CSV, too, shows such characters by escapes. Blobs are
 * hexadecimal text.
 */
#ifndef TOOLS_TABLE_OUT_H
#define TOOLS_TABLE_OUT_H

#include "schema/sql/session.h"

#include <stdio.h>

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_NDJSON, TABLE_CSV };

#define TABLE_FORMAT_WORDS "table|json|ndjson|csv"

/* `name` is one of TABLE_FORMAT_WORDS. */
enum table_format table_format_parse(const char *name);

struct table_out;

/* `width`: columns of the terminal, 0 if cells are not to be cut. The file stays the caller's. */
struct table_out *table_out_new(FILE *to, enum table_format format, unsigned width);
void table_out_free(struct table_out *out);

/* Texts of those columns, which NULL ends, are JSON and appear in JSON output as such, on one line; `exact`:
 * byte for byte, unless it goes to a terminal. The names are borrowed. */
void table_out_embed(struct table_out *out, const char *const *columns, bool exact);

/* Writes a table's rows that are held back. Those that follow are written as they come, with these widths. */
void table_out_settle(struct table_out *out);

/* Gives statements' rows to `out`. */
struct sql_sink table_out_sink(struct table_out *out);

/* Columns of the terminal of `to`, 0 if it is not one. */
unsigned table_out_terminal_width(FILE *to);

/* Texts as the formats have them (table_out_text.c). */

/* As a JSON string, quotes included. */
void table_out_json_string(FILE *to, struct slice text);

/* As a CSV field, in quotes where it needs them. */
void table_out_csv_text(FILE *to, struct slice text);

#endif
