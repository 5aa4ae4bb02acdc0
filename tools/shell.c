/* shell.c: see shell.h. */
#include "tools/shell.h"

#include "schema/sql/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Where the extension is: beside the program, or in the lib directory beside the program's bin. */
static char *find_extension(struct err *err)
{
	static const char *const places[] = {"", "/../lib", "/../lib/kubetape"};
	char program[PATH_MAX + 1];
	ssize_t n = readlink("/proc/self/exe", program, PATH_MAX);

	program[n > 0 ? n : 0] = 0;
	if (strrchr(program, '/'))
		*strrchr(program, '/') = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path = xasprintf("%s%s/kubetape.so", program, places[i]);

		if (access(path, R_OK) == 0)
			return path;
		free(path);
	}
	(void)err_set(err, ERR_NOT_FOUND,
		"cannot open the shell: no 'kubetape.so' beside '%s' or in '%s/../lib'", program, program);
	return NULL;
}

/* As a word of a dot command, and as an SQL text: the quote character is doubled or escaped. */
static char *quoted(const char *text, char quote, char escape)
{
	char *to = xmalloc(2 * strlen(text) + 3), *at = to;

	*at++ = quote;
	for (const char *c = text; *c; c++) {
		if (*c == quote || (escape == '\\' && *c == '\\'))
			*at++ = escape;
		*at++ = *c;
	}
	*at++ = quote;
	*at = 0;
	return to;
}

static char *open_command(const char *tape_path)
{
	char *path = quoted(tape_path, '\'', '\'');
	char *command = xasprintf("SELECT 'opened ' || kubetape_open(%s);", path);

	free(path);
	return command;
}

static char *attach_command(const char *run_path)
{
	char *path = run_path ? quoted(run_path, '\'', '\'') : NULL;
	char *command = path ? xasprintf("ATTACH %s AS run;", path) : xstrdup("");

	free(path);
	return command;
}

static char *load_command(const char *extension)
{
	char *path = quoted(extension, '"', '\\');
	char *command = xasprintf(".load %s", path);

	free(path);
	return command;
}

/* Whether tape and run can be opened, and the sentence if not. */
static int probe(const char *tape_path, const char *run_path, struct err *err)
{
	struct sql_session *s;
	int code = sql_session_open(tape_path, &s, err);

	if (code)
		return code;
	code = run_path ? sql_session_add_run(s, run_path, err) : 0;
	sql_session_close(s);
	return code;
}

int shell_run(const char *tape_path, const char *run_path, struct err *err)
{
	char *extension, *load, *open, *attach;

	if (probe(tape_path, run_path, err))
		return err->code;
	extension = find_extension(err);
	if (!extension)
		return err->code;
	load = load_command(extension);
	open = open_command(tape_path);
	attach = attach_command(run_path);
	printf("tables: events objects changes gaps missed connections streams marks bookmarks documents segments\n"
	       "  SELECT time, type, namespace, name FROM events WHERE resource='pods' ORDER BY seq;\n"
	       "  SELECT name, jget(object, '$.status.phase') FROM objects('-5m') WHERE resource='pods';\n"
	       "  SELECT time, name, field, old, new FROM changes WHERE resource='deployments';\n"
	       "  .schema events   .mode json   .help   .quit\n");
	fflush(stdout);
	execlp("sqlite3", "sqlite3", "-interactive", "-cmd", load, "-cmd", open, "-cmd", attach, "-cmd",
		".mode column", "-cmd", ".prompt 'tape> ' ' ...> '", ":memory:", (char *)NULL);
	(void)err_set_errno(err, errno, "cannot run the shell 'sqlite3'");
	free(extension);
	free(load);
	free(open);
	free(attach);
	return err->code;
}
