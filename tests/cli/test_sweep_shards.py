"""`sweep --shard` and `--merge`: one sweep over several processes comes to what one alone comes to."""
import json
import os
import subprocess
import sys
import unittest

import test_sweep
from test_sweep import CONTROLLER, DEADLINE_S, KUBETAPE


class Shards(unittest.TestCase):
    setUp, arguments = test_sweep.SweepTest.setUp, test_sweep.SweepTest.arguments
    sweep, begin, end, wrong = (getattr(test_sweep.SweepTest, name) for name in ("sweep", "begin", "end", "wrong"))

    def results(self, report):
        """What a report says of each fault, wherever its files are."""
        return [{k: v for k, v in gap.items() if k not in ("faults", "repeat")} for gap in report["gaps"]]

    def merge(self, folders, *options, code):
        words = [w for f in folders for w in ("--merge", f)]
        done = subprocess.run([KUBETAPE, "sweep", *words, *options], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def shards(self, count, kind="buggy", *options):
        command = [sys.executable, CONTROLLER, kind, "tombstone"]
        folders = [os.path.join(self.folder, f"part-{i}") for i in range(count)]
        running = [self.begin("--at", "deletions", *options, "-o", folder, "--shard", f"{i}/{count}", command=command)
                   for i, folder in enumerate(folders)]
        return folders, [self.end(process, 0) for process in running]

    def test_shards_make_one_report_equal_to_that_of_one_sweep(self):
        folders, reports = self.shards(2)
        tried = [{i for i, gap in enumerate(r["gaps"]) if gap["verdict"] != "untried"} for r in reports]
        reached = {i for i, gap in enumerate(reports[0]["gaps"]) if gap["verdict"] != "not reached"}
        self.assertEqual(reached - (tried[0] | tried[1]), set())
        whole = self.end(self.begin("--at", "deletions", command=[sys.executable, CONTROLLER, "buggy", "tombstone"]), 1)
        out = os.path.join(self.folder, "merged")
        merged = json.loads(self.merge(folders, "--json", "-o", out, "--junit", out + ".xml", code=1))
        self.assertEqual(self.results(merged), self.results(whole))
        for name in ("without", "wrong", "fine", "unsure", "not_reached", "positions", "positions_found", "tape"):
            self.assertEqual(merged[name], whole[name], name)
        self.assertEqual([c["cause"] for c in merged["causes"]], [c["cause"] for c in whole["causes"]])
        for gap in self.wrong(merged):
            self.assertTrue(os.path.exists(gap["faults"]), gap)
            self.assertIn(gap["faults"], gap["repeat"])
        self.assertIn("WRONG: deletion of pods default/web-2", self.merge(folders, code=1))
        with open(os.path.join(out, "sweep.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["wrong"], whole["wrong"])
        self.assertTrue(os.path.exists(out + ".xml"))

    def test_folders_that_were_carried_elsewhere_are_merged_and_what_is_missing_is_told(self):
        folders, _ = self.shards(2)
        moved = os.path.join(self.folder, "carried")
        os.rename(folders[0], moved)
        for gap in self.wrong(json.loads(self.merge([moved, folders[1]], "--json", code=1))):
            self.assertTrue(os.path.exists(gap["faults"]), gap)
        one = self.merge([moved], code=1 if self.wrong(json.load(open(os.path.join(moved, "sweep.json"), encoding="utf-8"))) else 3)
        self.assertRegex(one, "[0-9]+ faults were not tried by any shard")

    def test_refuses_what_it_does_not_understand(self):
        for index in ("", "8", "index/1", "-1"):
            done = subprocess.run([KUBETAPE, "sweep", self.tape, "--shard", "index/8", "--", "true"], capture_output=True, text=True,
                                  check=False, env={**os.environ, "JOB_COMPLETION_INDEX": index})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), index)
        for shard in ("3/3", "1", "x/2", "1/0", "-1/2", "1/2/3"):
            done = self.sweep("--shard", shard, command=["true"])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), shard)
        done = subprocess.run([KUBETAPE, "sweep", self.tape, "--merge", self.folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        done = subprocess.run([KUBETAPE, "sweep", "--merge", os.path.join(self.folder, "none")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
