"""A tape that is removed, moved or replaced under its recorder: said at once, in one sentence, and nothing is pretended."""

import os
import shutil
import signal
import subprocess
import threading
import unittest

from recording import KUBETAPE, RecordTest, query
from waiting import PATIENCE_S, wait_for


class Place(RecordTest):
    def setUp(self):
        super().setUp()
        self.other = os.path.join(self.folder, "y.tape")

    def begin(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("a")
        recording.wait_events(1)
        return recording

    def remove(self, recording):
        """All of it at once, as the recorder sees it."""
        recording.process.send_signal(signal.SIGSTOP)
        shutil.rmtree(self.tape)
        recording.process.send_signal(signal.SIGCONT)

    def assert_ends(self, recording, sentence):
        self.assertEqual(recording.wait(), 1)
        self.assertEqual(recording.lines[-1], f"kubetape record: tape '{self.tape}' was {sentence}")
        self.assertEqual([line for line in recording.lines if line.startswith("recorded ")], [])

    def test_a_tape_that_is_removed_is_missed_at_the_next_event(self):
        recording = self.begin()
        self.remove(recording)
        self.pods.put("b")
        self.assert_ends(recording, "removed while it was being written: what was recorded is lost")
        self.assertEqual(os.listdir(self.folder), [])

    def test_it_is_missed_without_any_event(self):
        recording = self.begin()
        self.remove(recording)
        self.assert_ends(recording, "removed while it was being written: what was recorded is lost")

    def test_it_is_missed_at_the_end_at_last(self):
        recording = self.begin()
        self.remove(recording)
        self.assertEqual(recording.stop(), 1)
        self.assertIn("was removed while it was being written", recording.lines[-1])

    def test_a_tape_that_is_moved_keeps_what_was_recorded(self):
        recording = self.begin()
        os.rename(self.tape, self.other)
        self.pods.put("b")
        self.assert_ends(recording, "moved or replaced while it was being written: what was recorded until now is where it was "
                                    "moved to")
        self.assertFalse(os.path.exists(self.tape))
        self.assertEqual(query(self.other, "SELECT name FROM events")[0], {"name": "a"})
        done = subprocess.run([KUBETAPE, "verify", self.other], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_moved_tape_can_be_gone_on_with_and_so_can_its_path(self):
        """The recorder that ends leaves the files of the next one alone."""
        first = self.begin()
        os.rename(self.tape, self.other)
        second = self.record().ready(1)
        self.pods.put("b")
        self.assertEqual(first.wait(), 1)
        second.wait_events(2)
        second.kill()
        self.assertEqual(sorted(query(self.tape, "SELECT name FROM events"), key=str), [{"name": "a"}, {"name": "b"}])
        third = self.record().ready(1)
        self.assertEqual(third.stop(), 0)
        self.tape = self.other
        self.assertEqual(self.record().ready(1).stop(), 0)

    def test_an_open_segment_that_is_removed_is_missed(self):
        recording = self.begin()
        os.remove(os.path.join(self.tape, "open-000001.db"))
        self.pods.put("b")
        self.assert_ends(recording, "changed while it was being written: its open segment, 1, was removed or replaced")

    def test_a_lock_that_is_removed_is_missed(self):
        """Another recorder could begin on the tape."""
        recording = self.begin()
        os.remove(os.path.join(self.tape, "lock"))
        self.assert_ends(recording, "changed while it was being written: its file 'lock' was removed or replaced")
        self.assertEqual([r["name"] for r in query(self.tape, "SELECT name FROM events")], ["a"])

    def test_a_tape_that_is_removed_before_anything_is_on_it_takes_nothing_else_along(self):
        self.pods.on_list(lambda x: x.hang())
        recording = self.record()
        wait_for(lambda: self.pods.lists(), "the list")
        os.rename(self.tape, self.other)
        os.mkdir(self.tape)
        with open(os.path.join(self.tape, "precious"), "w", encoding="utf-8") as f:
            f.write("mine")
        self.assertEqual(recording.wait(), 1)
        self.assertEqual(os.listdir(self.tape), ["precious"])

    def begin_together(self, count):
        """Discovery is what a recorder asks for before it makes the tape."""
        barrier = threading.Barrier(count)

        def wait_for_all(x):
            barrier.wait(PATIENCE_S)
            self.api.handlers.pop("/api", None)
            self.api.route(x)
        self.api.handlers["/api"] = wait_for_all
        return [self.record() for _ in range(count)]

    def test_recorders_that_begin_together_leave_the_tape_to_the_first(self):
        for round_ in range(8):
            self.tape = os.path.join(self.folder, f"{round_}.tape")
            together = self.begin_together(6)
            wait_for(lambda: sum(r.process.poll() is not None for r in together) >= 5, "the end of all but one")
            first, *others = sorted(together, key=lambda r: r.process.poll() is not None)
            for other in others:
                self.assertEqual(other.wait(), 1)
                self.assertIn("is being written by another process", other.stderr)
            self.assertEqual(first.ready(1).stop(), 0)
            self.assertEqual(query(self.tape, "SELECT count(*) AS lists FROM connections WHERE purpose = 'list'"), [{"lists": 1}])


if __name__ == "__main__":
    unittest.main()
