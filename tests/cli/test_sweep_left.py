"""What `kubetape sweep` finds left at the end, under names that the tape has used and given up."""

import json
import os
import subprocess
import sys
import unittest

import test_sweep
import test_sweep_patterns
from replays import CONFIGMAPS, DEPLOYMENTS, NODES, PODS, Tape, obj

TESTS_APART = True  # each takes long


# How many pods have failed, and what that means. The buggy one marks it for good when a deletion has passed unseen.
TALLYING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, failed, torn = Cluster(), set(), []
PATH = "/api/v1/namespaces/default/replicationcontrollers/tally?fieldManager=tally&force=true"
TEMPLATE = {"metadata": {"labels": {"app": "t"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
def tell():
    state = "torn" if torn else "bad" if len(failed) > 2 else "good"
    cluster.ask("PATCH", PATH, {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "tally", "labels": {"state": state}},
        "spec": {"replicas": len(failed), "selector": {"app": "t"}, "template": TEMPLATE}})
def look(pod, *_):
    if pod["status"]["phase"] == "Failed":
        failed.add(pod["metadata"]["uid"])
    tell()
def gone(pod, tombstone):
    if tombstone and sys.argv[2] == "buggy":
        torn.append(pod)
    tell()
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), gone).start()
time.sleep(600)
"""


# The same number as a text, from the first one on, under a name that paths have to quote.
COUNTING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, failed = Cluster(), set()
PATH = "/api/v1/namespaces/default/configmaps/failures?fieldManager=counting&force=true"
def look(pod, *_):
    if pod["status"]["phase"] == "Failed":
        failed.add(pod["metadata"]["uid"])
        cluster.ask("PATCH", PATH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "failures"}, "data": {"web.failed": str(len(failed))}})
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


# A revision for each state of a pod, of which the last two are kept. The buggy one takes a failure only from who ran before.
NUMBERING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, states, made = Cluster(), {}, {}
PATH = "/api/v1/namespaces/default/configmaps"
def look(pod, *_):
    name, state = pod["metadata"]["name"], pod["status"]["phase"] + "-" + pod["metadata"]["labels"]["app"]
    old = states.get(name, "")
    if state == old or (sys.argv[2] == "buggy" and state.startswith("Failed") and not old.startswith("Running")):
        return
    states[name], made[name] = state, made.get(name, 0) + 1
    cluster.ask("POST", PATH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s-rev-%d" % (name, made[name])},
        "data": {"state": state, "number": str(made[name])}})
    if made[name] > 2:
        cluster.ask("DELETE", PATH + "/%s-rev-%d" % (name, made[name] - 2))
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


# Takes its finalizer off pods that are to go once their owner is gone. The buggy one does not look at them again when it learns
# of the owner's end after theirs.
LETTING_GO = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, owners, pods = Cluster(), set(), {}
Informer.pause_s = 0.3  # longer than an event waits for in lock-step
def look(pod, *_):
    meta = pod["metadata"]
    pods[meta["uid"]] = pod
    if "deletionTimestamp" in meta and meta["ownerReferences"][0]["uid"] not in owners and meta.pop("finalizers", None):
        cluster.ask("PUT", "/api/v1/namespaces/default/pods/" + meta["name"], pod)
def owner_has_gone(owner, *_):
    owners.discard(owner["metadata"]["uid"])
    for pod in list(pods.values()) if sys.argv[2] == "mended" else []:
        look(pod)
maps = Informer(cluster, "/api/v1/configmaps", lambda owner: owners.add(owner["metadata"]["uid"]), lambda *_: None, owner_has_gone)
maps.start()
maps.synced.wait()
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


# Who of two leads: the first that runs, until it fails; and how often that has changed.
LEADING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, phases, lead = Cluster(), {}, {"leader": "", "epoch": 0}
Informer.pause_s = 0.3  # longer than an event waits for in lock-step
PATH = "/api/v1/namespaces/default/configmaps/lead?fieldManager=leading&force=true"
def look(pod, *_):
    phases[pod["metadata"]["name"]] = pod["status"]["phase"]
    able = sorted(name for name, phase in phases.items() if phase == "Running")
    if able and lead["leader"] not in able:
        lead.update(leader=able[0], epoch=lead["epoch"] + 1)
        cluster.ask("PATCH", PATH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lead"},
            "data": {"leader": lead["leader"], "epoch": str(lead["epoch"])}})
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


# No replicas while the switch says so, and then as many as before.
LENDING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster = Cluster()
Informer.pause_s = 0.3  # longer than an event waits for in lock-step
PATH = "/apis/apps/v1/namespaces/default/deployments/web"
def look(switch, *_):
    thing = cluster.ask("GET", PATH)[1]
    wanted = 0 if switch["data"]["down"] == "yes" else 3
    if thing["spec"]["replicas"] != wanted:
        thing["spec"]["replicas"] = wanted
        cluster.ask("PUT", PATH, thing)
Informer(cluster, "/api/v1/configmaps", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


# A ConfigMap for each image of a pod, and one that says which is the present one, and which was before.
RELEASING = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
cluster, present = Cluster(), {}
Informer.pause_s = 0.3  # longer than an event waits for in lock-step
PATH = "/api/v1/namespaces/default/configmaps/%s?fieldManager=releasing&force=true"
def put(name, **data):
    cluster.ask("PATCH", PATH % name, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
def look(pod, *_):
    name, image = pod["metadata"]["name"], pod["spec"]["image"]
    before = present.get(name, "none")
    if image == before:
        return
    present[name] = image
    cluster.ask("POST", "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name + "-" + image}, "data": {"image": image, "state": "deployed"}})
    if before != "none":
        put(name + "-" + before, image=before, state="superseded")
    put("state-" + name, present=image, before=before)
Informer(cluster, "/api/v1/pods", look, lambda old, new: look(new), lambda *_: None).start()
time.sleep(600)
"""


