"""What differs from run to run by itself is no finding of `kubetape sweep`, however seldom it shows."""

import os
import subprocess
import sys
import unittest
import unittest.mock

import test_sweep
from test_sweep_patterns import BLIND

TESTS_APART = True  # each takes long


class SweepChanceTest(unittest.TestCase):
    setUp = test_sweep.SweepTest.setUp
    arguments, begin, end = test_sweep.SweepTest.arguments, test_sweep.SweepTest.begin, test_sweep.SweepTest.end

    def test_what_is_one_of_two_by_chance_is_soon_known_to_be(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        report = self.end(self.begin("--settle", "1s", "--max", "12", command=[sys.executable, BLIND, "mended", "chance"]), 0)
        self.assertEqual((report["unsteady"], report["alone"], report["unsure"]), (["configmaps data.side"], False, 0))

    def test_a_finding_is_taken_back_if_further_runs_without_a_gap_show_the_same(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        for policy in ("absorb", "overlay"):
            marker = os.path.join(self.folder, policy)
            with self.subTest(policy=policy), unittest.mock.patch.dict(os.environ, {"SELDOM": marker}):
                report = self.end(self.begin("--settle", "1s", "--at", "recreations", "--max", "1", "--write", policy, "-o", marker + ".sweep",
                    command=[sys.executable, BLIND, "mended", "seldom"]), 0)
                self.assertEqual((report["unsteady"], report["fine"], os.path.exists(marker)), (["configmaps data.side"], 1, True))

    def test_names_that_a_program_makes_up_are_one_name(self):
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "three.tape"))
        both = [self.begin("--settle", "1s", "--at", "deletions", "-o", os.path.join(self.folder, kind),
            command=[sys.executable, BLIND, kind, "drawn"]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        found = next(gap for gap in report["gaps"] if gap["verdict"] == "wrong" and gap["object"] == "default/web-2")
        self.assertEqual(found["differences"], ["configmaps default/web-2-* is left (without the gap: not)"])
        again = subprocess.run(["sh", "-c", found["repeat"].replace("kubetape", test_sweep.KUBETAPE, 1)], capture_output=True, text=True, check=False)
        self.assertEqual((again.returncode, again.stdout.splitlines()[1:]), (1, ["configmaps default/web-2-* is left (golden: not)"]), again.stderr)


if __name__ == "__main__":
    unittest.main()
