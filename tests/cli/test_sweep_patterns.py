"""Each way of going blind that `kubetape sweep` tries: it finds a small controller that falls for it, and not the mended one."""

import html
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

import test_sweep
from replays import CONFIGMAPS, NODES, obj

TESTS_APART = True  # each takes long
BLIND = os.path.join(test_sweep.ROOT, "tests", "sweep", "blind.py")
# Says in a file whether two changes ever came within 30 ms.
HASTY = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
last = [0]
def changed(*_):
    now = time.monotonic()
    if now - last[0] < 0.03:
        open(sys.argv[2], "w").write("hurried")
    last[0] = now
open(sys.argv[2], "w").write("calm")
Informer(Cluster(), "/api/v1/pods", lambda pod: None, changed, changed).start()
time.sleep(600)
"""
# Makes a ConfigMap for each pod. If its watch does not show that in time, it makes it again and again, changes it and changes it back.
IMPATIENT = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
MAPS = "/api/v1/namespaces/default/configmaps"
cluster, seen = Cluster(), threading.Event()
def write(verb, path, name, value):
    cluster.ask(verb, path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
def make(pod):
    name = "of-" + pod["metadata"]["uid"]
    write("POST", MAPS, name, "0")
    if not seen.wait(float(sys.argv[2])):
        for _ in range(11):
            write("POST", MAPS, name, "0")
        for value in "121":
            write("PUT", MAPS + "/" + name, name, value)
maps = Informer(cluster, MAPS, lambda thing: seen.set(), lambda *_: None, lambda *_: None)
maps.start()
maps.synced.wait()
Informer(cluster, "/api/v1/pods", lambda pod: threading.Thread(target=make, args=(pod,)).start(), lambda *_: None, lambda *_: None).start()
time.sleep(600)
"""
# Makes a ConfigMap for each pod, which goes with it, and another one that goes with the first.
OWNED = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster = Cluster()
def make(owner, version, kind, **meta):
    meta["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner["name"], "uid": owner["uid"], "controller": True}]
    return cluster.ask("POST", "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})[1]
def added(pod):
    first = make(pod["metadata"], "v1", "Pod", name="of-" + pod["metadata"]["name"])
    make(first["metadata"], "v1", "ConfigMap", generateName="below-")
Informer(cluster, "/api/v1/pods", added, lambda *_: None, lambda *_: None).start()
time.sleep(600)
"""


class AtOneTime(test_sweep.Story):
    """All events have the time of the first one."""

    def event(self, at, *what, **more):
        return super().event(0, *what, **more)


class Wide(test_sweep.Story):
    """There is room for versions of others between its own."""

    def pod(self, name, life, phase, node, **meta):
        self.rv += 100
        return super().pod(name, life, phase, node, **meta)


class Growing(test_sweep.Story):
    """And then there is one more."""

    def __init__(self, names):
        super().__init__(names)
        self.next(test_sweep.PODS, "ADDED", self.pod("late-0", 0, "Running", "node-1"))


class Watched(test_sweep.Story):
    """Pods that begin to run, one after the other; the node of each changes afterwards, and all are left."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Pending", "node-" + name) for name in names])
        self.listed(test_sweep.NODES, self.rv, [self.node("node-" + name) for name in names])
        for name in names:
            self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 0, "Running", "node-" + name))
            self.next(test_sweep.NODES, "MODIFIED", self.node("node-" + name))


class InTurn(test_sweep.Story):
    """Pods that come and go, one after the other; the last one stays."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [])
        for name in names:
            self.next(test_sweep.PODS, "ADDED", self.pod(name, 0, "Running", "node-0"))
            if name != names[-1]:
                self.next(test_sweep.PODS, "DELETED", self.pod(name, 0, "Running", "node-0"))


class Failing(test_sweep.Story):
    """Pods that fail, are deleted and made anew, one after the other."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "node-0") for name in names])
        for name in names:
            self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 0, "Failed", "node-0"))
            self.next(test_sweep.PODS, "DELETED", self.pod(name, 0, "Failed", "node-0"))
            self.next(test_sweep.PODS, "ADDED", self.pod(name, 1, "Pending", "node-1"))
            self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 1, "Running", "node-1"))


