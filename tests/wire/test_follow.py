"""Commands that follow a tape while it is being recorded."""
import subprocess
import threading
import unittest

from recording import KUBETAPE, RecordTest
from waiting import PATIENCE_S, wait_for


class Following:
    """A command whose lines are gathered as they come."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([KUBETAPE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_line(self, words):
        wait_for(lambda: any(words in line for line in self.lines), f"'{words}' in {self.lines}")

    def wait(self):
        """Exit code and stderr."""
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        with self.process.stdout, self.process.stderr:
            return code, self.process.stderr.read()


class Follow(RecordTest):
    def follow(self, *arguments):
        following = Following(*arguments)
        self.addCleanup(following.process.kill)
        return following

    def test_events_are_told_as_they_come_and_gaps_when_they_begin_and_end(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        events = self.follow("events", self.tape, "-f")
        events.wait_line("LISTED   pods default/a")
        self.pods.watching()
        self.pods.put("a", spec={"nodeName": "n1"})
        events.wait_line("+spec.nodeName n1  by ?")
        self.pods.compact()
        self.pods.disturb(lambda x: x.cut())
        events.wait_line("WATCHED pods")
        self.pods.put("b")
        events.wait_line("ADDED    pods default/b")
        self.assertEqual(recording.stop(), 0)
        code, errors = events.wait()
        self.assertEqual((code, errors), (0, "kubetape events: the recording has ended\n"))
        told = [line.split()[1] for line in events.lines if "WATCHED" not in line]
        self.assertEqual(told, [str(n + 1) for n in range(len(told))])

    def test_log_follows_an_object_and_what_it_will_own(self):
        self.pods.put("a", uid="u-a")
        recording = self.record().ready(1)
        log = self.follow("log", self.tape, "pods/a", "--with-owned", "-f")
        log.wait_line("pods default/a rv")
        self.pods.watching()
        self.pods.put("b", ownerReferences=[])
        self.pods.put("c", metadata={"ownerReferences": [{"uid": "u-a"}]})
        log.wait_line("pods default/c rv")
        self.assertEqual(recording.stop(), 0)
        code, errors = log.wait()
        self.assertEqual((code, errors), (0, "kubetape log: the recording has ended\n"))
        self.assertFalse(any("default/b" in line for line in log.lines))

    def test_get_watches_the_state_and_what_becomes_of_it(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        get = self.follow("get", self.tape, "pods", "-w")
        get.wait_line("default    a")
        self.pods.watching()
        self.pods.put("b", status={"phase": "Pending"})
        get.wait_line("Pending")
        self.pods.put("b", status={"phase": "Running"})
        get.wait_line("Running")
        self.pods.compact()
        self.pods.disturb(lambda x: x.cut())
        self.pods.put("b", status={"phase": "Failed"})
        get.wait_line("Failed")
        self.assertEqual(recording.stop(), 0)
        code, errors = get.wait()
        self.assertEqual(code, 0)
        self.assertRegex(errors, "kubetape get: .* (NOT WATCHED|WATCHED AGAIN) pods .*\n")
        self.assertTrue(errors.endswith("kubetape get: the recording has ended\n"), errors)
        self.assertEqual([line.split()[1] for line in get.lines], ["NAME", "a", "b", "b", "b"])

    def test_a_tape_that_nobody_records_ends_at_once(self):
        self.pods.put("a")
        self.record().ready(1).stop()
        code, errors = self.follow("events", self.tape, "-f").wait()
        self.assertEqual((code, errors), (0, "kubetape events: the tape is not being recorded\n"))


if __name__ == "__main__":
    unittest.main()
