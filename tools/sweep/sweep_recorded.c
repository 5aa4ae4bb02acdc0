/* sweep_held.c: see sweep_held.h. */
#include "tools/sweep/sweep_held.h"

#include <stdlib.h>

/* What the tape showed of an object that was to be deleted, and what the program made of it. */
static const char taken_sql[] =
	"WITH w AS (SELECT seq, apigroup, resource, coalesce(namespace, '') AS namespace, name, object,"
	"  json_extract(object, '$.metadata.uid') AS uid FROM writes WHERE verb IN ('update', 'patch')"
	"  AND status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0 AND json_valid(object)"
	"  AND json_extract(object, '$.metadata.deletionTimestamp') IS NOT NULL),"
	" shown AS (SELECT w.object, (SELECT e.object FROM events AS e WHERE e.apigroup = w.apigroup"
	"   AND e.resource = w.resource AND coalesce(e.namespace, '') = w.namespace AND e.name = w.name AND e.uid = w.uid"
	"   AND e.seq <= w.seq AND e.type <> 'DELETED' ORDER BY e.seq DESC LIMIT 1) AS before FROM w"
	"  WHERE EXISTS (SELECT 1 FROM events AS e WHERE e.apigroup = w.apigroup AND e.resource = w.resource"
	"   AND coalesce(e.namespace, '') = w.namespace AND e.name = w.name AND e.uid = w.uid AND e.type = 'DELETED'))"
	" SELECT DISTINCT f.value FROM shown, json_each(before, '$.metadata.finalizers') AS f WHERE f.value NOT IN"
	"  (SELECT value FROM json_each(shown.object, '$.metadata.finalizers')) ORDER BY 1";

static int on_finalizer(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	if (v[0].type == SQL_TEXT)
		text_list_add(context, slice_dup(v[0].bytes));
	return 0;
}

int sweep_held_read(struct sql_session *s, struct text_list *to, struct err *err)
{
	const struct sql_sink sink = {.row = on_finalizer, .context = to};

	return sql_session_run(s, slice_of(taken_sql), &sink, err);
}

void sweep_held_add(struct text_list *to, const struct text_list *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (!text_list_has(to, found->items[i]))
			text_list_add(to, xstrdup(found->items[i]));
	}
}

void sweep_held_release(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->items[i]);
	free((void *)list->items);
	*list = (struct text_list){0};
}
