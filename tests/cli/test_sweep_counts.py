"""How often a program creates and deletes: what is no more than without the fault, though it looks so."""

import json
import os
import sys
import unittest

import test_sweep
from replays import obj
from test_sweep_patterns import BLIND, Growing

TESTS_APART = True  # each takes long

BEGINS = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
MAPS = "/api/v1/namespaces/default/configmaps"
cluster = Cluster()
def owned_by(pod):
    meta = pod["metadata"]
    return [{"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}]
def make_map(name, **meta):
    cluster.ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}})
"""
# Makes a ConfigMap for each pod that is to go, which goes with it, and deletes it after a while itself.
PATIENT = BEGINS + """
def make(pod):
    name = "of-" + pod["metadata"]["uid"]
    make_map(name, ownerReferences=owned_by(pod))
    time.sleep(2)
    cluster.ask("DELETE", MAPS + "/" + name)
maps = Informer(cluster, MAPS, lambda *_: None, lambda *_: None, lambda *_: None)
maps.start()
maps.synced.wait()
Informer(cluster, "/api/v1/pods", lambda *_: None, lambda old, pod: threading.Thread(target=make, args=(pod,)).start(), lambda *_: None).start()
time.sleep(600)
"""
# A ConfigMap for each pod that says on which node it is, and of which life. Instead of changing one it makes a new one.
REPLACING = BEGINS + """
def sync(pod):
    meta = pod["metadata"]
    name, data = "of-" + meta["name"], {"uid": meta["uid"], "node": pod["spec"]["nodeName"], "goes": str("deletionTimestamp" in meta)}
    status, there = cluster.ask("GET", MAPS + "/" + name)
    if status == 200 and there["data"] == data:
        return
    if status == 200:
        cluster.ask("DELETE", MAPS + "/" + name)
    cluster.ask("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
Informer(cluster, "/api/v1/pods", sync, lambda old, pod: sync(pod), lambda *_: None, "resourceVersion=0").start()
time.sleep(600)
"""
# A ConfigMap for each pod, which a garbage collector is to take with it.
OWNING = BEGINS + """
def make(pod):
    make_map("of-" + pod["metadata"]["name"], ownerReferences=owned_by(pod))
Informer(cluster, "/api/v1/pods", make, lambda *_: None, lambda *_: None, "resourceVersion=0").start()
time.sleep(600)
"""
# A ConfigMap for each pod, removed with it: in the buggy one if its watch has shown it by then.
REMOVING = BEGINS + """
def make(pod):
    make_map("of-" + pod["metadata"]["uid"])
def remove(pod, _):
    name = "of-" + pod["metadata"]["uid"]
    if sys.argv[2] == "mended" or any(shown["metadata"]["name"] == name for shown in maps.cache.values()):
        cluster.ask("DELETE", MAPS + "/" + name)
maps = Informer(cluster, MAPS, lambda *_: None, lambda *_: None, lambda *_: None)
maps.start()
maps.synced.wait()
Informer(cluster, "/api/v1/pods", make, lambda *_: None, remove).start()
time.sleep(600)
"""
# A ConfigMap for each pod whose node is there; the mended one looks at its pods again when a node comes.
PLACED = BEGINS + """
def look(pod):
    if pod["spec"]["nodeName"] in [node["metadata"]["name"] for node in nodes.cache.values()]:
        make_map("of-" + pod["metadata"]["uid"])
def look_again(_):
    for pod in list(pods.cache.values()) if sys.argv[2] == "mended" else ():
        look(pod)
nodes = Informer(cluster, "/api/v1/nodes", look_again, lambda *_: None, lambda *_: None)
pods = Informer(cluster, "/api/v1/pods", look, lambda *_: None, lambda *_: None)
nodes.start()
nodes.synced.wait()
pods.start()
time.sleep(600)
"""
# A ConfigMap for each pod, with the UID of its node; the mended one looks again when another node has that name.
OF_NODE = BEGINS + """
def look(pod):
    uids = [node["metadata"]["uid"] for node in nodes.cache.values() if node["metadata"]["name"] == pod["spec"]["nodeName"]]
    name = "of-" + pod["metadata"]["name"]
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"node": uids[0] if uids else ""}}
    if cluster.ask("POST", MAPS, made)[0] != 201:
        cluster.ask("PUT", MAPS + "/" + name, made)
