/* cmd_recover.c: `kubetape recover`: what is intact of a damaged tape, and a list of what is not. */
#include "recorder/push/remote_tape.h"
#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/tape/recover.h"
#include "tools/cli/plural.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"
#include "tools/out/table_out.h"

#include <stdio.h>
#include <stdlib.h>

struct recover_values {
	const char *output;
	bool json;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", offsetof(struct recover_values, output), "TAPE",
		"the tape to make; it must not exist"},
	{OPTION_FLAG, 0, "json", offsetof(struct recover_values, json), NULL, "print one JSON object"},
	{.kind = OPTION_END},
};

struct listing {
	const struct recover_values *v;
	const char *from; /* as the user calls it */
	struct progress progress;
	uint64_t printed;
};

/* ---- JSON ---- */

static void print_member(const char *name, struct slice text)
{
	printf(", \"%s\": ", name);
	table_out_json_string(stdout, text);
}

static void print_json_event(const struct event *e, const struct tape_resource *resource)
{
	char time[TIME_TEXT_BYTES];

	print_member("time", slice_of(time_format(time, e->time_ns)));
	print_member("type", slice_of(event_type_name(e->type)));
	print_member("apigroup", slice_of(resource ? resource->apigroup : ""));
	print_member("resource", slice_of(resource ? resource->resource : ""));
	print_member("namespace", e->namespace);
	print_member("name", e->name);
	print_member("uid", e->uid);
	print_member("rv", e->rv);
}

static void print_json_begin(const struct listing *l)
{
	fputs("{\n  \"tape\": ", stdout);
	table_out_json_string(stdout, slice_of(l->from));
	fputs(",\n  \"lost\": [", stdout);
}

static void print_json_loss(struct listing *l, const struct tape_loss *loss)
{
	const char *what = loss->table ? "id" : "seq";

	if (!l->printed)
		print_json_begin(l);
	printf("%s    {\"table\": ", l->printed ? ",\n" : "\n");
	table_out_json_string(stdout, slice_of(loss->table ? loss->table : "events"));
	if (loss->first)
		printf(", \"first_%s\": %llu, \"last_%s\": %llu", what, (unsigned long long)loss->first, what,
			(unsigned long long)loss->last);
	else
		printf(", \"first_%s\": null, \"last_%s\": null", what, what);
	print_member("file", slice_of(loss->file));
	print_member("why", slice_of(loss->why));
	if (loss->event)
		print_json_event(loss->event, loss->resource);
	fputs("}", stdout);
}

static void print_json_end(const struct listing *l, const struct tape_recover_result *r)
{
	if (!l->printed)
		print_json_begin(l);
	printf("%s],\n  \"events\": %llu,\n  \"lost_events\": %llu,\n  \"rows\": %llu,\n  \"lost_rows\": %llu,\n"
	       "  \"untold\": %llu,\n  \"segments\": %llu,\n  \"mended_pages\": %llu,\n"
	       "  \"rows_unknown\": %s,\n  \"tail_unknown\": %s,\n  \"state_unknown\": %s\n}\n",
		l->printed ? "\n  " : "", (unsigned long long)r->events, (unsigned long long)r->lost_events,
		(unsigned long long)r->rows, (unsigned long long)r->lost_rows, (unsigned long long)r->untold,
		(unsigned long long)r->segments, (unsigned long long)r->mended_pages,
		r->rows_unknown ? "true" : "false", r->tail_unknown ? "true" : "false",
		r->state_unknown ? "true" : "false");
}

/* ---- for people ---- */

static void print_event(const struct event *e, const struct tape_resource *resource)
{
	printf(" %s ", event_type_name(e->type));
	visible_put(stdout, slice_of(resource ? resource->resource : "?"));
	fputs(" ", stdout);
	if (e->namespace.len) {
		visible_put(stdout, e->namespace);
		fputs("/", stdout);
	}
	visible_put(stdout, e->name);
	fputs(" rv ", stdout);
	visible_put(stdout, e->rv);
}

static void print_numbers(const struct tape_loss *loss)
{
	bool one = loss->first == loss->last;

	if (!loss->first)
		printf("rows of %s, nobody knows which", loss->table);
	else if (loss->table)
		printf("%s %s with id", one ? "row of" : "rows of", loss->table);
	else
		printf(one ? "event" : "events");
	if (loss->first)
		printf(one ? " %llu" : " %llu to %llu", (unsigned long long)loss->first,
			(unsigned long long)loss->last);
}

