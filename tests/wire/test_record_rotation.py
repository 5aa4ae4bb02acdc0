"""Segments of a tape while it is recorded: begun on demand and by count, removed by size."""

import os
import shlex
import signal
import subprocess
import unittest

from recording import KUBETAPE, RecordTest, query
from waiting import wait_for


class Rotation(RecordTest):
    def sealed(self):
        return sorted(n for n in os.listdir(self.tape) if n.startswith("seg-") and n.endswith(".db"))

    def test_a_signal_begins_a_new_segment_and_nothing_is_lost(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        recording.process.send_signal(signal.SIGUSR1)
        wait_for(self.sealed, "a sealed segment")
        self.pods.put("b")
        self.assertEqual(recording.wait_events(2), ["ADDED a 1001 list", "ADDED b 1002"])
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.sealed(), ["seg-000001.db", "seg-000002.db"])
        self.assertEqual(recording.events(), ["ADDED a 1001 list", "ADDED b 1002"])

    def heed_hangups(self):
        """Also where the tests run under nohup."""
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))

    def test_a_hangup_is_that_signal_to_a_daemon(self):
        self.heed_hangups()
        self.pods.put("a")
        recording = self.record("pods", before=("setsid",)).ready(1)
        recording.process.send_signal(signal.SIGHUP)
        wait_for(self.sealed, "a sealed segment")
        self.pods.put("b")
        recording.wait_events(2)
        self.assertEqual(recording.stop(), 0)

    def test_a_terminal_that_is_closed_ends_the_recording(self):
        self.heed_hangups()
        self.pods.put("a")
        command = [KUBETAPE, "record", "pods", "-o", self.tape, "--server", self.serve()]
        terminal = subprocess.Popen(["script", "-qc", shlex.join(command), "/dev/null"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(terminal.wait)
        self.addCleanup(terminal.kill)
        self.pods.watching()
        terminal.kill()
        wait_for(self.sealed, "a sealed segment")
        self.assertEqual(query(self.tape, "SELECT end_reason FROM connections WHERE purpose = 'watch'"), [{"end_reason": "client_stop"}])

    def test_limits_that_cannot_hold_are_told(self):
        recording = self.record("pods", "--keep-free", "1000000T", "--max-size", "10").ready(1)
        self.assertRegex(recording.stderr, "'--keep-free' of .* cannot be held: the disk has .* in all")
        self.assertRegex(recording.stderr, "'--max-size' of 10 B may be exceeded: ")
        self.assertEqual(recording.stop(), 0)

    def test_a_second_signal_without_an_event_costs_nothing(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        recording.process.send_signal(signal.SIGUSR1)
        wait_for(self.sealed, "a sealed segment")
        recording.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: "no new segment: no event has come" in recording.stderr, "the answer to the second signal")
        self.pods.put("b")
        recording.wait_events(2)
        recording.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: len(self.sealed()) == 2, "another sealed segment")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(recording.events(), ["ADDED a 1001 list", "ADDED b 1002"])

    def test_segments_by_count_and_the_oldest_removed_above_a_size(self):
        recording = self.record("pods", "--segment-events", "5", "--max-size", "100K").ready(1)
        self.pods.watching()
        for i in range(60):
            self.pods.put(f"pod-{i:02}")
            recording.wait_events(1, f"name = 'pod-{i:02}'")
        wait_for(lambda: "removed the oldest segments" in recording.stderr, "the removal of a segment")
        self.assertEqual(recording.stop(), 0)
        self.assertNotIn("seg-000001.db", self.sealed())
        self.assertGreaterEqual(len(self.sealed()), 2)
        live = recording.query("SELECT count(*) AS n FROM objects WHERE resource = 'pods'")
        self.assertEqual(live, [{"n": 60}])


if __name__ == "__main__":
    unittest.main()
