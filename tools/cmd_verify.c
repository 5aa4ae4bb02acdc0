/* cmd_verify.c: `kubetape verify`: is the tape what was written? One line for each damage. */
#include "recorder/push/remote_tape.h"
#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "schema/tape/verify.h"
#include "tools/cli/plural.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"
#include "tools/out/readable.h"
#include "tools/out/table_out.h"

#include <stdio.h>
#include <stdlib.h>

struct verify_options {
	bool json, quick;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "json", offsetof(struct verify_options, json), NULL, "print one JSON object"},
	{OPTION_FLAG, 0, "quick", offsetof(struct verify_options, quick), NULL,
		"check the checksums of the pages and the chain of segments, decode nothing"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

struct verification {
	const struct verify_options *options;
	const char *name; /* of the tape, as the user wrote it */
	struct progress progress;
	uint64_t printed;
	int64_t begin_ns;
	struct readable readable; /* of a damaged tape, unless only its sums are looked at */
};

static void print_text_member(const char *name, const char *text)
{
	printf(", \"%s\": ", name);
	table_out_json_string(stdout, slice_of(text));
}

static void print_json_damage(const struct tape_damage *d)
{
	fputs("    {\"file\": ", stdout);
	table_out_json_string(stdout, slice_of(d->file));
	if (d->offset == UINT64_MAX)
		printf(", \"offset\": null");
	else
		printf(", \"offset\": %llu", (unsigned long long)d->offset);
	printf(", \"length\": %llu", (unsigned long long)d->length);
	print_text_member("what", d->what);
	print_text_member("found", d->found);
	print_text_member("expected", d->expected);
	fputs("}", stdout);
}

static void print_visible(const char *before, const char *text)
{
	fputs(before, stdout);
	visible_put(stdout, slice_of(text));
}

/* seg-000004.db at offset 8192: bad checksum of page 3: found 1a2b, expected 00c0 */
static void print_damage_line(const struct tape_damage *d)
{
	if (*d->file)
		print_visible("", d->file);
	if (d->offset != UINT64_MAX)
		printf(" at offset %llu", (unsigned long long)d->offset);
	print_visible(*d->file ? ": " : "", d->what);
	if (*d->found)
		print_visible(": found ", d->found);
	if (*d->expected)
		print_visible(*d->found ? ", expected " : ": expected ", d->expected);
	fputs("\n", stdout);
}

static void print_json_begin(const struct verification *v)
{
	fputs("{\n  \"tape\": ", stdout);
	table_out_json_string(stdout, slice_of(v->name));
	fputs(",\n  \"found\": [", stdout);
}

static int print_damage(void *context, const struct tape_damage *found)
{
	struct verification *v = context;
	char *what = remote_tape_words(found->what);
	struct tape_damage same = *found, *d = &same;

	d->what = what;

	progress_clear(&v->progress);
	if (v->options->json) {
		if (!v->printed)
			print_json_begin(v);
		fputs(v->printed ? ",\n" : "\n", stdout);
		print_json_damage(d);
	} else {
		print_damage_line(d);
	}
	free(what);
	v->printed++;
	return ferror(stdout);
}

static int step(void *context, uint64_t done, uint64_t total)
{
	struct verification *v = context;

	return progress_step(&v->progress, done, total);
}

/* ---- what can still be read ---- */

static int is_stopped(void *context)
{
	(void)context;
	return progress_stop_asked();
}

static bool is_counted(const struct verification *v, const struct tape_verify_result *r)
{
	return r->damages && !v->options->quick;
}

/* ": 38 of 40 events can be read" */
static void print_readable(const struct readable *r)
{
	if (r->is_closed)
		fputs("; it cannot be opened", stdout);
	else
		printf("; %s%llu of %llu events can be read", r->is_cut_short ? "at least " : "",
			(unsigned long long)r->events, (unsigned long long)r->total);
}

/* ---- the end ---- */

static void print_json_end(const struct verification *v, const struct tape_verify_result *r)
{
	if (!v->printed)
		print_json_begin(v);
	fputs(v->printed ? "\n  ]" : "]", stdout);
	if (is_counted(v, r))
		printf(",\n  \"readable_events\": %llu", (unsigned long long)v->readable.events);
	printf(",\n  \"intact\": %s,\n  \"damages\": %llu,\n  \"segments\": %llu,\n  \"events\": %llu,\n"
	       "  \"documents\": %llu,\n  \"stored_bytes\": %llu,\n  \"raw_bytes\": %llu,\n  \"seconds\": %.3f\n}\n",
		r->damages ? "false" : "true", (unsigned long long)r->damages,
		(unsigned long long)r->segments, (unsigned long long)r->events,
		(unsigned long long)r->documents, (unsigned long long)r->stored_bytes,
		(unsigned long long)r->raw_bytes, (double)(clock_mono_ns(&clock_system) - v->begin_ns) / 1e9);
}

static void print_text_end(const struct verification *v, const struct tape_verify_result *r)
{
	int64_t passed_ns = clock_mono_ns(&clock_system) - v->begin_ns;
	char stored[BYTES_TEXT_BYTES], rate[BYTES_TEXT_BYTES], passed[TIME_TEXT_BYTES];

	if (r->damages > v->printed)
		printf("and %llu more\n", (unsigned long long)(r->damages - v->printed));
	print_visible("", v->name);
	if (r->damages)
		printf(" is damaged: %llu damage%s in", (unsigned long long)r->damages, plural(r->damages));
	else
		printf(" is intact:");
	printf(" %llu segment%s", (unsigned long long)r->segments, plural(r->segments));
	if (is_counted(v, r))
		print_readable(&v->readable);
	else if (!v->options->quick)
		printf(", %llu event%s", (unsigned long long)r->events, plural(r->events));
	printf(", %s in %s (%s/s)\n", bytes_format(stored, r->stored_bytes),
		duration_format(passed, passed_ns),
		bytes_format(rate, (uint64_t)((double)r->stored_bytes / ((double)passed_ns / 1e9))));
}

static int verify(void *values, const struct operands *operands, struct err *err)
{
	const struct verify_options *o = values;
	const char *path = operands->items[0];
	struct tape_verify_result result;
	struct verification v = {
		.options = o, .name = operands->given[0], .begin_ns = clock_mono_ns(&clock_system)};
	struct tape_verify_options options = {
		.quick = o->quick, .damaged = print_damage, .progress = step, .context = &v};
	int rc;

	progress_catch_signals();
	progress_begin(&v.progress, "verifying");
	rc = tape_verify(path, &options, &result, err);
	progress_clear(&v.progress);
	if (rc)
		return rc;
	if (is_counted(&v, &result))
		v.readable = readable_count(path, is_stopped, NULL);
	if (o->json)
		print_json_end(&v, &result);
	else
		print_text_end(&v, &result);
	rc = out_stream_flush(stdout, err);
	if (rc)
		return rc;
	return result.damages ? EXIT_FAILED : EXIT_OK;
}

static int verify_run(const struct command *self, int argc, char **argv)
{
	struct verify_options o = {0};

	return command_run(self, argc, argv, &o, verify);
}

const struct command cmd_verify = {
	.name = "verify",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "check that a tape is what was written",
	.description =
		"Checks every checksum and the chain of segments, decodes every object, on all processors,\n"
		"and checks the indexes and the recorded state against the objects. Prints one line for each\n"
		"damage (file, offset, what was found and what was expected) and counts those after the\n"
		"thousandth. The exit code is 1 if there is any. The tape may be one that is being recorded.\n"
		"\n"
		"--quick reads every byte, but decodes nothing. It finds every change since a segment was\n"
		"sealed, as fast as the disk, but not what was wrong when it was written.",
	.options = rows,
	.exits =
		{
			[EXIT_OK] = "the tape is what was written",
			[EXIT_FAILED] =
				"it is damaged; or it cannot be read, and one sentence on standard error says why",
			[EXIT_LOSS] = "",
		},
	.run = verify_run,
};
