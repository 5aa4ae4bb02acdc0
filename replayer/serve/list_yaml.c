/* list_yaml.c: see list_yaml.h. */
#include "replayer/serve/list_yaml.h"

#include "replayer/request/respond.h"
#include "schema/base/limits.h"

static const char mark_line[] = "\n- the items stand here\n";

void list_yaml_init(struct list_yaml *y)
{
	*y = (struct list_yaml){0};
	buf_init(&y->json, LIMIT_LIST_BYTES);
	buf_init(&y->head, LIMIT_LIST_BYTES);
	buf_init(&y->tail, LIMIT_LIST_BYTES);
}

void list_yaml_release(struct list_yaml *y)
{
	buf_release(&y->json);
	buf_release(&y->head);
	buf_release(&y->tail);
}

static int append_yaml(struct slice json, struct buf *to, struct err *err)
{
	const struct answer_style style = {.yaml = true};

	return respond_lay_out(&style, json, to, err);
}

int list_yaml_begin(struct list_yaml *y, struct slice head, struct slice marked, struct err *err)
{
	const size_t before = 1, after = strlen(mark_line); /* the line feed before the mark stays */
	char *mark;
	int rc = buf_append(&y->json, head.ptr, head.len, err);

	if (rc == 0)
		rc = append_yaml(marked, &y->head, err);
	if (rc)
		return rc;
	mark = memmem(y->head.ptr, y->head.len, mark_line, after);
	if (!mark)
		return err_set(err, ERR_PROTOCOL, "cannot write YAML: the list has no place for items");
	rc = buf_append(&y->tail, mark + after, y->head.len - (size_t)(mark + after - y->head.ptr), err);
	y->head.len = (size_t)(mark - y->head.ptr) + before;
	return rc;
}

int list_yaml_item(struct list_yaml *y, struct slice json, struct buf *to, struct err *err)
{
	const bool is_preceded = json.len && json.ptr[0] != '{';
	struct buf list;
	int rc = 0;

	buf_init(&list, LIMIT_LIST_BYTES);
	if (!y->has_items)
		rc = buf_append(to, y->head.ptr, y->head.len, err);
	y->has_items = true;
	if (rc == 0)
		rc = buf_printf(&list, err, "[");
	if (rc == 0)
		rc = buf_append(&list, json.ptr + is_preceded, json.len - is_preceded, err);
	if (rc == 0)
		rc = buf_append(&list, "]", 1, err);
	if (rc == 0)
		rc = append_yaml(buf_slice(&list), to, err);
	buf_release(&list);
	return rc;
}

int list_yaml_end(struct list_yaml *y, struct slice json, struct buf *to, struct err *err)
{
	int rc;

	if (y->has_items)
		return buf_append(to, y->tail.ptr, y->tail.len, err);
	rc = buf_append(&y->json, json.ptr, json.len, err);
	return rc ? rc : append_yaml(buf_slice(&y->json), to, err);
}