/* lost: event 4711 MODIFIED pods shop/web-1 rv 8122: seg-000003.db: block 4 of extent 2 is damaged */
static void print_loss(const struct tape_loss *loss)
{
	fputs("lost: ", stdout);
	print_numbers(loss);
	if (loss->event)
		print_event(loss->event, loss->resource);
	if (*loss->file) {
		fputs(": ", stdout);
		visible_puts(stdout, loss->file);
	}
	fputs(": ", stdout);
	visible_puts(stdout, loss->why);
	putchar('\n');
}

static int note_loss(void *context, const struct tape_loss *loss)
{
	struct listing *l = context;
	char *why = remote_tape_words(loss->why);
	struct tape_loss same = *loss;

	same.why = why;
	progress_clear(&l->progress);
	if (l->v->json)
		print_json_loss(l, &same);
	else
		print_loss(&same);
	free(why);
	l->printed++;
	return ferror(stdout);
}

static int recover_step(void *context, uint64_t done, uint64_t total)
{
	struct listing *l = context;

	return progress_step(&l->progress, done, total);
}

static bool is_complete(const struct tape_recover_result *r)
{
	return !r->lost_events && !r->lost_rows && !r->rows_unknown && !r->tail_unknown && !r->state_unknown;
}

static void print_end(const struct listing *l, const struct tape_recover_result *r)
{
	if (r->untold)
		printf("lost: %llu more, which are not told one by one\n", (unsigned long long)r->untold);
	printf("recovered %llu event%s", (unsigned long long)r->events, plural(r->events));
	if (is_complete(r))
		fputs(", lost nothing;", stdout);
	else if (r->lost_events || r->lost_rows || r->rows_unknown)
		printf(", lost %llu event%s and %s%llu row%s;", (unsigned long long)r->lost_events,
			plural(r->lost_events), r->rows_unknown ? "at least " : "",
			(unsigned long long)r->lost_rows, plural(r->lost_rows));
	else
		fputs(";", stdout);
	printf(" the tape is '%s'\n", l->v->output);
	if (r->mended_pages)
		printf("pages mended, of which a single bit was wrong: %llu\n",
			(unsigned long long)r->mended_pages);
	if (r->tail_unknown)
		puts("the end of the tape is damaged: events after the last one may be lost without a trace");
	if (r->state_unknown)
		puts("the segment with the objects that lived before the first event is missing: what lived then is unknown");
}

static int recover(void *values, const struct operands *operands, struct err *err)
{
	const struct recover_values *v = values;
	struct tape_recover_result result;
	struct listing l = {.v = v, .from = operands->given[0]};
	struct tape_recover_options options = {.lost = note_loss,
		.progress = recover_step,
		.context = &l,
		.program = "kubetape " KUBETAPE_VERSION};
	int rc;

	if (!v->output)
		return err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");
	rc = out_file_refuse_stream(v->output, "a tape is a folder", err);
	if (rc)
		return rc;
	progress_catch_signals();
	progress_begin(&l.progress, "recovering");
	rc = tape_recover(operands->items[0], v->output, &options, &result, err);
	progress_clear(&l.progress);
	if (rc)
		return rc;
	if (v->json)
		print_json_end(&l, &result);
	else
		print_end(&l, &result);
	rc = out_stream_flush(stdout, err);
	if (rc)
		return rc;
	return is_complete(&result) ? EXIT_OK : EXIT_LOSS;
}

static int recover_run(const struct command *self, int argc, char **argv)
{
	struct recover_values v = {0};

	return command_run(self, argc, argv, &v, recover);
}

const struct command cmd_recover = {
	.name = "recover",
	.operands = "DAMAGED -o TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "save what is intact of a damaged tape",
	.description =
		"Makes a new tape of everything that is intact, and prints a line for everything that is not,\n"
		"up to ten thousand lines. If a single bit is wrong in a page of a sealed segment, its checksum\n"
		"corrects it. The exit code is 3 if something was lost, 0 if nothing was. If events are lost,\n"
		"later ones get lower numbers, and the loss becomes a gap of the streams that may have had them.\n"
		"The damaged tape is only read.",
	.options = rows,
	.exits =
		{
			[EXIT_OK] = "nothing was lost",
			[EXIT_LOSS] = "something was lost",
		},
	.run = recover_run,
};
