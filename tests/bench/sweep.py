"""Measures what `kubetape sweep` costs beside the program that it runs: a small controller in Python, on a tape of a minute.

    sweep.py BUILD_DIR BENCH.json

Prints a table and adds its rows to BENCH.json. The rival is the same program in a replay without faults, started by hand.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from figures import head, merge, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", folder) for folder in ("cli", "wire")]

from test_sweep import CONTROLLER, Story  # noqa: E402

KUBETAPE = os.path.join(BUILD, "kubetape")
COMMAND = [sys.executable, CONTROLLER, "mended", "tombstone"]
ALONE = 10  # runs of the rival


def spent(command, allowed=(0,)):
    """(seconds by the clock, seconds of CPU, output), children included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode not in allowed:
        raise SystemExit("%s: exit code %d" % (" ".join(command), done.returncode))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def alone(tape, folder):
    replay = [KUBETAPE, "replay", tape, "--speed", "max", "--gaps", "none", "--settle", "100ms", "--wait-watchers", "1",
        "--run", os.path.join(folder, "alone.run"), "--", *COMMAND]
    rounds = [spent(replay)[:2] for _ in range(ALONE)]
    return [sorted(times)[ALONE // 2] for times in zip(*rounds)]


def swept(tape, folder, name, *options):
    wall_s, cpu, text = spent([KUBETAPE, "sweep", tape, "--json", "-o", os.path.join(folder, name), *options, "--", *COMMAND])
    return wall_s, cpu, len(json.loads(text)["gaps"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        tape = Story(["web-%d" % i for i in range(25)]).write(os.path.join(folder, "minute.tape"))
        one_s, one_cpu = alone(tape, folder)
        wall_s, cpu, places = swept(tape, folder, "wide")
        row("sweep: %d places, runs without faults included" % places, wall_s, "s", "60")
        row("sweep: CPU for a place", 1e3 * cpu / places, "ms", "", 1e3 * one_cpu, "replay by hand")
        few, many = [swept(tape, folder, "narrow-%d" % n, "--patterns", "unobserved", "--max", str(n), "-j", "1") for n in (10, 50)]
        row("sweep -j 1: time for a further place", 1e3 * (many[0] - few[0]) / (many[2] - few[2]), "ms", "program + 100", 1e3 * one_s,
            "replay by hand")
    merge(RESULT)


head()
main()
