"""A tape that rotates for ever costs no more with each rotation: no memory, no CPU, no traffic to the disk.

A quick look by default: 2,000 rotations. KUBETAPE_CRASH=all (`make crash`) takes ten thousand.
"""
import json
import os
import subprocess
import unittest

from memory_folder import memory_folder

BUILD = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
PROGRAM = os.path.join(BUILD, "crash", "rotate_tape")
ALL = os.environ.get("KUBETAPE_CRASH") == "all"
ROTATIONS = 10000 if ALL else 2000

# What the last tenth may have of the second: the first one warms up. Traffic is counted by the kernel, and the same
# in every run. CPU time is a median, but of a machine that does other things too: only the long run looks at it.
MOST = {"fds": 1.0, "read_calls": 1.02, "write_calls": 1.02, "read_bytes": 1.02,
        "written_bytes": 1.02} | ({"cpu_us": 1.6} if ALL else {})
# The heap is less than 1 MB, of which SQLite's pages are 0.1 to 0.2 more or less.
HEAP_BYTES_MORE = 300_000


class Rotations(unittest.TestCase):
    def test_the_last_rotation_costs_what_the_first_ones_did(self):
        work = memory_folder(self, "rotation")
        done = subprocess.run([PROGRAM, work, str(ROTATIONS)], capture_output=True, text=True, timeout=900)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        tenths = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(tenths), 10)
        second, last = tenths[1], tenths[-1]
        for what, most in MOST.items():
            self.assertLessEqual(last[what], second[what] * most, f"{what}:\n{done.stdout}")
        self.assertLessEqual(last["heap_bytes"], second["heap_bytes"] + HEAP_BYTES_MORE, done.stdout)
        self.assertLess(last["files"], 40, "retention keeps the number of files down")


if __name__ == "__main__":
    unittest.main()
