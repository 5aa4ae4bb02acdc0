"""kubetape query on a terminal: the shell."""
import os
import pty
import select
import time
import unittest

from tapes import KUBETAPE, TapeTest, event, loading_environment, pod


class Shell(TapeTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10)), event(1, "ADDED", pod("web-1", "u2", 11))]

    def open_terminal(self, *args):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(KUBETAPE, [KUBETAPE, *args], dict(loading_environment(), TERM="dumb", HOME=self.dir))
        self.addCleanup(os.close, terminal)
        return child, terminal

    def read_until(self, terminal, text):
        seen, deadline = "", time.monotonic() + 30
        while text not in seen and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.5)[0]:
                try:
                    seen += os.read(terminal, 65536).decode()
                except OSError:
                    break
        self.assertIn(text, seen)
        return seen

    def test_opens_on_a_terminal_with_the_tables_of_the_tape(self):
        child, terminal = self.open_terminal("query", self.tape)
        self.read_until(terminal, "tape> ")
        os.write(terminal, b"SELECT 'found ' || group_concat(name) FROM events;\n")
        self.read_until(terminal, "found web-0,web-1")
        os.write(terminal, b".quit\n")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_says_what_is_no_tape_before_it_opens(self):
        child, terminal = self.open_terminal("query", self.dir + "/none.tape")
        self.read_until(terminal, "No such file")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)


if __name__ == "__main__":
    unittest.main()