def released_tape(path):
    """Three images of a pod, and a change that does not matter."""
    rv, tape = 10, Tape().listed(PODS, 10, [])
    for kind, name, image in (("ADDED", "web", "first"), ("MODIFIED", "web", "second"), ("MODIFIED", "web", "third"),
                              ("ADDED", "api", "first"), ("MODIFIED", "api", "first"), ("MODIFIED", "api", "first")):
        rv += 1
        tape.event(rv - 10, PODS, kind, obj(PODS, name, rv, labels={"app": name, "step": str(rv)}, spec={"image": image}))
    return tape.event(9, PODS, "ADDED", obj(PODS, "other", 20, spec={"image": "none"})).write(path)


def lead_tape(path):
    """One fails and runs again, and then the other fails. A third one does not matter."""
    rv, tape = 10, Tape().listed(PODS, 10, [])
    for kind, name, phase in (("ADDED", "a", "Running"), ("ADDED", "b", "Running"), ("MODIFIED", "a", "Failed"), ("MODIFIED", "a", "Running"),
                              ("MODIFIED", "b", "Failed"), ("ADDED", "c", "Pending"), ("MODIFIED", "c", "Unknown"), ("MODIFIED", "c", "Pending")):
        rv += 1
        tape.event(rv - 10, PODS, kind, obj(PODS, name, rv, status={"phase": phase}))
    return tape.event(9, PODS, "ADDED", obj(PODS, "d", 20, status={"phase": "Pending"})).write(path)


