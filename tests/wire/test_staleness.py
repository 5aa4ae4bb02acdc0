"""`kubetape staleness`: how much later the clients of a tee were told than a recorder beside them."""

import json
import subprocess
import time
import unittest

from recording import Recording
from replays import DEADLINE_S, KUBETAPE
from teeing import ApiCase
from waiting import wait_for

PODS = "/api/v1/pods"
POD = "/api/v1/namespaces/default/pods/"


class Staleness(ApiCase):
    def setUp(self):
        super().setUp()
        self.pods.put("old")
        self.recording = Recording(self.path("observer.tape"), "pods", "--server", self.api.url).ready()
        self.live = self.tee(self.api.url, tape=self.path("live.tape"))

    def end(self):
        self.assertEqual(self.recording.stop(), 0)
        self.assertEqual(self.live.stop(), 0)

    def staleness(self, *options):
        return subprocess.run([KUBETAPE, "staleness", *options, self.live.run, self.path("observer.tape")], capture_output=True,
            text=True, timeout=DEADLINE_S)

    def query(self, sql):
        done = subprocess.run([KUBETAPE, "query", self.path("observer.tape"), "--run", self.live.run, "--format", "json", sql],
            capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def cut_a_watch_and_change_what_it_showed(self):
        watch = self.live.watch(PODS + "?watch=1&resourceVersion=1001")
        self.pods.watching(2)
        self.pods.put("a", uid="u-a")
        watch.next()
        watch.connection.sock.close()
        watch.close()
        self.pods.watching(1)
        self.pods.put("a", uid="u-a")
        self.recording.wait_events(3)

    def put_a(self):
        """The client writes on what it knows."""
        self.live.request("PUT", POD + "a", {"Content-Type": "application/json"}, json.dumps({"metadata": {"name": "a", "uid": "u-a"}}))

    def test_a_client_whose_watch_stood_still_was_told_late_and_acted_on_old_news(self):
        self.cut_a_watch_and_change_what_it_showed()
        first = time.monotonic()
        self.put_a()
        # It comes back a while later and is told what happened meanwhile.
        wait_for(lambda: time.monotonic() - first > 0.2, "a while")
        again = self.live.watch(PODS + "?watch=1&resourceVersion=1002")
        again.next()
        self.live.wait_rows("SELECT count(*) FROM deliveries", [(2,)])
        self.live.wait_rows("SELECT count(*) FROM writes", [(1,)])
        self.end()
        late = self.query("SELECT rv, late_ns, name FROM staleness ORDER BY rv")
        self.assertEqual([(r["rv"], r["name"]) for r in late], [("1002", "a"), ("1003", "a")])
        self.assertGreater(late[1]["late_ns"], 200_000_000)
        self.assertLess(late[0]["late_ns"], late[1]["late_ns"])
        self.assertEqual(self.query("SELECT verb, name, basis_rv, newest_rv, behind FROM stale_writes"),
            [{"verb": "update", "name": "a", "basis_rv": 1002, "newest_rv": 1003, "behind": 1}])
        told = json.loads(self.staleness("--json").stdout)
        self.assertEqual([(c["events"], c["writes"], c["stale_writes"]) for c in told["clients"]], [(2, 1, 1)])
        self.assertEqual(told["clients"][0]["max_ms"], round(late[1]["late_ns"] / 1e6, 3))
        self.assertEqual(told["clients"][0]["p50_ms"], round(late[0]["late_ns"] / 1e6, 3))
        self.assertEqual([(w["verb"], w["name"], w["behind"]) for w in told["stale_writes"]], [("update", "a", 1)])
        text = self.staleness()
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertIn("writes on old news:", text.stdout)

    def test_what_a_client_has_read_or_written_itself_is_no_old_news_to_it(self):
        self.cut_a_watch_and_change_what_it_showed()
        self.live.get(PODS)
        self.put_a()
        self.live.wait_rows("SELECT count(*) FROM writes", [(1,)])
        self.end()
        self.assertEqual(self.query("SELECT * FROM stale_writes"), [])
        self.assertIn("none", self.staleness().stdout)

    def test_what_has_nothing_in_common_is_told(self):
        self.end()
        done = self.staleness()
        self.assertEqual(done.returncode, 3)
        self.assertIn("no client of the run was sent an event of the tape", done.stderr)
        run = self.path("replay.run")
        self.replay(self.path("observer.tape"), "--run", run).stop()
        done = subprocess.run([KUBETAPE, "staleness", run, self.path("observer.tape")], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("is the run of a replay", done.stderr)


if __name__ == "__main__":
    unittest.main()
