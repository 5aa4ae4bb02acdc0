"""The pytest plug-in from its sources: what its tests say of mistakes, and that nothing that it started outlives pytest."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from roots import ROOT, TAPE

PROGRAM = os.environ.get("KUBETAPE", os.path.join(os.environ.get("KUBETAPE_BUILD", os.path.join(ROOT, "build")), "kubetape"))
PLUG_IN = os.path.join(ROOT, "tools", "testing", "pytest")
# Both in one process group, as a shell and its children are; the replay ends only if the command does.
STUBBORN = "trap '' TERM INT; echo $$ > pid; while :; do sleep 1; done"
BY_COMMAND = f"def test_it(kubetape_run):\n    kubetape_run({TAPE!r}, ['sh', '-c', {{!r}}])\n"
BY_CLIENT = """
import pathlib, time

def test_it(kubetape_replay):
    first, second = kubetape_replay({tape!r}, {option!r}, {value!r}), kubetape_replay({tape!r}, {option!r}, {value!r})
    pathlib.Path("ports").write_text(first.url + " " + second.url)
    {then}
"""


def is_alive(pid):
    """A zombie, which waits for somebody else, has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def serves(url):
    host, port = re.search(r"//(.*):(\d+)", url).groups()
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


class PlugIn(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kubetape-pytest-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = {**os.environ, "KUBETAPE": PROGRAM, "PYTHONPATH": PLUG_IN, "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, text, ini=""):
        for name, content in (("test_it.py", text), ("pytest.ini", f"[pytest]\n{ini}\n")):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        process = subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-p", "pytest_kubetape", "-p", "no:cacheprovider", "--color=no"],
                                   cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self, text, ini=""):
        return self.start(text, ini).communicate(timeout=120)[0]

    def wait_for(self, what, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, f"expected {what}")
            time.sleep(0.02)

    def text(self, name):
        """What a file of the test has, once it is there and written."""
        def read():
            path = os.path.join(self.folder, name)
            return open(path, encoding="utf-8").read() if os.path.exists(path) else ""  # pylint: disable=consider-using-with
        self.wait_for(f"a file {name}", read)
        return read()

    def forget(self, name):
        if os.path.exists(os.path.join(self.folder, name)):
            os.remove(os.path.join(self.folder, name))

    def has_ended(self, pid):
        self.wait_for(f"the end of the command {pid}", lambda: not is_alive(pid))


class Ends(PlugIn):

    def test_a_replay_and_its_command_end_however_pytest_alone_ends(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=number.name):
                self.forget("pid")
                process = self.start(BY_COMMAND.format(STUBBORN))
                pid = int(self.text("pid"))
                self.addCleanup(lambda pid=pid: is_alive(pid) and os.kill(pid, signal.SIGKILL))
                process.send_signal(number)
                self.has_ended(pid)

    def test_a_command_that_ignores_its_end_is_killed_when_its_time_is_over(self):
        process = self.start(BY_COMMAND.format(STUBBORN), "kubetape_timeout = 1")
        pid = int(self.text("pid"))
        self.addCleanup(lambda: is_alive(pid) and os.kill(pid, signal.SIGKILL))
        self.assertIn("no end within 1 s", process.communicate(timeout=60)[0])
        self.has_ended(pid)

    def test_a_replay_that_fails_at_its_end_keeps_none_of_the_others_alive(self):
        gap = {"tape": TAPE, "option": "--gap", "value": "+1s,1ev,fin,compact,pods"}
        output = self.said(BY_CLIENT.format(**gap, then="pass"))
        self.assertEqual(len(re.findall("^E .*kubetape replay: exit code 3$", output, re.MULTILINE)), 2, output)
        for url in self.text("ports").split():
            self.wait_for(f"the end of {url}", lambda url=url: not serves(url))

    def test_replays_that_serve_end_with_a_pytest_that_is_killed(self):
        process = self.start(BY_CLIENT.format(tape=TAPE, option="--speed", value="1", then="time.sleep(1000)"))
        urls = self.text("ports").split()
        self.assertEqual([serves(url) for url in urls], [True, True])
        process.kill()
        for url in urls:
            self.wait_for(f"the end of {url}", lambda url=url: not serves(url))


class Mistakes(PlugIn):

    def test_a_command_that_is_no_list_is_refused(self):
        for command in ("true", "", []):
            output = self.said(f"def test_it(kubetape_run):\n    kubetape_run({TAPE!r}, {command!r})\n")
            self.assertIn(f"needs a command as a list of words, as ['./controller', '-v'], found {command!r}", output)

    def test_a_command_that_a_signal_ended_is_told_by_its_signal(self):
        self.assertIn("exit code 139: the command was ended by SIGSEGV", self.said(BY_COMMAND.format("kill -SEGV $$")))
        self.assertRegex(self.said(BY_COMMAND.format("exit 7")), r"exit code 7\n")

    def test_what_is_wrong_in_pytest_ini_is_one_sentence(self):
        for ini, sentence in (("kubetape_timeout = abc", "ERROR: kubetape_timeout = abc: expected a number of seconds"),
                              ("kubetape_options = --speed 'max", "ERROR: kubetape_options = --speed 'max: cannot be split into words: No closing quotation")):
            self.assertEqual(self.said("def test_it(): pass", ini).strip(), sentence)

    def test_a_replay_that_says_nothing_fails_when_its_time_is_over(self):
        silent = os.path.join(self.folder, "silent")
        with open(silent, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(silent, 0o755)
        self.env["KUBETAPE"] = silent
        output = self.said(f"def test_it(kubetape_replay):\n    kubetape_replay({TAPE!r})\n", "kubetape_timeout = 1")
        self.assertIn("it does not serve within 1 s", output)

    def test_a_file_that_is_no_program_is_one_sentence(self):
        self.env["KUBETAPE"] = os.path.join(self.folder, "empty")
        with open(self.env["KUBETAPE"], "w", encoding="utf-8"):
            os.chmod(self.env["KUBETAPE"], 0o755)
        output = self.said(BY_COMMAND.format("true"))
        self.assertIn(f"cannot start '{self.env['KUBETAPE']}': Exec format error; KUBETAPE has to name the program kubetape", output)
        self.assertNotIn("Traceback", output)
        self.assertNotIn("subprocess.py", output)


if __name__ == "__main__":
    unittest.main()
