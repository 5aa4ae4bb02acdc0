/* shell.c: see shell.h. */
#include "tools/shell/shell_internal.h"

#include "recorder/push/remote_tape.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/cli/read_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 8

static void shell_init(struct shell *s, struct sql_session *session, const struct query_run_options *o)
{
	*s = (struct shell){.session = session, .options = *o};
	buf_init(&s->sql, LIMIT_DOCUMENT_BYTES);
}

static bool is_blank(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!isspace((unsigned char)text.ptr[i]))
			return false;
	}
	return true;
}

/* ---- statements ---- */

static int run_statement(struct shell *s, struct err *err)
{
	int64_t begin_ns = clock_mono_ns(&clock_system);
	char text[TIME_TEXT_BYTES];
	int rc = query_run(s->session, &s->options, buf_slice(&s->sql), err);

	buf_clear(&s->sql);
	if (!rc && s->is_timed)
		fprintf(stderr, "took %s\n", duration_format(text, clock_mono_ns(&clock_system) - begin_ns));
	fflush(stdout);
	return rc;
}

static int run_when_whole(struct shell *s, struct err *err)
{
	int rc = buf_append(&s->sql, "", 1, err); /* the terminator that the question needs */

	if (rc)
		return rc;
	s->sql.len--;
	return sql_text_is_complete(s->sql.ptr) ? run_statement(s, err) : 0;
}

/* Takes a line, which may begin, go on with or end a statement, or be a command. */
static int take_line(struct shell *s, struct slice line, struct err *err)
{
	int rc;

	if (s->sql.len == 0 && is_blank(line))
		return 0;
	if (s->sql.len == 0 && line.ptr[0] == '.') {
		char *command = slice_dup(line);

		rc = shell_command(s, command, err);
		free(command);
		return rc;
	}
	if (memchr(line.ptr, 0, line.len))
		return err_set(err, ERR_USAGE, "the SQL text has a NUL byte in it");
	if ((rc = buf_append(&s->sql, line.ptr, line.len, err)) || (rc = buf_append(&s->sql, "\n", 1, err)))
		return rc;
	return memchr(line.ptr, ';', line.len) ? run_when_whole(s, err) : 0;
}

/* Runs what has been taken and not run: the last statement may lack its semicolon. */
static int take_end(struct shell *s, struct err *err)
{
	return s->sql.len && !s->is_over ? run_statement(s, err) : 0;
}

static int take_text(struct shell *s, struct slice text, struct err *err)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	int rc = 0;

	while (at < end && !rc && !s->is_over) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		struct slice line = {at, (size_t)((feed ? feed : end) - at)};

		rc = take_line(s, line, err);
		at = feed ? feed + 1 : end;
	}
	return rc ? rc : take_end(s, err);
}

int shell_read_file(struct shell *s, const char *path, struct err *err)
{
	struct buf text;
	int rc;

	if (s->depth == MAX_DEPTH)
		return err_set(
			err, ERR_USAGE, "files are read by files %d deep: '%s' is not", MAX_DEPTH, path);
	buf_init(&text, LIMIT_CONFIG_BYTES);
	s->depth++;
	rc = read_file(path, &text, err);
	if (!rc)
		rc = take_text(s, buf_slice(&text), err);
	s->depth--;
	buf_release(&text);
	return rc;
}

int shell_run_text(
	struct sql_session *session, const struct query_run_options *o, struct slice text, struct err *err)
{
	struct shell s;
	int rc;

	shell_init(&s, session, o);
	rc = take_text(&s, text, err);
	buf_release(&s.sql);
	return rc;
}

/* ---- at a terminal ---- */

static void shell_tell(const struct err *err)
{
	char *words = remote_tape_words(err->text);

	visible_puts(stderr, words);
	fputc('\n', stderr);
	free(words);
}

/* The whole statement comes back with one press of a key; a comment would swallow what stands behind it. */
static void shell_remember(struct line_reader *lines, struct buf *typed)
{
	bool has_comment;

	while (typed->len && isspace((unsigned char)typed->ptr[typed->len - 1]))
		typed->len--;
	if (buf_append(typed, "", 1, NULL))
		return;
	has_comment = strstr(typed->ptr, "--") != NULL;
	for (char *c = typed->ptr; *c && !has_comment; c++)
		*c = *c == '\n' ? ' ' : *c;
	line_reader_remember(lines, typed->ptr);
	buf_clear(typed);
}

static void take_typed_line(struct shell *s, struct line_reader *lines, struct buf *typed, const char *line)
{
	struct err err = {0};

	if (buf_printf(typed, &err, "%s\n", line))
		buf_clear(typed); /* too much to be remembered */
	if (take_line(s, slice_of(line), &err)) {
		shell_tell(&err);
		buf_clear(&s->sql);
	}
	if (s->sql.len == 0)
		shell_remember(lines, typed);
}

static void shell_ask(struct shell *s, struct line_reader *lines)
{
	enum line_result result;
	struct buf typed;
	char *line;

	buf_init(&typed, LIMIT_DOCUMENT_BYTES);
	while (!s->is_over &&
		(result = line_reader_next(lines, s->sql.len ? " ...> " : "tape> ", &line)) != LINE_END) {
		if (result == LINE_INTERRUPTED) {
			buf_clear(&s->sql);
			buf_clear(&typed);
			continue;
		}
		take_typed_line(s, lines, &typed, line);
		free(line);
	}
	if (!s->is_over)
		putchar('\n');
	buf_release(&typed);
}

int shell_run(struct sql_session *session, const char *tape_path, const struct query_run_options *o,
	struct err *err)
{
	char *history = line_reader_history_path("query-history");
	struct line_reader *lines;
	struct shell s;

	(void)err;
	shell_init(&s, session, o);
	s.words = shell_words_new(session);
	printf("%s: .tables, .schema, .help for more; Ctrl-D leaves\n", tape_path);
	lines = line_reader_open(history, shell_words_complete, s.words);
	shell_ask(&s, lines);
	line_reader_close(lines);
	shell_words_free(s.words);
	buf_release(&s.sql);
	free(history);
	return 0;
}
