/* cmd_why.c: `kubetape why`. */
#include "schema/tape/position.h"
#include "tools/cli/object_name.h"
#include "tools/cli/position_help.h"
#include "tools/commands.h"
#include "tools/out/certainty.h"
#include "tools/out/state_text.h"
#include "tools/why/why.h"

#include <stdlib.h>

struct why_values {
	const char *namespace, *at, *format, *color;
};

#define AT(field) offsetof(struct why_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'n', "namespace", AT(namespace), "NS",
		"the object's namespace, if several have an object of this name"},
	{OPTION_TEXT, 0, "at", AT(at), "POSITION", "the position at which to explain it (default: the end)"},
	{OPTION_CHOICE, 'o', "output", AT(format), "text|json", "for people, or one JSON object"},
	{OPTION_CHOICE, 0, "color", AT(color), "auto|always|never", "colour the objects (default: auto)"},
	{.kind = OPTION_END},
};

struct why {
	const struct why_values *values;
	struct tape *tape;
	struct sql_session *session;
	struct object_name what;
	struct tape_position at;
	struct why_chain chain;
};

static int why_choose(struct why *w, const struct operands *operands, struct err *err)
{
	int rc = tape_position_find(w->tape, w->values->at, &w->at, err);

	return rc ? rc
		  : object_name_choose(w->session, operands->items[0], operands->items + 1,
			    operands->count - 1, &w->what, err);
}

/* A position outside the tape, or at which the object's resource was not watched, is a guess. */
static int why_say(struct why *w, struct err *err)
{
	const struct tape_resource *r;
	struct certainty certainty;
	int rc = certainty_open(&certainty, "why", w->tape, err);

	if (!rc)
		certainty_of_position(&certainty, &w->at, w->values->at);
	for (size_t i = 0; !rc && (r = tape_resource_at(w->tape, i)); i++) {
		if (strcmp(r->resource, w->chain.resource) == 0)
			certainty_of_resource(&certainty, r, w->chain.namespace, &w->at, 1);
	}
	certainty_end(&certainty);
	certainty_close(&certainty);
	if (rc)
		return rc;
	if (strcmp(w->values->format, "json") == 0)
		why_print_json(&w->chain);
	else
		why_print(&w->chain, state_text_wants_color(w->values->color));
	return certainty.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int why(void *values, const struct operands *operands, struct err *err)
{
	struct why w = {.values = values};
	struct tape_info info;
	int rc = tape_open(operands->items[0], &w.tape, err);

	if (!rc)
		rc = sql_session_open(operands->items[0], &w.session, err);
	if (!rc)
		rc = why_choose(&w, operands, err);
	if (!rc)
		rc = tape_info(w.tape, &info, err);
	if (!rc && (rc = why_find(w.session, w.what.by_uid, w.values->namespace,
			    info.first_seq ? info.first_seq - 1 : 0, w.at.seq, &w.chain, err)))
		rc = err_prefix(err, rc, "cannot explain '%s'", w.what.text);
	if (!rc)
		rc = why_say(&w, err);
	why_release(&w.chain);
	free(w.what.text);
	sql_session_close(w.session);
	tape_close(w.tape);
	return rc;
}

static int why_run(const struct command *self, int argc, char **argv)
{
	struct why_values v = {.namespace = "", .at = "end", .format = "text", .color = "auto"};

	return command_run(self, argc, argv, &v, why);
}

const struct command cmd_why = {
	.name = "why",
	.operands = "TAPE UID|RESOURCE[/NAME] [NAME]",
	.expects = {"a tape and an object", 2, 3},
	.summary = "explain why an object is as it is: the chain of causes, each with its evidence",
	.description =
		"Begins with what is wrong with the object at that position (deleted, evicted, killed for its\n"
		"memory, not ready, failed, without an image, a node or a quota), and continues with the causes:\n"
		"an owner that was scaled or changed, a probe that failed, a ConfigMap that is missing, a node\n"
		"that was lost or drained, a namespace that was deleted. A container that failed has the last\n"
		"lines of its log below it, if 'record --logs' kept them. Each step has the event that shows it, and\n"
		"its certainty:\n"
		"\n"
		"  certain    the data say so: the object itself, an Event, the audit log\n"
		"  likely     it follows from owner references and the order of events\n"
		"\n"
		"The last line says why the chain ends: somebody asked for it, or the tape does not show the\n"
		"cause. If a gap hides a step, the step says so. The names of users come from the audit log if\n"
		"'kubetape audit' has joined it, else managedFields name programs.\n"
		"\n" POSITION_HELP "\n"
		"  kubetape why X.tape pods/web-0 -n shop\n"
		"  kubetape why X.tape deploy/web -n shop --at 09:51:40 -o json",
	.options = rows,
	.exits = {[EXIT_LOSS] =
			  "done, but the position lies outside the tape, or the object was not watched then"},
	.run = why_run,
};
