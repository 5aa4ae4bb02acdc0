/* cmd_replay.c: kubetape replay. */
#include "recorder/push/remote_tape.h"
#include "replayer/replayer.h"
#include "replayer/request/access.h"
#include "replayer/view/viewer.h"
#include "replayer/world/replay_clock.h"
#include "replayer/write/write_policy.h"
#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "tools/cli/await_option.h"
#include "tools/cli/position_help.h"
#include "tools/commands.h"
#include "tools/sweep/golden.h"
#include "tools/sweep/golden_beside.h"
#include "tools/sweep/run_beside.h"
#include "tools/sweep/tried_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_LIMIT_NS   (300 * NS_PER_S)
#define MAX_WRITTEN_BYTES (256 << 20)

struct values {
	const char *probe, *listen, *kubeconfig, *in_cluster, *speed, *from, *until;
	int64_t wait_watchers;
	const char *run, *secrets_key, *report, *ahead, *gaps, *as_seen_by;
	int64_t max_idle_ns, max_lateness_ns, settle_ns, settle_limit_ns, step_ns, seed, max_written;
	struct access_options access;
	struct text_list hosts;
	struct text_list gap_specs;
	struct text_list writes, held_finalizers, released_finalizers, await;
	struct await_rules awaited;
	struct golden_options golden;
	const struct viewer_golden *beside; /* the golden run on the page; NULL: none */
	struct rule_names names;            /* if there are rules */
	bool kill, plain, exit_at_end, loop, rebase_time, ordered, last, lenient, keys, view, gc;
};

#define VALUE_AT(field) offsetof(struct values, field)

