"""Gaps of a recording, made by a real recorder against a scripted server, as a replay repeats them."""

import json
import subprocess
import unittest

from fault_case import Raw
from recording import RecordTest
from replays import KUBETAPE, PODS, T0, Case, Replay, Tape, brief, obj
from waiting import PATIENCE_S, wait_for

LAST_CHUNK = b"\r\n0\r\n\r\n"


def second(s):
    return T0 + s * 10**9


class ToldToListTest(Case):
    def setUp(self):
        """A watch is reset at 10 s; the next one, at 12 s, is told that history is gone; the recorder lists at 20 s."""
        super().setUp()
        made = Tape().listed(PODS, 10, [obj(PODS, "a", 5)])
        made.lines += [
            {"connection": "watch", "stream": PODS, "begin_ns": second(1), "duration_ns": 9 * 10**9, "http_status": 200, "end_reason": "reset"},
            {"connection": "watch", "stream": PODS, "begin_ns": second(12), "duration_ns": 10**6, "http_status": 200,
             "end_reason": "error_event:410:Expired"}]
        made.event(20, PODS, "MODIFIED", obj(PODS, "a", 25), origin="relist").mark("list", PODS, 30, 20)
        made.lines.append({"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": second(10), "end_ns": second(20),
            "duration_ns": 10 * 10**9, "begin_seq": 1, "end_seq": 2, "from_rv": "10", "to_rv": "30", "connection_before": 1})
        made.event(30, PODS, "MODIFIED", obj(PODS, "a", 35))
        self.served = self.replay(made, "--wait-watchers", "99")

    def seek(self, s):
        self.assertEqual(self.served.request("POST", f"/kubetape/v1/seek?to=%2B{s}s")[0], 200)

    def test_no_list_shows_the_state_before_the_gap_once_history_was_gone(self):
        streaming = "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
        self.seek(15)
        for path in ("/api/v1/pods", "/api/v1/pods?resourceVersion=0", streaming):
            with self.subTest(path):
                self.assertEqual(self.served.request("GET", path)[0], 429)
        self.seek(25)
        status, answer = self.served.get("/api/v1/pods")
        self.assertEqual((status, [i["metadata"]["resourceVersion"] for i in answer["items"]]), (200, ["25"]))


