"""What is handed over: `export --format html`, one page with its data that opens from disk, and `--format svg`."""
import base64
import json
import os
import re
import zlib
from urllib.parse import quote
from xml.etree import ElementTree

import browsers
from viewing import View
from test_view_data import Small as SmallTape, running, warning
from test_view_page import GAPS, READY, ROLLING
from tapes import TapeTest, event

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<script>window.hacked=1</script>", "</script><img src=x onerror=window.hacked=1>", "]]>&amp;", "\u202eevil", "\x1b[31m", "x" * 253]


def data_of(page):
    """The data in a page."""
    return json.loads(zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', page).group(1))))


class Files(TapeTest):
    rows = SmallTape.rows

    def export(self, tape, *options):
        done = self.run_tape("export", tape, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_a_page_has_every_event_and_every_change_with_its_writer(self):
        self.tape = ROLLING
        data = data_of(self.export(ROLLING, "--format", "html"))
        events = self.query("SELECT seq, uid, object FROM events ORDER BY seq")
        self.assertEqual([(int(e[0]), e[4], json.loads(e[7])) for e in data["events"]], [(r["seq"], r["uid"], r["object"] if isinstance(r["object"], dict) else json.loads(r["object"])) for r in events])
        changes = self.query("SELECT seq, path, manager FROM changes WHERE path <> '$' ORDER BY seq, path")
        self.assertEqual(sorted((int(c[0]), c[2], c[6]) for c in data["changes"]), sorted((r["seq"], r["path"], r["manager"]) for r in changes))

    def test_only_what_is_asked_for_is_in_it(self):
        self.tape = ROLLING
        data = data_of(self.export(ROLLING, "--format", "html", "-n", "shop", "--from", "9:51:40", "--until", "09:51:50", "--where", "resource = 'pods'"))
        self.assertEqual({e[3].split("/")[0] for e in data["events"]}, {"pods"})
        self.assertEqual({e[3].split("/")[1] for e in data["events"]}, {"shop"})
        seqs = [r["seq"] for r in self.query("SELECT seq FROM events WHERE resource = 'pods' AND namespace = 'shop' AND time BETWEEN '09:51:40' AND '09:51:50'")]
        before = [r["seq"] for r in self.query("SELECT seq FROM objects('09:51:40') WHERE resource = 'pods' AND namespace = 'shop'")]
        self.assertEqual(sorted(int(e[0]) for e in data["events"]), sorted(set(seqs + before)))
        self.assertEqual((data["from"], data["to"]), ("1795254700000000000", "1795254710000000000"))

    def test_a_picture_of_a_time_outside_the_tape_is_refused(self):
        for form in ("html", "svg"):
            for option, value, place in (("--from", "2199-01-01", "after the end"), ("--until", "1999-01-01", "before the beginning")):
                done = self.run_tape("export", self.tape, "--format", form, option, value)
                self.assert_fails(done, 2, f"nothing to draw: '{value}' is ")
                self.assertIn(place + " of the tape", done.stderr)

    def test_a_page_loads_nothing_from_anywhere_and_says_so(self):
        page = self.export(self.tape, "--format", "html")
        self.assertIn("default-src 'none'", page)
        self.assertEqual(re.findall(r"(?:src|href)=\"(?!data:)[^\"]*\"", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)), [])

    def test_a_drawing_has_a_bar_for_each_state_a_mark_for_what_happened_and_hatches_gaps(self):
        tree = ElementTree.fromstring(self.export(self.tape, "--format", "svg"))
        states = [t.text for t in tree.iter(SVG + "title")]
        for word in ("Ready", "CrashLoop", "oom", "restart", "warning", "recreated"):
            self.assertIn(word, states)
        self.assertIn("a", [t.text for t in tree.iter(SVG + "text")])
        hatched = [r for r in ElementTree.fromstring(self.export(GAPS, "--format", "svg")).iter(SVG + "rect") if r.get("fill") == "url(#hid)"]
        self.assertEqual(len(hatched), 2)

    def test_hostile_names_are_text_in_a_drawing(self):
        path = os.path.join(self.dir, "hostile.tape")
        self.make_tape(path, [event(i, "ADDED", running(name, f"u{i}", i + 1)) for i, name in enumerate(HOSTILE)])
        drawing = self.export(path, "--format", "svg")
        tree = ElementTree.fromstring(drawing)
        self.assertEqual([e for e in tree.iter() if e.tag in (SVG + "script", SVG + "img")], [])
        self.assertIn(HOSTILE[0], [t.text for t in tree.iter(SVG + "text")])
        self.assertNotIn("\u202e", drawing)

    def test_a_command_line_that_makes_no_sense_is_refused(self):
        for options, sentence in ((["--format", "csv", "-n", "x"], "need '--format html'"), (["--format", "svg", "--table", "gaps"], "a picture shows all"),
                                  (["--format", "svg", "--from", "22:13:25", "--until", "22:13:21"], "does not lie before"), (["--format", "html", "--where", "nosuch > 1"], "no such column"),
                                  (["--format", "svg", "--from", "?"], "bad position")):
            done = self.run_tape("export", self.tape, *options)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(sentence, done.stderr)

    def test_an_empty_tape_can_be_handed_over(self):
        self.assertEqual(data_of(self.export(self.tape, "--format", "html", "--where", "0"))["events"], [])
        ElementTree.fromstring(self.export(self.tape, "--format", "svg", "--where", "0"))


class FromDisk(browsers.OneBrowser):
    """A page from disk."""

    def open(self, tape, fragment, *options):
        path = os.path.join(self.dir, "page.html")
        self.assertEqual(self.run_tape("export", tape, "--format", "html", "-o", path, *options).returncode, 0)
        self.leave()
        self.browser.errors.clear()
        self.browser.requests.clear()
        self.browser.go("file://" + path + fragment)
        self.browser.wait(READY)

    def check_quiet(self):
        self.assertEqual((self.browser.errors, self.browser.evaluate("kubetape.errors")), ([], []))
        self.assertEqual([r for r in self.browser.requests if not r.startswith(("file://", "data:", "about:", "blob:"))], [])

    def test_it_shows_what_the_server_shows(self):
        lanes = "JSON.stringify(kubetape.timeline.model.lanes.map(l => [l.key, l.depth, l.open, l.label, (l.bars || []).map(b => b[2])]))"
        self.open(ROLLING, "#filter=web")
        own = json.loads(self.browser.evaluate(lanes))
        with View(ROLLING) as view:
            view.whole()
            self.leave()
            self.browser.go(view.url + "#filter=web")
            self.browser.wait(READY)
            served = json.loads(self.browser.evaluate(lanes))
        self.assertEqual([lane[:4] for lane in own], [lane[:4] for lane in served])
        self.assertEqual([lane[4][-1:] for lane in own], [lane[4][-1:] for lane in served])

    def test_every_pane_works_without_a_server_and_changes_name_their_writers(self):
        self.open(ROLLING, "#select=" + quote("deployments.apps/shop/web", "") + "&pane=object&diff=1&at=1795254690156010575@246")
        self.browser.wait("document.querySelector('#pane .row.add .who') !== null")
        self.assertIn("by kubectl-set", self.browser.evaluate("document.querySelector('#pane .code').innerText"))
        for pane, word in (("findings", "lonely"), ("writers", "kubectl-set"), ("state", "web-585f66c874-nbzft"), ("gaps", "No gaps"), ("sql", "cannot run SQL")):
            self.browser.evaluate(f"(kubetape.view.selected = '', kubetape.view.cursor = null, kubetape.showPane('{pane}'))")
            self.browser.wait(f"document.getElementById('pane').innerText.includes('{word}')")
        self.browser.press("]")
        self.browser.evaluate("kubetape.goToPosition('09:51:45')")
        self.browser.wait("kubetape.view.cursor && kubetape.view.cursor.ns === 1795254705000000000n")
        self.check_quiet()

    def test_hostile_names_harm_nothing(self):
        path = os.path.join(self.dir, "hostile.tape")
        self.make_tape(path, [event(i, "ADDED", running(name, f"<b>{i}</b>", i + 1)) for i, name in enumerate(HOSTILE)] + [event(9, "ADDED", warning("w", HOSTILE[0], 9), {"version": "v1", "resource": "events", "kind": "Event", "namespaced": True})])
        self.open(path, "")
        for pane in ("state", "findings", "writers", "gaps"):
            self.browser.evaluate(f"kubetape.showPane('{pane}')")
            self.browser.wait(f"document.getElementById('pane').dataset.pane === '{pane}'")
        self.assertEqual(self.browser.evaluate("typeof window.hacked"), "undefined")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#pane img, #pane b b, #pane script').length"), 0)
        self.check_quiet()


class Chromium(FromDisk, TapeTest):
    name = "chromium"


class Firefox(FromDisk, TapeTest):
    name = "firefox"
