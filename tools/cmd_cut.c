/* cmd_cut.c: `kubetape cut`. */
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/sql/predicate.h"
#include "schema/tape/remake.h"
#include "tools/cli/namespace_check.h"
#include "tools/cli/plural.h"
#include "tools/cli/position_help.h"
#include "tools/cli/progress.h"
#include "tools/cli/tape_names.h"
#include "tools/commands.h"
#include "tools/out/certainty.h"

#include <stdio.h>
#include <stdlib.h>

struct cut_values {
	const char *from, *until, *where, *output;
	struct text_list namespaces;
	bool json;
};

#define AT(field) offsetof(struct cut_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "from", AT(from), "POSITION", "begin there (default: where the tape begins)"},
	{OPTION_TEXT, 0, "until", AT(until), "POSITION", "end there (default: where the tape ends)"},
	{OPTION_LIST, 'n', "namespace", AT(namespaces), "NS", "only objects of this namespace"},
	{OPTION_TEXT, 0, "where", AT(where), "SQL",
		"only events for which this holds, over the columns of events"},
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE",
		"the tape to make, NAME.tape, or NAME.ktape for one file; it must not exist"},
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

struct cut {
	const struct cut_values *values;
	struct tape *tape;
	struct tape_position from, until;
	struct remake_point from_point, until_point;
	uint32_t *resources;
	size_t resource_count;
	struct predicate *predicate;
	struct progress progress;
	struct remake_result result;
};

/* ---- what is wanted ---- */

static int find_position(struct cut *c, const char *text, struct tape_position *ret,
	struct remake_point *ret_point, struct err *err)
{
	int rc = text ? tape_position_find(c->tape, text, ret, err) : 0;

	if (text && !rc)
		*ret_point = (struct remake_point){ret->seq, ret->time_ns, ret->by_time};
	return rc;
}

static int add_resources(struct cut *c, const char *names, struct err *err)
{
	struct tape_names found;
	int rc = tape_names_choose(c->tape, names, &found, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < found.count; i++) {
		c->resources = xgrow(c->resources, c->resource_count, sizeof(*c->resources));
		c->resources[c->resource_count++] = found.items[i]->id;
	}
	tape_names_tell_versions(c->tape, &found, names);
	tape_names_release(&found);
	return 0;
}

static int compile(struct cut *c, struct err *err)
{
	struct moment_frame frame;
	int rc = tape_position_frame(c->tape, &frame, err);
	char *doubt;

	rc = rc ? rc : predicate_compile(slice_of(c->values->where), &frame, &c->predicate, err);
	doubt = rc ? NULL : predicate_doubt(c->predicate);
	if (doubt)
		fprintf(stderr, "kubetape cut: --where: %s\n", doubt);
	free(doubt);
	return rc;
}

static int cut_choose(struct cut *c, const struct operands *operands, struct err *err)
{
	const struct cut_values *v = c->values;
	int rc = find_position(c, v->from, &c->from, &c->from_point, err);

	if (!rc)
		rc = find_position(c, v->until, &c->until, &c->until_point, err);
	for (size_t i = 0; i < v->namespaces.count && !rc; i++)
		rc = namespace_check(c->tape, v->namespaces.items[i], err);
	for (size_t i = 1; i < operands->count && !rc; i++)
		rc = add_resources(c, operands->items[i], err);
	if (!rc && v->where)
		rc = compile(c, err);
	return rc;
}

/* ---- the work ---- */

static int wants_object(void *context, const struct tape_resource *r, const struct event *e,
	struct slice object, struct err *err)
{
	const struct cut *c = context;

	return predicate_test(c->predicate, r, e, object, err);
}

static int cut_step(void *context, uint64_t done, uint64_t total)
{
	struct cut *c = context;

	return progress_step(&c->progress, done, total);
}

