"""The line on a terminal that says how a recording goes."""

import os
import pty
import signal
import subprocess
import unittest

from recording import KUBETAPE, RecordTest
from waiting import PATIENCE_S, wait_for


class StatusLine(RecordTest):
    def setUp(self):
        super().setUp()
        self.screen = b""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        os.set_blocking(ours, False)
        self.terminal = ours
        self.process = subprocess.Popen([KUBETAPE, "record", "pods", "-o", self.tape, "-s", self.serve(), "--retry-delay", "20ms"],
                                        stderr=theirs, env={**os.environ, "HOME": "/nonexistent"})
        os.close(theirs)
        self.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def shows(self, text):
        try:
            self.screen += os.read(self.terminal, 65536)
        except (BlockingIOError, OSError):
            pass
        return text in self.screen

    def test_it_tells_how_much_came_and_what_fails(self):
        self.pods.watching()
        self.pods.put("a")
        wait_for(lambda: self.shows(b"1 of 1 streams  1 events"), "the line")
        self.assertNotIn(b"failing", self.screen)
        self.pods.broken = lambda x: x.status(429, "TooManyRequests")
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: self.shows(b"0 of 1 streams  1 events") and self.shows(b"  1 failing for "), "the line")
        wait_for(lambda: self.shows(b": http_429"), "the reason")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main()
