"""The page of `kubetape view` in two real browsers: what it draws against SQL, by keyboard alone, as a link; hostile tapes; and
that it asks nobody else for anything."""
import json
import os
from urllib.parse import quote

import browsers
from viewing import View
from tapes import TapeTest, event, pod

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROLLING = os.path.join(ROOT, "tests/tapes/rolling-update.tape")
GAPS = os.path.join(ROOT, "tests/tapes/watch-gaps.tape")
READY = "document.documentElement.dataset.ready === '1' && kubetape.timeline.model.to > 1n && !!document.getElementById('pane').dataset.pane"


class Pages(browsers.OneBrowser):
    def setUp(self):
        super().setUp()
        self.leave()
        self.browser.errors.clear()
        self.browser.requests.clear()

    def open(self, view, fragment=""):
        # Only a fragment that differs would not load the page anew. What is still being read fills in later.
        self.leave()
        view.whole()
        self.browser.go(view.url + fragment)
        self.browser.wait(READY)

    def ask(self, expression):
        return self.browser.evaluate(expression)

    def wait(self, expression):
        return self.browser.wait(expression)

    def press(self, *keys):
        for key in keys:
            self.browser.press(key)

    def check_quiet(self, view):
        """No error anywhere, and no request to anybody else."""
        self.assertEqual(self.browser.errors, [])
        self.assertEqual(self.ask("kubetape.errors"), [])
        origin = f"http://127.0.0.1:{view.port}/"
        self.assertEqual([r for r in self.browser.requests if not r.startswith((origin, "data:", "about:"))], [])

    def test_the_page_has_as_many_lanes_marks_and_gaps_as_the_tables_say(self):
        self.tape = GAPS
        lanes = self.query("SELECT count(DISTINCT resource || '/' || coalesce(namespace, '') || '/' || name) AS n FROM events WHERE resource <> 'events'")[0]["n"]
        gaps = self.query("SELECT count(*) AS n FROM gaps")[0]["n"]
        with View(GAPS) as view:
            self.open(view, "#toggled=" + quote("n/\ng//nodes"))
            self.wait(f"kubetape.timeline.model.lanes.filter(l => l.type === 'object').length === {lanes}")
            self.assertEqual(self.ask("kubetape.timeline.gaps.gaps.length"), gaps)
            self.assertEqual(self.ask("kubetape.timeline.model.lanes.flatMap(l => l.marks).filter(m => m[1] === 'recreated').length"), 1)
            self.assertIn("hid 1 recreated", self.ask("document.getElementById('pane').innerText"))
            self.check_quiet(view)

    def test_a_walk_by_keyboard_alone_finds_an_object_its_change_and_who_made_it(self):
        with View(ROLLING) as view:
            self.open(view)
            self.press("/")
            self.wait("document.activeElement.id === 'filter'")
            self.browser.type("deployments.apps/shop/web")
            self.wait("kubetape.timeline.model.lanes.map(l => l.label).join() === 'shop,web'")
            self.press("Escape", "ArrowDown", "ArrowDown")
            self.wait("kubetape.view.selected === 'deployments.apps/shop/web'")
            self.press("Enter")
            self.wait("document.getElementById('pane').dataset.pane === 'object' && document.getElementById('pane').innerText.includes('kind: Deployment')")
            self.press("g")
            self.browser.type("09:51:30")
            self.press("Enter")
            self.wait("kubetape.view.cursor !== null && document.activeElement.id === 'stage'")
            self.press("]")
            self.wait("kubetape.view.cursor.seq !== null")
            self.press("d")
            self.wait("document.querySelector('#pane .row.add .who') !== null")
            text = self.ask("document.querySelector('#pane .code').innerText")
            self.assertIn("registry.example/web:2", text)
            self.assertIn("by kubectl-set", text)
            at = self.ask("kubetape.view.cursor.seq")
            self.press("]")
            self.wait(f"kubetape.view.cursor.seq !== '{at}'")
            self.press("[")
            self.wait(f"kubetape.view.cursor.seq === '{at}'")
            self.press("?")
            self.wait("document.getElementById('help').open")
            self.press("Escape")
            self.wait("!document.getElementById('help').open")
            self.press("2")
            self.wait("document.getElementById('pane').dataset.pane === 'state' && document.querySelectorAll('#pane tbody tr').length > 0")
            self.check_quiet(view)

    def test_a_second_cursor_compares_two_times(self):
        with View(ROLLING) as view:
            self.open(view, "#select=" + quote("deployments.apps/shop/web", "") + "&pane=object&diff=1&mark=1795254709000000000&at=1795254712000000000")
            self.wait("document.querySelector('#pane .row.add') !== null")
            text = self.ask("document.querySelector('#pane .code').innerText")
            self.assertIn("replicas: 9", text)
            self.assertIn("by kubectl", text)
            self.check_quiet(view)

    def test_the_address_says_all_that_is_seen(self):
        with View(ROLLING) as view:
            self.open(view, "#filter=web&pane=state&sort=name&at=1795254700000000000&select=" + quote("pods/shop/web-585f66c874-nbzft", ""))
            self.wait("document.querySelectorAll('#pane tbody tr').length > 0")
            self.press("+", "ArrowRight")
            self.wait("new URLSearchParams(location.hash.slice(1)).get('from') === String(kubetape.view.from) && kubetape.timeline.model.lanes.length > 3")
            state = "JSON.stringify([kubetape.view, document.getElementById('pane').innerText], (k, v) => typeof v === 'bigint' ? String(v) : v instanceof Set ? [...v] : v)"
            before, fragment = self.ask(state), self.ask("location.hash")
            self.open(view, fragment)
            self.wait("document.querySelectorAll('#pane tbody tr').length > 0")
            self.assertEqual(json.loads(self.ask(state)), json.loads(before))
            self.assertEqual(self.ask("document.querySelectorAll('#pane tr.at').length"), 1)
            self.check_quiet(view)

    def test_every_pane_fills_and_sql_can_be_laid_on_the_timeline(self):
        with View(ROLLING) as view:
            self.open(view)
            for pane in ("state", "object", "writers", "sql", "gaps", "findings"):
                self.ask(f"kubetape.showPane('{pane}')")
                self.wait(f"document.getElementById('pane').dataset.pane === '{pane}' && document.getElementById('pane').innerText.length > 20")
            self.ask("kubetape.showPane('sql')")
            self.wait("document.querySelector('textarea.sql') !== null")
            self.ask("(document.querySelector('textarea.sql').value = \"SELECT time, name FROM events WHERE type = 'DELETED' AND resource = 'pods'\", document.getElementById('run-sql').click())")
            self.wait("document.querySelectorAll('#rows tbody tr').length === 16")
            self.ask("[...document.querySelectorAll('#rows button')].find(b => b.textContent.startsWith('Mark')).click()")
            self.assertEqual(self.ask("kubetape.timeline.laid.length"), 16)
            self.check_quiet(view)

    def test_panning_draws_and_asks_only_for_what_is_new(self):
        with View(ROLLING) as view:
            self.open(view)
            self.ask("kubetape.setWindow(1795254695000000000n, 1795254715000000000n)")
            self.wait("kubetape.timeline.model.from < 1795254695000000000n && kubetape.timeline.model.from > 1795254675000000000n")
            frames = self.ask("kubetape.timeline.frames")
            self.ask("new Promise(done => { let n = 0; const step = () => { kubetape.timeline.panBy(0.01); if (++n < 30) requestAnimationFrame(step); else requestAnimationFrame(() => done()); }; step(); })")
            self.assertGreaterEqual(self.ask("kubetape.timeline.frames"), frames + 25)
            self.check_quiet(view)

    def test_it_can_be_used_on_a_small_screen_and_on_a_phone_held_sideways(self):
        with View(ROLLING) as view:
            for width, height in ((1280, 720), (844, 390)):
                self.browser.size(width, height)
                self.open(view)
                self.assertEqual(self.ask("document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight"), False)
                self.assertGreater(self.ask("document.getElementById('stage').clientHeight"), 100)
            self.browser.size(1280, 720)

    def test_names_from_a_tape_are_text_whatever_they_hold(self):
        names = ["<img src=x onerror=\"window.hacked=1\">", "<svg onload=window.hacked=1>", "\u202egnp.exe", "\x1b]0;x\x07", "x" * 253, "'\"`${1}"]
        path = os.path.join(self.dir, "hostile.tape")
        rows = [event(i, "ADDED", pod(name, f"<b>u{i}</b>", i + 1, namespace="<i>ns</i>", spec={"nodeName": name}, status={"phase": "Running", "message": name})) for i, name in enumerate(names)]
        self.make_tape(path, rows + [event(20 + i, "MODIFIED", pod(name, f"<b>u{i}</b>", i + 100, namespace="<i>ns</i>", spec={"nodeName": "<script>window.hacked=1</script>"})) for i, name in enumerate(names)])
        with View(path) as view:
            self.open(view)
            self.wait(f"kubetape.timeline.model.lanes.filter(l => l.type === 'object').length === {len(names)}")
            for i in range(len(names)):
                self.ask(f"kubetape.select(kubetape.timeline.model.lanes.filter(l => l.type === 'object')[{i}].key)")
                for pane in ("state", "object", "findings", "writers", "sql"):
                    self.ask(f"kubetape.showPane('{pane}')")
                    self.wait(f"document.getElementById('pane').dataset.pane === '{pane}'")
            self.assertEqual(self.ask("typeof window.hacked"), "undefined")
            self.assertEqual(self.ask("document.querySelectorAll('#pane img, #pane svg, #pane i, #pane script').length"), 0)
            self.assertNotIn("\u202e", self.ask("document.body.innerText"))
            self.check_quiet(view)


class Chromium(Pages, TapeTest):
    name = "chromium"


class Firefox(Pages, TapeTest):
    name = "firefox"
