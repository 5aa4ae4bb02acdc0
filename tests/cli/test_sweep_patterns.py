"""Each way of going blind that `kubetape sweep` tries: it finds a small controller that falls for it, and not the mended one."""

import os
import sys
import unittest

import test_sweep

BLIND = os.path.join(test_sweep.ROOT, "tests", "sweep", "blind.py")


class SweepPatternsTest(unittest.TestCase):
	setUp = test_sweep.SweepTest.setUp
	arguments, sweep, repeat = test_sweep.SweepTest.arguments, test_sweep.SweepTest.sweep, test_sweep.SweepTest.repeat
	begin, end, wrong = test_sweep.SweepTest.begin, test_sweep.SweepTest.end, test_sweep.SweepTest.wrong

	def try_both(self, name, pattern, *options, pods=("web-0", "web-1")):
		self.tape = test_sweep.Story(pods).write(os.path.join(self.folder, "short.tape"))
		both = [self.begin("--patterns", pattern, "--settle", "1500ms", *options, "-o", os.path.join(self.folder, kind),
			command=[sys.executable, BLIND, kind, name]) for kind in ("mended", "buggy")]
		mended, report = self.end(both[0], 0), self.end(both[1], 1)
		self.assertGreater(mended["fine"], 0)
		self.assertEqual(mended["wrong"], 0, mended)
		return report

	def test_finds_two_steps_of_which_only_one_is_done_before_a_restart(self):
		report = self.try_both("steps", "restart")
		found = self.wrong(report)[0]
		self.assertEqual((found["pattern"], found["write"], found["gap"]), ("restart", "create configmaps", "restart,after"))
		again = self.repeat(found["repeat"])
		self.assertEqual(again.returncode, 1, again.stderr)
		self.assertIn("configmaps default/second-web-0 is missing", again.stdout)

	def test_finds_trust_in_an_older_list_after_a_restart(self):
		report = self.try_both("owner", "stale", "--max", "3")
		self.assertIn("2 deletions of the earlier configmaps default/web-0 (without the fault: 1)", self.wrong(report)[0]["differences"])

	def test_finds_that_an_error_is_taken_for_a_write_undone(self):
		report = self.try_both("again", "writes", "--max", "6")
		self.assertLessEqual({gap["gap"] for gap in self.wrong(report)}, {"write_error=504,after", "write_reset,after"})

	def test_finds_that_own_writes_are_counted_by_what_a_watch_says(self):
		report = self.try_both("count", "echo", "--speed", "4")
		self.assertIn("echo", {gap["pattern"] for gap in self.wrong(report)})

	def test_finds_what_passes_too_fast_to_be_looked_at(self):
		report = self.try_both("verified", "coalesced", "--speed", "4", pods=("web-0",))
		self.assertIn("termination", {gap["kind"] for gap in self.wrong(report)})

	def test_finds_that_a_resource_not_yet_listed_is_taken_for_empty(self):
		report = self.try_both("join", "slow")
		self.assertEqual([gap["resource"] for gap in self.wrong(report)], ["nodes"])

	def test_a_pattern_that_does_not_exist_is_refused(self):
		done = self.sweep("--patterns", "restart,moon", command=["true"])
		self.assertEqual(done.returncode, 2)
		self.assertIn("bad pattern 'moon'", done.stderr)
