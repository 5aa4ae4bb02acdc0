"""Segments of a tape while it is recorded: begun on demand and by count, removed by size."""

import os
import signal
import unittest

from recording import RecordTest
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
