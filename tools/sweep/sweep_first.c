/* sweep_first.c: whether the first run, without faults, is one that others can be compared with. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"

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

int sweep_check_first(const struct sweep *s, struct err *err)
{
	tell_of_early_end(s);
	if (s->plain.answer.end != SWEEP_TIMEOUT)
		return check_probe(s, err);
	return err_set(err, ERR_FAILED,
		"without any gap the command comes to no end within %lld s: %s; see '%s/without-1.log'",
		(long long)(s->v->tried.timeout_ns / NS_PER_S),
		s->plain.answer.watches
			? "it goes on writing, or needs a longer --timeout (or a shorter tape: --until)"
			: "it opened no watch, so that the clock did not start (--wait-watchers 0)",
		s->runs.folder);
}
