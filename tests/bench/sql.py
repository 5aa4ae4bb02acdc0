"""Measures SQL over a tape of a million events beside an uncompressed SQLite table of the same rows, indexed by seq,
uid and key, and beside jq on the stream. The same questions, the answers compared, in turns, medians.

    sql.py BUILD_DIR BENCH.json

Prints a table and adds its rows to BENCH.json. Scans: CPU seconds of `kubetape query` and `sqlite3` as processes, user
and system, files in the page cache. Lookups: CPU of many statements in one process, by their number. jq reads the first
twentieth of the stream, and kubetape is asked for the same events then.
BENCH_SQL_EVENTS changes the number of events; a million need 10 GB of disk for a while.
"""
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

from figures import head, merge, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
EVENTS = int(os.environ.get("BENCH_SQL_EVENTS", "1000000"))
ROUNDS = 3
LOOKUPS = 2000
JQ_SHARE = 20
TABLE = "SQLite table, uncompressed"
COLUMNS = "seq, time, time_ns, origin, type, apigroup, version, resource, namespace, name, uid, rv, bytes, object"

# The rival has json_extract in the place of jget.
SCANS = [
    ("count(*)", "SELECT count(*) FROM events"),
    ("events of each resource and type", "SELECT resource, type, count(*) FROM events GROUP BY 1, 2"),
    ("events and bytes of each namespace", "SELECT namespace, count(*), sum(bytes) FROM events GROUP BY 1"),
    ("length of all objects", "SELECT sum(length(object)) FROM events"),
    ("objects LIKE '%CrashLoopBackOff%'", "SELECT count(*) FROM events WHERE object LIKE '%CrashLoopBackOff%'"),
    ("phase of every object, jget against json_extract",
     "SELECT count(*) FROM events WHERE jget(object, '$.status.phase') = 'Running'"),
    ("the same, pods only",
     "SELECT count(*) FROM events WHERE resource = 'pods' AND jget(object, '$.status.phase') = 'Running'"),
    ("json_extract by both",
     "SELECT count(*) FROM events WHERE resource = 'pods' AND json_extract(object, '$.status.phase') = 'Running'"),
    ("a minute of the six hours, objects", "SELECT count(*), sum(length(object)) FROM events WHERE time_ns BETWEEN {minute} AND {minute} + 60000000000"),
    ("all objects in the order of arrival", "SELECT sum(length(o)) FROM (SELECT object AS o FROM events ORDER BY seq LIMIT -1)"),
]

def tool(name):
    return os.path.join(BUILD, name)


# ---- the stores ----

