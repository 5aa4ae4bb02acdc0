/* mcp_call.c: see mcp_call.h. */
#include "tools/mcp/mcp_call.h"

#include "replayer/json/json_tree.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/tape/position.h"
#include "schema/tape/reader.h"
#include "tools/mcp/mcp_tools.h"

#include <stdlib.h>

/* ---- what an answer stands on ---- */

/* argument: NULL for an end of the tape. */
static void add_position(cJSON *list, struct tape *t, const char *argument, const char *text)
{
	struct tape_position p;
	char time[TIME_TEXT_BYTES];
	cJSON *item;

	if (tape_position_find(t, text, &p, NULL))
		return; /* the command says why */
	time_format(time, p.time_ns);
	item = cJSON_CreateObject();
	if (argument)
		cJSON_AddStringToObject(item, "argument", argument);
	cJSON_AddStringToObject(item, "position", text);
	cJSON_AddNumberToObject(item, "seq", (double)p.seq);
	cJSON_AddStringToObject(item, "time", time);
	cJSON_AddItemToArray(list, item);
}

static void add_positions(cJSON *list, struct tape *t, const struct mcp_tool *tool, const cJSON *arguments)
{
	char text[MCP_NUMBER_BYTES];

	for (const struct mcp_argument *a = tool->arguments; a->kind != MCP_END; a++) {
		const cJSON *value = json_tree_at(arguments, a->name, NULL);

		if (a->is_position && cJSON_IsString(value))
			add_position(list, t, a->name, value->valuestring);
		else if (a->is_position && mcp_number_text(value, text))
			add_position(list, t, a->name, text);
	}
	add_position(list, t, NULL, "start");
	add_position(list, t, NULL, "end");
}

/* Those of the arguments, and the tape's ends as they were before the command ran: of a tape that is being recorded the
 * command may have seen more. */
static cJSON *describe_positions(const char *tape, const struct mcp_tool *tool, const cJSON *arguments)
{
	cJSON *list = cJSON_CreateArray();
	struct tape *t;

	if (tape_open(tape, &t, NULL) == 0) {
		add_positions(list, t, tool, arguments);
		tape_close(t);
	}
	return list;
}

/* ---- results ---- */

static void add_lines(cJSON *list, struct slice text)
{
	while (text.ptr && text.len) {
		char *line = slice_dup(slice_cut(&text, '\n'));

		if (*line)
			cJSON_AddItemToArray(list, cJSON_CreateString(line));
		free(line);
	}
}

static bool has_failed(const struct mcp_output *o)
{
	return o->exit_code != 0 && o->exit_code != 3 && !(o->cut && o->text.len);
}

static cJSON *describe_output(
	const char *tape, cJSON *positions, const struct mcp *m, const struct mcp_output *o)
{
	cJSON *about = cJSON_CreateObject();

	cJSON_AddStringToObject(about, "tape", tape);
	cJSON_AddItemToObject(about, "positions", positions);
	cJSON_AddBoolToObject(about, "is_cut", o->cut != NULL);
	if (o->cut) {
		cJSON_AddStringToObject(about, "cut_by", o->cut);
		cJSON_AddNumberToObject(about, "most_rows", (double)m->bounds.lines);
		cJSON_AddNumberToObject(about, "most_bytes", (double)m->bounds.bytes);
		cJSON_AddNumberToObject(about, "most_seconds", (double)m->bounds.time_ns / NS_PER_S);
	}
	cJSON_AddBoolToObject(about, "something_is_unknown", o->exit_code == 3);
	add_lines(cJSON_AddArrayToObject(about, "remarks"), buf_slice(&o->errors));
	return about;
}

/* What there is to read: of a command that failed, why. */
static struct slice text_of(const struct mcp_output *o)
{
	if (!has_failed(o) || o->text.len)
		return buf_slice(&o->text);
	return o->cut ? slice_of("there was no answer in the time that a call has") : buf_slice(&o->errors);
}

static int print_result(const struct mcp_output *o, const cJSON *about, struct buf *to, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, to->max);
	rc = json_tree_print(about, &text, err);
	if (!rc)
		rc = buf_printf(to, err, "{\"content\":[{\"type\":\"text\",\"text\":");
	if (!rc)
		rc = json_escape(text_of(o), to, err);
	if (!rc)
		rc = buf_printf(to, err, "},{\"type\":\"text\",\"text\":");
	if (!rc)
		rc = json_escape(buf_slice(&text), to, err);
	if (!rc)
		rc = buf_printf(to, err, "}],\"structuredContent\":%.*s,\"isError\":%s}", (int)text.len,
			text.ptr, has_failed(o) ? "true" : "false");
	buf_release(&text);
	return rc;
}

/* For a model that may call again, better: what is wrong with its arguments. */
static int print_refusal(const char *why, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "{\"content\":[{\"type\":\"text\",\"text\":");

	if (!rc)
		rc = json_escape(slice_of(why), to, err);
	return rc ? rc : buf_printf(to, err, "}],\"isError\":true}");
}

/* ---- calls ---- */

static int choose_tape(const struct mcp *m, const cJSON *arguments, const char **ret, struct err *err)
{
	const cJSON *named = json_tree_at(arguments, "tape", NULL);

	*ret = m->tapes[0];
	if (!named)
		return 0;
	for (size_t i = 0; i < m->tape_count && cJSON_IsString(named); i++) {
		*ret = m->tapes[i];
		if (strcmp(named->valuestring, m->tapes[i]) == 0)
			return 0;
	}
	return err_set(err, ERR_USAGE, "argument 'tape' names none of the tapes that are served");
}

static int run_call(const struct mcp *m, const struct mcp_tool *tool, const char *tape,
	const cJSON *arguments, const struct mcp_line *line, struct buf *to, struct err *err)
{
	cJSON *about = describe_positions(tape, tool, arguments);
	struct mcp_output output;
	int rc;

	mcp_output_init(&output, &m->bounds);
	rc = mcp_child_run(line->words, &m->bounds, &output, err);
	about = describe_output(tape, about, m, &output);
	if (!rc)
		rc = print_result(&output, about, to, err);
	cJSON_Delete(about);
	mcp_output_release(&output);
	return rc;
}

int mcp_call(const struct mcp *m, const cJSON *params, struct buf *to, struct err *err)
{
	const cJSON *arguments = json_tree_at(params, "arguments", NULL);
	const char *name = json_tree_text(params, "name"), *tape;
	const struct mcp_tool *tool = mcp_tool_find(name);
	struct mcp_line line;
	struct err why = {0};
	int rc;

	if (!tool)
		return err_set(err, ERR_USAGE, "there is no tool '%s'", name);
	if (arguments && !cJSON_IsObject(arguments))
		return err_set(err, ERR_USAGE, "the arguments are no object");
	if (choose_tape(m, arguments, &tape, &why) || mcp_line_make(tool, tape, arguments, &line, &why))
		return print_refusal(why.text, to, err);
	rc = run_call(m, tool, tape, arguments, &line, to, err);
	mcp_line_release(&line);
	return rc;
}