class RecordedGapTest(RecordTest):
    def make(self, how, compact=False, attempts=1, retry_after=None):
        """Records a and b. a changes; the watch ends as `how` says; while attempts get a 503, b is deleted and created
        again; the recorder is back, and `last` is created."""
        self.pods.put("a", uid="u-a")
        self.pods.put("b", uid="u-b")
        self.listed = self.api.rv
        recording = self.record("pods").ready(1)
        self.pods.watching()
        self.pods.put("a", uid="u-a")
        self.seen = self.api.rv
        recording.wait_events(3)
        refused = []

        def broken(x):
            refused.append(x)
            x.status(503, "ServiceUnavailable", retry_after=retry_after)

        self.pods.broken = broken
        self.pods.disturb(how)
        wait_for(lambda: len(refused) >= attempts, "attempts of the recorder")
        self.pods.delete("b")
        self.pods.put("b", uid="u-b2")
        if compact:
            self.pods.compact()
        self.pods.broken = None
        self.pods.watching()
        self.pods.put("last", uid="u-l")
        recording.wait_events(1, "name = 'last'")
        self.assertEqual(recording.stop(), 0)
        return self

    def replay(self, *options):
        running = Replay(self.tape, self.folder, *options)
        self.addCleanup(running.end, self)
        return running

    def watch(self, replay, rv):
        watch = Raw(replay, f"/api/v1/pods?watch=1&resourceVersion={rv}")
        self.addCleanup(watch.close)
        return watch

    def cut_off(self, replay):
        """Watches from the list until the gap; (how the connection ended, the watch)."""
        watch = self.watch(replay, self.listed)
        more = True
        while more is True and not watch.received.endswith(LAST_CHUNK):
            more = watch.read()
        return ("last chunk" if more is True else more), watch

    def told(self, replay, rv):
        """What a watch from there is told until `last` comes, or until it ends."""
        watch = self.watch(replay, rv)
        while b'"last"' not in watch.received and not watch.received.endswith(LAST_CHUNK):
            self.assertIs(watch.read(), True)
        return [brief(json.loads(c)) for c in watch.chunks()[0] if c]

    def unseen(self):
        return [("DELETED", "b", str(self.seen + 1)), ("ADDED", "b", str(self.seen + 2)), ("ADDED", "last", str(self.seen + 3))]

    def check_end(self, how, wanted):
        self.make(how)
        r = self.replay("--speed", "max")
        end, watch = self.cut_off(r)
        self.assertEqual(end, wanted)
        self.assertEqual(watch.events()[0], ("MODIFIED", "a", str(self.seen)))
        self.assertEqual(self.told(r, self.seen), self.unseen())
        return watch

    def test_watches_end_by_a_last_chunk_as_the_recorders_did(self):
        self.check_end(lambda x: x.end(), "last chunk")

    def test_watches_end_by_fin_as_the_recorders_did(self):
        self.assertEqual(self.check_end(lambda x: x.cut(), False).chunks()[1], b"")

    def test_watches_end_by_a_reset_as_the_recorders_did(self):
        self.check_end(lambda x: x.reset(), "reset")

    def test_watches_end_inside_a_frame_as_the_recorders_did(self):
        watch = self.check_end(lambda x: x.half_frame_then("MODIFIED", {"kind": "Pod", "apiVersion": "v1"}, x.cut), False)
        part = watch.chunks()[1].split(b"\r\n", 1)[1]
        self.assertEqual(len(part), len(b'{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1"}}\n') // 2)

    def test_watches_end_by_the_error_that_the_recorders_got(self):
        def error(x):
            x.error(500, "InternalError", "etcdserver: no leader")
            x.end()

        self.make(error, compact=True)
        end, watch = self.cut_off(self.replay("--speed", "max"))
        status = json.loads(watch.chunks()[0][1])["object"]
        self.assertEqual((end, status["code"], status["message"]), ("last chunk", 500, "etcdserver: no leader"))

    def test_requests_get_the_answers_of_the_recorders_attempts(self):
        self.make(lambda x: x.cut(), retry_after=2)
        # Two seconds of recording at least, and so eight of the replay.
        r = self.replay("--speed", "0.25", "--from", "seq:3", "--max-idle", "3s")
        watch = self.watch(r, self.seen)
        self.assertIs(watch.to_the_end(), False)
        for target in ("/api/v1/pods", f"/api/v1/pods?watch=1&resourceVersion={self.seen}"):
            status, headers, _ = r.request("GET", target)
            self.assertEqual((status, headers["Retry-After"]), (503, "2"))
        self.assertEqual(r.request("POST", "/kubetape/v1/speed?value=max")[0], 200)
        self.assertEqual(self.back(r), self.unseen())

    def back(self, r):
        wait_for(lambda: r.request("GET", "/api/v1/pods")[0] == 200, "the end of the gap")
        return self.told(r, self.seen)

    def test_a_relist_makes_history_expire_and_shows_the_other_uid(self):
        self.make(lambda x: x.reset(), compact=True)
        r = self.replay("--speed", "max")
        self.assertEqual(self.cut_off(r)[0], "reset")
        self.assertEqual([e[0] for e in self.told(r, self.seen)], ["ERROR"])
        status, answer = r.get(f"/api/v1/pods?resourceVersion={self.seen}")
        self.assertEqual([(i["metadata"]["name"], i["metadata"]["uid"]) for i in answer["items"]], [("a", "u-a"), ("b", "u-b2")])
        self.assertEqual([e[:2] for e in self.told(r, answer["metadata"]["resourceVersion"])], [("ADDED", "last")])

    def test_control_gets_through_while_nobody_listens_as_recorded(self):
        self.pods.put("a", uid="u-a")
        recording = self.record("pods").ready(1)
        self.pods.watching()
        self.api.refuse()
        self.api.drop_connections()
        attempts = "purpose = 'watch' AND end_reason = 'refused'"
        wait_for(lambda: recording.query(f"SELECT 1 FROM connections WHERE {attempts} LIMIT 3 OFFSET 1"), "attempts of the recorder")
        self.api.listen()
        self.pods.watching()
        self.pods.put("last", uid="u-l")
        recording.wait_events(1, "name = 'last'")
        self.assertEqual(recording.stop(), 0)
        inside = recording.query(f"SELECT end FROM connections WHERE {attempts}")[0]["end"]
        behind = recording.query("SELECT end FROM gaps")[0]["end"]
        r = self.replay("--from", "seq:1")
        self.assertEqual(self.control(r, "seek", inside)["state"], "waiting")
        with self.assertRaises(ConnectionRefusedError):
            r.get("/version")
        self.assertEqual(self.control(r, "seek", behind)["seq"], 2)
        self.assertEqual(r.get("/version")[0], 200)

    def control(self, replay, *words):
        done = subprocess.run([KUBETAPE, "ctl", f"127.0.0.1:{replay.port}", *words, "--json"], capture_output=True, text=True,
            timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_without_gaps_everything_flows_as_if_nothing_had_happened(self):
        for compact in (False, True):
            with self.subTest(compact=compact):
                self.setUp()
                self.make(lambda x: x.reset(), compact=compact)
                told = self.told(self.replay("--speed", "max", "--gaps", "none"), self.listed)
                self.assertEqual([e[:2] for e in told],
                    [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "b"), ("ADDED", "last")])

    def test_gaps_of_the_recorders_own_making_do_not_happen(self):
        self.pods.put("a", uid="u-a")
        self.listed = self.api.rv
        self.record("pods").ready(1).stop()
        self.pods.put("last", uid="u-l")
        again = self.record("pods").ready(1)
        again.wait_events(1, "name = 'last'")
        again.stop()
        self.assertEqual([e[:2] for e in self.told(self.replay("--speed", "max"), self.listed)], [("ADDED", "last")])


if __name__ == "__main__":
    unittest.main()