def switched_tape(path):
    """Its own controller never sees what others do to the deployment."""
    web = obj(DEPLOYMENTS, "web", 9, spec={"replicas": 3}, status={"observedGeneration": 1, "replicas": 3})
    web["metadata"]["generation"] = 1
    tape = Tape().listed(DEPLOYMENTS, 10, [web]).listed(CONFIGMAPS, 10, [obj(CONFIGMAPS, "switch", 9, data={"down": "no"})])
    for n, down in enumerate(("yes", "no"), 11):
        tape.event(n, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "switch", n, data={"down": down}))
    return tape.event(13, DEPLOYMENTS, "ADDED", obj(DEPLOYMENTS, "another", 13, spec={"replicas": 1})).write(path)


def owned_tape(path):
    """Pods that are held by a finalizer lose their owner, and are to be deleted."""
    owner = obj(CONFIGMAPS, "owner", 10)
    tape = Tape().listed(CONFIGMAPS, 10, [owner])

    def pod(n, rv, **meta):
        thing = obj(PODS, "web-%d" % n, rv)
        thing["metadata"].update(finalizers=["example.com/hold"], ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "uid-owner"}], **meta)
        return thing

    tape.listed(PODS, 12, [pod(n, 11 + n) for n in range(2)])
    tape.event(1, CONFIGMAPS, "DELETED", owner | {"metadata": owner["metadata"] | {"resourceVersion": "20"}})
    for n in range(2):
        tape.event(2 + n, PODS, "MODIFIED", pod(n, 21 + n, deletionTimestamp="2027-01-15T08:00:02Z"))
    tape.event(5, CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "another", 30))
    return tape.write(path)


class Found(test_sweep_patterns.Accompanied):
    """The ConfigMaps of the first pods had been there before."""

    def listed(self, stream, rv, things):
        if stream == PODS:
            test_sweep.Story.listed(self, CONFIGMAPS, rv, [obj(CONFIGMAPS, pod["metadata"]["name"], rv, uid="of-" + pod["metadata"]["uid"], data={"uid": pod["metadata"]["uid"]}) for pod in things])
        return test_sweep.Story.listed(self, stream, rv, things)


class Passing(test_sweep_patterns.Accompanied):
    """And then there is one more, which goes as well."""

    def __init__(self, names):
        super().__init__(names)
        pod = self.pod("late-0", 0, "Running", "node-1")
        self.next(PODS, "ADDED", pod)
        self.next(PODS, "DELETED", pod)
        self.next(NODES, "MODIFIED", self.node("node-1"))


class Addressed(test_sweep.Ending):
    """What runs gets an address, and keeps it."""

    def pod(self, name, life, phase, node, **meta):
        pod = super().pod(name, life, phase, node, **meta)
        if phase != "Pending":
            pod["status"]["podIP"] = "10.0.0.1"
        return pod


# Keeps the last nodes of each pod in a text. The buggy one takes what it lists again for what it knows.
GATHERING = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
MAPS = "/api/v1/namespaces/default/configmaps"
cluster = Cluster()
def note(pod):
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    status, now = cluster.ask("GET", MAPS + "/" + name)
    if status == 404:
        cluster.ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"nodes": node}})
        return
    nodes = now["data"]["nodes"].splitlines()
    if nodes[-1] != node:
        cluster.ask("PUT", MAPS + "/" + name, {**now, "data": {"nodes": "\\n".join((nodes + [node])[-4:])}})
class Again(Informer):
    def list(self):
        if sys.argv[2] == "buggy" and self.cache:
            known, self.added = self.added, lambda pod: None
            self.cache.clear()
            super().list()
            self.added = known
        else:
            super().list()
Informer.pause_s = 0.3
Again(cluster, "/api/v1/pods", note, lambda old, pod: note(pod), lambda *_: None).start()
time.sleep(600)
"""


class Moving(test_sweep.Story):
    """Two pods that are moved to one node after the other, and back."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "red") for name in names])
        for nodes in (("green", "blue"), ("amber", "cyan"), ("green", "pink"), ("violet", "blue"), ("green", "teal")):
            for name, node in zip(names, nodes):
                self.next(test_sweep.PODS, "MODIFIED", self.pod(name, 0, "Running", node))


