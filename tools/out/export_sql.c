/* export_sql.c: see export_sql.h. */
#include "tools/out/export_sql.h"

const struct export_table export_tables[] = {
	{"streams", "SELECT * FROM streams ORDER BY stream"},
	{"connections", "SELECT * FROM connections ORDER BY connection"},
	{"gaps", "SELECT * FROM gaps ORDER BY gap"},
	{"missed", "SELECT * FROM missed ORDER BY gap"},
	{"documents", "SELECT * FROM documents"},
	{"marks", "SELECT * FROM marks ORDER BY after_seq"},
	{"events", "SELECT * FROM events WHERE (%s) ORDER BY seq"},
	{NULL, NULL},
};

/* What is NULL of an event leaves it out as well. */
const char export_left_out_sql[] =
	"SELECT 'left_out' AS \"table\", stream, :where AS \"where\", count(*) AS events, min(seq) AS begin_seq, "
	"max(seq) AS end_seq, min(time_ns) AS begin_ns, max(time_ns) AS end_ns "
	"FROM events WHERE NOT coalesce((%s), 0) GROUP BY stream";

#define MICROSECONDS(ns) "(" ns " - :start) / 1000.0"
#define KEY              "apigroup, resource, namespace, name"
/* A phase lasts until an event shows another one, the object goes, or another takes its name. */
#define PHASE                                                                                                \
	"CASE WHEN type = 'DELETED' THEN NULL "                                                              \
	"WHEN jget(object, '$.metadata.deletionTimestamp') IS NOT NULL THEN 'Terminating' "                  \
	"ELSE coalesce(jget(object, '$.status.containerStatuses[0].state.waiting.reason'), "                 \
	"jget(object, '$.status.phase'), 'present') END"

#define CLOCK(ns) "'time', to_time(" ns ")"

const char export_bounds_sql[] =
	"SELECT min(begin), coalesce(max(CASE WHEN of_event THEN last END), max(last)) FROM ("
	"SELECT min(time_ns) AS begin, max(time_ns) AS last, 1 AS of_event FROM events UNION ALL "
	"SELECT min(begin_ns), max(begin_ns + coalesce(duration_ns, 0)), 0 FROM connections UNION ALL "
	"SELECT min(begin_ns), max(coalesce(end_ns, begin_ns)), 0 FROM gaps)";

/* Deletions end phases also where they are not among the events that are wanted. */
static const char objects[] =
	"WITH wanted AS MATERIALIZED (SELECT seq, time_ns, type, origin, apigroup, resource, namespace, name, uid, "
	"rv, bytes, " PHASE " AS phase FROM events WHERE (%s)), "
	"e AS (SELECT *, 1 AS is_wanted FROM wanted UNION ALL SELECT seq, time_ns, type, origin, apigroup, resource, "
	"namespace, name, uid, rv, bytes, NULL, 0 FROM events WHERE type = 'DELETED' AND "
	"(" KEY ") IN (SELECT " KEY " FROM wanted) AND seq NOT IN (SELECT seq FROM wanted)), "
	"k AS MATERIALIZED (SELECT *, 9 + dense_rank() OVER (ORDER BY namespace, resource, apigroup) AS pid, "
	"dense_rank() OVER (PARTITION BY namespace, resource, apigroup ORDER BY name) AS tid FROM e), "
	"p AS (SELECT *, lag(phase) OVER w AS before, lag(uid) OVER w AS before_uid FROM k "
	"WINDOW w AS (PARTITION BY " KEY " ORDER BY seq)), "
	"s AS (SELECT *, lead(time_ns, 1, :end) OVER (PARTITION BY " KEY
	" ORDER BY seq) AS end_ns FROM p WHERE phase IS NOT before OR uid IS NOT before_uid) "
	"SELECT DISTINCT json_object('ph', 'M', 'name', 'process_name', 'pid', pid, 'args', "
	"json_object('name', iif(namespace = '', '', namespace || ' ') || resource || "
	"iif(apigroup = '', '', '.' || apigroup))) FROM k UNION ALL "
	"SELECT DISTINCT json_object('ph', 'M', 'name', 'thread_name', 'pid', pid, 'tid', tid, 'args', "
	"json_object('name', name)) FROM k UNION ALL "
	"SELECT json_object('ph', 'X', 'cat', 'object', 'name', phase, 'pid', pid, 'tid', tid, 'ts', " MICROSECONDS("time_ns") ", 'dur', max(0, end_ns - time_ns) / 1000.0, 'args', json_object(" CLOCK(
		"time_ns") ", 'uid', uid, 'rv', rv, 'seq', seq)) FROM s WHERE phase IS NOT NULL UNION ALL "
			   "SELECT json_object('ph', 'i', 's', 't', 'cat', 'event', 'name', type, 'pid', pid, 'tid', tid, 'ts', " MICROSECONDS(
				   "time_ns") ", 'args', json_object(" CLOCK("time_ns") ", 'seq', seq, 'origin', origin, 'uid', uid, "
											"'rv', rv, 'bytes', bytes)) FROM k WHERE is_wanted";

