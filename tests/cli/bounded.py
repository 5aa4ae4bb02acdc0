"""Running the program on a tape that may be anything: it must end by itself, in good order and within bounds."""
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from tapes import BUILD, KUBETAPE

MEMORY_MB = 512  # of any reader, whatever the tape claims
TIME_S = 120     # far more than any needs: for what hangs, on a machine that has much else to do
SANITIZED = any(name in BUILD.split(os.sep) for name in ("asan", "tsan"))
BULK = 8 if SANITIZED else 1  # large numbers are divided by it: under a sanitizer nobody looks at the memory that they take
REPORT = re.compile(r"^.*(?:runtime error|AddressSanitizer|LeakSanitizer|ThreadSanitizer|Assertion|out of memory).*$", re.MULTILINE)


class Run:
    """What a command did: returncode, out, err, memory_mb, seconds, problem (None, or what is wrong with it)."""

    def __init__(self, args, tape_dir=None, codes=(0, 1, 2, 3), time_s=TIME_S, memory_mb=MEMORY_MB, user=None):
        self.args, began = [str(a) for a in args], time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([KUBETAPE, *self.args], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       cwd=tape_dir, start_new_session=True, user=user)
            status, usage, timed_out = self._wait(process.pid, time_s)
            self.out, self.err = self._text(out), self._text(err)
        self.returncode = process.returncode = os.waitstatus_to_exitcode(status)
        self.memory_mb = usage.ru_maxrss / 1024
        self.seconds = time.monotonic() - began
        self.problem = self._judge(timed_out, codes, time_s, memory_mb)

    @staticmethod
    def _wait(pid, time_s):
        timed_out = threading.Event()

        def end():
            timed_out.set()
            os.killpg(pid, signal.SIGKILL)
        timer = threading.Timer(time_s, end)
        timer.start()
        _, status, usage = os.wait4(pid, 0)
        timer.cancel()
        return status, usage, timed_out.is_set()

    @staticmethod
    def _text(file):
        file.seek(0)
        return file.read(64 << 20).decode(errors="replace")

    def _judge(self, timed_out, codes, time_s, memory_mb):
        report = REPORT.search(self.err)
        if timed_out:
            return f"took longer than {time_s} s"
        if report:
            return report.group(0)[:300]
        if self.returncode not in codes:
            return f"ended with {self.returncode}: {self.err[-300:]}"
        if not SANITIZED and self.memory_mb > memory_mb:
            return f"took {self.memory_mb:.0f} MB"
        return None


def readers(tape, scratch):
    """The commands that read a tape, each to its end."""
    replay = ["replay", tape, "--plain", "--speed", "max", "--wait-watchers", "0"]
    return [["info", tape], ["verify", tape], ["verify", "--quick", tape],
            ["recover", tape, "-o", os.path.join(scratch, "recovered.tape")],
            ["query", tape, "SELECT count(*), sum(length(object)), max(rv), max(uid) FROM events"],
            ["query", tape, "SELECT (SELECT count(*) FROM documents WHERE length(body) > 1), (SELECT count(*) FROM marks), "
             "(SELECT count(*) FROM missed), (SELECT count(*) FROM segments), (SELECT count(*) FROM streams)"],
            ["get", tape, "pods", "-A"], ["log", tape, "configmaps"], ["gaps", tape],
            ["diff-state", tape, "start", "end"],
            ["export", tape, "--table", "all", "-o", os.devnull], [*replay, "--", "true"]]


def remakers(tape, scratch):
    """Those that make another tape of it."""
    sound = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes", "golden", "gaps.tape")
    return [["cut", tape, "-o", os.path.join(scratch, "cut.tape")],
            ["cut", tape, "--from", "3", "--until", "-1s", "-n", "shop", "-n", "default", "-o", os.path.join(scratch, "cut.ktape")],
            ["cut", tape, "--where", "seq % 3", "-o", os.path.join(scratch, "part.tape")],
            ["anonymize", tape, "-o", os.path.join(scratch, "anonymized.tape")],
            ["merge", tape, sound, "--same-cluster", "-o", os.path.join(scratch, "merged.tape")],
            ["merge", sound, tape, "-o", os.path.join(scratch, "merged.ktape")]]


def rarer_readers(tape, scratch):
    """Others, which make something of the tape, or show it in another way."""
    return [["repack", tape, "-o", os.path.join(scratch, "repacked.tape")], *remakers(tape, scratch), ["gaps", tape, "--json"], ["info", tape, "--json"],
            ["log", tape, "pods/web-0", "-n", "shop", "--all-fields"], ["get", tape, "crontabs", "-A", "-o", "yaml", "--at", "+5s"],
            ["events", tape, "--all", "-o", "wide"], ["events", tape, "-o", "json"], ["report", tape], ["why", tape, "pods/web-0", "-n", "shop"],
            ["pin", tape, "--from", "start", "--name", "all"],
            ["export", tape, "--format", "trace", "-o", os.devnull], ["export", tape, "--format", "csv", "-o", os.devnull],
            ["export", tape, "--format", "svg", "-o", os.devnull], ["export", tape, "--format", "html", "-o", os.devnull],
            ["query", tape, "SELECT * FROM changes", "--format", "ndjson"], ["query", tape, "SELECT * FROM gaps JOIN missed ON missed.gap = gaps.id"],
            ["query", tape, "SELECT * FROM coverage, objects"], ["query", tape, "SELECT * FROM connections ORDER BY begin DESC"],
            ["query", tape, "SELECT * FROM events WHERE seq % 3 = 0 AND rv > '5' ORDER BY time DESC"],
            ["query", tape, "SELECT * FROM events WHERE uid = (SELECT max(uid) FROM events)"]]
