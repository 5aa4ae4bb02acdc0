"""A week of recording, the clock running ahead: memory and disk stay where they were promised, whatever ends and begins.

A quick look by default: three days. KUBETAPE_CRASH=all (`make crash`) takes the week.
"""
import json
import os
import subprocess
import unittest

from memory_folder import memory_folder

BUILD = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
PROGRAM = os.path.join(BUILD, "crash", "week_tape")
KUBETAPE = os.path.join(BUILD, "kubetape")
DAYS = 7 if os.environ.get("KUBETAPE_CRASH") == "all" else 3

MAX_BYTES = 1536 << 10  # as in week_tape.c
# Retention looks once a minute, and takes a group when the tape is too large: by then it has a segment more.
MOST_BYTES = 1.2 * MAX_BYTES
LEAST_BYTES = 0.6 * MAX_BYTES  # a quarter is removed at once
HEAP_BYTES_MORE = 500_000


class Week(unittest.TestCase):
    def run_tape(self, *args):
        done = subprocess.run([KUBETAPE, *args], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_a_tape_keeps_its_size_and_its_recorder_its_memory_and_it_is_whole(self):
        work = memory_folder(self, "week")
        tape = os.path.join(work, "week.tape")
        done = subprocess.run([PROGRAM, work, str(24 * DAYS)], capture_output=True, text=True, timeout=1800)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        days = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(days), DAYS)
        for day in days[1:]:
            self.assertLess(day["disk_bytes"], MOST_BYTES, done.stdout)
            self.assertGreater(day["disk_bytes"], LEAST_BYTES, done.stdout)
        self.assertGreater(days[-1]["removed"], days[-2]["removed"], "retention went on")
        self.assertLessEqual(days[-1]["heap_bytes"], days[1]["heap_bytes"] + HEAP_BYTES_MORE, done.stdout)
        self.assertIn("is intact", self.run_tape("verify", tape))
        (kept,) = json.loads(self.run_tape("query", tape, "--format", "json",
            "SELECT count(*) AS segments, count(DISTINCT state_segment) AS states, min(state_segment >= 1) AS known FROM segments"))
        self.assertLess(kept["states"] * 2, kept["segments"], "segments share states")


if __name__ == "__main__":
    unittest.main()
