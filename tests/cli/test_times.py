"""Times and positions: one grammar wherever a time is taken, and what is no time is an error, not an empty answer."""
import json
import os
import sqlite3
import subprocess
import unittest

from tapes import EXTENSION, KUBETAPE, NODES, SECOND, START, TapeTest, event, loading_environment, pod

DAY = 24 * 3600
FORMS = "2026-11-21T09:51:40Z, 2026-11-21 09:51, 09:51:40, @SECONDS, now, start, end, -5m or +30s"

# The tape is one of 2023-11-14, from 22:13:20 to 22:13:30; each of these is 22:13:25.
SAME_TIME = ["2023-11-14T22:13:25Z", "2023-11-14t22:13:25z", "2023-11-14 22:13:25Z", "2023-11-14T22:13:25",
             "2023-11-14 22:13:25", "2023-11-14 22:13:25.000", "2023-11-15T00:13:25+02:00", "2023-11-14 17:13:25-0500",
             "22:13:25", "22:13:25.0", "22:13:25Z", "23:13:25+01:00", "@1700000005", "1700000005", "-5s", "+5s"]
NO_TIMES = ["garbage", "", "2023-11-31", "25:00", "2023-11-14T", "12h", "Now", "--5s"]


class OneDay(TapeTest):
    """An event a second, numbered from 1; the sixth is that of 22:13:25."""
    rows = [event(i, "ADDED" if i == 0 else "MODIFIED", pod("web-0", "u1", 10 + i), origin="watch" if i else "list")
            for i in range(11)] + [
        {"gap": "reset", "how_ended": "rewatch", "stream": NODES, "begin_ns": START + 5 * SECOND,
         "end_ns": START + 7 * SECOND, "duration_ns": 2 * SECOND, "begin_seq": 6, "end_seq": 8}]

    def count(self, where, table="events"):
        return self.query(f"SELECT count(*) AS n FROM {table} WHERE {where}")[0]["n"]

    def test_every_form_compares_with_a_time_as_that_time(self):
        for text in SAME_TIME:
            got = [self.count(f"time {op} '{text}'") for op in ("<", "<=", "=", ">=", ">", "<>")]
            self.assertEqual(got, [5, 6, 1, 6, 5, 10], text)
            self.assertEqual(self.count(f"time BETWEEN '{text}' AND 'end'"), 6, text)
            self.assertEqual(self.count(f"time IN ('{text}', 'start')"), 2, text)
            self.assertEqual(self.count(f"begin = '{text}'", "gaps"), 1, text)
            self.assertEqual(self.count(f"time <= '{text}' AND field <> ''", "changes"),
                             self.count("seq <= 6 AND field <> ''", "changes"), text)
        self.assertEqual(self.count("time > datetime('2023-11-14T22:13:25Z')"), 5)
        self.assertEqual(self.count("time > 1700000005"), 5)
        self.assertEqual(self.count("time < 'now'"), 11)
        self.assertEqual(self.count("time < '9999-12-31' AND time > '0001-01-01'"), 11)
        self.assertEqual(self.count("time > NULL"), 0)

    def test_what_is_no_time_is_one_sentence_wherever_it_stands(self):
        shapes = ["SELECT * FROM events WHERE time > '{}'", "SELECT * FROM events WHERE time = '{}'",
                  "SELECT * FROM events WHERE time IN ('start', '{}')", "SELECT * FROM events WHERE NOT time < '{}'",
                  "SELECT * FROM events WHERE time < '{}' OR name = 'x'", "SELECT * FROM events WHERE time <> '{}'",
                  "SELECT sum(time > '{}') FROM events", "SELECT * FROM gaps WHERE end < '{}'",
                  "SELECT * FROM connections WHERE begin < '{}'", "SELECT * FROM objects WHERE time < '{}'",
                  "SELECT * FROM changes WHERE time < '{}'", "SELECT * FROM marks WHERE time < '{}'",
                  "SELECT * FROM segments WHERE first_time < '{}'", "SELECT * FROM coverage WHERE since < '{}'",
                  "SELECT * FROM coverage('end') WHERE until BETWEEN '22:13' AND '{}'",
                  "WITH x AS MATERIALIZED (SELECT time FROM events) SELECT * FROM x WHERE time > '{}'",
                  "SELECT * FROM events AS a JOIN events AS b ON b.time > a.time AND b.time < '{}'"]
        for shape in shapes:
            for text in NO_TIMES if shape == shapes[0] else NO_TIMES[:1]:
                if text == "" and "segments" in shape:
                    continue
                done = self.run_tape("query", self.tape, shape.format(text))
                self.assert_fails(done, 1, f"bad time '{text}': expected {FORMS}")
        for table, column in (("events", "time"), ("changes", "time"), ("gaps", "begin"), ("gaps", "end"), ("connections", "begin"),
                              ("marks", "time"), ("documents", "time")):
            for condition in f"{column}_ns > '2023-11-14'", f"{column}_ns = '22:13' AND stream = 1", f"'end' >= {column}_ns":
                if column == "time" and "stream" in condition:
                    condition = condition.split(" AND")[0]
                done = self.run_tape("query", self.tape, f"SELECT count(*) FROM {table} WHERE {condition}")
                self.assert_fails(done, 1, f"is compared with '{column}_ns', nanoseconds since 1970: compare it with '{column}'")
        self.assertEqual(self.count(f"begin_ns = '{START + 5 * SECOND}' AND begin = '+5s'", "gaps"), 1)

    def test_a_statement_after_one_that_failed_is_none_the_worse(self):
        done = self.run_tape("query", self.tape, stdin="SELECT sum(time > 'x') FROM events;\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.count("time > '22:13:25'"), 5)

    def test_the_tape_still_answers_conditions_on_times_itself(self):
        for text in SAME_TIME:
            plan = self.query(f"EXPLAIN QUERY PLAN SELECT * FROM events WHERE time >= '{text}' AND time < 'end'")
            self.assertIn("time>= time<", json.dumps(plan))

    def test_the_extension_in_stock_sqlite_reads_them_alike(self):
        def ask(sql):
            return subprocess.run(["sqlite3", ":memory:", f".load {EXTENSION}", f"SELECT kubetape_open('{self.tape}')", sql],
                                  capture_output=True, text=True, timeout=60, env=loading_environment())
        for text in SAME_TIME:
            self.assertEqual(ask(f"SELECT count(*) FROM events WHERE time > '{text}'").stdout.split()[-1], "5", text)
        for sql in ("SELECT count(*) FROM events WHERE time > 'x'", "SELECT sum(time > 'x') FROM events",
                    "SELECT count(*) FROM gaps WHERE begin > 'x' OR stream = 7"):
            self.assertIn(f"bad time 'x': expected {FORMS}", ask(sql).stderr)

    def test_every_command_takes_the_same_positions(self):
        for text in SAME_TIME:
            for args in (["--at", text], [f"--at={text}"]):
                done = self.run_tape("get", self.tape, "pods", "-o", "json", *args)
                version = json.loads(done.stdout)["items"][0]["metadata"]["resourceVersion"]
                self.assertEqual((version, done.stderr), ("15", ""), text)
            self.assertEqual(self.query(f"SELECT rv FROM objects('{text}')"), [{"rv": "15"}], text)
            done = self.run_tape("diff-state", self.tape, text, text, "-r", "pods")
            self.assertEqual((done.returncode, done.stdout), (0, ""), text)

    def test_every_command_refuses_a_position_with_the_same_sentence(self):
        for args in (["get", self.tape, "pods", "--at"], ["diff-state", self.tape], ["replay", self.tape, "--from"],
                     ["replay", self.tape, "--until"]):
            done = self.run_tape(*args, "noon")
            self.assert_fails(done, 2, f"bad position 'noon': expected a time ({FORMS})")
        done = self.run_tape("replay", self.tape, "--gap", "noon,5s,rst,pods")
        self.assertIn("noon", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_expressions_over_events_take_the_same_times(self):
        for text in SAME_TIME:
            done = self.run_tape("export", self.tape, "--where", f"time <= '{text}'")
            self.assertEqual((done.stdout.count("\n"), done.stderr), (6, ""), text)
        self.assert_fails(self.run_tape("export", self.tape, "--where", "time > 'x'"), 1, "bad time 'x'")
        done = self.run_tape("replay", self.tape, "--gap", "#1,2ev,rst,event=time > 'x'", "--", "true")
        self.assert_fails(done, 2, "bad time 'x'")


class SeveralDays(TapeTest):
    """From 22:13:20 to the same time three days later."""
    rows = [event(i * DAY, "ADDED" if i == 0 else "MODIFIED", pod("web-0", "u1", 10 + i), origin="watch" if i else "list")
            for i in range(4)]

    def test_a_time_of_day_needs_a_date_in_sql(self):
        for text in ("22:13", "12:00"):
            done = self.run_tape("query", self.tape, f"SELECT * FROM events WHERE time > '{text}'")
            self.assert_fails(done, 1, f"bad time '{text}': it needs a date: the tape has several days")
        self.assertEqual(self.query("SELECT count(*) AS n FROM events WHERE time > '2023-11-15'"), [{"n": 3}])


class SeveralTapes(TapeTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list")]

    def test_what_counts_from_a_tape_needs_a_date_beside_another(self):
        other = os.path.join(self.dir, "y.tape")
        self.make_tape(other, [event(10, "ADDED", pod("web-0", "u1", 10), origin="list")])

        def ask(sql):
            return subprocess.run(["sqlite3", ":memory:", f".load {EXTENSION}", f"SELECT kubetape_open('{self.tape}')",
                                   f"SELECT kubetape_open('{other}', 'b_')", sql],
                                  capture_output=True, text=True, timeout=60, env=loading_environment())
        self.assertIn("bad time '22:13:25': it needs a date where several tapes are open",
                      ask("SELECT count(*) FROM b_events WHERE time > '22:13:25'").stderr)
        self.assertEqual(ask("SELECT count(*) FROM b_events WHERE time > '2023-11-14 22:13:25'").stdout.split()[-1], "1")


class Runs(TapeTest):
    rows = OneDay.rows

    def setUp(self):
        super().setUp()
        self.run_file = os.path.join(self.dir, "x.run")
        subprocess.run([KUBETAPE, "replay", self.tape, "--plain", "--run", self.run_file, "--", "true"],
                       capture_output=True, timeout=60, check=True)
        self.begin = START + 30 * DAY * SECOND  # the replay, a month later
        with sqlite3.connect(self.run_file) as db:
            db.execute("UPDATE run SET value = ? WHERE name = 'begin_ns'", [str(self.begin)])
            db.execute("UPDATE run SET value = ? WHERE name = 'end_ns'", [str(self.begin + 60 * SECOND)])
            db.execute("INSERT INTO requests (request, time_ns, tape_time_ns, end_ns) VALUES (1, ?, ?, ?)",
                       [self.begin + 5 * SECOND, START + 5 * SECOND, self.begin + 6 * SECOND])
            db.execute("INSERT INTO deliveries (request, seq, due_ns, out_ns) VALUES (1, 1, ?, ?)",
                       [self.begin + 7 * SECOND, self.begin + 8 * SECOND])
        db.close()

    def count(self, where):
        return self.query(f"SELECT count(*) AS n FROM requests JOIN deliveries USING (request) WHERE {where}",
                          "--run", self.run_file)[0]["n"]

    def test_times_of_the_wall_clock_count_from_the_run_and_others_from_the_tape(self):
        for where in ("time = '+5s'", "time = '22:13:25'", "time = '2023-12-14 22:13:25'", "tape_time = '22:13:25'",
                      "tape_time = '2023-11-14 22:13:25'", "requests.end = '-54s'", "due = '+7s'", "out = '+8s'",
                      "time > tape_time"):
            self.assertEqual(self.count(where), 1, where)

    def test_what_is_no_time_is_an_error(self):
        for column in ("time", "tape_time", "requests.end", "due", "out"):
            done = self.run_tape("query", self.tape, f"SELECT * FROM requests, deliveries WHERE {column} > 'x'",
                                 "--run", self.run_file)
            self.assert_fails(done, 1, "bad time 'x'")


if __name__ == "__main__":
    unittest.main()
