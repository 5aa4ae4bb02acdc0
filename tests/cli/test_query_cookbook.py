"""Every question of the cookbook has the answer that stands there.

`KUBETAPE_UPDATE_COOKBOOK=1 tests/run_python.py test_query_cookbook` writes the answers anew; read what it changed.
"""
import json
import os
import re
import sqlite3
import subprocess
import unittest

from tapes import KUBETAPE, NODES, PODS, SECOND, START, TapeTest, event, pod

COOKBOOK = "schema/sql/COOKBOOK.md"
BUNDLED = "tests/tapes/rolling-update.tape"
GAPS = "tests/tapes/watch-gaps.tape"
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n", "resourceVersion": "5"}}
RECIPE = re.compile(r"^### (?P<question>.*)\n(?P<text>(?:(?!```).*\n)*)```sql(?P<tape>.*)\n(?P<sql>(?:(?!```).*\n)*)```\n"
                    r"(?:```\n(?P<answer>(?:(?!```).*\n)*)```\n)?", re.M)


RUN_TIMES = {seq: 1795254690 * SECOND + n * 700_000_000 for n, seq in enumerate((248, 250, 281, 282, 459, 463, 465, 473, 474))}
# request, position, verb, resource, name, last event its client had seen, how long before in us, status, body
RUN_REQUESTS = [
    (1, 248, "list", "pods", None, None, None, 200, None),
    (2, 248, "watch", "pods", None, None, None, 200, None),
    (3, 250, "update", "deployments", "web", 250, 1200, 200, '{"spec":{"replicas":7}}'),
    (4, 282, "update", "deployments", "web", 282, 2400, 409, '{"spec":{"replicas":6}}'),
    (5, 282, "get", "deployments", "web", 282, 3100, 200, None),
    (6, 282, "update", "deployments", "web", 282, 4000, 200, '{"spec":{"replicas":6}}'),
    (7, 463, "list", "pods", None, 459, 30000, 200, None),
    (8, 463, "watch", "pods", None, 459, 31000, 200, None),
    (9, 473, "delete", "pods", "lonely", 465, 700000, 404, None),
]
RUN_DELIVERIES = [(250, 40), (281, 55), (282, 61), (459, 52), (465, 1900), (473, 45)]
CONFLICT = '{"kind":"Status","status":"Failure","message":"the object has been modified","reason":"Conflict","code":409}'
NOT_FOUND = '{"kind":"Status","status":"Failure","message":"pods \\"lonely\\" not found","reason":"NotFound","code":404}'


class Tables(TapeTest):
    def test_the_page_of_tables_has_every_column_and_no_other(self):
        with open("docs/tables.md", encoding="utf-8") as f:
            sections = re.split(r"^## (\w+)\n", f.read(), flags=re.M)[1:]
        told = {}
        for table, text in zip(sections[::2], sections[1::2]):
            cells = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.M)
            told[table] = {(name, bool(star)) for cell in cells for star, name in re.findall(r"(\*?)`(\w+)`\*?", cell)}
        done = subprocess.run([KUBETAPE, "query", "--format", "json", BUNDLED,
                               "SELECT m.name AS t, p.name AS c, p.hidden FROM pragma_table_list AS m, pragma_table_xinfo(m.name) AS p "
                               "WHERE m.type = 'virtual'"], capture_output=True, text=True, check=True)
        real = {}
        for row in json.loads(done.stdout):
            real.setdefault(row["t"], set()).add((row["c"], bool(row["hidden"])))
        self.assertEqual(told.keys(), real.keys(), "the sections of docs/tables.md, and the tables that there are")
        for table, columns in real.items():
            self.assertEqual(told[table] ^ columns, set(), f"docs/tables.md and the table {table} differ in these (column, hidden)")