/* What belongs to no stream has a track of its own, after those of the streams. */
#define NO_STREAM "(SELECT coalesce(max(stream), 0) + 1 FROM streams)"
static const char connections[] =
	"SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', 1, 'args', "
	"json_object('name', 'connections')) UNION ALL "
	"SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', 1, 'tid', stream, 'args', "
	"json_object('name', resource || iif(apigroup = '', '', '.' || apigroup) || "
	"iif(namespace = '', '', ' ' || namespace))) FROM streams UNION ALL "
	"SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', 1, 'tid', " NO_STREAM ", 'args', "
	"json_object('name', 'discovery and the like')) WHERE EXISTS (SELECT 1 FROM connections WHERE stream IS NULL) UNION ALL "
	"SELECT json_object('ph', 'X', 'cat', 'connection', 'name', purpose || ' ' || "
	"coalesce(end_reason, 'open'), 'pid', 1, 'tid', coalesce(stream, " NO_STREAM
	"), 'ts', " MICROSECONDS("begin_ns") ", 'dur', max(0, coalesce(duration_ns, :end - begin_ns)) / 1000.0, 'args', json_object(" CLOCK(
		"begin_ns") ", 'connection', connection, 'target', target, 'http_status', http_status, 'start_rv', start_rv, "
			    "'last_rv', last_rv, 'events', events, 'bookmarks', bookmarks, 'bytes', bytes)) FROM connections";

static const char gaps[] =
	"SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', 2, 'args', "
	"json_object('name', 'gaps: not watched')) WHERE EXISTS (SELECT 1 FROM gaps) UNION ALL "
	"SELECT DISTINCT json_object('ph', 'M', 'name', 'thread_name', 'pid', 2, 'tid', stream, 'args', "
	"json_object('name', resource || iif(apigroup = '', '', '.' || apigroup))) FROM gaps UNION ALL "
	"SELECT json_object('ph', 'X', 'cat', 'gap', 'name', reason || ', ' || how_ended, 'pid', 2, 'tid', stream, "
	"'ts', " MICROSECONDS(
		"begin_ns") ", 'dur', max(0, iif(how_ended = 'open', :end - begin_ns, coalesce(end_ns - begin_ns, duration_ns, "
			    "0))) / 1000.0, 'args', json_object(" CLOCK(
				    "begin_ns") ", 'gap', gap, 'from_rv', from_rv, 'to_rv', to_rv, "
						"'modified', modified, 'added', added, 'deleted', deleted, 'recreated', recreated)) FROM gaps";

const char *const export_trace_sql[] = {connections, gaps, objects, NULL};

/* ---- a run ---- */

#define RUN_PROCESS    "3"
#define RESOURCE       "coalesce(resource, '') || iif(coalesce(subresource, '') = '', '', '/' || subresource)"
#define MARK(category) "'ph', 'i', 's', 't', 'cat', '" category "', 'pid', " RUN_PROCESS

/* Programs before requests, so that nobody's writes share a track with a watch. */
static const char run_tracks[] =
	"SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', " RUN_PROCESS
	", 'args', json_object('name', 'run')) UNION ALL "
	"SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', " RUN_PROCESS
	", 'tid', 1, 'args', json_object('name', 'faults')) WHERE EXISTS (SELECT 1 FROM faults) UNION ALL "
	"SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', " RUN_PROCESS
	", 'tid', 1 + min(write), 'args', json_object('name', 'writes of ' || coalesce(client, '?'))) "
	"FROM writes GROUP BY client UNION ALL "
	"SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', " RUN_PROCESS
	", 'tid', (SELECT 1 + coalesce(max(write), 0) FROM writes) + request, 'args', "
	"json_object('name', 'watch ' || request || ' of ' || coalesce(client, '?') || ': ' || path)) "
	"FROM requests WHERE request IN (SELECT request FROM deliveries WHERE lateness_ns >= :late)";

static const char run_writes[] = "SELECT json_object(" MARK(
	"write") ", 'tid', 1 + min(write) OVER (PARTITION BY client), 'name', "
		 "verb || ' ' || " RESOURCE
		 " || iif(coalesce(name, '') = '', '', ' ' || name), 'ts', " MICROSECONDS("coalesce(tape_time_ns, :start)") ", 'args', json_object(" CLOCK(
			 "coalesce(tape_time_ns, :start)") ", 'namespace', namespace, 'status', status, "
							   "'policy', policy, 'reason', reason, 'request', request, 'seq', seq)) FROM writes";

/* Where the event lies on the tape: how late it was is in its name. */
static const char run_deliveries[] = "SELECT json_object(" MARK(
	"delivery") ", 'tid', (SELECT 1 + coalesce(max(write), 0) FROM writes) + d.request, "
		    "'name', 'late ' || duration(d.lateness_ns), 'ts', " MICROSECONDS(
			    "e.time_ns") ", 'args', "
					 "json_object(" CLOCK(
						 "e.time_ns") ", 'seq', d.seq, 'type', d.type, 'resource', e.resource, 'namespace', e.namespace, 'object', e.name, "
							      "'lateness_us', d.lateness_ns / 1000.0)) "
							      "FROM deliveries AS d JOIN events AS e ON e.seq = d.seq WHERE d.lateness_ns >= :late";

static const char run_faults[] =
	"SELECT json_object(" MARK("fault") ", 'tid', 1, 'name', coalesce(what, '') || ' ' || coalesce(step, ''), 'ts', " MICROSECONDS(
		"coalesce(tape_time_ns, :start)") ", 'args', json_object(" CLOCK("coalesce(tape_time_ns, :start)") ", 'rule', rule, 'detail', detail, 'request', "
														   "request)) FROM faults";

const char *const export_run_sql[] = {run_tracks, run_writes, run_deliveries, run_faults, NULL};
