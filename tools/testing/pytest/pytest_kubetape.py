"""Fixtures that hand a tape of kubetape to tests: kubetape_run and kubetape_replay, see README.md."""
import os
import re
import shlex
import shutil
import subprocess

import pytest


def pytest_addoption(parser):
    parser.addini("kubetape_options", "options of every replay", default="")
    parser.addini("kubetape_timeout", "how long a replay may take, in seconds", default="300")


class Kubetape:
    """The program, and what pytest.ini says of it."""

    def __init__(self, config, folder):
        self.program = os.environ.get("KUBETAPE", "kubetape")
        self.options = shlex.split(config.getini("kubetape_options"))
        self.timeout_s = float(config.getini("kubetape_timeout"))
        self.folder = folder
        self.count = 0

    def path(self, suffix):
        """A new file of this test."""
        self.count += 1
        return str(self.folder / f"kubetape-{self.count}{suffix}")

    def start(self, tape, options, command=(), **more):
        words = [self.program, "replay", str(tape), *self.options, *map(str, options)]
        if not shutil.which(self.program):
            pytest.fail(f"there is no '{self.program}' on the PATH: install kubetape, or name the program in KUBETAPE", pytrace=False)
        return subprocess.Popen(words + (["--", *map(str, command)] if command else []), stdin=subprocess.DEVNULL,
                                text=True, **more)

    def finish(self, process):
        """What it said until its end; fails the test if there is none."""
        try:
            return process.communicate(timeout=self.timeout_s)[0]
        except subprocess.TimeoutExpired:
            process.terminate()  # the replay passes it on to its command
            said = process.communicate()[0]
            return pytest.fail(f"kubetape replay: no end within {self.timeout_s:g} s:\n{said}")


class Run:
    """A replay that is over: `output` of the command and of the replay, `run`, the path of its run file."""

    def __init__(self, output, run):
        self.output, self.run = output, run


class Replay:
    """A replay that serves: `kubeconfig`, `url`."""

    def __init__(self, kubetape, tape, options):
        self.kubetape = kubetape
        self.kubeconfig = kubetape.path(".kubeconfig")
        self.log_path = kubetape.path(".log")
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = kubetape.start(tape, ["--kubeconfig", self.kubeconfig, *options], stdout=subprocess.PIPE, stderr=log)
        first = self.process.stdout.readline()
        serving = re.match(r"serving .* at (\S+)", first)
        if not serving:
            self.process.communicate()
            pytest.fail(f"kubetape replay does not serve: {first}{self.log()}")
        self.url = serving[1]

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def stop(self):
        """Ends it. Fails the test if the replay found something. Once is enough."""
        if self.process.returncode is not None:
            return
        self.process.terminate()
        said = self.kubetape.finish(self.process)
        if self.process.returncode:
            pytest.fail(f"kubetape replay: exit code {self.process.returncode}\n{said}{self.log()}")


@pytest.fixture
def kubetape_run(request, tmp_path):
    """kubetape_run(TAPE, COMMAND, OPTION...) runs a command against a replay of a tape; see README.md."""
    kubetape = Kubetape(request.config, tmp_path)

    def run(tape, command, *options):
        path = kubetape.path(".run")
        process = kubetape.start(tape, ["--run", path, *options], command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = kubetape.finish(process)
        if process.returncode:
            pytest.fail(f"kubetape replay: exit code {process.returncode}\n{said}")
        return Run(said, path)

    return run


@pytest.fixture
def kubetape_replay(request, tmp_path):
    """kubetape_replay(TAPE, OPTION...) serves a tape until the test is over; see README.md."""
    kubetape = Kubetape(request.config, tmp_path)
    replays = []

    def serve(tape, *options):
        replays.append(Replay(kubetape, tape, options))
        return replays[-1]

    yield serve
    for replay in replays:
        replay.stop()
