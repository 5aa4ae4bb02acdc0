"""The keys and the status line of a replay on a terminal, and their absence everywhere else."""

import http.client
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
import unittest

from replays import DEADLINE_S, KUBETAPE, PODS, Case, Tape, obj


def counted(count=20):
    tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)])
    for i in range(count):
        tape.event(1 + 10 * i, PODS, "ADDED", obj(PODS, "p%d" % i, 31 + i))
    return tape


class Terminal:
    """`kubetape replay` with a terminal of its own."""

    def __init__(self, *arguments):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(KUBETAPE, [KUBETAPE, "replay", "--plain", *arguments])

    def read(self):
        """Takes what is there within a moment; False at the end."""
        if select.select([self.fd], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode()
            except OSError:
                return False
        return True

    def until(self, pattern):
        """Reads until what was seen since the last call has the pattern."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := re.search(pattern, self.seen)):
            if not self.read() or time.monotonic() > deadline:
                raise AssertionError("no %r in %r" % (pattern, self.seen))
        self.seen = self.seen[found.end():]
        return found

    def press(self, keys):
        self.seen = ""
        os.write(self.fd, keys.encode())

    def end(self):
        """The exit code."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            self.read()
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class KeysTest(Case):
    def begin(self, *options):
        t = Terminal(self.tape(counted()), *options)
        self.addCleanup(t.close)
        address = t.until(r"control at http://127\.0\.0\.1:(\d+)(/\S+)")
        self.port, self.control = int(address.group(1)), address.group(2)
        t.until(r"serving \S+ at http://")
        return t

    def status(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        c.request("GET", self.control)
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def test_the_line_says_where_the_replay_stands_and_the_keys_move_it(self):
        t = self.begin()
        t.until(r"waiting  2027-01-15T08:00:00  event 1 of 21  1x  0 watches")
        t.press(".")
        t.until(r"paused  2027-01-15T08:00:01  event 2 of 21  ADDED pods default/p0 rv 31  1x")
        t.press(" ")
        t.until(r"running")
        t.press(" ")
        t.until(r"paused")
        t.press("++")
        t.until(r"  4x  ")
        t.press("-")
        t.until(r"  2x  ")
        t.press("1")
        t.until(r"  1x  ")
        t.press("\033[C\033[C")
        t.until(r"event 4 of 21")
        t.press("\033[D")
        t.until(r"event 3 of 21")
        t.press("r")
        t.until(r"event 1 of 21")
        self.assertEqual(self.status()["seq"], 1)
        t.press("m ")
        t.until(r"ended  \S+  event 21 of 21  max")
        t.press("q")
        self.assertEqual(t.end(), 0)

    def test_the_keys_are_named_on_request(self):
        t = self.begin()
        t.until(r"\(\? keys\)")
        t.press("?")
        t.until(r"space pause.* q quit\r\n")

    def test_the_terminal_is_given_back_as_it_was(self):
        t = self.begin()
        t.until("waiting")
        self.assertFalse(termios.tcgetattr(t.fd)[3] & (termios.ICANON | termios.ECHO))
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.end(), 0)
        self.assertTrue(termios.tcgetattr(t.fd)[3] & termios.ICANON)
        self.assertTrue(termios.tcgetattr(t.fd)[3] & termios.ECHO)

    def test_ctrl_c_ends_it(self):
        t = self.begin()
        t.until("waiting")
        t.press("\x03")
        self.assertEqual(t.end(), 0)

    def test_what_was_sent_counts_on_when_the_tape_begins_anew(self):
        t = self.begin("--loop", "--speed", "100")
        sent, rounds, at = [0], 0, 0
        watch = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        self.addCleanup(watch.close)
        watch.request("GET", "/api/v1/pods?watch=1&resourceVersion=20")
        while rounds < 2:
            found = t.until(r"event (\d+) of 21  100x  \d watches  (\d+) sent")
            before, at = at, int(found.group(1))
            if at < before:
                rounds += 1
                watch.close()
                watch.request("GET", "/api/v1/pods?watch=1&resourceVersion=20")
            sent.append(int(found.group(2)))
        self.assertEqual(sent, sorted(sent))
        self.assertGreater(sent[-1], 20)

    def test_a_command_has_the_terminal_for_itself(self):
        t = Terminal(self.tape(counted()), "--", "sh", "-c", "read line; echo got $line")
        self.addCleanup(t.close)
        t.until("serving")
        t.press("q\n")
        t.until("got q")
        self.assertEqual(t.end(), 0)
        self.assertNotIn("waiting", t.seen)

    def test_keys_and_a_command_share_the_terminal_if_they_are_told_to(self):
        child = "cat; echo no input; printf begun; sleep 0.5; echo ' ended'; exec sleep 1000"
        t = Terminal(self.tape(counted()), "--keys", "--", "sh", "-c", child)
        self.addCleanup(t.close)
        self.port = int(t.until(r"serving \S+ at http://127\.0\.0\.1:(\d+)").group(1))
        t.until("no input\r\n")
        t.until("begun ended\r\n")  # the line does not come between
        t.until("waiting")
        t.press(".")
        t.until(r"paused  \S+  event 2 of 21")
        t.press("q")
        self.assertEqual(t.end(), 0)

    def test_what_a_command_says_last_is_not_lost(self):
        t = Terminal(self.tape(counted()), "--keys", "--", "sh", "-c", "seq 1 20000; exit 3")
        self.addCleanup(t.close)
        self.assertEqual(t.end(), 3)
        while t.read():
            pass
        self.assertIn("\n20000\r\n", t.seen)

    def test_keys_without_a_terminal_are_refused(self):
        done = subprocess.run([KUBETAPE, "replay", self.tape(counted()), "--keys", "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'--keys' needs a terminal", done.stderr)

    def test_in_a_pipe_there_is_no_line(self):
        r = self.replay(counted())
        self.assertEqual(r.get("/kubetape/v1/status")[1]["state"], "waiting")
        r.stop()
        self.assertNotIn("waiting", r.stderr())
        self.assertNotIn("\033", r.stderr())


if __name__ == "__main__":
    unittest.main()
