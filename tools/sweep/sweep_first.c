/* sweep_first.c: whether the first run, without faults, is one that others can be compared with. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"
#include "schema/sql/session.h"

#include <signal.h>
#include <stdlib.h>

#define ASLEEP_EVENTS 3 /* and more, before which it might have written */

/* The requests of its last seconds, most frequent first. */
static const char busy_sql[] =
	"SELECT count(*), verb || ' ' || resource || iif(coalesce(apigroup, '') = '', '', '.' || apigroup)"
	"  || iif(coalesce(subresource, '') = '', '', '/' || subresource)"
	"  || iif(coalesce(name, '') = '', '', ' ' || iif(coalesce(namespace, '') = '', '', namespace || '/') || name)"
	" FROM requests WHERE resource NOT IN ('leases', 'events')"
	"  AND time_ns > (SELECT max(time_ns) FROM requests) - 10000000000 GROUP BY 2 ORDER BY 1 DESC, 2 LIMIT 1";

static int on_busy(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	char **told = context;

	(void)count;
	(void)err;
	*told = xasprintf(": in its last 10 s, %lld times '%.*s'", (long long)v[0].integer,
		(int)v[1].bytes.len, v[1].bytes.ptr);
	return 0;
}

char *sweep_tell_busy(const struct sweep *s, const struct sweep_slot *slot)
{
	char *told = NULL;
	const struct sql_sink busy = {.row = on_busy, .context = &told};
	struct sql_session *session = NULL;

	if (sweep_run_session(&s->runs, slot, &session, NULL) == 0)
		(void)!sql_session_run(session, slice_of(busy_sql), &busy, NULL);
	sql_session_close(session);
	return told ? told : xstrdup("");
}

/* What sh says of a command that it cannot find or run. */
static bool is_not_run(int64_t exit_code)
{
	return exit_code == 126 || exit_code == 127;
}

/* Without an answer of the probe no run would differ from another. */
static int check_probe(const struct sweep *s, struct err *err)
{
	const struct sweep_answer *a = &s->plain.answer;

	if (!s->v->probe || (a->probe && !is_not_run(a->probe_code)))
		return 0;
	if (!a->probe)
		return err_set(err, ERR_FAILED,
			"without any gap the probe is never asked: the command ends by itself, with exit code %lld, before it "
			"is quiet at the tape's end; see '%s/without-1.log'",
			(long long)a->exit_code, s->runs.folder);
	return err_set(err, ERR_USAGE,
		"the probe '%.200s' cannot be run: it ends with exit code %lld, as sh does", s->v->probe,
		(long long)a->probe_code);
}

static void tell_of_early_end(const struct sweep *s)
{
	const struct sweep_answer *a = &s->plain.answer;

	if (a->end == SWEEP_BY_ITSELF && a->exit_code && !a->delivered)
		fprintf(stderr,
			"kubetape sweep: without any gap the command ends by itself, with exit code %lld, before it is "
			"sent any event; see '%s/without-1.log'\n",
			(long long)a->exit_code, s->runs.folder);
}

static void tell_of_slow_end(const struct sweep *s)
{
	const struct sweep_answer *a = &s->plain.answer;

	if (a->end == SWEEP_QUIET && a->exit_code == 128 + SIGKILL && !s->runs.options.kill)
		fputs("kubetape sweep: the command does not end within 10 s of SIGTERM, and waits that long in each run: --kill saves it\n",
			stderr);
}

/* "comes to no end within 120 s: in its last 10 s, ..."; the caller frees. */
static char *tell_no_end(const struct sweep *s, bool laid_over)
{
	char *busy = sweep_tell_busy(s, &(struct sweep_slot){.number = 1, .laid_over = laid_over});
	char *text = xasprintf(
		"comes to no end within %lld s%s", (long long)(s->v->tried.timeout_ns / NS_PER_S), busy);

	free(busy);
	return text;
}

int sweep_no_end(const struct sweep *s, bool laid_over, struct err *err)
{
	const struct sweep_answer *answer = laid_over ? &s->laid_over.answer : &s->plain.answer;
	char *text = tell_no_end(s, laid_over);
	int rc = err_set(err, ERR_FAILED, "without any gap the command %s; %s; see '%s/%s-1.log'", text,
		answer->watches
			? "it goes on asking, or needs a longer --timeout (or a shorter tape: --until)"
			: "it opened no watch, so that the clock did not start (--wait-watchers 0)",
		s->runs.folder, laid_over ? "overlay" : "without");

	free(text);
	return rc;
}

