"""kubetape push into ClickHouse: a stand-in, and the engine itself where the package chdb is installed."""
import json
import os
import re
import subprocess
import threading

from audit_log import request, write_log
from clickhouse_server import Chdb, ClickHouse, Rows, chdb_session
from tapes import KUBETAPE, PODS, SECOND, START, TapeTest, event, pod
from test_push import segments

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("seq", "type", "origin", "apigroup", "version", "resource", "namespace", "name", "uid", "rv", "object")


class PushTest(TapeTest):
    rows = segments(2)
    engine = Rows

    def setUp(self):
        super().setUp()
        self.server = ClickHouse(self.engine)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)

    def env(self):
        return {"PATH": os.environ["PATH"], "HOME": self.dir, **self.server.env}

    def push(self, *options, code=0, url=None, env=None):
        done = self.run_tape("push", self.tape, url or self.server.url, *options, env=env or self.env())
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def assert_stored(self):
        """The events there are those on the tape, also before duplicates are merged."""
        want = self.query(f"SELECT {', '.join(COLUMNS)}, time_ns FROM events ORDER BY seq")
        for rows in (self.server.engine.all_rows("events"), self.server.rows("events")):
            rows = sorted(rows, key=lambda r: r["seq"])
            self.assertEqual([{**{c: r[c] for c in COLUMNS}, "time_ns": r["time"]} for r in rows], want)
        account = [(r["segment"], r["events"]) for r in self.server.rows("segments")]
        self.assertEqual(sorted(account), [(r["segment"], r["events"]) for r in self.query("SELECT segment, events FROM segments ORDER BY segment")])


class Push(PushTest):
    def test_every_event_is_a_row_and_every_segment_is_accounted_for(self):
        self.push("--cluster", "it's\\eu-1")
        self.assert_stored()
        self.assertEqual({r["cluster"] for r in self.server.rows("events")}, {"it's\\eu-1"})
        said = self.run_tape("info", self.tape).stdout
        self.assertIn(f"pushed       to {self.server.url.replace('writer@', '')}, which has every sealed segment", said)

    def test_what_is_there_is_not_sent_again(self):
        self.push()
        before = len(self.server.requests)
        self.assertIn("pushed 0 segments", self.push().stdout)
        self.assertEqual([r for r in self.server.requests[before:] if r.startswith("INSERT")], [])
        self.assertEqual(len(self.server.requests), before + 6)  # the account, and whether each table is there

    def test_a_server_that_is_busy_is_asked_again(self):
        self.server.refuse = [(500, "Code: 252. DB::Exception: Too many parts (300). (TOO_MANY_PARTS)"), (503, "")]
        self.assertIn("TOO_MANY_PARTS", self.push().stderr)
        self.assert_stored()

    def test_what_it_refuses_is_one_sentence_in_its_words(self):
        wrong = {**self.env(), "CLICKHOUSE_PASSWORD": "wrong"}
        done = self.push(code=1, env=wrong)
        self.assert_fails(done, 1, "answered 403: Code: 516. DB::Exception: writer: Authentication failed")
        self.assertNotIn("wrong", done.stderr)
        self.server.refuse = [(404, "Code: 81. DB::Exception: Database tapes does not exist. (UNKNOWN_DATABASE)")]
        self.assert_fails(self.push(code=1), 1, "Database tapes does not exist")

    def test_an_answer_to_a_question_that_is_no_table_is_not_taken_for_none(self):
        self.push()
        for said in ("", "<html>Sign in</html>\n", "segment\tbytes\tdigest\nCode: 395. DB::Exception: Value passed to 'throwIf'", "segment\tbytes\tdigest\n1\t2"):
            with self.subTest(said):
                self.server.refuse = [(200, said)]
                self.assert_fails(self.push(code=1), 1, "something that is no table of segment, bytes, digest FROM segments FINAL")
        self.assert_stored()

    def test_a_url_that_names_no_database_or_a_password_is_a_usage_error(self):
        for url, sentence in (("clickhouse+http://h", "is no place in ClickHouse"), ("clickhouse+ftp://h/d", "is no place in ClickHouse"),
                              ("clickhouse://h/d", "is no place in ClickHouse"), ("clickhouse+http://h:99999/d", "is no place in ClickHouse"),
                              ("clickhouse+http://h/d;x", "is no place in ClickHouse"), ("clickhouse+https://u:secret@h/d", "CLICKHOUSE_PASSWORD")):
            done = self.push(code=2, url=url)
            self.assert_fails(done, 2, sentence)
            self.assertNotIn("secret@", done.stderr)

    def test_objects_from_before_the_tape_come_along(self):
        cut = os.path.join(self.dir, "cut.tape")
        self.assertEqual(self.run_tape("cut", self.tape, "--from", "seq:3", "-o", cut).returncode, 0)
        self.tape = cut
        self.push()
        self.assertEqual(sorted(r["seq"] for r in self.server.rows("events")), list(range(1, 9)))


