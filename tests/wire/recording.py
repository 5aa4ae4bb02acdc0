"""`kubetape record` as a child process, and questions to the tape it writes."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import unittest

from fake_apiserver import FakeApiserver
from waiting import PATIENCE_S, wait_for

KUBETAPE = os.environ.get("KUBETAPE", "build/kubetape")


def query(tape, sql):
    """Rows as dicts."""
    done = subprocess.run([KUBETAPE, "query", tape, sql, "--format", "json"], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode:
        raise AssertionError(f"query ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout or "[]")


def has_events(tape, count, where="1"):
    try:
        return query(tape, f"SELECT count(*) AS n FROM events WHERE {where}")[0]["n"] >= count
    except AssertionError:  # the tape is not there yet
        return False


def plain_rows(tape, sql):
    """Rows of a tape's plain tables, from all segments, as stock sqlite3 reads them."""
    rows = []
    for name in sorted(os.listdir(tape)):
        if name.endswith(".db"):
            with sqlite3.connect(f"file:{os.path.join(tape, name)}?mode=ro", uri=True) as db:
                rows += db.execute(sql).fetchall()
            db.close()
    return rows


class Recording:
    """Starts at once. Options are those of the command; --server and -o are added."""

    def __init__(self, tape, *arguments, server=None, env=None, before=()):
        self.tape = tape
        command = [*before, KUBETAPE, "record", "-o", tape, "--retry-delay", "20ms", *arguments]
        if server:
            command += ["--server", server]
        clean = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY") and k != "KUBECONFIG"}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                                        env={**clean, "HOME": "/nonexistent", **(env or {})})
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def stderr(self):
        return "\n".join(self.lines)

    def ready(self, streams=None, seconds=PATIENCE_S):
        def line():
            if self.process.poll() is not None:
                self.reader.join(PATIENCE_S)
                raise AssertionError(f"record ended with {self.process.returncode}: {self.stderr}")
            return next((x for x in self.lines if x.startswith("recording ")), None)

        found = wait_for(line, f"'recording N streams'; stderr: {self.stderr}", seconds)
        if streams is not None and found != f"recording {streams} streams":
            raise AssertionError(f"expected {streams} streams, found '{found}'")
        return self

    def wait(self, seconds=PATIENCE_S):
        code = self.process.wait(seconds)
        self.reader.join(PATIENCE_S)
        return code

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.wait()

    def kill(self):
        return self.stop(signal.SIGKILL)

    def query(self, sql):
        return query(self.tape, sql)

    def events(self, where="1"):
        """`TYPE name rv` of each event, with its origin when that is not the watch."""
        rows = self.query(f"SELECT type, name, rv, origin FROM events WHERE {where} ORDER BY seq")
        return [f"{r['type']} {r['name']} {r['rv']}" + ("" if r["origin"] == "watch" else f" {r['origin']}")
                for r in rows]

    def wait_events(self, count, where="1", seconds=PATIENCE_S):
        wait_for(lambda: has_events(self.tape, count, where), f"{count} events on the tape", seconds)
        return self.events(where)

    def ends(self, purpose="watch"):
        return [r["end_reason"] for r in self.query(
            f"SELECT end_reason FROM connections WHERE purpose='{purpose}' ORDER BY connection")]


def is_sanitized():
    return any(word in os.environ.get("KUBETAPE_BUILD", "") for word in ("asan", "tsan"))


def preload(folder, name):
    """Builds tests/wire/NAME.c as a library to be loaded into the recorder; returns its environment."""
    if is_sanitized():
        raise unittest.SkipTest("a sanitizer wants to be loaded first")
    library = os.path.join(folder, name + ".so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": library}


class RecordTest(unittest.TestCase):
    """A fake API server with pods, an empty folder, and recordings that never outlive the test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kubetape-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tape = os.path.join(self.folder, "x.tape")
        self.api = FakeApiserver()
        self.pods = self.api.add("pods", "Pod", short_names=["po"])
        self.recordings = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        self.api.stopping.set()
        for recording in self.recordings:
            if recording.process.poll() is None:
                recording.process.kill()
            recording.process.wait()
            recording.reader.join(PATIENCE_S)
            recording.process.stderr.close()
        if self.api.listener:
            self.api.__exit__()

    def serve(self):
        if not self.api.listener:
            self.api.listen()
        return self.api.url

    def record(self, *arguments, **options):
        if "server" not in options:
            options["server"] = self.serve()
        arguments = arguments or ["pods"]
        if "--flush-interval" not in arguments:  # tapes are asked while they are written
            arguments = [*arguments, "--flush-interval", "50ms"]
        recording = Recording(self.tape, *arguments, **options)
        self.recordings.append(recording)
        return recording
