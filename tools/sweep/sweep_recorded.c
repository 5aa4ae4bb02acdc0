/* sweep_recorded.c: see sweep_recorded.h. */
#include "tools/sweep/sweep_recorded.h"

#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "tools/sweep/sweep_run.h"

#include <stdio.h>
#include <stdlib.h>

/* Finalizers that the program takes away, and the tape as well, or the object with them. */
static const char taken_sql[] =
	"WITH w AS (SELECT seq, apigroup, resource, coalesce(namespace, '') AS namespace, name, object,"
	"  json_extract(object, '$.metadata.uid') AS uid FROM writes WHERE verb IN ('update', 'patch')"
	"  AND status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0 AND json_valid(object)),"
	" shown AS (SELECT w.*, (SELECT e.object FROM events AS e WHERE e.apigroup = w.apigroup"
	"   AND e.resource = w.resource AND coalesce(e.namespace, '') = w.namespace AND e.name = w.name AND e.uid = w.uid"
	"   AND e.seq <= w.seq AND e.type <> 'DELETED' ORDER BY e.seq DESC LIMIT 1) AS before FROM w)"
	" SELECT DISTINCT f.value FROM shown AS s, json_each(before, '$.metadata.finalizers') AS f WHERE f.value NOT IN"
	"  (SELECT value FROM json_each(s.object, '$.metadata.finalizers')) AND EXISTS (SELECT 1 FROM events AS e"
	"   WHERE e.apigroup = s.apigroup AND e.resource = s.resource AND coalesce(e.namespace, '') = s.namespace AND e.name = s.name"
	"   AND e.uid = s.uid AND (e.type = 'DELETED' OR (e.seq > s.seq AND f.value NOT IN"
	"    (SELECT value FROM json_each(e.object, '$.metadata.finalizers'))))) ORDER BY 1";

/* Finalizers of what is left though the tape deletes it: the program has added them, or the tape would have taken them away. */
static const char released_sql[] =
	"WITH there AS (SELECT json_extract(j.value, '$[3]') AS uid FROM run, json_each(run.value) AS j WHERE run.name = 'left')"
	" SELECT DISTINCT f.value FROM there JOIN events AS e USING (uid), json_each(e.object, '$.metadata.finalizers') AS f"
	"  WHERE json_extract(e.object, '$.metadata.deletionTimestamp') IS NOT NULL"
	"   AND EXISTS (SELECT 1 FROM events AS d WHERE d.uid = there.uid AND d.type = 'DELETED') ORDER BY 1";

/* Finalizers that the program adds to objects of others, and the tape after it. */
static const char added_sql[] =
	"WITH w AS (SELECT seq, apigroup, resource, coalesce(namespace, '') AS namespace, name, object,"
	"  json_extract(object, '$.metadata.uid') AS uid FROM writes WHERE verb IN ('update', 'patch')"
	"  AND status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0 AND json_valid(object)),"
	" had AS (SELECT w.*, (SELECT e.object FROM events AS e WHERE e.apigroup = w.apigroup AND e.resource = w.resource"
	"   AND coalesce(e.namespace, '') = w.namespace AND e.name = w.name AND e.uid = w.uid AND e.seq <= w.seq"
	"   ORDER BY e.seq DESC LIMIT 1) AS before FROM w)"
	" SELECT DISTINCT f.value FROM had, json_each(had.object, '$.metadata.finalizers') AS f WHERE before IS NOT NULL"
	"  AND f.value NOT IN (SELECT value FROM json_each(before, '$.metadata.finalizers'))"
	"  AND EXISTS (SELECT 1 FROM events AS e, json_each(e.object, '$.metadata.finalizers') AS g"
	"   WHERE e.apigroup = had.apigroup AND e.resource = had.resource AND coalesce(e.namespace, '') = had.namespace"
	"    AND e.name = had.name AND e.uid = had.uid AND e.type = 'MODIFIED' AND e.seq > had.seq AND g.value = f.value"
	"    AND json_extract(e.object, '$.metadata.deletionTimestamp') IS NULL) ORDER BY 1";

/* Objects that the program creates (201, also if it applies them) and the tape makes, with whether the program deletes
 * them, too. At full speed the tape may be faster in both. */
