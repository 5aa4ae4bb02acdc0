/* cmd_diff.c: `kubetape diff`: whether a program did the same in two replays. */
#include "schema/run/run_reader.h"
#include "tools/commands.h"
#include "tools/sweep/run_verdict.h"

struct diff_options {
	struct verdict_options verdict;
	bool ordered, last;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "ordered", offsetof(struct diff_options, ordered), NULL,
		"compare the order of writes, too, and how often each was repeated"},
	{OPTION_FLAG, 0, "last", offsetof(struct diff_options, last), NULL,
		"compare only the last write to each object and subresource"},
	{OPTION_LIST, 0, "ignore", offsetof(struct diff_options, verdict.ignore), "RULE",
		"leave something out, as 'status.lastSync' or 'events=*'; see above"},
	{OPTION_LIST, 0, "keep", offsetof(struct diff_options, verdict.keep), "RULE",
		"do not leave this out, as '@times'; wins over --ignore"},
	{OPTION_LIST, 0, "also", offsetof(struct diff_options, verdict.also), "RUN",
		"another good run; what differs between it and the first is not compared"},
	{OPTION_TEXT, 0, "client", offsetof(struct diff_options, verdict.client), "TEXT",
		"only writes of programs with TEXT in their User-Agent"},
	{OPTION_FLAG, 0, "full", offsetof(struct diff_options, verdict.full), NULL, "do not cut long values"},
	{OPTION_CHOICE, 0, "color", offsetof(struct diff_options, verdict.color), "auto|always|never",
		"colour the differences (default: auto)"},
	{OPTION_FLAG, 0, "json", offsetof(struct diff_options, verdict.json), NULL,
		"print one JSON object a difference"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* Of the tape that was replayed, if it is still where it was. */
static void open_names(struct rule_names *names, const char *run)
{
	struct run_reader *reader = NULL;
	bool read = run_reader_open(run, &reader, NULL) == 0;

	rule_names_open(names, read ? run_reader_fact(reader, "tape") : NULL, UNKNOWN_WARNED);
	if (read)
		run_reader_close(reader);
}

/* 1 means that they differ, so that everything else that goes wrong is 2, as with diff(1). */
static int run(const struct command *self, int argc, char **argv)
{
	struct diff_options o = {.verdict = {.color = "auto"}};
	struct rule_names names = {0};
	struct operands operands;
	struct err err = {0};
	int rc = options_parse(self, argc, argv, &o, &operands, &err);

	if (rc > 0)
		return EXIT_OK;
	if (rc == 0)
		rc = verdict_order(&o.verdict, o.ordered, o.last, &err);
	if (rc == 0 && (o.verdict.ignore.count || o.verdict.keep.count))
		open_names(&names, operands.items[0]);
	o.verdict.names = &names;
	if (rc == 0)
		rc = verdict_give(&o.verdict, operands.items[0], operands.items[1], &err);
	verdict_release(&o.verdict);
	rule_names_close(&names);
	if (rc >= 0)
		return rc;
	command_fail(self, &err);
	return EXIT_USAGE;
}

const struct command cmd_diff = {
	.name = "diff",
	.operands = "RUN RUN",
	.expects = {"two runs", 2, 2},
	.summary = "compare what a program wrote in two replays",
	.description =
		"Compares the writes of two run files (replay --run): verb, object and body. They are compared as\n"
		"sets: order, repetitions and answers do not count. Prints the writes that only the first run has\n"
		"(-), those that only the second has (+), and those with different bodies (~), field by field.\n"
		"Exits with 0 if they are the same, 1 if they differ, 2 if they cannot be compared, 3 if they\n"
		"are the same as far as they go, but a replay did not end in order.\n"
		"\n"
		"What differs by nature is left out: times, resourceVersions, UIDs and generated names that the\n"
		"replay made up, managedFields, leases, counts of events, conflicts (409) with their\n"
		"retries. A RULE is [RESOURCE[.GROUP][/SUB]][:VERB,...]=FIELD, or FIELD alone:\n"
		"  metadata.labels[app]    a field and all below it; *: any name; '**.count': at any depth\n"
		"  events=*                the writes themselves; 'leases:update,patch=*' those of two verbs\n"
		"  @times @uids @names @secrets @status @conflicts    kinds of values, with --keep mostly\n"
		"With --also a third run, as good as the first, shows what else differs by itself.\n"
		"replayer/write/WRITES.md lists the default rules.",
	.exits =
		{
			[EXIT_OK] = "the two runs are the same",
			[EXIT_FAILED] = "they differ",
			[EXIT_USAGE] = "they cannot be compared; one sentence on standard error says why",
			[EXIT_LOSS] =
				"they are the same as far as they go, but a replay did not end in order",
		},
	.options = rows,
	.run = run,
};