def look_again(*_):
    for pod in list(pods.cache.values()) if sys.argv[2] == "mended" else ():
        look(pod)
nodes = Informer(cluster, "/api/v1/nodes", look_again, look_again, lambda *_: None)
pods = Informer(cluster, "/api/v1/pods", look, lambda *_: None, lambda *_: None)
nodes.start()
nodes.synced.wait()
pods.start()
time.sleep(600)
"""
# Makes a ConfigMap for each pod that comes, and one for each that goes and has none as far as it sees.
LATE = BEGINS + """
seen = set()
def make(pod, when):
    make_map(when + "-" + pod["metadata"]["uid"], ownerReferences=owned_by(pod) if sys.argv[2] == "owned" else [])
def gone(pod, _):
    if pod["metadata"]["uid"] not in seen:
        make(pod, "gone")
maps = Informer(cluster, MAPS, lambda m: seen.add(m["metadata"]["name"].partition("-")[2]), lambda *_: None, lambda *_: None)
maps.start()
maps.synced.wait()
Informer(cluster, "/api/v1/pods", lambda pod: make(pod, "come"), lambda *_: None, gone).start()
time.sleep(600)
"""
# Marks web-0, in more steps if it sees it pending, and keeps which version of each other pod it has seen last.
NOTING = BEGINS + """
def look(pod):
    meta = pod["metadata"]
    if meta["name"] != "web-0":
        noted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-" + meta["name"], "annotations": {"from-version": meta["resourceVersion"]}}}
        if cluster.ask("POST", MAPS, noted)[0] != 201:
            cluster.ask("PUT", MAPS + "/of-" + meta["name"], noted)
        return
    path = "/api/v1/namespaces/default/pods/web-0?fieldManager=small&force=true"
    for step in range(int(meta.get("annotations", {}).get("step", 0 if pod["status"]["phase"] == "Pending" else 4)), 5):
        cluster.ask("PATCH", path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", "uid": meta["uid"],
            "annotations": {"step": str(step + 1)}}})
Informer(cluster, "/api/v1/pods", look, lambda old, pod: look(pod), lambda *_: None).start()
time.sleep(600)
"""


# Deletes the pods of a node that is gone, and asks again until it is told that it is done.
EMPTYING = BEGINS + """
def look(pod):
    if pod["spec"]["nodeName"] in [node["metadata"]["name"] for node in nodes.cache.values()]:
        return
    path = "/api/v1/namespaces/default/pods/" + pod["metadata"]["name"]
    while True:
        try:
            if cluster.ask("DELETE", path)[0] in (200, 202, 404):
                return
        except OSError:
            pass
def look_again(*_):
    for pod in list(pods.cache.values()):
        look(pod)
nodes = Informer(cluster, "/api/v1/nodes", lambda *_: None, lambda *_: None, look_again)
pods = Informer(cluster, "/api/v1/pods", look, lambda old, pod: look(pod), lambda *_: None)
nodes.start()
nodes.synced.wait()
pods.start()
time.sleep(600)
"""
# A ConfigMap for each node that has pods, with their names.
NAMING = BEGINS + """
from informer import LOCK
def sync(*_):
    wanted = {}
    for pod in pods.cache.values():
        wanted.setdefault("on-" + pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
    there = {m["metadata"]["name"]: m["data"]["pods"] for m in cluster.ask("GET", MAPS)[1]["items"]}
    for name in set(there) - set(wanted):
        cluster.ask("DELETE", MAPS + "/" + name)
    for name, names in wanted.items():
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"pods": " ".join(sorted(names))}}
        if name not in there:
            cluster.ask("POST", MAPS, body)
        elif there[name] != body["data"]["pods"]:
            cluster.ask("PUT", MAPS + "/" + name, body)
def sync_later(*_):
    dirty.set()
