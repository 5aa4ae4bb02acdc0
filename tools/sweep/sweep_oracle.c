/* sweep_oracle.c: see sweep_oracle.h. */
#include "tools/sweep/sweep_oracle.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define ALARM_BYTES     300 /* of one line */
#define NAME_MAX_BYTES  60
#define SQL_SHOWN_BYTES 100 /* of a query without a name */
#define NAME_BYTES      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

#define DONE "status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0"
#define THING                                                                                                                   \
	"resource || iif(apigroup = '', '', '.' || apigroup) || ' ' || iif(coalesce(namespace, '') = '', '', namespace || '/')" \
	" || coalesce(name, '')"

const struct sweep_invariant sweep_invariants[] = {
	{"@no-hot-loop", "the same write is not made more than 20 times",
		"SELECT verb || ' of ' || " THING " || ', ' || count(*) || ' times' FROM writes"
		" WHERE resource NOT IN ('leases', 'events') GROUP BY verb, apigroup, resource, subresource, namespace, name, body"
		" HAVING count(*) > 20"},
	{"@no-conflict-loop", "no object answers more than 10 writes with a conflict",
		"SELECT " THING
		" || ', ' || count(*) || ' conflicts' FROM writes WHERE status = 409 AND verb IN ('update', 'patch')"
		" GROUP BY apigroup, resource, namespace, name HAVING count(*) > 10"},
	{"@no-refused-write", "no write is refused for what it says (400, 403, 405, 413, 415, 422)",
		"SELECT verb || ' of ' || " THING
		" || ': ' || status || ' ' || coalesce(reason, '') FROM writes"
		" WHERE status IN (400, 403, 405, 413, 415, 422)"},
	{"@no-recreate-storm", "no name is created more than 5 times",
		"SELECT " THING " || ', ' || count(*) || ' times' FROM writes WHERE status = 201 AND " DONE
		" AND resource NOT IN ('leases', 'events') AND coalesce(name, '') <> ''"
		" GROUP BY apigroup, resource, namespace, name HAVING count(*) > 5"},
	{"@no-double-delete", "nothing is deleted more often than it came to be",
		"SELECT " THING
		" || ', deleted ' || count(*) || ' times' FROM writes AS w WHERE verb = 'delete' AND " DONE
		" AND coalesce(subresource, '') = '' GROUP BY apigroup, resource, namespace, name HAVING count(*) > max(1,"
		" (SELECT count(*) FROM writes AS c WHERE c.status = 201 AND c.resource = w.resource"
		"  AND c.apigroup = w.apigroup AND coalesce(c.namespace, '') = coalesce(w.namespace, '') AND c.name = w.name)"
		" + (SELECT count(DISTINCT e.uid) FROM events AS e WHERE e.resource = w.resource AND e.apigroup = w.apigroup"
		"  AND coalesce(e.namespace, '') = coalesce(w.namespace, '') AND e.name = w.name))"},
	{"@no-create-loop", "nothing that exists is created more than 10 times",
		"SELECT " THING
		" || ', ' || count(*) || ' times' FROM writes WHERE status = 409 AND verb = 'create'"
		" GROUP BY apigroup, resource, namespace, name HAVING count(*) > 10"},
	{"@no-flapping", "nothing is changed and changed back while the tape brings nothing new",
		"SELECT " THING
		" FROM (SELECT *, lag(content) OVER o AS last, lag(content, 2) OVER o AS earlier,"
		"  lag(seq, 2) OVER o AS since FROM (SELECT *,"
		"   coalesce(jget(body, '$.status'), jget(body, '$.spec'), jget(body, '$.data')) AS content FROM writes"
		"   WHERE verb IN ('update', 'patch') AND " DONE " AND resource NOT IN ('leases', 'events'))"
		"  WINDOW o AS (PARTITION BY apigroup, resource, namespace, name, subresource ORDER BY write))"
		" WHERE content = earlier AND content <> last AND seq = since"},
	{NULL, NULL, NULL},
};

