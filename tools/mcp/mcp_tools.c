/* mcp_tools.c: see mcp_tools.h. */
#include "tools/mcp/mcp_tools.h"

#include "replayer/json/json_tree.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define POSITIONS                                                                                              \
	"a time (RFC 3339, or a time of day such as 09:51:40), the number of an event, pods@RESOURCEVERSION, " \
	"start, end, -5m before the end or +30s after the start"

#define NAMESPACE                                                                                            \
	{                                                                                                    \
		MCP_TEXT, "namespace", "namespace", NULL, false, false,                                      \
			"only this namespace; without it all"                                                \
	}
#define FROM                                                                                                 \
	{                                                                                                    \
		MCP_TEXT, "from", "from", NULL, false, true,                                                 \
			"only what happened after this position: " POSITIONS                                 \
	}
#define UNTIL                                                                                                \
	{                                                                                                    \
		MCP_TEXT, "until", "until", NULL, false, true, "only what had happened at this position"     \
	}

static const struct mcp_argument info_arguments[] = {{.kind = MCP_END}};
static const struct mcp_argument query_arguments[] = {
	{MCP_SQL, "sql", NULL, NULL, true, false,
		"one SELECT in SQLite's SQL. Tables: events (seq, time, type, origin, apigroup, resource, namespace, name, "
		"uid, rv, object), objects (live at the end; objects('12:03:05') at a position), changes (one row a "
		"field that changed), audit (who asked for which event, if an audit log was joined; events and changes "
		"then also have user, user_agent, source_ip and verb, NULL where it is not known), gaps, missed, coverage, connections, marks, streams, documents. "
		"jget(object, '$.status.phase') reads a value. ORDER BY seq is the order of arrival"},
	{.kind = MCP_END}};
static const struct mcp_argument get_arguments[] = {
	{MCP_OPERAND, "resource", NULL, NULL, true, false,
		"as kubectl takes it: pods, deploy/web, deployments.apps, several separated by commas"},
	NAMESPACE, {MCP_TEXT, "at", "at", NULL, false, true, "the position (default: the end): " POSITIONS},
	{MCP_TEXT, "selector", "selector", NULL, false, false, "only objects with these labels: app=web"},
	{MCP_CHOICE, "output", "output", "table|wide|name|yaml|json", false, false, "default: table"},
	{.kind = MCP_END}};
static const struct mcp_argument log_arguments[] = {
	{MCP_OPERAND, "object", NULL, NULL, true, false, "RESOURCE/NAME, such as deploy/web, or a UID"},
	NAMESPACE, FROM, UNTIL,
	{MCP_FLAG, "with_owned", "with-owned", NULL, false, false,
		"also what the object owns: ReplicaSets, Pods, also deleted ones"},
	{MCP_FLAG, "all_fields", "all-fields", NULL, false, false, "also managedFields and resourceVersion"},
	{.kind = MCP_END}};
static const struct mcp_argument events_arguments[] = {
	{MCP_OPERAND, "objects", NULL, NULL, false, false,
		"RESOURCE or RESOURCE/NAME-PATTERN: 'pods', 'pods/web-*' (default: all)"},
	NAMESPACE, FROM, UNTIL,
	{MCP_FLAG, "all", "all", NULL, false, false, "also Events, leases, endpoints and endpoint slices"},
	{.kind = MCP_END}};
static const struct mcp_argument diff_arguments[] = {
	{MCP_OPERAND, "from", NULL, NULL, true, true, "the first position: " POSITIONS},
	{MCP_OPERAND, "until", NULL, NULL, false, true, "the second position (default: the end)"}, NAMESPACE,
	{MCP_TEXT, "resource", "resource", NULL, false, false, "only these resources: pods,deploy"},
	{.kind = MCP_END}};
static const struct mcp_argument why_arguments[] = {
	{MCP_OPERAND, "object", NULL, NULL, true, false, "RESOURCE/NAME, such as pods/web-0, or a UID"},
	NAMESPACE, {MCP_TEXT, "at", "at", NULL, false, true, "as it was at this position (default: the end)"},
	{.kind = MCP_END}};
