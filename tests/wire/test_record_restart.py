"""A recorder that is stopped, killed and started again on the same tape: no hole, no repetition."""

import json
import re
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

from recording import KUBETAPE, RecordTest, plain_rows, query
from waiting import wait_for


class Restarts(RecordTest):
    def again(self):
        return self.record()

    def test_goes_on_where_it_stopped(self):
        self.pods.put("a")
        first = self.record().ready(1)
        self.pods.watching()
        self.pods.put("b")
        first.wait_events(2)
        first.stop()
        self.pods.put("c")
        self.pods.delete("a")
        second = self.again().ready(1)
        self.assertEqual(second.wait_events(4), ["ADDED a 1001 list", "ADDED b 1002", "ADDED c 1003", "DELETED a 1004"])
        self.assertEqual(len(self.pods.lists()), 1)
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], "1002")
        gaps = second.query("SELECT * FROM gaps")
        self.assertEqual([(g["reason"], g["how_ended"], g["from_rv"]) for g in gaps],
                         [("client_stop", "rewatch", "1002")])

    def gaps_of(self, resource):
        done = subprocess.run([KUBETAPE, "gaps", self.tape, "--json"], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, [g for g in json.loads(done.stdout)["gaps"] if g["resource"] == resource]

    def record_pods_then_deployments(self, end):
        """A recording of pods, and one of deployments that sees events afterwards."""
        deployments = self.api.add("deployments", "Deployment", group="apps", short_names=["deploy"])
        self.pods.put("a")
        first = self.record("pods").ready(1)
        self.pods.watching()
        self.pods.put("b")
        first.wait_events(2)
        end(first)
        self.end_of_pods = first.query("SELECT begin, end FROM connections WHERE purpose = 'watch'")[0]
        second = self.record("deploy").ready(1)
        deployments.watching()
        deployments.put("d")
        second.wait_events(3)
        second.stop()

    def test_what_a_later_recording_leaves_out_has_a_gap_from_the_end_of_its_own_watch(self):
        self.record_pods_then_deployments(lambda recording: recording.stop())
        code, gaps = self.gaps_of("pods")
        self.assertEqual((code, [(g["gap"], g["begin"], g["end"], g["reason"], g["how_ended"]) for g in gaps]),
                         (3, [(None, self.end_of_pods["end"], None, "client_stop", "open")]))
        self.assertEqual(self.gaps_of("deployments")[1], [])
        got = query(self.tape, "SELECT gap, begin_seq, how_ended FROM gaps")
        self.assertEqual(got, [{"gap": None, "begin_seq": 2, "how_ended": "open"}])

    def test_a_recording_that_follows_it_again_closes_that_gap(self):
        self.record_pods_then_deployments(lambda recording: recording.stop())
        self.pods.put("c")
        third = self.record("pods,deploy").ready(2)
        third.wait_events(4)
        third.stop()
        gaps = self.gaps_of("pods")[1]
        self.assertEqual([(g["begin"], g["begin_seq"], g["how_ended"]) for g in gaps], [(self.end_of_pods["end"], 2, "rewatch")])
        self.assertNotEqual(gaps[0]["gap"], None)

    def test_a_recorder_that_was_killed_watched_until_the_last_thing_on_the_tape(self):
        self.record_pods_then_deployments(lambda recording: recording.kill())
        last = query(self.tape, "SELECT time FROM events WHERE seq = 2")[0]["time"]
        code, gaps = self.gaps_of("pods")
        self.assertEqual((code, [(g["gap"], g["begin_seq"], g["reason"], g["how_ended"]) for g in gaps]),
                         (3, [(None, 2, "recorder_died", "open")]))
        self.assertGreaterEqual(gaps[0]["begin"], last)
        self.assertLess(gaps[0]["begin"], query(self.tape, "SELECT time FROM events WHERE seq = 3")[0]["time"])

    def test_a_kill_leaves_what_was_durable_and_the_rest_comes_again(self):
        self.pods.put("a")
        first = self.record().ready(1)
        self.pods.watching()
        self.pods.put("b")
        first.wait_events(2)
        self.pods.put("c")  # perhaps received, perhaps not durable
        first.kill()
        self.pods.put("d")
        second = self.again().ready(1)
        self.assertEqual([e.split()[1] for e in second.wait_events(4)], ["a", "b", "c", "d"])
        second.stop()
        self.assertEqual(len(second.events()), 4)
        self.assertEqual(second.ends()[0], "recorder_died")

    def test_an_event_that_was_received_but_not_durable_at_a_kill_comes_again_and_is_stored_once(self):
        self.pods.put("a")
        first = self.record("pods", "--flush-interval", "1h", "--metrics", "0").ready(1)
        port = re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", first.stderr).group(1)
        self.pods.watching()
        self.pods.put("b")
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        wait_for(lambda: 'kubetape_events_total{resource="pods",namespace=""} 2\n' in direct.open(
            f"http://127.0.0.1:{port}/metrics").read().decode(), "the event in memory")
        first.kill()
        self.assertEqual(first.events(), ["ADDED a 1001 list"])
        second = self.again().ready(1)
        self.assertEqual(second.wait_events(2), ["ADDED a 1001 list", "ADDED b 1002"])
        second.stop()
        self.assertEqual(len(second.events()), 2)

    def test_what_much_waits_for_becomes_durable_before_the_interval_is_over(self):
        recording = self.record("pods", "--flush-interval", "1h").ready(1)
        self.pods.watching()
        self.pods.put("large", data={"text": "x" * 200_000})
        self.assertEqual(recording.wait_events(1), ["ADDED large 1001"])

    def test_what_is_on_the_tape_is_known_though_no_watch_came_since(self):
        self.pods.put("a")
        self.record().ready(1).stop()
        self.pods.watch_handlers = [lambda x: x.hang()]
        second = self.again()
        wait_for(lambda: not self.pods.watch_handlers, "the watch")
        self.assertEqual(second.stop(), 0)
        self.assertNotIn("nothing is known", second.lines[-1])
        self.assertIn("; 1 streams could not be watched at the end", second.lines[-1])

    def test_many_kills_under_load_lose_nothing_and_repeat_nothing(self):
        stop = threading.Event()

        def load():
            n = 0
            while not stop.is_set():
                self.pods.put(f"pod-{n % 20}")
                n += 1
                time.sleep(0.0005)

        worker = threading.Thread(target=load)
        worker.start()
        try:
            for i in range(8):
                recording = self.record().ready(1)
                time.sleep(0.02 * i)
                recording.kill()
        finally:
            stop.set()
            worker.join()
        last = self.record().ready(1)
        rv = self.api.rv
        wait_for(lambda: last.query(f"SELECT 1 AS x FROM events WHERE rv='{rv}'"), "the last event")
        last.stop()
        listed = [int(r["rv"]) for r in last.query("SELECT rv FROM events WHERE origin='list'")]
        seen = [int(r["rv"]) for r in last.query("SELECT rv FROM events WHERE origin='watch' ORDER BY seq")]
        begin = int(self.pods.watches()[0].query["resourceVersion"])
        self.assertEqual(seen, list(range(begin + 1, rv + 1)))
        self.assertTrue(all(x <= begin for x in listed))
        self.assertEqual(len(self.pods.lists()), 1)

    def test_history_lost_meanwhile_becomes_a_gap(self):
        self.pods.put("a", uid="u1")
        self.pods.put("b")
        self.record().ready(1).stop()
        self.pods.delete("a")
        self.pods.put("a", uid="u2")
        self.pods.compact()
        second = self.again().ready(1)
        gap = second.query("SELECT * FROM gaps")[0]
        self.assertEqual((gap["how_ended"], gap["recreated"], gap["unchanged"]), ("relist", 1, 1))
        rv = self.api.rv
        self.assertEqual(second.events(), ["ADDED a 1001 list", "ADDED b 1002 list", f"DELETED a {rv} inferred",
                                           "ADDED a 1004 relist"])
        self.assertEqual(second.stop(), 0, second.stderr)

    def test_a_first_list_that_was_never_finished_is_taken_up_again(self):
        for i in range(700):
            self.pods.put(f"pod-{i:04}")
        self.pods.on_list(self.pods.list, lambda x: x.hang())
        first = self.record()
        first.wait_events(500)
        first.kill()
        second = self.again().ready(1)
        self.assertEqual(len(second.events()), 700)
        self.assertEqual(second.query("SELECT count(*) AS n FROM events WHERE origin='list'")[0]["n"], 700)
        self.assertEqual(second.query("SELECT * FROM gaps"), [])

    def test_a_group_of_deletions_broken_by_a_kill_is_completed(self):
        for name in "abcd":
            self.pods.put(name)
        first = self.record().ready(1)
        self.pods.watching()

        def two_of_four(x):
            for value in self.gone[:2]:
                x.frame("DELETED", value)
            x.hang()

        with self.api.lock:
            self.pods.disturb(two_of_four)
            self.gone = self.pods.delete_together("abcd")
        first.wait_events(6)
        first.kill()
        second = self.again().ready(1)
        events = second.wait_events(8)
        self.assertEqual([e.split()[:2] for e in events[4:]], [["DELETED", n] for n in "abcd"])
        second.stop()
        self.assertEqual(len(second.events()), 8)

    def test_an_open_gap_is_closed_by_the_next_run(self):
        self.pods.put("a")
        first = self.record().ready(1)
        self.pods.watching()
        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable")
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: first.query("SELECT 1 AS x FROM gaps"), "the gap")
        first.stop(signal.SIGTERM)
        self.assertEqual(first.query("SELECT how_ended FROM gaps"), [{"how_ended": "open"}])
        self.pods.broken = None
        second = self.again().ready(1)
        gaps = wait_for(lambda: second.query("SELECT * FROM gaps WHERE how_ended='rewatch'"), "the end of the gap")
        self.assertEqual([(g["reason"], g["how_ended"]) for g in gaps], [("cut", "rewatch")])
        self.assertEqual(len(second.query("SELECT * FROM gaps")), 1)

    def test_another_resource_can_be_added_to_a_tape(self):
        self.pods.put("a")
        self.record().ready(1).stop()
        nodes = self.api.add("nodes", "Node", namespaced=False)
        nodes.put("n")
        second = self.record("pods", "nodes").ready(2)
        self.assertEqual(second.events(), ["ADDED a 1001 list", "ADDED n 1002 list"])

    def test_the_identity_of_the_cluster_is_written_once(self):
        self.record().ready(1).stop()
        self.record().ready(1).stop()
        self.assertEqual(len(plain_rows(self.tape, "SELECT * FROM epoch")), 1)


if __name__ == "__main__":
    unittest.main()
