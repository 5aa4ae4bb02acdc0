"""Fixtures that hand a tape of kubetape to tests: kubetape_run and kubetape_replay, see README.md."""
import contextlib
import os
import re
import select
import shlex
import shutil
import signal
import subprocess

import pytest

GRACE_S = 10
# Ends a group of processes when its stdin ends without a word: then pytest has ended without a teardown, as by SIGKILL.
WATCH = f"""read -r word && exit
kill -s TERM -- "-$1"
n=0
while kill -s 0 -- "-$1" && [ $((n += 1)) -le {GRACE_S} ]; do sleep 1; done
kill -s KILL -- "-$1"
"""


def pytest_addoption(parser):
    parser.addini("kubetape_options", "options of every replay", default="")
    parser.addini("kubetape_timeout", "how long a replay may take, in seconds", default="300")


def pytest_configure(config):
    options_of(config)
    timeout_of(config)


def options_of(config):
    words = config.getini("kubetape_options")
    try:
        return shlex.split(words)
    except ValueError as error:
        raise pytest.UsageError(f"kubetape_options = {words}: cannot be split into words: {error}") from None


def timeout_of(config):
    seconds = config.getini("kubetape_timeout")
    if not re.fullmatch(r"\d+(\.\d+)?", seconds.strip()):
        raise pytest.UsageError(f"kubetape_timeout = {seconds}: expected a number of seconds")
    return float(seconds)


def words_of(command):
    """Python takes a str for a list of its letters."""
    if not isinstance(command, (list, tuple)) or not command:
        raise TypeError(f"kubetape_run needs a command as a list of words, as ['./controller', '-v'], found {command!r}")
    return list(map(str, command))


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ending(code, is_of_command=False):
    """What an exit code, which is not 0, says of the replay or of its command."""
    if code < 0:
        return f"kubetape replay: ended by {signal_name(-code)}"
    if is_of_command and 128 < code < 128 + signal.NSIG:
        return f"kubetape replay: exit code {code}: the command was ended by {signal_name(code - 128)}"
    return f"kubetape replay: exit code {code}"


def kill_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def watch(process):
    return subprocess.Popen(["sh", "-c", WATCH, "sh", str(process.pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, text=True, start_new_session=True)


def halt(process):
    """Ends a replay, which passes that on to its command, and kills what is left of both after a while. Returns what it said."""
    try:
        process.terminate()
        return process.communicate(timeout=GRACE_S)[0]
    except subprocess.TimeoutExpired:
        kill_group(process)
        return process.communicate()[0]
    finally:
        kill_group(process)


def end(process, watcher):
    try:
        if process.poll() is None:
            halt(process)
    finally:
        watcher.communicate("over\n")


class Kubetape(contextlib.ExitStack):
    """The program, and what pytest.ini says of it. It ends what it has started when it is closed."""

    def __init__(self, config, folder):
        super().__init__()
        self.program = os.environ.get("KUBETAPE", "kubetape")
        self.options = options_of(config)
        self.timeout_s = timeout_of(config)
        self.folder = folder
        self.count = 0

    def path(self, suffix):
        """A new file of this test."""
        self.count += 1
        return str(self.folder / f"kubetape-{self.count}{suffix}")

    def start(self, tape, options, command=(), **more):
        words = [self.program, "replay", str(tape), *self.options, *map(str, options)]
        if not shutil.which(self.program):
            pytest.fail(f"there is no program '{self.program}' on the PATH: install kubetape, or name the program in KUBETAPE", pytrace=False)
        try:
            process = subprocess.Popen(words + (["--", *command] if command else []), stdin=subprocess.DEVNULL, text=True,
                                       errors="backslashreplace", start_new_session=True, **more)
        except OSError as error:
            pytest.fail(f"cannot start '{self.program}': {error.strerror}; KUBETAPE has to name the program kubetape", pytrace=False)
        self.callback(end, process, watch(process))
        return process

    def finish(self, process):
        """What it said until its end; fails the test if there is none."""
        try:
            return process.communicate(timeout=self.timeout_s)[0]
        except subprocess.TimeoutExpired:
            return pytest.fail(f"kubetape replay: no end within {self.timeout_s:g} s:\n{halt(process)}")


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
        first = self.first_line()
        serving = re.match(r"serving .* at (\S+)", first)
        if not serving:
            halt(self.process)
            pytest.fail(f"kubetape replay does not serve: {first}{self.log()}")
        self.url = serving[1]

    def first_line(self):
        if not select.select([self.process.stdout], [], [], self.kubetape.timeout_s)[0]:
            halt(self.process)
            pytest.fail(f"kubetape replay: it does not serve within {self.kubetape.timeout_s:g} s\n{self.log()}")
        return self.process.stdout.readline()

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
            pytest.fail(f"{ending(self.process.returncode)}\n{said}{self.log()}")


def stop_all(replays):
    """Fails the test with what any of them found."""
    found = []
    for replay in replays:
        try:
            replay.stop()
        except pytest.fail.Exception as failure:
            found.append(failure.msg)
    if found:
        pytest.fail("\n".join(found))


@pytest.fixture
def kubetape_run(request, tmp_path):
    """kubetape_run(TAPE, COMMAND, OPTION...) runs a command against a replay of a tape; see README.md."""

    def run(tape, command, *options):
        words, path = words_of(command), kubetape.path(".run")
        process = kubetape.start(tape, ["--run", path, *options], words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = kubetape.finish(process)
        if process.returncode:
            pytest.fail(f"{ending(process.returncode, is_of_command=True)}\n{said}")
        return Run(said, path)

    with Kubetape(request.config, tmp_path) as kubetape:
        yield run


@pytest.fixture
def kubetape_replay(request, tmp_path):
    """kubetape_replay(TAPE, OPTION...) serves a tape until the test is over; see README.md."""
    replays = []

    def serve(tape, *options):
        replays.append(Replay(kubetape, tape, options))
        return replays[-1]

    with Kubetape(request.config, tmp_path) as kubetape:
        yield serve
        stop_all(replays)
