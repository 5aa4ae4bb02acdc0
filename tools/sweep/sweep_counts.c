/* sweep_counts.c: see sweep_counts.h. */
#include "tools/sweep/sweep_counts.h"

#include "schema/base/visible.h"
#include "tools/sweep/sweep_ignored.h"

#include <inttypes.h>
#include <stdlib.h>

/* An update by deletion and creation has both within a second, and no event of the tape comes in between. */
#define REPLACED_NS "1000000000"

/* What is made for an owner that the tape has deleted, a cluster's garbage collector takes at once: that it was made, and
 * deleted, does not count. */
#define OF_THE_GONE                                                                                          \
	"status = 201 AND policy = 'overlay' AND json_valid(object) AND EXISTS (SELECT 1 FROM deaths AS d,"  \
	" json_each(object, '$.metadata.ownerReferences') AS o WHERE d.uid = json_extract(o.value, '$.uid')" \
	" AND d.seq <= writes.seq AND (json_extract(o.value, '$.controller')"                                \
	" OR json_array_length(object, '$.metadata.ownerReferences') = 1))"

/* A deletion of what is about to go changes nothing, and is answered with the version that the one before had made. */
#define IN_VAIN                                                                                                  \
	"verb = 'delete' AND policy = 'overlay' AND EXISTS (SELECT 1 FROM writes AS b WHERE b.verb = 'delete'"   \
	" AND b.write < writes.write AND b.status = 200 AND b.resource = writes.resource AND b.uid = writes.uid" \
	" AND b.rv = writes.rv)"

/* The run's `left` lists what is there at the end. What the program made, and neither is in that list nor was deleted by
 * the program, others have deleted. An apply that creates an object is answered 201, too. */
static const char counts_sql[] =
	"WITH deaths AS MATERIALIZED (SELECT uid, min(seq) AS seq FROM events WHERE type = 'DELETED' AND uid IS NOT NULL"
	"  AND EXISTS (SELECT 1 FROM writes WHERE json_valid(object) AND object LIKE '%\"ownerReferences\"%') GROUP BY uid),"
	" w AS (SELECT write, time_ns, iif(status = 201, 'create', verb) AS verb,"
	"  resource || iif(apigroup = '', '', '.' || apigroup) AS resource,"
	"  coalesce(namespace || '/', '') AS place, name, iif(verb = 'create' AND json_valid(body),"
	"   json_extract(body, '$.metadata.generateName'), NULL) AS prefix, iif(policy = 'overlay' AND json_valid(object),"
	"   json_extract(object, '$.metadata.uid'), NULL) AS uid, " OF_THE_GONE " AS is_vain FROM writes"
	"  WHERE status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0 AND coalesce(subresource, '') = ''"
	"  AND (status = 201 OR verb = 'delete') AND resource NOT IN ('leases', 'events') AND NOT (" IN_VAIN
	")),"
	" gone AS (SELECT d.write, max(c.write) AS made, c.time_ns, d.resource, d.place, coalesce(c.prefix || '*', d.name) AS name,"
	"   EXISTS (SELECT 1 FROM w AS n WHERE n.verb = 'create' AND n.resource = d.resource AND n.place = d.place AND n.name = d.name"
	"    AND n.write > d.write AND n.time_ns < d.time_ns + " REPLACED_NS
	"    AND NOT EXISTS (SELECT 1 FROM deliveries WHERE out_ns BETWEEN d.time_ns AND n.time_ns AND seq < 1 << 62)) AS replaced"
	"  FROM w AS d LEFT JOIN w AS c ON c.verb = 'create' AND c.resource = d.resource AND c.place = d.place"
	"  AND c.name = d.name AND c.write < d.write WHERE d.verb = 'delete' GROUP BY d.write"
	"  HAVING NOT coalesce(c.is_vain, 0)),"
	" there AS (SELECT json_extract(j.value, '$[3]') AS uid FROM run, json_each(run.value) AS j WHERE run.name = 'left'),"
	" ended AS (SELECT resource FROM w WHERE verb = 'create' AND NOT is_vain AND uid IS NOT NULL AND uid NOT IN (SELECT uid FROM there)"
	"  AND EXISTS (SELECT 1 FROM run WHERE name = 'left') AND write NOT IN (SELECT made FROM gone WHERE made IS NOT NULL))"
	" SELECT 'creates of ' || resource AS key, resource, count(*), 0, (SELECT count(*) FROM gone AS g WHERE replaced"
	"   AND g.resource = w.resource) FROM w WHERE verb = 'create' AND NOT is_vain GROUP BY 1"
	" UNION ALL SELECT 'deletions of ' || resource, resource, sum(own), sum(NOT own), sum(replaced) FROM ("
	"   SELECT resource, 1 AS own, replaced FROM gone UNION ALL SELECT resource, 0, 0 FROM ended) GROUP BY 1"
	" UNION ALL SELECT '" SWEEP_EARLIER
	"' || resource || ' ' || place || name, resource, count(*), 0, sum(replaced) FROM gone"
	"  WHERE coalesce(time_ns, 0) < coalesce((SELECT min(time_ns) FROM faults WHERE rule = 1 AND step = 'begins'), 1 << 62)"
	"  GROUP BY 1";

