"""kubetape report: what happened in a stretch, on one page."""
import json
import os
import re
import unittest
from html.parser import HTMLParser

import bundles
from audit_log import request, write_log
from incidents import INCIDENTS, Cluster, condition, ended, obj, status, warning, web
from tapes import DEPLOYMENTS, TapeTest, event

# What the report of each incident has to have, and under which title.
EXPECTED = {
    "bad image": [("Images changed", "web:1 -> web:tpyo"), ("Containers that wait", "ImagePullBackOff")],
    "out of memory": [("Killed for their memory", "exit code 137 (OOMKilled); restarts 3")],
    "eviction": [("Evicted and disrupted", "low on resource: memory")],
    "quota": [("Refused by quota, webhook or admission", "exceeded quota: team"), ("Scaled", "spec.replicas 1 -> 3")],
    "scaled to zero": [("Scaled", "spec.replicas 1 -> 0  by kubectl")],
    "namespace deleted": [("Deleted", "namespaces shop")],
    "node lost": [("Nodes that were not ready", "Ready True -> Unknown: Kubelet stopped posting"), ("Evicted and disrupted", "DeletionByTaintManager")],
    "webhook": [("Refused by quota, webhook or admission", "connection refused")],
    "expired certificate": [("Refused by quota, webhook or admission", "certificate has expired")],
    "readiness": [("Warnings", "Unhealthy, 9 times: Readiness probe failed")],
    "liveness": [("Crashes", "exit code 137"), ("Warnings", "Liveness probe failed")],
    "init container": [("Crashes", "container migrate: exit code 1"), ("Containers that wait", "container migrate: CrashLoopBackOff")],
    "missing config": [("Deleted", "configmaps shop/settings"), ("Warnings", "FailedMount, 4 times")],
    "key gone": [("Containers that wait", "couldn't find key pass.word")],
    "key of a volume gone": [("Warnings", "FailedMount, 1 time:")],
    "key lacking": [("Containers that wait", "couldn't find key password")],
    "first rollout": [("Containers that wait", "ErrImagePull")],
    "drain": [("Evicted and disrupted", "EvictionByEvictionAPI")],
    "unschedulable": [("Scaled", "1 -> 5"), ("Warnings", "FailedScheduling, 1 time: 0/3 nodes")],
    "pod on a lost node": [("Nodes that were not ready", "Ready True -> Unknown: Kubelet stopped posting"), ("Warnings", "NodeNotReady")],
    "evicted and gone": [("Evicted and disrupted", "low on resource: memory")],
    "preempted": [("Evicted and disrupted", "PreemptionByScheduler")],
    "autoscaled": [("Scaled", "spec.replicas 3 -> 1")],
    "quota of a set": [("Refused by quota, webhook or admission", "StatefulSet shop/db  FailedCreate: create Pod db-1"), ("Scaled", "1 -> 3  by kubectl")],
    "failed job": [("Crashes", "container app: exit code 2")],
    "fight": [("Written in turns by several managers", "spec.replicas 7 times")],
    "deleted in a gap": [("Not watched", "reset, for 30.0s, ended by relist; hid 1 change")],
}
HOSTILE = "<script>alert(1)</script>|[x](javascript:y)"


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


