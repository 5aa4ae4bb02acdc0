/* cmd_sweep.c: kubetape sweep. See sweep.h for its parts. */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/tape/position.h"
#include "tools/commands.h"
#include "tools/position_help.h"
#include "tools/sweep_run.h"

#include <stdlib.h>
#include <unistd.h>

#define POSITIONS_MAX 100
#define SETTLE_NS     (2 * NS_PER_S)
#define TIMEOUT_NS    (120 * NS_PER_S)
#define ALL_WATCHES   "1000000" /* more than anybody opens: the clock starts when all have been quiet */
#define GAP_WORDS     "end,compact"
#define PLACES        "deletions,recreations,terminations,changes,selections,every"

struct values {
	const char *at, *out, *compare, *speed, *from, *until;
	struct text_list gaps, events, writes;
	int64_t jobs, max, settle_ns, timeout_ns, wait_watchers;
	bool plain, json;
};

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "at", offsetof(struct values, at), "PLACES",
		"where gaps are tried: deletions, recreations, terminations, changes, selections, every[:N], none, "
		"separated by commas; all of them unless given"},
	{OPTION_LIST, 0, "event", offsetof(struct values, events), "EXPRESSION",
		"also at each event that this SQL expression over the columns of 'events' is true of"},
	{OPTION_LIST, 0, "gap", offsetof(struct values, gaps), "WORDS",
		"what a gap is, in words of 'replay --gap'; " GAP_WORDS
		" unless given; several are all tried"},
	{OPTION_NUMBER, 0, "max", offsetof(struct values, max), "N",
		"try at most N positions, the most telling ones; 100 unless given, 0: all"},
	{OPTION_NUMBER, 'j', "jobs", offsetof(struct values, jobs), "N",
		"run so many side by side, if the command allows it; two for each processor unless given"},
	{OPTION_TEXT, 0, "compare", offsetof(struct values, compare), "exit|writes|exit,writes",
		"what makes a run a wrong one; both unless given"},
	{OPTION_TEXT, 'o', "out", offsetof(struct values, out), "DIR",
		"where the fault files go, and run and output of what went wrong; NAME.sweep unless given, or NAME-2.sweep "
		"if that is there"},
	{OPTION_DURATION, 0, "settle", offsetof(struct values, settle_ns), "DURATION",
		"a command that goes on for ever is ended when it was quiet for so long at the tape's end; 2s"},
	{OPTION_DURATION, 0, "timeout", offsetof(struct values, timeout_ns), "DURATION",
		"of one run, 2m unless given"},
	{OPTION_TEXT, 0, "speed", offsetof(struct values, speed), "N|max",
		"as of 'replay'; max unless given"},
	{OPTION_TEXT, 0, "from", offsetof(struct values, from), "POSITION", "begin there"},
	{OPTION_TEXT, 0, "until", offsetof(struct values, until), "POSITION", "end there"},
	{OPTION_FLAG, 0, "plain", offsetof(struct values, plain), "",
		"serve HTTP/1.1 without TLS, not HTTPS with HTTP/2"},
	{OPTION_NUMBER, 0, "wait-watchers", offsetof(struct values, wait_watchers), "N",
		"start the clock when N watches are open (0: at once); found out unless given"},
	{OPTION_LIST, 0, "write", offsetof(struct values, writes), "RULE", "as of 'replay'"},
	{OPTION_FLAG, 0, "json", offsetof(struct values, json), "", "report as JSON"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

struct sweep {
	const struct values *v;
	struct sweep_runs runs;
	struct sweep_search search;
	struct sweep_measure measure;
	struct sweep_answer without;
	struct sweep_positions positions;
	struct sweep_try *tries;
	size_t try_count, found, jobs;
	bool alone, stopped, unsteady;
};

static void stop(struct sweep *s)
{
	s->stopped = true;
	for (size_t i = 0; i < s->jobs; i++)
		s->runs.job[i].pid = 0;
}

/* ---- without gaps ---- */

/* Starts `jobs` runs at once and compares each with the first of all. Returns how many differ. */
static int run_without(struct sweep *s, size_t jobs, size_t number, struct buf *differences, struct err *err)
{
	int rc = 0, differ = 0;

	for (size_t i = 0; i < jobs && rc == 0; i++) {
		s->runs.slot[i] = (struct sweep_slot){.number = number + i};
		rc = sweep_run_start(&s->runs, i, err);
	}
	for (size_t left = jobs; left && rc == 0; left--) {
		int at = sweep_jobs_wait(s->runs.job, jobs);
		struct sweep_answer answer;

		if (at < 0) {
			stop(s);
			return 0;
		}
		rc = sweep_run_read(&s->runs, (size_t)at, number == 1 ? &s->without : &answer, err);
		if (rc || number == 1)
			continue;
		if (number == 2)
			sweep_measure_learn(&s->measure, &s->without, &answer);
		if (sweep_compare(&s->measure, &s->without, &answer, "the first", differences))
			differ++;
		else if (number != 2 || !s->measure.unsteady_count) /* it is needed to repeat a finding */
			sweep_run_remove(&s->runs, &s->runs.slot[at]);
		sweep_answer_release(&answer);
	}
	return rc ? rc : differ;
}

static int check_first(const struct sweep *s, struct err *err)
{
	if (s->without.end != SWEEP_TIMEOUT)
		return 0;
	return err_set(err, ERR_FAILED,
		"without any gap the command comes to no end within %lld s: %s; see '%s/without-1.log'",
		(long long)(s->v->timeout_ns / NS_PER_S),
		s->without.watches
			? "it goes on writing, or needs a longer --timeout"
			: "it opened no watch, so that the clock did not start (--wait-watchers 0)",
		s->runs.folder);
}

/* Three rounds: to know the answer; to see whether it is always the same; and whether it still is when
 * several run side by side. */
static int find_answer(struct sweep *s, struct err *err)
{
	struct buf differences;
	int rc = run_without(s, 1, 1, NULL, err);

	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	if (rc == 0 && !s->stopped)
		rc = check_first(s, err);
	if (rc == 0 && s->v->wait_watchers < 0 && s->without.watches) {
		free(s->runs.watches);
		s->runs.watches = xasprintf("%llu", (unsigned long long)s->without.watches);
	}
	if (rc == 0 && !s->stopped)
		rc = run_without(s, 1, 2, &differences, err);
	if (rc > 0) {
		s->unsteady = true;
		fprintf(stderr,
			"kubetape sweep: the command is not deterministic: of two runs without gaps, the second %.*s",
			(int)differences.len, differences.ptr);
		rc = 0;
	}
	if (rc == 0 && !s->stopped && !s->unsteady && s->jobs > 1) {
		buf_clear(&differences);
		rc = run_without(s, s->jobs, 3, &differences, err);
		s->alone = rc > 0;
		s->jobs = s->alone ? 1 : s->jobs;
	}
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}

/* ---- with gaps ---- */

static int find_positions(struct sweep *s, struct err *err)
{
	const struct sweep_slot first = {.number = 1};
	char *run = sweep_run_file(&s->runs, &first, "run");
	struct sql_session *session = NULL;
	int rc = sql_session_open(s->runs.options.tape, &session, err);

	if (rc == 0)
		rc = sql_session_add_run(session, run, err);
	if (rc == 0)
		rc = sweep_positions_find(session, &s->search, &s->positions, err);
	sql_session_close(session);
	free(run);
	s->found = sweep_positions_thin(&s->positions, (size_t)s->v->max);
	return rc;
}

static void make_tries(struct sweep *s)
{
	static const char *const usual[] = {GAP_WORDS};
	const char *const *words = s->v->gaps.count ? s->v->gaps.items : usual;
	size_t word_count = s->v->gaps.count ? s->v->gaps.count : 1;

	s->tries = xcalloc(s->positions.count * word_count + 1, sizeof(*s->tries));
	for (size_t i = 0; i < s->positions.count; i++) {
		const struct sweep_position *p = &s->positions.items[i];

		for (size_t k = 0; k < (p->reached ? word_count : 1); k++) {
			struct sweep_try *try = &s->tries[s->try_count++];
			const struct sweep_slot slot = {.of = try};

			*try = (struct sweep_try){.position = p,
				.words = words[k],
				.number = s->try_count,
				.verdict = p->reached ? SWEEP_UNTRIED : SWEEP_NOT_REACHED};
			try->faults = sweep_run_file(&s->runs, &slot, "faults.json");
		}
	}
}

/* The first try that has not begun. */
static struct sweep_try *next_try(struct sweep *s, size_t *at)
{
	while (*at < s->try_count) {
		struct sweep_try *try = &s->tries[(*at)++];

		if (try->position->reached)
			return try;
	}
	return NULL;
}

/* Judges what has ended. True when it is to run once more: who is wrong once may have been unlucky. */
static int judge(struct sweep *s, size_t at, bool *ret_again, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[at];
	struct sweep_try *try = slot->of;
	struct sweep_answer answer;
	struct buf differences;
	size_t count;
	int rc = sweep_run_read(&s->runs, at, &answer, err);

	*ret_again = false;
	if (rc)
		return rc;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	count = sweep_compare(&s->measure, &s->without, &answer, "without the gap", &differences);
	*ret_again = count && !slot->again;
	if (!count || answer.hits == 0)
		try->verdict = slot->again ? SWEEP_UNSURE : answer.hits ? SWEEP_FINE : SWEEP_NOT_REACHED;
	else
		try->verdict = slot->again ? SWEEP_WRONG : SWEEP_UNTRIED;
	if (count && !try->differences)
		try->differences = slice_dup(buf_slice(&differences));
	if (!count || slot->again)
		sweep_run_remove(&s->runs, slot);
	if (try->verdict == SWEEP_FINE || try->verdict == SWEEP_NOT_REACHED)
		unlink(try->faults);
	buf_release(&differences);
	sweep_answer_release(&answer);
	return 0;
}

static int begin_try(struct sweep *s, size_t at, struct sweep_try *try, bool again, struct err *err)
{
	int rc = again ? 0 : sweep_fault_write(try->position, try->words, try->faults, err);

	s->runs.slot[at] = (struct sweep_slot){.of = try, .again = again};
	return rc ? rc : sweep_run_start(&s->runs, at, err);
}

static size_t count_verdicts(const struct sweep *s, enum sweep_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < s->try_count; i++)
		n += s->tries[i].verdict == verdict;
	return n;
}

