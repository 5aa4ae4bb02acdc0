"""Faults that meet writes, or begin at them; own writes that come late; older views; slow lists; the command restarted."""

import contextlib
import http.client
import json
import os
import queue
import sqlite3
import subprocess
import sys
import threading
import time

from fault_case import FaultCase, STEPS, a_day
from replays import DEADLINE_S, KUBETAPE, NODES, PODS, ROOT, Tape, brief, obj

MAPS = "/api/v1/namespaces/default/configmaps"
CONTROLLER = os.path.join(ROOT, "tests", "sweep", "controller.py")
SILENCE_S = 0.3

# Watches pods, and the first time also nodes.
LAZY = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
def nothing(*_):
    pass
paths = ["/api/v1/pods"] + ([] if os.path.exists(sys.argv[2]) else ["/api/v1/nodes"])
open(sys.argv[2], "w").close()
for path in paths:
    Informer(Cluster(), path, nothing, nothing, nothing).start()
time.sleep(600)
"""

# Watches nodes only some time after pods.
LATER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster, Informer
def nothing(*_):
    pass
for path in ("/api/v1/pods", "/api/v1/nodes"):
    Informer(Cluster(), path, nothing, nothing, nothing).start()
    time.sleep(0.5)
time.sleep(600)
"""

# Leads, and does its work; and has a lease that tells that it lives, as a node has.
LEADER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from informer import Cluster
cluster, leases = Cluster(), "/apis/coordination.k8s.io/v1/namespaces/default/leases"
for name, spec in (("leads", {"holderIdentity": "a", "leaseTransitions": 0}), ("lives", {"holderIdentity": "a"})):
    if cluster.ask("GET", leases + "/" + name)[0] == 404:
        cluster.ask("POST", leases, {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": name}, "spec": spec})
cluster.ask("POST", "/api/v1/namespaces/default/configmaps", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})
time.sleep(600)
"""


class WriteFaultCase(FaultCase):
    def create(self, replay, name):
        thing = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}
        return replay.request("POST", MAPS, {"Content-Type": "application/json"}, json.dumps(thing))[0]

    def names(self, replay):
        return [item["metadata"]["name"] for item in replay.get(MAPS)[1]["items"]]

    def meet(self, kind, what, **more):
        return self.fault({"when": {"write": kind, **more}, "what": what}, options=STEPS)


class StruckWriteTest(WriteFaultCase):
    def test_an_error_before_the_write_leaves_it_undone(self):
        r = self.meet("create configmaps", {"do": "write_error", "code": 409}, nth=2)
        self.assertEqual([self.create(r, name) for name in "abc"], [201, 409, 201])
        self.assertEqual(self.names(r), ["a", "c"])

    def test_an_error_after_the_write_leaves_it_done(self):
        r = self.meet("create configmaps", {"do": "write_error", "code": 504}, moment="after")
        self.assertEqual([self.create(r, name) for name in "ab"], [504, 201])
        self.assertEqual(self.names(r), ["a", "b"])

    def test_a_reset_before_and_after_the_write(self):
        for moment, left in (("before", []), ("after", ["a"])):
            r = self.meet("write configmaps", "write_reset", moment=moment)
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                self.create(r, "a")
            self.assertEqual(self.names(r), left)

    def test_an_answer_comes_late_and_the_tape_continues_meanwhile(self):
        r = self.meet("create configmaps", {"do": "write_late", "by": "60s"})
        told = queue.SimpleQueue()

        def create():
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                told.put(self.create(r, "a"))

        writer = threading.Thread(target=create)
        with r.watch(MAPS + "?watch=1") as maps, r.watch("/api/v1/pods?watch=1&resourceVersion=20") as pods:
            writer.start()
            self.assertEqual(brief(maps.next())[:2], ("ADDED", "a"))
            self.step(r, 1)
            self.assertEqual(brief(pods.next())[2], "21")
        self.assertTrue(told.empty())
        r.stop()
        writer.join()
        self.assertTrue(told.empty())

    def test_a_late_answer_is_the_one_that_it_would_have_been(self):
        r = self.meet("create configmaps", {"do": "write_late", "by": "100ms"})
        before = time.monotonic()
        self.assertEqual([self.create(r, name) for name in "ab"], [201, 201])
        self.assertGreaterEqual(time.monotonic() - before, 0.1)
        self.assertEqual(self.names(r), ["a", "b"])

    def test_an_error_does_not_come_late(self):
        r = self.meet("create configmaps", {"do": "write_late", "by": "1h"}, nth=2)
        self.assertEqual([self.create(r, name) for name in "aa"], [201, 409])

    def test_writes_of_another_kind_do_not_count(self):
        r = self.meet("create configmaps", {"do": "write_error", "code": 500})
        self.assertEqual(r.request("DELETE", MAPS + "/none")[0], 404)
        self.assertEqual(r.request("PUT", "/api/v1/namespaces/default/pods/a/status", {"Content-Type": "application/json"},
            json.dumps(obj(PODS, "a", 5)))[0], 200)
        self.assertEqual(self.create(r, "a"), 500)

    def test_writes_count_from_a_position_on(self):
        r = self.meet("create configmaps", {"do": "write_error", "code": 500}, since="seq:5")
        self.assertEqual(self.create(r, "a"), 201)
        self.step(r, 2)
        self.assertEqual(self.create(r, "b"), 500)

    def test_the_clock_waits_for_the_write(self):
        r = self.fault({"when": {"write": "create configmaps", "since": "seq:5", "await": "60s"},
            "what": {"do": "write_error", "code": 409}}, options=("--wait-watchers", "1"))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e)[2] for e in w.take(2)], ["21", "22"])
            self.assertEqual(self.create(r, "a"), 409)
            self.assertEqual([brief(e)[2] for e in w.take(3)], ["23", "25", "26"])

    def test_a_write_that_nobody_makes_is_said_so(self):
        r = self.meet("delete pods", {"do": "write_error", "code": 500})
        r.codes = (3,)
        r.stop()
        self.assertIn("nobody wrote so: 'delete pods'", r.stderr())


class BeginsAtWriteTest(WriteFaultCase):
    def test_watches_end_after_the_first_create(self):
        r = self.fault({"when": {"write": "create configmaps", "moment": "after"}, "where": {"resource": "pods"}, "what": "end"},
            options=STEPS)
        pods, nodes = self.raw(r), self.raw(r, "/api/v1/nodes?watch=1&resourceVersion=20")
        self.assertEqual(self.create(r, "a"), 201)
        pods.until(b"\r\n0\r\n\r\n")
        nodes.until(b"\r\n\r\n")
        self.assertIsNone(nodes.read(SILENCE_S))


class LateTest(WriteFaultCase):
    def test_what_was_written_comes_after_events_of_the_tape(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "configmaps"}, "what": {"do": "echo", "count": 2}}, options=STEPS)
        with r.watch(MAPS + "?watch=1") as w:
            self.create(r, "a")
            w.connection.sock.settimeout(SILENCE_S)
            with self.assertRaises(TimeoutError):
                w.next()
            self.assertEqual(self.names(r), ["a"])
        with r.watch(MAPS + "?watch=1&resourceVersion=1") as w:
            self.step(r, 2)
            self.assertEqual(brief(w.next())[:2], ("ADDED", "a"))

    def test_what_the_tape_says_of_a_written_object_is_no_write_of_the_program(self):
        made = (Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6)])
            .event(1, PODS, "MODIFIED", obj(PODS, "b", 21))
            .event(2, PODS, "MODIFIED", obj(PODS, "a", 22, labels={"by": "tape"})))
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": {"do": "echo", "count": 2}}, made=made, options=("--write", "overlay", *STEPS))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            status, _, _ = r.request("PATCH", "/api/v1/namespaces/default/pods/a", {"Content-Type": "application/merge-patch+json"},
                b'{"metadata": {"annotations": {"by": "program"}}}')
            self.assertEqual(status, 200)
            self.step(r, 2)
            seen = [e["object"]["metadata"] for e in w.take(3)]
        self.assertEqual([(m["name"], m.get("annotations"), m.get("labels")) for m in seen],
            [("a", {"by": "program"}, None), ("b", None, None), ("a", {"by": "program"}, {"by": "tape"})])

    def test_what_is_written_when_the_tape_has_ended_is_late_by_the_wall_clock(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "configmaps"}, "what": {"do": "echo", "by": "1h"}, "clock": "wall"},
            options=("--wait-watchers", "1"))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as pods, r.watch(MAPS + "?watch=1") as w:
            self.assertEqual(brief(pods.take(5)[-1])[2], "26")
            self.create(r, "a")
            w.connection.sock.settimeout(SILENCE_S)
            with self.assertRaises(TimeoutError):
                w.next()
        self.assertEqual(self.names(r), ["a"])

    def test_one_write_can_be_late_alone(self):
        r = self.fault({"when": {"write": "create configmaps", "nth": 2}, "what": {"do": "echo", "count": 1}}, options=STEPS)
        with r.watch(MAPS + "?watch=1") as w:
            self.create(r, "a")
            self.assertEqual(brief(w.next())[:2], ("ADDED", "a"))
            self.create(r, "b")
            self.create(r, "c")
            self.step(r, 1)
            self.assertEqual([brief(e)[:2] for e in w.take(2)], [("ADDED", "b"), ("ADDED", "c")])

    def test_a_burst_comes_at_once_on_the_same_watch(self):
        r = self.fault({"when": {"event": "resource='pods' AND type='DELETED'"}, "where": {"resource": "pods", "requests": "watch"},
            "what": "burst", "for": {"events": 2}}, options=STEPS)
        w = self.raw(r)
        self.step(r, 2)
        w.until(b'"21"')
        self.assertIsNone(w.read(SILENCE_S))
        self.step(r, 1)
        w.until(b'"23"')
        self.assertEqual([brief_of[0] for brief_of in w.events()], ["MODIFIED", "DELETED", "ADDED"])

    def test_in_lock_step_the_clock_goes_on_while_a_watch_is_kept_back(self):
        for what in "burst", "stall":
            r = self.fault({"when": {"event": "resource='pods' AND type='DELETED'"}, "where": {"resource": "pods", "requests": "watch"},
                "what": what, "for": {"events": 3}}, options=("--lockstep", "5ms", "--wait-watchers", "2"))
            pods, nodes = self.raw(r), self.raw(r, "/api/v1/nodes?watch=1&resourceVersion=20")
            nodes.until(b'"24"')
            pods.until(b'"26"')
            self.assertNotIn("lock-step: the clients were not quiet", r.stderr())

    def test_in_lock_step_the_clock_waits_until_what_was_refused_is_tried_again(self):
        r = self.fault({"when": {"write": "create configmaps"}, "what": {"do": "write_error", "code": 500}},
            options=("--lockstep", "50ms", "--settle", "20s", "--wait-watchers", "1"))
        w = self.raw(r)
        w.until(b'"21"')
        self.assertEqual(self.create(r, "a"), 500)
        self.assertEqual(r.get("/api/v1/namespaces/default/pods/a")[0], 200)  # other work
        self.assertIsNone(w.read(2))  # longer than after a write that failed by itself
        self.assertEqual(self.create(r, "a"), 201)
        w.until(b'"22"')

    def test_the_clock_stands_still_in_a_pause(self):
        r = self.fault({"when": {"event": "resource='pods' AND type='DELETED'"}, "what": "pause", "for": "1s", "clock": "wall"},
            options=("--wait-watchers", "1"))
        w = self.raw(r)
        w.until(b'"21"')
        self.assertIsNone(w.read(SILENCE_S))
        w.until(b'"26"')

    def test_a_pause_may_last_until_clients_are_quiet(self):
        r = self.fault({"when": {"event": "resource='pods' AND type='DELETED'"}, "what": {"do": "pause", "until_quiet": True}, "for": "500ms", "clock": "wall"},
            options=("--wait-watchers", "1"))
        w = self.raw(r)
        w.until(b'"21"')
        began = time.monotonic()
        while time.monotonic() - began < 2:
            self.assertEqual(r.get("/api/v1/namespaces/default/pods/a")[0], 200)
            self.assertNotIn(b'"26"', w.received)
            self.assertIsNone(w.read(0.1))
        w.until(b'"26"')

    def test_a_slow_list_is_answered_after_others(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": {"do": "slow", "by": "1s"}}, options=STEPS)
        slow = self.raw(r, "/api/v1/pods?resourceVersion=0", agent="one")
        self.assertEqual(r.get("/api/v1/nodes")[0], 200)
        self.assertEqual(slow.received, b"")
        slow.until(b"PodList")
        again = self.raw(r, "/api/v1/pods?resourceVersion=0", agent="one")
        again.until(b"PodList")


class ViewTest(WriteFaultCase):
    def view(self, as_of="seq:4", resources="pods"):
        r = self.fault({"when": {"at": "seq:7"}, "where": {"resource": resources}, "what": {"do": "stale_view", "as_of": as_of}, "for": {"events": 1}, "optional": True},
            options=STEPS)
        before = self.raw(r)
        self.step(r, 4)
        before.until(b'"23"')
        return r

    def pods(self, answer):
        return [(p["metadata"]["name"], p["metadata"]["uid"]) for p in answer["items"]]

    def test_a_list_that_may_be_old_is(self):
        r = self.view()
        old = r.get("/api/v1/pods?resourceVersion=0")[1]
        self.assertEqual((old["metadata"]["resourceVersion"], self.pods(old)), ("21", [("a", "uid-a"), ("w", "u1")]))

    def test_a_consistent_list_and_a_read_by_name_are_not(self):
        r = self.view()
        self.assertEqual(self.pods(r.get("/api/v1/pods")[1]), [("a", "uid-a"), ("w", "u2")])
        self.assertEqual(r.get("/api/v1/namespaces/default/pods/w")[1]["metadata"]["uid"], "u2")

    def test_a_watch_from_there_stands_still_until_it_is_over(self):
        r = self.view()
        w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21")
        w.until(b"\r\n\r\n")
        self.assertIsNone(w.read(SILENCE_S))
        self.step(r, 1)
        w.until(b'"25"')
        self.assertEqual([e[2] for e in w.events()], ["22", "23", "25"])

    def test_several_resources_can_be_old_at_once(self):
        r = self.view(resources=["pods", "nodes"])
        self.assertEqual(r.get("/api/v1/pods?resourceVersion=0")[1]["metadata"]["resourceVersion"], "21")
        self.assertNotEqual(r.get("/api/v1/nodes?resourceVersion=0")[1]["items"][0]["metadata"]["resourceVersion"], "24")
        self.assertEqual(r.get("/api/v1/nodes")[1]["items"][0]["metadata"]["resourceVersion"], "24")

    def maps_before(self, write):
        """Of three made after event 4, one of them after event 5, those that a list shows as of event 4, before that write."""
        r = self.fault({"when": {"at": "seq:5"}, "where": {"resource": "configmaps"}, "what": {"do": "stale_view", "as_of": "seq:4", **write}, "for": "1h"},
            options=STEPS)
        self.step(r, 1)
        for name, steps in (("a", 0), ("b", 1), ("c", 0)):
            self.create(r, name)
            self.step(r, steps)
        return [item["metadata"]["name"] for item in r.get(MAPS + "?resourceVersion=0")[1]["items"]]

    def test_it_has_all_writes_that_followed_the_event_or_only_the_first_ones(self):
        self.assertEqual(self.maps_before({}), ["a", "b"])
        self.assertEqual([self.maps_before({"before_write": nth}) for nth in (1, 2, 3)], [[], ["a"], ["a", "b"]])

    def nodes_before(self, write):
        """The tape changes a node that a program has written, and which it then deletes: what a list shows as of the change."""
        node = lambda rv, **members: obj(NODES, "n", rv, namespace=None, **members)
        made = (Tape().listed(NODES, 20, [node(7)]).event(1, NODES, "MODIFIED", node(21, spec={"unschedulable": True}))
            .listed(PODS, 21, [obj(PODS, "a", 6)], at=2))
        r = self.fault({"when": {"at": "seq:3"}, "where": {"resource": "nodes"}, "what": {"do": "stale_view", "as_of": "seq:2", **write}, "for": "1h"},
            made=made, options=(*STEPS, "--write", "overlay"))
        self.assertEqual(r.request("PUT", "/api/v1/nodes/n", {"Content-Type": "application/json"}, json.dumps(node(7, labels={"mine": "yes"})))[0], 200)
        self.step(r, 1)
        self.assertEqual(r.request("DELETE", "/api/v1/nodes/n")[0], 200)
        self.step(r, 1)
        return [(item["metadata"]["labels"], item.get("spec")) for item in r.get("/api/v1/nodes?resourceVersion=0")[1]["items"]]

    def test_what_the_tape_changes_of_a_written_object_is_the_event_and_no_write(self):
        self.assertEqual(self.nodes_before({}), [])
        self.assertEqual(self.nodes_before({"before_write": 1}), [({"mine": "yes"}, {"unschedulable": True})])

    def test_other_resources_are_as_ever(self):
        r = self.view()
        self.assertEqual(r.get("/api/v1/nodes?resourceVersion=0")[1]["items"][0]["metadata"]["resourceVersion"], "24")


class RestartTest(FaultCase):
    def play(self, *options, command=("buggy", "tombstone")):
        tape, self.run_file = self.tape(a_day()), os.path.join(self.folder, "x.run")
        self.starts = os.path.join(self.folder, "starts")
        script = 'echo $$ >>"%s"; "%s" "%s" %s & trap "kill $!" TERM; wait; exit 0' % (self.starts, sys.executable, CONTROLLER, " ".join(command))
        return subprocess.run([KUBETAPE, "replay", tape, "--speed", "max", "--settle", "1s", "--gaps", "none", "--run", self.run_file, *options,
            "--", "sh", "-c", script], capture_output=True, text=True, timeout=DEADLINE_S)

    def requests_of(self, program, gap, watches):
        """A function that asks the run file of that program in SQL."""
        run = os.path.join(self.folder, "program.run")
        done = subprocess.run([KUBETAPE, "replay", self.tape(a_day()), "--speed", "max", "--settle", "1s", "--wait-watchers", watches, "--gaps", "none",
            "--run", run, "--gap", gap, "--", sys.executable, "-c", program, os.path.dirname(CONTROLLER)], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return lambda sql: sqlite3.connect(run).execute(sql).fetchall()

    def pids(self):
        with open(self.starts) as f:
            return f.read().split()

    def writes(self):
        rows = sqlite3.connect(self.run_file).execute("SELECT verb, name, status FROM writes WHERE resource = 'configmaps' ORDER BY write")
        return rows.fetchall()

    def test_the_command_dies_after_its_write_and_is_started_again(self):
        done = self.play("--gap", "#1,0s,restart,after,write=create configmaps")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.pids()), 2)
        self.assertFalse(os.path.exists("/proc/" + self.pids()[0]))
        writes = self.writes()
        self.assertEqual(writes[0], ("create", "a", 201))
        self.assertIn(("create", "a", 409), writes)

    def test_before_its_write_nothing_is_done(self):
        done = self.play("--gap", "#1,0s,restart,write=create configmaps")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(("create", "a", 409), self.writes())
        self.assertIn(("create", "a", 201), self.writes())

    def test_what_passes_while_it_is_away_is_missed(self):
        done = self.play("--gap", "#1,2ev,restart,pods,event=type='DELETED'")
        self.assertEqual((done.returncode, len(self.pids())), (0, 2), done.stderr)
        self.assertNotIn("delete", {verb for verb, _, _ in self.writes()})

    def test_watches_that_it_does_not_need_any_more_are_not_waited_for(self):
        tape, marker = self.tape(a_day()), os.path.join(self.folder, "has-run")
        done = subprocess.run([KUBETAPE, "replay", tape, "--speed", "max", "--lockstep", "50ms", "--settle", "1s", "--wait-watchers", "2", "--gaps", "none",
            "--gap", "#1,0s,restart,hold=1h,event=type='DELETED'", "--", sys.executable, "-c", LAZY, os.path.dirname(CONTROLLER), marker],
            capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_all_its_watches_are_waited_for_whatever_resource_the_fault_is_about(self):
        requests = self.requests_of(LATER, "#1,2ev,restart,pods,event=type='DELETED'", watches="2")
        listed = requests("SELECT resource, seq FROM requests WHERE verb = 'list' ORDER BY request")[2:]
        self.assertEqual([resource for resource, _ in listed], ["pods", "nodes"])
        self.assertEqual(listed[0][1], listed[1][1])

    def test_the_lease_by_which_it_led_holds_its_next_life_up_no_longer(self):
        requests = self.requests_of(LEADER, "#1,0s,restart,after,write=create configmaps", watches="0")
        asked = requests("SELECT name, status FROM requests WHERE verb = 'get' ORDER BY request")
        self.assertEqual(asked, [("leads", 404), ("lives", 404), ("leads", 404), ("lives", 200)])

    def test_without_a_command_it_is_refused(self):
        done = subprocess.run([KUBETAPE, "replay", self.tape(a_day()), "--gap", "+1s,0s,restart"], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (2, "kubetape replay: gap 1: 'restart' needs a COMMAND after '--'\n"))