class Leaving(test_sweep.Story):
    """A pod is deleted; others are as well, and made anew at once."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "node-0") for name in names])
        for name in names:
            self.next(test_sweep.PODS, "DELETED", self.pod(name, 0, "Running", "node-0"))
            if name != names[0]:
                self.next(test_sweep.PODS, "ADDED", self.pod(name, 1, "Running", "node-0"))


class Held(test_sweep.Story):
    """A finalizer holds each pod, also while it is to go."""

    def pod(self, name, life, phase, node, **meta):
        gone = phase == "Succeeded"
        return super().pod(name, life, phase, node, **meta, **({} if gone else {"finalizers": ["example.com/hold"]}))


class Claimed(test_sweep.Story):
    """Somebody makes a ConfigMap for each pod, for the new ones after all else."""

    def __init__(self, names):
        super().__init__(names)
        for name in names[:-1]:
            self.next(CONFIGMAPS, "ADDED", self.claim(name, 1))

    def claim(self, name, life):
        self.rv += 1
        return obj(CONFIGMAPS, "claim-" + name, self.rv, uid="claim-%s-%d" % (name, life), data={"uid": "%s-life-%d" % (name, life)})

    def listed(self, stream, rv, things):
        if stream == test_sweep.PODS:
            super().listed(CONFIGMAPS, rv, [self.claim(pod["metadata"]["name"], 0) for pod in things])
        return super().listed(stream, rv, things)

    def next(self, stream, kind, thing):
        super().next(stream, kind, thing)
        if stream == test_sweep.PODS and kind == "DELETED":
            super().next(CONFIGMAPS, "DELETED", self.claim(thing["metadata"]["name"], 0))


class Accompanied(test_sweep.Story):
    """Recorded while `owner` ran: with a ConfigMap for each pod, of which somebody else reports something."""

    def __init__(self, names):
        super().__init__(names)
        self.next(NODES, "MODIFIED", self.node("node-1"))

    def listed(self, stream, rv, things):
        if stream == test_sweep.PODS:
            super().listed(CONFIGMAPS, rv, [])
        super().listed(stream, rv, things)
        for pod in things if stream == test_sweep.PODS else []:
            self.beside(pod, "ADDED")
        return self

    def beside(self, pod, kind, **data):
        meta = pod["metadata"]
        self.rv += 1
        super().next(CONFIGMAPS, kind, obj(CONFIGMAPS, meta["name"], self.rv, uid="of-" + meta["uid"], data={"uid": meta["uid"], **data}))

    def next(self, stream, kind, thing):
        super().next(stream, kind, thing)
        if stream != test_sweep.PODS:
            return
        if kind == "DELETED":
            self.beside(thing, "DELETED")
        elif kind == "ADDED":
            self.beside(thing, "ADDED")
            self.beside(thing, "MODIFIED", seen="yes")


class AlreadyMarked(test_sweep.Story):
    """Recorded while `marked` ran: with a ConfigMap for each new pod, which is marked then."""

    MANAGER = {"manager": "small-controller", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:marked": {}}}}}

    def listed(self, stream, rv, things):
        if stream == test_sweep.PODS:
            super().listed(CONFIGMAPS, rv, [])
        return super().listed(stream, rv, things)

    def next(self, stream, kind, thing):
        super().next(stream, kind, thing)
        if stream == test_sweep.PODS and kind == "ADDED":
            self.rv += 2
            super().next(CONFIGMAPS, "ADDED", obj(CONFIGMAPS, thing["metadata"]["name"], self.rv - 1, data={}))
            meta = {**thing["metadata"], "resourceVersion": str(self.rv), "annotations": {"marked": "yes"}, "managedFields": [self.MANAGER]}
            super().next(stream, "MODIFIED", {**thing, "metadata": meta})

    def pod(self, name, life, phase, node, **meta):
        if life == 1 and phase == "Running":
            meta |= {"annotations": {"marked": "yes"}, "managedFields": [self.MANAGER]}
        return super().pod(name, life, phase, node, **meta)


class Made(test_sweep.Story):
    """In the end somebody makes a ConfigMap as `steps` does."""

    def __init__(self, names):
        super().__init__(names)
        self.next(CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "first-web-0", 900, data={}))

    def listed(self, stream, rv, things):
        if stream == test_sweep.PODS:
            super().listed(CONFIGMAPS, rv, [])
        return super().listed(stream, rv, things)


class Unbound(test_sweep.Story):
    """Pods without a node, which get one, end, and are made anew; the second one is that of another scheduler."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [])
        for number, name in enumerate(names):
            for life in range(2):
                self.live(name, life, {} if number != 1 else {"schedulerName": "other"})

    def live(self, name, life, spec):
        for kind, phase, node in (("ADDED", "Pending", {}), ("MODIFIED", "Pending", {"nodeName": "node-0"}), ("MODIFIED", "Running", {"nodeName": "node-0"})):
            pod = self.pod(name, life, phase, None)
            pod["spec"] = {**spec, **node}
            self.next(test_sweep.PODS, kind, pod)
        if life == 0:
            self.next(test_sweep.PODS, "DELETED", pod)


