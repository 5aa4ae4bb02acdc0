"""Child processes that are known by pid *and* start time, so that a recycled pid is never signalled."""

import os
import re
import signal
import subprocess
import time

from lib import wait


def start_time(pid):
    """The start time of a live process in clock ticks since boot, None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def resident_mb(pid):
    """Resident memory of a process in MB, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) >> 10
    except OSError:
        pass
    return 0


def peak_mb(pid):
    """The most resident memory that a process ever had, in MB. Not what wait4 tells of an ended child: that begins
    with the memory of the parent it was forked from."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return next((int(line.split()[1]) >> 10 for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def spawn_detached(args, log, env=None):
    """Start a process in a session of its own, output to a log file; returns its record {pid, start}."""
    with open(log, "ab") as out:
        child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env,
            start_new_session=True)
    return {"pid": child.pid, "start": start_time(child.pid)}


def alive(record):
    _reap(record["pid"])
    return record["start"] is not None and start_time(record["pid"]) == record["start"]


def _reap(pid):
    """Collect an ended child; one that an earlier invocation started is not ours to collect."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def stop(record, grace_s=10.0, sig=signal.SIGTERM):
    """Signal a process, wait for it to be gone, SIGKILL after the grace time. Returns the seconds it took."""
    began = time.monotonic()
    for use, patience in ((sig, grace_s), (signal.SIGKILL, wait.PATIENCE_S)):
        if not alive(record):
            break
        try:
            os.kill(record["pid"], use)
            wait.until(f"end of process {record['pid']}", lambda: not alive(record), patience, 0.02)
        except ProcessLookupError:
            break
        except wait.Timeout:
            if use == signal.SIGKILL:
                raise
    return time.monotonic() - began


def tail(path, lines=15):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return "".join(f.readlines()[-lines:])
    except OSError:
        return ""


class Child:
    """A program under test: output in files NAME.out and NAME.err of a folder, ended by a signal, its exit code
    and what it used kept."""

    def __init__(self, args, folder, name, env=None, stdin=os.devnull):
        self.args = args
        self.name = name
        self.files = {end: os.path.join(folder, f"{name}.{end}") for end in ("out", "err")}
        with open(stdin, "rb") as words, open(self.files["out"], "wb") as out, open(self.files["err"], "wb") as err:
            self._popen = subprocess.Popen(args, stdin=words, stdout=out, stderr=err,
                env={**os.environ, **(env or {})})
        self.exit_code = None
        self.cpu_s = 0.0
        self.peak_mb = 0

    @property
    def pid(self):
        return self._popen.pid

    def text(self, end):
        with open(self.files[end], encoding="utf-8", errors="replace") as f:
            return f.read()

    def running(self):
        """Whether it still runs; collects it when it does not."""
        if self.exit_code is None:
            pid, status, usage = os.wait4(self._popen.pid, os.WNOHANG)
            if pid:
                self.exit_code = self._popen.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = usage.ru_utime + usage.ru_stime
        return self.exit_code is None

    def wait_for(self, pattern, end="err", deadline_s=wait.PATIENCE_S):
        """Wait until the output has a match; an early end of the program is an error. Returns the match."""

        def look():
            running = self.running()
            found = re.search(pattern, self.text(end), re.MULTILINE)
            if not found and not running:
                raise RuntimeError(f"{self.name} ended with exit code {self.exit_code} before it said "
                    f"'{pattern}': {tail(self.files['err'])}")
            return found

        return wait.until(f"'{pattern}' from {self.name}", look, deadline_s, 0.05, lambda: tail(self.files["err"]))

    def wait_end(self, deadline_s=wait.PATIENCE_S):
        """Wait for it to end by itself; returns the exit code."""
        wait.until(f"end of {self.name}", lambda: not self.running(), deadline_s, 0.02,
            lambda: tail(self.files["err"]))
        return self.exit_code

    def stop(self, sig=signal.SIGTERM, deadline_s=wait.PATIENCE_S):
        """Signal it and return its exit code. One that does not end in time is killed, which is an error."""
        if self.running():
            self.peak_mb = peak_mb(self._popen.pid)
            self._popen.send_signal(sig)
        try:
            return self.wait_end(deadline_s)
        except wait.Timeout:
            self.kill()
            raise

    def signal(self, sig):
        if self.running():
            self._popen.send_signal(sig)

    def kill(self):
        if self.running():
            self._popen.kill()
            self.wait_end()
