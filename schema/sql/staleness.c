/* staleness.c: see staleness.h. */
#include "schema/sql/staleness.h"

#include <sqlite3.h>
#include <stdbool.h>

/* clang-format off */

static const char staleness_sql[] =
	"CREATE TEMP VIEW staleness AS WITH"
	/* Not what the tape concluded from a list: when that happened nobody knows. */
	" news AS MATERIALIZED (SELECT min(seq) AS seq, min(time_ns) AS observed_ns, apigroup, version, resource,"
	"  namespace, name, uid, rv, type = 'DELETED' AS gone FROM events WHERE origin = 'watch'"
	"  GROUP BY uid, rv, type = 'DELETED'),"
	" came AS MATERIALIZED (SELECT client_id, min(time_ns) AS time_ns FROM run.requests GROUP BY client_id),"
	" told AS MATERIALIZED (SELECT r.client_id, r.client, d.uid, d.rv, d.type = 'DELETED' AS gone,"
	"  min(d.out_ns) AS told_ns, min(d.request) AS request FROM run.deliveries AS d"
	"  JOIN run.requests AS r ON r.request = d.request WHERE d.uid IS NOT NULL"
	"  GROUP BY r.client_id, d.uid, d.rv, d.type = 'DELETED')"
	" SELECT t.client_id, ifnull(t.client, '') AS client, t.request, n.seq, n.apigroup, n.version, n.resource,"
	"  n.namespace, n.name, n.uid, n.rv, n.observed_ns, t.told_ns, t.told_ns - n.observed_ns AS late_ns"
	" FROM told AS t JOIN news AS n ON n.uid = t.uid AND n.rv = t.rv AND n.gone = t.gone"
	" JOIN came AS c ON c.client_id = t.client_id WHERE n.observed_ns >= c.time_ns";

static const char stale_writes_sql[] =
	"CREATE TEMP VIEW stale_writes AS WITH"
	" news AS MATERIALIZED (SELECT apigroup, resource, namespace, name, uid, rv, rv_number, time_ns, seq"
	"  FROM events WHERE origin <> 'list'),"
	" told AS MATERIALIZED (SELECT r.client_id, d.uid, d.out_ns, CAST(d.rv AS INTEGER) AS rv_number"
	"  FROM run.deliveries AS d JOIN run.requests AS r ON r.request = d.request WHERE d.uid IS NOT NULL),"
	" reads AS MATERIALIZED (SELECT client_id, ifnull(apigroup, '') AS apigroup, resource, namespace, name,"
	"  time_ns, end_ns FROM run.requests WHERE verb IN ('list', 'get') AND status = 200 AND how = 'complete'),"
	" acts AS MATERIALIZED (SELECT w.write, w.time_ns, w.request, r.client_id, ifnull(w.client, '') AS client,"
	"  w.verb, ifnull(w.apigroup, '') AS apigroup, w.version, w.resource, w.subresource,"
	"  ifnull(w.namespace, '') AS namespace, w.name, w.status FROM run.writes AS w"
	"  JOIN run.requests AS r ON r.request = w.request WHERE w.verb IN ('update', 'patch', 'delete')),"
	" pairs AS MATERIALIZED (SELECT a.*, n.uid, n.rv, n.rv_number, n.time_ns AS observed_ns, n.seq,"
	"  (SELECT max(t.rv_number) FROM told AS t WHERE t.uid = n.uid AND t.client_id = a.client_id"
	"   AND t.out_ns <= a.time_ns) AS basis_rv,"
	"  (SELECT max(l.time_ns) FROM reads AS l WHERE l.client_id = a.client_id AND l.resource = a.resource"
	"   AND l.apigroup = a.apigroup AND ifnull(l.namespace, '') IN ('', a.namespace)"
	"   AND ifnull(l.name, '') IN ('', a.name) AND l.end_ns <= a.time_ns) AS read_ns"
	"  FROM acts AS a JOIN news AS n ON n.resource = a.resource AND n.name = a.name"
	"  AND n.apigroup = a.apigroup AND n.namespace = a.namespace AND n.time_ns <= a.time_ns)"
	" SELECT p.write, p.time_ns, p.request, p.client_id, p.client, p.verb, p.apigroup, p.version, p.resource,"
	"  p.subresource, p.namespace, p.name, p.status, p.basis_rv, max(p.rv_number) AS newest_rv,"
	"  count(*) AS behind, max(p.seq) AS seq, p.time_ns - min(p.observed_ns) AS stale_ns FROM pairs AS p"
	" WHERE (p.basis_rv IS NOT NULL OR p.read_ns IS NOT NULL) AND p.rv_number > ifnull(p.basis_rv, 0)"
	"  AND p.observed_ns > ifnull(p.read_ns, 0)"
	"  AND NOT EXISTS (SELECT 1 FROM run.writes AS o JOIN run.requests AS q ON q.request = o.request"
	"   WHERE q.client_id = p.client_id AND o.uid = p.uid AND o.rv = p.rv AND o.time_ns <= p.time_ns)"
	" GROUP BY p.write";

/* clang-format on */

static bool is_live(sqlite3 *db)
{
	static const char sql[] = "SELECT 1 FROM run.run WHERE name = 'source' AND value = 'tee'";
	sqlite3_stmt *stmt = NULL;
	bool is =
		sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;

	sqlite3_finalize(stmt);
	return is;
}

int staleness_add(sqlite3 *db, struct err *err)
{
	if (!is_live(db))
		return 0;
	if (sqlite3_exec(db, staleness_sql, NULL, NULL, NULL) != SQLITE_OK ||
		sqlite3_exec(db, stale_writes_sql, NULL, NULL, NULL) != SQLITE_OK)
		return err_set(
			err, ERR_FAILED, "cannot make the views of a live run: %s", sqlite3_errmsg(db));
	return 0;
}
