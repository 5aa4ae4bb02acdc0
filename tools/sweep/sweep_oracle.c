/* sweep_oracle.c: see sweep_oracle.h. */
#include "tools/sweep/sweep_oracle.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define ALARM_BYTES 300 /* of one line */

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
		"SELECT " THING " || ', ' || count(*) || ' times' FROM writes WHERE verb = 'create' AND " DONE
		" AND resource NOT IN ('leases', 'events') AND coalesce(name, '') <> ''"
		" GROUP BY apigroup, resource, namespace, name HAVING count(*) > 5"},
	{"@no-double-delete", "nothing is deleted more often than it came to be",
		"SELECT " THING
		" || ', deleted ' || count(*) || ' times' FROM writes AS w WHERE verb = 'delete' AND " DONE
		" AND coalesce(subresource, '') = '' GROUP BY apigroup, resource, namespace, name HAVING count(*) > max(1,"
		" (SELECT count(*) FROM writes AS c WHERE c.verb = 'create' AND c.status BETWEEN 200 AND 299 AND c.resource = w.resource"
		"  AND c.apigroup = w.apigroup AND coalesce(c.namespace, '') = coalesce(w.namespace, '') AND c.name = w.name)"
		" + (SELECT count(DISTINCT e.uid) FROM events AS e WHERE e.resource = w.resource AND e.apigroup = w.apigroup"
		"  AND coalesce(e.namespace, '') = coalesce(w.namespace, '') AND e.name = w.name))"},
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

int sweep_oracle_check(const struct text_list *invariants, struct err *err)
{
	for (size_t i = 0; i < invariants->count; i++) {
		if (*invariants->items[i] == '@' && !find_invariant(invariants->items[i]))
			return err_set(err, ERR_USAGE,
				"unknown invariant '%.100s': expected SQL, or one of @no-hot-loop, @no-conflict-loop, "
				"@no-refused-write, @no-recreate-storm, @no-double-delete",
				invariants->items[i]);
	}
	return 0;
}

/* ---- invariants ---- */

struct asking {
	const char *name;
	struct buf *to;
	bool told; /* the first row is enough */
};

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct asking *a = context;
	int len = v[0].type == SQL_TEXT && v[0].bytes.len < ALARM_BYTES ? (int)v[0].bytes.len : 0;

	(void)count;
	(void)err;
	if (!a->told)
		(void)!buf_printf(
			a->to, NULL, "invariant %.100s is broken: %.*s\n", a->name, len, v[0].bytes.ptr);
	a->told = true;
	return 0;
}

int sweep_oracle_ask(struct sql_session *s, const char *text, struct buf *to, struct err *err)
{
	const struct sweep_invariant *known = find_invariant(text);
	struct asking asking = {.name = text, .to = to};
	const struct sql_sink sink = {.row = on_row, .context = &asking};

	struct err cause;
	int rc = sql_session_run(s, slice_of(known ? known->sql : text), &sink, &cause);

	return rc ? err_set(err, ERR_USAGE, "bad invariant '%.100s': %s", text, cause.text) : 0;
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

/* Addresses differ from run to run. */
static void add_alarm(struct buf *to, const char *text)
{
	for (size_t i = 0; text[i] && text[i] != '\n' && i < ALARM_BYTES; i++) {
		if (text[i] == '0' && text[i + 1] == 'x') {
			(void)!buf_append(to, "0x", 2, NULL);
			i += 1 + strspn(text + i + 2, "0123456789abcdef");
		} else {
			(void)!buf_append(to, text + i, 1, NULL);
		}
	}
}

static void read_log(FILE *log, struct buf *to)
{
	char line[4096];
	bool wants_frame = false;

	while (fgets(line, sizeof(line), log)) {
		const char *alarm = wants_frame ? NULL : find_alarm(line);

		if (alarm) {
			add_alarm(to, alarm);
			wants_frame = true;
		} else if (wants_frame && is_frame(line)) {
			line[strcspn(line, "(\n")] = '\0';
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
