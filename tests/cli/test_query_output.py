"""kubetape query: what it prints, reads and refuses."""
import csv
import io
import json
import os
import signal
import subprocess
import unittest

from tapes import KUBETAPE, TapeTest, event, pod

NASTY = 'a"b\\c\u0001\u007f\n\t\u00e9\u0085\u2028\u2029\u202a\U0001f600</script>'


class QueryOutput(TapeTest):
    rows = [
        event(0, "ADDED", pod("web-0", "u1", 10), origin="list"),
        event(1.5, "MODIFIED", pod("web-0", "u1", 11, note=NASTY)),
        event(2, "DELETED", pod("web-0", "u1", 12)),
    ]

    def test_columns_of_events_are_the_promised_ones(self):
        row = self.query("SELECT * FROM events WHERE seq = 1")[0]
        self.assertEqual(list(row), "seq time time_ns origin type apigroup version resource namespace name uid rv "
                                    "bytes object".split())
        text = row.pop("object")
        self.assertEqual(row, {
            "seq": 1, "time": "2023-11-14T22:13:20.000000000Z", "time_ns": 1700000000000000000, "origin": "list",
            "type": "ADDED", "apigroup": "", "version": "v1", "resource": "pods", "namespace": "shop",
            "name": "web-0", "uid": "u1", "rv": "10", "bytes": len(text.encode())})

    def test_object_is_text_exactly_as_delivered(self):
        line = ('{"type":"ADDED","time_ns":1700000009000000000,"stream":{"version":"v1","resource":"pods"},'
                '"object":{ "metadata" : {"name":"n","uid":"x","x":1.50,"y":"\\u0041\u00fc\\/"}, "b":[1e2, null ] }}')
        self.make_tape(self.tape, [line])
        got = self.query("SELECT object FROM events WHERE name = 'n'")[0]["object"]
        self.assertEqual(got, '{ "metadata" : {"name":"n","uid":"x","x":1.50,"y":"\\u0041\u00fc\\/"}, '
                              '"b":[1e2, null ] }')

    def test_json_formats_carry_any_text_and_type(self):
        sql = "SELECT jget(object, '$.note') AS note, NULL AS n, 1 AS i, 2.5 AS r, x'00ff' AS b, 1e300*1e10 AS inf"
        want = {"n": None, "i": 1, "r": 2.5, "b": "00ff", "inf": float("inf")}
        rows = self.query(sql + " FROM events ORDER BY seq")
        self.assertEqual(rows[1], {"note": NASTY, **want})
        self.assertEqual(rows[0], {"note": None, **want})
        done = self.run_tape("query", self.tape, sql + " FROM events ORDER BY seq", "--format", "ndjson")
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], rows)

    def test_json_without_rows_is_an_empty_array(self):
        self.assertEqual(self.query("SELECT * FROM events WHERE seq = 99"), [])

    def test_csv_is_read_back_as_it_was(self):
        done = self.run_tape("query", self.tape, "SELECT seq, jget(object, '$.note') AS note, '' AS empty FROM events "
                             "ORDER BY seq", "--format=csv")
        rows = list(csv.reader(io.StringIO(done.stdout, newline="")))
        self.assertEqual(rows, [["seq", "note", "empty"], ["1", "", ""], ["2", NASTY, ""], ["3", "", ""]])

    def test_table_shows_control_characters_as_text(self):
        done = self.run_tape("query", self.tape, "SELECT seq, jget(object, '$.note') AS note FROM events ORDER BY seq")
        self.assertEqual(done.stdout, "seq  note\n  1  \n  2  a\"b\\c\\x01\\x7f\\n\\t\u00e9\\x85\\u2028\\u2029\\u202a\U0001f600</script>\n"
                                      "  3  \n")

    def test_table_without_rows_still_has_its_names(self):
        done = self.run_tape("query", self.tape, "SELECT seq, name FROM events WHERE seq = 99")
        self.assertEqual((done.returncode, done.stdout), (0, "seq  name\n"))

    def test_several_statements_print_one_after_another(self):
        done = self.run_tape("query", self.tape, "SELECT 1 AS a; ; SELECT 2 AS b -- end", "--format", "ndjson")
        self.assertEqual(done.stdout, '{"a":1}\n{"b":2}\n')

    def test_sql_comes_from_stdin_or_a_file(self):
        done = self.run_tape("query", self.tape, stdin="SELECT count(*) AS n FROM events;\n")
        self.assertEqual(done.stdout, "n\n3\n")
        path = os.path.join(self.dir, "q.sql")
        with open(path, "w") as f:
            f.write("SELECT name FROM events WHERE seq = :which")
        done = self.run_tape("query", self.tape, "-f", path, "-p", "which=3", "--format", "csv")
        self.assertEqual(done.stdout, "name\nweb-0\n")

    def test_bad_sql_is_one_sentence_and_exit_1(self):
        self.assert_fails(self.run_tape("query", self.tape, "SELEC 1"), 1, 'near "SELEC": syntax error')
        self.assert_fails(self.run_tape("query", self.tape, "SELECT * FROM cats"), 1, "no such table: cats")
        self.assert_fails(self.run_tape("query", self.tape, "DELETE FROM events"), 1, "may not be modified")
        self.assert_fails(self.run_tape("query", self.tape, "ATTACH '/tmp/x' AS x"), 1, "not authorized")

    def test_missing_and_foreign_tapes_are_one_sentence_and_exit_1(self):
        self.assert_fails(self.run_tape("query", self.dir + "/none.tape", "SELECT 1"), 1, "No such file")
        self.assert_fails(self.run_tape("query", self.dir, "SELECT 1"), 1, "is not a tape")
        self.assert_fails(self.run_tape("query", "/etc/passwd", "SELECT 1"), 1, "/etc/passwd")

    def test_wrong_usage_is_exit_2(self):
        self.assert_fails(self.run_tape("query"), 2, "expected a tape")
        self.assert_fails(self.run_tape("query", self.tape, "SELECT 1", "SELECT 2"), 2, "found 3 operands")
        self.assert_fails(self.run_tape("query", self.tape, "SELECT 1", "--format", "xml"), 2, "'--format'")
        self.assert_fails(self.run_tape("query", self.tape, "SELECT 1", "-f", "x"), 2, "both '--file'")
        self.assert_fails(self.run_tape("query", self.tape, "SELECT :x"), 2, "':x' was given no value")

    def test_time_limit_stops_a_statement(self):
        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        done = self.run_tape("query", self.tape, endless, "--time-limit", "100ms")
        self.assert_fails(done, 1, "longer than 100ms")

    def test_ctrl_c_stops_a_statement(self):
        endless = "SELECT 'begun'; WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        child = subprocess.Popen([KUBETAPE, "query", self.tape, endless], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "'begun'\n")
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1)
        self.assertIn("interrupted", errors)

    def test_full_disk_is_told(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([KUBETAPE, "query", self.tape, "SELECT * FROM events"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
