/*
 * yaml_json.c: see yaml_json.h. The text is converted as the parser reads it, without a document in between:
 * libfyaml's own looks each key up among all before it, and keeps a kilobyte for each level.
 */
#include "replayer/json/yaml_json.h"

#include "replayer/json/json_tree.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

#include <libfyaml.h>
#include <stdlib.h>

#define BRACKETS_MAX     20000
#define BYTES_FOR_A_BYTE 8 /* a control character becomes \u0001, and a scalar has quotes and a comma */

struct level {
	bool is_mapping, has_key; /* has_key: a value is next */
	size_t count;
};

struct conversion {
	struct buf json;
	struct level levels[JSON_TREE_DEPTH_MAX + 1];
	size_t depth; /* levels that are open */
	size_t line;  /* of the last event, from 1 */
	struct err *err;
};

/* libfyaml would print what it does not understand. Its first words say where: "<memory-...>:4:1: error: ...". */
static void take_line(struct fy_diag *diag, void *user, const char *text, size_t len)
{
	const char *place = memmem(text, len, ">:", 2);
	size_t *line = user;

	(void)diag;
	if (!place || *line)
		return;
	for (place += 2; place < text + len && *place >= '0' && *place <= '9' && *line < 100000000; place++)
		*line = 10 * *line + (size_t)(*place - '0');
}

static struct fy_diag *silent_diag(size_t *line)
{
	struct fy_diag_cfg config;

	fy_diag_cfg_default(&config);
	config.fp = NULL;
	config.output_fn = take_line;
	config.user = line;
	return fy_diag_create(&config);
}

static size_t line_of_event(struct fy_event *event, size_t otherwise)
{
	const struct fy_mark *mark = event ? fy_event_start_mark(event) : NULL;

	return mark && mark->line >= 0 ? (size_t)mark->line + 1 : otherwise;
}

static int yaml_json_refuse(struct conversion *c, const char *problem)
{
	return err_set(c->err, ERR_PROTOCOL, "%s", problem);
}

static int yaml_json_put(struct conversion *c, const char *text)
{
	return buf_append(&c->json, text, strlen(text), c->err);
}

/* What stands before the next key or value. */
static int separate(struct conversion *c)
{
	struct level *in = c->depth ? &c->levels[c->depth - 1] : NULL;

	if (!in)
		return 0;
	if (in->is_mapping && in->has_key) {
		in->has_key = false;
		return yaml_json_put(c, ":");
	}
	in->has_key = in->is_mapping;
	return in->count++ ? yaml_json_put(c, ",") : 0;
}

static bool is_next_a_key(const struct conversion *c)
{
	return c->depth && c->levels[c->depth - 1].is_mapping && !c->levels[c->depth - 1].has_key;
}

static int open_level(struct conversion *c, bool is_mapping)
{
	int rc;

	if (is_next_a_key(c))
		return yaml_json_refuse(c, "a key is no text");
	if (c->depth == JSON_TREE_DEPTH_MAX)
		return err_set(c->err, ERR_TOO_LARGE, "YAML is nested more than %d levels deep",
			JSON_TREE_DEPTH_MAX);
	rc = separate(c);
	c->levels[c->depth++] = (struct level){.is_mapping = is_mapping};
	return rc ? rc : yaml_json_put(c, is_mapping ? "{" : "[");
}

static int close_level(struct conversion *c)
{
	return yaml_json_put(c, c->levels[--c->depth].is_mapping ? "}" : "]");
}

/* The JSON word that plain text stands for; NULL when it is a text or a number. */
static const char *word_of(struct slice text)
{
	static const char *const words[][5] = {{"null", "", "~", "Null", "NULL"},
		{"true", "true", "True", "TRUE", NULL}, {"false", "false", "False", "FALSE", NULL}};

	if (slice_is(text, "null"))
		return "null";
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		for (size_t k = 1; k < 5 && words[i][k]; k++) {
			if (slice_is(text, words[i][k]))
				return words[i][0];
		}
	}
	return NULL;
}

static int put_scalar(struct conversion *c, const struct fy_event_scalar_data *scalar)
{
	bool plain = !scalar->tag && (!scalar->value || fy_token_scalar_style(scalar->value) == FYSS_PLAIN) &&
		     !is_next_a_key(c);
	struct slice text = {NULL, 0};
	const char *word;
	int rc;

	if (scalar->value)
		text.ptr = fy_token_get_text(scalar->value, &text.len);
	rc = separate(c);
	word = plain ? word_of(text) : NULL;
	if (rc)
		return rc;
	if (word)
		return yaml_json_put(c, word);
	if (plain && json_tree_is_number(text))
		return buf_append(&c->json, text.ptr, text.len, c->err);
	return json_escape(text, &c->json, c->err);
}

static int convert_event(struct conversion *c, const struct fy_event *event)
{
	switch (event->type) {
	case FYET_MAPPING_START: return open_level(c, true);
	case FYET_SEQUENCE_START: return open_level(c, false);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END: return close_level(c);
	case FYET_SCALAR: return put_scalar(c, &event->scalar);
	case FYET_ALIAS: return yaml_json_refuse(c, "aliases are not read");
	default: return 0;
	}
}

/* Up to the end of the first document, and what follows it, which may be another one. */
static int convert(struct conversion *c, struct fy_parser *parser)
{
	bool is_whole = false, over = false;
	int rc = 0;

	while (rc == 0 && !over) {
		struct fy_event *event = fy_parser_parse(parser);

		c->line = line_of_event(event, c->line);
		over = is_whole;
		if (!event || (event->type == FYET_STREAM_END && !is_whole))
			rc = yaml_json_refuse(c, "not a YAML document");
		else if (!is_whole)
			rc = convert_event(c, event);
		is_whole = event && event->type == FYET_DOCUMENT_END;
		fy_parser_event_free(parser, event);
	}
	return rc ? rc : buf_append(&c->json, "", 1, c->err);
}

/* The parser reads all brackets that follow one another, keeping hundreds of bytes for each, before it tells
 * of the first one. Those in texts count, too: no document has so many that are left open. */
static bool has_too_many_brackets(struct slice text)
{
	long open = 0;

	for (size_t i = 0; i < text.len && open <= BRACKETS_MAX; i++) {
		char c = text.ptr[i];

		open += (c == '[' || c == '{') - (c == ']' || c == '}');
	}
	return open > BRACKETS_MAX;
}

int yaml_to_json(struct slice text, char **ret, struct err *err)
{
	size_t line;

	return yaml_to_json_line(text, ret, &line, err);
}

int yaml_to_json_line(struct slice text, char **ret, size_t *ret_line, struct err *err)
{
	size_t line = 0;
	struct fy_diag *diag = silent_diag(&line);
	const struct fy_parse_cfg config = {.flags = FYPCF_QUIET, .diag = diag};
	struct fy_parser *parser = fy_parser_create(&config);
	struct conversion c = {.err = err};
	int rc;

	buf_init(&c.json, BYTES_FOR_A_BYTE * text.len + 16);
	if (has_too_many_brackets(text))
		rc = err_set(err, ERR_TOO_LARGE, "more than %d brackets are open", BRACKETS_MAX);
	else if (!parser || fy_parser_set_string(parser, text.ptr ? text.ptr : "", text.len))
		rc = yaml_json_refuse(&c, "not a YAML document");
	else
		rc = convert(&c, parser);
	if (rc)
		*ret_line = line ? line : c.line;
	fy_parser_destroy(parser);
	fy_diag_unref(diag);
	if (rc) {
		buf_release(&c.json);
		return rc;
	}
	*ret = c.json.ptr;
	return 0;
}