struct reading {
	struct sweep_counts *to;
	const struct compare_rules *ignored;
};

static int on_count(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct reading *r = context;
	struct sweep_counts *to = r->to;

	(void)count;
	(void)err;
	if (sweep_ignores(r->ignored, v[1].bytes))
		return 0;
	to->items = xgrow(to->items, to->count, sizeof(*to->items));
	to->items[to->count++] = (struct sweep_count){.key = slice_dup(v[0].bytes),
		.times = v[2].integer,
		.ended = v[3].integer,
		.replaced = v[4].integer};
	return 0;
}

int sweep_counts_read(
	struct sql_session *s, const struct compare_rules *ignored, struct sweep_counts *ret, struct err *err)
{
	struct reading r = {ret, ignored};
	const struct sql_sink sink = {.row = on_count, .context = &r};
	int rc = sql_session_run(s, slice_of(counts_sql), &sink, err);

	sweep_counts_merge(ret);
	return rc;
}

void sweep_counts_release(struct sweep_counts *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].key);
	free(c->items);
	*c = (struct sweep_counts){0};
}

static int by_key(const void *left, const void *right)
{
	return strcmp(((const struct sweep_count *)left)->key, ((const struct sweep_count *)right)->key);
}

void sweep_counts_merge(struct sweep_counts *c)
{
	size_t kept = 0;

	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_key);
	for (size_t i = 0; i < c->count; i++) {
		struct sweep_count *last = kept ? &c->items[kept - 1] : NULL, *next = &c->items[i];

		if (!last || by_key(last, next)) {
			c->items[kept++] = *next;
			continue;
		}
		last->times += next->times;
		last->ended += next->ended;
		last->replaced += next->replaced;
		free(next->key);
	}
	c->count = kept;
}

const struct sweep_count *sweep_counts_find(const struct sweep_counts *c, const char *key)
{
	const struct sweep_count wanted = {.key = (char *)key};

	return c->count ? bsearch(&wanted, c->items, c->count, sizeof(wanted), by_key) : NULL;
}

bool sweep_count_is_earlier(const char *key)
{
	return strncmp(key, SWEEP_EARLIER, strlen(SWEEP_EARLIER)) == 0;
}

/* Where the program updates by deletion and creation, doing so once more is one more update. */
static int64_t excess(const struct sweep_count *with, const struct sweep_count *without)
{
	int64_t more = with->times - (without ? without->times + without->ended : 0);
	bool updates = without && without->replaced && with->replaced > without->replaced;

	return updates ? more - (with->replaced - without->replaced) : more;
}

int64_t sweep_counts_excess(const struct sweep_counts *without, const struct sweep_count *now)
{
	return excess(now, sweep_counts_find(without, now->key));
}

static void tell_count(
	struct buf *to, const struct sweep_count *with, const struct sweep_count *without, const char *than)
{
	if (!to)
		return;
	(void)!buf_printf(to, NULL, "%" PRId64 " ", with->times);
	(void)!visible_append(to, slice_of(with->key), NULL);
	(void)!buf_printf(to, NULL, " (%s: %" PRId64 ")\n", than, without ? without->times : 0);
}

size_t sweep_counts_compare(const struct sweep_counts *without, const struct sweep_counts *with,
	const struct text_list *excused, const char *than, bool earlier, struct buf *to)
{
	size_t n = 0;

	for (size_t i = 0; i < with->count; i++) {
		const struct sweep_count *now = &with->items[i],
					 *before = sweep_counts_find(without, now->key);

		if (sweep_count_is_earlier(now->key) != earlier || excess(now, before) <= 0 ||
			text_list_has(excused, now->key))
			continue;
		n++;
		tell_count(to, now, before, than);
	}
	return n;
}

size_t sweep_counts_compare_pace(
	const struct sweep_counts *one, const struct sweep_counts *other, const char *than, struct buf *to)
{
	size_t n = sweep_counts_compare(one, other, &(struct text_list){0}, than, false, to);

	for (size_t i = 0; i < one->count; i++) {
		const struct sweep_count *first = &one->items[i], *now = sweep_counts_find(other, first->key);

		if (sweep_count_is_earlier(first->key) || excess(first, now) <= 0)
			continue;
		n++;
		tell_count(to, now ? now : &(struct sweep_count){.key = first->key}, first, than);
	}
	return n;
}