static const char made_sql[] =
	"WITH mine AS (SELECT verb, status, seq, resource || iif(apigroup = '', '', '.' || apigroup) || '/'"
	"  || iif(coalesce(namespace, '') = '', '', namespace || '/') || name AS object, apigroup, resource,"
	"  coalesce(namespace, '') AS namespace, name FROM writes WHERE coalesce(subresource, '') = ''"
	"  AND coalesce(dry_run, 0) = 0 AND resource NOT IN ('leases', 'events') AND name <> '')"
	" SELECT DISTINCT w.object, EXISTS (SELECT 1 FROM mine AS d WHERE d.object = w.object AND d.verb = 'delete'"
	"   AND (d.status BETWEEN 200 AND 299 OR d.status = 404))"
	" FROM mine AS w WHERE (w.status = 201 OR w.verb = 'create' AND w.status = 409)"
	"  AND EXISTS (SELECT 1 FROM events AS e WHERE e.apigroup = w.apigroup AND e.resource = w.resource"
	"   AND coalesce(e.namespace, '') = w.namespace AND e.name = w.name AND e.type = 'ADDED' AND e.origin <> 'list'"
	"   AND e.seq > iif(w.status = 409, (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq'), w.seq)) ORDER BY 1";

/* Objects of others that the program deletes, and the tape after it. */
static const char ended_sql[] =
	"WITH mine AS (SELECT *, coalesce(namespace, '') AS space FROM writes WHERE status BETWEEN 200 AND 299"
	"  AND coalesce(dry_run, 0) = 0 AND resource NOT IN ('leases', 'events') AND name <> '')"
	" SELECT DISTINCT w.resource || iif(w.apigroup = '', '', '.' || w.apigroup) || '/'"
	"  || iif(w.space = '', '', w.space || '/') || w.name"
	" FROM mine AS w WHERE (w.verb = 'delete' AND coalesce(w.subresource, '') = '' OR w.subresource = 'eviction')"
	"  AND NOT EXISTS (SELECT 1 FROM mine AS c WHERE c.apigroup = w.apigroup AND c.resource = w.resource AND c.space = w.space"
	"   AND c.name = w.name AND c.status = 201 AND coalesce(c.subresource, '') = '' AND c.request < w.request)"
	"  AND (SELECT e.type FROM events AS e WHERE e.apigroup = w.apigroup AND e.resource = w.resource"
	"   AND coalesce(e.namespace, '') = w.space AND e.name = w.name AND e.type IN ('ADDED', 'DELETED') AND e.seq > w.seq"
	"   ORDER BY e.seq LIMIT 1) = 'DELETED' ORDER BY 1";

/* The ways in which the program writes to objects of others, and a manager of its name did in the recording. A manager's
 * name is what the API server takes for one. If new objects of the resource have it, too, it is not the program's alone. */
static const char ways_sql[] =
	"WITH mine AS (SELECT w.apigroup, w.resource, coalesce(w.namespace, '') AS namespace, w.name,"
	"  coalesce(w.subresource, '') AS subresource, json_extract(w.object, '$.metadata.uid') AS uid, coalesce("
	"   nullif(substr(r.path, nullif(instr(r.path, 'fieldManager='), 0) + 13, instr(substr(r.path || '&',"
	"    instr(r.path, 'fieldManager=') + 13), '&') - 1), ''),"
	"   substr(w.client, 1, instr(w.client || '/', '/') - 1)) AS manager"
	"  FROM writes AS w JOIN requests AS r USING (request) WHERE w.verb IN ('update', 'patch')"
	"  AND w.status BETWEEN 200 AND 299 AND coalesce(w.dry_run, 0) = 0 AND w.resource NOT IN ('leases', 'events')"
	"  AND json_valid(w.object))"
	" SELECT DISTINCT 'update=' || resource || iif(apigroup = '', '', '.' || apigroup)"
	"   || iif(subresource = '', '', '/' || subresource) || ':' || manager"
	" FROM mine WHERE EXISTS (SELECT 1 FROM events AS e, json_each(e.object, '$.metadata.managedFields') AS f"
	"  WHERE e.apigroup = mine.apigroup AND e.resource = mine.resource AND coalesce(e.namespace, '') = mine.namespace"
	"   AND e.name = mine.name AND e.uid = mine.uid AND e.type = 'MODIFIED' AND e.origin <> 'list'"
	"   AND json_extract(f.value, '$.manager') = manager"
	"   AND coalesce(json_extract(f.value, '$.subresource'), '') = subresource)"
	" AND NOT EXISTS (SELECT 1 FROM events AS e, json_each(e.object, '$.metadata.managedFields') AS f"
	"  WHERE e.apigroup = mine.apigroup AND e.resource = mine.resource AND e.type = 'ADDED' AND e.origin <> 'list'"
	"   AND json_extract(f.value, '$.manager') = manager) ORDER BY 1";

