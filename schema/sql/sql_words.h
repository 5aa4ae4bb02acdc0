/* sql_words.h: which words a statement has. */
#ifndef SCHEMA_SQL_SQL_WORDS_H
#define SCHEMA_SQL_SQL_WORDS_H

#include <stdbool.h>

/* Whether it names at, at_seq or at_rv, in whatever case, other than as a name that it gives to a column ("AS at"), in a
 * text or in a comment. */
bool sql_names_position(const char *sql);

#endif
