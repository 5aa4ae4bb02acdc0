"""The Go helper that replayer/TESTING.md gives to users, in Go tests as they would write them."""

import os
import subprocess
import unittest

from lib import paths

FOLDER = os.path.join(paths.ROOT, "tools", "testing", "kubetapetest")
TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")


def go_test(*arguments, **environment):
    path = os.path.dirname(paths.KUBETAPE) + os.pathsep + os.environ["PATH"]
    return subprocess.run(["go", "test", "-trimpath", "-count=1", "-timeout=10m", *arguments, "."], cwd=FOLDER, capture_output=True, text=True, timeout=1200,
        env={**os.environ, "PATH": path, "KUBETAPE_TAPE": TAPE, "CGO_ENABLED": "0", **environment}, check=False)


class GoTests(unittest.TestCase):

    def test_go_tests_get_a_config_that_serves_the_tape_with_and_without_a_gap(self):
        done = go_test()
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-2000:])

    def test_a_difference_from_a_golden_run_fails_the_go_test(self):
        done = go_test("-run=Golden", KUBETAPE_EXPECT_DIFFERENCE="1")
        self.assertEqual(done.returncode, 1, done.stdout[-4000:] + done.stderr[-2000:])
        self.assertIn('~ data.key: "a" -> "b"', done.stdout)
        self.assertEqual(done.stdout.count("--- FAIL"), 2, done.stdout)  # the test, and its part "other"
