/* cmd_ctl.c: kubetape ctl. */
#include "replayer/control_client.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/cli/position_help.h"
#include "tools/commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ASK_AGAIN_NS (50 * NS_PER_MS)
#define ANSWER_NS    (60 * NS_PER_S) /* for one answer: a seek may have much to read */

struct values {
	bool json, wait;
	int64_t timeout_ns; /* 0: none */
};

static const struct option_row options[] = {
	{OPTION_FLAG, 0, "wait", offsetof(struct values, wait), "",
		"with until and until-event: return when the replay has paused there; exit with 3 if it never will"},
	{OPTION_DURATION, 0, "timeout", offsetof(struct values, timeout_ns), "DURATION",
		"give up after this time; with --wait also exit with 3. The limit for one answer is 60s"},
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
	{"view", "view", NULL, false},
};

/* Without the quotes of a string; empty when it is not there. */
static struct slice value_at(struct slice json, const char *path)
{
	struct slice value;

	if (json_get(json, path, &value, NULL) <= 0)
		return (struct slice){"", 0};
	if (value.len >= 2 && value.ptr[0] == '"')
		value = (struct slice){value.ptr + 1, value.len - 2};
	return value;
}

static void print_text(struct slice status, const char *path, const char *prefix)
{
	struct slice value = value_at(status, path);

	if (value.len == 0)
		return;
	fputs(prefix, stdout);
	visible_put(stdout, value);
}

static void print_event(struct slice event)
{
	print_text(event, "type", " (");
	print_text(event, "resource", " ");
	print_text(event, "apigroup", ".");
	print_text(event, "namespace", " ");
	print_text(event, "name", value_at(event, "namespace").len ? "/" : " ");
	print_text(event, "rv", " rv ");
	putchar(')');
}

/* "paused at event 282 of 747 (DELETED pods shop/web-1 rv 5321), 2026-11-21T09:51:31Z, speed 1, watches 3" */
static void print_status(struct slice status)
{
	struct slice event;

	print_text(status, "state", "");
	print_text(status, "seq", " at event ");
	print_text(status, "last_seq", " of ");
	if (json_get(status, "event", &event, NULL) > 0 && event.ptr[0] == '{')
		print_event(event);
	print_text(status, "time", ", ");
	print_text(status, "speed", ", speed ");
	print_text(status, "watches", ", watches ");
	putchar('\n');
}

static struct control_question question_to(const struct values *v, const char *address)
{
	return (struct control_question){.address = address,
		.timeout_ns = v->timeout_ns && v->timeout_ns < ANSWER_NS ? v->timeout_ns : ANSWER_NS};
}

static int ctl_ask(const struct values *v, const struct operands *o, struct buf *to, struct err *err)
{
	const char *word = o->items[1], *operand = o->count > 2 ? o->items[2] : NULL;
	struct control_question q = question_to(v, o->items[0]);

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strcmp(words[i].word, word) != 0)
			continue;
		if (operand && !words[i].parameter)
			return err_set(
				err, ERR_USAGE, "'%s' takes nothing after it, found '%s'", word, operand);
		if (!operand && words[i].needs_operand)
			return err_set(err, ERR_USAGE, "'%s' wants something after it", word);
		q.action = words[i].action;
		q.name = operand ? words[i].parameter : NULL;
		q.value = operand;
		return control_ask(&q, to, err);
	}
	return err_set(err, ERR_USAGE,
		"unknown word '%s': expected status, pause, resume, rewind, step, speed, seek, until, until-event or view",
		word);
}

/* ---- waiting ---- */

/* Whether a stop of that number can still come: 1 not yet, 0 it has, ERR_STOPPED never. */
static int look_for_stop(struct slice status, struct slice number, struct err *err)
{
	struct slice state = value_at(status, "state"), stop = value_at(status, "stop.state");

	if (!slice_equal(value_at(status, "stop.number"), number))
		return err_set(err, ERR_STOPPED, "the replay was told to pause elsewhere");
	if (slice_is(stop, "reached"))
		return 0;
	if (slice_is(stop, "failed"))
		return err_set(err, ERR_STOPPED,
			"the replay paused where the expression cannot be computed: event %.*s",
			(int)value_at(status, "seq").len, value_at(status, "seq").ptr);
	if (slice_is(state, "ended") || slice_is(state, "failed"))
		return err_set(err, ERR_STOPPED, "the tape ended before");
	return 1;
}