static const struct mcp_argument gaps_arguments[] = {
	{MCP_FLAG, "lossy", "lossy", NULL, false, false, "only gaps that hid something, or never ended"},
	{.kind = MCP_END}};

static const struct mcp_tool tools[] = {
	{"info", "info", {NULL}, "What the tape holds: time span, resources, numbers of events, gaps.",
		info_arguments},
	{"query", "query", {"--format=ndjson"}, "Runs SQL over the tape; one JSON object a row.",
		query_arguments},
	{"get", "get", {NULL}, "What `kubectl get` would have shown at a position.", get_arguments},
	{"log", "log", {"--color=never"},
		"The history of one object: each event with the fields it changed, old and new, who wrote them, and the user who asked "
		"for it where an audit log was joined.",
		log_arguments},
	{"events", "events", {"--color=never"},
		"A line for each event, the oldest first: when, its number, which object, what it changed and by whom.",
		events_arguments},
	{"diff_state", "diff-state", {"--color=never"},
		"Which objects were added, deleted or changed between two positions, their fields, who wrote them, and who asked for it "
		"where an audit log was joined.",
		diff_arguments},
	{"why", "why", {"--color=never"},
		"What is the matter with an object, and the chain of causes, each with its event and how sure it is.",
		why_arguments},
	{"gaps", "gaps", {NULL},
		"When which resource was not watched, why, and what turned out to be missed.",
		gaps_arguments},
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(tools); i++) {
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	}
	return NULL;
}

/* ---- what clients see ---- */

static cJSON *choices(const char *words)
{
	cJSON *list = cJSON_CreateArray();
	struct slice rest = slice_of(words);

	while (rest.ptr) {
		char *word = slice_dup(slice_cut(&rest, '|'));

		cJSON_AddItemToArray(list, cJSON_CreateString(word));
		free(word);
	}
	return list;
}

static cJSON *describe_argument(const struct mcp_argument *a)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "type", a->kind == MCP_FLAG ? "boolean" : "string");
	cJSON_AddStringToObject(schema, "description", a->help);
	if (a->kind == MCP_CHOICE)
		cJSON_AddItemToObject(schema, "enum", choices(a->words));
	return schema;
}

static void describe_tapes(cJSON *properties, char *const *tapes, size_t count)
{
	cJSON *schema = cJSON_AddObjectToObject(properties, "tape"), *list;

	cJSON_AddStringToObject(schema, "type", "string");
	cJSON_AddStringToObject(schema, "description", "which of the tapes (default: the first)");
	list = cJSON_AddArrayToObject(schema, "enum");
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(tapes[i]));
}

static cJSON *describe(const struct mcp_tool *t, char *const *tapes, size_t tape_count)
{
	cJSON *tool = cJSON_CreateObject(), *schema, *properties, *required, *hints;

	cJSON_AddStringToObject(tool, "name", t->name);
	cJSON_AddStringToObject(tool, "description", t->help);
	schema = cJSON_AddObjectToObject(tool, "inputSchema");
	cJSON_AddStringToObject(schema, "type", "object");
	properties = cJSON_AddObjectToObject(schema, "properties");
	required = cJSON_AddArrayToObject(schema, "required");
	cJSON_AddBoolToObject(schema, "additionalProperties", false);
	if (tape_count > 1)
		describe_tapes(properties, tapes, tape_count);
	for (const struct mcp_argument *a = t->arguments; a->kind != MCP_END; a++) {
		cJSON_AddItemToObject(properties, a->name, describe_argument(a));
		if (a->is_required)
			cJSON_AddItemToArray(required, cJSON_CreateString(a->name));
	}
	hints = cJSON_AddObjectToObject(tool, "annotations");
	cJSON_AddBoolToObject(hints, "readOnlyHint", true);
	cJSON_AddBoolToObject(hints, "openWorldHint", false);
	return tool;
}

int mcp_tools_print(char *const *tapes, size_t tape_count, struct buf *to, struct err *err)
{
	cJSON *list = cJSON_CreateArray();
	int rc;

	for (size_t i = 0; i < COUNT_OF(tools); i++)
		cJSON_AddItemToArray(list, describe(&tools[i], tapes, tape_count));
	rc = json_tree_print(list, to, err);
	cJSON_Delete(list);
	return rc;
}

/* ---- command lines ---- */