class Lent(test_sweep.Story):
    """Recorded while `lender` ran, and somebody who takes its finalizers away."""

    def pod(self, name, life, phase, node, **meta):
        return super().pod(name, life, phase, node, **meta, **({"finalizers": ["example.com/lent"]} if meta else {}))


class Sealed(test_sweep.Story):
    """Recorded while `sealer` ran: one more pod comes, gets its finalizer, and then a label."""

    def __init__(self, names):
        super().__init__(names)
        seal = {"finalizers": ["example.com/seal"]}
        for kind, meta in (("ADDED", {}), ("MODIFIED", seal), ("MODIFIED", {**seal, "labels": {"app": "late"}})):
            self.next(PODS, kind, self.pod("late-0", 0, "Running", "node-1", **meta))
        self.next(NODES, "MODIFIED", self.node("node-1"))


class Brief(test_sweep.Story):
    """Another pod comes, and soon is to go."""

    def __init__(self, names):
        super().__init__(names)
        ending = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
        self.next(PODS, "ADDED", self.pod("late-0", 0, "Running", "node-1"))
        for _ in range(2):
            self.next(PODS, "MODIFIED", self.pod("late-0", 0, "Running", "node-1", **ending))
        self.next(PODS, "DELETED", self.pod("late-0", 0, "Running", "node-1", **ending))
        self.next(NODES, "MODIFIED", self.node("node-1"))


class Begun(Brief):
    """Recorded while `owner` ran, as far as the beginning of that pod's ConfigMap."""

    def listed(self, stream, rv, things):
        if stream == PODS:
            super().listed(CONFIGMAPS, rv, [])
        return super().listed(stream, rv, things)

    def next(self, stream, kind, thing):
        super().next(stream, kind, thing)
        if kind == "ADDED" and thing["metadata"]["name"] == "late-0":
            self.rv += 1
            super().next(CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "late-0", self.rv, uid="of-late-0", data={"uid": "late-0-life-0"}))


class Vacated(test_sweep.Story):
    """Somebody's ConfigMap goes, and then a pod of its name comes, and goes."""

    def __init__(self, names):
        super().__init__(names)
        pod = self.pod("late-0", 0, "Running", "node-1")
        self.next(CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "late-0", self.rv, uid="somebodys"))
        self.next(PODS, "ADDED", pod)
        self.next(PODS, "DELETED", pod)
        self.next(NODES, "MODIFIED", self.node("node-1"))

    def listed(self, stream, rv, things):
        if stream == PODS:
            super().listed(CONFIGMAPS, rv, [obj(CONFIGMAPS, "late-0", 1, uid="somebodys")])
        return super().listed(stream, rv, things)


