"""The tape that a tee writes: what a recorder would have written, as far as clients ask."""

import json
import signal
import subprocess
import unittest

from fake_apiserver import encode, status
from recording import Recording
from replays import DEADLINE_S, KUBETAPE, PARTIAL, TABLE
from teeing import ApiCase
from waiting import wait_for

EVENTS = "SELECT resource, type, origin, namespace, name, uid, rv, object FROM events ORDER BY resource, CAST(rv AS INTEGER), uid"
SPANS = ("SELECT s.resource, s.namespace, s.field_selector, g.reason, g.how_ended, g.modified, g.added, g.deleted, g.recreated"
    " FROM gaps g JOIN streams s USING (stream) ORDER BY gap")
PODS = "/api/v1/pods"


class TapeCase(ApiCase):
    def start(self, *options, **more):
        return self.tee(self.api.url, *options, **more)

    def list(self, tee, target=PODS, **headers):
        """The resourceVersion of a list that is read to its end."""
        status_, body = tee.get(target, **headers)
        self.assertEqual(status_, 200)
        return body["metadata"]["resourceVersion"]

    def follow(self, tee, target=PODS, rv=None, accept="application/json", query=""):
        """A watch from a version, that of a list unless one is given."""
        mark = "&" if "?" in target else "?"
        rv = self.list(tee, target) if rv is None else rv
        watch = tee.watch("%s%swatch=1&resourceVersion=%s%s" % (target, mark, rv, query), accept)
        self.assertEqual(watch.status, 200)
        self.addCleanup(watch.close)
        return watch

    def assert_sound(self, name):
        done = subprocess.run([KUBETAPE, "verify", self.path(name)], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def gaps(self, tee):
        return [tuple(r.values()) for r in tee.query(SPANS)]

    def wait_gaps(self, tee, wanted):
        try:
            wait_for(lambda: self.gaps(tee) == wanted, "gaps")
        except AssertionError:
            raise AssertionError("%r instead of %r" % (self.gaps(tee), wanted)) from None


class Streams(TapeCase):
    def test_what_a_recorder_records_through_a_tee_is_on_both_tapes_byte_for_byte(self):
        crontabs = self.api.add("crontabs", "CronTab", "stable.example.com", "v1", custom=True)
        for i in range(5):
            self.pods.put("p%d" % i)
            crontabs.put("c%d" % i, namespace="n%d" % i)
        tee = self.start()
        recording = Recording(self.path("r.tape"), "pods,crontabs", "--kubeconfig", tee.kubeconfig).ready()
        self.pods.put("p0")
        self.pods.delete("p1")
        crontabs.put("c9", namespace="n1")
        self.pods.put("p1")
        recording.wait_events(14)
        wait_for(lambda: len(tee.events()) == 14, "14 events")
        self.assertEqual(tee.query(EVENTS), recording.query(EVENTS))
        self.assertEqual(recording.stop(), 0)

    def test_an_event_that_several_clients_are_sent_is_there_once(self):
        tee = self.start()
        watches = [self.follow(tee) for _ in range(3)]
        self.pods.put("a")
        self.pods.put("a")
        for watch in watches:
            watch.take(2)
        late = self.follow(tee, rv=1000)
        late.take(2)
        self.pods.delete("a")
        for watch in [*watches, late]:
            watch.next()
        tee.wait_rows("SELECT count(*), count(DISTINCT seq), min(seq) FROM deliveries", [(12, 3, 1)])
        tee.wait_events(["ADDED a 1001", "MODIFIED a 1002", "DELETED a 1003"])

    def test_a_namespace_and_all_of_them_are_two_streams_of_one_state(self):
        self.pods.put("a", namespace="one")
        self.pods.put("b", namespace="two")
        tee = self.start()
        narrow = self.follow(tee, "/api/v1/namespaces/one/pods")
        wide = self.follow(tee)
        self.pods.put("a", namespace="one")
        narrow.next(), wide.next()
        self.pods.put("b", namespace="two")
        wide.next()
        tee.wait_events(["ADDED a 1001 list", "ADDED b 1002 list", "MODIFIED a 1003", "MODIFIED b 1004"])
        self.assertEqual([r["namespace"] for r in tee.query("SELECT namespace FROM streams ORDER BY stream")], ["one", ""])

    def test_an_object_that_leaves_a_selection_is_not_deleted(self):
        tee = self.start()
        narrow = self.follow(tee, PODS + "?labelSelector=a%3Db", rv=1000)
        wide = self.follow(tee)
        self.pods.put("a")
        wide.next()
        left = {**self.pods.put("a"), "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1003"}}
        wide.next()
        narrow.connection.close()
        self.pods.on_watch(lambda x: (x.start(), x.frame("DELETED", left), x.end()))
        gone = self.follow(tee, PODS + "?labelSelector=a%3Db", rv=1001)
        self.assertEqual(gone.next()["type"], "DELETED")
        self.assertIsNone(gone.next())
        self.pods.delete("a")
        wide.next()
        tee.wait_events(["ADDED a 1001", "MODIFIED a 1002", "DELETED a 1003"])
        tee.wait_rows("SELECT type, seq FROM deliveries WHERE uid = 'u'", [("DELETED", 0)])
        self.assertEqual(json.loads(tee.rows("SELECT body FROM frames WHERE uid = 'u'")[0][0]), left)

    def test_a_list_in_pages_is_one_list(self):
        for i in range(7):
            self.pods.put("p%d" % i)
        tee = self.start()
        target, pages = PODS + "?limit=3", 0
        while target:
            metadata = tee.get(target)[1]["metadata"]
            pages += 1
            target = PODS + "?limit=3&continue=" + metadata["continue"] if "continue" in metadata else None
        self.assertEqual(pages, 3)
        tee.wait_events(["ADDED p%d %d list" % (i, 1001 + i) for i in range(7)])
        wait_for(lambda: tee.query("SELECT rv FROM marks WHERE kind = 'list'") == [{"rv": "1007"}], "one mark")

    def test_a_list_that_is_never_read_to_its_last_page_is_no_list(self):
        for i in range(7):
            self.pods.put("p%d" % i)
        tee = self.start()
        tee.get(PODS + "?limit=3")
        self.assertEqual(self.list(tee), "1007")
        wait_for(lambda: tee.query("SELECT rv FROM marks WHERE kind = 'list'") == [{"rv": "1007"}], "one mark")
        self.assertEqual(sorted(tee.events()), ["ADDED p%d %d list" % (i, 1001 + i) for i in range(7)])

    def test_a_state_that_comes_as_events_is_a_list(self):
        self.pods.put("a"), self.pods.put("b")
        end = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "1002", "annotations": {"k8s.io/initial-events-end": "true"}}}

        def send_state(x):
            x.start()
            for value in self.pods.objects.values():
                x.frame("ADDED", value)
            self.pods.running.append(x)
            x.frame("BOOKMARK", end)
            self.pods.serve_orders(x, 1e9)

        self.pods.on_watch(send_state)
        tee = self.start()
        watch = self.follow(tee, rv="", query="&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
        self.assertEqual([e["type"] for e in watch.take(3)], ["ADDED", "ADDED", "BOOKMARK"])
        self.pods.put("a")
        watch.next()
        tee.wait_events(["ADDED a 1001 list", "ADDED b 1002 list", "MODIFIED a 1003"])
        tee.wait_query("SELECT kind, rv FROM marks", [{"kind": "initial-end", "rv": "1002"}])
        tee.wait_query("SELECT purpose, events FROM connections WHERE end_reason IS NULL", [{"purpose": "watchlist", "events": None}])
        tee.wait_rows("SELECT type, seq FROM deliveries ORDER BY number", [("ADDED", 1), ("ADDED", 2), ("MODIFIED", 3)])

    def test_tables_and_metadata_are_no_objects(self):
        tee = self.start()
        wide = self.follow(tee)
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1001"}}
        table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": [{"cells": ["a"], "object": partial}]}
        self.pods.put("a", uid="u")
        wide.next()
        for accept, body in ((PARTIAL, partial), (TABLE, table)):
            self.pods.on_watch(lambda x, b=body: (x.start(), x.frame("ADDED", b), x.end()))
            self.assertEqual(self.follow(tee, rv=1000, accept=accept).next()["object"], body)
        tee.wait_rows("SELECT seq, rv, uid FROM deliveries", [(1, "1001", "u")] * 3)
        tee.wait_rows("SELECT body FROM frames ORDER BY request", [(encode(partial),), (encode(table),)])
        tee.wait_events(["ADDED a 1001"])

    def test_an_unknown_resource_is_known_by_its_objects_and_not_without(self):
        crontabs = self.api.add("crontabs", "CronTab", "stable.example.com", "v1", custom=True)
        target = "/apis/stable.example.com/v1/crontabs"
        tee = self.start()
        watch = self.follow(tee, target)
        self.pods.put("a")
        self.list(tee)
        tee.wait_events(["ADDED a 1001 list"])
        self.assertEqual([r["resource"] for r in tee.query("SELECT resource FROM streams")], ["pods"])
        crontabs.put("c")
        watch.next()
        tee.wait_events(["ADDED c 1002"], "resource = 'crontabs'")
        tee.wait_query("SELECT end_reason, target FROM connections WHERE purpose = 'watch'",
            [{"end_reason": None, "target": target + "?watch=1&resourceVersion=1000"}])

    def test_what_the_server_says_of_itself_is_there(self):
        tee = self.start()
        for path in ("/api", "/apis", "/api/v1", "/version", "/api/v1/namespaces/kube-system", "/nothing"):
            tee.request("GET", path, {"Accept": "application/json"})
        tee.get("/api", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
        tee.get("/api")
        wanted = [("/api", ""), ("/api", "aggregated"), ("/api/v1", ""), ("/api/v1/namespaces/kube-system", ""), ("/apis", ""), ("/version", "")]
        wait_for(lambda: [tuple(r.values()) for r in tee.query("SELECT path, variant FROM documents ORDER BY 1, 2")] == wanted, "documents")


class Gaps(TapeCase):
    def test_what_a_client_missed_is_a_gap_with_all_that_it_hid(self):
        for name in "abcd":
            self.pods.put(name)
        tee = self.start()
        watch = self.follow(tee)
        self.pods.watching()
        self.pods.disturb(lambda x: x.reset())
        with self.assertRaises(ConnectionError):
            watch.next()
        self.pods.watching(0)
        self.pods.put("a"), self.pods.delete("b"), self.pods.put("e"), self.pods.put("c", uid="another")
        self.follow(tee)
        self.wait_gaps(tee, [("pods", "", "", "reset", "relist", 1, 1, 1, 1)])
        self.assertEqual(tee.events("origin = 'inferred'"), ["DELETED c 1008 inferred", "DELETED b 1008 inferred"])
        self.assertEqual(tee.events("origin = 'relist'"), ["MODIFIED a 1005 relist", "ADDED c 1008 relist", "ADDED e 1007 relist"])
        self.assertEqual([r["end_reason"] for r in tee.query("SELECT end_reason FROM connections ORDER BY connection")],
            ["complete", "reset", "complete", None])

    def test_a_watch_that_goes_on_hides_nothing_and_short_it_is_no_gap(self):
        tee = self.start()
        self.follow(tee)
        self.pods.watching()
        self.pods.put("a")
        self.pods.disturb(lambda x: x.end())
        self.pods.watching(0)
        again = self.follow(tee, rv=1000)
        again.next()
        tee.wait_rows("SELECT what, detail FROM faults", [("end", "server_close_early")])
        self.assertEqual(self.gaps(tee), [])
        tee.wait_events(["ADDED a 1001"])

    def test_a_watch_that_is_refused_leaves_a_gap(self):
        self.pods.put("a")
        tee = self.start()
        watch = self.follow(tee)
        self.pods.put("a")
        self.pods.watching()
        self.pods.disturb(lambda x: (x.error(410, "Expired"), x.end()))
        watch.take(2)
        self.assertIsNone(watch.next())
        self.pods.on_watch(lambda x: x.status(429, "TooManyRequests", retry_after=7))
        self.assertEqual(tee.watch(PODS + "?watch=1&resourceVersion=1002").status, 429)
        tee.wait_rows("SELECT what, detail FROM faults ORDER BY fault", [("error", "error_event:410:Expired"), ("http", "http_429")])
        self.wait_gaps(tee, [("pods", "", "", "error_event:410:Expired", "open", 0, 0, 0, 0)])
        tee.wait_query("SELECT http_status, retry_after_s FROM connections WHERE end_reason = 'http_429'",
            [{"http_status": 429, "retry_after_s": 7}])
        self.follow(tee)
        self.wait_gaps(tee, [("pods", "", "", "error_event:410:Expired", "relist", 0, 0, 0, 0)])

    def test_a_watch_from_later_on_hides_what_was_before(self):
        tee = self.start()
        watch = self.follow(tee)
        self.pods.watching()
        watch.connection.sock.close()
        watch.close()
        self.pods.watching(0)
        self.pods.put("a")
        self.follow(tee, rv=1001)
        self.pods.put("b")
        self.wait_gaps(tee, [("pods", "", "", "client_closed", "skipped", 0, 0, 0, 0)])
        tee.wait_events(["ADDED b 1002"])

    def test_a_tape_is_gone_on_with_after_a_kill(self):
        self.pods.put("a"), self.pods.put("b")
        tee = self.start(tape=self.path("x.tape"))
        watch = self.follow(tee)
        self.pods.put("a")
        watch.next()
        tee.wait_events(["ADDED a 1001 list", "ADDED b 1002 list", "MODIFIED a 1003"])
        tee.wait_rows("SELECT count(*) FROM deliveries", [(1,)])
        tee.codes = (-signal.SIGKILL,)
        tee.process.kill()
        tee.process.wait()
        self.assert_sound("x.tape")
        self.pods.delete("b")
        again = self.start(tape=self.path("x.tape"))
        self.wait_gaps(again, [("pods", "", "", "recorder_died", "open", 0, 0, 0, 0)])
        self.follow(again)
        self.wait_gaps(again, [("pods", "", "", "recorder_died", "relist", 0, 0, 1, 0)])
        again.wait_events(["DELETED b 1004 inferred"], "seq > 3")
        self.assertEqual(again.rows("SELECT verb, how, ended_by FROM requests ORDER BY request LIMIT 2"),
            [("list", "complete", "server"), ("watch", "lost", "tee")])
        again.wait_rows("SELECT count(*), max(request) FROM requests", [(4, 4)])
        self.assertEqual(again.stop(), 0)
        self.assert_sound("x.tape")

    def test_a_kill_at_any_time_leaves_a_sound_tape_and_a_run_that_can_be_read(self):
        tee = None
        for round_ in range(4):
            tee = self.start(tape=self.path("x.tape"))
            self.follow(tee)
            self.pods.watching()
            for i in range(200 * round_):
                self.pods.put("p%d" % (i % 7))
            tee.codes = (-signal.SIGKILL,)
            tee.process.kill()
            tee.process.wait()
            self.pods.watching(0)
            self.assert_sound("x.tape")
        self.assertEqual(tee.rows("PRAGMA integrity_check"), [("ok",)])

    def test_a_tape_that_is_gone_on_with_after_an_end_in_order(self):
        tee = self.start(tape=self.path("x.tape"))
        self.follow(tee)
        self.pods.watching()
        self.assertEqual(tee.stop(), 0)
        self.pods.watching(0)
        self.pods.put("a")
        again = self.start(tape=self.path("x.tape"))
        self.follow(again, rv=1000).next()
        self.wait_gaps(again, [("pods", "", "", "client_stop", "rewatch", 0, 0, 0, 0)])
        again.wait_events(["ADDED a 1001"])


class Oddities(TapeCase):
    def test_a_run_of_another_tape_is_left_as_it_is(self):
        tee = self.start(tape=self.path("x.tape"))
        self.pods.put("a")
        self.follow(tee)
        tee.wait_events(["ADDED a 1001 list"])
        self.assertEqual(tee.stop(), 0)
        with self.assertRaisesRegex(AssertionError, "is a run of something else than this tape"):
            self.start("--run", self.path("x.run"), tape=self.path("y.tape"))

    def test_a_run_that_ended_before_anything_was_on_its_tape_is_gone_on_with(self):
        """The tape was not kept."""
        first = self.start(tape=self.path("x.tape"))
        self.pods.on_list(lambda x: x.status(403, "Forbidden"))
        connection = first.connect()
        connection.request("GET", "/api/v1/pods")
        self.assertEqual(connection.getresponse().status, 403)
        connection.close()
        self.assertEqual(first.stop(), 0)
        self.pods.put("a")
        again = self.start(tape=self.path("x.tape"))
        self.follow(again)
        again.wait_events(["ADDED a 1001 list"])
        again.wait_rows("SELECT status FROM requests WHERE verb = 'list' ORDER BY request", [(403,), (200,)])

    def test_old_versions_and_nonsense_change_nothing(self):
        tee = self.start()
        watch = self.follow(tee)
        self.pods.put("a")
        self.pods.put("a")
        watch.take(2)
        self.pods.disturb(lambda x: (x.chunk(b"nonsense\n"), x.chunk(b'{"type":"WHAT","object":{}}\n'), x.chunk(b'{"type":"ADDED"}\n'), x.frame("ADDED", self.pods.history[0][2])))
        for _ in range(4):
            watch.next_raw()
        tee.wait_rows("SELECT type, number, seq FROM deliveries ORDER BY number", [("ADDED", 1, 1), ("MODIFIED", 2, 2), ("ADDED", 6, 1)])
        tee.wait_rows("SELECT number, CAST(body AS TEXT) FROM frames ORDER BY number",
            [(3, "nonsense"), (4, '{"type":"WHAT","object":{}}'), (5, '{"type":"ADDED"}')])
        tee.wait_events(["ADDED a 1001", "MODIFIED a 1002"])

    def test_a_list_of_the_past_or_from_a_cache_takes_nothing_back(self):
        self.pods.put("a")
        old = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1001"}, "items": [self.pods.item(v) for v in self.pods.objects.values()]}
        tee = self.start()
        watch = self.follow(tee)
        self.pods.put("a"), self.pods.put("b")
        watch.take(2)
        watch.close()
        tee.wait_events(["ADDED a 1001 list", "MODIFIED a 1002", "ADDED b 1003"])
        self.pods.on_list(lambda x: x.json(old), lambda x: x.json(old))
        self.list(tee, PODS + "?resourceVersion=0")
        self.list(tee, PODS + "?resourceVersion=1001&resourceVersionMatch=Exact")
        tee.wait_rows("SELECT count(*) FROM answers", [(3,)])
        tee.wait_events(["ADDED a 1001 list", "MODIFIED a 1002", "ADDED b 1003"])

    def test_statuses_are_no_lists(self):
        tee = self.start()
        self.pods.on_list(lambda x: x.json(status(200, "", "")), lambda x: x.body(b'{"kind":"PodList","items":[{}'), lambda x: x.text(200, "hello"))
        for _ in range(3):
            tee.request("GET", PODS)
        tee.wait_rows("SELECT count(*) FROM requests WHERE how = 'complete'", [(3,)])
        self.assertEqual((tee.events(), tee.query("SELECT kind FROM marks")), ([], []))


if __name__ == "__main__":
    unittest.main()
