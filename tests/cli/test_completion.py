"""Completion: what the program offers, and what a real bash, zsh and fish make of it when the tab key is pressed.

The other shells and a kubectl that asks its plug-ins are used where they are found."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import kubectl
from tapes import BUILD, KUBETAPE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "tools", "completion")
PATIENCE_S = 60
# What the shells are told to do when C-x C-l is pressed: show the line that is being typed.
SHOW = {
    "bash": """bind -x '"\\C-x\\C-l": printf "<<%s>>\\n" "$READLINE_LINE"'\n""",
    "zsh": """show() { print -r -- "<<$BUFFER>>" }; zle -N show; bindkey '^X^L' show\n""",
}
LOAD = {
    "bash": f"source {SCRIPTS}/kubetape.bash\n",
    "zsh": f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D\n",
}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
# (typed, what stands there after the tab key)
TYPED = [
    ("kubetape que", "kubetape query "),
    ("kubetape help inf", "kubetape help info "),
    ("kubetape query x", "kubetape query x.tape "),
    ("kubetape query a", "kubetape query a\\ b.tape "),
    ("kubetape query \"a", "kubetape query \"a b.tape\" "),
    ("kubetape query fol", "kubetape query folder/"),
    ("kubetape query folder/", "kubetape query folder/y.tape "),
    ("kubetape query ~/fol", "kubetape query ~/folder/"),
    ("kubetape query x.tape --form", "kubetape query x.tape --format "),
    ("kubetape query x.tape --format=nd", "kubetape query x.tape --format=ndjson "),
    ("kubetape query x.tape --format nd", "kubetape query x.tape --format ndjson "),
    ("kubetape query x.tape --file odd", "kubetape query x.tape --file odd\\$.sql "),
    ("kubetape query x.tape --file=odd", "kubetape query x.tape --file=odd\\$.sql "),
    ("kubetape info -- fol", "kubetape info -- folder/"),
]


class InAFolder(unittest.TestCase):
    """A folder with two tapes, one of them with a blank in its name, a folder with a third, and a file."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="kubetape-complete-")
        self.addCleanup(shutil.rmtree, self.dir)
        for name in ("a b.tape", "x.tape", "folder/y.tape"):
            os.makedirs(os.path.join(self.dir, name))
        with open(os.path.join(self.dir, "odd$.sql"), "w", encoding="utf-8"):
            pass
        self.env = {**os.environ, "PATH": BUILD + os.pathsep + os.environ["PATH"], "HOME": self.dir, "TERM": "dumb"}

    def run_in_folder(self, *command, **more):
        return subprocess.run(command, cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE_S, **more)