static int wait_for_stop(const struct values *v, const char *address, struct buf *status, struct err *err)
{
	static const struct timespec pause = {0, ASK_AGAIN_NS};
	int64_t begin_ns = clock_mono_ns(&clock_system);
	char *number = slice_dup(value_at(buf_slice(status), "stop.number"));
	struct control_question q = question_to(v, address);
	int rc;

	q.action = "status";
	while ((rc = look_for_stop(buf_slice(status), slice_of(number), err)) > 0) {
		if (v->timeout_ns && clock_mono_ns(&clock_system) - begin_ns >= v->timeout_ns) {
			rc = err_set(err, ERR_STOPPED, "the replay did not get there in time");
			break;
		}
		nanosleep(&pause, NULL);
		buf_clear(status);
		rc = control_ask(&q, status, err);
		if (rc < 0)
			break;
	}
	free(number);
	return rc;
}

static int ctl_check(const struct values *v, const struct operands *o, struct err *err)
{
	bool until = strncmp(o->items[1], "until", 5) == 0;

	if (v->wait && !until)
		return err_set(err, ERR_USAGE, "'--wait' goes with until and until-event");
	return 0;
}

/* That the position which was asked for is a guess. */
static int tell_notice(const struct operands *o, struct slice status)
{
	struct slice notice = value_at(status, "notice");
	bool asked = strcmp(o->items[1], "seek") == 0 || strcmp(o->items[1], "until") == 0;

	if (!asked || notice.len == 0 || slice_is(notice, "null"))
		return EXIT_OK;
	fputs("kubetape ctl: ", stderr);
	visible_put(stderr, notice);
	fputc('\n', stderr);
	return EXIT_LOSS;
}

static void print_answer(const struct values *v, const char *word, struct slice status)
{
	if (!v->json && strcmp(word, "view") == 0) {
		print_text(status, "view", "");
		putchar('\n');
		return;
	}
	if (!v->json) {
		print_status(status);
		return;
	}
	visible_put_json(stdout, status);
	putchar('\n');
}

/* That a position was not reached is an answer, and no failure. */
static int wait_and_tell(
	const struct values *v, const struct operands *o, struct buf *status, struct err *err)
{
	struct err why;
	int rc = wait_for_stop(v, o->items[0], status, &why);

	if (rc < 0 && rc != ERR_STOPPED)
		return err_copy(err, &why);
	print_answer(v, o->items[1], buf_slice(status));
	if (rc == 0)
		return EXIT_OK;
	fprintf(stderr, "kubetape ctl: %s\n", why.text);
	return EXIT_LOSS;
}

static int steer(void *values, const struct operands *o, struct err *err)
{
	const struct values *v = values;
	struct buf status;
	int rc = ctl_check(v, o, err);

	signal(SIGPIPE, SIG_IGN); /* a replay that closes early is no reason to end without a word */
	buf_init(&status, LIMIT_DOCUMENT_BYTES);
	if (rc == 0)
		rc = ctl_ask(v, o, &status, err);
	if (rc == 0 && v->wait)
		rc = wait_and_tell(v, o, &status, err);
	else if (rc == 0)
		print_answer(v, o->items[1], buf_slice(&status));
	if (rc == 0)
		rc = tell_notice(o, buf_slice(&status));
	buf_release(&status);
	return rc;
}

static int ctl_run(const struct command *self, int argc, char **argv)
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
		"ADDR is the control address that the replay printed, with its token. On the same machine, for the\n"
		"same user, the address at which it serves works as well, or the port alone. The words:\n"
		"\n"
		"  status               show what it is doing\n"
		"  pause, resume        stop and start the clock\n"
		"  step [N]             apply the next event, or N, and pause\n"
		"  speed N|max          tape seconds for each second\n"
		"  seek POSITION        move there; clients list again where they must\n"
		"  rewind               move to the beginning\n"
		"  until POSITION       run, and pause there\n"
		"  until-event SQL      run, and pause after the first event for which the expression over\n"
		"                       the columns of `events` is true\n"
		"  view                 open the page with the replay's desk, as --view does, and print its address\n"
		"\n"
		"Each but the last prints the replay's position and event after that. until and until-event\n"
		"return at once, or with --wait when the replay has paused there.\n"
		"\n" POSITION_HELP "\nThe same over HTTP, with the token as 'token=T' in the query or as\n"
		"'Authorization: Bearer T', and the status as the answer:\n\n"
		"  GET  URL/kubetape/v1/status\n"
		"  POST URL/kubetape/v1/pause  resume  rewind  step?count=N  speed?value=N|max\n"
		"       seek?to=POSITION  run?until=POSITION  run?when=SQL  view",
	.options = options,
	.exits =
		{
			[EXIT_OK] = "done; with --wait, the replay has paused there",
			[EXIT_FAILED] = "nobody answers at ADDR, and a sentence on standard error says so",
			[EXIT_LOSS] =
				"the position lies outside the tape or the replay: it went to the nearest; or --wait waited in vain: "
				"the tape ended before, the time was over, or another client told the replay to pause elsewhere",
		},
	.run = ctl_run,
};
