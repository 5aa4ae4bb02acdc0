"""kubetape export: what other programs get to read."""
import csv
import io
import json
import os
import unittest

from tapes import PODS, SECOND, START, TapeTest, event, pod


class Export(TapeTest):
    rows = [
        {"connection": "watch", "stream": PODS, "begin_ns": START, "duration_ns": 4 * SECOND, "end_reason": "reset",
         "http_status": 200},
        event(0, "ADDED", pod("web-0", "u1", 10, status={"phase": "Pending"}), origin="list"),
        event(1, "MODIFIED", pod("web-0", "u1", 11, status={"phase": "Pending"}, note="a<b\u2028")),
        event(3, "MODIFIED", pod("web-0", "u1", 12, status={"phase": "Running"})),
        event(4, "DELETED", pod("web-0", "u1", 13, status={"phase": "Running"})),
        event(6, "ADDED", pod("web-0", "u2", 14, status={"phase": "Pending"})),
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + 4 * SECOND,
         "end_ns": START + 6 * SECOND, "duration_ns": 2 * SECOND, "begin_seq": 4, "end_seq": 5, "recreated": 1},
        {"missed": "recreated", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "web-0", "uid": "u2",
         "old_uid": "u1"},
    ]

    def export(self, *args):
        done = self.run_tape("export", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_ndjson_holds_the_object_itself(self):
        lines = [json.loads(line) for line in self.export().split("\n") if line]
        self.assertEqual([line["object"]["metadata"]["resourceVersion"] for line in lines],
                         ["10", "11", "12", "13", "14"])
        self.assertEqual(lines[1]["object"]["note"], "a<b\u2028")
        asked = self.query("SELECT * FROM events ORDER BY seq")
        for line, row in zip(lines, asked):
            self.assertEqual(dict(line, object=None), dict(row, object=None))

    def test_predicate_chooses_events(self):
        got = self.export("--where", "type = 'MODIFIED' AND jget(object, '$.status.phase') = 'Running'")
        self.assertEqual([json.loads(line)["seq"] for line in got.splitlines()], [3])
        self.assert_fails(self.run_tape("export", self.tape, "--where", "cats = 1"), 1, "no such column: cats")

    def test_all_tables_are_lines_that_say_their_table(self):
        lines = [json.loads(line) for line in self.export("--table", "all").split("\n") if line]
        counts = {}
        for line in lines:
            counts[line["table"]] = counts.get(line["table"], 0) + 1
        self.assertEqual(counts, {"streams": 1, "connections": 1, "gaps": 1, "missed": 1, "events": 5})

    def test_csv_holds_the_object_as_text(self):
        rows = list(csv.DictReader(io.StringIO(self.export("--format", "csv"), newline="")))
        self.assertEqual([json.loads(r["object"])["metadata"]["uid"] for r in rows], ["u1", "u1", "u1", "u1", "u2"])
        self.assertEqual(list(csv.DictReader(io.StringIO(self.export("--format", "csv", "--table", "gaps"))))[0]["reason"],
                         "reset")

    def test_trace_shows_phases_connections_and_gaps_as_slices(self):
        trace = json.loads(self.export("--format", "trace"))["traceEvents"]
        slices = [(e["cat"], e["name"], e["ts"], e["dur"]) for e in trace if e["ph"] == "X"]
        self.assertEqual(sorted(slices), [
            ("connection", "watch reset", 0, 4e6), ("gap", "reset, relist", 4e6, 2e6),
            ("object", "Pending", 0, 3e6), ("object", "Pending", 6e6, 0), ("object", "Running", 3e6, 1e6)])
        self.assertEqual(len([e for e in trace if e["ph"] == "i"]), 5)
        names = {(e["name"], e["args"]["name"]) for e in trace if e["ph"] == "M"}
        self.assertIn(("process_name", "shop pods"), names)
        self.assertIn(("thread_name", "web-0"), names)

    def test_trace_of_some_events_has_bars_up_to_the_deletion_or_the_end_of_the_tape(self):
        more = [event(7, "ADDED", pod("web-1", "u3", 15, status={"phase": "Running"})), event(9, "ADDED", pod("web-2", "u4", 16))]
        self.make_tape(os.path.join(self.dir, "y.tape"), self.rows + more)
        self.tape = os.path.join(self.dir, "y.tape")
        trace = json.loads(self.export("--format", "trace", "--where", "jget(object, '$.status.phase') = 'Running' AND type <> 'DELETED'"))
        bars = [(e["name"], e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "object"]
        self.assertEqual(sorted(bars), [("Running", 3e6, 1e6), ("Running", 7e6, 2e6)])
        marks = [(e["name"], e["ts"]) for e in trace["traceEvents"] if e["ph"] == "i"]
        self.assertEqual(sorted(marks), [("ADDED", 7e6), ("MODIFIED", 3e6)])

    def test_trace_begins_with_whatever_came_first_on_tracks_that_have_names(self):
        rows = self.run_tape("export", self.tape, "--table", "all").stdout
        early = {"table": "connections", "connection": 9, "purpose": "discovery", "begin_ns": START - SECOND, "duration_ns": 1,
                 "end_reason": "complete", "http_status": 200}
        self.tape = os.path.join(self.dir, "y.tape")
        self.assertEqual(self.run_tape("import", "-", "-o", self.tape, stdin=json.dumps(early) + "\n" + rows).returncode, 0)
        trace = json.loads(self.export("--format", "trace"))["traceEvents"]
        self.assertEqual(min(e["ts"] for e in trace if "ts" in e), 0)
        named = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e["name"] == "thread_name"}
        [found] = [e for e in trace if e["ph"] == "X" and e["name"].startswith("discovery")]
        self.assertEqual((found["ts"], named[found["pid"], found["tid"]]), (0, "discovery and the like"))
        self.assertEqual([e for e in trace if "ts" in e and (e["pid"], e["tid"]) not in named], [])

    def test_trace_of_a_tape_without_events_counts_from_its_first_connection(self):
        self.make_tape(os.path.join(self.dir, "y.tape"), self.rows[:1])
        self.tape = os.path.join(self.dir, "y.tape")
        trace = json.loads(self.export("--format", "trace"))["traceEvents"]
        self.assertEqual([(e["ts"], e["dur"]) for e in trace if "ts" in e], [(0, 4e6)])

    def test_trace_says_of_everything_when_it_was_by_the_clock(self):
        trace = json.loads(self.export("--format", "trace"))["traceEvents"]
        for e in trace:
            if "ts" in e:
                self.assertEqual(e["args"]["time"], f"2023-11-14T22:13:{20 + int(e['ts'] / 1e6)}.000000000Z")

    def test_trace_of_a_real_tape_is_what_timeline_viewers_take(self):
        """The trace event format: phases M, X and i; microseconds; a name for every process and thread."""
        done = self.run_tape("export", "tests/tapes/rolling-update.tape", "--format", "trace")
        trace = json.loads(done.stdout)
        self.assertEqual(sorted(trace), ["displayTimeUnit", "traceEvents"])
        named = {(e["name"], e["pid"], e.get("tid")) for e in trace["traceEvents"] if e["ph"] == "M"}
        last = 0
        for e in trace["traceEvents"]:
            self.assertIn(e["ph"], "MXi")
            self.assertEqual((type(e["pid"]), type(e["name"])), (int, str), e)
            if e["ph"] == "M":
                self.assertEqual(list(e["args"]), ["name"], e)
                continue
            self.assertIn(type(e["ts"]), (int, float), e)
            self.assertGreaterEqual(e.get("dur", 0), 0, e)
            self.assertIn(("process_name", e["pid"], None), named)
            self.assertTrue(e["tid"] == 0 or ("thread_name", e["pid"], e["tid"]) in named, e)
            last = max(last, e["ts"] + e.get("dur", 0))
        self.assertTrue(60e6 < last < 90e6, last)  # the tape is a bit more than a minute

    def test_file_is_there_only_when_it_is_whole(self):
        path = os.path.join(self.dir, "out.ndjson")
        self.export("-o", path)
        self.assertEqual(open(path).read(), self.export())
        other = os.path.join(self.dir, "other")
        self.assertEqual(self.run_tape("export", self.tape, "--where", "jget(object, '$.[')", "-o", other).returncode, 1)
        self.assertEqual(sorted(os.listdir(self.dir)), ["out.ndjson", "x.tape"])
        self.assert_fails(self.run_tape("export", self.tape, "-o", "/nowhere/x"), 1, "cannot make '/nowhere/x'")

    def test_lateness_is_checked_and_needs_a_run(self):
        done = self.run_tape("export", self.tape, "--format", "trace", "--late", "x")
        self.assert_fails(done, 2, "option '--late': bad duration 'x'")
        self.assert_fails(self.run_tape("export", self.tape, "--format", "trace", "--late", "5ms"), 2, "it needs '--run'")

    def test_parquet_without_duckdb_is_a_sentence(self):
        env = dict(os.environ, KUBETAPE_DUCKDB="/nowhere/libduckdb.so")
        done = self.run_tape("export", self.tape, "--format", "parquet", "-o", self.dir + "/x.parquet", env=env)
        self.assert_fails(done, 1, "needs DuckDB's library")
        self.assert_fails(self.run_tape("export", self.tape, "--format", "parquet"), 2, "needs '--output FILE'")

    def test_a_library_that_is_there_and_does_not_load_is_told_from_one_that_is_not(self):
        env = dict(os.environ, KUBETAPE_DUCKDB=os.path.abspath(__file__))
        done = self.run_tape("export", self.tape, "--format", "parquet", "-o", self.dir + "/x.parquet", env=env)
        self.assert_fails(done, 1, f"the library that KUBETAPE_DUCKDB names exists and cannot be loaded: {os.path.abspath(__file__)}: ")

    @unittest.skipUnless(os.environ.get("KUBETAPE_DUCKDB"), "KUBETAPE_DUCKDB names no DuckDB library")
    def test_parquet_is_written_by_duckdb(self):
        path = os.path.join(self.dir, "x.parquet")
        self.export("--format", "parquet", "-o", path)
        with open(path, "rb") as f:
            self.assertEqual(f.read(4), b"PAR1")


if __name__ == "__main__":
    unittest.main()