/* Resources of others' objects that the program writes to, and of which the tape has changes, but of none its managers. */
static const char bare_sql[] =
	"WITH mine AS (SELECT DISTINCT w.apigroup, w.resource FROM writes AS w WHERE w.verb IN ('update', 'patch')"
	"  AND w.status BETWEEN 200 AND 299 AND coalesce(w.dry_run, 0) = 0 AND w.resource NOT IN ('leases', 'events')"
	"  AND EXISTS (SELECT 1 FROM events AS e WHERE e.apigroup = w.apigroup AND e.resource = w.resource"
	"   AND coalesce(e.namespace, '') = coalesce(w.namespace, '') AND e.name = w.name AND e.type = 'MODIFIED'))"
	" SELECT resource || iif(apigroup = '', '', '.' || apigroup) FROM mine WHERE NOT EXISTS (SELECT 1 FROM events AS e"
	"  WHERE e.apigroup = mine.apigroup AND e.resource = mine.resource"
	"   AND json_extract(e.object, '$.metadata.managedFields') IS NOT NULL) ORDER BY 1";

/* The schedulers of pods that the program binds, and the tape as well. At full speed the tape may be faster. */
static const char bound_sql[] =
	"SELECT DISTINCT coalesce(json_extract(e.object, '$.spec.schedulerName'), 'default-scheduler')"
	" FROM writes AS w JOIN events AS e ON e.apigroup = '' AND e.resource = 'pods'"
	"  AND e.namespace = w.namespace AND e.name = w.name AND e.type = 'MODIFIED' AND e.origin <> 'list'"
	"  AND e.seq > iif(w.status = 409, (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq'), w.seq)"
	" WHERE w.verb = 'create' AND w.apigroup = '' AND w.resource = 'pods' AND w.subresource = 'binding'"
	"  AND (w.status BETWEEN 200 AND 299 OR w.status = 409) AND coalesce(w.dry_run, 0) = 0"
	"  AND coalesce(json_extract(e.object, '$.spec.nodeName'), '') <> '' ORDER BY 1";

static int on_text(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	if (v[0].type == SQL_TEXT)
		text_list_add(context, slice_dup(v[0].bytes));
	return 0;
}

static int on_made(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_recorded *r = context;

	(void)count;
	(void)err;
	text_list_add(&r->made, slice_dup(v[0].bytes));
	if (v[1].integer)
		text_list_add(&r->deleted, slice_dup(v[0].bytes));
	return 0;
}

int sweep_recorded_read(struct sql_session *s, struct sweep_recorded *ret, struct err *err)
{
	const struct sql_sink finalizers = {.row = on_text, .context = &ret->finalizers};
	const struct sql_sink released = {.row = on_text, .context = &ret->released};
	const struct sql_sink added = {.row = on_text, .context = &ret->added};
	const struct sql_sink made = {.row = on_made, .context = ret};
	const struct sql_sink ended = {.row = on_text, .context = &ret->ended};
	const struct sql_sink ways = {.row = on_text, .context = &ret->ways};
	const struct sql_sink bare = {.row = on_text, .context = &ret->bare};
	const struct sql_sink bound = {.row = on_text, .context = &ret->schedulers};
	int rc = sql_session_run(s, slice_of(taken_sql), &finalizers, err);

	if (rc == 0)
		rc = sql_session_run(s, slice_of(released_sql), &released, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(added_sql), &added, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(made_sql), &made, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(ended_sql), &ended, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(ways_sql), &ways, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(bare_sql), &bare, err);
	return rc ? rc : sql_session_run(s, slice_of(bound_sql), &bound, err);
}

/* Returns whether any are new. */
static bool add_all(struct text_list *to, const struct text_list *from)
{
	bool grows = false;

	for (size_t i = 0; i < from->count; i++)
		grows |= text_list_keep(to, from->items[i]);
	return grows;
}

void sweep_recorded_hold(struct sweep_recorded *r, const struct sweep_recorded *other)
{
	(void)add_all(&r->finalizers, &other->finalizers);
}

/* Only what the program never takes away itself. */
static void add_released(struct sweep_recorded *r, const struct sweep_recorded *other)
{
	for (size_t i = 0; i < other->released.count; i++) {
		const char *name = other->released.items[i];

		if (!text_list_has(&r->finalizers, name) && !text_list_has(&other->finalizers, name))
			(void)text_list_keep(&r->released, name);
	}
}