class Gaps(PushTest):
    rows = [event(0, "ADDED", pod("a", "u", 1)), {"gap": "http_410", "how_ended": "relist", "stream": PODS, "begin_ns": 1700000000000000000, "end_ns": 1700000005000000000}]

    def test_gaps_are_rows_too(self):
        self.push()
        want = self.query("SELECT gap, reason, how_ended, resource, begin_ns, end_ns FROM gaps WHERE gap IS NOT NULL")
        self.assertTrue(want)
        self.assertEqual([{"gap": r["gap"], "reason": r["reason"], "how_ended": r["how_ended"], "resource": r["resource"],
                           "begin_ns": r["begin"], "end_ns": r["end"]} for r in self.server.rows("gaps")], want)


def log(restart, body, status=200, at=7, kind="text/plain"):
    return {"document": "/api/v1/namespaces/shop/pods/web-0/log", "variant": f"log app {restart} u1 containerd://{restart}",
            "time_ns": START + at * SECOND, "http_status": status, "content_type": kind, "body": body}


class EverythingTest(PushTest):
    """A tape with rows for the tables that are not of events alone: a connection, logs, an audit book."""
    rows = [event(1, "ADDED", pod("web-0", "u1", 10)),
            {"connection": "watch", "stream": PODS, "target": "/api/v1/pods?watch=1", "begin_ns": START, "duration_ns": 3 * SECOND,
             "http_status": 200, "end_reason": "reset", "events": 1, "last_rv": "10"},
            event(5, "MODIFIED", pod("web-0", "u1", 11)), log(0, "2023-11-14T22:13:21Z one\n2023-11-14T22:13:22Z two\n"), {"rotate": True},
            event(4000, "MODIFIED", pod("web-0", "u1", 12)), event(4001, "DELETED", pod("web-0", "u1", 13)),
            log(0, "2023-11-14T22:13:22Z two\n", kind="text/plain; cut=front", at=4001), log(1, "the node is gone", status=404, at=4002)]

    def setUp(self):
        super().setUp()
        self.audit(request("create", self.version(10), 0.9, user="bob"), request("patch", self.version(12), 3999.9))

    def version(self, rv):
        return pod("web-0", "u1", rv)

    def audit(self, *entries):
        done = self.run_tape("audit", self.tape, write_log(os.path.join(self.dir, "audit.log"), entries))
        self.assertEqual(done.returncode, 0, done.stderr)

    def answers(self, rows=None):
        return sorted((r["rv"], r["how"], r["user"], r["verb"]) for r in rows or self.server.rows("audit"))

    def assert_stored(self):
        super().assert_stored()
        for rows in (self.server.engine.all_rows, self.server.rows):
            self.assertEqual(self.answers(rows("audit")), [("10", "version", "bob", "create"), ("12", "version", "alice", "patch")])
            self.assertEqual(len(rows("connections")), len(self.query("SELECT 1 FROM connections")))
        self.assertEqual(len(self.server.rows("logs")), 2)


