"""Measures a recording and a replay of a large cluster: 5,000 nodes and 150,000 pods of 9 kB, 1,000 changes a second.

    large.py BUILD_DIR BENCH.json [SECONDS]

A made tape is replayed and recorded again. BENCH_PODS takes another number of pods; what is promised for each object
follows. Adds its rows to BENCH.json.
"""
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from figures import Ended, cpu_s, merge, peak_bytes, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
SECONDS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
PODS = int(os.environ.get("BENCH_PODS", "150000"))
NODES = PODS // 30
OBJECTS = PODS + NODES
RATE = 1000
EXTENT = 64 << 20
BASE = 64 << 20  # what a recorder and a replay may take beside extents and objects
DEADLINE_S = 600


def tool(name):
    return os.path.join(BUILD, name)


def disk_bytes(tape):
    return sum(os.stat(os.path.join(tape, name)).st_size for name in os.listdir(tape))


def wait_until(what, is_so):
    until = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > until:
            sys.exit("waited in vain: " + what)
        time.sleep(0.05)


class Replay(Ended):
    def __init__(self, tape, *options):
        self.kubeconfig = tape + ".kubeconfig"
        self.process = subprocess.Popen([tool("kubetape"), "replay", tape, "--plain", "--anonymous", "--kubeconfig", self.kubeconfig, *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def memory(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def list(self, query):
        """Seconds to the first byte of the body, and to the last."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        c.connect()
        begin = time.monotonic()
        c.request("GET", "/api/v1/pods" + query, headers={"Accept": "application/json", "User-Agent": "bench"})
        answer = c.getresponse()
        answer.read(1)
        first = time.monotonic() - begin
        while answer.read(1 << 20):
            pass
        c.close()
        return first, time.monotonic() - begin


class Recorder:
    def __init__(self, replay, tape):
        self.tape = tape
        begin = time.monotonic()
        self.process = subprocess.Popen([tool("kubetape"), "record", "pods", "nodes", "-o", tape, "--kubeconfig", replay.kubeconfig],
            stderr=subprocess.PIPE, text=True)
        while not self.process.stderr.readline().startswith("recording "):
            if self.process.poll() is not None:
                sys.exit("the recorder failed")
        self.start_s = time.monotonic() - begin

    def peak(self):
        """The most memory since the last call."""
        peak = peak_bytes(self.process.pid)
        with open("/proc/%d/clear_refs" % self.process.pid, "w") as f:
            f.write("5")
        return peak

    def sealed(self):
        return sum(name.startswith("seg-") for name in os.listdir(self.tape))

    def rotate(self):
        before = self.sealed()
        self.process.send_signal(signal.SIGUSR1)
        wait_until("a segment is sealed", lambda: self.sealed() > before)
        wait_until("the next one has begun", lambda: any(n.startswith("open-") for n in os.listdir(self.tape)))
        wait_until("it is small work again", lambda: self.is_quiet())

    def is_quiet(self):
        before = cpu_s(self.process.pid)
        time.sleep(1)
        return cpu_s(self.process.pid) - before < 0.5

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


def record(replay, folder):
    tape = os.path.join(folder, "again.tape")
    recorder = Recorder(replay, tape)
    row("large: first list of %d objects" % OBJECTS, recorder.start_s, "s", "server's pace")
    first_peak = recorder.peak()
    time.sleep(SECONDS / 2)
    steady = recorder.peak()
    recorder.rotate()
    rotation = recorder.peak()
    allowed = "<= %.0f" % ((BASE + EXTENT + 64 * OBJECTS) / 1e6)
    row("large: recorder's memory, first list", first_peak / 1e6, "MB", allowed)
    row("large: recorder's memory, steady", steady / 1e6, "MB", allowed)
    row("large: recorder's memory, while a segment begins", rotation / 1e6, "MB", allowed)
    time.sleep(SECONDS + 5)  # the tape has ended: what comes now is nothing
    recorder.stop()
    return tape


def go_on(replay, tape):
    before = disk_bytes(tape)
    recorder = Recorder(replay, tape)
    row("large: going on with a tape after a stop", recorder.start_s, "s", "<= 2")
    time.sleep(2)
    recorder.stop()
    row("large: ... what it adds to the tape", 100 * (disk_bytes(tape) - before) / before, "%", "<= 1")


def what_segments_cost(tape):
    """The share of live objects that segments begin with."""
    states = subprocess.run([tool("kubetape"), "query", tape, "SELECT sum(state_objects) FROM segments", "--format", "csv"],
        capture_output=True, check=True, text=True).stdout.split()[-1]
    row("large: objects of state on the tape", float(states), "objects", "")


def main():
    with tempfile.TemporaryDirectory(prefix="kubetape-bench-", dir=BUILD) as folder:
        source = os.path.join(folder, "large.tape")
        subprocess.run([tool("bench/large_tape"), source, *(str(n) for n in (PODS, NODES, RATE, SECONDS))], check=True)
        with Replay(source, "--wait-watchers", "2") as replay:
            tape = record(replay, folder)
            row("large: size of the tape", disk_bytes(tape) / 1e6, "MB", "")
            go_on(replay, tape)
            what_segments_cost(tape)
            row("large: replay's memory at the end of the tape", replay.memory() / 1e6, "MB",
                "<= %.0f" % ((BASE + 256 * OBJECTS) / 1e6))
            firsts = sorted(replay.list("?limit=500")[0] for _ in range(9))
            row("large: replay's LIST of 500, first byte", firsts[4] * 1e3, "ms", "<= 50")
            row("large: replay's LIST of all", replay.list("")[1], "s", "")
        shutil.rmtree(tape)
    merge(RESULT)


main()
