"""The replay desk: the page beside a running replay, as a program and as a person use it."""
import http.client
import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request

import browsers
from viewing import View
from test_view_page import READY, ROLLING
from tapes import KUBETAPE, TapeTest

PATIENCE_S = 60


class Desk(View):
    """A replay with its page."""

    def __init__(self, tape, folder, *options):  # pylint: disable=super-init-not-called
        self.process = subprocess.Popen([KUBETAPE, "replay", tape, "--view", "--plain", "--kubeconfig", os.path.join(folder, "config"), *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.api = urllib.parse.urlsplit(self.process.stdout.readline().split()[-1])
        line = self.process.stderr.readline()
        self.url = re.match(r"view at (\S+)$", line).group(1)
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def act(self, action, **parameters):
        status, _, body = self.request(f"/_kubetape/data/desk/{action}?" + urllib.parse.urlencode(parameters), "POST")
        return status, json.loads(body)

    def watch(self, path, agent="client/1"):
        """An open watch; its lines, to the end."""
        connection = http.client.HTTPConnection(self.api.hostname, self.api.port, timeout=PATIENCE_S)
        connection.request("GET", path, headers={"User-Agent": agent})
        return connection.getresponse()

    def until_desk(self, holds):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            desk = self.ask("desk")
            if holds(desk):
                return desk
            time.sleep(0.02)
        raise AssertionError(f"never so: {desk}")

    def __exit__(self, *failure):
        self.stop()


class Answers(TapeTest):
    def test_the_desk_tells_of_each_client_what_it_was_told(self):
        with Desk(ROLLING, self.dir, "--speed", "max") as desk:
            with desk.watch("/api/v1/pods?watch=1"):
                told = desk.until_desk(lambda d: d["status"]["state"] == "ended" and d["clients"] and d["clients"][0]["seen_seq"] != "0")
        client = told["clients"][0]
        self.tape = ROLLING
        last = self.query("SELECT max(seq) AS seq, max(time_ns) AS time_ns FROM events WHERE resource = 'pods'")[0]
        self.assertEqual((client["name"], client["seen_seq"], client["seen_ns"]), ("client/1", str(last["seq"]), str(last["time_ns"])))

    def test_it_pauses_steps_seeks_and_says_what_it_does_not_understand(self):
        with Desk(ROLLING, self.dir, "--wait-watchers", "0") as desk:
            self.assertEqual(desk.act("pause")[1]["status"]["state"], "paused")
            before = desk.ask("desk")["status"]["seq"]
            self.assertEqual(desk.act("seek", to="seq:500")[1]["status"]["seq"], 500)
            desk.act("step", count=3)
            self.assertEqual(desk.until_desk(lambda d: d["status"]["seq"] != 500)["status"]["seq"], 503)
            self.assertNotEqual(before, 503)
            self.assertEqual([desk.act(a, **p)[0] for a, p in (("seek", {"to": "?"}), ("break", {"how": "?"}), ("dance", {}))], [400, 400, 404])
            self.assertEqual(desk.request("/_kubetape/data/desk/pause")[0], 405)
            self.assertEqual(desk.request("/_kubetape/data/desk", token=False)[0], 401)

    def test_watches_are_broken_by_hand_in_each_way(self):
        for how, word in (("end", b""), ("expired", b'"code":410')):
            with self.subTest(how=how), Desk(ROLLING, self.dir, "--wait-watchers", "1") as desk:
                with desk.watch("/api/v1/pods?watch=1") as pods, desk.watch("/api/v1/nodes?watch=1") as nodes:
                    desk.until_desk(lambda d: d["status"]["watches"] == 2)
                    desk.act("break", how=how, resource="pods")
                    self.assertIn(word, pods.read())
                    self.assertEqual(desk.ask("desk")["status"]["watches"], 1)
                    desk.act("break", how=how)
                    self.assertIn(word, nodes.read())

    def test_a_reset_is_a_reset(self):
        with Desk(ROLLING, self.dir, "--wait-watchers", "1") as desk, desk.watch("/api/v1/pods?watch=1") as pods:
            desk.until_desk(lambda d: d["status"]["watches"] == 1)
            desk.act("break", how="rst")
            with self.assertRaises((ConnectionResetError, http.client.IncompleteRead)):
                pods.read()

    def test_without_the_option_there_is_no_page_until_ctl_opens_it(self):
        done = self.run_tape("replay", ROLLING, "--plain", "--speed", "max", "--wait-watchers", "0", "--exit-at-end")
        self.assertNotIn("view at", done.stderr)
        with subprocess.Popen([KUBETAPE, "replay", ROLLING, "--plain"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True) as replay:
            port = replay.stdout.readline().strip().rsplit(":", 1)[1]
            self.assertEqual(json.loads(self.run_tape("ctl", port, "status", "--json").stdout)["view"], None)
            pages = {self.run_tape("ctl", port, "view").stdout for _ in range(2)}
            self.assertEqual((len(pages), json.loads(self.run_tape("ctl", port, "status", "--json").stdout)["view"] + "\n"), (1, next(iter(pages))))
            with urllib.request.urlopen(pages.pop().replace("/?", "/data/desk?").strip(), timeout=PATIENCE_S) as answer:
                self.assertEqual(json.load(answer)["status"]["state"], "waiting")
            replay.terminate()


class InABrowser(browsers.OneBrowser, TapeTest):
    def open(self, desk, fragment):
        desk.whole()
        self.browser.go(desk.url + fragment)
        self.browser.wait(READY + " && document.getElementById('pane').dataset.pane === 'desk'")

    def click(self, selector):
        """When it is there: the desk draws itself anew."""
        self.browser.wait(f"(e => e && (e.click(), true))(document.querySelector({json.dumps(selector)}))")

    def test_a_person_pauses_moves_and_breaks_the_watch_where_the_cursor_stands(self):
        with Desk(ROLLING, self.dir) as desk, desk.watch("/api/v1/pods?watch=1", "shop-controller/1.4") as pods:
            self.open(desk, "#pane=desk&select=" + urllib.parse.quote("pods/shop/lonely", "") + "&at=1795254707714182000@473")
            self.browser.wait("document.getElementById('pane').innerText.includes('shop-controller/1.4')")
            self.click("#desk-pause")
            desk.until_desk(lambda d: d["status"]["state"] == "paused")
            self.click("#desk-seek")
            desk.until_desk(lambda d: d["status"]["seq"] == 473)
            self.assertIn("--gap 'seq:473,2ev,rst,compact,pods'", self.browser.evaluate("document.getElementById('break-command').textContent"))
            self.click("#break-now")
            self.assertIn(b'"code":410', pods.read())
            self.assertEqual((self.browser.errors, self.browser.evaluate("kubetape.errors")), ([], []))

    def test_the_fault_that_the_page_writes_is_one_that_a_replay_takes(self):
        with Desk(ROLLING, self.dir) as desk:
            for how in ("end", "rst", "error=410", "goaway", "stall"):
                self.open(desk, "#pane=desk&at=1795254707714182000@473")
                self.browser.wait("kubetape.breaking !== undefined")
                self.browser.evaluate(f"(kubetape.breaking.how = '{how}', kubetape.breaking.resource = 'pods', kubetape.refreshPane())")
                self.browser.wait(f"document.getElementById('break-command').textContent.includes('{how}')")
                spec = re.search(r"--gap '([^']*)'", self.browser.evaluate("document.getElementById('break-command').textContent")).group(1)
                path = os.path.join(self.dir, "faults.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(self.browser.evaluate("kubetape.faultText"))
                for fault in (["--gap", spec], ["--gaps=" + path]):
                    done = self.run_tape("replay", ROLLING, "--plain", "--speed", "max", "--wait-watchers", "0", "--exit-at-end", "--lenient", *fault)
                    self.assertEqual(done.returncode, 0, done.stderr)
