/* list_item.c: see list_item.h. */
#include "recorder/list_item.h"

/* `{"kind":"Pod","apiVersion":"v1",` and the item without its brace. */
int list_item_type(const struct list_type *list, const struct object_meta *meta, struct slice *item,
	struct buf *to, struct err *err)
{
	struct slice kind = list->kind, rest = {item->ptr + 1, item->len - 1};
	bool is_empty = meta->uid.len == 0 && meta->name.len == 0;
	int rc;

	if (kind.len > 4 && memcmp(kind.ptr + kind.len - 4, "List", 4) == 0)
		kind.len -= 4;
	buf_clear(to);
	rc = buf_printf(to, err, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"%s", (int)kind.len, kind.ptr,
		(int)list->api_version.len, list->api_version.ptr, is_empty && rest.len == 1 ? "" : ",");
	if (!rc)
		rc = buf_append(to, rest.ptr, rest.len, err);
	if (rc)
		return rc;
	*item = buf_slice(to);
	return 0;
}
