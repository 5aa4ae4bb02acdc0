"""What differs from run to run by itself, or by the order in which objects come, is no finding of `kubetape sweep`."""

import json
import os
import subprocess
import sys
import unittest
import unittest.mock

import test_sweep
import test_sweep_patterns
from test_sweep_patterns import BLIND

TESTS_APART = True  # each takes long

# Notes each pod once its watch shows the mark that it has put on it, or after 1 s. Takes longer to watch again.
WAITING = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
MAPS = "/api/v1/namespaces/default/configmaps"
cluster, marked = Cluster(), threading.Event()
def look(pod):
    meta = pod["metadata"]
    if meta.get("annotations", {}).get("seen") == pod["status"]["phase"]:
        marked.set()
        return
    threading.Thread(target=note, args=(pod,)).start()
def note(pod):
    meta = pod["metadata"]
    mark = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": meta["name"], "uid": meta["uid"], "annotations": {"seen": pod["status"]["phase"]}}}
    if cluster.ask("PATCH", "/api/v1/namespaces/default/pods/%s?fieldManager=waiting&force=true" % meta["name"], mark)[0] == 200:
        marked.wait(1)
        cluster.ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-" + meta["uid"]}})
class Slow(Informer):
    def watch(self):
        super().watch()
        time.sleep(1.5)
Slow(cluster, "/api/v1/pods", look, lambda old, pod: look(pod), lambda *_: None).start()
time.sleep(600)
"""


# Marks each pod, and goes on when it finds the mark.
INSISTING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
PODS = "/api/v1/namespaces/default/pods/"
cluster = Cluster()
def mark(pod):
    meta = pod["metadata"]
    found = None
    while found != meta["uid"]:
        cluster.ask("PATCH", PODS + meta["name"] + "?fieldManager=marks&force=true", {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": meta["name"], "annotations": {"marked": meta["uid"]}}})
        status, now = cluster.ask("GET", PODS + meta["name"])
        found = now["metadata"].get("annotations", {}).get("marked") if status == 200 else meta["uid"]
        time.sleep(0.05)
Informer(cluster, "/api/v1/pods", mark, lambda *_: None, lambda *_: None).start()
time.sleep(600)
"""


# Gives each node to a pod that runs, and lets it keep it; the buggy one does not look whether a pod is still there, but is told.
STICKY = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
cluster, changed, gone = Cluster(), threading.Event(), set()
def touch(*_):
    changed.set()
def end(pod, tombstone):
    if sys.argv[2] == "mended" or not tombstone:
        gone.add(pod["metadata"]["name"])
    changed.set()
pods = Informer(cluster, "/api/v1/pods", touch, touch, end)
nodes = Informer(cluster, "/api/v1/nodes", touch, touch, touch)
def share(owners):
    running = sorted(pod["metadata"]["name"] for pod in list(pods.cache.values()) if pod["status"]["phase"] == "Running")
    waiting = {pod["metadata"]["name"] for pod in list(pods.cache.values())} - set(running)
    kept = {node: owner for node, owner in owners.items() if owner not in gone and owner not in waiting}
    there = sorted(node["metadata"]["name"] for node in list(nodes.cache.values()))
    shares = {node: kept[node] for node in there if node in kept}
    for node in there:
        if node not in shares and running:
            shares[node] = min(running, key=lambda pod: (list(shares.values()).count(pod), pod))
    return [{"addresses": [node], "nodeName": shares[node]} for node in there if node in shares]
def work():
    status, slice = cluster.ask("GET", SLICES + "/shares")
    before = slice.get("endpoints") if status == 200 else []
    now = share({item["addresses"][0]: item["nodeName"] for item in before})
    made = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "shares", "namespace": "default"}, "addressType": "IPv4"}
    if status == 404:
        cluster.ask("POST", SLICES, {**made, "endpoints": now})
    elif now != before:
        cluster.ask("PUT", SLICES + "/shares", {**slice, "endpoints": now})
Informer.pause_s = 0.3
for informer in (pods, nodes):
    informer.start()
    informer.synced.wait()
while True:
    changed.wait()
    changed.clear()
    work()
"""


class Flapping(test_sweep.Story):
    """Nodes come while one of three pods or another does not run for a while; the last pod is deleted."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "host") for name in names])
        self.listed(test_sweep.NODES, self.rv, [self.node("node-%d" % n) for n in range(4)])
        count = 4
        for name in names[1:]:
            for phase in ("Pending", "Running"):
                self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 0, phase, "host"))
                self.next(test_sweep.NODES, "ADDED", self.node("node-%d" % count))
                count += 1
        self.next(test_sweep.PODS, "DELETED", self.pod(names[-1], 0, "Running", "host"))