class Everything(EverythingTest):
    def test_connections_are_rows_and_what_is_not_known_is_null(self):
        self.push()
        columns = ("connection", "resource", "purpose", "target", "http_status", "end_reason", "duration_ns", "retry_after_s", "events", "last_rv")
        self.assertEqual([{c: r[c] for c in columns} for r in self.server.rows("connections")],
                         self.query(f"SELECT {', '.join(columns)} FROM connections"))

    def test_of_a_log_that_was_fetched_twice_the_later_one_counts_and_one_that_was_not_had_says_why(self):
        self.push()
        self.assertEqual([(r["pod"], r["container"], r["restart"], r["container_id"], r["truncated"], r["reason"], r["text"])
                          for r in sorted(self.server.rows("logs"), key=lambda r: r["restart"])],
                         [("web-0", "app", 0, "containerd://0", 1, "", "2023-11-14T22:13:22Z two\n"),
                          ("web-0", "app", 1, "containerd://1", 0, "the node is gone", "")])

    def test_of_an_audit_book_that_grew_the_hours_that_differ_are_inserted_again(self):
        self.push()
        before = len(self.server.requests)
        self.push()
        self.assertEqual(len(self.server.requests), before + 7)  # both accounts, and whether each table is there
        self.audit(request("delete", self.version(13), 4000.9, user="carol"))
        self.push()
        self.assertEqual([r.split(" FORMAT ")[0] for r in self.server.requests[before + 2:] if r.startswith("INSERT")],
                         ["INSERT INTO audit", "INSERT INTO audit_hours"])
        self.assertEqual(self.answers(), [("", "version", "carol", "delete"), ("10", "version", "bob", "create"), ("12", "version", "alice", "patch")])

    def test_an_event_that_several_requests_may_have_made_is_disputed(self):
        self.push()
        self.audit(request("update", self.version(12), 3999.9, user="eve"))
        self.push()
        self.assertEqual(self.answers(), [("10", "version", "bob", "create"), ("12", "disputed", "", "")])

    def test_a_push_that_is_killed_at_any_request_is_gone_on_with_and_nothing_comes_twice(self):
        self.push()
        count = len(self.server.requests)
        for number in range(count):
            self.server.engine = self.engine()
            with self.subTest(request=number):
                started, holder = threading.Event(), []
                self.server.kill_after(number, lambda: started.wait() and holder[0])
                holder.append(subprocess.Popen([KUBETAPE, "push", self.tape, self.server.url], env=self.env(),
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
                started.set()
                self.assertEqual(holder[0].wait(60), -9)
                self.push()
                self.assert_stored()

    def test_columns_that_somebody_added_stay_empty(self):
        self.push()
        for name, table in self.server.engine.tables.items():
            table["columns"].insert(2, ("team", "String"))
            table["rows"].clear()
        self.server.engine.tokens.clear()
        self.push()
        self.assert_stored()
        self.assertEqual({r["team"] for r in self.server.rows("events") + self.server.rows("connections")}, {None})

    def test_rows_that_somebody_removed_come_again_although_the_server_remembers_their_tokens(self):
        self.push()
        for table in self.server.engine.tables.values():
            table["rows"].clear()
        self.push()
        self.assert_stored()
        self.assertEqual(len(self.server.rows("connections")), 1)
        self.assertEqual(len(self.server.rows("audit")), 2)
        self.assertEqual(len(self.server.rows("audit_hours")), 2)

    def drop(self, name):
        engine = self.server.engine
        del engine.tables[name]
        engine.tokens = {token for token in engine.tokens if f"/{name}/" not in token}  # a table has its own

    def test_a_table_that_was_dropped_is_made_again_with_its_rows(self):
        self.push()
        for name in ("events", "gaps", "connections"):
            with self.subTest(table=name):
                there = self.server.rows(name)
                self.drop(name)
                self.push()
                self.assertEqual(self.server.rows(name), there)
        self.assert_stored()

    def test_what_a_dropped_table_had_of_segments_that_are_not_here_any_more_is_told(self):
        self.push()
        os.remove(os.path.join(self.tape, "seg-000001.db"))
        self.drop("events")
        self.assertIn("; it lacks 1 segment that is not here any more", self.push(code=3).stdout)

    def test_what_was_removed_there_and_is_not_here_any_more_is_told(self):
        self.push()
        os.remove(os.path.join(self.tape, "seg-000001.db"))
        self.assertNotIn("lacks", self.push().stdout)
        for table in self.server.engine.tables.values():
            table["rows"].clear()
        done = self.push(code=3)
        self.assertRegex(done.stderr, r"' lacks 1 segment that it had, and that is not here any more\n")
        self.assertIn("; it lacks 1 segment that is not here any more", done.stdout)
        self.push(code=3)

    def test_a_column_of_another_type_is_refused_by_the_server(self):
        self.push()
        events = self.server.engine.tables["events"]
        events["columns"] = [(name, "DateTime64(3, 'UTC')" if name == "time" else kind) for name, kind in events["columns"]]
        self.server.engine.tables["segments"]["rows"].clear()
        self.assertIn("Type of 'time' must be DateTime64(3, 'UTC'), not DateTime64(9, 'UTC')", self.push(code=1).stderr)

    def test_a_database_of_an_older_version_gets_the_tables_that_it_lacks(self):
        self.push()
        for name in ("connections", "logs", "audit", "audit_hours"):
            del self.server.engine.tables[name]
        self.server.engine.tables["segments"]["rows"].clear()
        self.server.engine.tokens.clear()
        self.push()
        self.assertEqual(len(self.server.rows("connections")), 1)
        self.assertEqual(len(self.server.rows("audit")), 2)


if chdb_session:
    class Engine(EverythingTest):
        """The same with ClickHouse's own engine."""
        engine = Chdb

        def test_the_engine_makes_the_tables_takes_the_rows_and_remembers_tokens(self):
            self.push("--cluster", "it's\\eu-1")
            self.assert_stored()
            self.server.engine.query("TRUNCATE TABLE segments")
            self.push("--cluster", "it's\\eu-1")
            self.assert_stored()
            with open(os.path.join(ROOT, "docs", "tapes.md"), encoding="utf-8") as page:
                questions = re.findall(r"```\n(SELECT .*?)```", page.read(), re.DOTALL)
            self.assertEqual(len(questions), 3)
            for question in questions:
                self.server.engine.query(question)
            self.assertEqual(json.loads(self.server.engine.query("SELECT uniqExact(rv) AS n FROM events FINAL FORMAT JSONEachRow"))["n"], 4)
