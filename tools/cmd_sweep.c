/* cmd_sweep.c: kubetape sweep. See sweep.h for its parts. */
#include "recorder/push/s3.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/processors.h"
#include "schema/tape/identity.h"
#include "schema/tape/position.h"
#include "tools/cli/position_help.h"
#include "tools/commands.h"
#include "tools/sweep/sweep_course.h"
#include "tools/sweep/sweep_ignored.h"
#include "tools/sweep/sweep_lines.h"
#include "tools/sweep/sweep_oracle.h"
#include "tools/sweep/sweep_place.h"

#include <stdlib.h>
#include <unistd.h>

#define POSITIONS_MAX 100
#define PLACES                                                                                               \
	"deletions,recreations,replacements,terminations,changes,selections,references,own,overwrites,every"

#define SWEEP_AT(field) offsetof(struct sweep_values, field)
#define TRIED_AT(field) offsetof(struct sweep_values, tried.field)

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "patterns", offsetof(struct sweep_values, patterns), "LIST",
		"the patterns to try: unobserved, restart, stale, writes, coalesced, echo, slow, separated by "
		"commas; all of them unless given, only unobserved with --at or --event"},
	{OPTION_TEXT, 0, "at", offsetof(struct sweep_values, at), "PLACES",
		"where to try gaps: deletions, recreations, replacements, terminations, changes, selections, references, "
		"own (what the command itself deletes), overwrites, every[:N], downtimes, none, separated by commas; all of them but downtimes "
		"unless given"},
	{OPTION_LIST, 0, "event", offsetof(struct sweep_values, events), "EXPRESSION",
		"also try each event for which this SQL expression over the columns of 'events' is true"},
	{OPTION_LIST, 0, "gap", offsetof(struct sweep_values, gaps), "WORDS",
		"the form of a gap, in words of 'replay --gap'; end,compact unless given; all given ones are tried"},
	{OPTION_LIST, 0, "faults", offsetof(struct sweep_values, faults), "FILE",
		"try this fault file, and nothing else; all given ones are tried"},
	{OPTION_LIST, 0, "invariant", offsetof(struct sweep_values, invariants), "[NAME=]SQL|@NAME",
		"a run is wrong if this query over tape and run has rows, at its end or for the time of --settle "
		"before: SQL, alone or after the NAME that findings show, or one of @no-hot-loop, @no-conflict-loop, "
		"@no-refused-write, @no-recreate-storm, @no-double-delete, @no-create-loop, @no-flapping"},
	{OPTION_TEXT, 0, "probe", offsetof(struct sweep_values, probe), "COMMAND",
		"run this with sh when the command is quiet, on the way and at the end; a run is wrong if its output "
		"or exit code differs"},
	{OPTION_FLAG, 0, "kill", offsetof(struct sweep_values, kill), "",
		"end the command by SIGKILL when it is quiet, not by SIGTERM"},
	{OPTION_DURATION, 0, "budget", offsetof(struct sweep_values, budget_ns), "DURATION",
		"begin no run that would end after this duration if it takes as long as earlier ones; the most "
		"telling places come first"},
	{OPTION_TEXT, 0, "shard", offsetof(struct sweep_values, shard), "I/N",
		"try only this part of the faults, of N parts from 0, on one of many machines; 'index/N' in a pod of an Indexed Job"},
	{OPTION_LIST, 0, "merge", offsetof(struct sweep_values, merge), "DIR|URL",
		"run nothing: make one report of the shards' results in these folders, or at s3://BUCKET/PREFIX"},
	{OPTION_TEXT, 0, "again", offsetof(struct sweep_values, again), "DIR|URL",
		"first try what went wrong in that earlier sweep"},
	{OPTION_TEXT, 0, "junit", offsetof(struct sweep_values, junit), "FILE",
		"write the findings as JUnit XML"},
	{OPTION_TEXT, 0, "sarif", offsetof(struct sweep_values, sarif), "FILE",
		"write the findings as SARIF 2.1.0"},
	{OPTION_TEXT, 0, "html", offsetof(struct sweep_values, html), "FILE",
		"write the findings as one HTML page"},
	{OPTION_NUMBER, 0, "max", offsetof(struct sweep_values, max), "N",
		"try at most N positions, the most telling ones; 100 unless given, 0: all"},
	{OPTION_NUMBER, 'j', "jobs", offsetof(struct sweep_values, jobs), "N",
		"how many runs to make in parallel, if the command allows it; unless given, up to four for each processor, less if they use it much"},
	TRIED_COMPARE_ROW(TRIED_AT, "what to compare with a run without faults; both unless given"),
	TRIED_IGNORE_ROW(TRIED_AT),
	{OPTION_TEXT, 'o', "out", offsetof(struct sweep_values, out), "DIR|URL",
		"where to put the fault files, and run and output of what went wrong, also s3://BUCKET/PREFIX; "
		"NAME.sweep unless given, or NAME-2.sweep if that exists"},
	TRIED_TIME_ROWS(TRIED_AT),
	{OPTION_DURATION, 0, "lockstep", offsetof(struct sweep_values, lockstep_ns), "DURATION",
		"as with 'replay'; 50ms if two runs at --speed max differ"},
	BOUND_ROWS(SWEEP_AT),
	TRIED_PLAIN_ROW(TRIED_AT),
	IN_CLUSTER_ROW(TRIED_AT),
	{OPTION_NUMBER, 0, "wait-watchers", offsetof(struct sweep_values, wait_watchers), "N",
		"start the clock when N watches are open (0: at once); determined by a run unless given"},
	TRIED_WRITE_ROW(TRIED_AT),
	{OPTION_CHOICE, 0, "hold-finalizers", offsetof(struct sweep_values, hold), "found|none",
		"finalizers that the command takes away, and the tape as well: leave them to the command (default), "
		"or to the tape"},
	{OPTION_CHOICE, 0, "await", offsetof(struct sweep_values, await), "found|none",
		"objects that the command makes, and the tape as well: leave them to the command (default), or to the "
		"tape"},
	{OPTION_FLAG, 0, "gc", offsetof(struct sweep_values, gc), "",
		"collect dependents of owners that the program has deleted, as with 'replay'"},
	{OPTION_FLAG, 0, "rebase-time", offsetof(struct sweep_values, rebase_time), "",
		"move the times in objects, so that the tape's time is the present, as with 'replay'; times are not "
		"compared then"},
	{OPTION_FLAG, 0, "json", offsetof(struct sweep_values, json), "", "report as JSON"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* ---- the whole ---- */

/* Where results are to go into a store; NULL: they stay in their folder. */
static const char *store_url(const struct sweep_values *v)
{
	return v->out && s3_is_url(v->out) ? v->out : NULL;
}

/* Into the file, if one was named. */
static int report_to(const char *path, const char *url, void (*tell)(const struct sweep_report *r, FILE *to),
	const struct sweep_report *r, struct err *err)
{
	struct out_file *file;
	int rc = path ? out_file_open(path, &file, err) : 0;

	if (!path || rc)
		return rc;
	sweep_place_tell(url, tell, r, out_file_stream(file));
	return out_file_close(file, err);
}

static int report_files(const struct sweep_values *v, const struct sweep_report *r, struct err *err)
{
	char *own = *r->folder ? xasprintf("%s/" SWEEP_REPORT_NAME, r->folder) : NULL;
	const char *url = store_url(v);
	int rc = report_to(own, url, sweep_report_json, r, err);

	free(own);
	if (rc == 0)
		rc = report_to(v->junit, url, sweep_report_junit, r, err);
	if (rc == 0)
		rc = report_to(v->sarif, url, sweep_report_sarif, r, err);
	if (rc == 0)
		rc = report_to(v->html, url, sweep_report_html, r, err);
	return rc || !url ? rc : sweep_place_store(url, r->folder, err);
}

/* A shard has done its part, whatever it found: the merge judges. */
static int verdict_of(const struct sweep_report *r)
{
	if (r->shard && !r->stopped)
		return EXIT_OK;
	if (sweep_report_count(r, SWEEP_WRONG))
		return EXIT_FAILED;
	if (r->stopped || sweep_report_count(r, SWEEP_UNSURE) || sweep_report_count(r, SWEEP_CUT) ||
		(r->merged && sweep_report_count(r, SWEEP_UNTRIED)) || sweep_report_lacks_sorts(r))
		return EXIT_LOSS;
	return sweep_report_count(r, SWEEP_FINE) ? EXIT_OK : EXIT_LOSS;
}

static int report_all(
	const struct sweep_values *v, const struct sweep_report *r, int *ret_code, struct err *err)
{
	sweep_place_tell(store_url(v), v->json ? sweep_report_json : sweep_report_text, r, stdout);
	*ret_code = verdict_of(r);
	if (v->json && !v->invariants.count && sweep_report_compares_nothing(r))
		fputs("kubetape sweep: nothing that the command wrote is left to compare: give it a --probe\n",
			stderr);
	return report_files(v, r, err);
}

static int report(struct sweep *s, int *ret_code, struct err *err)
{
	bool compares_laid_over = s->laid_over.known && (s->plain_fails || s->all_laid_over);
	const struct sweep_ground *ground = sweep_ground_of(s, compares_laid_over);
	char shard[48], *tape_id = tape_identity(s->runs.options.tape);
	struct text_list asked = {0}, command = {0};
	int rc;
	struct sweep_report r = {.tape = s->runs.options.tape,
		.tape_id = tape_id,
		.asked = &asked,
		.command = &command,
		.folder = s->runs.folder,
		.again = sweep_line_again(s),
		.settle_ns = s->runs.options.settle_ns,
		.anew = sweep_line_anew(s, false),
		.anew_laid_over = sweep_line_anew(s, true),
		.paced = sweep_line_paced(s),
		.verdict = sweep_line_verdict(s, false),
		.verdict_laid_over = sweep_line_verdict(s, true),
		.child = s->runs.options.child,
		.without = &ground->answer,
		.positions = &s->positions,
		.left_out = s->left_out,
		.why_left_out = s->why_left_out,
		.gc = s->runs.options.gc,
		.measure = &ground->measure,
		.ignored = &s->v->tried.ignored,
		.found = s->found,
		.tries = s->tries,
		.count = s->try_count,
		.jobs = s->jobs,
		.alone = s->alone,
		.shard = s->v->shard ? shard : NULL,
		.stopped = s->stopped};

	snprintf(shard, sizeof(shard), "%llu/%llu", (unsigned long long)s->shard.index,
		(unsigned long long)s->shard.count);
	sweep_asked_list(options, s->v, &asked);
	for (char **word = r.child; word && *word; word++)
		text_list_add(&command, xstrdup(*word));
	rc = report_all(s->v, &r, ret_code, err);
	text_list_release(&asked);
	text_list_release(&command);
	free(tape_id);
	free(r.again);
	free(r.anew);
	free(r.paced);
	free(r.anew_laid_over);
	free(r.verdict);
	free(r.verdict_laid_over);
	if (s->healed)
		fprintf(stderr,
			"kubetape sweep: in %zu runs an invariant was broken for a while, and held later: no finding\n",
			s->healed);
	return rc;
}

static int prepare_folder(struct sweep_runs *runs, const char *out, struct err *err)
{
	char *folder = NULL;
	int rc;

	if (!out || !s3_is_url(out))
		return sweep_folder_prepare(runs, out, err);
	rc = sweep_place_prepare(out, &folder, err);
	if (rc == 0)
		rc = sweep_folder_prepare(runs, folder, err);
	free(folder);
	return rc;
}

/* What the shards found, as one sweep that had found it all. */
static int merge(const struct sweep_values *v, int *ret_code, struct err *err)
{
	struct sweep_runs runs = {.options.tape = ""};
	struct sweep_merged m;
	int rc = v->out ? prepare_folder(&runs, v->out, err) : 0;

	if (rc) {
		free(runs.folder);
		return rc;
	}
	rc = sweep_merge(&v->merge, store_url(v) ? NULL : runs.folder, &m, err);
	m.report.folder = runs.folder ? runs.folder : "";
	m.report.merged = true;
	rc = rc ? rc : report_all(v, &m.report, ret_code, err);
	sweep_merged_release(&m);
	if (rc && runs.folder)
		rmdir(runs.folder); /* if nothing came into it */
	free(runs.folder);
	return rc;
}

/* Tries all faults, and looks again at what went wrong. */
static int try_all(struct sweep *s, struct err *err)
{
	int rc = sweep_run_tries(s, err);

	if (rc || s->stopped || s->begins_anew)
		return rc;
	rc = sweep_recheck(s, err);
	if (rc == 0 && !s->stopped)
		rc = sweep_narrow(s, err);
	return rc || s->stopped ? rc : sweep_repeat(s, err);
}

/* All until the end, or until it is to begin anew. *ret_told: there is something to report, also if a later run failed. */
static int carry_on(struct sweep *s, bool *ret_told, struct err *err)
{
	int rc = sweep_find_answers(s, err);
	struct err why;

	*ret_told = false;
	if (rc)
		return rc;
	if (s->stopped)
		fputs("kubetape sweep: stopped before any gap was tried\n", stderr);
	if (s->unsteady || s->stopped)
		return 0;
	rc = sweep_find_positions(s, err);
	if (rc == 0)
		sweep_make_tries(s);
	if (rc == 0 && s->v->again)
		rc = sweep_order_again(s, err);
	*ret_told = rc == 0;
	if (rc || s->stopped)
		return rc;
	rc = try_all(s, &why);
	*ret_told = rc == 0 || s->ended;
	if (rc == 0)
		return 0;
	if (!*ret_told)
		return err_copy(err, &why);
	fprintf(stderr, "kubetape sweep: %s: what was found until then is reported\n", why.text);
	s->stopped = true;
	return 0;
}

/* Makes all runs. */
static int carry_out(struct sweep *s, bool *ret_told, struct err *err)
{
	int rc;

	do {
		s->begins_anew = false;
		rc = carry_on(s, ret_told, err);
	} while (rc == 0 && s->begins_anew && !s->stopped);
	return rc;
}

/* Of a sweep without a report nothing goes into a store. What it wrote tells why, unless the user stopped it. */
static void leave_folder(const struct sweep *s)
{
	if (!store_url(s->v))
		return;
	if (s->stopped)
		sweep_place_drop(s->runs.folder);
	else
		fprintf(stderr, "kubetape sweep: what the runs wrote is in '%s', and not in the store\n",
			s->runs.folder);
}

static int sweep(struct sweep *s, int *ret_code, struct err *err)
{
	struct sql_session *session = NULL;
	bool told = false;
	int rc = sql_session_open(s->runs.options.tape, &session, err); /* one sentence if there is none */

	s->opened_ns = clock_mono_ns(&clock_system);
	sql_session_close(session);
	if (rc == 0)
		rc = prepare_folder(&s->runs, s->v->out, err);
	if (rc == 0)
		rc = sweep_key_prepare(&s->runs, err);
	sweep_jobs_prepare();
	if (rc)
		return rc;
	rc = carry_out(s, &told, err);
	if (told)
		return report(s, ret_code, err);
	leave_folder(s);
	*ret_code = EXIT_LOSS;
	return rc;
}

/* Whatever still runs ends with us, being told so by the kernel. */
static void sweep_release(struct sweep *s)
{
	sweep_answer_release(&s->plain.answer);
	sweep_answer_release(&s->laid_over.answer);
	sweep_tries_release(s);
	sweep_positions_release(&s->positions);
	sweep_measure_release(&s->plain.measure);
	sweep_measure_release(&s->laid_over.measure);
	free(s->why_left_out);
	free(s->runs.folder);
	free(s->runs.watches);
	free(s->runs.secrets_key);
	compare_rules_free(s->ignored);
	text_list_release(&s->runs.options.made_up);
	sweep_recorded_release(&s->runs.options.recorded);
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

static int check_bounds(const struct sweep_values *v, const char *tape_path, struct err *err)
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

/* Who names places means gaps. */
static int check_patterns(struct sweep *s, struct err *err)
{
	const struct sweep_values *v = s->v;
	bool only_gaps = !v->patterns && !v->faults.count && (v->at || v->events.count || v->gaps.count);

	return sweep_patterns_parse(only_gaps ? "unobserved" : v->patterns, &s->patterns, err);
}

static int sweep_check(struct sweep *s, const struct operands *operands, struct err *err)
{
	const struct sweep_values *v = s->v;
	int rc = v->shard ? sweep_shard_parse(v->shard, &s->shard, err) : 0;

	if (rc)
		return rc;
	if (!operands->count)
		return err_set(err, ERR_USAGE, "expected one tape, found 0 operands");
	if (!operands->child || !operands->child[0])
		return err_set(err, ERR_USAGE, "no command after '--'");
	if (v->jobs > SWEEP_JOBS_MAX)
		return err_set(err, ERR_USAGE, "expected at most %d jobs", SWEEP_JOBS_MAX);
	rc = tried_check(&v->tried, err);
	s->asked.exit_code = strstr(v->tried.compare, "exit") != NULL;
	s->asked.writes = strstr(v->tried.compare, "writes") != NULL;
	if (rc == 0)
		rc = sweep_ignored_of_tape(&v->tried.ignored, operands->items[0], &s->ignored, err);
	s->asked.ignored = s->ignored;
	s->plain.measure = s->asked;
	for (size_t i = 0; i < v->gaps.count && rc == 0; i++)
		rc = sweep_words_check(v->gaps.items[i], err);
	if (rc == 0)
		rc = check_bounds(v, operands->items[0], err);
	if (rc == 0)
		rc = sweep_oracle_check(&v->invariants, err);
	if (rc == 0 && v->out && !s3_is_url(v->out))
		rc = out_file_refuse_stream(v->out, "a sweep's results are a folder", err);
	if (rc == 0 && v->invariants.count > SWEEP_INVARIANTS_MAX)
		rc = err_set(err, ERR_USAGE, "more than %d invariants", SWEEP_INVARIANTS_MAX);
	s->search.wanted = &v->events;
	if (rc == 0)
		rc = check_patterns(s, err);
	return rc ? rc : sweep_search_parse(v->at ? v->at : PLACES, &s->search, err);
}

static int check_merge(const struct sweep_values *v, const struct operands *operands, struct err *err)
{
	if (operands->count || operands->child || v->shard)
		return err_set(err, ERR_USAGE,
			"'--merge' runs nothing: neither a tape, a command nor '--shard' stands beside it");
	return 0;
}

/* Most programs wait most of the time. */
static size_t jobs_of_machine(void)
{
	return 4 * processors(8);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct sweep_values v = {
		.at = NULL, .tried = TRIED_DEFAULTS, .max = POSITIONS_MAX, .wait_watchers = -1};
	struct sweep s = {.v = &v};
	struct operands operands;
	struct err err = {0};
	int code = EXIT_OK, rc = options_parse(self, argc, argv, &v, &operands, &err);

	if (rc > 0)
		return EXIT_OK;
	v.tried.compare = v.tried.compare ? v.tried.compare : "exit,writes";
	if (rc == 0 && v.merge.count) {
		rc = check_merge(&v, &operands, &err);
		rc = rc ? rc : merge(&v, &code, &err);
		free(v.merge.items);
		return rc < 0 ? command_fail(self, &err) : code;
	}
	if (rc == 0)
		rc = sweep_check(&s, &operands, &err);
	if (rc == 0) {
		s.runs.options = (struct sweep_options){.replay = &cmd_replay,
			.tape = operands.items[0],
			.child = operands.child,
			.speed = v.tried.speed,
			.in_cluster = v.tried.in_cluster,
			.from = v.from,
			.until = v.until,
			.writes = v.tried.writes,
			.invariants = v.invariants,
			.ignored = s.ignored,
			.kill = v.kill,
			.gc = v.gc,
			.rebase_time = v.rebase_time,
			.probe = v.probe,
			.settle_ns = v.tried.settle_ns,
			.timeout_ns = v.tried.timeout_ns,
			.lockstep_ns = v.lockstep_ns,
			.plain = v.tried.plain};
		s.jobs = v.jobs ? (size_t)v.jobs : jobs_of_machine();
		s.runs.watches = v.wait_watchers < 0 ? xstrdup(ALL_WATCHES)
						     : xasprintf("%lld", (long long)v.wait_watchers);
		rc = sweep(&s, &code, &err);
	}
	sweep_release(&s);
	free(v.gaps.items);
	free(v.events.items);
	free(v.tried.writes.items);
	free(v.tried.ignored.items);
	free(v.faults.items);
	free(v.invariants.items);
	return rc < 0 ? command_fail(self, &err) : code;
}

const struct command cmd_sweep = {
	.name = "sweep",
	.operands = "TAPE -- COMMAND...",
	.expects = {"one tape", 0, 1},
	.runs_child = true,
	.summary = "find the gaps and faults at which a program goes wrong",
	.description =
		"Runs COMMAND against one replay after the other (KUBECONFIG is set), each with a different fault\n"
		"at an interesting place. Compares the exit code, and what is left at the end of all that it\n"
		"wrote, with runs without faults. Reports a fault if the result differs in two runs, says how it\n"
		"differs, and prints a line that repeats it alone. Files of earlier sweeps are kept.\n"
		"\n"
		"Patterns: changes that pass unobserved in a gap; a restart within a write or while an object\n"
		"comes; a restart and then a stale view of one resource; writes that are done although the program\n"
		"gets an error; changes that come coalesced in one burst; the program's own writes as a late echo;\n"
		"one resource that is slow to be listed.\n"
		"\n"
		"Gaps hide one deletion; everything from a deletion to the creation of another object of that\n"
		"name; everything from a deletionTimestamp to the deletion; two and three successive changes of\n"
		"one object, one place for each sort of them; an object's leaving the selection of a watch, and\n"
		"everything until it is back; an object's creation or change until one of another resource that\n"
		"names it has come (references); what happens from an object's change until the command writes the\n"
		"object in answer to another resource (overwrites); and one resource during a stretch of N\n"
		"events, while the others continue (every:N; a sixteenth of the tape unless given).\n"
		"\n" POSITION_HELP "\n"
		"On many machines: each runs the same sweep with '--shard I/N' and a folder of its own, or\n"
		"s3://BUCKET/PREFIX, and ends with 0 once its part is done. '--merge DIR --merge DIR' makes one\n"
		"report of them; '--merge' of a place that holds several reports makes one of all.\n"
		"\n"
		"Exit codes: 0 nothing goes wrong, 1 something does (or the sweep failed, with a sentence on\n"
		"stderr), 2 usage, 3 cannot tell: the command is not deterministic, no gap reached it, it went\n"
		"wrong only once, or Ctrl-C ended the sweep.",
	.options = options,
	.exits =
		{
			[EXIT_OK] = "no gap makes it go wrong",
			[EXIT_FAILED] =
				"some do; or the sweep failed, and one sentence on standard error says why",
			[EXIT_LOSS] = "sweep cannot tell, or Ctrl-C ended it",
		},
	.run = run,
};