def make_tape(folder):
    path = os.path.join(folder, "x.tape")
    stream = subprocess.Popen([tool("bench/gen_stream"), "--events", str(EVENTS)], stdout=subprocess.PIPE)
    subprocess.run([tool("kubetape"), "import", "--times", "objects", "-o", path, "-"], stdin=stream.stdout, check=True,
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if stream.wait():
        sys.exit("gen_stream failed")
    return path


def make_table(folder, tape):
    path = os.path.join(folder, "plain.db")
    subprocess.run(["sqlite3", path], check=True, text=True, stdout=subprocess.DEVNULL, input=f"""
		.load {tool("kubetape")}
		SELECT kubetape_open('{tape}');
		PRAGMA main.journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -600000;
		CREATE TABLE main.events(seq INTEGER PRIMARY KEY, time TEXT, time_ns INTEGER, origin TEXT, type TEXT, apigroup TEXT,
			version TEXT, resource TEXT, namespace TEXT, name TEXT, uid TEXT, rv TEXT, bytes INTEGER, object TEXT);
		INSERT INTO main.events SELECT {COLUMNS} FROM temp.events ORDER BY seq;
		CREATE INDEX main.by_uid ON events(uid, seq);
		CREATE INDEX main.by_key ON events(resource, namespace, name, seq);
		CREATE INDEX main.by_time ON events(time_ns);""".replace("\n\t\t", "\n"))
    return path


def make_stream(folder):
    path = os.path.join(folder, "twentieth.ndjson")
    with open(path, "wb") as f:
        subprocess.run([tool("bench/gen_stream"), "--events", str(EVENTS // JQ_SHARE)], stdout=f, check=True)
    return path


def disk_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))


# ---- asking ----

def run(*command):
    """(CPU seconds, output) of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def ask_ours(tape, sql):
    seconds, text = run(tool("kubetape"), "query", tape, sql, "--format", "ndjson")
    return seconds, sorted("|".join("" if v is None else str(v) for v in json.loads(line).values()) for line in text.splitlines())


def ask_table(path, sql):
    seconds, text = run("sqlite3", path, sql.replace("jget(", "json_extract("))
    return seconds, sorted(text.splitlines())


def compare(what, ours, theirs):
    if ours != theirs:
        sys.exit(f"bench: '{what}' is answered differently:\n{ours[:5]}\n{theirs[:5]}")


def scans(tape, table, minute):
    for title, sql in SCANS:
        ours, rival = [], []
        for _ in range(ROUNDS):
            seconds, answer = ask_ours(tape, sql.format(minute=minute))
            ours.append(seconds * 1e3)
            seconds, rival_answer = ask_table(table, sql.format(minute=minute))
            rival.append(seconds * 1e3)
            compare(title, answer, rival_answer)
        row("SQL, %s: %s" % (count_name(), title), statistics.median(ours), "ms", "", statistics.median(rival), TABLE)


def lookups(folder, tape, table):
    """Many statements in one process, less what a process with one statement takes."""
    chance = random.Random(1)
    last = int(ask_table(table, "SELECT max(seq) FROM events")[1][0])
    seqs = [chance.randrange(1, last + 1) for _ in range(LOOKUPS)]
    uids = ask_table(table, f"SELECT uid FROM events WHERE seq IN ({', '.join(map(str, seqs))})")[1]
    path = os.path.join(folder, "statements.sql")
    for title, sql, values in [("one event by seq", "SELECT seq, length(object) FROM events WHERE seq = %s;\n", seqs),
            ("all versions of an object by uid", "SELECT seq, length(object) FROM events WHERE uid = '%s' ORDER BY seq;\n", uids)]:
        with open(path, "w") as f:
            f.write("".join(sql % value for value in values))
        seconds, answer = run(tool("kubetape"), "query", tape, "-f", path, "--format", "ndjson")
        rival_seconds, rival_answer = run("sqlite3", table, ".read " + path)
        compare(title, ["|".join(map(str, json.loads(line).values())) for line in answer.splitlines()], rival_answer.splitlines())
        ours = seconds - ask_ours(tape, sql % values[0])[0]
        rival = rival_seconds - ask_table(table, sql % values[0])[0]
        row("SQL, %s: %s" % (count_name(), title), ours * 1e6 / len(values), "us", "", rival * 1e6 / len(values), TABLE)


def beside_jq(tape, stream):
    with open(stream, "rb") as f:
        count = sum(not line.startswith(b'{"type":"BOOKMARK"') for line in f)
    for title, sql, filter_text in [
            ("events of each kind and type", "SELECT jget(object, '$.kind') AS kind, type FROM events WHERE seq <= %d",
                'select(.type != "BOOKMARK") | .object.kind + "|" + .type'),
            ("phase of every pod", "SELECT jget(object, '$.status.phase') AS p FROM events WHERE seq <= %d AND resource = 'pods'",
                'select(.type != "BOOKMARK" and .object.kind == "Pod") | .object.status.phase'),
            ("name of every object that crash loops", "SELECT name FROM events WHERE seq <= %d AND instr(object, 'CrashLoopBackOff')",
                'select(.object | tostring | contains("CrashLoopBackOff")) | .object.metadata.name')]:
        ours, answer = ask_ours(tape, sql % count)
        theirs, text = run("jq", "-r", filter_text, stream)
        compare(title, answer, sorted(text.splitlines()))
        row("SQL, first twentieth of %s: %s" % (count_name(), title), ours * 1e3, "ms", "", theirs * 1e3, "jq on the stream")


def count_name():
    return "1 M" if EVENTS == 1000000 else str(EVENTS)


def main():
    folder = tempfile.mkdtemp(prefix="kubetape-bench-sql-", dir=os.path.join(BUILD, "bench"))
    try:
        tape = make_tape(folder)
        table = make_table(folder, tape)
        head()
        row("SQL, %s: size on disk" % count_name(), disk_bytes(tape) / 1e6, "MB", "", disk_bytes(table) / 1e6, TABLE)
        minute = ask_table(table, "SELECT (min(time_ns) + max(time_ns)) / 2 FROM events")[1][0]
        scans(tape, table, minute)
        lookups(folder, tape, table)
        beside_jq(tape, make_stream(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    merge(RESULT)


if __name__ == "__main__":
    main()
