/* sweep_recorded.c: see sweep_recorded.h. */
#include "tools/sweep/sweep_recorded.h"

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

static const char made_sql[] =
	"SELECT count(DISTINCT w.resource || ' ' || w.apigroup || ' ' || coalesce(w.namespace, '') || ' ' || w.name)"
	" FROM writes AS w WHERE w.verb = 'create' AND coalesce(w.subresource, '') = '' AND w.status BETWEEN 200 AND 299"
	" AND w.resource NOT IN ('leases', 'events') AND EXISTS (SELECT 1 FROM events AS e WHERE e.apigroup = w.apigroup"
	"  AND e.resource = w.resource AND coalesce(e.namespace, '') = coalesce(w.namespace, '') AND e.name = w.name"
	"  AND e.seq > w.seq AND e.type = 'ADDED')";

static int on_finalizer(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	if (v[0].type == SQL_TEXT)
		text_list_add(context, slice_dup(v[0].bytes));
	return 0;
}

static int on_made(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(uint64_t *)context = (uint64_t)v[0].integer;
	return 0;
}

int sweep_recorded_read(struct sql_session *s, struct sweep_recorded *ret, struct err *err)
{
	const struct sql_sink finalizers = {.row = on_finalizer, .context = &ret->finalizers};
	const struct sql_sink made = {.row = on_made, .context = &ret->made};
	int rc = sql_session_run(s, slice_of(taken_sql), &finalizers, err);

	return rc ? rc : sql_session_run(s, slice_of(made_sql), &made, err);
}

void sweep_recorded_add(struct sweep_recorded *r, const struct sweep_recorded *other, bool holds)
{
	for (size_t i = 0; holds && i < other->finalizers.count; i++) {
		if (!text_list_has(&r->finalizers, other->finalizers.items[i]))
			text_list_add(&r->finalizers, xstrdup(other->finalizers.items[i]));
	}
	if (other->made > r->made)
		r->made = other->made;
}

void sweep_recorded_release(struct sweep_recorded *r)
{
	for (size_t i = 0; i < r->finalizers.count; i++)
		free((char *)r->finalizers.items[i]);
	free((void *)r->finalizers.items);
	*r = (struct sweep_recorded){0};
}