static const struct sweep_invariant *find_invariant(const char *name)
{
	for (const struct sweep_invariant *i = sweep_invariants; i->name; i++) {
		if (strcmp(i->name, name) == 0)
			return i;
	}
	return NULL;
}

/* Of "NAME=SQL"; 0: it has no name of its own. No SQL is read as one: '=' never follows a statement's first word. */
static size_t own_name_len(const char *text)
{
	size_t len = strspn(text, NAME_BYTES);

	return len && text[len] == '=' ? len : 0;
}

/* What it is called in findings: its name, or how its query begins. */
static struct slice called(const char *text)
{
	size_t own = own_name_len(text), len = strlen(text);

	return (struct slice){text, own ? own : len < SQL_SHOWN_BYTES ? len : SQL_SHOWN_BYTES};
}

static const char *find_sql(const char *text)
{
	const struct sweep_invariant *known = find_invariant(text);
	size_t own = own_name_len(text);

	return known ? known->sql : own ? text + own + 1 : text;
}

static int check_own_name(const struct text_list *invariants, size_t at, struct err *err)
{
	const char *text = invariants->items[at];
	size_t len = own_name_len(text);

	if (len > NAME_MAX_BYTES)
		return err_set(err, ERR_USAGE, "the name of invariant '%.100s' is longer than %d bytes", text,
			NAME_MAX_BYTES);
	if (len && !text[len + 1 + strspn(text + len + 1, " \t\n;")])
		return err_set(err, ERR_USAGE, "invariant '%s' names no query: expected NAME=SQL", text);
	for (size_t i = 0; i < at && len; i++) {
		if (own_name_len(invariants->items[i]) == len &&
			strncmp(invariants->items[i], text, len) == 0)
			return err_set(err, ERR_USAGE, "two invariants are named '%.*s'", (int)len, text);
	}
	return 0;
}

int sweep_oracle_check(const struct text_list *invariants, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < invariants->count && rc == 0; i++) {
		if (*invariants->items[i] == '@' && !find_invariant(invariants->items[i]))
			return err_set(err, ERR_USAGE,
				"unknown invariant '%.100s': expected SQL, NAME=SQL, or one of @no-hot-loop, "
				"@no-conflict-loop, @no-refused-write, @no-recreate-storm, @no-double-delete, "
				"@no-create-loop, @no-flapping",
				invariants->items[i]);
		rc = check_own_name(invariants, i, err);
	}
	return rc;
}

char *sweep_oracle_line(const char *invariant)
{
	struct slice name = called(invariant);

	return xasprintf("invariant %.*s is broken", (int)name.len, name.ptr);
}

/* ---- invariants ---- */

struct asking {
	const char *text; /* of the invariant */
	struct buf *to;
	bool told; /* the first row is enough */
};

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct asking *a = context;
	int len = v[0].type == SQL_TEXT && v[0].bytes.len < ALARM_BYTES ? (int)v[0].bytes.len : 0;

	(void)count;
	(void)err;
	if (!a->told) {
		char *line = sweep_oracle_line(a->text);

		(void)!buf_printf(a->to, NULL, "%s: %.*s\n", line, len, v[0].bytes.ptr);
		free(line);
	}
	a->told = true;
	return 0;
}

int sweep_oracle_ask(struct sql_session *s, const char *text, struct buf *to, struct err *err)
{
	struct asking asking = {.text = text, .to = to};
	const struct sql_sink sink = {.row = on_row, .context = &asking};

	struct err cause;
	struct slice name = called(text);
	int rc = sql_session_run(s, slice_of(find_sql(text)), &sink, &cause);

	return rc ? err_set(err, ERR_USAGE, "bad invariant '%.*s': %s", (int)name.len, name.ptr, cause.text)
		  : 0;
}

/* ---- output ---- */

/* Where such a line tells that something broke; NULL: it does not. */
static const char *find_alarm(const char *line)
{
	static const char *const words[] = {
		"Observed a panic", "panic: ", "fatal error: ", "WARNING: DATA RACE"};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		const char *at = strstr(line, words[i]);

		if (at)
			return at;
	}
	return NULL;
}

