"""A part of a tape that is exported and imported knows that it is one."""
import json
import os
import subprocess
import unittest

from tapes import DEPLOYMENTS, KUBETAPE, NODES, PODS, SECOND, START, TapeTest, event, pod

NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n1", "resourceVersion": "9"}}


def watch(stream, first, last):
    return {"connection": "watch", "stream": stream, "begin_ns": START, "http_status": 200, "duration_ns": 60 * SECOND,
            "end_reason": "client_stop", "first_seq": first, "last_seq": last}


def listed(stream):
    return {"mark": "list", "time_ns": START + SECOND // 2, "stream": stream, "rv": "10"}


class Slices(TapeTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), event(0, "ADDED", NODE, stream=NODES, origin="list"),
            listed(PODS), listed(NODES), listed(DEPLOYMENTS)] + [
        event(i, "ADDED", pod(f"web-{i}", f"u{i}", 10 + i)) for i in range(1, 8)] + [
        watch(PODS, 3, 9), watch(NODES, 0, 0), watch(DEPLOYMENTS, 0, 0),
        {"gap": "reset", "how_ended": "rewatch", "stream": PODS, "begin_ns": START + 5 * SECOND, "end_ns": START + 6 * SECOND,
         "duration_ns": SECOND, "begin_seq": 7, "end_seq": 8}]

    def copy(self, *args, onto=None):
        """The path of a tape that export and import made."""
        path = onto or os.path.join(self.dir, "copy.tape")
        exported = subprocess.run([KUBETAPE, "export", self.tape, *args], capture_output=True, timeout=60, check=True).stdout
        subprocess.run([KUBETAPE, "import", "-", "-o", path], input=exported, capture_output=True, timeout=60, check=True)
        return path

    def gaps(self, tape):
        done = self.run_tape("gaps", tape, "--json")
        return done.returncode, [(g["resource"], g["reason"], g["how_ended"], g["begin_seq"]) for g in json.loads(done.stdout)["gaps"]]

    def test_a_whole_tape_is_whole(self):
        copy = self.copy("--table", "all")
        self.assertEqual(self.gaps(copy), (0, [("pods", "reset", "rewatch", 7)]))
        self.assertEqual(self.run_tape("get", copy, "nodes").returncode, 0)

    def test_a_part_by_time_says_that_the_state_before_is_not_on_it(self):
        copy = self.copy("--table", "all", "--where", "time > '22:13:22'")
        code, gaps = self.gaps(copy)
        self.assertEqual((code, gaps), (3, [("pods", "left_out", "open", 0), ("nodes", "left_out", "open", 0), ("pods", "reset", "rewatch", 3)]))
        done = self.run_tape("get", copy, "nodes")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("nodes are on this tape only in part", done.stderr)
        self.assertIn("2 never ended", self.run_tape("gaps", copy).stdout)
        self.assertIn("events were left out when this part of a tape was made", self.run_tape("gaps", copy).stdout)
        self.assertEqual(json.loads(self.run_tape("info", copy, "--json").stdout)["streams_at_end"]["gap"], 2)
        got = self.run_tape("query", copy, "SELECT content_type FROM connections WHERE purpose = 'import'", "--format", "csv").stdout
        self.assertIn("a part of a tape: the events for which time > '22:13:22'", got)

    def test_a_part_by_resource_knows_all_of_that_resource(self):
        copy = self.copy("--table", "all", "--where", "resource = 'pods'")
        self.assertEqual(self.gaps(copy), (3, [("nodes", "left_out", "open", 1), ("pods", "reset", "rewatch", 6)]))
        for resource, code in (("pods", 0), ("nodes", 3), ("deploy", 0)):
            self.assertEqual(self.run_tape("get", copy, resource).returncode, code, resource)

    def test_an_end_that_was_left_out_is_not_known_from_there_on(self):
        copy = self.copy("--table", "all", "--where", "time < '22:13:25'")
        self.assertEqual(self.run_tape("get", copy, "pods", "--at", "22:13:24.9").returncode, 0)
        self.assertEqual(self.run_tape("get", copy, "pods", "--at", "22:13:25.1").returncode, 3)

    def test_a_condition_that_is_null_leaves_out_as_well(self):
        copy = self.copy("--table", "all", "--where", "nullif(name, 'web-7') IS NOT NULL AND NULL IS NULL OR NULL")
        self.assertEqual(self.gaps(copy)[1][-1], ("pods", "left_out", "open", 8))

    def test_what_rows_say_of_events_follows_their_numbers(self):
        self.tape = "tests/tapes/rolling-update.tape"
        copy = self.copy("--table", "all", "--where", "resource = 'pods'")
        done = self.run_tape("query", copy, "SELECT first_seq, last_seq, min(seq) AS first, max(seq) AS last FROM connections, events "
                             "WHERE purpose = 'watch' AND connections.resource = 'pods' AND origin = 'watch'", "--format", "json")
        got = json.loads(done.stdout)[0]
        self.assertEqual((got["first_seq"], got["last_seq"]), (got["first"], got["last"]))
        self.assertLess(got["last"], 200)

    def test_a_tape_that_is_gone_on_with_keeps_its_numbers(self):
        copy = self.copy("--table", "all")
        self.copy("--table", "all", onto=copy)
        self.assertEqual([g[3] for g in self.gaps(copy)[1]], [7, 16])

    def test_a_part_is_no_fault_of_a_replay(self):
        copy = self.copy("--table", "all", "--where", "resource = 'pods'")
        done = self.run_tape("replay", copy, "--speed", "max", "--wait-watchers", "0", "--exit-at-end", timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("left_out", done.stderr)

    def test_events_alone_do_not_tell_when_they_were_watched(self):
        copy = self.copy()
        done = self.run_tape("gaps", copy)
        self.assertEqual((done.returncode, done.stdout), (3, "of 2 imported streams the tape does not tell when they were watched\nno gaps are known\n"))
        self.assertIn("pods were imported: the tape does not tell when they were watched", self.run_tape("get", copy, "pods").stderr)
        self.assertEqual(self.run_tape("log", copy, "pods/web-0").returncode, 3)


class OfOtherPrograms(TapeTest):
    def test_what_kubectl_printed_does_not_tell_when_it_was_watched(self):
        lines = "".join(json.dumps({"type": "ADDED", "object": pod(f"web-{i}", f"u{i}", 10 + i)}) + "\n" for i in range(3))
        done = self.run_tape("import", "-", "-o", self.tape, stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_tape("gaps", self.tape, "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["untold_streams"]), (3, 1))
        self.assertEqual(self.query("SELECT DISTINCT certainty FROM objects"), [{"certainty": "untold"}])


if __name__ == "__main__":
    unittest.main()