static int write_awaited(const struct sweep_recorded *r, struct err *err)
{
	struct buf text;
	int rc = 0;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	for (size_t i = 0; i < r->made.count && rc == 0; i++)
		rc = buf_printf(&text, err, "%s%s\n",
			text_list_has(&r->deleted, r->made.items[i]) ? "create,delete=" : "",
			r->made.items[i]);
	for (size_t i = 0; i < r->ended.count && rc == 0; i++)
		rc = buf_printf(&text, err, "delete=%s\n", r->ended.items[i]);
	for (size_t i = 0; i < r->ways.count && rc == 0; i++)
		rc = buf_printf(&text, err, "%s\n", r->ways.items[i]);
	for (size_t i = 0; i < r->schedulers.count && rc == 0; i++)
		rc = buf_printf(&text, err, "update=pods/binding:%s\n", r->schedulers.items[i]);
	for (size_t i = 0; i < r->added.count && rc == 0; i++)
		rc = buf_printf(&text, err, "finalizer=%s\n", r->added.items[i]);
	if (rc == 0)
		rc = out_file_write(r->awaited, buf_slice(&text), err);
	buf_release(&text);
	return rc;
}

bool sweep_recorded_program_ran(const struct sweep_recorded *r)
{
	return r->made.count || r->ended.count || r->finalizers.count || r->added.count ||
	       r->schedulers.count;
}

int sweep_recorded_await(
	struct sweep_recorded *r, const struct sweep_recorded *other, const char *folder, struct err *err)
{
	bool grows = add_all(&r->made, &other->made);

	add_released(r, other);
	(void)add_all(&r->bare, &other->bare);
	grows |= add_all(&r->deleted, &other->deleted);
	grows |= add_all(&r->ended, &other->ended);
	grows |= add_all(&r->schedulers, &other->schedulers);
	grows |= add_all(&r->added, &other->added);
	if (sweep_recorded_program_ran(r))
		grows |= add_all(&r->ways, &other->ways);
	if (!grows)
		return 0;
	if (!r->awaited)
		r->awaited = xasprintf("%s/" SWEEP_AWAITED_NAME, folder);
	return write_awaited(r, err);
}

void sweep_recorded_tell(const struct sweep_recorded *r)
{
	if (r->made.count)
		fprintf(stderr,
			"kubetape sweep: %zu of the objects that the command makes are on the tape as well, as if it had "
			"been recorded while it ran: the tape leaves them to the command from now on\n",
			r->made.count);
	if (r->ended.count)
		fprintf(stderr,
			"kubetape sweep: %zu of the objects of others that the command deletes are deleted on the tape as "
			"well, as if it had been recorded while it ran: the tape leaves that to the command from now on\n",
			r->ended.count);
	for (size_t i = 0; i < r->schedulers.count; i++)
		fprintf(stderr,
			"kubetape sweep: the command binds pods of '%s' to nodes, and so does the tape, which was "
			"recorded while a scheduler ran: the tape leaves that to the command from now on\n",
			r->schedulers.items[i]);
	for (size_t i = 0; i < r->ways.count; i++)
		fprintf(stderr, "kubetape sweep: so it does with what both write to objects of others: %s\n",
			r->ways.items[i] + strlen("update="));
	for (size_t i = 0; i < r->bare.count && sweep_recorded_program_ran(r); i++)
		fprintf(stderr,
			"kubetape sweep: %s have no managedFields on the tape, so that nobody can tell what of them the command had "
			"written when it was recorded: that comes whatever the command does, and findings may be due to it\n",
			r->bare.items[i]);
	for (size_t i = 0; i < r->added.count; i++)
		fprintf(stderr,
			"kubetape sweep: the command adds the finalizer '%s', and so does the tape, which leaves that to the "
			"command from now on\n",
			r->added.items[i]);
	for (size_t i = 0; i < r->finalizers.count; i++)
		fprintf(stderr,
			"kubetape sweep: the command takes the finalizer '%s' away, and so does the tape, which leaves "
			"that to the command from now on\n",
			r->finalizers.items[i]);
	for (size_t i = 0; i < r->released.count; i++)
		fprintf(stderr,
			"kubetape sweep: the command never takes the finalizer '%s' away, as somebody else did when the "
			"tape was recorded: the tape does that from now on\n",
			r->released.items[i]);
}

size_t sweep_recorded_count(const struct sweep_recorded *r)
{
	return r->finalizers.count + r->released.count + r->added.count + r->made.count + r->deleted.count +
	       r->ended.count + r->ways.count + r->schedulers.count;
}

void sweep_recorded_release(struct sweep_recorded *r)
{
	text_list_release(&r->finalizers);
	text_list_release(&r->released);
	text_list_release(&r->added);
	text_list_release(&r->made);
	text_list_release(&r->deleted);
	text_list_release(&r->ended);
	text_list_release(&r->ways);
	text_list_release(&r->bare);
	text_list_release(&r->schedulers);
	free(r->awaited);
	*r = (struct sweep_recorded){0};
}
