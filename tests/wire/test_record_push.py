"""`record --push`: segments go to the store while the tape is recorded, and stay here until they are there."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

from recording import KUBETAPE, RecordTest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from s3_store import S3Store  # noqa: E402
from waiting import wait_for


class Push(RecordTest):
    def setUp(self):
        super().setUp()
        self.store = S3Store()
        self.store.__enter__()
        self.addCleanup(self.store.__exit__)

    def pushing(self, *options):
        return self.record("pods", "--push", "s3://tapes/prod", "--cluster", "eu", "--segment-events", "5", *options,
                           env=self.store.env)

    def put(self, recording, count, begin=0):
        for i in range(begin, begin + count):
            self.pods.put(f"pod-{i:02}")
            recording.wait_events(1, f"name = 'pod-{i:02}'")

    def here(self):
        return {n: open(os.path.join(self.tape, n), "rb").read() for n in os.listdir(self.tape) if n.startswith("seg-")}

    def there(self):
        return {os.path.basename(k): self.store.objects[k].body for k in self.store.keys("seg-")}

    def manifest(self):
        return json.loads(self.store.objects[self.store.keys("manifest.json")[0]].body)

    def test_segments_are_in_the_store_while_it_records_and_all_of_them_at_the_end(self):
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 12)
        wait_for(lambda: len(self.there()) >= 2, "two segments in the store")
        self.assertFalse(self.manifest()["complete"])
        self.put(recording, 2, begin=12)
        self.assertEqual(recording.stop(signal.SIGTERM), 0)
        self.assertEqual(self.there(), self.here())
        self.assertTrue(self.manifest()["complete"])
        self.assertEqual(self.manifest()["segments"][-1]["last_seq"], 14)

    def test_a_store_that_is_away_holds_up_nothing_and_gets_all_when_it_is_back(self):
        for method in ("PUT", "GET", "HEAD"):
            self.store.fail(method, "", "InternalError", times=1000)
        recording = self.pushing("--max-size", "60K").ready(1)
        self.pods.watching()
        self.put(recording, 30)
        wait_for(lambda: "trying again" in recording.stderr, "a word of the store")
        self.assertIn("seg-000001.db", self.here())
        first = self.here()["seg-000001.db"]
        self.store.faults.clear()
        wait_for(lambda: self.there().get("seg-000001.db") == first, "the first segment in the store")
        self.put(recording, 8, begin=30)
        wait_for(lambda: "the store takes segments again" in recording.stderr, "a word of its return")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(sorted(self.there())[0], "seg-000001.db")
        numbers = [s["segment"] for s in self.manifest()["segments"]]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_what_the_store_lacks_at_the_end_is_told_and_pushed_later(self):
        for method in ("PUT", "GET", "HEAD"):
            self.store.fail(method, "", "SlowDown", times=1000)
        recording = self.pushing("--retry-for", "200ms").ready(1)
        self.pods.watching()
        self.put(recording, 7)
        self.assertEqual(recording.stop(), 3)
        self.assertRegex(recording.stderr, "the store lacks segments of the tape, 'kubetape push' goes on with them: .*SlowDown")
        self.push_the_rest()

    def test_a_restored_copy_that_goes_on_is_not_mixed_with_what_the_store_has_of_the_other(self):
        backup = self.tape + "-backup"
        for begin in (0, 7):
            recording = self.pushing().ready(1)
            self.put(recording, 7, begin=begin)
            self.assertEqual(recording.stop(), 0)
            if not begin:
                shutil.copytree(self.tape, backup)
        there = self.there()
        shutil.rmtree(self.tape)
        shutil.move(backup, self.tape)
        recording = self.pushing("--retry-for", "1s").ready(1)
        self.put(recording, 14, begin=14)
        wait_for(lambda: "a copy of the tape went on apart from it" in recording.stderr, "a word of the copy")
        self.assertEqual(recording.stop(), 3)
        self.assertEqual(self.there(), there)
        self.assertLess(len(there), len(self.here()))

    def away(self):
        """A recorder with two segments to push, whose store refuses everything."""
        for method in ("PUT", "GET", "HEAD"):
            self.store.fail(method, "", "SlowDown", times=10000)
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 7)
        wait_for(lambda: "trying again" in recording.stderr, "a word of the store")
        recording.process.send_signal(signal.SIGTERM)
        return recording

    def push_the_rest(self):
        self.store.faults.clear()
        done = subprocess.run([KUBETAPE, "push", self.tape, "s3://tapes/prod", "--cluster", "eu"], env={**os.environ, **self.store.env},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.there(), self.here())

    def test_at_the_end_a_store_that_stays_away_is_waited_for_in_vain_only_for_a_while(self):
        recording = self.away()
        self.assertEqual(recording.process.wait(60), 3)
        self.assertIn("the tape is closed; pushing what the store lacks of it, for 5m00s at most, or 15.0s if it does not answer; "
                      "another signal ends this at once", recording.stderr)
        self.push_the_rest()

    def test_another_signal_ends_the_push_at_the_end_in_good_order(self):
        recording = self.away()
        wait_for(lambda: "another signal ends this" in recording.stderr, "what the recorder waits for")
        recording.process.send_signal(signal.SIGTERM)
        self.assertEqual(recording.process.wait(60), 3)
        wait_for(lambda: "recorded 7 events" in recording.stderr, "the last line")
        self.assertRegex(recording.stderr, "the store lacks segments of the tape, 'kubetape push' goes on with them: .*SlowDown")
        self.push_the_rest()

    def test_what_neither_the_store_nor_this_machine_has_is_told_at_the_end(self):
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 8)
        self.assertEqual(recording.stop(), 0)
        del self.store.objects[self.store.keys("seg-000001")[0]]
        os.remove(os.path.join(self.tape, "seg-000001.db"))
        recording = self.pushing()
        recording.ready(1)
        self.assertEqual(recording.stop(), 3)
        self.assertIn("the store lacks 1 segments of the tape that are not here any more", recording.stderr)

    def test_a_killed_recorder_leaves_what_the_next_one_pushes(self):
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 8)
        recording.kill()
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 4, begin=8)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.there(), self.here())
        self.assertTrue(self.manifest()["complete"])

    def test_the_next_recorder_pushes_again_what_the_store_has_lost_since(self):
        recording = self.pushing().ready(1)
        self.pods.watching()
        self.put(recording, 8)
        self.assertEqual(recording.stop(), 0)
        for key, body in ((self.store.keys("seg-000001")[0], b"cut"), (self.store.keys("manifest")[0], b"torn")):
            self.store.objects[key].body = body
        recording = self.pushing().ready(1)
        wait_for(lambda: self.there() == {n: b for n, b in self.here().items() if n in self.there()}, "the first segment in the store again")
        self.assertRegex(recording.stderr, "manifest.json' was torn; it is made anew")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.there(), self.here())
        self.store.objects[self.store.keys("seg-000002")[0]].body = b"cut"
        recording = self.pushing().ready(1)
        wait_for(lambda: "seg-000002.db' has 3 bytes in the store, expected " in recording.stderr, "what the store lost")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.there(), self.here())

    def test_lag_is_in_metrics_and_info(self):
        for method in ("PUT", "GET", "HEAD"):
            self.store.fail(method, "", "InternalError", times=100000)
        recording = self.pushing("--metrics", "0").ready(1)
        self.pods.watching()
        self.put(recording, 7)
        port = wait_for(lambda: re.search(r"metrics at http://127\.0\.0\.1:(\d+)/", recording.stderr), "the port").group(1)

        def metric(name):
            text = subprocess.run(["curl", "-sS", "--noproxy", "*", f"http://127.0.0.1:{port}/metrics"], capture_output=True, text=True,
                                  timeout=60, check=True).stdout
            return float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE).group(1))

        wait_for(lambda: metric("kubetape_push_failing") == 1, "the failure in the metrics")
        wait_for(lambda: metric("kubetape_push_waiting_segments") == 1, "what waits, though no store has said what it has")
        self.assertGreater(metric("kubetape_push_lag_seconds"), 0)
        info = subprocess.run([KUBETAPE, "info", self.tape], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertRegex(info, r"pushed       to s3://tapes/prod, which lacks 1 sealed segments \(")
        self.store.faults.clear()
        wait_for(lambda: metric("kubetape_push_failing") == 0 and metric("kubetape_push_waiting_segments") == 0, "the push")
        self.assertGreaterEqual(metric("kubetape_pushed_segments_total"), 1)
        self.assertEqual(metric("kubetape_push_lag_seconds"), 0)
        self.assertEqual(recording.stop(), 0)
        info = subprocess.run([KUBETAPE, "info", self.tape], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertRegex(info, "pushed       to s3://tapes/prod/cluster=eu/tape=[0-9a-f]+, which has every sealed segment")
        push = json.loads(subprocess.run([KUBETAPE, "info", self.tape, "--json"], capture_output=True, text=True, timeout=60, check=True).stdout)["push"]
        self.assertEqual(push["waiting_segments"], 0)

    def test_words_without_a_place_are_usage_errors(self):
        recording = self.record("pods", "--endpoint", "http://x")
        self.assertEqual(recording.wait(), 2)
        self.assertIn("want '--push URL'", recording.stderr)
        recording = self.record("pods", "--push", "/somewhere")
        self.assertEqual(recording.wait(), 2)
        self.assertIn("expected s3://BUCKET/PREFIX", recording.stderr)