class Candidates(InAFolder):
    """What `kubetape __complete WORD...` prints."""

    def complete(self, *words):
        """The candidates without their explanations, sorted, and the directive."""
        done = self.run_in_folder(KUBETAPE, "__complete", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        *lines, directive = done.stdout.splitlines()
        return sorted(line.split("\t")[0] for line in lines), directive

    def test_the_first_word_is_a_command(self):
        names = self.run_in_folder(KUBETAPE, "help", "--format=names").stdout.split()
        self.assertEqual(self.complete(""), (sorted(names), ":4"))
        self.assertEqual(self.complete("inf"), (["info"], ":4"))
        self.assertEqual(self.complete("--v"), (["--version"], ":4"))

    def test_an_operand_that_is_a_tape_is_completed_by_tapes_and_folders(self):
        self.assertEqual(self.complete("query", ""), (["a b.tape", "folder/", "x.tape"], ":6"))
        self.assertEqual(self.complete("query", "x"), (["x.tape"], ":4"))
        self.assertEqual(self.complete("query", "folder/"), (["folder/y.tape"], ":4"))
        self.assertEqual(self.complete("record", "-o", "x"), (["x.tape"], ":4"))

    def test_hidden_files_are_offered_only_when_asked_for(self):
        os.makedirs(os.path.join(self.dir, ".old.tape"))
        self.assertNotIn(".old.tape", self.complete("query", "")[0])
        self.assertEqual(self.complete("query", "."), ([".old.tape"], ":4"))

    def test_an_operand_behind_the_last_one_has_no_candidates(self):
        self.assertEqual(self.complete("query", "x.tape", ""), ([], ":4"))
        self.assertEqual(self.complete("info", "x.tape", ""), ([], ":4"))

    def test_a_value_that_is_a_file_is_completed_by_any_file(self):
        self.assertEqual(self.complete("query", "--file", "o"), (["odd$.sql"], ":4"))
        self.assertEqual(self.complete("query", "-f", "o"), (["odd$.sql"], ":4"))
        self.assertEqual(self.complete("query", "-fo"), (["-fodd$.sql"], ":4"))
        self.assertEqual(self.complete("query", "--file=f"), (["--file=folder/"], ":6"))

    def test_a_choice_is_completed_by_its_words_in_both_forms(self):
        self.assertEqual(self.complete("query", "--format", "")[0], ["csv", "json", "ndjson", "table"])
        self.assertEqual(self.complete("query", "--format=t")[0], ["--format=table"])
        self.assertEqual(self.complete("record", "--secrets=")[0], ["--secrets=digest", "--secrets=keep"])

    def test_options_that_were_given_are_not_offered_again_but_for_those_that_may_be_repeated(self):
        offered = self.complete("record", "-o", "x.tape", "--all", "-n", "a", "--context=c", "--")[0]
        self.assertNotIn("--output", offered)
        self.assertNotIn("--all", offered)
        self.assertNotIn("--context", offered)
        self.assertIn("--namespace", offered)
        self.assertIn("--help", offered)

    def test_the_value_of_an_option_is_not_taken_for_an_operand(self):
        self.assertEqual(self.complete("query", "--format", "json", "x"), (["x.tape"], ":4"))
        self.assertEqual(self.complete("query", "-fodd$.sql", "x"), (["x.tape"], ":4"))

    def test_options_may_stand_before_the_command(self):
        self.assertEqual(self.complete("-n", "shop", "get", "x"), (["x.tape"], ":4"))
        self.assertEqual(self.complete("--output", "json", "get", "--sel"), (["--selector"], ":4"))
        self.assertEqual(self.complete("-n", "shop", "query", "x"), ([], ":4"))

    def test_behind_two_dashes_the_shell_is_asked_to_complete(self):
        self.assertEqual(self.complete("info", "--", "ls", "-"), ([], ":0"))

    def test_nothing_is_offered_for_what_nobody_knows(self):
        self.assertEqual(self.complete("rewind", ""), ([], ":4"))
        self.assertEqual(self.complete("query", "no/such/folder/"), ([], ":4"))
        self.assertEqual(self.complete("record", "--context", ""), ([], ":4"))

    def test_a_name_that_would_break_the_answer_is_left_out(self):
        os.makedirs(os.path.join(self.dir, "two\nlines.tape"))
        self.assertEqual(self.complete("query", "t"), ([], ":4"))


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell, folder, env):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(shell[0], shell, env)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern):
        """The first match of a pattern in what the terminal shows from now on."""
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            if time.monotonic() > end or not select.select([self.fd], [], [], PATIENCE_S)[0]:
                raise TimeoutError(f"no {pattern} within {PATIENCE_S} s: {self.seen!r}")
            self.seen += os.read(self.fd, 65536)
        self.seen = self.seen[found.end():]
        return found

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class Shells(InAFolder):
    def check(self, shell):
        terminal = Terminal(START[shell], self.dir, self.env)
        self.addCleanup(terminal.close)
        terminal.type(LOAD[shell] + SHOW[shell] + "echo rea''dy\n")
        terminal.wait_for(rb"ready\r")
        for typed, expected in TYPED:
            with self.subTest(shell=shell, typed=typed):
                terminal.type(typed + "\t\x18\x0c")
                shown = terminal.wait_for(rb"<<(.*?)>>").group(1).decode()
                terminal.type("\x15")  # C-u empties the line
                self.assertEqual(shown, expected)

    def test_bash_completes_commands_options_choices_tapes_and_files(self):
        self.check("bash")

    def test_bash_completes_in_the_middle_of_a_line(self):
        terminal = Terminal(START["bash"], self.dir, self.env)
        self.addCleanup(terminal.close)
        terminal.type(LOAD["bash"] + SHOW["bash"] + "echo rea''dy\n")
        terminal.wait_for(rb"ready\r")
        terminal.type("kubetape query x.tape --format=nd --json" + "\x02" * len(" --json") + "\t\x18\x0c")
        shown = terminal.wait_for(rb"<<(.*?)>>").group(1).decode()
        self.assertEqual(shown, "kubetape query x.tape --format=ndjson --json")

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_zsh_completes_commands_options_choices_tapes_and_files(self):
        self.check("zsh")

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_completes_commands_options_choices_tapes_and_files(self):
        script = f"source {SCRIPTS}/kubetape.fish\n"
        for line, expected in (
            ("kubetape que", ["query"]),
            ("kubetape query x", ["x.tape"]),
            ("kubetape query folder/", ["folder/y.tape"]),
            ("kubetape query x.tape --form", ["--format"]),
            ("kubetape query x.tape --format=nd", ["--format=ndjson"]),
            ("kubetape query x.tape --file=odd", ["--file=odd$.sql"]),
            ("kubetape info -- fol", ["folder/"]),
        ):
            with self.subTest(line=line):
                done = self.run_in_folder("fish", "-N", "-c", script + f"complete -C '{line}'")
                self.assertEqual(done.stderr, "")
                self.assertEqual([c.split("\t")[0] for c in done.stdout.splitlines()], expected)

    def test_the_scripts_are_without_syntax_errors(self):
        for shell, script in (("bash", "kubetape.bash"), ("zsh", "_kubetape"), ("fish", "kubetape.fish")):
            if shutil.which(shell):
                with self.subTest(shell=shell):
                    done = self.run_in_folder(shell, "-n", os.path.join(SCRIPTS, script))
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Kubectl(InAFolder):
    @unittest.skipUnless(kubectl.minor(), "no kubectl here")
    def test_kubectl_finds_the_plugin(self):
        done = self.run_in_folder("kubectl", "tape", "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.run_in_folder(KUBETAPE, "--version").stdout)

    @unittest.skipUnless(kubectl.minor() >= 26, "no kubectl here that asks its plug-ins (1.26 does)")
    def test_kubectl_completes_the_plugins_command_line(self):
        for words, expected in ((["que"], ["query\task a tape in SQL", ":4"]),
                                (["query", "x.tape", "--format=nd"], ["--format=ndjson", ":4"]),
                                (["query", "fol"], ["folder/", ":6"])):
            with self.subTest(words=words):
                done = self.run_in_folder("kubectl", "__complete", "tape", *words)
                self.assertEqual(done.stdout.splitlines()[:2], expected)


if __name__ == "__main__":
    unittest.main()
