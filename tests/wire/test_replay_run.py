"""The run file: what a replay keeps of who asked for what, what was delivered, and how late; asked in SQL."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from replays import DEADLINE_S, KUBETAPE, NODES, PODS, Case, Tape, brief, obj
from waiting import wait_for

SECRETS = {"version": "v1", "resource": "secrets", "kind": "Secret", "namespaced": True}


def small(count=5, spacing=0.05):
    tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(NODES, 20, [obj(NODES, "n", 6)])
    tape.listed(SECRETS, 20, [obj(SECRETS, "s", 7)])
    for i in range(count):
        tape.event(1 + spacing * i, PODS, "ADDED", obj(PODS, "p%d" % i, 31 + i))
    return tape


class RunTest(Case):
    def begin(self, *options, made=None):
        self.path = os.path.join(self.folder, "x.run")
        self.tape_path = self.tape(made or small())
        return self.replay(self.tape_path, "--run", self.path, *options)

    def ask(self, sql):
        """Rows of stock SQLite."""
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            return db.execute(sql).fetchall()

    def query(self, sql, *options, run=None):
        return subprocess.run([KUBETAPE, "query", self.tape_path, "--run", run or self.path, sql, "--format", "json", *options],
            capture_output=True, text=True, timeout=60, check=False)

    def wait_for_rows(self, sql, count):
        def rows():
            try:
                found = self.ask(sql)
            except sqlite3.OperationalError:
                return None
            return found if len(found) >= count else None

        return wait_for(rows, f"{count} rows of: {sql}")

    def test_every_request_has_a_row_with_what_it_asked_for_and_its_answer(self):
        r = self.begin()
        r.request("GET", "/api/v1/namespaces/default/pods/a", {"User-Agent": "one"})
        r.request("GET", "/api/v1/pods?limit=5&resourceVersion=0", {"User-Agent": "two"})
        r.request("GET", "/api/v1/namespaces/default/pods/none/status", {"User-Agent": "one"})
        r.request("GET", "/version", {"User-Agent": "one"})
        r.request("DELETE", "/api/v1/pods", {"User-Agent": "one"})
        self.assertEqual(r.stop(), 0)
        rows = self.ask("SELECT client, method, path, verb, resource, subresource, namespace, name, rv, status"
            " FROM requests ORDER BY request")
        self.assertEqual(rows[:4], [
            ("one", "GET", "/api/v1/namespaces/default/pods/a", "get", "pods", None, "default", "a", None, 200),
            ("two", "GET", "/api/v1/pods?limit=5&resourceVersion=0", "list", "pods", None, None, None, "0", 200),
            ("one", "GET", "/api/v1/namespaces/default/pods/none/status", "get", "pods", "status", "default", "none", None, 404),
            ("one", "GET", "/version", "get", None, None, None, None, None, 200)])
        self.assertEqual(rows[4][3], "deletecollection")
        for time_, tape_time, seq, duration, whole, size in self.ask(
                "SELECT time, tape_time, seq, duration_ns, whole, bytes FROM requests"):
            self.assertRegex(time_, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
            self.assertRegex(tape_time, r"^2027-01-15T08:00:00\.\d{9}Z$")
            self.assertEqual((seq, whole), (3, 1))
            self.assertGreater(duration, 0)
            self.assertGreater(size, 0)

    def test_every_delivery_has_a_row_with_its_lateness_and_joins_the_tape(self):
        r = self.begin("--exit-at-end")
        with r.watch("/api/v1/pods?watch=1") as w:
            sent = [brief(e)[:2] for e in w.rest()]
        self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)
        done = self.query("SELECT d.type, e.name, d.due IS NULL AS past, d.lateness_ns FROM deliveries d JOIN events e"
            " ON e.seq = d.seq ORDER BY d.seq")
        rows = json.loads(done.stdout)
        self.assertEqual([(x["type"], x["name"]) for x in rows], sent)
        self.assertEqual([x["past"] for x in rows], [1, 0, 0, 0, 0, 0])
        for row in rows[1:]:
            self.assertGreater(row["lateness_ns"], 0)
            self.assertLess(row["lateness_ns"], 10 * 10**9)
        self.assertEqual(self.ask("SELECT events, whole, status FROM requests WHERE verb = 'watch'"), [(6, 1, 200)])

    def test_a_request_tells_which_event_its_client_had_seen_and_how_long_before(self):
        r = self.begin("--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(5)
            r.request("GET", "/api/v1/namespaces/default/pods/p4", {"User-Agent": "another"})
            r.request("GET", "/api/v1/namespaces/default/pods/p4")
        self.assertEqual(r.stop(), 0)
        rows = self.ask("SELECT client, seen_seq, seen_rv, latency_ns FROM requests WHERE verb = 'get' ORDER BY request")
        self.assertEqual(rows[0], ("another", None, None, None))
        self.assertEqual(rows[1][1:3], (8, "35"))
        self.assertTrue(0 < rows[1][3] < 10**10, rows)

    def test_bodies_are_kept_without_the_values_of_secrets(self):
        r = self.begin()
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
        patch = [{"op": "replace", "path": "/stringData/password", "value": "hunter2"}]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}}
        r.request("POST", "/api/v1/namespaces/default/secrets", body=json.dumps(secret))
        r.request("PATCH", "/api/v1/namespaces/default/secrets/s", body=json.dumps(patch))
        r.request("POST", "/api/v1/namespaces/default/pods", body=json.dumps(pod))
        r.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=json.dumps({"spec": {"token": "hunter2"}}))
        self.assertEqual(r.stop(), 0)
        rows = [row[0] for row in self.ask("SELECT body FROM requests ORDER BY request")]
        self.assertRegex(json.loads(rows[0])["stringData"]["password"], r"^redacted:[0-9a-f]{32}$")
        self.assertEqual(json.loads(rows[1]), [{**patch[0], "value": json.loads(rows[0])["stringData"]["password"]}])
        self.assertEqual(json.loads(rows[2]), pod)
        self.assertRegex(json.loads(rows[3])["spec"]["token"], r"^redacted:[0-9a-f]{32}$")
        with open(self.path, "rb") as f:
            self.assertNotIn(b"hunter2", f.read())

    def test_every_write_has_a_row_with_what_it_asked_for_and_what_came_of_it(self):
        r = self.begin("--write", "overlay", "--write", "nodes=reject")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "resourceVersion": "5"}, "spec": {"x": 1}}
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(5)
            r.request("PUT", "/api/v1/namespaces/default/pods/a", {"Content-Type": "application/json"}, json.dumps(pod))
            r.request("PUT", "/api/v1/namespaces/default/pods/a?fieldManager=m", {"User-Agent": "other"}, json.dumps(pod))
            r.request("DELETE", "/api/v1/nodes/n?dryRun=All")
        self.assertEqual(r.stop(), 0)
        rows = self.ask("SELECT w.verb, w.resource, w.namespace, w.name, w.policy, w.dry_run, w.status, w.reason, r.rv, w.uid, w.seq,"
            " r.status, r.seen_rv, r.latency_ns > 0, w.tape_time > '2027-01-15T08:00:01' FROM writes w JOIN requests r USING (request) ORDER BY write")
        self.assertEqual(rows, [
            ("update", "pods", "default", "a", "overlay", 0, 200, None, "5", "uid-a", 8, 200, "35", 1, 1),
            ("update", "pods", "default", "a", "overlay", 0, 409, "Conflict", "5", None, 8, 409, None, None, 1),
            ("delete", "nodes", None, "n", "reject", 1, 403, "Forbidden", None, None, 8, 403, "36", 1, 1)])
        asked, answered = self.ask("SELECT body, object FROM writes WHERE write = 1")[0]
        self.assertEqual(json.loads(asked), pod)
        self.assertEqual(json.loads(answered)["spec"]["x"], 1)
        refused = json.loads(self.ask("SELECT object FROM writes WHERE write = 2")[0][0])
        self.assertEqual((refused["kind"], refused["reason"], refused["details"]["name"]), ("Status", "Conflict", "a"))

    def test_a_replay_that_is_killed_leaves_a_readable_run(self):
        r = self.begin()
        r.get("/api/v1/pods")
        self.wait_for_rows("SELECT 1 FROM requests WHERE status = 200", 1)
        r.process.send_signal(signal.SIGKILL)
        r.codes = (-signal.SIGKILL,)
        r.process.wait(timeout=DEADLINE_S)
        done = self.query("SELECT verb, resource FROM requests")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, [{"verb": "list", "resource": "pods"}]), done.stderr)

    def test_a_full_disk_ends_the_run_and_not_the_replay(self):
        self.path = os.path.join(self.folder, "x.run")
        r = self.replay(small(), "--run", self.path, through=("sh", "-c", "ulimit -f 200; trap '' XFSZ; exec \"$@\"", "sh"))
        r.codes = (1,)

        deadline = time.monotonic() + DEADLINE_S
        while "the replay goes on, nothing more is stored" not in r.stderr():
            self.assertEqual(r.request("GET", "/api/v1/pods?x=" + "y" * 5000)[0], 200)
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(r.get("/api/v1/pods")[0], 200)
        self.assertEqual(r.stop(), 1)
        self.assertIn("kubetape replay: cannot write the run '%s'" % self.path, r.stderr())

    def test_a_large_row_is_in_the_file_while_the_replay_goes_on(self):
        r = self.begin()
        self.assertEqual(r.request("GET", "/api/v1/pods?x=" + "y" * 5000)[0], 200)
        self.wait_for_rows("SELECT request FROM requests WHERE length(path) > 5000", 1)

    def test_a_reader_does_not_keep_a_run_from_its_end(self):
        r = self.begin()
        r.get("/version")
        self.wait_for_rows("SELECT request FROM requests", 1)
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.execute("BEGIN")
            self.assertEqual(db.execute("SELECT count(*) FROM requests").fetchone(), (1,))
            self.assertEqual(r.stop(), 0)
        self.assertEqual(dict(self.ask("SELECT name, value FROM run"))["exit_code"], "0")

    def test_a_run_is_one_file_and_replaces_an_older_one(self):
        for agent in ("first", "second"):
            r = self.begin()
            r.request("GET", "/version", {"User-Agent": agent})
            self.assertEqual(r.stop(), 0)
        self.assertEqual(self.ask("SELECT client FROM requests"), [("second",)])
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("x.run")], ["x.run"])
        facts = dict(self.ask("SELECT name, value FROM run"))
        self.assertEqual((facts["first_seq"], facts["last_seq"], facts["speed"], facts["exit_code"]), ("3", "8", "1", "0"))

    def test_another_file_is_not_overwritten(self):
        path = os.path.join(self.folder, "precious.txt")
        with open(path, "w") as f:
            f.write("mine")
        for target, code in ((path, 2), (self.folder + "/none/x.run", 1), (self.tape(small()), 2)):
            done = subprocess.run([KUBETAPE, "replay", self.tape(small()), "--run", target], capture_output=True,
                text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
            self.assertIn(target, done.stderr)
        with open(path) as f:
            self.assertEqual(f.read(), "mine")

    def test_what_is_no_run_is_refused_in_one_sentence(self):
        r = self.begin()
        r.stop()
        stranger = os.path.join(self.folder, "stranger.db")
        with sqlite3.connect(stranger) as db:
            db.execute("CREATE TABLE requests (x)")
        crafted = os.path.join(self.folder, "crafted.run")
        with open(self.path, "rb") as f, open(crafted, "wb") as g:
            g.write(f.read())
        with sqlite3.connect(crafted) as db:
            db.execute("CREATE VIEW trap AS SELECT 1")
        cut = os.path.join(self.folder, "cut.run")
        with open(self.path, "rb") as f, open(cut, "wb") as g:
            g.write(f.read()[:5000])
        pipe, empty = os.path.join(self.folder, "pipe"), os.path.join(self.folder, "empty")
        os.mkfifo(pipe)  # to open it would be to wait
        open(empty, "w").close()
        for path in (stranger, crafted, cut, self.folder, os.path.join(self.folder, "none"), pipe, empty, "/dev/null"):
            done = self.query("SELECT * FROM requests", run=path)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), (path, done.stderr))
            if path == crafted:
                continue
            for command in (["diff", path, self.path], ["replay", self.tape_path, "--golden", path, "--", "true"]):
                done = subprocess.run([KUBETAPE, *command], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (path, done.stderr))

    def test_a_run_can_only_be_read(self):
        r = self.begin()
        r.stop()
        for sql in ("DELETE FROM requests", "ATTACH 'x' AS y", "DETACH run", "PRAGMA run.journal_mode = WAL"):
            self.assertEqual(self.query(sql).returncode, 1, sql)

    def test_a_timeline_marks_what_programs_wrote_and_what_came_late(self):
        r = self.begin()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e)[:2] for e in w.take(5)][-1], ("ADDED", "p4"))
        made = json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "mine", "namespace": "default"}})
        r.request("POST", "/api/v1/namespaces/default/configmaps", {"User-Agent": "writer", "Content-Type": "application/json"},
            body=made)
        self.assertEqual(r.stop(), 0)
        done = subprocess.run([KUBETAPE, "export", self.tape_path, "--format", "trace", "--run", self.path, "--late", "0"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        marks = [e for e in json.loads(done.stdout)["traceEvents"] if e["pid"] == 3]
        tracks = {e["tid"]: e["args"]["name"] for e in marks if e["name"] == "thread_name"}
        writes = [e for e in marks if e.get("cat") == "write"]
        self.assertEqual([(e["name"], e["ph"], tracks[e["tid"]]) for e in writes], [("create configmaps mine", "i", "writes of writer")])
        late = [e for e in marks if e.get("cat") == "delivery"]
        self.assertEqual([e["args"]["object"] for e in late], ["p0", "p1", "p2", "p3", "p4"])
        self.assertTrue(all(tracks[e["tid"]].startswith("watch ") and e["name"].startswith("late ") for e in late))
        for e in late:
            self.assertEqual(e["ts"], [x["ts"] for x in json.loads(done.stdout)["traceEvents"]
                if x.get("cat") == "event" and x["args"]["seq"] == e["args"]["seq"]][0], "where the event is")
        quiet = subprocess.run([KUBETAPE, "export", self.tape_path, "--format", "trace", "--run", self.path, "--late", "1h"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn('"delivery"', quiet.stdout)


if __name__ == "__main__":
    unittest.main()
