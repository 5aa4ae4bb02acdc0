/* sweep_absent.c: see sweep_absent.h. */
#include "tools/sweep/sweep_absent.h"

#include "schema/base/limits.h"
#include "schema/sql/session.h"

#include <stdlib.h>

#define RESOURCE(of) of ".resource || iif(" of ".apigroup = '', '', '.' || " of ".apigroup)"
#define KEY(of)      RESOURCE(of) " || ' ' || coalesce(" of ".namespace || '/', '') || " of ".name"

/* What the program asks for may have a selector: then a list lacks what the watch has told as deleted, or not at all. */
#define IS_SELECTED                                                                                          \
	"(o.seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')"                        \
	" OR EXISTS (SELECT 1 FROM deliveries AS d WHERE d.seq = o.seq AND d.type <> 'DELETED'))"

/* What the view has of `o` was told to be over before the deletion of `n`, after which the program made the same thing again: it did
 * what it does where an object goes, and another one of its name comes. */
#define HAS_SEEN_IT_GO                                                                                                \
	"(EXISTS (SELECT 1 FROM versions AS gone JOIN deliveries AS d ON d.seq = gone.seq AND d.type = 'DELETED'"     \
	"   WHERE gone.of = o.of AND gone.namespace IS o.namespace AND gone.name = o.name AND gone.uid = o.uid"       \
	"   AND gone.seq > n.as_of AND d.out_ns BETWEEN (SELECT begun_ns FROM fault) AND n.time_ns)"                  \
	"  AND EXISTS (SELECT 1 FROM writes AS was JOIN writes AS again ON again.write > was.write"                   \
	"   AND again.apigroup = was.apigroup AND again.resource = was.resource AND again.namespace IS was.namespace" \
	"   AND again.name = was.name AND (again.verb = 'create' OR again.status = 201) WHERE was.write = n.write))"

/* How many deletions of that key the view explains. `frozen` are the resources that were shown as of an event. An object that
 * is named is looked for in the view by its UID; if it is named by its name, one that had this name before counts as well, as long as
 * what is deleted has a predecessor of that time, too (else nothing in the view says that there is to be such a thing), and its end
 * was not told. */
/* clang-format off */
static const char explained_sql[] =
	"WITH frozen AS (SELECT value AS name, %llu AS as_of FROM json_each(%Q)"
	"  UNION ALL SELECT value, %llu FROM json_each(%Q)),"
	" fault AS (SELECT coalesce(min(time_ns), 0) AS begun_ns FROM faults WHERE rule = 1 AND step = 'begins'),"
	" deletions AS (SELECT write, seq, time_ns, name || ' ' || coalesce((SELECT coalesce(c.object, c.body) FROM writes AS c"
	"   WHERE (c.verb = 'create' OR c.status = 201) AND c.apigroup = d.apigroup AND c.resource = d.resource"
	"   AND c.namespace IS d.namespace AND c.name = d.name AND c.write < d.write ORDER BY c.write DESC LIMIT 1), '') AS text"
	"  FROM writes AS d WHERE verb = 'delete' AND status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0"
	"  AND " KEY("d") " GLOB %Q AND time_ns >= (SELECT begun_ns FROM fault)),"
	" first AS (SELECT min(seq) AS seq FROM (SELECT seq FROM writes AS c"
	"   WHERE (verb = 'create' OR status = 201) AND " KEY("c") " GLOB %Q"
	"  UNION ALL SELECT seq FROM events AS e WHERE " KEY("e") " GLOB %Q)),"
	" versions AS MATERIALIZED (SELECT e.seq, e.type, e.namespace, e.name, e.uid, f.name AS of, f.as_of"
	"  FROM events AS e JOIN frozen AS f ON f.name = " RESOURCE("e") "),"
	" named AS (SELECT d.write, d.time_ns, " SWEEP_NAMES("d.text", "v") " AS by_name, v.* FROM deletions AS d"
	"  JOIN versions AS v WHERE v.seq = (SELECT max(seq) FROM versions AS l WHERE l.of = v.of"
	"   AND l.namespace IS v.namespace AND l.name = v.name AND l.seq <= d.seq)"
	"  AND v.type <> 'DELETED' AND (instr(d.text, v.uid) OR " SWEEP_NAMES("d.text", "v") ")),"
	" looked_for AS (SELECT write, EXISTS (SELECT 1 FROM versions AS o WHERE o.of = n.of AND o.namespace IS n.namespace"
	"   AND o.name = n.name AND o.type <> 'DELETED' AND " IS_SELECTED
	"   AND (o.uid = n.uid OR n.by_name AND n.as_of >= (SELECT seq FROM first) AND NOT " HAS_SEEN_IT_GO ")"
	"   AND o.seq = (SELECT max(seq) FROM versions AS l WHERE l.of = n.of AND l.namespace IS n.namespace"
	"    AND l.name = n.name AND l.seq <= n.as_of)) AS is_there FROM named AS n)"
	" SELECT count(*) FROM (SELECT write FROM looked_for GROUP BY write HAVING NOT max(is_there))";
