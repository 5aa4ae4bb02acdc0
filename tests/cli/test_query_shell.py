"""kubetape query on a terminal: the shell, and its commands in texts from elsewhere."""
import os
import pty
import re
import select
import time
import unittest

from tapes import KUBETAPE, TapeTest, event, pod

SLOW = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t;\n"


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, test, env, *args):
        self.test, self.seen = test, ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(KUBETAPE, [KUBETAPE, *args], dict(os.environ, **env))
        test.addCleanup(os.close, self.fd)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text, patience_s=60):
        """Reads until the text has come; what came before it is then forgotten, what came with it returned."""
        deadline = time.monotonic() + patience_s
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.5)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode()
                except OSError:
                    break
        self.test.assertIn(text, self.seen)
        before, self.seen = self.seen.split(text, 1)
        return before + text

    def ask(self, text, answer):
        self.type(text + "\n")
        return self.wait_for(answer)

    def leave(self):
        """Presses Ctrl-D; more than once where the editor was not there yet to see it."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.type("\x04")
            ended = time.monotonic() + 1
            while time.monotonic() < ended:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    return os.waitstatus_to_exitcode(status)
                if select.select([self.fd], [], [], 0.02)[0]:
                    try:
                        os.read(self.fd, 65536)
                    except OSError:
                        pass
        raise AssertionError("Ctrl-D does not leave")

    def leaves_with(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Shell(TapeTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10)), event(1, "ADDED", pod("web-1", "u2", 11))]

    def open_shell(self, tape=None, **env):
        return Terminal(self, dict({"TERM": "xterm", "HOME": self.dir, "XDG_STATE_HOME": ""}, **env), "query", tape or self.tape)

    def test_answers_statements_of_several_lines_and_goes_on_after_an_error(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.type("SELECT 'found ' ||\n")
        shell.wait_for("...> ")
        shell.ask(" group_concat(name) FROM events;", "found web-0,web-1")
        shell.ask("SELECT cats FROM events;", "no such column: cats")
        shell.ask(".cats", "there is no command '.cats'; see '.help'")
        shell.ask("DELETE FROM events;", "table events may not be modified")
        shell.ask("SELECT 6 * 7 AS n;", "42")
        shell.type(".quit\n")
        self.assertEqual(shell.leaves_with(), 0)

    def test_control_d_leaves(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        self.assertEqual(shell.leave(), 0)

    def test_control_c_drops_the_line_that_is_typed(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.type("SELECT 'gone'\n")
        shell.wait_for("...> ")
        shell.type("and gone\x03")
        shell.wait_for("^C")
        shell.wait_for("tape> ")
        shell.ask("SELECT 'still' || ' here';", "still here")
        shell.type(".quit\n")
        self.assertEqual(shell.leaves_with(), 0)

    def test_control_c_stops_the_statement_only_and_progress_is_shown_meanwhile(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.type(SLOW)
        shell.wait_for("(Ctrl-C stops)")
        shell.type("\x03")
        shell.wait_for("the statement was interrupted")
        shell.ask("SELECT 'still' || ' here';", "still here")
        shell.ask(".limit 50ms\n" + SLOW.strip(), "it took longer than 50ms")
        shell.type(".quit\n")
        self.assertEqual(shell.leaves_with(), 0)

    def test_progress_tells_how_much_of_a_table_was_walked(self):
        shell = self.open_shell("tests/tapes/rolling-update.tape")
        shell.wait_for("tape> ")
        shell.type("SELECT count(*) FROM events AS a, json_each(a.object) AS b, json_each(a.object) AS c, "
                   "json_each(a.object) AS d, json_each(a.object) AS e, json_each(a.object) AS f, json_each(a.object) AS g;\n")
        shown = shell.wait_for("(Ctrl-C stops)")
        self.assertRegex(shown, r"\r *\d+ % of events, ")
        shell.type("\x03")
        shell.wait_for("the statement was interrupted")
        self.assertEqual(shell.leave(), 0)

    def test_the_tab_key_completes_commands_tables_columns_and_words(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.type(".tab\t\n")
        shell.wait_for("one row for each thing that was delivered")
        shell.type("SEL\tcount(reso\t) AS n, 'x' || 'y' AS xy FROM eve\t;\n")
        shell.wait_for("xy")
        shell.wait_for("2  xy")
        shell.type(".quit\n")
        self.assertEqual(shell.leaves_with(), 0)

    def test_history_is_kept_for_the_next_time(self):
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.ask("SELECT 40 +\n2 AS answer;", "42")
        self.assertEqual(shell.leave(), 0)
        path = self.dir + "/.local/state/kubetape/query-history"
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        shell = self.open_shell()
        shell.wait_for("tape> ")
        shell.type("\x1b[A\n")
        shell.wait_for("42")
        self.assertEqual(shell.leave(), 0)
        quiet = self.open_shell(KUBETAPE_HISTORY="")
        quiet.wait_for("tape> ")
        quiet.type("\x1b[A\nSELECT 'nothing' || ' there';\n")
        quiet.wait_for("nothing there")
        self.assertEqual(quiet.leave(), 0)

    def test_says_what_is_no_tape_before_it_opens(self):
        shell = self.open_shell(self.dir + "/none.tape")
        shell.wait_for("No such file")
        self.assertEqual(shell.leaves_with(), 1)


class Commands(TapeTest):
    rows = Shell.rows

    def run_text(self, text, *args, code=0):
        done = self.run_tape("query", self.tape, *args, stdin=text)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_commands_work_in_texts_too(self):
        self.assertEqual(self.run_text(".mode csv\nSELECT seq, :who AS\nwho FROM events WHERE seq = 1;\n.quit\nSELECT 2;\n", "-p",
                                       "who=me"), "seq,who\n1,me\n")
        self.assertEqual(self.run_text(".mode csv;\n.param n=7\n\nSELECT :n, ';' AS s -- last\n"), ":n,s\n7,;\n")
        self.assertEqual(self.run_tape("query", self.tape, "SELECT 1 AS a; SELECT 2 AS b", "--format", "csv").stdout,
                         "a\n1\nb\n2\n")

    def test_every_command_of_the_help_exists_and_every_example_answers(self):
        helped = self.run_text(".help\n")
        commands = re.findall(r"^  (\.\w+)", helped, re.M)
        self.assertEqual(commands, [".help", ".tables", ".schema", ".mode", ".param", ".limit", ".timer", ".read", ".quit",
                                    ".exit"])
        examples = self.run_text(".help examples\n")
        self.assertGreaterEqual(examples.count("-- "), 8)
        self.tape = "tests/tapes/rolling-update.tape"
        statements = [line for line in examples.splitlines() if not line.startswith("--")]
        for statement in statements:
            if "missed" not in statement:
                self.assertTrue(self.query(statement), statement)
        self.assertIn("web", self.run_text(examples))

    def test_tables_and_their_columns(self):
        tables = [line.split()[0] for line in self.run_text(".tables\n").splitlines()]
        self.assertEqual(tables[:4], ["events", "objects", "changes", "audit"])
        for line in self.run_text(".tables\n").splitlines():
            self.assertGreater(len(line.split()), 3)
        self.assertEqual(self.run_text(".schema gaps\n").split()[:3], ["gaps", "gap", "INTEGER"])
        self.assertRegex(self.run_text(".schema\n"), r"objects\n(  .*\n)+.*  at_rv +only when asked for\n")
        self.assertIn("there is no table 'cats'", self.run_text(".schema cats\n", code=2))

    def test_files_are_read_and_wrong_operands_are_sentences(self):
        path = self.dir + "/q.sql"
        with open(path, "w") as f:
            f.write(".mode csv\nSELECT count(*) AS n FROM events;")
        self.assertEqual(self.run_text(f".read {path}\n"), "n\n2\n")
        self.assertEqual(self.run_tape("query", self.tape, "-f", path).stdout, "n\n2\n")
        with open(path, "w") as f:
            f.write(f".read {path}\n")
        self.assertIn("8 deep", self.run_text(f".read {path}\n", code=2))
        for text, sentence in [(".read", "wants the name of a file"), (".read /none", "cannot open '/none'"),
                               (".mode xml", "'.mode' wants one of table|json|ndjson|csv, found 'xml'"),
                               (".mode table|json", "wants one of"), (".limit soon", "bad duration 'soon'"),
                               (".timer", "wants on or off"), (".param x", "wants NAME=VALUE"), (".quit now", "takes nothing"),
                               (".help me", "knows only 'examples'"), (".", "there is no command '.'")]:
            done = self.run_tape("query", self.tape, stdin=text + "\n")
            self.assert_fails(done, done.returncode, sentence)
            self.assertIn(done.returncode, (1, 2))

    def test_timer_tells_how_long_it_took(self):
        done = self.run_tape("query", self.tape, stdin=".timer on\nSELECT 1;\n")
        self.assertRegex(done.stderr, r"^took \S+\n$")


if __name__ == "__main__":
    unittest.main()
