"""kubetape info: the page and the JSON."""
import json
import os
import unittest

from tapes import DEPLOYMENTS, NODES, PODS, SECOND, START, TapeTest, event, pod

NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n\u001b[31m", "uid": "u9", "resourceVersion": "13"}}


class Info(TapeTest):
    rows = [
        event(0, "ADDED", pod("a", "u1", 10), origin="list"),
        event(1, "ADDED", pod("b", "u2", 11)),
        event(60, "DELETED", pod("a", "u1", 12)),
        event(61.5, "ADDED", NODE, stream=NODES),
        {"mark": "list", "time_ns": START, "stream": DEPLOYMENTS, "rv": "9"},
        {"gap": "reset", "how_ended": "rewatch", "stream": PODS, "begin_ns": START + SECOND,
         "end_ns": START + 2 * SECOND, "duration_ns": SECOND},
        {"connection": "watch", "stream": PODS, "begin_ns": START, "duration_ns": SECOND, "end_reason": "reset"},
    ]

    def info(self, *args):
        done = self.run_tape("info", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_json_has_the_promised_members(self):
        got = json.loads(self.info("--json"))
        counts = {name: got[name] for name in ["events", "segments", "streams", "resources", "gaps", "connections",
                                               "first_time", "last_time", "duration_ns", "open"]}
        self.assertEqual(counts, {
            "events": 4, "segments": 1, "streams": 3, "resources": 3, "gaps": 1, "connections": 1,
            "first_time": "2023-11-14T22:13:20.000000000Z", "last_time": "2023-11-14T22:14:21.500000000Z",
            "duration_ns": 61500000000, "open": False})
        self.assertEqual(got["raw_bytes"], sum(r["bytes"] for r in self.query("SELECT bytes FROM events")))
        on_disk = sum(os.path.getsize(os.path.join(self.tape, f)) for f in os.listdir(self.tape))
        self.assertEqual(got["disk_bytes"], on_disk)

    def test_json_counts_each_resource(self):
        rows = json.loads(self.info("--json"))["by_resource"]
        got = {r["resource"]: [r["events"], r["added"], r["modified"], r["deleted"], r["live"]] for r in rows}
        self.assertEqual(got, {"pods": [3, 2, 0, 1, 1], "nodes": [1, 1, 0, 0, 1], "deployments": [0, 0, 0, 0, 0]})

    def test_page_names_time_size_and_resources(self):
        page = self.info()
        for part in ["2023-11-14T22:13:20.000000000Z to 2023-11-14T22:14:21.500000000Z (1m01s)", "and 1 resource without events",
                     "4 of 3 resources in 3 streams", "bytes an event"]:
            self.assertIn(part, page)

    def test_empty_tape_has_no_times(self):
        empty = os.path.join(self.dir, "empty.tape")
        self.make_tape(empty, [{"mark": "list", "time_ns": START, "stream": PODS, "rv": "9"}])
        got = json.loads(self.run_tape("info", "--json", empty).stdout)
        self.assertEqual((got["events"], got["first_time"], got["last_time"]), (0, None, None))
        self.assertIn("no events", self.run_tape("info", empty).stdout)

    def test_failures_are_sentences(self):
        self.assert_fails(self.run_tape("info", self.dir + "/none.tape"), 1, "No such file")
        self.assert_fails(self.run_tape("info"), 2, "expected one tape")
        self.assert_fails(self.run_tape("info", self.tape, "--cats"), 2, "'--cats'")


if __name__ == "__main__":
    unittest.main()
