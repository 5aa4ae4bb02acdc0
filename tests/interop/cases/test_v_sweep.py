"""`kubetape sweep` over controllers built with client-go: the classic bugs are found, the mended ones are left alone."""

import json
import os
import subprocess
import tempfile
import unittest

from lib import paths

TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
CONTROLLER = os.path.join(paths.BIN, "controller")
DEADLINE_S = 300


def begin(folder, kind, name, resource, *options):
    return subprocess.Popen(
        [paths.KUBETAPE, "sweep", TAPE, "-o", os.path.join(folder, kind), "--json", "--settle", "1s", "--write",
            "configmaps=overlay", *options,
            "--", CONTROLLER, kind, name, resource], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class ASweep(unittest.TestCase):
    def sweep_both(self, name, resource, *options):
        """The gaps that make the buggy controller go wrong; there must be none for the mended one."""
        with tempfile.TemporaryDirectory() as folder:
            reports = []
            both = [begin(folder, kind, name, resource, *options) for kind in ("mended", "buggy")]
            for process, code in zip(both, (0, 1)):
                output, errors = process.communicate(timeout=DEADLINE_S)
                self.assertEqual(process.returncode, code, output + errors)
                reports.append(json.loads(output))
            self.assertGreater(reports[0]["fine"], 0)
            return [gap for gap in reports[1]["gaps"] if gap["verdict"] == "wrong"]

    def test_finds_the_dropped_tombstone_over_http2(self):
        wrong = self.sweep_both("tombstone", "pods", "--at", "deletions", "--max", "4")
        self.assertTrue(all("is left" in gap["differences"][0] for gap in wrong))

    def test_finds_the_dropped_tombstone_over_http1_without_compaction_when_the_watch_is_told_an_error(self):
        wrong = self.sweep_both("tombstone", "pods", "--at", "deletions", "--max", "2", "--plain", "--gap", "error=500")
        self.assertTrue(all(gap["gap"] == "error=500" for gap in wrong))

    def test_finds_the_identity_that_is_a_name(self):
        wrong = self.sweep_both("identity", "configmaps", "--at", "recreations")
        self.assertEqual([gap["object"] for gap in wrong], ["shop/settings"])
