/* get_output.c: see get_output.h. */
#include "tools/get/get_output.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "schema/base/yaml_out.h"
#include "tools/get/custom_columns.h"
#include "tools/get/go_value.h"
#include "tools/get/json_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum get_form { GET_JSON, GET_YAML, GET_PATH, GET_COLUMNS };

struct get_output {
	enum get_form form;
	bool managed;
	struct json_path *path;
	struct custom_columns *columns;
	struct buf items; /* of a list, with commas; of YAML each a document */
	size_t count;
};

static const char list_head[] = "{\"apiVersion\":\"v1\",\"items\":[";
static const char list_end[] = "],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}";

static int get_output_parse(struct get_output *o, const char *words, struct err *err)
{
	struct slice rest = slice_of(words);

	if (slice_skip(&rest, "jsonpath=")) {
		o->form = GET_PATH;
		return json_path_parse(rest.ptr, &o->path, err);
	}
	if (slice_skip(&rest, "custom-columns=")) {
		o->form = GET_COLUMNS;
		return custom_columns_new(rest.ptr, &o->columns, err);
	}
	o->form = strcmp(words, "yaml") == 0 ? GET_YAML : GET_JSON;
	if (o->form == GET_YAML || strcmp(words, "json") == 0)
		return 0;
	return err_set(
		err, ERR_USAGE, "option '--output' wants one of %s, found '%s'", GET_OUTPUT_WORDS, words);
}

int get_output_new(const char *words, bool managed, struct get_output **ret, struct err *err)
{
	struct get_output *o;
	int rc;

	*ret = NULL;
	if (strcmp(words, "table") == 0 || strcmp(words, "wide") == 0 || strcmp(words, "name") == 0)
		return 0;
	o = xcalloc(1, sizeof(*o));
	o->managed = managed;
	buf_init(&o->items, LIMIT_LIST_BYTES);
	rc = get_output_parse(o, words, err);
	if (rc)
		get_output_free(o);
	else
		*ret = o;
	return rc;
}

void get_output_free(struct get_output *o)
{
	if (!o)
		return;
	json_path_free(o->path);
	custom_columns_free(o->columns);
	buf_release(&o->items);
	free(o);
}

/* ---- objects ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The member that has this value, its name and one comma included, as json_get() found it in `json`. */
static struct slice member_of(struct slice json, struct slice value)
{
	const char *begin = value.ptr, *end = value.ptr + value.len;

	while (is_space(begin[-1]) || begin[-1] == ':')
		begin--;
	for (begin--; begin[-1] != '"'; begin--)
		;
	begin--;
	while (end < json.ptr + json.len && is_space(*end))
		end++;
	if (*end == ',')
		return (struct slice){begin, (size_t)(end + 1 - begin)};
	while (is_space(begin[-1]))
		begin--;
	begin -= begin[-1] == ',';
	return (struct slice){begin, (size_t)(end - begin)};
}

/* Without metadata.managedFields. */
static int append_plain(struct buf *to, struct slice object, struct err *err)
{
	struct slice value, member;
	int found = json_get(object, "$.metadata.managedFields", &value, err), rc;

	if (found < 0)
		return found;
	if (!found)
		return buf_append(to, object.ptr, object.len, err);
	member = member_of(object, value);
	rc = buf_append(to, object.ptr, (size_t)(member.ptr - object.ptr), err);
	if (rc)
		return rc;
	member.ptr += member.len;
	return buf_append(to, member.ptr, (size_t)(object.ptr + object.len - member.ptr), err);
}

static int append_yaml(struct get_output *o, struct slice object, struct err *err)
{
	struct buf sorted;
	int rc;

	buf_init(&sorted, LIMIT_LIST_BYTES);
	rc = go_json_put(object, 0, 0, &sorted, err);
	if (!rc && o->count)
		puts("---");
	if (!rc)
		rc = yaml_out(stdout, buf_slice(&sorted), 0, err);
	buf_release(&sorted);
	return rc;
}

int get_output_add(struct get_output *o, struct slice object, struct err *err)
{
	struct buf plain;
	int rc;

	if (o->form == GET_COLUMNS)
		return custom_columns_add(o->columns, object, err);
	buf_init(&plain, LIMIT_LIST_BYTES);
	if (o->managed || o->form == GET_PATH)
		rc = buf_append(&plain, object.ptr, object.len, err);
	else
		rc = append_plain(&plain, object, err);
	if (!rc && o->form == GET_YAML)
		rc = append_yaml(o, buf_slice(&plain), err);
	else if (!rc && o->count)
		rc = buf_append(&o->items, ",", 1, err);
	if (!rc && o->form != GET_YAML)
		rc = buf_append(&o->items, plain.ptr, plain.len, err);
	o->count++;
	buf_release(&plain);
	return rc;
}

/* ---- the whole ---- */

/* On a terminal nothing but the ends of lines steers it. */
static void put_text(struct slice text)
{
	if (!isatty(STDOUT_FILENO)) {
		fwrite(text.ptr, 1, text.len, stdout);
		return;
	}
	while (text.ptr) {
		visible_put(stdout, slice_cut(&text, '\n'));
		if (text.ptr)
			putchar('\n');
	}
}

static int print_document(struct get_output *o, struct slice document, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, 4 * (size_t)LIMIT_LIST_BYTES);
	if (o->form == GET_PATH)
		rc = json_path_print(o->path, document, &text, err);
	else
		rc = go_json_put(document, GO_INDENT, 0, &text, err);
	if (!rc && o->form == GET_PATH && text.len)
		put_text(buf_slice(&text));
	else if (!rc && o->form == GET_JSON) {
		visible_put_json(stdout, buf_slice(&text));
		putchar('\n');
	}
	buf_release(&text);
	return rc;
}

int get_output_print(struct get_output *o, bool alone, struct err *err)
{
	struct buf list;
	int rc;

	if (o->form == GET_COLUMNS)
		custom_columns_print(o->columns, stdout);
	if (o->form == GET_COLUMNS || o->form == GET_YAML || (alone && !o->count))
		return 0;
	if (alone)
		return print_document(o, buf_slice(&o->items), err);
	buf_init(&list, LIMIT_LIST_BYTES + sizeof(list_head) + sizeof(list_end));
	rc = buf_append(&list, list_head, sizeof(list_head) - 1, err);
	if (!rc && o->items.len)
		rc = buf_append(&list, o->items.ptr, o->items.len, err);
	if (!rc)
		rc = buf_append(&list, list_end, sizeof(list_end) - 1, err);
	if (!rc)
		rc = print_document(o, buf_slice(&list), err);
	buf_release(&list);
	return rc;
}
