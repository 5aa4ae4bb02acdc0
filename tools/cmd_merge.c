/* cmd_merge.c: `kubetape merge`. */
#include "schema/base/clock.h"
#include "schema/base/moment.h"
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/tape/merge.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"

#include <stdio.h>

struct merge_values {
	const char *output;
	bool same, json;
};

#define AT(field) offsetof(struct merge_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE",
		"the tape to make, NAME.tape, or NAME.ktape for one file; it must not exist"},
	{OPTION_FLAG, 0, "same-cluster", AT(same), NULL,
		"the tapes are of one cluster, even if they have no object in common"},
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

static int merge_step(void *context, uint64_t done, uint64_t total)
{
	return progress_step(context, done, total);
}

static void print_json(const struct merge_result *r)
{
	printf("{\"events\": [%llu, %llu], \"common\": %llu, \"deletions\": %llu, \"gaps\": %llu, \"filled\": %llu, "
	       "\"partly_filled\": %llu, \"clock_ahead_ns\": %lld, \"secrets_differ\": %s}\n",
		(unsigned long long)r->events[0], (unsigned long long)r->events[1],
		(unsigned long long)r->common, (unsigned long long)r->deletions, (unsigned long long)r->gaps,
		(unsigned long long)r->filled, (unsigned long long)r->partly, (long long)r->shift_ns,
		r->secrets_differ ? "true" : "false");
}

static void print_text(const struct merge_values *v, char *const *tapes, const struct merge_result *r)
{
	char length[TIME_TEXT_BYTES];

	fputs("'", stdout);
	visible_puts(stdout, v->output);
	printf("' has %llu events of '", (unsigned long long)r->events[0]);
	visible_puts(stdout, tapes[0]);
	printf("' and %llu of '", (unsigned long long)r->events[1]);
	visible_puts(stdout, tapes[1]);
	printf("'; %llu versions were on both", (unsigned long long)r->common);
	if (r->deletions)
		printf("; %llu deletions follow from a list", (unsigned long long)r->deletions);
	printf("; %llu of %llu gaps are filled", (unsigned long long)r->filled, (unsigned long long)r->gaps);
	if (r->partly)
		printf(", and %llu partly", (unsigned long long)r->partly);
	putchar('\n');
	if (r->shift_ns)
		printf("the clock of the second was %s %s: its times were moved\n",
			duration_format(length, r->shift_ns < 0 ? -r->shift_ns : r->shift_ns),
			r->shift_ns < 0 ? "behind" : "ahead");
}

static int merge_tapes(
	const struct merge_values *v, struct tape *const tapes[2], char *const *names, struct err *err)
{
	struct merge_result result;
	struct progress progress;
	const struct merge_options options = {v->same, merge_step, &progress, "kubetape " KUBETAPE_VERSION};
	int rc;

	progress_catch_signals();
	progress_begin(&progress, "merging");
	rc = tape_merge(tapes, v->output, &options, &result, err);
	progress_clear(&progress);
	if (rc)
		return rc;
	if (result.secrets_differ)
		fputs("kubetape merge: one version of a Secret is not the same on both: the recorders made digests under "
		      "two keys, so that a Secret seems to change where the one follows on the other\n",
			stderr);
	if (v->json)
		print_json(&result);
	else
		print_text(v, names, &result);
	return EXIT_OK;
}

static int merge(void *values, const struct operands *operands, struct err *err)
{
	const struct merge_values *v = values;
	struct tape *tapes[2] = {NULL, NULL};
	int rc = v->output ? out_file_refuse_stream(v->output, "a tape is a folder", err)
			   : err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");

	for (size_t i = 0; i < 2 && !rc; i++)
		rc = tape_open(operands->items[i], &tapes[i], err);
	if (!rc)
		rc = merge_tapes(v, tapes, operands->given, err);
	tape_close(tapes[0]);
	tape_close(tapes[1]);
	return rc;
}

static int merge_run(const struct command *self, int argc, char **argv)
{
	struct merge_values v = {0};

	return command_run(self, argc, argv, &v, merge);
}

const struct command cmd_merge = {
	.name = "merge",
	.operands = "TAPE TAPE",
	.expects = {"two tapes", 2, 2},
	.summary = "make one tape of two recordings of one cluster",
	.description =
		"Events that both recorded are on the new tape once. Events that one missed in a gap come from the\n"
		"other one, and the gap, or that part of it, has ended 'filled'. The clocks are compared by the\n"
		"events that both saw, and times of the second tape are moved if the two disagree. If one tape ends\n"
		"before the other begins, there is a gap between them. After a time that neither saw, objects that\n"
		"the next list lacks were deleted.\n"
		"\n"
		"  kubetape merge A.tape B.tape -o C.tape",
	.options = rows,
	.run = merge_run,
};