/* clang-format on */

static int on_number(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(int64_t *)context = v[0].integer;
	return 0;
}

/* "pods,nodes" as JSON; the caller frees. */
static char *as_json(const char *names)
{
	struct buf text;
	char *result;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = buf_append(&text, "[", 1, NULL);
	for (struct slice rest = slice_of(names ? names : ""); rc == 0 && rest.len;) {
		struct slice name = slice_cut(&rest, ',');

		rc = buf_printf(&text, NULL, "%s\"%.*s\"", text.len > 1 ? "," : "", (int)name.len, name.ptr);
	}
	if (rc == 0)
		rc = buf_append(&text, "]", 1, NULL);
	result = rc ? xstrdup("[]") : slice_dup(buf_slice(&text));
	buf_release(&text);
	return result;
}

/* `key` is that of a count; generated names end in a star there. */
static int count_explained(
	struct sql_session *s, const struct sweep_position *p, const char *key, int64_t *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_number, .context = ret};
	const char *deleted = key + strlen(SWEEP_EARLIER);
	char *resource = as_json(p->resource), *others = as_json(p->others);
	int rc = sql_session_run_format(s, &sink, err, explained_sql, (unsigned long long)p->as_of_seq,
		resource, (unsigned long long)p->others_as_of_seq, others, deleted, deleted, deleted);

	free(resource);
	free(others);
	return rc;
}

/* How much more often it was than without the fault, if it is about what had been there before; else 0. */
static int64_t excess_of_earlier(const struct sweep_ground *ground, const struct sweep_count *c)
{
	return sweep_count_is_earlier(c->key) ? sweep_counts_excess(&ground->answer.counts, c) : 0;
}

static int find_all(struct sql_session *s, const struct sweep_position *p, const struct sweep_ground *ground,
	struct sweep_answer *answer, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < answer->counts.count && rc == 0; i++) {
		const struct sweep_count *c = &answer->counts.items[i];
		int64_t excess = excess_of_earlier(ground, c), explained = 0;

		if (excess <= 0)
			continue;
		rc = count_explained(s, p, c->key, &explained, err);
		if (rc == 0 && explained >= excess)
			text_list_add(&answer->made_again, c->key);
	}
	return rc;
}

static bool deletes_more(const struct sweep_ground *ground, const struct sweep_answer *answer)
{
	for (size_t i = 0; i < answer->counts.count; i++) {
		if (excess_of_earlier(ground, &answer->counts.items[i]) > 0)
			return true;
	}
	return false;
}

int sweep_absent_find(const char *tape, const char *run, const struct sweep_position *place,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err)
{
	struct sql_session *s = NULL;
	int rc;

	if (place->pattern != SWEEP_STALE || !deletes_more(ground, answer))
		return 0;
	rc = sql_session_open_run(tape, run, &s, err);
	if (rc == 0)
		rc = find_all(s, place, ground, answer, err);
	sql_session_close(s);
	return rc;
}
