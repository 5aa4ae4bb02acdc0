/* cmd_ctl.c: kubetape ctl. */
#include "replayer/control_client.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/commands.h"

#include <stdio.h>

struct values {
	bool json;
};

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "json", offsetof(struct values, json), "", "print the whole status as JSON"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* What can be said, and the parameter that its operand becomes. */
static const struct {
	const char *word, *action, *parameter;
	bool needs_operand;
} words[] = {
	{"status", "status", NULL, false},
	{"pause", "pause", NULL, false},
	{"resume", "resume", NULL, false},
	{"rewind", "rewind", NULL, false},
	{"step", "step", "count", false},
	{"speed", "speed", "value", true},
	{"seek", "seek", "to", true},
	{"until", "run", "until", true},
	{"until-event", "run", "when", true},
};

static void print_text(struct slice status, const char *path, const char *prefix)
{
	struct slice value;

	if (json_get(status, path, &value, NULL) <= 0)
		return;
	if (value.len >= 2 && value.ptr[0] == '"')
		value = (struct slice){value.ptr + 1, value.len - 2};
	fputs(prefix, stdout);
	visible_put(stdout, value);
}

/* "paused at event 282 of 747, 2026-11-21T09:51:31Z, speed 1, 3 watches" */
static void print_status(struct slice status)
{
	print_text(status, "state", "");
	print_text(status, "seq", " at event ");
	print_text(status, "last_seq", " of ");
	print_text(status, "time", ", ");
	print_text(status, "speed", ", speed ");
	print_text(status, "watches", ", watches ");
	putchar('\n');
}

static int ask(const struct operands *o, struct buf *to, struct err *err)
{
	const char *word = o->items[1], *operand = o->count > 2 ? o->items[2] : NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		if (operand && !words[i].parameter)
			return err_set(
				err, ERR_USAGE, "'%s' takes nothing behind it, found '%s'", word, operand);
		if (!operand && words[i].needs_operand)
			return err_set(err, ERR_USAGE, "'%s' wants something behind it", word);
		return control_ask(
			o->items[0], words[i].action, operand ? words[i].parameter : NULL, operand, to, err);
	}
	return err_set(err, ERR_USAGE,
		"unknown word '%s': expected status, pause, resume, rewind, step, speed, seek, until or until-event",
		word);
}

static int steer(void *values, const struct operands *operands, struct err *err)
{
	const struct values *v = values;
	struct buf status;
	int rc;

	buf_init(&status, LIMIT_DOCUMENT_BYTES);
	rc = ask(operands, &status, err);
	if (rc == 0 && v->json)
		visible_put_json(stdout, buf_slice(&status));
	else if (rc == 0)
		print_status(buf_slice(&status));
	buf_release(&status);
	return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct values v = {0};

	return command_run(self, argc, argv, &v, steer);
}

const struct command cmd_ctl = {
	.name = "ctl",
	.operands = "ADDR WORD [ARGUMENT]",
	.expects = {"an address and a word", 2, 3},
	.summary = "steer a running replay",
	.description =
		"ADDR is what the replay said it serves at. The words:\n\n"
		"  status               what it is doing\n"
		"  pause, resume        stop and start the clock\n"
		"  step [N]             apply the next event, or N, and pause\n"
		"  speed N|max          tape seconds for each second\n"
		"  seek POSITION        move there; clients list again where they must\n"
		"  rewind               move to the beginning\n"
		"  until POSITION       run, and pause there\n"
		"  until-event SQL      run, and pause behind the first event for which the expression over\n"
		"                       the columns of `events` is true\n\n"
		"Positions are those of 'kubetape replay'. The same over HTTP, with the status as the answer:\n\n"
		"  GET  ADDR/kubetape/v1/status\n"
		"  POST ADDR/kubetape/v1/pause  resume  rewind  step?count=N  speed?value=N|max\n"
		"       seek?to=POSITION  run?until=POSITION  run?when=SQL",
	.options = options,
	.run = run,
};
