"""A run and a sweep in the page: what a program did, and what made it go wrong."""
import contextlib
import json
import os
import sqlite3
import sys

import browsers
from viewing import View
from test_view_page import READY, ROLLING
from tapes import TapeTest

REPORT = {"tape": "x", "positions": 3, "wrong": 2, "unsure": 0, "fine": 1, "not_reached": 4, "gaps": [
    {"verdict": "wrong", "pattern": "unobserved", "kind": "deletion", "seq": 473, "last_seq": 474, "hidden": 2, "resource": "pods", "object": "shop/lonely", "gap": "end,compact",
     "repeat": "kubetape replay x --gaps=1.json", "differences": ["configmaps shop/<b>web-1</b> is left (without the gap: not)"]},
    {"verdict": "wrong", "pattern": "unobserved", "kind": "deletion", "seq": 456, "last_seq": 457, "hidden": 2, "resource": "pods", "object": "shop/other", "gap": "end,compact",
     "repeat": "kubetape replay x --gaps=2.json", "differences": ["configmaps shop/<b>web-2</b> is left (without the gap: not)"]},
    {"verdict": "fine", "pattern": "unobserved", "kind": "deletion", "seq": 500, "last_seq": 500, "hidden": 1, "resource": "pods", "object": "shop/fine", "gap": "end,compact", "repeat": None, "differences": []}]}
CLIENT = """
import json, os, re, urllib.request
server = re.search('https?://[0-9.:]+', open(os.environ['KUBECONFIG']).read()).group()
for method, path, body in (('GET', '/api/v1/pods', None), ('POST', '/api/v1/namespaces/shop/configmaps', {'metadata': {'name': 'note'}}), ('GET', '/api/v1/nothing', None)):
    request = urllib.request.Request(server + path, data=body and json.dumps(body).encode(), method=method, headers={'Content-Type': 'application/json', 'User-Agent': 'noter/1'})
    try:
        urllib.request.urlopen(request, timeout=60).read()
    except urllib.error.HTTPError:
        pass
"""


class Runs(browsers.OneBrowser, TapeTest):
    def open(self, view, pane):
        view.whole()
        self.browser.go(view.url + "#pane=" + pane)
        self.browser.wait(READY + f" && document.getElementById('pane').dataset.pane === '{pane}' && document.getElementById('pane').innerText.length > 20")

    def check_quiet(self):
        self.assertEqual((self.browser.errors, self.browser.evaluate("kubetape.errors")), ([], []))

    def test_a_run_shows_what_the_program_wrote_and_what_was_refused(self):
        run = os.path.join(self.dir, "x.run")
        done = self.run_tape("replay", ROLLING, "--plain", "--speed", "max", "--wait-watchers", "0", "--run", run, "--", sys.executable, "-c", CLIENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        with View(ROLLING, "--run", run) as view:
            self.open(view, "run")
            text = self.browser.evaluate("document.getElementById('pane').innerText")
            self.assertIn("1 writes", text)
            self.assertIn("shop/note", text)
            self.assertIn("404", text)
            self.browser.evaluate("[...document.querySelectorAll('#pane button')].find(b => b.textContent.startsWith('Mark')).click()")
            self.browser.wait("kubetape.timeline.laid.length === 1")
            self.check_quiet()

    def test_deliveries_that_were_late_lead_to_their_events(self):
        run = os.path.join(self.dir, "x.run")
        done = self.run_tape("replay", ROLLING, "--plain", "--speed", "max", "--wait-watchers", "0", "--run", run, "--", sys.executable, "-c", CLIENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        with contextlib.closing(sqlite3.connect(run)) as db, db:
            for seq, late_ns in ((473, 8_000_000), (456, 20_000_000), (500, 900_000)):
                db.execute("INSERT INTO deliveries (request, seq, type, due_ns, out_ns) SELECT min(request), ?, 'MODIFIED', 0, ? FROM requests", (seq, late_ns))
        with View(ROLLING, "--run", run) as view:
            self.open(view, "run")
            self.assertEqual(self.browser.evaluate("[...document.querySelectorAll('#pane tr[data-late]')].map(r => [r.dataset.late, r.lastChild.textContent])"),
                             [["456", "20ms"], ["473", "8ms"]])
            self.browser.evaluate("document.getElementById('mark-late').click()")
            self.browser.wait("kubetape.timeline.laid.length === 2")
            self.browser.evaluate("document.querySelector('#pane tr[data-late]').click()")
            self.browser.wait("kubetape.view.cursor && kubetape.view.cursor.seq === '456'")
            self.check_quiet()

    def test_findings_of_a_sweep_are_grouped_by_cause_and_lead_to_their_places(self):
        report = os.path.join(self.dir, "report.json")
        with open(report, "w", encoding="utf-8") as file:
            json.dump(REPORT, file)
        with View(ROLLING, "--sweep", report) as view:
            self.open(view, "sweep")
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('#pane .card').length"), 1)
            self.assertIn("2 of 3 faults make it go wrong", self.browser.evaluate("document.getElementById('pane').innerText"))
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('#pane p b').length"), 0)
            self.browser.evaluate("document.querySelector('#pane .card button').click()")
            self.browser.wait("kubetape.view.cursor && kubetape.view.cursor.seq === '473' && kubetape.view.selected === 'pods/shop/lonely'")
            self.check_quiet()

    def test_what_is_no_report_is_refused(self):
        path = os.path.join(self.dir, "none.json")
        for text in ("{}", "not json", '{"gaps": 1}'):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assert_fails(self.run_tape("view", ROLLING, "--sweep", path), 2, "is not what 'sweep --json' writes")
