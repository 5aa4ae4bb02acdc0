/* shell_words.c: what the tab key offers in the shell: after FROM and JOIN the tables, else whatever can
 * stand in a statement. */
#include "schema/base/count_of.h"
#include "schema/sql/extension.h"
#include "tools/shell/shell_internal.h"

#include <ctype.h>
#include <stdlib.h>

struct shell_words {
	char **items; /* of SQL: columns, functions, words */
	size_t count;
	char **tables; /* of a run, if there is one */
	size_t table_count;
};

static const char *const sql_words[] = {"SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "HAVING", "LIMIT",
	"JOIN", "LEFT", "USING", "DISTINCT", "DESC", "BETWEEN", "LIKE", "NULL", "AND", "NOT", "EXISTS",
	"UNION", "WITH", "MATERIALIZED", "EXPLAIN", "QUERY", "PLAN", "jget(", "jdiff(", "to_ns(", "to_time(",
	"duration(", "rv_cmp(", "count(", "sum(", "min(", "max(", "substr(", "json_each(", "group_concat("};

static void shell_words_add(struct shell_words *w, struct slice word)
{
	for (size_t i = 0; i < w->count; i++) {
		if (slice_is(word, w->items[i]))
			return;
	}
	w->items = xrealloc(w->items, (w->count + 1) * sizeof(*w->items));
	w->items[w->count++] = slice_dup(word);
}

static int add_column(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	(void)err;
	if (count > 1 && values[1].type == SQL_TEXT)
		shell_words_add(context, values[1].bytes);
	return 0;
}

/* Of table_list: the database, the name. */
static int add_run_table(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct shell_words *w = context;

	(void)err;
	if (count < 2 || !slice_is(values[0].bytes, "run") || slice_is(values[1].bytes, "sqlite_schema"))
		return 0;
	w->tables = xrealloc(w->tables, (w->table_count + 1) * sizeof(*w->tables));
	w->tables[w->table_count++] = slice_dup(values[1].bytes);
	return 0;
}

/* What cannot be read is not offered. */
static void shell_words_ask(struct sql_session *session, const char *sql, struct sql_sink sink)
{
	struct err err;

	(void)!sql_session_run(session, slice_of(sql), &sink, &err);
}

static const char *table_at(const struct shell_words *w, size_t i)
{
	const char *summary, *name = sql_table_name(i, &summary);
	size_t own = 0;

	if (name)
		return name;
	while (sql_table_name(own, &summary))
		own++;
	return i - own < w->table_count ? w->tables[i - own] : NULL;
}

struct shell_words *shell_words_new(struct sql_session *session)
{
	struct shell_words *w = xcalloc(1, sizeof(*w));
	const char *name;

	shell_words_ask(session, "PRAGMA table_list", (struct sql_sink){.row = add_run_table, .context = w});
	for (size_t i = 0; (name = table_at(w, i)); i++) {
		char *sql = xasprintf("PRAGMA table_xinfo(%s)", name);

		shell_words_ask(session, sql, (struct sql_sink){.row = add_column, .context = w});
		free(sql);
	}
	for (size_t i = 0; i < COUNT_OF(sql_words); i++)
		shell_words_add(w, slice_of(sql_words[i]));
	return w;
}

void shell_words_free(struct shell_words *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i]);
	for (size_t i = 0; i < w->table_count; i++)
		free(w->tables[i]);
	free(w->tables);
	free(w->items);
	free(w);
}

/* ---- what fits ---- */

static bool begins(const char *word, const char *start)
{
	for (; *start; word++, start++) {
		if (tolower((unsigned char)*word) != tolower((unsigned char)*start))
			return false;
	}
	return true;
}

/* Whether the last word of a text, whatever blanks follow, is that one. */
static bool ends_with_word(const char *text, const char *word)
{
	size_t len = strlen(text), word_len = strlen(word);

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len >= word_len && begins(text + len - word_len, word) &&
	       (len == word_len || isspace((unsigned char)text[len - word_len - 1]) ||
		       text[len - word_len - 1] == '(');
}

static bool wants_table(const char *before)
{
	return ends_with_word(before, "from") || ends_with_word(before, "join") ||
	       ends_with_word(before, ".schema");
}

void shell_words_complete(void *context, const char *before, const char *start,
	void (*take)(const char *word, void *list), void *list)
{
	const struct shell_words *w = context;
	const char *name;
	bool is_first = before[strspn(before, " \t")] == 0;

	for (size_t i = 0; is_first && *start == '.' && (name = shell_command_name(i)); i++) {
		if (begins(name, start))
			take(name, list);
	}
	if (*start == '.')
		return;
	for (size_t i = 0; (name = table_at(w, i)); i++) {
		if (begins(name, start))
			take(name, list);
	}
	for (size_t i = 0; i < w->count && !wants_table(before); i++) {
		if (begins(w->items[i], start))
			take(w->items[i], list);
	}
}
