"""`kubetape sweep` over controllers built with client-go, and with the Java client, and over kube-controller-manager: known bugs are
found, the mended ones are left alone."""

import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

from lib import paths

sys.path.extend(os.path.join(paths.ROOT, "tests", folder) for folder in ("cli", "zoo"))
import pairs  # pylint: disable=wrong-import-position
from test_sweep import Story  # pylint: disable=wrong-import-position

TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
CONTROLLER = os.path.join(paths.BIN, "controller")
BLIND = os.path.join(paths.BIN, "blind")
JAVA = os.path.join(paths.BUILD, "java")
DEADLINE_S = 300
CLASSIC = {"KUBE_FEATURE_WatchListClient": "false"}


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


# A mistake of each pattern but the first, and what else its sweep is told, so that what it writes before an event does not depend
# on chance. A list at resourceVersion=0 is one of the classic way.
PATTERNS = {"steps": ("restart", "--lockstep", "50ms"), "owner": ("stale",), "again": ("writes",), "count": ("echo", "--speed", "4"),
    "verified": ("coalesced", "--speed", "4"), "join": ("slow",)}
# Of these, those that take least, and whose first writes do not come at another event on a busy machine.
QUICK = ("count", "join")
AT_ONCE = 4


class WholeStory(Story):
    """The Java client takes no pod without containers."""

    def pod(self, *args, **meta):
        pod = super().pod(*args, **meta)
        pod["spec"]["containers"] = [{"name": "main", "image": "example"}]
        return pod


class AStory(unittest.TestCase):
    """Pods that end and are made anew; each sweep has a folder of its own."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.tape = WholeStory(["web-0", "web-1"]).write(os.path.join(cls.folder, "story.tape"))

    def swept(self, name, command, *options):
        """(exit code, report) of a sweep of that command."""
        done = subprocess.run([paths.KUBETAPE, "sweep", self.tape, "-o", os.path.join(self.folder, name), "--json", "-j", "2", "--settle", "1500ms",
            "--max", "6", *options, "--", *command], capture_output=True, text=True, timeout=DEADLINE_S, env={**os.environ, **CLASSIC})
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def found(self, name, command, *options):
        """The gaps that make the buggy one go wrong; there must be none for the mended one."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            mended, buggy = pool.map(lambda kind: self.swept(f"{name}-{kind}", [*command, kind, name], *options), ("mended", "buggy"))
        self.assertEqual((mended[0], buggy[0]), (0, 1), (mended[1]["gaps"], buggy[1]["gaps"]))
        self.assertGreater(mended[1]["fine"], 0)
        return [gap for gap in buggy[1]["gaps"] if gap["verdict"] == "wrong"]


class AKnownBug(unittest.TestCase):
    """The quickest pair of the zoo."""

    def test_is_found_in_kube_controller_manager_and_not_with_the_gate_that_mends_it(self):
        pair, program = pairs.PAIRS["kubernetes-59848"], paths.program("kube-controller-manager")
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            tape = os.path.join(folder, "story.tape")
            pairs.make_tape(pair, "", tape)
            vulnerable, fixed = pool.map(lambda of: pairs.sweep(pair, of, program, tape, os.path.join(folder, of.name)),
                (pair.vulnerable, pair.fixed))
        self.assertEqual((vulnerable.code, fixed.code), (pairs.GOES_WRONG, pairs.IS_CLEAN), (vulnerable, fixed))
        self.assertEqual(self.verdicts(vulnerable)["pods"], "wrong")
        self.assertEqual(self.verdicts(fixed)["pods"], "fine")

    def verdicts(self, swept):
        return {gap["resource"]: gap["verdict"] for gap in swept.report["gaps"]}


class APatternOfGo(AStory):
    def test_is_found_and_the_mended_ones_are_left_alone(self):
        self.find(QUICK)

    @unittest.skipUnless(os.environ.get("KUBETAPE_INTEROP") == "all", "takes a minute: only with KUBETAPE_INTEROP=all")
    def test_is_found_also_if_it_takes_long(self):
        self.find(set(PATTERNS) - set(QUICK))

    def find(self, names):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            tried = {name: pool.submit(self.found, name, [BLIND], "--patterns", *PATTERNS[name]) for name in names}
        for name, found in tried.items():
            with self.subTest(name):
                self.assertEqual({gap["pattern"] for gap in found.result()}, {PATTERNS[name][0]})


@unittest.skipUnless(glob.glob(os.path.join(JAVA, "classes", "Copy.class")), "needs tests/interop/build java")
class AJavaController(AStory):
    COMMAND = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{JAVA}/classes:{JAVA}/lib/*", "Copy"]

    def test_finds_the_dropped_tombstone(self):
        wrong = self.found("tombstone", self.COMMAND, "--at", "deletions")
        self.assertTrue(all("is left" in gap["differences"][0] for gap in wrong), wrong)

    def test_finds_the_identity_that_is_a_name(self):
        self.assertEqual([gap["object"] for gap in self.found("identity", self.COMMAND, "--at", "recreations")], ["default/web-0"])
