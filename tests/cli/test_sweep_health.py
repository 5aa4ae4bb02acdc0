"""What `kubetape sweep` takes for wrong beside what is left: a program that hangs, that grows, that serves something else on the way."""

import os
import sys
import unittest

import test_sweep

SICK = os.path.join(test_sweep.ROOT, "tests", "sweep", "sick.py")

# Lists, and watches from the version of the list, or (buggy) from that of its last item.
FROM_ITEM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster
while True:
    pods = Cluster().ask("GET", "/api/v1/pods")[1]
    versions = [int(pod["metadata"]["resourceVersion"]) for pod in pods["items"]]
    rv = str(max(versions)) if sys.argv[2] == "buggy" else pods["metadata"]["resourceVersion"]
    expired = False
    while not expired:
        for line in Cluster().open("GET", "/api/v1/pods?watch=1&resourceVersion=" + rv, None, {})[1]:
            event = json.loads(line)
            expired |= event["type"] == "ERROR"
            rv = event["object"]["metadata"].get("resourceVersion", rv)
    time.sleep(0.05)
"""


class Departure(test_sweep.Story):
    """One pod goes, another changes a dozen times, a third one goes."""

    def __init__(self):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod("web-%d" % i, 0, "Running", "node-0") for i in range(3)])
        self.next(test_sweep.PODS, "DELETED", self.pod("web-0", 0, "Succeeded", "node-0"))
        for _ in range(12):
            self.next(test_sweep.PODS, "MODIFIED", self.pod("web-1", 0, "Running", "node-0"))
        self.next(test_sweep.PODS, "DELETED", self.pod("web-2", 0, "Succeeded", "node-0"))


class SweepHealthTest(unittest.TestCase):
    setUp, arguments, sweep = test_sweep.SweepTest.setUp, test_sweep.SweepTest.arguments, test_sweep.SweepTest.sweep
    begin, end, wrong = test_sweep.SweepTest.begin, test_sweep.SweepTest.end, test_sweep.SweepTest.wrong

    def try_both(self, name, *options):
        """What differs in the gaps that make the buggy one go wrong; the mended one must stand them all."""
        both = [self.begin("--at", "deletions", *options, "-o", os.path.join(self.folder, kind), "--settle", "300ms", "-j", "1", "--plain",
            command=[sys.executable, SICK, kind, name]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        return self.wrong(report)

    def test_finds_a_watch_that_never_comes_back_and_memory_that_is_kept(self):
        found = self.try_both("deaf", "--max", "1", "--gap", "end,compact,hold=800ms")[0]
        self.assertEqual(found["differences"][0], "hangs: it does not watch /api/v1/pods any more")
        self.assertRegex(found["differences"][1], r"^grew: more than 2 times the memory when it is quiet \([1-9].* MB, without the fault .* MB at most\)$")

    def test_finds_a_program_that_lists_for_ever(self):
        self.tape = Departure().write(os.path.join(self.folder, "departure.tape"))
        options = ["--patterns", "unobserved", "--at", "deletions", "--settle", "1s", "--timeout", "10s", "-j", "3"]
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin(*options, "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", FROM_ITEM, os.path.dirname(SICK), kind]), code)
        for found in self.wrong(report):
            self.assertRegex("\n".join(found["differences"]), r"lists again and again: /api/v1/pods \([0-9]+ times after the fault, without it: 1\)")

    def test_a_watch_that_never_comes_back_is_enough(self):
        found = self.try_both("mute", "--max", "1", "--gap", "end,compact,hold=800ms")
        self.assertEqual([gap["differences"] for gap in found], [["hangs: it does not watch /api/v1/pods any more"]])

    def test_a_watch_may_be_a_websocket(self):
        found = self.try_both("deafened", "--patterns", "unobserved,slow", "--max", "2", "--gap", "end,compact,hold=800ms")
        self.assertIn("hangs: it does not watch /api/v1/pods any more", found[0]["differences"])

    def test_finds_what_is_served_on_the_way_though_it_is_right_at_the_end(self):
        self.tape = Departure().write(os.path.join(self.folder, "departure.tape"))
        os.environ["SERVED"] = os.path.join(self.folder, "served")
        self.addCleanup(os.environ.pop, "SERVED")
        found = self.try_both("forgetful", "--max", "2", "--lockstep", "50ms", "--probe", 'cat "$SERVED$(echo "$KUBECONFIG" | tr / _)"')
        self.assertIn("the probe prints, on the way, web-0 web-1 web-2(exit code 0) (without the fault: web-1 web-2(exit code 0); from event ",
            "\n".join(line for gap in found for line in gap["differences"]))


if __name__ == "__main__":
    unittest.main()