class Cookbook(TapeTest):
    rows = [
        event(0, "ADDED", NODE, stream=NODES, origin="list"),
        event(0, "ADDED", pod("cache-0", "c1", 10), origin="list"),
        event(0, "ADDED", pod("web-0", "w1", 11), origin="list"),
        event(30, "MODIFIED", pod("web-0", "w1", 12)),
        event(45, "DELETED", pod("cache-0", "c1", 20), origin="inferred", rv="20"),
        event(45, "ADDED", pod("web-0", "w2", 18), origin="relist"),
        event(100, "MODIFIED", pod("web-0", "w2", 25)),
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + 30 * SECOND,
         "end_ns": START + 45 * SECOND, "duration_ns": 15 * SECOND, "begin_seq": 4, "end_seq": 6, "from_rv": "12",
         "to_rv": "20", "recreated": 1, "deleted": 1},
        {"gap": "goaway", "how_ended": "rewatch", "stream": NODES, "begin_ns": START + 60 * SECOND,
         "end_ns": START + 61 * SECOND, "duration_ns": SECOND, "begin_seq": 6, "end_seq": 6},
        {"missed": "deleted", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "cache-0", "uid": "c1"},
        {"missed": "recreated", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "web-0", "uid": "w2",
         "old_uid": "w1"},
    ]

    def make_run(self):
        """The run of a controller that scales what it sees: an empty one, as a replay leaves it, and its rows."""
        path = os.path.join(self.dir, "x.run")
        subprocess.run([KUBETAPE, "replay", BUNDLED, "--plain", "--run", path, "--", "true"], capture_output=True, timeout=60, check=True)
        with sqlite3.connect(path) as db:
            at = RUN_TIMES
            for request, seq, verb, resource, name, seen, latency_us, status, body in RUN_REQUESTS:
                db.execute("INSERT INTO requests (request, time_ns, tape_time_ns, seq, client, method, path, verb, apigroup, version, resource,"
                           " namespace, name, seen_seq, latency_ns, body, status, whole, events, bytes) VALUES"
                           " (?,?,?,?,'scaler/v1','-','/',?,?,'v1',?,'shop',?,?,?,?,?,1,0,0)",
                           (request, at[seq] + request, at[seq], seq, verb, "" if resource == "pods" else "apps", resource, name, seen,
                            latency_us and latency_us * 1000, body, status))
            db.execute("INSERT INTO writes (request, time_ns, tape_time_ns, seq, client, verb, apigroup, version, resource, namespace, name, policy,"
                       " dry_run, body, object, status, reason) SELECT request, time_ns, tape_time_ns, seq, client, verb, apigroup, version, resource,"
                       " namespace, name, 'overlay', 0, body, CASE status WHEN 409 THEN ? WHEN 404 THEN ? ELSE body END, status, CASE status WHEN 409 THEN 'Conflict' WHEN 404 THEN 'NotFound' END FROM requests"
                       " WHERE verb IN ('update', 'delete') ORDER BY request", (CONFLICT, NOT_FOUND))
            for seq, late_us in RUN_DELIVERIES:
                db.execute("INSERT INTO deliveries (request, seq, type, due_ns, out_ns) SELECT 2, ?1, 'MODIFIED', ?2, ?2 + ?3",
                           (seq, at[seq], late_us * 1000))
            db.execute("INSERT INTO faults (time_ns, tape_time_ns, seq, rule, episode, step, what, resource, request)"
                       " VALUES (?1, ?1, 463, 1, 1, 'request', 'rst', 'pods', 2)", (at[463],))
        return path

    def make_live_run(self):
        """The same as a tee has it: at the times of the tape, whose events came late, one of them much."""
        path = self.make_run()
        done = self.run_tape("query", BUNDLED, "SELECT seq, time_ns, uid, rv FROM events", "--format", "json")
        events = {row["seq"]: row for row in json.loads(done.stdout)}
        with sqlite3.connect(path) as db:
            db.execute("INSERT INTO run VALUES ('source', 'tee')")
            for request, seq, *_ in RUN_REQUESTS:
                at = events[seq if request < 9 else 465]["time_ns"] + request * 1_000_000
                db.execute("UPDATE requests SET time_ns = ?1, end_ns = ?1 + 500000, client_id = 1, how = 'complete',"
                           " ended_by = iif(verb = 'watch' AND request < 8, 'client', 'server') WHERE request = ?2", (at, request))
                db.execute("UPDATE writes SET time_ns = ? WHERE request = ?", (at, request))
            for number, (seq, late_us) in enumerate(RUN_DELIVERIES, 1):
                e = events[seq]
                db.execute("UPDATE deliveries SET out_ns = ?, due_ns = NULL, number = ?, uid = ?, rv = ?, type = iif(? IN (282, 473), 'DELETED', type)"
                           " WHERE seq = ?", (e["time_ns"] + late_us * 10_000, number, e["uid"], e["rv"], seq, seq))
        return path

    def make_halves(self):
        """The bundled tape, before and after a moment."""
        words = []
        for name, *bounds in (("before", "--until", "+15s"), ("after", "--from", "+15s")):
            path = os.path.join(self.dir, name + ".ktape")
            if not os.path.exists(path):
                subprocess.run([KUBETAPE, "cut", BUNDLED, *bounds, "-o", path], capture_output=True, timeout=60, check=True)
            words += ["--tapes", f"{name}={path}"]
        return words

    def answer(self, recipe):
        kind = recipe["tape"].strip()
        if kind == "fleet":
            done = self.run_tape("query", *self.make_halves(), recipe["sql"])
            self.assertEqual((done.returncode, done.stderr), (0, ""), recipe["question"])
            return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
        options = ["--run", self.make_run()] if kind == "run" else ["--run", self.make_live_run()] if kind == "live" else []
        done = self.run_tape("query", GAPS if kind == "gaps" else BUNDLED, recipe["sql"], *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), recipe["question"])
        return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())

    def test_the_small_bundled_tape_is_what_these_rows_make(self):
        made, bundled = [self.run_tape("export", tape, "--table", "all").stdout for tape in (self.tape, GAPS)]
        self.assertEqual(made, bundled)
        self.assertIn('"change":"recreated"', made)

    def test_every_question_has_the_answer_that_stands_there(self):
        with open(COOKBOOK) as f:
            text = f.read()
        recipes = list(RECIPE.finditer(text))
        self.assertGreaterEqual(len(recipes), 25)
        self.assertEqual(len(recipes), text.count("\n### "))
        answers = {r["question"]: self.answer(r) for r in recipes}
        if os.environ.get("KUBETAPE_UPDATE_COOKBOOK"):
            with open(COOKBOOK, "w") as f:
                f.write(RECIPE.sub(lambda r: "### {}\n{}```sql{}\n{}```\n```\n{}```\n".format(
                    r["question"], r["text"], r["tape"], r["sql"], answers[r["question"]]), text))
            return
        for recipe in recipes:
            self.assertEqual(recipe["answer"], answers[recipe["question"]], recipe["question"])


if __name__ == "__main__":
    unittest.main()
