"""Measures `kubetape tee` beside a bare splice(2) loop between the same sockets, in turns, in one run.

    tee.py BUILD_DIR BENCH.json [SECONDS]

Prints a table and adds its rows to BENCH.json. Events are 1 kB, 5,000 a second, over plain HTTP/1.1, which splice(2) can pass on; how
late they are counts from the write(2) of the source to the read(2) of the sink. CPU is that of the tee alone, all threads.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

from figures import Ended, cpu_s, head, merge, peak_bytes, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 4
RATE, BYTES, ROUNDS = 5000, 1000, 5
EVENTS = int(RATE * SECONDS)
WATCHES = 1000


def road(*arguments):
    return [os.path.join(BUILD, "bench", "tee_road"), *map(str, arguments)]


class Passer(Ended):
    """A source, a splice or a tee; `port` is where it is asked."""

    def __init__(self, command, found=r"(\d+)$"):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(found, self.process.stdout.readline()).group(1))


class Tee(Passer):
    def __init__(self, folder, name, source):
        self.tape = os.path.join(folder, name + ".tape")
        super().__init__([os.path.join(BUILD, "kubetape"), "tee", "-o", self.tape, "--server", "http://127.0.0.1:%d" % source.port],
            r":(\d+)$")


def late(port, events=EVENTS):
    return json.loads(subprocess.run(road("sink", port, events), check=True, capture_output=True, text=True).stdout)


def resident_bytes(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))


def median(values):
    return sorted(values)[len(values) // 2]


def measure_latency(folder):
    ours, bare, cpu = [], [], []
    for i in range(ROUNDS):
        with Passer(road("source", RATE, EVENTS, BYTES)) as source:
            with Passer(road("splice", source.port)) as splice:
                bare.append(late(splice.port))
            with Tee(folder, "l%d" % i, source) as tee:
                before = cpu_s(tee.process.pid)
                ours.append(late(tee.port))
                cpu.append((cpu_s(tee.process.pid) - before) / EVENTS)
                peak = peak_bytes(tee.process.pid)
    for what in ("p50_us", "p99_us"):
        row("tee: how late an event is, %s" % what[:3], median([o[what] for o in ours]), "us",
            "splice + 100" if what == "p99_us" else "", median([b[what] for b in bare]), "splice(2)")
    row("tee: added to splice(2), p99", median([o["p99_us"] for o in ours]) - median([b["p99_us"] for b in bare]), "us", "100")
    row("tee: CPU for an event, 5,000 a second", 1e6 * median(cpu), "us", "record + 1 delivery")
    row("tee: most memory, one watch", peak / 1e6, "MB", "64 + extent")


def measure_memory(folder):
    with Passer(road("source", 1, 0, BYTES)) as source, Tee(folder, "m", source) as tee:
        before = resident_bytes(tee.process.pid)
        with Holder(tee.port):
            row("tee: memory for an idle watch", (resident_bytes(tee.process.pid) - before) / WATCHES / 1e3, "kB", "64")


class Holder(Ended):
    def __init__(self, port):
        self.process = subprocess.Popen(road("hold", port, WATCHES), stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    head()
    with tempfile.TemporaryDirectory(prefix="kubetape-bench-") as folder:
        measure_latency(folder)
        measure_memory(folder)
    merge(RESULT)


main()
