#!/usr/bin/env python3
"""Sweeps each mended program again and again on a busy machine: no fault may count as a finding. calm.py [ROUNDS [NAME...]]

Beside them as many loops run as four for each processor. Prints a line for each program; exit code 1 when one was found guilty, or
could not be judged.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), folder) for folder in ("cli", "wire")]

from replays import KUBETAPE  # noqa: E402
from test_sweep import Ending, Story  # noqa: E402
from test_sweep_left import Found, Sealed  # noqa: E402
from test_sweep_patterns import Accompanied, AlreadyMarked, Held, Watched  # noqa: E402

# The program, and what of it is tried, as its tests do.
PROGRAMS = {
    "tombstone": ("controller.py", []),
    "identity": ("controller.py", []),
    "edge": ("controller.py", []),
    "failed": ("controller.py", ["--at", "changes"]),
    "selected": ("controller.py", ["--at", "selections"]),
    "steps": ("blind.py", ["--patterns", "restart"]),
    "owner": ("blind.py", ["--patterns", "stale"]),
    "again": ("blind.py", ["--patterns", "writes"]),
    "count": ("blind.py", ["--patterns", "echo", "--speed", "4"]),
    "verified": ("blind.py", ["--patterns", "coalesced", "--lockstep", "300ms"]),
    "join": ("blind.py", ["--patterns", "slow"]),
    "cleaner": ("blind.py", []),
    "accompanied": ("blind.py", ["--patterns", "unobserved,restart,stale"]),
    "marked": ("blind.py", ["--patterns", "unobserved,restart"]),
    "found": ("blind.py", ["--write", "overlay", "--lockstep", "50ms"]),
    "secrets": ("blind.py", ["--patterns", "unobserved"]),
    "applied": ("blind.py", ["--patterns", "unobserved", "--write", "overlay", "--lockstep", "50ms"]),
    "sealer": ("blind.py", ["--patterns", "coalesced", "--write", "overlay", "--lockstep", "50ms"]),
    "ran": ("blind.py", ["--at", "changes", "--write", "overlay", "--lockstep", "50ms"]),
    "noticed": ("blind.py", ["--patterns", "unobserved,restart,stale", "--lockstep", "50ms"]),
    "promised": ("blind.py", ["--patterns", "writes", "--lockstep", "50ms"]),
    "renewed": ("blind.py", ["--at", "own,recreations", "--write", "overlay", "--lockstep", "50ms"]),
}
# Of the others, Story. All but those of Ending were recorded while the program itself ran.
STORIES = {"failed": Ending, "selected": Ending, "ran": Ending, "cleaner": Held, "accompanied": Accompanied, "marked": AlreadyMarked,
    "found": Found, "applied": Accompanied, "sealer": Sealed, "noticed": Watched}
KINDS = {"accompanied": "owner", "found": "owner"}  # of the program, where it is not the name
LOOPS = 4 * os.cpu_count()
MAX = 12  # places of a sweep


def swept(tape, folder, name):
    """(exit code, what was found)"""
    file, options = PROGRAMS[name]
    done = subprocess.run([KUBETAPE, "sweep", tape, "--json", "--max", str(MAX), "-o", folder, *options, "--",
        sys.executable, os.path.join(HERE, file), "mended", KINDS.get(name, name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not done.stdout:
        return done.returncode, [done.stderr.strip()]
    told = [gap for gap in json.loads(done.stdout)["gaps"] if gap["verdict"] not in ("fine", "not reached", "untried")]
    return done.returncode, ["%s: %s" % (gap["verdict"], "; ".join(gap["differences"])) for gap in told]


def judge(tapes, folder, name, rounds):
    guilty = 0
    for i in range(rounds):
        code, found = swept(tapes[STORIES.get(name, Story)], os.path.join(folder, "%s-%d" % (name, i)), name)
        guilty += code != 0
        for line in found:
            print("    round %d, exit code %d: %s" % (i + 1, code, line))
    print("%-10s %d of %d rounds were not clean" % (name, guilty, rounds), flush=True)
    return guilty


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            tapes = {story: story(["web-0", "web-1", "web-2"]).write(os.path.join(folder, story.__name__ + ".tape")) for story in {Story, *STORIES.values()}}
            guilty = [judge(tapes, folder, name, rounds) for name in sys.argv[2:] or PROGRAMS]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    sys.exit(any(guilty))


main()