/* Informers of what a cluster does not have ask again and again, and many a program does nothing before all have synced. */
static const char lacks_sql[] =
	"SELECT resource || iif(coalesce(apigroup, '') = '', '', '.' || apigroup) || ' (' || version || ')', count(*) FROM requests"
	" WHERE status = 404 AND verb IN ('list', 'watch') AND resource IS NOT NULL GROUP BY 1 HAVING count(*) > 2 ORDER BY 1";

static int on_lack(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)context;
	(void)count;
	(void)err;
	fprintf(stderr,
		"kubetape sweep: the command asked %lld times for %.*s, which the tape does not have: perhaps it does not do its "
		"work without\n",
		(long long)v[1].integer, (int)v[0].bytes.len, v[0].bytes.ptr);
	return 0;
}

/* Also where its report is not for people. */
static int tell_of_lacks(const struct sweep *s, struct err *err)
{
	const struct sql_sink sink = {.row = on_lack};
	char *run = sweep_run_file(&s->runs, &(struct sweep_slot){.number = 1}, "run");
	struct sql_session *session;
	int rc = sql_session_open_run(s->runs.options.tape, run, &session, err);

	free(run);
	if (rc)
		return rc;
	rc = sql_session_run(session, slice_of(lacks_sql), &sink, err);
	sql_session_close(session);
	return rc;
}

static const char asleep_sql[] =
	"SELECT min(w.seq) >= max(d.last), max(d.count) FROM (SELECT max(seq) AS last, count(DISTINCT seq) AS count FROM deliveries"
	"  WHERE seq < 1 << 62 AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')) AS d, writes AS w"
	" WHERE w.resource NOT IN ('leases', 'events')";

static int on_asleep(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)context;
	(void)count;
	(void)err;
	if (v[0].integer && v[1].integer >= ASLEEP_EVENTS)
		fputs("kubetape sweep: in lock-step the command writes nothing before the tape's last event: it is slower than the events, "
		      "and misses nothing in a gap that it would have acted on; give it more time for each, as by --lockstep 1s\n",
			stderr);
	return 0;
}

int sweep_tell_of_sleep(struct sql_session *session, struct err *err)
{
	const struct sql_sink sink = {.row = on_asleep};

	return sql_session_run(session, slice_of(asleep_sql), &sink, err);
}

int sweep_check_first(const struct sweep *s, struct err *err)
{
	int rc = tell_of_lacks(s, err);

	if (rc)
		return rc;
	tell_of_early_end(s);
	tell_of_slow_end(s);
	if (s->plain.answer.end != SWEEP_TIMEOUT)
		return check_probe(s, err);
	return sweep_no_end(s, false, err);
}

bool sweep_absorbs(const struct sweep *s)
{
	return s->plain.answer.absorbed && !s->v->tried.writes.count;
}

bool sweep_learn_to_collect(struct sweep *s, const struct sweep_answer *answer)
{
	struct sweep_options *options = &s->runs.options;

	if (s->stopped || options->gc || !answer->orphans)
		return false;
	fprintf(stderr,
		"kubetape sweep: what it writes outlives owners that the tape deletes (%s, %llu in all): it is collected, as in a "
		"cluster (--gc)\n",
		answer->orphan, (unsigned long long)answer->orphans);
	options->gc = true;
	return true;
}

void sweep_say_unsteady(struct sweep *s, const struct buf *differences)
{
	s->unsteady = true;
	fprintf(stderr,
		"kubetape sweep: the command is not deterministic: of two runs without gaps, the second %.*s",
		(int)differences->len, differences->ptr);
}

void sweep_keep_all(struct sweep *s, const char *why)
{
	fprintf(stderr, "kubetape sweep: all runs keep what the command writes (--write overlay), as %s\n",
		why);
	s->keeps_all = s->plain_fails = true;
}

int sweep_say_nothing_compares(struct sweep *s, const struct buf *differences, struct err *err)
{
	if (s->laid_over.answer.end == SWEEP_TIMEOUT)
		return sweep_no_end(s, true, err);
	sweep_say_unsteady(s, differences);
	return 0;
}

char *sweep_tell_why_not(const struct sweep *s, const struct buf *differences)
{
	const char *with = s->v->tried.writes.count ? "--hold-finalizer" : "--write overlay";
	char *text, *why;

	if (s->laid_over.answer.end != SWEEP_TIMEOUT)
		return xasprintf("with '%s' two runs differ, the second: %.*s (see --ignore)", with,
			(int)strcspn(differences->ptr, "\n"), differences->ptr);
	text = tell_no_end(s, true);
	why = xasprintf("with '%s' the command %s", with, text);
	free(text);
	return why;
}