void mcp_line_release(struct mcp_line *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->words[i]);
	*l = (struct mcp_line){.count = 0};
}

/* Takes the word over. */
static void add_word(struct mcp_line *l, char *word)
{
	l->words[l->count++] = word;
}

static bool is_choice(const char *words, const char *text)
{
	struct slice rest = slice_of(words);

	while (rest.ptr) {
		if (slice_is(slice_cut(&rest, '|'), text))
			return true;
	}
	return false;
}

/* A word that begins with a dash would be an option, unless it is "-5m". */
static bool is_option(const struct mcp_argument *a, const char *text)
{
	return text[0] == '-' && !(a->is_position && isdigit((unsigned char)text[1]));
}

static int add_text(struct mcp_line *l, const struct mcp_argument *a, const char *text, struct err *err)
{
	if (a->kind == MCP_CHOICE && !is_choice(a->words, text))
		return err_set(
			err, ERR_USAGE, "argument '%s' is '%s', expected one of %s", a->name, text, a->words);
	if (a->kind == MCP_OPERAND && (!*text || is_option(a, text)))
		return err_set(err, ERR_USAGE, "argument '%s' is '%s', which names nothing", a->name, text);
	if (a->kind == MCP_SQL)
		add_word(l, xasprintf(" %s", text));
	else if (a->kind == MCP_OPERAND)
		add_word(l, xstrdup(text));
	else
		add_word(l, xasprintf("--%s=%s", a->option, text));
	return 0;
}

bool mcp_number_text(const cJSON *value, char to[MCP_NUMBER_BYTES])
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0 && value->valuedouble < 1e15))
		return false;
	snprintf(to, MCP_NUMBER_BYTES, "%.0f", value->valuedouble);
	return true;
}

static int add_argument(struct mcp_line *l, const struct mcp_argument *a, const cJSON *value, struct err *err)
{
	char number[MCP_NUMBER_BYTES];

	if (a->kind == MCP_FLAG && cJSON_IsBool(value)) {
		if (cJSON_IsTrue(value))
			add_word(l, xasprintf("--%s", a->option));
		return 0;
	}
	if (a->kind != MCP_FLAG && cJSON_IsString(value))
		return add_text(l, a, value->valuestring, err);
	if (a->is_position && mcp_number_text(value, number))
		return add_text(l, a, number, err);
	return err_set(
		err, ERR_USAGE, "argument '%s' is no %s", a->name, a->kind == MCP_FLAG ? "boolean" : "text");
}

static bool is_argument(const struct mcp_tool *tool, const char *name)
{
	for (const struct mcp_argument *a = tool->arguments; a->kind != MCP_END; a++) {
		if (strcmp(a->name, name) == 0)
			return true;
	}
	return strcmp(name, "tape") == 0;
}

static int refuse_unknown(const struct mcp_tool *tool, const cJSON *arguments, struct err *err)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, arguments)
	{
		if (!is_argument(tool, item->string))
			return err_set(err, ERR_USAGE, "the tool '%s' has no argument '%s'", tool->name,
				item->string);
	}
	return 0;
}

int mcp_line_make(const struct mcp_tool *tool, const char *tape, const cJSON *arguments, struct mcp_line *ret,
	struct err *err)
{
	struct mcp_line l = {.count = 0};
	int rc = refuse_unknown(tool, arguments, err);

	add_word(&l, xstrdup("kubetape"));
	add_word(&l, xstrdup(tool->command));
	for (size_t i = 0; i < COUNT_OF(tool->fixed) && tool->fixed[i]; i++)
		add_word(&l, xstrdup(tool->fixed[i]));
	add_word(&l, xstrdup(tape));
	for (const struct mcp_argument *a = tool->arguments; a->kind != MCP_END && rc == 0; a++) {
		const cJSON *value = json_tree_at(arguments, a->name, NULL);

		if (value && !cJSON_IsNull(value))
			rc = add_argument(&l, a, value, err);
		else if (a->is_required)
			rc = err_set(
				err, ERR_USAGE, "the tool '%s' needs the argument '%s'", tool->name, a->name);
	}
	if (rc)
		mcp_line_release(&l);
	else
		*ret = l;
	return rc;
}
