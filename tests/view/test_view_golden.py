"""A golden run beside the present one: what each wrote and was told, while the replay goes on and afterwards."""
import http.client
import json
import os

import browsers
from viewing import View
from test_view_desk import Desk, PATIENCE_S
from test_view_page import READY, ROLLING
from tapes import TapeTest

FIRST, SECOND = 300, 500  # events at which the client of these tests writes
MAPS = "/api/v1/namespaces/shop/configmaps"


class Golden(browsers.OneBrowser, TapeTest):
    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, desk, name, text):
        connection = http.client.HTTPConnection(desk.api.hostname, desk.api.port, timeout=PATIENCE_S)
        connection.request("POST", MAPS, json.dumps({"metadata": {"name": name}, "data": {"text": text}}), {"Content-Type": "application/json", "User-Agent": "noter/1"})
        self.assertEqual(connection.getresponse().status, 201)
        connection.close()

    def stand_at(self, desk, seq):
        desk.until_desk(lambda d: d["status"]["seq"] == seq and d["status"]["state"] == "paused")

    def desk(self, *options):
        return Desk(ROLLING, self.dir, "--speed", "max", *options)

    def story(self, desk, first, second):
        """Generator: a client is told of pods, and writes at two events."""
        desk.act("run", until=f"seq:{FIRST}")
        self.stand_at(desk, FIRST)
        with desk.watch("/api/v1/pods?watch=1", "noter/1"):
            for name, text in first:
                self.write(desk, name, text)
            yield
            desk.act("run", until=f"seq:{SECOND}")
            self.stand_at(desk, SECOND)
            for name, text in second:
                self.write(desk, name, text)
            self.told = desk.ask("desk")["clients"][0]["events"]
            yield

    def made(self, name, *writes):
        """The path of a run in which a client has done that."""
        path = self.path(name)
        with self.desk("--run", path) as desk:
            for _ in self.story(desk, *writes):
                pass
        return path

    def differences(self, view):
        return sorted((r["difference"], r["name"]) for r in view.ask("golden", last=747)["writes"]["rows"])

    def until_text(self, text):
        self.browser.wait(f"document.getElementById('pane').innerText.includes({json.dumps(text)})")

    def check_quiet(self):
        self.assertEqual((self.browser.errors, self.browser.evaluate("kubetape.errors")), ([], []))

    def test_what_golden_wrote_later_is_to_come_until_the_replay_is_there(self):
        golden = self.made("golden.run", [("one", "1")], [("two", "2")])
        with self.desk("--run", self.path("now.run"), "--golden", golden) as desk:
            steps = self.story(desk, [("one", "1")], [("two", "other")])
            next(steps)
            self.browser.go(desk.url + "#pane=run")
            self.browser.wait(READY)
            self.until_text("not yet")
            self.until_text("No difference to golden until now")
            next(steps)
            self.until_text("1 write differs from golden")
            self.until_text('data.text: "2" → "other"')
            self.assertEqual(self.differences(desk), [("", "one"), ("body", "two")])
            self.check_quiet()
            self.leave()

    def test_two_runs_that_are_over_stand_beside_each_other_on_page_and_timeline(self):
        golden = self.made("golden.run", [("one", "1"), ("gone", "1")], [("two", "2")])
        now = self.made("now.run", [("one", "1")], [("new", "1"), ("two", "2")])
        with View(ROLLING, "--run", now, "--golden", golden) as view:
            self.assertEqual(self.differences(view), [("", "one"), ("", "two"), ("only golden", "gone"), ("only now", "new")])
            answer = view.ask("golden", last=747)
            told = [sum(row[3] for row in answer[run]["told"]["rows"]) for run in ("golden", "now")]
            self.assertEqual(told, [self.told] * 2)
            view.whole()
            self.browser.go(view.url + "#pane=run")
            self.browser.wait(READY)
            self.until_text("2 writes differ from golden")
            self.browser.evaluate("[...document.querySelectorAll('#pane button')].find(b => b.textContent.includes('golden')).click()")
            self.browser.wait("kubetape.timeline.laid.length === 6 && kubetape.timeline.laid.filter(m => m.hollow).length === 3")
            self.check_quiet()
            self.leave()

    def test_a_golden_run_needs_another_one_beside_it(self):
        self.assert_fails(self.run_tape("view", ROLLING, "--golden", ROLLING), 2, "two runs stand beside each other")