static int cut_make(struct cut *c, struct err *err)
{
	const struct cut_values *v = c->values;
	const struct remake_options options = {
		/* Before its first event a tape has rows too: its start is no point that they lie before. */
		.from = v->from && c->from_point.seq ? &c->from_point : NULL,
		.until = v->until && !c->until.is_end ? &c->until_point : NULL,
		.resources = c->resources,
		.resource_count = c->resource_count,
		.namespaces = v->namespaces.items,
		.namespace_count = v->namespaces.count,
		.hooks = {.wants_object = c->predicate ? wants_object : NULL,
			.progress = cut_step,
			.context = c},
		.program = "kubetape " KUBETAPE_VERSION,
	};
	int rc;

	progress_catch_signals();
	progress_begin(&c->progress, "cutting");
	rc = tape_remake(c->tape, v->output, &options, &c->result, err);
	progress_clear(&c->progress);
	return rc;
}

static void print_result(const struct cut *c)
{
	const struct remake_result *r = &c->result;

	if (c->values->json) {
		printf("{\"events\": %llu, \"state_objects\": %llu, \"left_out\": %llu}\n",
			(unsigned long long)r->events, (unsigned long long)r->state_objects,
			(unsigned long long)r->left_out);
		return;
	}
	fputs("'", stdout);
	visible_puts(stdout, c->values->output);
	printf("' begins with %llu object%s and has %llu event%s after them",
		(unsigned long long)r->state_objects, plural(r->state_objects), (unsigned long long)r->events,
		plural(r->events));
	if (r->left_out)
		printf("; %llu %s left out by '--where'", (unsigned long long)r->left_out,
			r->left_out == 1 ? "was" : "were");
	putchar('\n');
}

/* A position outside the tape is a guess. */
static int say_what_was_guessed(struct cut *c, struct err *err)
{
	struct certainty certainty;
	int rc = certainty_open(&certainty, "cut", c->tape, err);

	if (!rc && c->values->from)
		certainty_of_position(&certainty, &c->from, c->values->from);
	if (!rc && c->values->until)
		certainty_of_position(&certainty, &c->until, c->values->until);
	certainty_end(&certainty);
	certainty_close(&certainty);
	return rc ? rc : certainty.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int cut_tape(struct cut *c, const struct operands *operands, struct err *err)
{
	int rc = cut_choose(c, operands, err);

	if (!rc)
		rc = cut_make(c, err);
	if (rc)
		return rc;
	print_result(c);
	return say_what_was_guessed(c, err);
}

static int cut(void *values, const struct operands *operands, struct err *err)
{
	struct cut c = {.values = values};
	int rc = c.values->output ? out_file_refuse_stream(c.values->output, "a tape is a folder", err)
				  : err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");

	if (rc || (rc = tape_open(operands->items[0], &c.tape, err)))
		return rc;
	rc = cut_tape(&c, operands, err);
	predicate_free(c.predicate);
	free(c.resources);
	tape_close(c.tape);
	return rc;
}

static int cut_run(const struct command *self, int argc, char **argv)
{
	struct cut_values v = {0};
	int rc = command_run(self, argc, argv, &v, cut);

	free(v.namespaces.items);
	return rc;
}

const struct command cmd_cut = {
	.name = "cut",
	.operands = "TAPE [RESOURCE]...",
	.expects = {"a tape and resources", 1, SIZE_MAX},
	.summary = "make a tape of a part of one: from when to when, which namespaces and resources",
	.description =
		"The new tape is complete: it begins with the objects that were live there, and replays in the same\n"
		"way. It also has the connections and gaps that reach into that part, discovery and documents. The\n"
		"tape may be one that is being recorded. If you cut by time alone, events keep their numbers;\n"
		"otherwise they get new ones. With --namespace, objects without a namespace are kept only if their\n"
		"resource is named. With --where each stream that lacks events has a gap that says so ('left_out').\n"
		"\n" POSITION_HELP "\n"
		"  kubetape cut X.tape --from 9:51 --until +20m -n shop pods,deploy -o shop.tape",
	.options = rows,
	.exits = {[EXIT_LOSS] = "done, but a position lies outside the tape"},
	.run = cut_run,
};
