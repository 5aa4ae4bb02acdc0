"""Long commands say on a terminal how far they are, take the line away in the end, and say nothing where there is no terminal."""
import json
import os
import pty
import signal
import subprocess

from tapes import KUBETAPE, TapeTest, event, pod

ENDLESS = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c) > 0"


class Progress(TapeTest):
    rows = [event(i, "ADDED", pod(f"web-{i}", f"u{i}", i + 1)) for i in range(20)]

    def start(self, *args):
        """The process, and the terminal that its stderr is."""
        master, slave = pty.openpty()
        child = subprocess.Popen([KUBETAPE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        self.addCleanup(child.stdout.close)
        self.addCleanup(os.close, master)
        return child, master

    def read_until(self, master, wanted=None):
        shown = b""
        try:
            while not wanted or wanted not in shown:
                part = os.read(master, 4096)
                if not part:
                    break
                shown += part
        except OSError:  # the other end is closed
            pass
        return shown

    def finish(self, child, master, shown=b""):
        shown += self.read_until(master)
        child.stdout.read()
        return child.wait(timeout=60), shown.decode()

    def test_a_terminal_sees_how_far_it_is_and_then_no_line_of_it(self):
        lines = os.path.join(self.dir, "in.json")
        with open(lines, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(pod(f"a{i}", f"a{i}", i + 1)) + "\n" for i in range(100)))
        for verb, args in (("importing", ["import", lines, "-o", os.path.join(self.dir, "i.tape")]), ("counting", ["info", self.tape]),
                           ("verifying", ["verify", self.tape]), ("repacking", ["repack", self.tape, "-o", os.path.join(self.dir, "r.tape")]),
                           ("recovering", ["recover", self.tape, "-o", os.path.join(self.dir, "s.tape")])):
            with self.subTest(verb=verb):
                code, shown = self.finish(*self.start(*args))
                self.assertEqual(code, 0, shown)
                self.assertIn("\r" + verb, shown)
                self.assertTrue(shown.endswith("\r\x1b[K"), shown)
                self.assertEqual(shown.count("\n"), 0)

    def test_a_long_statement_says_so_and_ctrl_c_ends_it_and_takes_the_line_away(self):
        out = os.path.join(self.dir, "out")
        for args in (["export", self.tape, "-o", out, "--where", ENDLESS], ["query", self.tape, "SELECT " + ENDLESS],
                     ["export", self.tape, "--format", "trace", "-o", out, "--where", ENDLESS]):
            with self.subTest(args=args):
                child, master = self.start(*args)
                shown = self.read_until(master, b"(Ctrl-C stops)")
                child.send_signal(signal.SIGINT)
                code, shown = self.finish(child, master, shown)
                self.assertEqual((code, shown.count("\n")), (1, 1))
                self.assertTrue(shown.endswith(f"\r\x1b[Kkubetape {args[0]}: the statement was interrupted\r\n"), shown)
                self.assertFalse(os.path.exists(out))

    def test_a_pipe_of_unknown_length_is_counted(self):
        master, slave = pty.openpty()
        child = subprocess.Popen([KUBETAPE, "import", "-", "-o", os.path.join(self.dir, "i.tape")], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        child.stdin.write(json.dumps(pod("a", "a", 1)).encode() + b"\n")
        child.stdin.close()
        self.addCleanup(os.close, master)
        self.addCleanup(child.stdout.close)
        code, shown = self.finish(child, master)
        self.assertEqual(code, 0)
        self.assertRegex(shown, r"\rimporting  \d+ B\x1b\[K")


if __name__ == "__main__":
    import unittest
    unittest.main()