static void show_progress(const struct sweep *s, bool shown)
{
	size_t unreached = count_verdicts(s, SWEEP_NOT_REACHED);

	if (shown)
		fprintf(stderr, "\r%zu of %zu gaps tried, %zu wrong (Ctrl-C stops)\033[K",
			s->try_count - unreached - count_verdicts(s, SWEEP_UNTRIED), s->try_count - unreached,
			count_verdicts(s, SWEEP_WRONG));
}

/* Keeps all jobs busy until there is nothing left to try. */
static int run_tries(struct sweep *s, struct err *err)
{
	bool shown = isatty(STDERR_FILENO), again;
	struct sweep_try *try;
	size_t next = 0, running = 0;
	int rc = 0;

	while (rc == 0 && running < s->jobs && (try = next_try(s, &next)))
		rc = begin_try(s, running++, try, false, err);
	while (rc == 0 && running) {
		int at;

		show_progress(s, shown);
		at = sweep_jobs_wait(s->runs.job, s->jobs);
		if (at < 0) {
			stop(s);
			break;
		}
		rc = judge(s, (size_t)at, &again, err);
		try = again ? s->runs.slot[at].of : next_try(s, &next);
		if (rc == 0 && try)
			rc = begin_try(s, (size_t)at, try, again, err);
		else
			running--;
	}
	if (shown)
		fputs("\r\033[K", stderr);
	return rc;
}