class Arriving(test_sweep.Story):
    """And then there are more, of which one comes first by name."""

    def __init__(self, names):
        super().__init__(names)
        for name in ("late-1", "early-0"):
            self.next(test_sweep.PODS, "ADDED", self.pod(name, 0, "Running", "node-1"))


class Swapped(test_sweep.Story):
    """Two pods stop, and each runs again on the other one's node."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "node-%d" % n) for n, name in enumerate(names)])
        for phase in ("Pending", "Running"):
            for n, name in enumerate(names):
                self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 0, phase, "node-%d" % (1 - n)))


class SweepChanceTest(unittest.TestCase):
    setUp = test_sweep.SweepTest.setUp
    arguments, begin, end, wrong = test_sweep.SweepTest.arguments, test_sweep.SweepTest.begin, test_sweep.SweepTest.end, test_sweep.SweepTest.wrong
    try_both, repeat = test_sweep_patterns.SweepPatternsTest.try_both, test_sweep_patterns.SweepPatternsTest.repeat

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

    def test_what_it_does_after_a_pause_it_does_without_faults_as_well(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        for policy, remedy in (([], "^$"), (["--write", "absorb"], r"--settle \d{4}ms\n")):  # what it wrote is there unasked
            with self.subTest(policy=policy):
                arguments = self.arguments("--json", "--settle", "300ms", "--lockstep", "50ms", "--at", "every:2", "--gap", "end,compact,hold=20s",
                    "-o", os.path.join(self.folder, "out" + "".join(policy)), *policy, command=[sys.executable, "-c", WAITING, os.path.dirname(BLIND)])
                done = subprocess.run(arguments, capture_output=True, text=True, timeout=test_sweep.DEADLINE_S)
                self.assertEqual((done.returncode, [gap["verdict"] for gap in json.loads(done.stdout)["gaps"]]), (0, ["fine"]), done.stdout)
                self.assertRegex(done.stderr, remedy)

    def test_what_comes_to_an_end_only_where_it_finds_its_writes_is_swept_with_them(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        sweep = self.begin("--settle", "500ms", "--timeout", "6s", "--lockstep", "50ms", "--patterns", "unobserved", "--max", "1",
            command=[sys.executable, "-c", INSISTING, os.path.dirname(BLIND)])
        output, errors = sweep.communicate(timeout=test_sweep.DEADLINE_S)
        self.assertEqual(sweep.returncode, 0, output + errors)
        self.assertIn("all runs keep what the command writes (--write overlay), as it comes to no end if", errors)
        report = json.loads(output)
        self.assertEqual((report["fine"], report["without"]["ended_by"]), (1, "quiet"))

    def test_a_panic_that_comes_again_only_the_third_time_is_a_finding(self):
        marker = os.path.join(self.folder, "lists")
        with unittest.mock.patch.dict(os.environ, {"SELDOM": marker}):
            report = self.try_both("racing", "unobserved", "--at", "recreations", "--max", "1", "--jobs", "1")
        self.assertEqual([gap["differences"] for gap in self.wrong(report)], [["panic: assignment to entry in nil map"]])
        self.assertGreaterEqual(os.path.getsize(marker), 3)
        found = self.wrong(report)[0]
        self.assertEqual((found["further_runs"], found["further_wrong"] in (1, 2)), (3, True))

    def test_what_never_comes_again_is_no_finding(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        arguments = self.arguments("--at", "none", "--event", "type = 'DELETED' AND name = 'web-0'", "--settle", "1s",
            command=[sys.executable, BLIND, "buggy", "twice"])
        with unittest.mock.patch.dict(os.environ, {"SELDOM": os.path.join(self.folder, "lists")}):
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=test_sweep.DEADLINE_S)
        self.assertRegex(done.stdout, r"(?s)wrong twice, and not again: .*panic: assignment.*in 0 of 3 further runs as well.*0 of 1 faults make it go wrong")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_names_that_a_program_makes_up_are_one_name(self):
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "three.tape"))
        both = [self.begin("--settle", "1s", "--at", "deletions", "-o", os.path.join(self.folder, kind),
            command=[sys.executable, BLIND, kind, "drawn"]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        found = next(gap for gap in report["gaps"] if gap["verdict"] == "wrong" and gap["object"] == "default/web-2")
        self.assertEqual(found["differences"], ["configmaps default/web-2-* is left (without the gap: not)"])
        again = self.repeat(found["repeat"])
        self.assertEqual((again.returncode, again.stdout.splitlines()[1:]), (1, ["configmaps default/web-2-* is left (golden: not)"]), again.stderr)

    def test_so_are_names_that_it_makes_up_of_these(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        both = [self.begin("--settle", "1s", "--at", "deletions", "-o", os.path.join(self.folder, kind),
            command=[sys.executable, BLIND, kind, "nested"]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        found = next(gap for gap in report["gaps"] if gap["verdict"] == "wrong" and gap["object"] == "default/web-1")
        self.assertEqual(found["differences"], ["configmaps default/web-1-%s is left (without the gap: not)" % end for end in ("*", "*-*")])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_a_panic_is_told_once_without_the_ids_beside_it(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        for name, panic in (("json", '{"level":"error","msg":"Observed a panic","reconcileID":"%s","panic":"nil map at 0xc0001","stacktrace":"main.(*C).sync(...)"}'),
                ("klog", r'E1128 12:00:00.000000 %s runtime.go:1] "Observed a panic" panic="nil \"map\" at 0xc0001" panicGoValue="0xc1" stacktrace=<')):
            with self.subTest(log=name):
                script = """f="$0-$PPID"; [ -e "$f" ] && printf '%s\\n%s\\n' "$1" "$1" | sed "s/%%s/$$/"; touch "$f"; shift; exec "$@" """
                report = self.end(self.begin("--patterns", "restart", "--settle", "1500ms", "--max", "1", "-o", os.path.join(self.folder, name + ".sweep"),
                    command=["sh", "-c", script, os.path.join(self.folder, "restarted-" + name), panic, sys.executable, BLIND, "mended", "again"]), 1)
                self.assertEqual(self.wrong(report)[0]["differences"], ["Observed a panic: nil map at 0x" if name == "json" else r'Observed a panic: nil \"map\" at 0x'])

    def test_finds_that_a_new_object_gets_the_address_of_another_at_the_start(self):
        report = self.try_both("pool", "restart", story=Arriving)
        found = next((gap for gap in report["gaps"] if gap["object"] == "default/early-0"), None)
        self.assertEqual(found and found["verdict"], "wrong", found or report)
        self.assertEqual((found["kind"], found["gap"]), ("downtime", "restart"))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("configmaps default/early-0 is left with other content: data.address is", again.stdout)

    def test_addresses_assigned_in_another_order_are_no_finding(self):
        self.tape = Arriving(["web-0", "web-1"]).write(os.path.join(self.folder, "arriving.tape"))
        report = self.end(self.begin("--settle", "1500ms", "--at", "every:4", command=[sys.executable, BLIND, "mended", "pool"]), 0)
        self.assertEqual((report["wrong"], report["unsure"]), (0, 0))
        self.assertGreater(report["exchanged"], 0)
        self.assertEqual(report["exchanged"], sum(gap["verdict"] == "exchanged" for gap in report["gaps"]))

    def test_which_of_several_an_item_was_given_to_and_stays_with_is_no_finding(self):
        self.tape = Flapping(["owner-0", "owner-1", "owner-2"]).write(os.path.join(self.folder, "flapping.tape"))
        options = ["--settle", "1s", "--write", "overlay", "--lockstep", "50ms", "--patterns", "unobserved", "--at", "changes,deletions", "--max", "6"]
        both = [self.begin(*options, "-o", os.path.join(self.folder, kind),
            command=[sys.executable, "-c", STICKY, os.path.dirname(BLIND), kind]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertEqual((mended["wrong"], mended["unsure"], mended["exchanged"] > 0), (0, 0, True), mended)
        found = self.wrong(report)
        self.assertEqual({gap["object"] for gap in found}, {"default/owner-2"}, found)
        self.assertRegex(found[0]["differences"][0], r'is left with other content: endpoints\[\d\].nodeName is "owner-2"')

    def test_two_objects_that_keep_each_others_new_value_are_a_finding(self):
        self.tape = Swapped(["web-0", "web-1"]).write(os.path.join(self.folder, "swapped.tape"))
        report = self.end(self.begin("--settle", "1500ms", "--at", "every:4", command=[sys.executable, test_sweep.CONTROLLER, "buggy", "moved"]), 1)
        self.assertEqual(self.wrong(report)[0]["differences"], ['configmaps default/%s is left with other content: data.node is "node-%d" (without the gap: "node-%d")' % pod
            for pod in (("web-0", 0, 1), ("web-1", 1, 0))])


if __name__ == "__main__":
    unittest.main()
