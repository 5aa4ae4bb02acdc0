"""kubetape why: the chain of causes of what is the matter with an object."""
import json
import os
import unittest

from audit_log import request, write_log
from incidents import INCIDENTS, NOT_READY, Cluster, ended, not_ready, obj, rolled_out, status, warning, web
from tapes import SECOND, TapeTest, event, pod


def swapped(rows, first):
    """The rows, of which every second pair from `first` on has changed places if it is of two watches within three seconds."""
    rows = [dict(row) for row in rows]
    for i in range(first, len(rows) - 1, 2):
        one, two = rows[i:i + 2]
        if one["stream"] != two["stream"] and one["origin"] == two["origin"] == "watch" and two["time_ns"] - one["time_ns"] <= 3 * SECOND:
            rows[i:i + 2] = two, one
            one["time_ns"], two["time_ns"] = two["time_ns"], one["time_ns"]
    return rows


class Why(TapeTest):
    def why(self, *args, tape=None):
        done = self.run_tape("why", tape or self.tape, *args, "-o", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_each_incident_is_told_with_its_cause(self):
        for number, (name, (rows, what, expected)) in enumerate(INCIDENTS.items()):
            with self.subTest(incident=name):
                tape = os.path.join(self.dir, f"{number}.tape")
                self.make_tape(tape, rows)
                steps = self.why(what, tape=tape)["steps"]
                told = [(s["rule"], s["resource"]) for s in steps]
                self.assertEqual(told[:len(expected)], [(rule, resource) for rule, resource, _ in expected])
                for step, (_, _, text) in zip(steps, expected):
                    self.assertIn(text, step["text"])
                    self.assertIn(step["certainty"], ("certain", "likely"))
                    self.assertGreater(step["seq"], 0)

    def test_streams_that_were_written_down_in_another_order_tell_the_same(self):
        """Each stream has a connection of its own: of two changes within moments the second may be recorded first."""
        for number, (name, (rows, what, expected)) in enumerate(INCIDENTS.items()):
            for first in (0, 1):
                with self.subTest(incident=name, first=first):
                    tape = os.path.join(self.dir, f"{number}-{first}.tape")
                    self.make_tape(tape, swapped(rows, first))
                    self.assertEqual([(s["rule"], s["resource"]) for s in self.why(what, tape=tape)["steps"]][:len(expected)],
                                     [(rule, resource) for rule, resource, _ in expected])

    def test_what_was_made_leads_to_what_its_owner_was_asked_for(self):
        bundled = "tests/tapes/rolling-update.tape"
        for what, rules, kinds in [("pods/web-585f66c874-chscg", ["appeared", "owner-scaled-up", "owner-changed"], ["pods", "replicasets", "deployments"]),
                                   ("pods/web-585f66c874-nbzft", ["appeared", "owner-made", "owner-changed"], ["pods", "replicasets", "deployments"]),
                                   ("replicasets/web-585f66c874", ["changed", "owner-changed"], ["replicasets", "deployments"])]:
            steps = self.why(what, "-n", "shop", tape=bundled)["steps"]
            self.assertEqual(([s["rule"] for s in steps], [s["resource"] for s in steps]), (rules, kinds), what)
        made = {"ownerReferences": [{"uid": "rs", "name": "web", "kind": "ReplicaSet", "controller": True}]}
        rows = [event(1, "ADDED", pod("a", "a", 1, metadata=made)), event(2, "DELETED", pod("a", "a", 2, metadata=made)), event(3, "ADDED", pod("b", "b", 3, metadata=made))]
        self.make_tape(self.tape, rows)
        self.assertEqual([(s["rule"], s["name"]) for s in self.why("pods/b")["steps"]][:2], [("appeared", "b"), ("takes-a-place", "a")])

    def test_a_cause_is_never_later_than_what_it_explains_as_far_as_the_order_tells(self):
        self.make_tape(self.tape, INCIDENTS["scaled to zero"][0])
        numbers = [s["seq"] for s in self.why("pods/web-1-a")["steps"]]
        self.assertEqual(numbers, sorted(numbers, reverse=True))

    def test_the_manager_is_named_and_the_audit_log_names_the_user(self):
        rows, what, _ = INCIDENTS["scaled to zero"]
        self.make_tape(self.tape, rows)
        before = self.why(what)
        self.assertEqual((before["steps"][-1]["manager"], before["steps"][-1]["user"]), ("kubectl", None))
        self.assertIn("audit log would say", before["end"])
        scaled = next(r["object"] for r in rows if r["object"]["kind"] == "Deployment" and r["object"]["spec"]["replicas"] == 0)
        log = write_log(os.path.join(self.dir, "audit.log"), [request("patch", scaled, 29.99, user="mallory")])
        self.assertEqual(self.run_tape("audit", self.tape, log).returncode, 0)
        after = self.why(what)
        self.assertEqual((after["steps"][-1]["user"], after["known"]), ("mallory", True))

    def test_a_gap_that_hides_the_cause_is_named(self):
        rows, what, _ = INCIDENTS["deleted in a gap"]
        self.make_tape(self.tape, rows)
        told = self.why(what)
        self.assertIn("not watched from", told["steps"][0]["gap"])
        self.assertFalse(told["known"])
        self.assertIn("not watched from", self.run_tape("why", self.tape, what).stdout)

    def test_a_deletion_without_a_trace_is_nobodys(self):
        self.make_tape(self.tape, [event(1, "ADDED", pod("web-0", "u1", 10)), event(9, "DELETED", pod("web-0", "u1", 12))])
        told = self.why("pods/web-0")
        self.assertEqual((len(told["steps"]), told["known"], told["steps"][0]["user"]), (1, False, None))
        self.assertIn("not known", told["end"])

    def test_what_is_asked_of_an_earlier_position_knows_nothing_later(self):
        rows, _, _ = INCIDENTS["scaled to zero"]
        self.make_tape(self.tape, rows)
        steps = self.why("pods/web-1-a", "--at", "3")["steps"]
        self.assertEqual(steps[0]["rule"], "appeared")
        self.assertLessEqual(max(s["seq"] for s in steps), 3)

    def test_an_end_of_long_ago_is_not_what_is_the_matter_now(self):
        old = status("side", ended(137, "OOMKilled", at=-86400), ready=True, restarts=1)
        c = Cluster()
        pod = c.add(0, obj("Pod", "a", status={"phase": "Running", "containerStatuses": [old, status("app", ready=True)]}), origin="list")
        c.change(10, pod, "kubectl-label", metadata={"labels": {"a": "b"}})
        self.make_tape(self.tape, c.rows)
        self.assertEqual(self.why("pods/a")["steps"][0]["rule"], "appeared")
        not_ready(c, 20, pod, old, status("app", ended(3, at=19), waits="CrashLoopBackOff", restarts=5))
        self.make_tape(self.tape + "2", c.rows)
        first = self.why("pods/a", tape=self.tape + "2")["steps"][0]
        self.assertEqual(first["rule"], "crashed")
        self.assertIn("container app ended with exit code 3", first["text"])

    def test_that_a_container_is_started_later_again_is_no_cause(self):
        c = Cluster()
        pod = c.add(0, obj("Pod", "a"), origin="list")
        pod = not_ready(c, 20, pod, status("app", ended(3, at=19), waits="CrashLoopBackOff", restarts=5))
        warning(c, 21, pod, "BackOff", "Back-off restarting failed container app")
        self.make_tape(self.tape, c.rows)
        told = self.why("pods/a")
        self.assertEqual(([s["rule"] for s in told["steps"]], told["known"]), (["crashed"], False))

    def crashed(self, body, kind="text/plain; first=0; last=0", identity="containerd://19"):
        """A tape of a container that died, with what `record --logs` kept of it, and of its life before."""
        c = Cluster()
        pod = c.add(0, obj("Pod", "a"), origin="list")
        not_ready(c, 20, pod, status("app", ended(3, at=19), waits="CrashLoopBackOff", restarts=5))
        def log(restart, identity, text, kind):
            return {"document": "/api/v1/namespaces/shop/pods/a/log", "variant": f"log app {restart} pod-a {identity}", "http_status": 200,
                    "content_type": kind, "time_ns": c.rows[-1]["time_ns"] + SECOND, "body": text}
        self.make_tape(self.tape, [*c.rows, log(3, "containerd://7", "of another life\n", "text/plain"), log(4, identity, body, kind)])

    def test_a_crash_shows_the_last_lines_of_the_log(self):
        self.crashed("".join(f"2023-11-14T22:13:38Z {line}\n" for line in (*range(9), "x" * 999, "panic: \x1b[31mno config", "", "exit")), "text/plain")
        step = self.why("pods/a")["steps"][0]
        self.assertEqual(step["log"], ["7", "8", "x" * 300 + "...", "panic: \x1b[31mno config", "exit"])
        self.assertIsNone(step["no_log"])
        text = self.run_tape("why", self.tape, "pods/a").stdout
        self.assertIn("      the last lines of its log:\n        7\n        8\n", text)
        self.assertIn("        panic: \\x1b[31mno config\n        exit\n", text)

    def test_of_another_life_of_the_container_no_log_is_shown(self):
        self.crashed("2023-11-14T22:13:38Z also of another life\n", "text/plain", "containerd://8")
        self.assertEqual([self.why("pods/a")["steps"][0][k] for k in ("log", "no_log")], [None, None])
        self.assertNotIn("log", self.run_tape("why", self.tape, "pods/a").stdout.split("what made it")[0])

    def test_an_event_of_later_is_not_known_earlier(self):
        c = Cluster()
        pod = not_ready(c, 15, rolled_out(c), status("app"))
        warning(c, 20, pod, "Unhealthy", "Readiness probe failed")
        self.make_tape(self.tape, c.rows)
        self.assertIn("event", [s["rule"] for s in self.why("pods/web-2-b")["steps"]])
        self.assertNotIn("event", [s["rule"] for s in self.why("pods/web-2-b", "--at", str(len(c.rows) - 1))["steps"]])

    def test_a_pod_that_is_starting_is_not_blamed_on_the_change_before(self):
        bundled = "tests/tapes/rolling-update.tape"
        steps = self.why("pods/web-585f66c874-76jl6", "-n", "shop", "--at", "514", tape=bundled)["steps"]
        self.assertEqual([s["rule"] for s in steps], ["not-ready", "starting", "owner-scaled-up", "owner-changed"])
        self.assertEqual(steps[-1]["text"], "spec.replicas 6 -> 9")

    def test_pods_that_are_done_or_are_going_are_no_trouble(self):
        c = Cluster()
        job = c.add(1, obj("Job", "load", api="batch/v1"))
        pod = c.add(2, obj("Pod", "load-a", owner=job))
        c.change(3, pod, "kubelet", "status", status={"phase": "Succeeded", "conditions": [{**NOT_READY, "reason": "PodCompleted"}]})
        _, _, pod = web(c)
        c.change(5, pod, "kubelet", "status", metadata={"deletionTimestamp": "2023-11-14T22:13:55Z"}, status={"phase": "Running", "conditions": [NOT_READY]})
        self.make_tape(self.tape, c.rows)
        for what in ("jobs/load", "pods/load-a", "deploy/web"):
            self.assertEqual(self.why(what)["steps"][0]["rule"], "appeared", what)

    def test_an_event_about_any_object_is_what_is_the_matter_with_it(self):
        c = Cluster()
        claim = c.add(1, obj("ConfigMap", "claim"))
        warning(c, 2, claim, "ProvisioningFailed", "storageclass \"fast\" not found")
        self.make_tape(self.tape, c.rows)
        self.assertIn('storageclass "fast" not found', self.why("cm/claim")["steps"][0]["text"])

    def test_one_name_in_several_namespaces_has_to_be_told_apart(self):
        self.make_tape(self.tape, [event(1, "ADDED", pod("web-0", "u1", 10)), event(2, "ADDED", pod("web-0", "u2", 11, "other")),
                                   event(3, "DELETED", pod("web-0", "u1", 12))])
        self.assert_fails(self.run_tape("why", self.tape, "pods/web-0"), 2, "namespaces other, shop have one: choose with --namespace")
        self.assertEqual(self.why("pods/web-0", "-n", "other")["steps"][0]["rule"], "appeared")
        self.assertEqual(self.why("pods/web-0", "--at", "1")["steps"][0]["namespace"], "shop")

    def test_an_answer_from_within_a_gap_is_a_guess(self):
        done = self.run_tape("why", "tests/tapes/watch-gaps.tape", "pods/web-0", "--at", "22:13:55")
        self.assertEqual(done.returncode, 3)
        self.assertIn("pods were not watched from 2023-11-14T22:13:50", done.stderr)

    def test_what_the_tape_does_not_have_is_one_sentence(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        self.assert_fails(self.run_tape("why", self.tape, "pods/none"), 1, "no event of it")
        self.assert_fails(self.run_tape("why", self.tape, "nothings/web"), 1, "nothings")


if __name__ == "__main__":
    unittest.main()