/* ---- the whole ---- */

/* Appends an option whose value is a word of a shell; takes the text over. */
static char *add_option(char *text, const char *name, const char *value)
{
	char *word = sweep_word(value), *longer = xasprintf("%s --%s %s", text, name, word);

	free(word);
	free(text);
	return longer;
}

static char *make_again(const struct sweep *s)
{
	const struct values *v = s->v;
	char *tape = sweep_word(s->runs.options.tape);
	char *text = xasprintf("kubetape replay %s --speed %s --settle %lldms --wait-watchers %s%s", tape,
		v->speed, (long long)(v->settle_ns / NS_PER_MS), s->runs.watches, v->plain ? " --plain" : "");

	free(tape);
	if (v->from)
		text = add_option(text, "from", v->from);
	if (v->until)
		text = add_option(text, "until", v->until);
	for (size_t i = 0; i < v->writes.count; i++)
		text = add_option(text, "write", v->writes.items[i]);
	return text;
}

/* Compared is what the sweep has compared, and with what: the second run without gaps tells what differs by
 * itself. */
static char *make_verdict(const struct sweep *s)
{
	const struct sweep_slot first = {.number = 1}, second = {.number = 2};
	char *golden = sweep_run_file(&s->runs, &first, "run"),
	     *also = sweep_run_file(&s->runs, &second, "run");
	char *text = add_option(xstrdup(""), "golden", golden);

	if (s->measure.unsteady_count)
		text = add_option(text, "also", also);
	text = add_option(text, "compare", s->v->compare);
	free(golden);
	free(also);
	return text;
}

