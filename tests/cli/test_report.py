"""kubetape report: what happened in a stretch, on one page."""
import os
import re
import unittest
from html.parser import HTMLParser

from audit_log import request, write_log
from incidents import INCIDENTS
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
    "fight": [("Written in turns by several managers", "spec.replicas 7 times")],
    "deleted in a gap": [("Not watched", "reset, for 30.0s, ended by relist; hid 1 changes")],
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

    def test_what_is_not_on_the_tape_is_not_known(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        sections = self.sections(self.report())
        self.assertEqual(sections["Nodes that were not ready"].strip(), "not known: the tape has none of nodes")
        self.assertEqual(sections["Crashes"].strip(), "none")

    def test_only_the_stretch_and_the_namespace_count(self):
        self.make_tape(self.tape, INCIDENTS["fight"][0])
        self.assertEqual(self.sections(self.report("--until", "+10.5s"))["Scaled"].strip(), "none")
        self.assertIn("1 -> 5", self.sections(self.report("-n", "shop"))["Scaled"])
        self.assertEqual(self.sections(self.report("-n", "other"))["Scaled"].strip(), "none")

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
