/* json_indent.c: see json_indent.h. */
#include "schema/base/json_indent.h"

static int new_line(unsigned depth, struct buf *to, struct err *err)
{
	int rc = buf_append(to, "\n", 1, err);

	while (depth-- && rc == 0)
		rc = buf_append(to, "  ", 2, err);
	return rc;
}

static int json_indent_put(struct buf *to, char c, struct err *err)
{
	return buf_append(to, &c, 1, err);
}

static int inside_string(struct json_indent *j, char c, struct buf *to, struct err *err)
{
	if (j->escaped)
		j->escaped = false;
	else if (c == '\\')
		j->escaped = true;
	else if (c == '"')
		j->in_string = false;
	return json_indent_put(to, c, err);
}

static int close_bracket(struct json_indent *j, char c, struct buf *to, struct err *err)
{
	int rc = 0;

	if (j->depth)
		j->depth--;
	if (!j->opened)
		rc = new_line(j->depth, to, err);
	j->opened = false;
	return rc ? rc : json_indent_put(to, c, err);
}

static int feed_char(struct json_indent *j, char c, struct buf *to, struct err *err)
{
	int rc = 0;

	if (j->in_string)
		return inside_string(j, c, to, err);
	if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
		return 0;
	if (c == '}' || c == ']')
		return close_bracket(j, c, to, err);
	if (j->opened)
		rc = new_line(j->depth, to, err);
	j->opened = c == '{' || c == '[';
	j->depth += j->opened;
	j->in_string = c == '"';
	if (rc == 0)
		rc = json_indent_put(to, c, err);
	if (rc == 0 && c == ',')
		rc = new_line(j->depth, to, err);
	if (rc == 0 && c == ':')
		rc = json_indent_put(to, ' ', err);
	return rc;
}

int json_indent_feed(struct json_indent *j, struct slice in, struct buf *to, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < in.len && rc == 0; i++)
		rc = feed_char(j, in.ptr[i], to, err);
	return rc;
}