class Report(TapeTest):
    def report(self, *args, tape=None):
        done = self.run_tape("report", tape or self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def sections(self, text):
        parts = re.split(r"^(\w[^\n]*)\n", text, flags=re.M)
        return dict(zip(parts[1::2], parts[2::2]))

    def test_each_incident_has_its_line_with_its_event(self):
        for number, (name, (rows, _, _)) in enumerate(INCIDENTS.items()):
            tape = os.path.join(self.dir, f"{number}.tape")
            self.make_tape(tape, rows)
            sections = self.sections(self.report(tape=tape))
            for title, text in EXPECTED[name]:
                with self.subTest(incident=name, title=title):
                    line = next((x for x in sections[title].splitlines() if text in x), None)
                    self.assertIsNotNone(line, sections[title])
                    self.assertRegex(line, r"^ +\d+  2023-")

    def sections_of(self, cluster, *args):
        self.make_tape(self.tape, cluster.rows)
        return self.sections(self.report(*args))

    def test_a_container_that_ended_before_the_stretch_is_not_told_as_of_it(self):
        """A pod shows for as long as it lives how its container ended last."""
        c = Cluster()
        old = status("app", ended(137, "OOMKilled", at=-86400), restarts=3)
        pod = c.add(0, obj("Pod", "a", status={"containerStatuses": [old]}), origin="list")
        pod = c.change(10, pod, "kubectl-label", metadata={"labels": {"a": "b"}})
        c.change(20, pod, "kubelet", "status", status={"containerStatuses": [status("app", ended(3, at=20), restarts=4)]})
        sections = self.sections_of(c, "--from", "1")
        self.assertEqual(sections["Killed for their memory"].strip(), "none")
        self.assertRegex(sections["Crashes"], "^ +3 .*exit code 3 .*\n")
        sections = self.sections(self.report())
        self.assertRegex(sections["Killed for their memory"], "^ +1 .* at 2023-11-13T22:13:20Z [(]before the recording began[)]; restarts 3\n")

    def test_what_ends_because_its_pod_is_deleted_has_not_crashed(self):
        c = Cluster()
        pod = c.add(0, obj("Pod", "a", status={}), origin="list")
        pod = c.change(5, pod, metadata={"deletionTimestamp": "2023-11-14T22:13:55Z"}, status={"containerStatuses": [status("app", ended(143, at=5))]})
        c.delete(6, pod)
        self.assertEqual(self.sections_of(c)["Crashes"].strip(), "none")

    def test_a_container_that_has_waited_since_before_the_stretch_waits_in_it(self):
        c = Cluster()
        c.add(0, obj("Pod", "a", status={"containerStatuses": [status("app", waits="ImagePullBackOff")]}), origin="list")
        c.add(5, obj("Pod", "b", status={}))
        self.assertIn("pods shop/a  container app: ImagePullBackOff", self.sections_of(c, "--from", "1")["Containers that wait"])

    def test_init_containers_crash_and_wait_like_others(self):
        c = Cluster()
        pod = c.add(0, obj("Pod", "a", status={}), origin="list")
        c.change(5, pod, status={"initContainerStatuses": [status("migrate", ended(1, at=4), waits="CrashLoopBackOff")]})
        sections = self.sections_of(c)
        self.assertIn("container migrate: exit code 1", sections["Crashes"])
        self.assertIn("container migrate: CrashLoopBackOff", sections["Containers that wait"])

    def test_warnings_are_counted_as_their_event_counts_them(self):
        c = Cluster()
        pod = c.add(0, obj("Pod", "a"), origin="list")
        backoff = warning(c, 0, pod, "BackOff", "Back-off restarting", count=47, origin="list")
        c.change(10, backoff, count=49)
        backoff = c.change(20, backoff, count=52)
        self.assertIn("BackOff, 5 times, 47 times before the recording began: Back-off", self.sections_of(c)["Warnings"])
        self.assertIn("BackOff, 3 times: Back-off", self.sections(self.report("--from", "+10s"))["Warnings"])
        self.assertIn("BackOff, 47 times before the recording began: Back-off", self.sections(self.report("--until", "2"))["Warnings"])
        self.assertEqual(self.sections(self.report("--from", "+20s"))["Warnings"].strip(), "none")

    def test_a_set_without_conditions_is_refused_by_its_event(self):
        c = Cluster()
        warning(c, 5, c.add(0, obj("StatefulSet", "db", api="apps/v1"), origin="list"), "FailedCreate", "exceeded quota: team", count=12)
        self.assertIn("StatefulSet shop/db  FailedCreate: exceeded quota: team", self.sections_of(c)["Refused by quota, webhook or admission"])

    def test_managers_that_fight_over_any_field_are_told(self):
        c = Cluster()
        config = c.add(0, obj("ConfigMap", "x", data={"a": "0"}), origin="list")
        for i in range(6):
            config = c.change(i + 1, config, ("argocd", "tuner")[i % 2], data={"a": str((i + 1) % 2)})
        self.assertIn("configmaps shop/x  data.a 6 times", self.sections_of(c)["Written in turns by several managers"])

    def test_whatever_nobody_owns_is_told_when_it_goes(self):
        c = Cluster()
        namespace = c.add(0, obj("Namespace", "shop", namespace=None), origin="list")
        config = c.add(0, obj("ConfigMap", "settings"), origin="list")
        _, _, pod = web(c)
        c.delete(1, config)
        c.delete(2, pod)
        c.change(3, namespace, metadata={"deletionTimestamp": "2023-11-14T22:13:23Z"})
        deleted = self.sections_of(c, "-n", "shop")["Deleted"]
        self.assertIn("configmaps shop/settings", deleted)
        self.assertIn("namespaces shop  is being deleted, and was not gone by the end", deleted)
        self.assertNotIn("pods", deleted)

    def test_what_goes_with_its_namespace_does_not_hide_it(self):
        c = Cluster()
        namespace = c.add(0, obj("Namespace", "shop", namespace=None), origin="list")
        configs = [c.add(0, obj("ConfigMap", f"c{i}"), origin="list") for i in range(60)]
        namespace = c.change(1, namespace, metadata={"deletionTimestamp": "2023-11-14T22:13:21Z"})
        for config in configs:
            c.delete(2, config)
        c.delete(3, namespace)
        self.assertRegex(self.sections_of(c)["Deleted"].strip(), "^[0-9]+  [^ ]+  namespaces shop  with all that was in it$")
        self.assertIn("configmaps shop/c0", self.sections(self.report("-n", "shop"))["Deleted"])

    def test_a_node_that_was_not_ready_all_along_is_told(self):
        c = Cluster()
        c.add(0, obj("Node", "n1", namespace=None, status={"conditions": [condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped")]}), origin="list")
        c.add(1, obj("Pod", "a"))
        self.make_tape(self.tape, c.rows)
        for args in ((), ("--from", "1")):
            self.assertRegex(self.sections(self.report(*args))["Nodes that were not ready"], "^ +1 .* nodes n1  Ready was Unknown already: Kubelet stopped\n\n$")

    def test_what_is_not_on_the_tape_is_not_known(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        sections = self.sections(self.report())
        self.assertEqual(sections["Nodes that were not ready"].strip(), "not known: the tape has none of nodes")
        self.assertEqual(sections["Crashes"].strip(), "none")

    def test_an_imported_tape_does_not_tell_when_it_was_watched(self):
        watched = os.path.join(self.dir, "w.json")
        with open(watched, "w", encoding="utf-8") as file:
            json.dump({"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "shop", "uid": "u",
                       "resourceVersion": "1"}}}, file)
        self.assertEqual(self.run_tape("import", watched, "-o", self.tape).returncode, 0)
        for form in ("text", "html"):
            done = self.run_tape("report", self.tape, "--format", form)
            self.assertEqual((done.returncode, done.stderr), (3, "kubetape report: pods were imported: the tape does not tell when they were watched\n"))
            self.assertIn("not known: imported", done.stdout.split("Not watched")[1])

    def test_of_a_bundle_that_shows_one_moment_changes_are_not_known_and_what_its_lists_show_is(self):
        path = bundles.write_folder(os.path.join(self.dir, "in"), bundles.must_gather())
        self.assertEqual(self.run_tape("import", path, "-o", self.tape).returncode, 0)
        sections = self.sections(self.run_tape("report", self.tape).stdout)
        self.assertEqual(sections["Images changed"].strip(), "not known: in that time nobody watched deployments statefulsets daemonsets cronjobs")
        for title in ("Scaled", "Written in turns by several managers", "Names that another object took", "Deleted", "Slowest to be ready"):
            self.assertIn("not known: in that time nobody watched", sections[title], title)
        for title in ("Crashes", "Evicted and disrupted"):
            self.assertEqual(sections[title].strip(), "none")

    def test_of_a_stretch_within_a_gap_nothing_is_known(self):
        self.make_tape(self.tape, INCIDENTS["deleted in a gap"][0])
        sections = self.sections(self.run_tape("report", self.tape, "--from", "+35s", "--until", "+40s").stdout)
        for title in ("Crashes", "Slowest to be ready"):
            self.assertEqual(sections[title].strip(), "not known: in that time nobody watched pods")
        self.assertEqual(self.sections(self.report())["Crashes"].strip(), "none")

    def test_only_the_stretch_and_the_namespace_count(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        self.assertEqual(self.sections(self.report("--until", "+10.5s"))["Scaled"].strip(), "none")
        self.assertIn("1 -> 5", self.sections(self.report("-n", "shop"))["Scaled"])
        self.assert_fails(self.run_tape("report", self.tape, "-n", "other"), 1, "no namespace 'other'")

    def test_the_audit_log_says_who(self):
        rows = INCIDENTS["scaled to zero"][0]
        self.make_tape(self.tape, rows)
        scaled = next(r["object"] for r in rows if r["object"]["kind"] == "Deployment" and r["object"]["spec"]["replicas"] == 0)
        log = write_log(os.path.join(self.dir, "audit.log"), [request("patch", scaled, 29.99, user="mallory")])
        self.assertEqual(self.run_tape("audit", self.tape, log).returncode, 0)
        self.assertIn("by mallory (audit log)", self.sections(self.report())["Scaled"])

    def test_hostile_names_are_only_text(self):
        def deployment(rv, image):
            return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": HOSTILE, "namespace": "shop", "uid": "d", "resourceVersion": str(rv)},
                    "spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}}
        self.make_tape(self.tape, [event(1, "ADDED", deployment(1, "x"), stream=DEPLOYMENTS),
                                   event(2, "MODIFIED", deployment(2, "y\x1b[31m" + HOSTILE), stream=DEPLOYMENTS)])
        page = Page()
        html = self.report("--format", "html")
        page.feed(html)
        self.assertFalse(page.tags & {"script", "a", "img", "link", "iframe"})
        self.assertTrue(any(HOSTILE in t for t in page.texts))
        for text in (html, self.report(), self.report("--format", "markdown")):
            self.assertNotIn("\x1b", text)
        markdown = self.report("--format", "markdown")
        self.assertIn("\\<script\\>", markdown)
        self.assertNotRegex(markdown, r"(?<!\\)[<|]")

    def test_a_stretch_that_ends_before_it_begins_is_refused(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        self.assert_fails(self.run_tape("report", self.tape, "--from", "5", "--until", "2"), 2, "lies before")
        self.assert_fails(self.run_tape("report", self.tape, "--from", "+10.3s", "--until", "+10.2s"), 2, "'+10.2s' lies before '+10.3s'")

    def test_a_stretch_outside_the_tape_is_said_instead_of_reported(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        for positions, place in ((("--from", "2199-01-01"), "after the end"), (("--from", "2199-01-01", "--until", "2199-01-02"), "after the end"),
                                 (("--until", "1999-01-01"), "before the beginning")):
            result = self.run_tape("report", self.tape, *positions)
            self.assertEqual((result.returncode, result.stdout), (3, ""))
            self.assertRegex(result.stderr, "^kubetape report: nothing to report: '%s' is .* %s of the tape, .*\n$" % (positions[1], place))

    def test_a_stretch_that_reaches_beyond_the_tape_is_reported_as_far_as_it_is_known(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        result = self.run_tape("report", self.tape, "--until", "2199-01-01")
        self.assertEqual(result.returncode, 3)
        self.assertIn("1 -> 5", self.sections(result.stdout)["Scaled"])


if __name__ == "__main__":
    unittest.main()
