"""Slow disks, full disks, floods: bounded memory, nothing lost, nothing said twice."""

import os
import signal
import subprocess
import threading
import time
import unittest

from fake_apiserver import encode
from recording import RecordTest, preload
from small_disk import SmallDisk
from waiting import PATIENCE_S, wait_for


def pod(i, size):
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": f"p{i}", "namespace": "n", "uid": f"u{i}", "resourceVersion": str(5000 + i)}, "spec": {"x": "y" * size}}


class SlowDisk(RecordTest):
    def setUp(self):
        super().setUp()
        self.switch = os.path.join(self.folder, "slow")
        self.recording = self.record(env={**preload(self.folder, "slow_sync"), "KUBETAPE_SYNC_MS": self.switch}).ready(1)
        self.pods.watching()

    def slow(self, ms):
        with open(self.switch + ".new", "w", encoding="utf-8") as f:
            f.write(f"{ms}\n")
        os.replace(self.switch + ".new", self.switch)

    def hold_a_flush(self, x):
        """Two events: the flush of the first is seen to be slow, that of the second lasts until the switch is gone."""
        for i, ms in ((-1, 10), (0, -1)):
            self.slow(ms)
            x.frame("ADDED", pod(i, 10))
            wait_for(lambda: os.path.exists(self.switch + ".seen"), "the flush")
            os.remove(self.switch + ".seen")

    def flood(self, script):
        """Runs it with the connection; what it sends is in the tape when it is over."""
        failed, over = [], threading.Event()

        def run(x):
            try:
                x.sock.settimeout(PATIENCE_S)  # of a write that nobody reads
                script(x)
            except (OSError, AssertionError) as e:
                failed.append(e)
            os.remove(self.switch)
            over.set()

        self.pods.disturb(run)
        self.assertTrue(over.wait(2 * PATIENCE_S))
        self.assertEqual(failed, [])
        events = self.recording.wait_events(102)
        self.assertEqual(events, [f"ADDED p{i} {5000 + i}" for i in range(-1, 101)])

    def test_the_socket_is_emptied_while_a_flush_takes_its_time(self):
        def script(x):
            self.hold_a_flush(x)
            for i in range(1, 101):
                x.frame("ADDED", pod(i, 200_000))

        self.flood(script)

    def test_not_even_a_long_flush_stops_the_loop(self):
        """Whatever the recorder does every second or so does not wait for the flush either."""
        def script(x):
            self.hold_a_flush(x)
            for i in range(1, 11):
                x.frame("ADDED", pod(i, 100))
                time.sleep(0.25)
            for i in range(11, 101):
                x.frame("ADDED", pod(i, 200_000))

        self.flood(script)

    def test_more_than_can_be_held_waits_in_the_socket(self):
        def flood(x):
            self.slow(300)
            for i in range(200):
                x.frame("ADDED", pod(i, 500_000))
            os.remove(self.switch)

        self.pods.disturb(flood)
        self.recording.wait_events(200)
        with open(f"/proc/{self.recording.process.pid}/status", encoding="utf-8") as f:
            peak_kb = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
        self.assertLess(peak_kb, 300_000)  # the open extent's 64 MB in a few forms; 100 MB came in
        self.assertEqual(self.recording.stop(), 0)


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class FullDisk(SmallDisk, RecordTest):
    def setUp(self):
        super().setUp()
        self.mount(os.path.join(self.folder, "disk"))
        self.tape = os.path.join(self.disk, "x.tape")

    def test_it_says_so_waits_and_goes_on_when_there_is_room_again(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("a")
        recording.wait_events(1)
        self.fill()
        for _ in range(40):
            self.pods.put("b", spec={"x": os.urandom(20_000).hex()})
        wait_for(lambda: "disk is full" in recording.stderr, "the message")
        self.assertEqual(recording.stderr.count("disk is full"), 1)
        self.assertIsNone(recording.process.poll())
        os.remove(os.path.join(self.disk, "ballast"))
        subprocess.run(["mount", "-o", "remount,size=64m", self.disk], check=True)
        self.assertEqual(len(recording.wait_events(41)), 41)
        self.assertIn("the tape is being written again", recording.stderr)
        self.assertEqual(recording.stop(), 0)

    def test_a_signal_ends_it_with_a_clear_message_and_a_tape_that_stays_valid(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("a")
        recording.wait_events(1)
        self.fill()
        self.pods.put("b", spec={"x": os.urandom(500_000).hex()})
        wait_for(lambda: "disk is full" in recording.stderr, "the message")
        self.assertEqual(recording.stop(signal.SIGTERM), 1)
        self.assertRegex(recording.lines[-1], "disk is full; the last 1 events are not stored$")
        self.assertEqual(recording.events(), ["ADDED a 1001"])
        os.remove(os.path.join(self.disk, "ballast"))
        second = self.record().ready(1)
        self.assertEqual(len(second.wait_events(2)), 2)

    def record_segments(self, how):
        """Sealed segments of 2 MB, and then a full disk; `how` ends the recorder on it."""
        subprocess.run(["mount", "-o", "remount,size=16m", self.disk], check=True)
        recording = self.record("pods", "--segment-events", "20").ready(1)
        self.pods.watching()

        def sealed():
            return [os.path.getsize(entry) for entry in os.scandir(recording.tape) if entry.name.startswith("seg-") and entry.name.endswith(".db")]
        events = 0
        while len(sealed()) < 4 or sum(sealed()) < 2 << 20:
            for _ in range(20):
                self.pods.put("p", spec={"x": os.urandom(5000).hex()})
            events += 20
            recording.wait_events(events)
        self.fill()
        recording.stop(how)

    def begin_on_it_with_room_to_keep(self):
        recording = self.record("pods", "--keep-free", "512K").ready(1)
        self.pods.put("after")
        wait_for(lambda: f"ADDED after {self.api.rv}" in recording.events(), "the event")
        wait_for(lambda: "removed the oldest segments" in recording.stderr, "what was removed")
        self.assertEqual(recording.stop(), 0, recording.stderr)

    def test_on_a_full_disk_one_that_is_to_keep_room_begins_by_removing_the_oldest_segments(self):
        self.record_segments(signal.SIGTERM)
        self.begin_on_it_with_room_to_keep()

    def test_so_does_one_that_goes_on_with_what_a_crash_left_there(self):
        self.record_segments(signal.SIGKILL)
        self.begin_on_it_with_room_to_keep()

    def test_no_room_at_all_at_the_start(self):
        self.fill()
        recording = self.record()
        self.assertEqual(recording.wait(), 1)
        self.assertIn("disk is full", recording.stderr)

    def test_wherever_the_room_ends_at_the_start_it_says_that_the_disk_is_full_and_leaves_nothing(self):
        self.fill()
        ballast = os.path.join(self.disk, "ballast")
        for pages in (1, 4, 8, 16):
            os.truncate(ballast, os.path.getsize(ballast) - pages * 4096)
            recording = self.record()
            self.assertEqual(recording.wait(), 1)
            self.assertRegex(recording.lines[-1], "^kubetape record: tape .* disk is full$")
            self.assertEqual(os.listdir(self.disk), ["ballast"])
            self.fill()


class Flood(RecordTest):
    def test_many_small_events_at_once_are_all_there(self):
        recording = self.record().ready(1)
        self.pods.watching()
        frames = b"".join(b'{"type":"ADDED","object":%s}\n' % encode(pod(i, 300)) for i in range(20_000))
        self.pods.disturb(lambda x: [x.chunk(frames[i:i + 60_000]) for i in range(0, len(frames), 60_000)])
        wait_for(lambda: recording.query("SELECT count(*) AS n FROM events")[0]["n"] == 20_000, "all events")
        rows = recording.query("SELECT name FROM events ORDER BY seq")
        self.assertEqual([r["name"] for r in rows], [f"p{i}" for i in range(20_000)])


if __name__ == "__main__":
    unittest.main()