/* The first function of the program itself in a stack of Go. */
static bool is_frame(const char *line)
{
	return *line != ' ' && *line != '\t' && strstr(line, "(") && strstr(line, ".") &&
	       strncmp(line, "panic(", 6) != 0 && strncmp(line, "runtime", 7) != 0 &&
	       strncmp(line, "goroutine", 9) != 0 && !strstr(line, "panic: ") &&
	       !strstr(line, "util/runtime.") && strncmp(line, "[", 1) != 0;
}

/* Before its arguments; the parentheses of a receiver follow a dot: main.(*Controller).run(...). */
static void cut_arguments(char *line)
{
	char *at = line;

	while (*at && *at != '\n' && (*at != '(' || (at > line && at[-1] == '.')))
		at++;
	*at = '\0';
}

bool sweep_oracle_is_alarm(const char *differences)
{
	return find_alarm(differences) != NULL;
}

/* Up to the quote that ends a text. */
static size_t quoted_length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != '\n' && text[n] != '"')
		n += 1 + (text[n] == '\\' && text[n + 1]);
	return n;
}

/* What a panic said, in a line of structured logging: of controller-runtime, "panic": "...", beside ids that differ each time;
 * of klog, panic="...". NULL: it has none. Up to the closing quote. */
static const char *structured_panic(const char *line)
{
	static const char *const members[] = {"\"panic\":", " panic="};

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const char *at = strstr(line, members[i]);

		if (at)
			at += strlen(members[i]) + strspn(at + strlen(members[i]), " ");
		if (at && *at == '"')
			return at + 1;
	}
	return NULL;
}

static bool is_structured(const char *line)
{
	return *line == '{';
}

/* What the alarm tells, without what differs from run to run: structured logging puts further values on the same line. */
static struct slice alarm_text(const char *line, const char *alarm)
{
	return (struct slice){alarm, strcspn(alarm, is_structured(line) ? "\"\n" : "\n")};
}

/* Addresses differ from run to run. */
static void add_alarm(struct buf *to, const char *line, const char *alarm)
{
	const char *panic = structured_panic(line);
	struct slice text = panic ? (struct slice){panic, quoted_length(panic)} : alarm_text(line, alarm);

	if (panic)
		(void)!buf_printf(to, NULL, "Observed a panic: ");
	for (size_t i = 0; i < text.len && i < ALARM_BYTES; i++) {
		if (text.ptr[i] == '0' && i + 1 < text.len && text.ptr[i + 1] == 'x') {
			(void)!buf_append(to, "0x", 2, NULL);
			i += 1 + strspn(text.ptr + i + 2, "0123456789abcdef");
		} else {
			(void)!buf_append(to, text.ptr + i, 1, NULL);
		}
	}
	if (is_structured(line))
		(void)!buf_append(to, "\n", 1, NULL);
}

static void read_log(FILE *log, struct buf *to)
{
	char line[4096];
	bool wants_frame = false;

	while (fgets(line, sizeof(line), log)) {
		const char *alarm = wants_frame ? NULL : find_alarm(line);

		if (alarm) {
			add_alarm(to, line, alarm);
			wants_frame = !is_structured(line);
		} else if (wants_frame && is_frame(line)) {
			cut_arguments(line);
			(void)!buf_printf(to, NULL, " at %.200s\n", line);
			wants_frame = false;
		}
	}
	if (wants_frame)
		(void)!buf_append(to, "\n", 1, NULL);
}

int sweep_oracle_read(struct sql_session *s, const struct text_list *invariants, const char *log,
	char **ret_alarms, struct err *err)
{
	FILE *file = fopen(log, "re");
	struct buf text;
	int rc = 0;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	if (file) {
		read_log(file, &text);
		fclose(file);
	}
	for (size_t i = 0; i < invariants->count && rc == 0; i++)
		rc = sweep_oracle_ask(s, invariants->items[i], &text, err);
	if (rc == 0)
		*ret_alarms = slice_dup(buf_slice(&text));
	buf_release(&text);
	return rc;
}