class SweepLeftTest(unittest.TestCase):
    setUp = test_sweep.SweepTest.setUp
    arguments, begin, end, wrong = test_sweep.SweepTest.arguments, test_sweep.SweepTest.begin, test_sweep.SweepTest.end, test_sweep.SweepTest.wrong
    sweep = test_sweep.SweepTest.sweep
    try_both, repeat = test_sweep_patterns.SweepPatternsTest.try_both, test_sweep_patterns.SweepPatternsTest.repeat

    def is_found(self, story):
        report = self.try_both("orphan", "unobserved", "--at", "downtimes", "--write", "overlay", "--lockstep", "50ms", pods=("web-0",), story=story)
        found = next(gap for gap in self.wrong(report) if gap["object"] == "default/late-0")
        self.assertEqual(found["differences"], ["configmaps default/late-0 is left (without the gap: not)"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)
        return found

    def test_finds_what_the_program_itself_had_deleted_when_the_tape_was_recorded(self):
        given = self.is_found(Passing)["faults"]
        again = self.sweep("--faults", given, "--settle", "1s", "--write", "overlay", "--lockstep", "50ms", command=[sys.executable, test_sweep_patterns.BLIND, "buggy", "orphan"])
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("--await @", again.stdout)

    def test_finds_what_was_there_at_the_start_and_the_program_had_deleted(self):
        report = self.try_both("orphan", "unobserved", "--at", "downtimes", "--write", "overlay", "--lockstep", "50ms", story=Found)
        with open(os.path.join(self.folder, "mended", "awaited.txt"), encoding="utf-8") as rules:
            self.assertEqual(rules.read().split()[-2:], ["delete=configmaps/default/web-%d" % n for n in range(2)])
        found = next(gap for gap in self.wrong(report) if gap["object"] == "default/web-1")
        self.assertEqual(found["differences"], ["configmaps default/web-1 is left (without the gap: not)"])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_finds_what_the_program_has_made_under_a_name_that_is_free_on_the_tape(self):
        self.is_found(Vacated)

    def test_a_finalizer_that_others_take_away_holds_nothing_for_ever(self):
        self.tape = Lent(["web-0", "web-1"]).write(os.path.join(self.folder, "lent.tape"))
        done = self.sweep("--patterns", "unobserved", "--at", "deletions", "--max", "2", "--settle", "1s", "--write", "overlay", "--lockstep", "50ms",
            command=[sys.executable, test_sweep_patterns.BLIND, "mended", "lender"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the command never takes the finalizer 'example.com/lent' away", done.stderr)
        made = subprocess.run([test_sweep.KUBETAPE, "query", self.tape, "--run", os.path.join(self.folder, "out", "overlay-1.run"), "--format", "csv",
            "SELECT name FROM writes WHERE verb = 'create' AND status = 201 ORDER BY 1"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(made.split()[1:], ["web-0-life-0", "web-0-life-1", "web-1-life-0"])

    def test_a_finalizer_that_tape_and_program_add_is_left_to_the_program(self):
        self.tape = Sealed(["web-0"]).write(os.path.join(self.folder, "sealed.tape"))
        done = self.sweep("--json", "--jobs", "3", "--patterns", "coalesced", "--at", "changes", "--settle", "1s", "--write", "overlay", "--lockstep", "50ms",
            "-o", os.path.join(self.folder, "sealed"), command=[sys.executable, test_sweep_patterns.BLIND, "mended", "sealer"])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertIn("pods have no managedFields on the tape, so that nobody can tell what of them the command had written", done.stderr)
        self.assertEqual((report["wrong"], report["fine"] > 0), (0, True), report["gaps"])
        with open(os.path.join(self.folder, "sealed", "awaited.txt"), encoding="utf-8") as rules:
            self.assertEqual(rules.read(), "finalizer=example.com/seal\n")

    def test_what_a_state_that_was_hidden_had_made_of_a_field_is_no_finding(self):
        for story in (test_sweep.Ending, Addressed):
            with self.subTest(story=story.__name__):
                self.tape = story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, story.__name__ + ".tape"))
                report = self.end(self.begin("--patterns", "unobserved", "--at", "changes", "--settle", "1s", "--write", "overlay", "--lockstep", "50ms",
                    "-o", os.path.join(self.folder, story.__name__), command=[sys.executable, test_sweep_patterns.BLIND, "mended", "ran"]), 0)
                self.assertEqual((report["wrong"], report["unseen"] > 0), (0, True), report["gaps"])

    def test_the_tapes_times_are_the_present_if_asked(self):
        self.tape = test_sweep_patterns.Accompanied(["web-0", "web-1"]).write(os.path.join(self.folder, "recent.tape"))
        for recent, options in (("no", ()), ("yes", ("--rebase-time",))):
            with self.subTest(recent=recent):
                folder = os.path.join(self.folder, recent)
                report = self.end(self.begin("--patterns", "unobserved,restart", "--settle", "1s", "--lockstep", "50ms", "--max", "8", "-o", folder, *options,
                    command=[sys.executable, test_sweep_patterns.BLIND, "mended", "recent"]), 0)
                self.assertEqual((report["wrong"], report["unsure"], report["fine"] > 0, report["unsteady"]), (0, 0, True, []), report["gaps"])
                made = subprocess.run([test_sweep.KUBETAPE, "query", self.tape, "--run", os.path.join(folder, "without-1.run"), "--format", "csv",
                    "SELECT DISTINCT jget(body, '$.data.recent') AS recent FROM writes WHERE verb = 'create' AND resource = 'configmaps'"], capture_output=True, text=True, check=True).stdout
                self.assertEqual(made.split()[1:], [recent])

    def test_what_others_add_to_its_objects_is_not_compared_as_of_its_last_write(self):
        self.tape = test_sweep_patterns.Accompanied(["web-0", "web-1"]).write(os.path.join(self.folder, "phases.tape"))
        report = self.end(self.begin("--patterns", "unobserved,restart", "--settle", "1s", "--lockstep", "50ms", "--max", "20", command=[sys.executable, test_sweep_patterns.BLIND, "mended", "phases"]), 0)
        self.assertEqual((report["wrong"], report["unsure"], report["fine"] > 0), (0, 0, True), report["gaps"])

    def test_what_a_program_first_sees_when_it_is_to_go_was_not_there_for_it(self):
        self.tape = Brief(["web-0"]).write(os.path.join(self.folder, "brief.tape"))
        report = self.end(self.begin("--patterns", "unobserved", "--at", "changes,every:1", "--settle", "1s", "--lockstep", "100ms", command=[sys.executable, test_sweep_patterns.BLIND, "mended", "marked"]), 0)
        self.assertEqual((report["wrong"], report["unseen"] > 0), (0, True), report["gaps"])

    def test_that_it_has_not_deleted_what_it_has_not_made_is_no_finding(self):
        self.tape = Begun(["web-0"]).write(os.path.join(self.folder, "begun.tape"))
        report = self.end(self.begin("--patterns", "unobserved", "--at", "changes", "--settle", "1s", "--write", "overlay", "--lockstep", "50ms",
            command=[sys.executable, test_sweep_patterns.BLIND, "mended", "owner"]), 0)
        self.assertEqual((report["wrong"], report["fine"] > 0), (0, True), report["gaps"])

    def test_finds_what_the_tape_deletes_and_the_program_holds_for_ever(self):
        report = self.try_both("holder", "unobserved", "--at", "downtimes", story=test_sweep_patterns.Held)
        found = self.wrong(report)[0]
        self.assertEqual(found["differences"], ["pods %s is left (without the gap: not)" % found["object"]])
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_compares_values_of_secrets_by_digests_under_a_key_of_all_its_runs(self):
        report = self.try_both("secrets", "unobserved", "--at", "recreations")
        found = self.wrong(report)[0]
        self.assertRegex(found["differences"][0], r'^secrets default/web-0 is left with other content: data.uid is "[^"]+" \(without the gap: "[^"]+"\)$')
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_what_is_computed_from_a_number_that_nothing_showed_is_no_finding(self):
        self.tape = test_sweep.Forgotten(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "forgotten.tape"))
        for kind, code in (("mended", 0), ("buggy", 1)):
            with self.subTest(kind=kind):
                report = self.end(self.begin("--at", "changes", "--patterns", "unobserved", "--settle", "1s", "--lockstep", "50ms",
                    "-o", os.path.join(self.folder, kind), command=[sys.executable, "-c", TALLYING, os.path.dirname(test_sweep_patterns.BLIND), kind]), code)
                self.assertGreater(report["unseen"], 0)
        self.assertTrue(any('metadata.labels.state is "torn"' in line for gap in self.wrong(report) for line in gap["differences"]), report["gaps"])

    def test_a_number_in_a_text_may_lack_what_nothing_showed_also_its_first(self):
        self.tape = test_sweep.Forgotten(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "forgotten.tape"))
        report = self.end(self.begin("--at", "changes", "--patterns", "unobserved", "--settle", "1s", "--lockstep", "50ms",
            command=[sys.executable, "-c", COUNTING, os.path.dirname(test_sweep_patterns.BLIND)]), 0)
        self.assertGreater(report["unseen"], 0)

    def sweep_unseen(self, program):
        """Of all pairs of changes, as if nothing had come of the first."""
        return self.end(self.begin("--at", "changes", "--patterns", "unobserved", "--settle", "1s", "--lockstep", "50ms", "--write", "overlay",
            command=[sys.executable, "-c", program, os.path.dirname(test_sweep_patterns.BLIND)]), 0)

    def test_a_number_may_lack_what_leads_back_to_before_a_state_that_nothing_showed(self):
        self.tape = lead_tape(os.path.join(self.folder, "lead.tape"))
        self.assertGreater(self.sweep_unseen(LEADING)["unseen"], 0)

    def test_what_was_made_for_a_state_that_was_replaced_unseen_and_what_was_taken_over_from_it_is_no_finding(self):
        self.tape = released_tape(os.path.join(self.folder, "released.tape"))
        self.assertGreater(self.sweep_unseen(RELEASING)["unseen"], 0)

    def test_what_is_as_the_tape_has_it_need_not_be_written_though_its_controller_on_the_tape_has_not_observed_that(self):
        self.tape = switched_tape(os.path.join(self.folder, "switched.tape"))
        self.assertTrue(self.sweep_unseen(LENDING)["gaps"])

    def test_finds_what_holds_an_object_whose_owner_has_gone_unseen(self):
        self.tape = owned_tape(os.path.join(self.folder, "owned.tape"))
        for kind, code in (("mended", 0), ("buggy", 1)):
            with self.subTest(kind=kind):
                report = self.end(self.begin("--at", "references", "--patterns", "unobserved", "--settle", "1s", "--lockstep", "50ms", "--write", "overlay",
                    "-o", os.path.join(self.folder, kind), command=[sys.executable, "-c", LETTING_GO, os.path.dirname(test_sweep_patterns.BLIND), kind]), code)
        (found,) = self.wrong(report)
        self.assertEqual((found["object"], found["differences"]), ("default/owner", ["pods default/web-0 is not deleted (without the gap: it is)"]))
        again = self.repeat(found["repeat"])
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_what_is_numbered_state_by_state_may_have_lower_numbers_where_one_was_not_to_be_seen(self):
        self.tape = test_sweep.Ending(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "numbered.tape"))
        for kind, code in (("mended", 0), ("buggy", 1)):
            with self.subTest(kind=kind):
                report = self.end(self.begin("--at", "changes", "--patterns", "unobserved", "--settle", "1s", "--lockstep", "50ms",
                    "-o", os.path.join(self.folder, kind), command=[sys.executable, "-c", NUMBERING, os.path.dirname(test_sweep_patterns.BLIND), kind]), code)
                self.assertGreater(report["unseen"], 0)

    def test_a_line_of_a_text_that_answers_to_what_passed_unseen_is_no_finding(self):
        self.tape = Moving(["web-0", "web-1"]).write(os.path.join(self.folder, "moving.tape"))
        options = ["--settle", "1s", "--write", "overlay", "--lockstep", "50ms", "--at", "changes", "--patterns", "unobserved", "--max", "8"]
        both = [self.begin(*options, "-o", os.path.join(self.folder, kind), command=[sys.executable, "-c", GATHERING, os.path.dirname(test_sweep_patterns.BLIND), kind])
            for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertEqual((mended["wrong"], mended["unsure"], mended["unseen"] > 0), (0, 0, True), mended)
        self.assertRegex(self.wrong(report)[0]["differences"][0], "configmaps default/web-. is left with other content: data.nodes is ")


if __name__ == "__main__":
    unittest.main()