class SweepPatternsTest(unittest.TestCase):
    setUp = test_sweep.SweepTest.setUp
    arguments, sweep, repeat = test_sweep.SweepTest.arguments, test_sweep.SweepTest.sweep, test_sweep.SweepTest.repeat
    begin, end, wrong = test_sweep.SweepTest.begin, test_sweep.SweepTest.end, test_sweep.SweepTest.wrong

    def try_both(self, name, pattern, *options, pods=("web-0", "web-1"), story=test_sweep.Story):
        self.tape = story(pods).write(os.path.join(self.folder, "short.tape"))
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

    def test_finds_that_what_the_program_makes_anew_is_not_looked_at_when_its_own_deletion_passes_unseen(self):
        report = self.try_both("renewed", "unobserved", "--at", "own", "--write", "overlay", "--lockstep", "50ms", story=Growing)
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["write"], found["gap"]), ("own", "delete configmaps", "end,compact"))
        self.assertIn("configmaps default/seen-web-0 is left with other content: data.uid", found["differences"][0])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_finds_leftovers_of_what_was_deleted_while_the_program_was_down(self):
        report = self.try_both("orphan", "unobserved", "--at", "downtimes")
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["object"], found["gap"]), ("downtime", "default/web-1", "restart"))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("configmaps default/web-1 is left", again.stdout)

    def test_what_it_makes_again_for_lack_of_an_owner_in_an_older_list_is_a_finding_only_if_asked_for(self):
        self.tape = Growing(["web-0"]).write(os.path.join(self.folder, "growing.tape"))
        both = [self.begin("--settle", "1500ms", "--max", "18", *options, "-o", os.path.join(self.folder, "out-%d" % len(options)),
            command=[sys.executable, BLIND, "mended", "orphan"]) for options in ([], ["--patterns", "stale"])]
        report, asked = self.end(both[0], 0), self.end(both[1], 1)
        again = [gap for gap in report["gaps"] if gap["verdict"] == "made again"]
        self.assertEqual(len(again), report["made_again"])
        self.assertEqual({line for gap in again for line in gap["differences"]}, {"deletions of the earlier configmaps default/late-0"})
        self.assertEqual({gap["differences"][0] for gap in self.wrong(asked)}, {"1 deletions of the earlier configmaps default/late-0 (without the fault: 0)"})

    def test_finds_trust_in_an_older_list_after_a_restart(self):
        report = self.try_both("owner", "stale", "--max", "3")
        found = self.wrong(report)[0]
        self.assertIn("2 deletions of the earlier configmaps default/web-0 (without the fault: 1)", found["differences"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertRegex(again.stdout, "WRONG: the faults of .*faults.json")

    def test_finds_trust_in_an_older_list_where_what_it_spoils_comes_last(self):
        report = self.try_both("claims", "stale", "--max", "6", story=Claimed)
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["resource"], found["write"]), ("ending", "pods", None))
        self.assertEqual(found["differences"], ["configmaps default/claim-web-0 is deleted (without the gap: not)",
            "2 deletions of the earlier configmaps default/claim-web-0 (without the fault: 1)"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_which_of_its_own_versions_a_program_saw_is_not_compared(self):
        self.tape = Wide(["web-0", "web-1"]).write(os.path.join(self.folder, "wide.tape"))
        report = self.end(self.begin("--settle", "1s", "--patterns", "restart", command=[sys.executable, BLIND, "mended", "versions"]), 0)
        self.assertGreater(report["fine"], 0)

    def test_the_last_write_of_each_kind_comes_early(self):
        self.tape = test_sweep.Story(["web-%d" % n for n in range(4)]).write(os.path.join(self.folder, "four.tape"))
        report = self.end(self.begin("--patterns", "restart", "--max", "7", "--settle", "1500ms", command=[sys.executable, BLIND, "mended", "owner"]), 0)
        asked = [test_sweep.KUBETAPE, "query", self.tape, "--format", "ndjson",
            "SELECT max(iif(type = 'ADDED' AND origin = 'watch', seq, 0)) AS made, max(iif(type = 'DELETED', seq, 0)) - 1 AS asked FROM events"]
        last = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
        places = [(gap["write"], gap["seq"]) for gap in report["gaps"] if gap["write"] and not gap["nth"]]
        self.assertEqual(len(places), 4)
        self.assertGreaterEqual(max(places)[1], last["asked"])
        self.assertGreaterEqual(max(seq for write, seq in places if write == "create configmaps"), last["made"])

    def test_writes_to_what_is_to_go_are_of_another_kind_and_find_a_place_however_many_come_before(self):
        self.tape = Held(["web-%d" % n for n in range(7)]).write(os.path.join(self.folder, "seven.tape"))
        report = self.end(self.begin("--patterns", "restart", "--settle", "1s", command=[sys.executable, BLIND, "mended", "leaver"]), 0)
        places = [gap["nth"] for gap in report["gaps"] if gap["write"] == "update pods" and gap["gap"] == "restart,after"]
        self.assertEqual(places.count(0), 12)
        self.assertEqual({nth for nth in places if nth}, {2, 3, 4, 5, 6, 7})  # the pods that are there at first are written at once

    def test_neither_the_order_of_a_list_of_objects_or_of_an_object_in_a_text_nor_the_version_of_a_reference_is_compared(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        report = self.end(self.begin("--settle", "1s", "--max", "2", command=[sys.executable, BLIND, "mended", "ports"]), 0)
        self.assertEqual((report["unsteady"], report["without"]["left"]), ([], 2))

    def test_says_when_the_tape_makes_what_the_program_makes(self):
        self.tape = Made(["web-0"]).write(os.path.join(self.folder, "made.tape"))
        done = self.sweep("--settle", "1s", "--max", "1", command=[sys.executable, BLIND, "mended", "steps"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 of the objects that the command makes are on the tape as well", done.stderr)

    def test_what_the_tape_makes_too_is_left_to_the_program(self):
        self.tape = Accompanied(["web-%d" % n for n in range(3)]).write(os.path.join(self.folder, "accompanied.tape"))
        both = [self.begin("--patterns", "stale", "--max", "4", "--settle", "1500ms", "-o", os.path.join(self.folder, kind), command=[sys.executable, BLIND, kind, "owner"])
            for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        with open(os.path.join(self.folder, "mended", "awaited.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read().split(), [*("create,delete=configmaps/default/web-%d" % n for n in range(2)), *("delete=configmaps/default/web-%d" % n for n in range(3))])
        self.assertEqual(self.repeat(self.wrong(report)[0]["repeat"]).returncode, 1)

    def test_so_is_what_both_write_to_objects_of_others(self):
        self.tape = AlreadyMarked(["web-0", "web-1"]).write(os.path.join(self.folder, "marked.tape"))
        run = self.begin("--patterns", "unobserved", "--max", "4", "--settle", "1500ms", "-o", os.path.join(self.folder, "marked"),
            command=[sys.executable, BLIND, "mended", "marked"])
        self.assertGreater(self.end(run, 0)["fine"], 0)
        with open(os.path.join(self.folder, "marked", "awaited.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "configmaps/default/web-0\nupdate=pods:small-controller\n")

    def test_so_is_what_the_program_makes_by_applying_it(self):
        self.tape = Accompanied(["web-0", "web-1"]).write(os.path.join(self.folder, "applied.tape"))
        run = self.begin("--patterns", "unobserved", "--at", "recreations,changes", "--max", "8", "--settle", "1s", "--write", "overlay", "--lockstep", "50ms",
            "-o", os.path.join(self.folder, "applied"), command=[sys.executable, BLIND, "mended", "applied"])
        self.assertGreater(self.end(run, 0)["fine"], 0)
        with open(os.path.join(self.folder, "applied", "awaited.txt"), encoding="utf-8") as f:
            self.assertIn("create,delete=configmaps/default/web-0\n", f.read())

    def test_so_is_binding_pods_to_nodes(self):
        report = self.try_both("binder", "unobserved", story=Unbound, pods=("web-0", "web-1", "web-2"))
        self.assertEqual({gap["kind"] for gap in self.wrong(report)}, {"recreation", "replacement"})
        with open(os.path.join(self.folder, "mended", "awaited.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), "update=pods/binding:default-scheduler\n")

    def test_unless_somebody_else_made_it_and_the_user_says_so(self):
        self.tape = Made(["web-0"]).write(os.path.join(self.folder, "made.tape"))
        done = self.sweep("--settle", "1s", "--max", "1", "--await", "none", command=[sys.executable, BLIND, "mended", "steps"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("on the tape as well", done.stderr)

    def test_says_when_there_is_nothing_to_compare(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        idle = "import sys, time; sys.path.insert(0, sys.argv[1]); from informer import *; nothing = lambda *_: None; " \
            "Informer(Cluster(), '/api/v1/pods', nothing, nothing, nothing).start(); time.sleep(600)"
        done = self.sweep("--settle", "1s", "--max", "1", command=[sys.executable, "-c", idle, os.path.dirname(BLIND)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing that it wrote is left to compare: give it a --probe", done.stdout)

    def test_says_what_the_program_asks_for_in_vain(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        waits = "import sys, time; sys.path.insert(0, sys.argv[1]); from informer import *; nothing = lambda *_: None; " \
            "Informer(Cluster(), '/api/v1/pods', nothing, nothing, nothing).start(); " \
            "[Cluster().open('GET', '/apis/example.com/v1/things')[0].close() for _ in range(4)]; time.sleep(600)"
        sweep = self.begin("--settle", "1s", "--max", "1", command=[sys.executable, "-c", waits, os.path.dirname(BLIND)])
        _, errors = sweep.communicate(timeout=test_sweep.DEADLINE_S)
        self.assertIn("the command asked 4 times for things.example.com (v1), which the tape does not have", errors)

    def test_finds_trust_in_a_state_that_the_answer_to_it_has_ended(self):
        report = self.try_both("finalizer", "stale", "--lockstep", "50ms", "--max", "3", story=Held)
        found = self.wrong(report)[0]
        self.assertEqual((found["resource"], found["what"], found["before_answer"]), ("pods", "about to be deleted", True))
        self.assertIn("2 deletions of the earlier configmaps default/web-0 (without the fault: 1)", found["differences"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_a_finalizer_that_tape_and_program_take_away_is_left_to_the_program(self):
        self.tape = Held(["web-0"]).write(os.path.join(self.folder, "held.tape"))
        both = [self.begin("--settle", "1500ms", *options, "-o", os.path.join(self.folder, kind), command=[sys.executable, BLIND, kind, "cleaner"])
            for kind, options in (("mended", ("--patterns", "unobserved")), ("buggy", ("--patterns", "restart")))]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertIn("termination", {gap["kind"] for gap in mended["gaps"] if gap["verdict"] == "fine"})
        found = self.wrong(report)[0]
        self.assertEqual((found["write"], found["differences"]), ("update pods", ["configmaps default/web-0 is left (without the gap: not)"]))
        self.assertIn("--hold-finalizer example.com/hold", found["repeat"])
        self.assertEqual(self.repeat(found["repeat"]).returncode, 1)

    def test_the_same_where_the_user_has_writes_kept(self):
        self.tape = Held(["web-0"]).write(os.path.join(self.folder, "held.tape"))
        run = self.begin("--settle", "1500ms", "--patterns", "unobserved", "--write", "overlay", "--lockstep", "50ms",
            command=[sys.executable, BLIND, "mended", "cleaner"])
        self.assertEqual({gap["kind"] for gap in self.end(run, 0)["gaps"] if gap["verdict"] == "fine"} & {"termination"}, {"termination"})

    def test_finds_trust_in_two_older_caches_that_agree(self):
        report = self.try_both("caches", "stale", "--max", "4")
        found = self.wrong(report)[0]
        self.assertEqual((found["resource"], found["others"]), ("pods", "configmaps"))
        self.assertLess(found["others_as_of_seq"], found["as_of_seq"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_finds_that_an_error_is_taken_for_a_write_undone(self):
        report = self.try_both("again", "writes", "--max", "6")
        self.assertLessEqual({gap["gap"] for gap in self.wrong(report)}, {"write_error=504,after", "write_reset,after"})

    def test_finds_that_the_program_learns_of_its_write_from_a_watch_before_the_answer_comes(self):
        report = self.try_both("promised", "writes", "--lockstep", "50ms", pods=("web-0",), story=Growing)
        found = self.wrong(report)[0]
        self.assertEqual((found["gap"], found["differences"]), ("write_late=1s", ["configmaps default/second-web-0 is missing"]))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_a_program_that_tries_again_after_ever_longer_pauses_is_given_the_time_for_it(self):
        refused = os.path.join(self.folder, "refused.json")
        with open(refused, "w") as f:
            json.dump({"rules": [{"when": {"write": "create configmaps"}, "what": {"do": "write_error", "code": 500}, "times": 6}]}, f)
        report = self.try_both("doubling", "writes", "--faults", refused, "--settle", "1s", pods=("web-0",))
        found = self.wrong(report)[0]
        self.assertIn("configmaps default/web-0 is missing", found["differences"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_a_program_that_is_never_quiet_for_that_long_is_judged_by_what_is_left(self):
        refused = os.path.join(self.folder, "refused.json")
        with open(refused, "w") as f:
            json.dump({"rules": [{"when": {"write": "create configmaps"}, "what": {"do": "write_error", "code": 500}, "times": 6}]}, f)
        report = self.try_both("asking", "writes", "--faults", refused, "--settle", "1s", "--timeout", "20s", pods=("web-0",))
        found = self.wrong(report)[0]
        self.assertEqual(found["differences"], ["configmaps default/web-0 is missing"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_a_program_that_passes_over_what_comes_too_fast_is_swept_in_lockstep(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        done = self.sweep("--patterns", "writes", "--settle", "1500ms", "--max", "6", command=[sys.executable, BLIND, "mended", "queued"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("at --speed max the command comes to something else than in lock-step", done.stderr)

    def test_what_the_tape_does_to_an_object_is_not_taken_for_the_work_of_a_program_that_wrote_it(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        report = self.end(self.begin("--patterns", "restart", "--lockstep", "50ms", "--settle", "1500ms", command=[sys.executable, BLIND, "mended", "marked"]), 0)
        self.assertIn("update pods", {gap["write"] for gap in report["gaps"]})

    def test_finds_that_what_the_program_writes_to_an_object_is_taken_for_all_that_changed_there(self):
        report = self.try_both("noticed", "unobserved", "--at", "overwrites", "--lockstep", "50ms", story=Watched)
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["what"]), ("overwrite", "status.phase Running, then written in answer to nodes"))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_finds_that_what_the_program_wrote_is_not_forgotten_with_an_object_that_no_watch_has_shown_so(self):
        report = self.try_both("seated", "unobserved", "--at", "own", "--lockstep", "50ms", story=InTurn, pods=("web-0", "web-1", "web-2"))
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["write"], found["object"]), ("own", "update pods", "default/web-0"))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_finds_that_the_program_waits_for_its_own_deletion_of_what_others_have_made_again(self):
        report = self.try_both("evicted", "unobserved", "--at", "own", "--lockstep", "50ms", "--write", "overlay", story=Failing, pods=("web-0",))
        found = self.wrong(report)[0]
        self.assertEqual((found["kind"], found["write"], found["what"]), ("own", "delete pods", "made again"))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_what_goes_wrong_with_a_harmless_cut_as_well_is_found_as_an_ordinary_end_of_the_watch_there(self):
        report = self.try_both("onward", "unobserved,coalesced", "--max", "12", story=Leaving, pods=("web-0", "web-1", "web-2"))
        self.assertIn("wrong when cut", {gap["verdict"] for gap in report["gaps"]})
        found = next(gap for gap in self.wrong(report) if gap["gap"] == "end")
        self.assertEqual((found["pattern"], found["resource"]), ("coalesced", "pods"))
        self.assertIn("configmaps default/web-0 is left (without the gap: not)", found["differences"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_finds_that_own_writes_are_counted_by_what_a_watch_says(self):
        report = self.try_both("count", "echo", "--speed", "4")
        self.assertIn("echo", {gap["pattern"] for gap in self.wrong(report)})

    def test_what_lasts_the_whole_tape_begins_before_its_first_event(self):
        self.tape = AtOneTime(["web-0"]).write(os.path.join(self.folder, "once.tape"))
        report = self.end(self.begin("--patterns", "echo", "--lockstep", "50ms", "--settle", "1500ms", command=[sys.executable, BLIND, "mended", "count"]), 0)
        self.assertEqual([(gap["resource"], gap["verdict"], gap["late_writes"]) for gap in report["gaps"]], [("configmaps", "fine", late) for late in (0, 2)])

    def test_finds_what_passes_too_fast_to_be_looked_at(self):
        report = self.try_both("verified", "coalesced", "--lockstep", "300ms", pods=("web-0",))
        self.assertIn("termination", {gap["kind"] for gap in self.wrong(report)})

    def test_finds_that_a_resource_not_yet_listed_is_taken_for_empty(self):
        report = self.try_both("join", "slow")
        self.assertEqual([gap["resource"] for gap in self.wrong(report)], ["nodes"])

    def test_findings_of_one_cause_are_told_once_and_for_machines(self):
        files = {name: os.path.join(self.folder, "found." + name) for name in ("junit", "sarif", "html")}
        options = [word for name, path in files.items() for word in ("--" + name, path)]
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "three.tape"))
        done = self.sweep("--patterns", "writes", "--settle", "1500ms", "--max", "6", *options,
            command=[sys.executable, BLIND, "buggy", "again"])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("\n1 cause\n", done.stdout)
        self.assertEqual(done.stdout.count("WRONG:"), 1)
        suite = xml.etree.ElementTree.parse(files["junit"]).getroot().find("testsuite")
        cases = list(suite.iter("testcase"))
        self.assertEqual((int(suite.get("tests")), int(suite.get("failures"))), (len(cases), len(list(suite.iter("failure")))))
        self.assertGreater(int(suite.get("failures")), 1)
        with open(files["sarif"]) as f:
            results = json.load(f)["runs"][0]["results"]
        self.assertEqual([result["ruleId"] for result in results], ["writes"])
        with open(files["html"]) as f:
            self.assertIn(results[0]["properties"]["repeat"], html.unescape(f.read()))

    def test_an_invariant_that_is_broken_only_with_a_fault_is_a_finding_and_its_line_repeats_it(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        twice = "SELECT name FROM writes WHERE status = 409 GROUP BY name HAVING count(*) > 1"
        done = self.sweep("--patterns", "restart", "--settle", "1500ms", "--max", "4", "--invariant", twice, "--invariant", "@no-hot-loop",
            command=[sys.executable, BLIND, "mended", "again"])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("    invariant SELECT name FROM writes WHERE status = 409 GROUP BY name HAVING count(*) > 1 is broken: web-0\n", done.stdout)
        line = next(line for line in done.stdout.splitlines() if line.startswith("    kubetape sweep "))
        again = self.repeat(line)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("is broken: web-0", again.stdout)
        self.assertNotIn("it was sent", again.stdout)  # nobody has counted

    def test_what_a_program_makes_again_or_takes_back_as_it_sees_its_own_writes_late_breaks_invariants(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        for patience, asked, said in (("2.5", ["@no-create-loop"], "invariant @no-create-loop is broken: configmaps default/of-web-0-life-0, 11 times\n"),
                ("2.5", ["@no-flapping"], "invariant @no-flapping is broken: configmaps default/of-web-0-life-0\n"),
                ("30", ["@no-create-loop", "@no-flapping"], "\n0 of 2 faults make it go wrong\n")):
            with self.subTest(patience=patience, asked=asked):
                done = self.sweep("--patterns", "echo", "--settle", "1500ms", "--wait-watchers", "2", "--compare", "exit", "-o", os.path.join(self.folder, patience + asked[0]),
                    *(word for name in asked for word in ("--invariant", name)), command=[sys.executable, "-c", IMPATIENT, os.path.dirname(BLIND), patience])
                self.assertIn(said, done.stdout, done.stderr)

    def test_an_invariant_with_a_name_is_told_by_it_in_every_report(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        twice = "SELECT name FROM writes WHERE status = 409 GROUP BY name HAVING count(*) > 1"
        files = {form: os.path.join(self.folder, f"report.{form}") for form in ("junit", "sarif", "html")}
        done = self.sweep("--patterns", "restart", "--settle", "1500ms", "--max", "4", "--invariant", "no-second-conflict=" + twice, "--json",
            *(word for form, file in files.items() for word in ("--" + form, file)), command=[sys.executable, BLIND, "mended", "again"])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = {form: Path(file).read_text(encoding="utf-8") for form, file in files.items()}
        for form, text in {"json": done.stdout, **told}.items():
            with self.subTest(form=form):
                self.assertIn("invariant no-second-conflict is broken: web-0", text)
        repeat = json.loads(done.stdout)["causes"][0]["repeat"]
        self.assertIn("no-second-conflict=" + twice, repeat)
        self.assertEqual(self.repeat(repeat).returncode, 1)

    def test_an_invariant_that_stays_broken_ends_the_run_and_one_for_the_end_does_not(self):
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "three.tape"))
        twice = "SELECT name FROM writes WHERE status = 409 GROUP BY name HAVING count(*) > 1"
        at_the_end = "SELECT 'too few' FROM (SELECT count(*) AS n FROM writes) WHERE n < 5"
        done = self.sweep("--patterns", "restart", "--settle", "500ms", "--speed", "3", "--max", "1", "--invariant", twice, "--invariant", at_the_end,
            command=[sys.executable, BLIND, "mended", "again"])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"    invariant SELECT name .+ > 1 is broken: web-\d\n"
            r" +\(seen at event \d+, and still after that: the run was ended\)\n")
        self.assertNotIn("is broken: too few", done.stdout)

    def test_what_a_program_serves_is_asked_before_it_ends(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        probe = 'cat "%s/served"; exit 4' % self.folder
        command = ["sh", "-c", 'echo started >"%s/served"; [ -e "%s/served-$PPID" ] && echo again >>"%s/served"; touch "%s/served-$PPID"; '
            'exec "%s" "%s" mended again' % (4 * (self.folder,) + (sys.executable, BLIND))]
        done = self.sweep("--patterns", "restart", "--settle", "1500ms", "--max", "1", "-j", "1", "--probe", probe, command=command)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"the probe prints started.+again.+\(exit code 4\) \(without the fault: started.+\(exit code 4\)\)")

    def test_of_a_probe_that_prints_nothing_the_exit_code_counts(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        begun, again = (os.path.join(self.folder, name) + "-$PPID" for name in ("begun", "again"))  # the replay is the parent of both, and of the probe
        command = ["sh", "-c", f'[ ! -e "{begun}" ] || touch "{again}"; touch "{begun}"; exec "{sys.executable}" "{BLIND}" mended again']
        done = self.sweep("--patterns", "restart", "--settle", "500ms", "--max", "1", "-j", "1", "--probe", f'[ ! -e "{again}" ]', command=command)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the probe prints 0 lines, and ends with exit code 0\n", done.stdout)
        self.assertIn("the probe prints (exit code 1) (without the fault: (exit code 0))", done.stdout)

    def test_a_probe_that_cannot_tell_anything_is_refused(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        goes_on = [sys.executable, BLIND, "mended", "again"]
        for probe, command, code, said in (
                ("no-such-program --now", goes_on, 2, "the probe 'no-such-program --now' cannot be run: it ends with exit code 127, as sh does"),
                ("echo", ["sh", "-c", "exit 4"], 1, "without any gap the probe is never asked: the command ends by itself, with exit code 4, "
                    f"before it is quiet at the tape's end; see '{self.folder}/1/without-1.log'")):
            with self.subTest(probe=probe):
                done = self.sweep("--settle", "500ms", "--wait-watchers", "0", "--probe", probe, "-o", os.path.join(self.folder, str(code)), command=command)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertEqual(done.stderr.splitlines()[-1], "kubetape sweep: " + said)

    def test_a_program_whose_answers_hang_on_the_pace_is_swept_in_lockstep(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        answer = os.path.join(self.folder, "answer")
        done = self.sweep("--patterns", "slow", "--settle", "500ms", "-j", "1", "--probe", "cat '%s'" % answer,
            command=[sys.executable, "-c", HASTY, os.path.dirname(BLIND), answer])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("each event waits until the command is quiet (--lockstep 50ms), as at --speed max the command comes to something else than in lock-step: there,",
            done.stderr)
        self.assertIn("the probe prints calm", done.stderr.replace("...", ""))

    def test_what_the_garbage_collector_takes_away_is_not_left(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        done = self.sweep("--patterns", "slow", "--settle", "500ms", "--gc", "--write", "overlay", "--lockstep", "50ms", "--json", "-j", "1",
            command=[sys.executable, "-c", OWNED, os.path.dirname(BLIND)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["without"]["left"], 2)

    def test_a_panic_in_the_output_is_a_finding_whatever_is_left(self):
        once = os.path.join(self.folder, "restarted")
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        out = os.path.join(self.folder, "out")
        done = self.sweep("--patterns", "restart", "--settle", "1500ms", "--max", "1", "-j", "1", "-o", out, command=["sh", "-c",
            'f="%s-$PPID"; [ -e "$f" ] && echo "panic: nil map at 0xc0001" && printf "goroutine 1 [running]:\nmain.(*C).sync(0xc000)\n"; touch "$f"; '
            'exec "%s" "%s" mended again' % (once, sys.executable, BLIND)])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("    panic: nil map at 0x at main.(*C).sync\n", done.stdout)
        with open(os.path.join(out, "sweep.json"), encoding="utf-8") as report:
            self.assertEqual(json.load(report)["causes"][0]["cause"], "panic: nil map at 0x at main.(*C).sync")

    def test_what_goes_wrong_in_another_way_each_time_is_no_finding(self):
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "one.tape"))
        for words, code, said, unsaid in (("first" + 6 * " second", 1, "    panic: second\n", "panic: first"),
                ("first second third", 3, "wrong once, and not again", "WRONG")):
            with self.subTest(words=words):
                out = os.path.join(self.folder, words.replace(" ", "-"))
                done = self.sweep("--patterns", "restart", "--settle", "1500ms", "--max", "1", "-j", "1", "-o", out, command=["sh", "-c",
                    'f="%s-$PPID"; [ -e "$f" ] && echo >>"%s-count" && echo "panic:" $(echo %s | cut -d" " -f $(wc -l <"%s-count")); touch "$f"; '
                    'exec "%s" "%s" mended again' % (out, out, words, out, sys.executable, BLIND)])
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stdout)
                self.assertNotIn(unsaid, done.stdout)

    def test_an_invariant_that_does_not_exist_is_refused(self):
        done = self.sweep("--invariant", "@no-moon", command=["true"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown invariant '@no-moon'", done.stderr)
        done = self.sweep("--invariant", "SELECT nonsense FROM writes", command=["true"])
        self.assertEqual((done.returncode, done.stderr), (2, "kubetape sweep: bad invariant 'SELECT nonsense FROM writes': no such column: nonsense\n"))
        for given, said in (("odd=SELECT nonsense FROM writes WHERE 1=1", "bad invariant 'odd': no such column: nonsense"),
                ("odd= ;", "invariant 'odd= ;' names no query: expected NAME=SQL"),
                ("n" * 61 + "=SELECT 1", "the name of invariant '" + "n" * 61 + "=SELECT 1' is longer than 60 bytes")):
            with self.subTest(given=given):
                done = self.sweep("--invariant", given, "-o", os.path.join(self.folder, "named"), command=["true"])
                self.assertEqual((done.returncode, done.stderr), (2, f"kubetape sweep: {said}\n"))
        done = self.sweep("--invariant", "odd=SELECT 1 WHERE 0", "--invariant", "odd=SELECT 2 WHERE 0", command=["true"])
        self.assertEqual((done.returncode, done.stderr), (2, "kubetape sweep: two invariants are named 'odd'\n"))

    def test_what_failed_in_an_earlier_sweep_is_tried_first(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        earlier = os.path.join(self.folder, "earlier")
        command = [sys.executable, BLIND, "mended", "again"]
        first = self.end(self.begin("--patterns", "restart", "--settle", "500ms", "-o", earlier, command=command), 0)
        with open(os.path.join(earlier, "sweep.json")) as f:
            kept = json.load(f)
        kept["gaps"][-1]["verdict"] = "wrong"
        with open(os.path.join(earlier, "sweep.json"), "w") as f:
            json.dump(kept, f)
        again = self.end(self.begin("--patterns", "restart", "--settle", "500ms", "--again", earlier, command=command), 0)
        place = lambda gap: (gap["write"], gap["seq"], gap["gap"])
        self.assertEqual(place(again["gaps"][0]), place(first["gaps"][-1]))
        self.assertEqual(len(again["gaps"]), len(first["gaps"]))
        missing = self.sweep("--patterns", "restart", "--settle", "500ms", "--again", "/no/such", "-o", os.path.join(self.folder, "third"), command=command)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("/no/such/sweep.json", missing.stderr)

    def test_a_budget_that_is_spent_is_told(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(os.path.join(self.folder, "two.tape"))
        done = self.sweep("--patterns", "restart", "--settle", "500ms", "--budget", "1ms", "-j", "1", command=[sys.executable, BLIND, "mended", "again"])
        self.assertIn("faults were not tried: the --budget was spent before one of each sort was, such as restart: create configmaps after event ", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_a_pattern_that_does_not_exist_is_refused(self):
        done = self.sweep("--patterns", "restart,moon", command=["true"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("bad pattern 'moon'", done.stderr)