dirty = threading.Event()
pods = Informer(cluster, "/api/v1/pods", sync_later, sync_later, sync_later, "resourceVersion=0")
pods.start()
pods.synced.wait()
while True:
    dirty.wait()
    dirty.clear()
    with LOCK:
        sync()
"""


# A ConfigMap for each pod, with its UID, deleted where a pod goes: all of it while the node is schedulable.
CALLED = BEGINS + """
working = False
def put(pod):
    path, name = MAPS + "/of-" + pod["metadata"]["name"], "of-" + pod["metadata"]["name"]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"uid": pod["metadata"]["uid"]}}
    if cluster.ask("POST", MAPS, body)[0] == 409:
        cluster.ask("PUT", path, body)
def added(pod):
    if working:
        put(pod)
def deleted(pod, _):
    if working:
        cluster.ask("DELETE", MAPS + "/of-" + pod["metadata"]["name"])
def node_changed(*nodes):
    global working
    working = not nodes[-1].get("spec", {}).get("unschedulable")
    if not working:
        return
    wanted = {"of-" + pod["metadata"]["name"] for pod in pods.cache.values()}
    for name in {m["metadata"]["name"] for m in cluster.ask("GET", MAPS)[1]["items"]} - wanted:
        cluster.ask("DELETE", MAPS + "/" + name)
    for pod in pods.cache.values():
        put(pod)
pods = Informer(cluster, "/api/v1/pods", added, lambda old, new: added(new), deleted, "resourceVersion=0")
pods.start()
pods.synced.wait()
nodes = Informer(cluster, "/api/v1/nodes", node_changed, node_changed, lambda *_: None, "resourceVersion=0")
nodes.start()
nodes.join()
"""


# A ConfigMap for each pod that comes, numbered. The buggy one watches again from the version of its list.
RESUMING = BEGINS + """
import json
PODS, count = "/api/v1/pods", 0
rv = cluster.ask("GET", PODS)[1]["metadata"]["resourceVersion"]
while True:
    connection, response = cluster.open("GET", PODS + "?watch=true&resourceVersion=" + rv)
    for line in response:
        event = json.loads(line)
        if event["type"] == "ADDED":
            make_map("nr-%d" % count)
            count += 1
        if sys.argv[2] == "mended":
            rv = event["object"]["metadata"]["resourceVersion"]
    connection.close()
"""

# Knows the pods of a list and of the watch after it; the buggy one does not watch from the list's version.
FOLLOWING = BEGINS + """
import json, time
PODS = "/api/v1/pods"

def tell(known):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "known"}, "data": {name: "" for name in known}}
    if cluster.ask("PUT", MAPS + "/known", body)[0] == 404:
        cluster.ask("POST", MAPS, body)

while True:
    status, seen = cluster.ask("GET", PODS)
    if status != 200:
        time.sleep(0.1)
        continue
    known = {pod["metadata"]["name"] for pod in seen["items"]}
    since = "&resourceVersion=" + seen["metadata"]["resourceVersion"] if sys.argv[2] == "mended" else ""
    connection, response = cluster.open("GET", PODS + "?watch=true" + since)
    tell(known)
    for line in response if response.status == 200 else ():
        event = json.loads(line)
        if event["type"] in ("ADDED", "DELETED"):
            (known.add if event["type"] == "ADDED" else known.discard)(event["object"]["metadata"]["name"])
            tell(known)
    connection.close()
"""


# Knows the pods. The buggy one takes a connection that closes without an end for two ends, and watches twice from then on.
# `dies`: lets itself be ended by it.
TWICE = BEGINS + """
import http.client, json, os
PODS = "/api/v1/pods"

def follow():
    while True:
        rv = cluster.ask("GET", PODS)[1]["metadata"]["resourceVersion"]
        connection, response = cluster.open("GET", PODS + "?watch=true&resourceVersion=" + rv)
        try:
            while data := response.read1(1 << 20):
                make_map("of-" + json.loads(data.split(b"\\n")[0])["object"]["metadata"]["name"])
        except http.client.IncompleteRead:
            if sys.argv[2] == "dies":
                os._exit(1)
            if sys.argv[2] == "buggy":
                threading.Thread(target=follow).start()
        connection.close()