static const struct option_row options[] = {
	{OPTION_TEXT, 0, "listen", offsetof(struct values, listen), "ADDR:PORT",
		"where to serve; 127.0.0.1:0 unless given, port 0 picks a free one"},
	{OPTION_FLAG, 0, "plain", offsetof(struct values, plain), "", "serve HTTP without TLS"},
	{OPTION_TEXT, 0, "token-file", offsetof(struct values, access.token_file), "FILE",
		"serve only clients that send the token in FILE; without it the replay makes one for the kubeconfig, "
		"and programs of the same user need none"},
	{OPTION_FLAG, 0, "anonymous", offsetof(struct values, access.anonymous), "",
		"serve everybody, with any token or none"},
	{OPTION_LIST, 0, "host", offsetof(struct values, hosts), "NAME",
		"also accept requests that name this host"},
	{OPTION_TEXT, 0, "kubeconfig", offsetof(struct values, kubeconfig), "FILE",
		"write the clients' kubeconfig there and leave it"},
	IN_CLUSTER_ROW(VALUE_AT),
	{OPTION_FLAG, 0, "view", offsetof(struct values, view), "",
		"also serve the page of 'kubetape view', with the replay's controls and its clients; with --golden "
		"it compares both runs"},
	{OPTION_TEXT, 0, "speed", offsetof(struct values, speed), "N|max",
		"tape seconds for each second, or as fast as the watchers take it"},
	BOUND_ROWS(VALUE_AT),
	{OPTION_NUMBER, 0, "wait-watchers", offsetof(struct values, wait_watchers), "N",
		"start the clock when N watches are open; 0: at once; 1 unless given"},
	{OPTION_FLAG, 0, "exit-at-end", offsetof(struct values, exit_at_end), "",
		"end when the tape ends, not only on a signal: all watches end, and a second later the command "
		"(SIGTERM), unless --settle says when"},
	{OPTION_DURATION, 0, "settle", offsetof(struct values, settle_ns), "DURATION",
		"also start the clock when clients have opened their watches and were quiet for this long; end the "
		"command (SIGTERM), or the replay, when they were quiet for this long at the tape's end"},
	{OPTION_TEXT, 0, "probe", offsetof(struct values, probe), "COMMAND",
		"with --settle: run this with sh when the command is quiet, on the way and at the end before it is "
		"ended, and keep the output in the run"},
	{OPTION_FLAG, 0, "kill", offsetof(struct values, kill), "",
		"end the command by SIGKILL, not by SIGTERM"},
	{OPTION_DURATION, 0, "settle-limit", offsetof(struct values, settle_limit_ns), "DURATION",
		"with --settle: wait at most this long for clients that are never quiet, and exit with 3 if that was "
		"at the end; 5m unless given, 0: for ever"},
	{OPTION_DURATION, 0, "lockstep", offsetof(struct values, step_ns), "DURATION",
		"after each event that a client was sent, wait until the clients were quiet for this long, so that "
		"they do the same each time"},
	{OPTION_FLAG, 0, "loop", offsetof(struct values, loop), "", "start again when the tape ends"},
	{OPTION_CHOICE, 0, "ahead", offsetof(struct values, ahead), "reached|silent|expired",
		"requests for a version that the replay has not reached: wait as on a real server if it will be "
		"reached (default), wait always, or make the client list again at once"},
	{OPTION_DURATION, 0, "max-idle", offsetof(struct values, max_idle_ns), "DURATION",
		"shorten longer silences to this; as recorded unless given"},
	{OPTION_FLAG, 0, "rebase-time", offsetof(struct values, rebase_time), "",
		"move the times in objects, so that the tape's time is the present"},
	{OPTION_TEXT, 0, "as-seen-by", offsetof(struct values, as_seen_by), "CLIENT[@RUN]",
		"give programs with CLIENT in their User-Agent what that client saw in the live run RUN ('kubetape "
		"tee'; TAPE with the ending .run unless given); see above"},
	{OPTION_TEXT, 0, "gaps", offsetof(struct values, gaps), "recorded|none|FILE",
		"break watches as the recorder's were (default), not at all, or as a fault file says"},
	{OPTION_LIST, 0, "gap", offsetof(struct values, gap_specs), "SPEC",
		"one more fault, as '+30s,10s,rst,compact,pods'"},
	{OPTION_NUMBER, 0, "seed", offsetof(struct values, seed), "N",
		"the seed of chance in faults; as the fault file says unless given"},
	{OPTION_FLAG, 0, "keys", offsetof(struct values, keys), "",
		"keys and status line even with a COMMAND, which then has no input; see above"},
	{OPTION_FLAG, 0, "lenient", offsetof(struct values, lenient), "",
		"allow faults that strike nobody (otherwise exit with 3) or name unknown resources, and --from and "
		"--until outside the tape (otherwise 2)"},
	{OPTION_LIST, 0, "write", offsetof(struct values, writes), "RULE",
		"how to handle writes: [RESOURCE[.GROUP][:VERBS]=]overlay|absorb|reject, see above"},
	{OPTION_FLAG, 0, "gc", offsetof(struct values, gc), "",
		"collect dependents of owners that a program has deleted, as a cluster's garbage collector does"},
	{OPTION_LIST, 0, "hold-finalizer", offsetof(struct values, held_finalizers), "NAME",
		"the tape does not take this finalizer of a program away: an object that is to be deleted waits for "
		"the program"},
	{OPTION_LIST, 0, "release-finalizer", offsetof(struct values, released_finalizers), "NAME",
		"the tape takes this finalizer away also from what a program wrote it to: others do that"},
	{OPTION_LIST, 0, "await", offsetof(struct values, await), "RULE",
		"leave to a program what it did in the recording: make or delete [create,delete=|delete=]RESOURCE[.GROUP]"
		"[/[NAMESPACE/]NAME], write update=RESOURCE[.GROUP][/SUBRESOURCE]:MANAGER, bind "
		"update=pods/binding:SCHEDULER, or add finalizer=NAME; "
		"@FILE: rules, one on each line"},
	{OPTION_BYTES, 0, "max-written", offsetof(struct values, max_written), "SIZE",
		"the most memory for objects that clients write; 256M unless given, 0: any amount"},
	{OPTION_TEXT, 0, "run", offsetof(struct values, run), "FILE",
		"store every request and delivery in FILE, for 'query TAPE --run FILE'"},
	{OPTION_TEXT, 0, "secrets-key", offsetof(struct values, secrets_key), "FILE",
		"in the run, replace values of Secrets by digests under this key, so that those of several runs can be "
		"compared; made if there is no such file, not used if the tape has a key of its own beside it"},
	{OPTION_TEXT, 0, "golden", offsetof(struct values, golden.path), "RUN",
		"at the end compare the writes with those of an earlier run, and exit with 1 if they differ"},
	{OPTION_LIST, 0, "also", offsetof(struct values, golden.verdict.also), "RUN",
		"with --golden: another good run; what differs between it and the first is not compared"},
	{OPTION_FLAG, 0, "ordered", offsetof(struct values, ordered), "",
		"with --golden: compare their order, too"},
	{OPTION_FLAG, 0, "last", offsetof(struct values, last), "",
		"with --golden: compare only the last write to each object and subresource"},
	{OPTION_CHOICE, 0, "compare", offsetof(struct values, golden.compare), "exit|writes|exit,writes",
		"with --golden: compare what 'sweep' compares: how the command ended, what is left at the end of all "
		"that it wrote, or both"},
	{OPTION_LIST, 0, "ignore", offsetof(struct values, golden.verdict.ignore), "RULE",
		"with --golden: leave something out; see 'kubetape diff --help'"},
	{OPTION_LIST, 0, "keep", offsetof(struct values, golden.verdict.keep), "RULE",
		"with --golden: do not leave this out"},
	{OPTION_TEXT, 0, "report", offsetof(struct values, report), "FILE",
		"write a report to FILE, as JSON; '-' prints it as text to stderr"},
	{OPTION_DURATION, 0, "max-lateness", offsetof(struct values, max_lateness_ns), "DURATION",
		"exit with code 3 if an event was delivered later than this"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static int add_write(void *rules, const char *text, struct err *err)
{
	return write_rules_add(rules, text, err);
}

static int parse_writes(const struct values *v, struct write_rules *rules, struct err *err)
{
	return rule_names_each(&v->names, RULE_OF_WRITES, &v->writes, add_write, rules, err);
}

static int print_serving(
	void *context, const char *url, const char *control_url, const char *kubeconfig, struct err *err)
{
	const struct replay_options *o = context;
	char *tape;

	fprintf(stderr, "export KUBECONFIG=%s\ncontrol at %s\n", kubeconfig, control_url);
	if (!out_stream_is_open(stdout))
		return 0;
	tape = remote_tape_words(o->tape);
	printf("serving %s at %s\n", tape, url);
	free(tape);
	return out_stream_flush(stdout, err);
}

static int print_viewing(void *context, const char *url, struct err *err)
{
	(void)context, (void)err;
	fprintf(stderr, "view at %s\n", url);
	return 0;
}

static void print_report(void *context, const char *report)
{
	(void)context;
	fputs(report, stderr);
}

static enum ahead_policy ahead_of(const char *word)
{
	if (!word || strcmp(word, "reached") == 0)
		return AHEAD_REACHED;
	return strcmp(word, "silent") == 0 ? AHEAD_SILENT : AHEAD_EXPIRED;
}

/* "CLIENT@RUN": both are the caller's. */
static void parse_seen(const char *text, const char *tape, char **ret_client, char **ret_run)
{
	struct slice run = slice_of(text), client;
	bool has_run = text && strchr(text, '@');

	*ret_client = *ret_run = NULL;
	if (!text)
		return;
	client = slice_cut(&run, '@');
	*ret_client = slice_dup(client);
	*ret_run = has_run ? slice_dup(run) : run_beside(tape);
}

static int replay_serve(const struct values *v, const struct operands *operands,
	const struct write_rules *rules, double speed, int *ret_exit_code, struct err *err)
{
	const struct access_options access = {.token_file = v->access.token_file,
		.anonymous = v->access.anonymous,
		.names = v->hosts.items,
		.name_count = v->hosts.count};
	char *seen_client, *seen_run;
	struct replay_options o = {
		.tape = operands->items[0],
		.listen = v->listen,
		.plain = v->plain,
		.in_cluster = v->in_cluster,
		.access = &access,
		.kubeconfig = v->kubeconfig,
		.speed = speed,
		.from = v->from,
		.until = v->until,
		.wait_watchers = v->wait_watchers,
		.exit_at_end = v->exit_at_end,
		.settle_ns = v->settle_ns,
		.kill = v->kill,
		.probe = v->probe,
		.settle_limit_ns = v->settle_limit_ns,
		.step_ns = v->step_ns,
		.loop = v->loop,
		.rebase_time = v->rebase_time,
		.ahead = ahead_of(v->ahead),
		.max_idle_ns = v->max_idle_ns,
		.gaps = v->gaps || !v->as_seen_by ? v->gaps : "none",
		.gap_specs = v->gap_specs.items,
		.gap_spec_count = v->gap_specs.count,
		.seed = v->seed,
		.lenient = v->lenient,
		.rules = rules,
		.gc = v->gc,
		.held_finalizers = v->held_finalizers.items,
		.held_finalizer_count = v->held_finalizers.count,
		.released_finalizers = v->released_finalizers.items,
		.released_finalizer_count = v->released_finalizers.count,
		.awaited = &v->awaited,
		.max_written = (size_t)v->max_written,
		.child = operands->child,
		.keys = v->keys,
		.run = v->run,
		.secrets_key = v->secrets_key,
		.report = v->report && strcmp(v->report, "-") != 0 ? v->report : NULL,
		.max_lateness_ns = v->max_lateness_ns,
		.view = v->view,
		.golden = v->beside,
		.viewing = print_viewing,
		.serving = print_serving,
		.over = v->report && strcmp(v->report, "-") == 0 ? print_report : NULL,
		.context = &o,
	};

	int rc;

	parse_seen(v->as_seen_by, o.tape, &seen_client, &seen_run);
	o.seen_client = seen_client;
	o.seen_run = seen_run;
	rc = replayer_run(&o, ret_exit_code, err);
	free(seen_client);
	free(seen_run);
	return rc;
}

/* With the golden run on the page, if there are both. */
static int serve_beside(struct values *v, const struct operands *operands, const struct write_rules *rules,
	double speed, int *ret_exit_code, struct err *err)
{
	struct viewer_golden beside = {.run = v->golden.path, .compare = golden_beside_answer};
	struct golden_beside *b = NULL;
	int rc = 0;

	if (v->view && v->golden.path) {
		rc = golden_beside_open(&v->golden.verdict, v->golden.path, &b, err);
		beside.context = b;
		v->beside = &beside;
	}
	if (rc == 0)
		rc = replay_serve(v, operands, rules, speed, ret_exit_code, err);
	v->beside = NULL;
	golden_beside_close(b);
	return rc;
}

static int serve_and_judge(struct values *v, const struct operands *operands, const struct write_rules *rules,
	double speed, int *ret_exit_code, struct err *err)
{
	bool has_report_file = v->report && strcmp(v->report, "-") != 0;
	int rc = has_report_file ? out_file_check(v->report, err) : 0;

	if (rc == 0)
		rc = golden_open(&v->golden, &v->run, err);
	if (rc == 0)
		rc = serve_beside(v, operands, rules, speed, ret_exit_code, err);
	if (rc == 0)
		rc = golden_judge(&v->golden, operands->items[0], v->run, ret_exit_code, err);
	golden_close(&v->golden);
	return rc;
}

/* Options that say nothing together, or nothing alone. */
static int check_together(const struct values *v, const struct operands *operands, struct err *err)
{
	if (operands->child && !operands->child[0])
		return err_set(err, ERR_USAGE, "no command after '--'");
	if (v->access.anonymous && v->access.token_file)
		return err_set(err, ERR_USAGE,
			"'--anonymous' serves everybody, '--token-file' only who has its token");
	if (v->loop && v->exit_at_end)
		return err_set(
			err, ERR_USAGE, "'--loop' never comes to the end that '--exit-at-end' waits for");
	if (v->as_seen_by && (v->loop || v->rebase_time))
		return err_set(err, ERR_USAGE,
			"'--as-seen-by' gives again what was sent, once and as it was: no '--loop', no '--rebase-time'");
	if (v->in_cluster && !operands->child)
		return err_set(err, ERR_USAGE, "'--in-cluster' needs a COMMAND");
	return v->in_cluster && v->plain ? err_set(err, ERR_USAGE, IN_CLUSTER_NEEDS_TLS) : 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct values v = {.speed = "1",
		.wait_watchers = 1,
		.settle_limit_ns = SETTLE_LIMIT_NS,
		.max_written = MAX_WRITTEN_BYTES,
		.golden.verdict = {.color = "auto"}};
	struct operands operands;
	struct err err = {0};
	struct write_rules rules = {0};
	double speed = 1;
	int exit_code = EXIT_OK;
	int rc = options_parse(self, argc, argv, &v, &operands, &err);

	if (rc == 0)
		rc = check_together(&v, &operands, &err);
	if (rc == 0)
		rc = speed_parse(v.speed, &speed, &err);
	if (rc == 0)
		rc = verdict_order(&v.golden.verdict, v.ordered, v.last, &err);
	if (rc == 0 && (v.writes.count || v.golden.verdict.ignore.count || v.golden.verdict.keep.count))
		rule_names_open(&v.names, operands.items[0], UNKNOWN_REFUSED);
	v.golden.verdict.names = &v.names;
	if (rc == 0)
		rc = parse_writes(&v, &rules, &err);
	if (rc == 0)
		rc = await_option_read(&v.await, &v.awaited, &err);
	if (rc == 0)
		rc = serve_and_judge(&v, &operands, &rules, speed, &exit_code, &err);
	write_rules_release(&rules);
	rule_names_close(&v.names);
	free(v.writes.items);
	free(v.held_finalizers.items);
	free(v.released_finalizers.items);
	free(v.await.items);
	await_rules_release(&v.awaited);
	free(v.gap_specs.items);
	free(v.hosts.items);
	verdict_release(&v.golden.verdict);
	return rc < 0 ? command_fail(self, &err) : exit_code;
}

const struct command cmd_replay = {
	.name = "replay",
	.operands = "TAPE [-- COMMAND...]",
	.expects = {"one tape", 1, 1},
	.runs_child = true,
	.summary = "serve a tape as a Kubernetes API server",
	.description =
		"Serves the recorded resources to unmodified clients: lists and watches with the original\n"
		"resourceVersions, events spaced as they were. The clock starts with the first watch. At the\n"
		"end of the tape the last state stays. With a COMMAND, runs it with KUBECONFIG set and ends\n"
		"with its exit code, or with 0 if it was asked to end (--settle, --exit-at-end) and SIGTERM\n"
		"ended it.\n"
		"\n"
		"On a terminal, without a COMMAND or with --keys, a line shows the replay's position, and keys\n"
		"control it; '?' lists them. Otherwise the COMMAND has the terminal for itself, and 'kubetape\n"
		"ctl' steers the replay.\n"
		"\n" POSITION_HELP "\n"
		"Programs may write. Leases, events and resources that are not on the tape are kept in a layer\n"
		"that lists and watches show (overlay). Writes to recorded resources are checked and answered as\n"
		"if done, but change nothing (absorb). --write changes that, and can also refuse writes (reject).\n"
		"The last --write that fits a request counts: 'overlay', 'configmaps=overlay',\n"
		"'deployments.apps:create,delete=reject', '*:delete=reject', 'pods/status=absorb'.\n"
		"\n"
		"With --as-seen-by the watches and reads of a client repeat those of a client that was recorded\n"
		"live. Its n-th request for a path and query gets what the n-th got then, frame by frame, in the\n"
		"order of all its watches, with the same ends. The clock waits 30 s for a watch that the live\n"
		"client had and this one does not open. Other requests and other clients get the tape as of that\n"
		"moment. No recorded gap strikes unless --gaps says so.",
	.options = options,
	.exits =
		{
			[EXIT_OK] = "done; with a COMMAND the exit code is the command's",
			[EXIT_FAILED] =
				"failed, with a sentence on standard error; or the writes differ from those of --golden",
			[EXIT_LOSS] =
				"a fault of --gap or --gaps=FILE struck nobody; a watch of --as-seen-by was not opened again; --from or --until is not on the tape; an event was delivered later than "
				"--max-lateness; or the clients were not quiet within --settle-limit",
		},
	.run = run,
};
