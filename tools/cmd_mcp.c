/* cmd_mcp.c: `kubetape mcp`: tapes for programs that speak the Model Context Protocol. */
#include "schema/base/clock.h"
#include "schema/tape/reader.h"
#include "tools/commands.h"
#include "tools/mcp/mcp.h"

#define ROWS_MAX    100000
#define BYTES_MAX   (16ll << 20)
#define SECONDS_MAX 600

struct mcp_options {
	int64_t rows, bytes, time_ns;
};

static const struct option_row rows[] = {
	{OPTION_NUMBER, 0, "rows", offsetof(struct mcp_options, rows), "N",
		"the most lines of an answer (default: 200)"},
	{OPTION_BYTES, 0, "bytes", offsetof(struct mcp_options, bytes), "SIZE",
		"the most bytes of an answer (default: 64k)"},
	{OPTION_DURATION, 0, "time-limit", offsetof(struct mcp_options, time_ns), "DURATION",
		"end a call that takes longer (default: 20s)"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static int check_bounds(const struct mcp_options *o, struct err *err)
{
	if (o->rows < 1 || o->rows > ROWS_MAX)
		return err_set(err, ERR_USAGE, "option '--rows' is %lld, expected 1 to %d",
			(long long)o->rows, ROWS_MAX);
	if (o->bytes < 1 || o->bytes > BYTES_MAX)
		return err_set(err, ERR_USAGE, "option '--bytes' is %lld, expected 1 to %lld",
			(long long)o->bytes, (long long)BYTES_MAX);
	if (o->time_ns < 1 || o->time_ns > SECONDS_MAX * NS_PER_S)
		return err_set(err, ERR_USAGE, "option '--time-limit' is no time of up to %d s", SECONDS_MAX);
	return 0;
}

/* What cannot be read is better known now than by a client later. */
static int check_tapes(const struct operands *operands, struct err *err)
{
	struct tape *t;
	int rc = 0;

	for (size_t i = 0; i < operands->count && rc == 0; i++) {
		rc = tape_open(operands->items[i], &t, err);
		if (rc == 0)
			tape_close(t);
	}
	return rc;
}

static int serve(void *values, const struct operands *operands, struct err *err)
{
	const struct mcp_options *o = values;
	struct mcp m = {.tapes = operands->items,
		.tape_count = operands->count,
		.bounds = {(uint64_t)o->rows, (uint64_t)o->bytes, o->time_ns}};
	int rc = check_bounds(o, err);

	if (!rc)
		rc = check_tapes(operands, err);
	return rc ? rc : mcp_serve(&m, err);
}

static int mcp_run(const struct command *self, int argc, char **argv)
{
	struct mcp_options o = {.rows = 200, .bytes = 64 << 10, .time_ns = 20 * NS_PER_S};

	return command_run(self, argc, argv, &o, serve);
}

const struct command cmd_mcp = {
	.name = "mcp",
	.operands = "TAPE...",
	.expects = {"a tape or more", 1, 100},
	.summary = "serve tapes to programs that speak the Model Context Protocol",
	.description =
		"Speaks the Model Context Protocol over stdin and stdout, for the program of a language model to\n"
		"start. Its tools are commands that only read: info, query, get, log, events, diff_state, why,\n"
		"gaps. Each answer has bounds. It says whether it was cut, on which events and times of the\n"
		"tape it is based, and what the tape cannot know. The server ends with stdin.\n"
		"\n"
		"The instructions to the client say that a tape is data that others wrote. The client can write\n"
		"nothing, and read no other file. It sees all of the tape: use 'kubetape cut' or 'anonymize' to\n"
		"make one with less.\n"
		"\n"
		"  {\"mcpServers\": {\"kubetape\": {\"command\": \"kubetape\", \"args\": [\"mcp\", \"X.tape\"]}}}",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] = "",
		},
	.run = mcp_run,
};