follow()
"""


class Fleeting(test_sweep.Story):
    """In the end a pod comes and goes at once."""

    def __init__(self, names):
        super().__init__(names)
        end = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
        self.next(test_sweep.PODS, "ADDED", self.pod("brief", 0, "Pending", "node-1"))
        self.next(test_sweep.PODS, "MODIFIED", self.pod("brief", 0, "Running", "node-1"))
        self.next(test_sweep.PODS, "DELETED", self.pod("brief", 0, "Running", "node-1", **end))


class Joining(test_sweep.Story):
    """In the end a node comes, and then a pod on it."""

    def __init__(self, names):
        super().__init__(names)
        self.next(test_sweep.NODES, "ADDED", self.node("node-new"))
        self.next(test_sweep.PODS, "ADDED", self.pod("joined", 0, "Running", "node-new"))
        self.next(test_sweep.NODES, "MODIFIED", self.node("node-0"))


class Rejoining(test_sweep.Story):
    """A node is replaced by another one of its name, and then a pod comes on it."""

    def __init__(self, names):
        super().__init__(names)
        self.next(test_sweep.NODES, "DELETED", self.node("node-0"))
        self.next(test_sweep.NODES, "ADDED", obj(test_sweep.NODES, "node-0", self.rv + 1, uid="another"))
        self.rv += 1
        self.next(test_sweep.PODS, "ADDED", self.pod("joined", 0, "Running", "node-0"))
        self.next(test_sweep.NODES, "MODIFIED", self.node("node-1"))


class Renewed(test_sweep.Story):
    """A pod goes, and another one of its name comes, while the node is unschedulable."""

    def __init__(self):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod("other", 0, "Running", "node-0")])
        self.listed(test_sweep.NODES, self.rv, [self.node("node-0")])
        self.tell("ADDED", "first")
        self.next(test_sweep.NODES, "MODIFIED", {**self.node("node-0"), "spec": {"unschedulable": True}})
        self.tell("DELETED", "first")
        self.tell("ADDED", "second")
        self.next(test_sweep.NODES, "MODIFIED", self.node("node-0"))
        for number in range(3):
            self.next(test_sweep.PODS, "ADDED", self.pod("more-%d" % number, 0, "Running", "node-0"))

    def tell(self, kind, uid):
        web = self.pod("web-0", 0, "Running", "node-0")
        web["metadata"]["uid"] = uid
        self.next(test_sweep.PODS, kind, web)


class Emptied(test_sweep.Story):
    """A node goes, and its pods are left."""

    def __init__(self, names):
        self.begin()
        self.listed(test_sweep.PODS, self.rv, [self.pod(name, 0, "Running", "node-0") for name in names])
        self.listed(test_sweep.NODES, self.rv, [self.node("node-0"), self.node("node-1")])
        self.next(test_sweep.NODES, "DELETED", self.node("node-0"))
        self.next(test_sweep.NODES, "MODIFIED", self.node("node-1"))


class SweepCountsTest(unittest.TestCase):
    setUp, arguments = test_sweep.SweepTest.setUp, test_sweep.SweepTest.arguments
    begin, end = test_sweep.SweepTest.begin, test_sweep.SweepTest.end
    repeat = test_sweep.SweepTest.repeat

    def test_what_the_garbage_collector_deletes_without_the_fault_the_program_may_delete(self):
        self.tape = test_sweep.Story(["web-0"]).write(self.folder + "/one.tape")
        report = self.end(self.begin("--patterns", "echo", "--gc", "--write", "overlay", "--lockstep", "50ms", "--settle", "2500ms",
            command=[sys.executable, "-c", PATIENT, os.path.dirname(BLIND)]), 0)
        self.assertEqual({(gap["resource"], gap["verdict"]) for gap in report["gaps"]}, {("configmaps", "fine")})

    def test_what_outlives_its_owner_is_collected_without_being_asked_for(self):
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(self.folder + "/three.tape")
        for collects, told in (([], 1), (["--gc"], 0)):
            with self.subTest(collects=collects):
                out = os.path.join(self.folder, "out-" + "-".join(collects))
                sweep = self.begin("--patterns", "restart", "--max", "2", "--lockstep", "50ms", "--settle", "500ms", "-o", out, *collects,
                    command=[sys.executable, "-c", OWNING, os.path.dirname(BLIND)])
                output, errors = sweep.communicate(timeout=test_sweep.DEADLINE_S)
                self.assertEqual(errors.count("outlives owners that the tape deletes (configmaps default/of-web-0, 3 in all)"), told, errors)
                report = json.loads(output)
                self.assertEqual((sweep.returncode, report["without"]["gc"], report["without"]["left"], report["wrong"]), (0, True, 2, 0), errors)
                self.assertIn(" --gc ", report["again"])

    def test_a_deletion_of_what_is_about_to_go_is_no_more(self):
        self.tape = Emptied(["web-0", "web-1"]).write(self.folder + "/emptied.tape")
        report = self.end(self.begin("--patterns", "writes", "--settle", "1s",
            command=[sys.executable, "-c", EMPTYING, os.path.dirname(BLIND)]), 0)
        self.assertGreater(report["fine"], 1)

    def test_an_older_list_with_another_object_of_that_name_explains_the_deletion_of_what_had_no_predecessor_then(self):
        self.tape = Growing(["web-0", "web-1"]).write(self.folder + "/moving.tape")
        report = self.end(self.begin("--write", "overlay", "--settle", "1s", "--max", "16",
            command=[sys.executable, "-c", NAMING, os.path.dirname(BLIND)]), 0)
        self.assertGreater(report["made_again"], 0)

    def test_the_end_of_an_object_that_an_older_list_has_explains_a_deletion_of_what_is_made_again_for_the_next_of_its_name(self):
        self.tape = Renewed().write(self.folder + "/renewed.tape")
        report = self.end(self.begin("--write", "overlay", "--settle", "1s", "--max", "16",
            command=[sys.executable, "-c", CALLED, os.path.dirname(BLIND)]), 0)
        again = [line for gap in report["gaps"] if gap["verdict"] == "made again" for line in gap["differences"]]
        self.assertIn("deletions of the earlier configmaps default/of-web-0", again)

    def test_finds_that_a_watch_that_ends_is_not_resumed_where_it_was(self):
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin("--patterns", "coalesced", "--settle", "1s", "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", RESUMING, os.path.dirname(BLIND), kind]), code)
        found = [gap for gap in report["gaps"] if gap["verdict"] == "wrong"]
        self.assertEqual([(gap["kind"], gap["resource"], gap["gap"]) for gap in found], [("stretch", "pods", "end"), ("stretch", "pods", "fin")])
        self.assertIn("configmaps default/nr-2 is left (without the gap: not)", found[0]["differences"])
        self.assertEqual(self.repeat(found[0]["repeat"]).returncode, 1)

    def test_finds_that_a_watch_does_not_begin_where_the_list_before_it_ended(self):
        self.tape = Fleeting(["web-0"]).write(self.folder + "/following.tape")
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin("--patterns", "restart", "--settle", "1s", "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", FOLLOWING, os.path.dirname(BLIND), kind]), code)
        found = [gap for gap in report["gaps"] if gap["verdict"] == "wrong"]
        self.assertEqual([(gap["kind"], gap["resource"], gap["gap"]) for gap in found], [("stretch", "pods", "end,wait,requests=watch")])
        self.assertIn("configmaps default/known is left with other content: data.brief is \"\" (without the gap: absent)", found[0]["differences"])
        self.assertEqual(self.repeat(found[0]["repeat"]).returncode, 1)

    def test_finds_that_it_watches_twice_after_a_connection_that_closed_without_an_end(self):
        self.tape = test_sweep.Story(["web-0", "web-1"]).write(self.folder + "/twice.tape")
        asked = ("--patterns", "coalesced")
        for kind, options, code in (("mended", asked, 0), ("dies", (), 1), ("dies", asked, 1), ("buggy", asked, 1)):
            with self.subTest(kind=kind, options=options):
                report = self.end(self.begin(*options, "--settle", "1s", "-o", os.path.join(self.folder, kind + str(len(options))),
                    command=[sys.executable, "-c", TWICE, os.path.dirname(BLIND), kind]), code)
                found = [gap for gap in report["gaps"] if gap["verdict"] == "wrong" and gap["gap"] == "fin"]
                self.assertEqual([(gap["kind"], gap["resource"]) for gap in found], [("stretch", "pods")] * (code and len(options) // 2))
        self.assertEqual(found[0]["differences"], ["watches several times at once: /api/v1/pods (2 watches are open, without the fault: 1)"])
        self.assertEqual(self.repeat(found[0]["repeat"]).returncode, 1)

    def test_what_is_made_for_an_owner_that_is_gone_is_nothing_more(self):
        self.tape = test_sweep.Story(["web-0"]).write(self.folder + "/one.tape")
        for kind, code in (("owned", 0), ("loose", 1)):
            with self.subTest(kind=kind):
                self.end(self.begin("--patterns", "echo", "--gc", "--write", "overlay", "--speed", "4", "-o",
                    os.path.join(self.folder, kind), command=[sys.executable, "-c", LATE, os.path.dirname(BLIND), kind]), code)

    def test_a_version_of_the_tape_is_the_same_whatever_number_a_run_gave_it(self):
        self.tape = test_sweep.Story(["web-0", "web-1", "web-2"]).write(self.folder + "/noted.tape")
        report = self.end(self.begin("--patterns", "unobserved", "--at", "recreations,replacements", "--write", "overlay", "--lockstep", "50ms",
            "--settle", "1s", command=[sys.executable, "-c", NOTING, os.path.dirname(BLIND)]), 0)
        self.assertGreater(report["fine"], 0)

    def test_finds_trust_in_a_cache_that_does_not_show_its_own_writes_for_some_events(self):
        self.tape = Fleeting(["web-0"]).write(self.folder + "/fleeting.tape")
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin("--patterns", "echo", "--settle", "1s", "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", REMOVING, os.path.dirname(BLIND), kind]), code)
        found = next(gap for gap in report["gaps"] if gap["gap"] == "echo=4ev")
        self.assertIn("configmaps default/of-brief-life-0 is left (without the gap: not)", found["differences"])
        self.assertEqual(self.repeat(found["repeat"]).returncode, 1)

    def test_finds_trust_in_the_order_of_two_resources(self):
        self.tape = Joining(["web-0"]).write(self.folder + "/joining.tape")
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin("--at", "references", "--settle", "1s", "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", PLACED, os.path.dirname(BLIND), kind]), code)
        found = [gap for gap in report["gaps"] if gap["verdict"] == "wrong"]
        self.assertEqual([(gap["kind"], gap["object"], gap["what"], gap["differences"]) for gap in found],
            [("reference", "node-new", "created, then named by pods", ["configmaps default/of-joined-life-0 is missing"])])
        self.assertEqual(self.repeat(found[0]["repeat"]).returncode, 1)

    def test_finds_trust_in_the_name_of_what_another_resource_names(self):
        self.tape = Rejoining(["web-0"]).write(self.folder + "/rejoining.tape")
        for kind, code in (("mended", 0), ("buggy", 1)):
            report = self.end(self.begin("--at", "references", "--settle", "1s", "--lockstep", "50ms", "-o", os.path.join(self.folder, kind),
                command=[sys.executable, "-c", OF_NODE, os.path.dirname(BLIND), kind]), code)
        found = {gap["what"]: gap for gap in report["gaps"] if gap["verdict"] == "wrong"}["recreated, then named by pods"]
        self.assertEqual((found["kind"], found["object"]), ("reference", "node-0"))
        self.assertEqual(self.repeat(found["repeat"]).returncode, 1)

    def test_an_update_by_deletion_and_creation_is_an_update(self):
        self.tape = Growing(["web-0", "web-1"]).write(self.folder + "/two.tape")
        report = self.end(self.begin("--patterns", "stale", "--lockstep", "50ms", "--settle", "1s", "--max", "4",
            command=[sys.executable, "-c", REPLACING, os.path.dirname(BLIND)]), 0)
        self.assertGreater(report["fine"], 2)
