/* run_schema.c: see run_schema.h. */
#include "schema/run/run_schema.h"

/* clang-format off */

/* A time as text is computed when it is read: it takes no room. */
#define TIME(name) \
	name " TEXT AS (strftime('%Y-%m-%dT%H:%M:%S', " name "_ns / 1000000000, 'unixepoch') || " \
	"printf('.%09dZ', " name "_ns % 1000000000)),"
#define WAL "PRAGMA journal_mode = WAL;"
#define WHEN \
	"time_ns INTEGER NOT NULL, " TIME("time") " tape_time_ns INTEGER, " TIME("tape_time") " seq INTEGER,"
#define RESOURCE \
	"apigroup TEXT, version TEXT, resource TEXT, subresource TEXT, namespace TEXT, name TEXT,"

/* Earlier runs lack it. */
#define PROBES \
	"CREATE TABLE IF NOT EXISTS probes (probe INTEGER PRIMARY KEY, time_ns INTEGER, " TIME("time") \
	" seq INTEGER, output TEXT, exit_code INTEGER);"

/* A commit costs no fsync. */
const char run_schema[] =
	WAL
	"BEGIN;" /* a kill leaves all of it or nothing */
	"PRAGMA application_id = 0x4b545255;"
	"PRAGMA user_version = 2;"
	"CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE requests (request INTEGER PRIMARY KEY, " WHEN
	" client TEXT, method TEXT, path TEXT, verb TEXT, " RESOURCE
	" rv TEXT, seen_seq INTEGER, seen_rv TEXT, latency_ns INTEGER, body TEXT,"
	" status INTEGER, end_ns INTEGER, " TIME("end")
	" duration_ns INTEGER, whole INTEGER, events INTEGER, bytes INTEGER,"
	" client_id INTEGER, socket INTEGER, accept TEXT, content_type TEXT, how TEXT, ended_by TEXT,"
	" h2_error INTEGER, retry_after INTEGER, audit_id TEXT);"
	"CREATE TABLE deliveries (request INTEGER NOT NULL, seq INTEGER NOT NULL, type TEXT,"
	" due_ns INTEGER, out_ns INTEGER NOT NULL, " TIME("due") " " TIME("out")
	" lateness_ns INTEGER AS (out_ns - due_ns), number INTEGER, rv TEXT, uid TEXT);"
	"CREATE TABLE writes (write INTEGER PRIMARY KEY, request INTEGER, " WHEN
	" client TEXT, verb TEXT, " RESOURCE
	" policy TEXT, content_type TEXT, dry_run INTEGER, body TEXT, object TEXT,"
	" status INTEGER, reason TEXT, rv TEXT, uid TEXT);"
	"CREATE TABLE faults (fault INTEGER PRIMARY KEY, " WHEN
	" rule INTEGER, episode INTEGER, step TEXT, what TEXT, detail TEXT, " RESOURCE
	" request INTEGER);"
	"CREATE TABLE clients (client_id INTEGER PRIMARY KEY, client TEXT, credential TEXT, "
	TIME("time") " time_ns INTEGER);"
	"CREATE TABLE sockets (socket INTEGER PRIMARY KEY, time_ns INTEGER, " TIME("time")
	" peer TEXT, server TEXT, http_version TEXT, tls INTEGER, end_ns INTEGER, " TIME("end")
	" how TEXT, ended_by TEXT);"
	"CREATE TABLE frames (request INTEGER NOT NULL, number INTEGER NOT NULL, out_ns INTEGER NOT NULL, "
	TIME("out") " type TEXT, rv TEXT, uid TEXT, encoding TEXT, body BLOB);"
	"CREATE TABLE answers (request INTEGER NOT NULL, piece INTEGER NOT NULL, raw_bytes INTEGER, data BLOB,"
	" PRIMARY KEY (request, piece)) WITHOUT ROWID;"
	PROBES
	"COMMIT;";

const char run_go_on[] =
	WAL
	PROBES
	"UPDATE requests SET how = 'lost', ended_by = 'tee' WHERE end_ns IS NULL AND how IS NULL;"
	"UPDATE sockets SET how = 'lost', ended_by = 'tee' WHERE end_ns IS NULL AND how IS NULL;"
	"DELETE FROM run WHERE name IN ('end_ns', 'ended_seq', 'exit_code', 'ended_by');";

/* clang-format on */

const char run_finish[] = "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;";

const char *const run_statements[RUN_STATEMENTS] = {
	[RUN_FACT] = "INSERT OR REPLACE INTO run VALUES (?, ?)",
	[RUN_REQUEST] =
		"INSERT INTO requests (request, time_ns, tape_time_ns, seq, client, method, path, verb,"
		" apigroup, version, resource, subresource, namespace, name, rv, seen_seq, seen_rv,"
		" latency_ns, body, client_id, socket, accept)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[RUN_ANSWER] =
		"UPDATE requests SET status = ?2, end_ns = ?3, duration_ns = ?4, whole = ?5, events = ?6,"
		" bytes = ?7, content_type = ?8, how = ?9, ended_by = ?10, h2_error = ?11, retry_after = ?12,"
		" audit_id = ?13 WHERE request = ?1",
	[RUN_DELIVERY] = "INSERT INTO deliveries (request, seq, type, due_ns, out_ns, number, rv, uid)"
			 " VALUES (?,?,?,?,?,?,?,?)",
	[RUN_WRITE] =
		"INSERT INTO writes (request, time_ns, tape_time_ns, seq, client, verb, apigroup, version,"
		" resource, subresource, namespace, name, policy, content_type, dry_run, body, object,"
		" status, reason, rv, uid) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[RUN_FAULT] =
		"INSERT INTO faults (time_ns, tape_time_ns, seq, rule, episode, step, what, detail, apigroup,"
		" version, resource, subresource, namespace, name, request)"
		" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[RUN_CLIENT] = "INSERT INTO clients (client_id, client, credential, time_ns) VALUES (?,?,?,?)",
	[RUN_SOCKET] = "INSERT INTO sockets (socket, time_ns, peer, server, http_version, tls)"
		       " VALUES (?,?,?,?,?,?)",
	[RUN_SOCKET_END] = "UPDATE sockets SET end_ns = ?2, how = ?3, ended_by = ?4 WHERE socket = ?1",
	[RUN_FRAME] = "INSERT INTO frames (request, number, out_ns, type, rv, uid, encoding, body)"
		      " VALUES (?,?,?,?,?,?,?,?)",
	[RUN_PIECE] = "INSERT INTO answers (request, piece, raw_bytes, data) VALUES (?,?,?,?)",
	[RUN_PROBE] = "INSERT INTO probes (time_ns, seq, output, exit_code) VALUES (?,?,?,?)",
};
