/* sql_words.c: see sql_words.h. */
#include "schema/sql/sql_words.h"

#include "schema/base/count_of.h"
#include "schema/sql/sqlite_api.h"

#include <ctype.h>
#include <string.h>

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is(const char *word, size_t len, const char *name)
{
	return len == strlen(name) && sqlite3_strnicmp(word, name, (int)len) == 0;
}

static bool is_position(const char *word, size_t len)
{
	static const char *const names[] = {"at", "at_seq", "at_rv"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (is(word, len, names[i]))
			return true;
	}
	return false;
}

/* Past what begins at sql and ends with that text, or to the end. */
static const char *skip_to(const char *sql, const char *ending)
{
	const char *found = strstr(sql, ending);

	return found ? found + strlen(ending) : sql + strlen(sql);
}

/* Past a text or a comment; NULL if neither begins there. */
static const char *skip_silent(const char *sql)
{
	if (*sql == '\'')
		return skip_to(sql + 1, "'");
	if (strncmp(sql, "--", 2) == 0)
		return skip_to(sql, "\n");
	return strncmp(sql, "/*", 2) == 0 ? skip_to(sql + 2, "*/") : NULL;
}

bool sql_names_position(const char *sql)
{
	bool is_given = false;

	while (*sql) {
		const char *past = skip_silent(sql), *word = sql;

		while (!past && is_word_byte(*sql))
			sql++;
		if (sql > word) {
			if (!is_given && is_position(word, (size_t)(sql - word)))
				return true;
			is_given = is(word, (size_t)(sql - word), "as");
			continue;
		}
		sql = past ? past : sql + 1;
	}
	return false;
}