static int report(struct sweep *s)
{
	struct sweep_report r = {.tape = s->runs.options.tape,
		.folder = s->runs.folder,
		.again = make_again(s),
		.verdict = make_verdict(s),
		.child = s->runs.options.child,
		.without = &s->without,
		.positions = &s->positions,
		.measure = &s->measure,
		.found = s->found,
		.tries = s->tries,
		.count = s->try_count,
		.jobs = s->jobs,
		.alone = s->alone,
		.stopped = s->stopped};

	if (s->v->json)
		sweep_report_json(&r, stdout);
	else
		sweep_report_text(&r, stdout);
	free(r.again);
	free(r.verdict);
	if (count_verdicts(s, SWEEP_WRONG))
		return EXIT_FAILED;
	return s->stopped || count_verdicts(s, SWEEP_UNSURE) || !count_verdicts(s, SWEEP_FINE) ? EXIT_LOSS
											       : EXIT_OK;
}

static int sweep(struct sweep *s, int *ret_code, struct err *err)
{
	struct sql_session *session = NULL;
	int rc = sql_session_open(s->runs.options.tape, &session, err); /* one sentence if there is none */

	sql_session_close(session);
	if (rc == 0)
		rc = sweep_folder_prepare(&s->runs, s->v->out, err);
	sweep_jobs_prepare();
	if (rc == 0)
		rc = find_answer(s, err);
	if (rc)
		return rc;
	if (s->stopped)
		fputs("kubetape sweep: stopped before any gap was tried\n", stderr);
	if (s->unsteady || s->stopped) {
		*ret_code = EXIT_LOSS;
		return 0;
	}
	rc = find_positions(s, err);
	if (rc == 0)
		make_tries(s);
	if (rc == 0)
		rc = run_tries(s, err);
	if (rc == 0)
		*ret_code = report(s);
	return rc;
}

/* Whatever still runs ends with us, being told so by the kernel. */
static void release(struct sweep *s)
{
	sweep_answer_release(&s->without);
	sweep_positions_release(&s->positions);
	sweep_measure_release(&s->measure);
	for (size_t i = 0; i < s->try_count; i++) {
		free(s->tries[i].faults);
		free(s->tries[i].differences);
	}
	free(s->tries);
	free(s->runs.folder);
	free(s->runs.watches);
}

/* Every replay would guess the same, and hundreds of them would say so. */
static int check_bound(struct tape *t, const char *option, const char *text, struct err *err)
{
	char remark[POSITION_REMARK_BYTES];
	struct tape_position p;
	int rc = text ? tape_position_find(t, text, &p, err) : 0;

	if (text && rc == 0 && tape_position_remark(&p, text, remark))
		rc = err_set(err, ERR_USAGE, "bad %s: %s", option, remark);
	return rc;
}

static int check_bounds(const struct values *v, const char *tape_path, struct err *err)
{
	struct tape *t;
	int rc = v->from || v->until ? tape_open(tape_path, &t, err) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	rc = check_bound(t, "--from", v->from, err);
	if (rc == 0)
		rc = check_bound(t, "--until", v->until, err);
	tape_close(t);
	return rc;
}

