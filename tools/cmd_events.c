/* cmd_events.c: `kubetape events`: what happened, a line for each event, with what it changed and by whom. */
#include "schema/base/out_file.h"
#include "tools/cli/plural.h"
#include "tools/cli/position_help.h"
#include "tools/cli/progress.h"
#include "tools/cli/time_shown.h"
#include "tools/commands.h"
#include "tools/events/events.h"
#include "tools/out/bookkeeping.h"
#include "tools/out/certainty.h"
#include "tools/out/state_text.h"

struct events_options {
	const char *namespace, *from, *until, *output, *color;
	bool follow, all, local;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", offsetof(struct events_options, namespace), "NS",
		"only objects of this namespace"},
	{OPTION_TEXT, 0, "from", offsetof(struct events_options, from), "POSITION",
		"only what happened after this position (default: start)"},
	{OPTION_TEXT, 0, "until", offsetof(struct events_options, until), "POSITION",
		"only what had happened at this position (default: end)"},
	{OPTION_FLAG, 'f', "follow", offsetof(struct events_options, follow), NULL,
		"continue with new events while the tape is being recorded"},
	{OPTION_FLAG, 'a', "all", offsetof(struct events_options, all), NULL, "also " BOOKKEEPING_HELP},
	{OPTION_CHOICE, 'o', "output", offsetof(struct events_options, output), "line|wide|json",
		"a line; with all changes, whole values, version and UID; a JSON object a line (default: line)"},
	LOCAL_TIME_ROW(events_options),
	{OPTION_CHOICE, 0, "color", offsetof(struct events_options, color), "auto|always|never",
		"colour the changes (default: auto)"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static int find_bounds(
	struct tape *t, const struct events_options *o, struct events_wanted *wanted, struct err *err)
{
	int rc;

	if (o->follow && strcmp(o->until, "end") != 0)
		return err_set(err, ERR_USAGE,
			"--follow goes on after the end of the tape; --until '%s' does not go with it",
			o->until);
	rc = tape_position_find(t, o->from, &wanted->from, err);
	if (!rc)
		rc = tape_position_find(t, o->until, &wanted->until, err);
	if (!rc && wanted->until.seq < wanted->from.seq)
		rc = err_set(err, ERR_USAGE, "nothing to tell: '%s' lies before '%s'", o->until, o->from);
	return rc;
}

static void say_what_was_left_out(uint64_t count)
{
	if (count)
		fprintf(stderr,
			"kubetape events: left out %llu event%s of " BOOKKEEPING_HELP "; --all shows them\n",
			(unsigned long long)count, plural(count));
}

/* Gaps stand among the events; here is told of positions, and of streams whose gaps nobody knows. */
static int say_what_is_not_known(
	struct tape *t, const struct events_options *o, const struct events_wanted *wanted, struct err *err)
{
	const struct tape_resource *r;
	const struct tape_stream *s;
	struct certainty c;
	bool is_named = false;
	int rc = certainty_open(&c, "events", t, err);

	if (rc)
		return rc;
	certainty_of_position(&c, &wanted->from, o->from);
	certainty_of_position(&c, &wanted->until, o->until);
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		r = tape_resource_by_id(t, s->resource);
		if (r && object_patterns_resource(wanted->patterns, r) == OBJECT_WANTED)
			certainty_of_stream(&c, s->id, o->namespace);
	}
	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (!object_patterns_names_resource(wanted->patterns, r))
			continue;
		is_named = true;
		certainty_of_parts(&c, r, o->namespace);
	}
	if (!is_named)
		certainty_of_namespace(&c, o->namespace);
	certainty_end(&c);
	certainty_close(&c);
	return c.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int show(struct tape *t, const struct events_options *o, struct events_wanted *wanted, struct err *err)
{
	struct event_line_style style = {.json = strcmp(o->output, "json") == 0,
		.wide = strcmp(o->output, "wide") == 0,
		.color = state_text_wants_color(o->color),
		.local = o->local};
	struct events_told told = {0};
	int rc = find_bounds(t, o, wanted, err);

	if (rc)
		return rc;
	progress_catch_signals();
	rc = events_print(t, wanted, &style, &told, err);
	if (!rc)
		rc = out_stream_flush(stdout, err);
	if (rc)
		return rc;
	say_what_was_left_out(told.left_out);
	if (!told.shown)
		fputs("kubetape events: no event to show\n", stderr);
	return say_what_is_not_known(t, o, wanted, err);
}

static int events_show(void *values, const struct operands *operands, struct err *err)
{
	const struct events_options *o = values;
	struct object_patterns *patterns = NULL;
	struct events_wanted wanted = {.namespace = o->namespace, .follow = o->follow};
	struct tape *t = NULL;
	int rc = tape_open(operands->items[0], &t, err);

	if (!rc)
		rc = object_patterns_new(t, operands->items + 1, operands->count - 1, o->all, &patterns, err);
	wanted.patterns = patterns;
	if (!rc)
		rc = show(t, o, &wanted, err);
	object_patterns_free(patterns);
	tape_close(t);
	return rc;
}

static int events_run(const struct command *self, int argc, char **argv)
{
	struct events_options o = {
		.namespace = "", .from = "start", .until = "end", .output = "line", .color = "auto"};

	return command_run(self, argc, argv, &o, events_show);
}

const struct command cmd_events = {
	.name = "events",
	.operands = "TAPE [RESOURCE[/NAME-PATTERN]]...",
	.expects = {"a tape", 1, SIZE_MAX},
	.summary = "show what happened, a line for each event",
	.description =
		"Prints a line for each event, the oldest first: its time and number, the object, what it changed,\n"
		"and who wrote that according to managedFields (\"by ?\": they do not say). Objects of a first list\n"
		"are LISTED. If the recorder did not watch, a line says so. A line shows three changes, wanted\n"
		"fields before their consequences, and counts the others; `-o wide` shows all.\n\n"
		"RESOURCE is a name as kubectl takes it, several separated by commas, or '*' for any; NAME-PATTERN\n"
		"is a pattern as in shells. " BOOKKEEPING_HELP " are left out\n"
		"unless they are named or --all is given.\n\n" POSITION_HELP "\n"
		"  kubetape events X.tape -n shop --from 09:51:30\n"
		"  kubetape events X.tape 'deploy/web' 'pods/web-*' -f",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"done, but the tape cannot know it: a position lies outside it, or it does not say when a resource "
				"was watched, or one was never listed",
		},
	.run = events_run,
};