static int check(struct sweep *s, const struct operands *operands, struct err *err)
{
	const struct values *v = s->v;
	int rc = 0;

	if (!operands->child || !operands->child[0])
		return err_set(err, ERR_USAGE, "no command behind '--'");
	if (v->jobs > SWEEP_JOBS_MAX || v->settle_ns < 10 * NS_PER_MS || v->timeout_ns <= 0)
		return err_set(err, ERR_USAGE,
			"expected at most %d jobs, a --settle of 10ms or more, and a --timeout",
			SWEEP_JOBS_MAX);
	s->measure.exit_code = strstr(v->compare, "exit") != NULL;
	s->measure.writes = strstr(v->compare, "writes") != NULL;
	if (strcmp(v->compare, "exit") != 0 && strcmp(v->compare, "writes") != 0 &&
		strcmp(v->compare, "exit,writes") != 0)
		return err_set(err, ERR_USAGE, "bad --compare '%.100s': expected exit, writes or exit,writes",
			v->compare);
	for (size_t i = 0; i < v->gaps.count && rc == 0; i++)
		rc = sweep_words_check(v->gaps.items[i], err);
	if (rc == 0)
		rc = check_bounds(v, operands->items[0], err);
	if (rc == 0 && v->out)
		rc = out_file_refuse_stream(v->out, "a sweep's results are a folder", err);
	s->search.wanted = &v->events;
	return rc ? rc : sweep_search_parse(v->at, &s->search, err);
}

static int run(const struct command *self, int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct values v = {.at = PLACES,
		.compare = "exit,writes",
		.speed = "max",
		.jobs = processors > 4 ? 8 : 2 * processors,
		.max = POSITIONS_MAX,
		.settle_ns = SETTLE_NS,
		.timeout_ns = TIMEOUT_NS,
		.wait_watchers = -1};
	struct sweep s = {.v = &v};
	struct operands operands;
	struct err err = {0};
	int code = EXIT_OK, rc = options_parse(self, argc, argv, &v, &operands, &err);

	if (rc > 0)
		return EXIT_OK;
	if (rc == 0)
		rc = check(&s, &operands, &err);
	if (rc == 0) {
		s.runs.options = (struct sweep_options){.tape = operands.items[0],
			.child = operands.child,
			.speed = v.speed,
			.from = v.from,
			.until = v.until,
			.writes = v.writes,
			.settle_ns = v.settle_ns,
			.timeout_ns = v.timeout_ns,
			.plain = v.plain};
		s.jobs = v.jobs ? (size_t)v.jobs : 1;
		s.runs.watches = v.wait_watchers < 0 ? xstrdup(ALL_WATCHES)
						     : xasprintf("%lld", (long long)v.wait_watchers);
		rc = sweep(&s, &code, &err);
	}
	release(&s);
	free(v.gaps.items);
	free(v.events.items);
	free(v.writes.items);
	return rc < 0 ? command_fail(self, &err) : code;
}

const struct command cmd_sweep = {
	.name = "sweep",
	.operands = "TAPE -- COMMAND...",
	.expects = {"one tape", 1, 1},
	.runs_child = true,
	.summary = "find the gaps at which a program goes wrong",
	.description =
		"Runs COMMAND against one replay after the other (KUBECONFIG is set), each with a gap at another\n"
		"interesting place, and compares what it came to with runs without gaps: the exit code, and what\n"
		"is left at the end of all it wrote. Reports where that differs, twice, with a line that does it\n"
		"again, alone, and says how it differs. What earlier sweeps have left is kept.\n\n"
		"Gaps hide one deletion; all from a deletion to the creation of another object of that name;\n"
		"all from a deletionTimestamp to the deletion; two and three successive changes of one object,\n"
		"one place for each sort of them; that an object leaves the selection of a watch, and all until\n"
		"it is back; and what one resource does in a stretch of N events, while the others go on\n"
		"(every:N; a sixteenth of the tape unless given).\n\n" POSITION_HELP "\n"
		"Exit codes: 0 nothing goes wrong, 1 something does (or the sweep failed, with a sentence on\n"
		"stderr), 2 usage, 3 cannot tell: the command is not deterministic, was not reached by any gap,\n"
		"went wrong only once, or Ctrl-C ended the sweep.",
	.options = options,
	.exits =
		{
			[EXIT_OK] = "no gap makes it go wrong",
			[EXIT_FAILED] =
				"some do; or the sweep failed, and one sentence on standard error says why",
			[EXIT_LOSS] = "it cannot be told, or Ctrl-C ended the sweep",
		},
	.run = run,
};
