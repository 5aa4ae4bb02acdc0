"""Listing and watching as it should be: what is asked, what is kept."""

import os
import signal
import subprocess
import threading
import unittest

from fake_apiserver import KUBE_SYSTEM, encode
from recording import KUBETAPE, Recording, RecordTest, has_events, is_sanitized, plain_rows, query
from waiting import PATIENCE_S, wait_for

LONG = "15s" if is_sanitized() else "8s"  # enough for the first lists, however busy the machine is


class Listing(RecordTest):
    def test_asks_for_the_newest_state_by_pages_and_watches_from_the_lists_version(self):
        self.pods.put("a")
        self.api.rv = 2000
        recording = self.record().ready(1)
        self.pods.watching()
        first, watch = self.pods.lists()[0], self.pods.watches()[0]
        self.assertEqual(first.query, {"limit": "500"})
        self.assertEqual(watch.query["resourceVersion"], "2000")
        self.assertEqual(watch.query["allowWatchBookmarks"], "true")
        self.assertTrue(300 <= int(watch.query["timeoutSeconds"]) <= 600)
        self.assertEqual(recording.stop(), 0)

    def test_every_page_of_a_list_is_followed(self):
        for i in range(1203):
            self.pods.put(f"pod-{i:04}")
        recording = self.record().ready(1)
        self.assertEqual(len(recording.events("origin='list'")), 1203)
        self.assertEqual(len(self.pods.lists()), 3)
        self.assertEqual(recording.query("SELECT count(DISTINCT name) AS n FROM events")[0]["n"], 1203)

    def test_items_that_wait_for_the_end_of_their_list_are_not_older_than_what_came_before_them(self):
        """All items of the pods have come; that the list ends there, the server says after an event of the nodes."""
        self.pods.put("a")
        nodes = self.api.add("nodes", "Node", namespaced=False)
        more, all_sent, last = (threading.Event() for _ in range(3))

        def in_parts(x):
            page = encode({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.api.rv)},
                           "items": [self.pods.item(value) for value in self.pods.objects.values()]})
            x.start()
            x.chunk(page[:9])
            more.wait(PATIENCE_S)
            x.chunk(page[9:])
            all_sent.set()
            last.wait(PATIENCE_S)
            x.end()

        self.pods.on_list(in_parts)
        recording = self.record("pods", "nodes")
        nodes.watching()
        more.set()
        all_sent.wait(PATIENCE_S)
        nodes.put("n")
        recording.wait_events(1)
        last.set()
        self.assertEqual(len(recording.wait_events(2)), 2)
        times = [row["time_ns"] for row in recording.query("SELECT time_ns FROM events ORDER BY seq")]
        self.assertEqual(times, sorted(times))

    def test_closed_descriptors_are_borne(self):
        """Those that are free must not become a socket, a segment or the poll that libuv makes."""
        self.pods.put("a")
        for closed in ("0<&-", "1>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"):
            tape = f"{self.tape}{closed.count('&')}{closed[0]}"
            command = f"exec {KUBETAPE} record pods -o {tape} -s {self.serve()} {closed}"
            process = subprocess.Popen(["bash", "-c", command], stderr=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            wait_for(lambda: has_events(tape, 1), "the event on the tape")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE_S), 0)
            self.assertEqual(query(tape, "SELECT count(*) AS n FROM events"), [{"n": 1}])

    def test_an_empty_resource_is_recorded_as_such(self):
        recording = self.record().ready(1)
        self.pods.put("later")
        self.assertEqual(recording.wait_events(1), [f"ADDED later {self.api.rv}"])

    def test_expired_second_page_makes_it_list_again_without_limit(self):
        for i in range(600):
            self.pods.put(f"pod-{i:04}")
        self.pods.on_list(self.pods.list, lambda x: x.status(410, "Expired", "too old"))
        recording = self.record().ready(1)
        lists = self.pods.lists()
        self.assertEqual([("limit" in r.query, "continue" in r.query) for r in lists],
                         [(True, False), (True, True), (False, False)])
        self.assertEqual(len(recording.events()), 600)
        self.assertEqual(recording.ends("list"), ["complete", "http_410", "complete"])

    def test_items_get_the_kind_and_apiversion_that_lists_leave_out(self):
        self.pods.put("a", spec={"x": "<&>"}, status={})
        recording = self.record().ready(1)
        stored = recording.query("SELECT CAST(object AS TEXT) AS object FROM events")[0]["object"]
        value = self.pods.objects[("default", "a")]
        expected = b'{"kind":"Pod","apiVersion":"v1",' + encode(self.pods.item(value))[1:]
        self.assertEqual(stored.encode(), expected)

    def test_lists_of_custom_resources_have_their_kind_behind_the_items(self):
        crons = self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        crons.put("a")
        recording = self.record("crontabs.v1.stable.example.com").ready(1)
        row = recording.query("SELECT apigroup, resource, CAST(object AS TEXT) AS object FROM events")[0]
        self.assertEqual((row["apigroup"], row["resource"]), ("stable.example.com", "crontabs"))
        self.assertEqual(row["object"].encode(), encode(crons.objects[("default", "a")]))

    def test_the_user_agent_is_its_own_so_that_bodies_are_not_indented(self):
        self.record().ready(1)
        agents = {r.headers["user-agent"] for r in self.api.requests}
        self.assertEqual(len(agents), 1)
        self.assertRegex(agents.pop(), r"^kubetape/\d")


class Watching(RecordTest):
    def test_keeps_every_event_byte_for_byte(self):
        recording = self.record().ready(1)
        sent = [self.pods.put("a", spec={"big": "9" * 30, "text": "ünï <b>"}), self.pods.put("a"),
                self.pods.delete("a")]
        recording.wait_events(3)
        rows = recording.query("SELECT type, CAST(object AS TEXT) AS object, bytes FROM events ORDER BY seq")
        self.assertEqual([r["type"] for r in rows], ["ADDED", "MODIFIED", "DELETED"])
        self.assertEqual([r["object"].encode() for r in rows], [encode(v) for v in sent])
        self.assertEqual([r["bytes"] for r in rows], [len(encode(v)) for v in sent])

    def test_chunk_borders_mean_nothing_even_inside_of_a_character(self):
        recording = self.record().ready(1)
        self.pods.watching()
        value = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "namespace": "n", "uid": "u"}, "x": "ä€𝄞"}
        frames = b"".join(b'{"type":"ADDED","object":%s}\n' % encode(
            {**value, "metadata": {**value["metadata"], "name": f"x{i}", "uid": f"u{i}",
                                   "resourceVersion": str(5000 + i)}}) for i in range(50))

        def dribble(x):
            for i in range(0, len(frames), 7):
                x.chunk(frames[i:i + 7])

        self.pods.disturb(dribble)
        events = recording.wait_events(50)
        self.assertEqual(events, [f"ADDED x{i} {5000 + i}" for i in range(50)])
        self.assertEqual(recording.query("SELECT DISTINCT jget(object, '$.x') AS x FROM events"), [{"x": "ä€𝄞"}])

    def test_bookmarks_are_kept_and_move_the_resume_point(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.bookmark()
        rv = self.api.rv
        wait_for(lambda: recording.query(f"SELECT 1 AS x FROM bookmarks WHERE rv='{rv}'"), "the bookmark on the tape")
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], str(rv))

    def test_an_object_of_3_mb_is_recorded_whole(self):
        recording = self.record().ready(1)
        value = self.pods.put("a", spec={"blob": "x" * 3_000_000})
        recording.wait_events(1)
        self.assertEqual(recording.query("SELECT bytes FROM events")[0]["bytes"], len(encode(value)))

    def test_several_resources_and_namespaces_are_streams_of_their_own(self):
        nodes = self.api.add("nodes", "Node", namespaced=False)
        nodes.put("n1")
        self.pods.put("a", "one")
        self.pods.put("b", "two")
        self.pods.put("c", "three")
        recording = self.record("po,nodes", "-n", "one", "-n", "two").ready(3)
        rows = recording.query("SELECT namespace, name FROM events ORDER BY name")
        self.assertEqual([(r["namespace"], r["name"]) for r in rows], [("one", "a"), ("two", "b"), ("", "n1")])
        self.pods.put("d", "two")
        self.pods.put("e", "three")
        nodes.put("n1")
        recording.wait_events(5)
        self.assertEqual(recording.query("SELECT count(*) AS n FROM events WHERE namespace='three'")[0]["n"], 0)

    def test_selectors_are_sent_escaped(self):
        self.record("pods", "-l", "app in (a,b),!c", "--field-selector", "spec.nodeName=n1").ready(1)
        self.pods.watching()
        for request in (self.pods.lists()[0], self.pods.watches()[0]):
            self.assertEqual(request.query["labelSelector"], "app in (a,b),!c")
            self.assertEqual(request.query["fieldSelector"], "spec.nodeName=n1")


class Selecting(RecordTest):
    def names(self, *arguments):
        recording = self.record(*arguments).ready()
        rows = recording.query("SELECT apigroup, resource FROM streams ORDER BY stream")
        return [f"{r['resource']}.{r['apigroup']}".rstrip(".") for r in rows]

    def setUp(self):
        super().setUp()
        self.api.add("events", "Event")
        self.api.add("bindings", "Binding", verbs=["create"])
        self.api.add("deployments", "Deployment", "apps", short_names=["deploy"])
        self.api.add("deployments", "Deployment", "apps", version="v1beta1", short_names=["deploy"])
        self.api.add("events", "Event", "events.k8s.io")

    def test_resources_are_named_as_kubectl_names_them(self):
        self.assertEqual(self.names("po", "deployments.apps", "Pod", "deployment", "deployments.v1.apps"),
                         ["pods", "deployments.apps"])

    def test_all_takes_each_thing_once(self):
        self.assertEqual(self.names("--all"), ["pods", "events", "deployments.apps"])

    def test_twins_named_together_are_recorded_once(self):
        self.assertEqual(self.names("events", "events.events.k8s.io"), ["events"])

    def test_excluded_resources_are_left_out(self):
        self.assertEqual(self.names("--all", "--exclude", "deploy,events"), ["pods"])
        self.assertEqual([line for line in self.recordings[0].lines if "exclude" in line], [])

    def test_a_name_to_exclude_that_nothing_has_is_warned_of_and_leaves_out_what_comes_later(self):
        definitions = self.api.add("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io",
                                   namespaced=False)
        recording = self.record("--all", "--exclude", "evnts,crontabs.stable.example.com").ready()
        self.assertEqual([line.split(": ", 1)[1] for line in recording.lines if "exclude" in line], [
            "server does not have a resource 'evnts'; did you mean 'events'?",
            "server does not have a resource 'crontabs.stable.example.com'"])
        self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        self.api.add("backups", "Backup", "stable.example.com", custom=True)
        definitions.put("backups.stable.example.com", namespace="")
        names = wait_for(lambda: (rows := recording.query("SELECT resource FROM streams WHERE "
                                  "apigroup='stable.example.com'")) and [r["resource"] for r in rows],
                         "the stream of the new definition")
        self.assertEqual(names, ["backups"])

    def test_discovery_without_the_aggregated_form_is_enough(self):
        self.api.aggregated = False
        self.assertEqual(self.names("deploy"), ["deployments.apps"])


class Documents(RecordTest):
    def test_discovery_is_kept_in_both_forms(self):
        recording = self.record().ready(1)
        recording.stop()
        found = set(plain_rows(self.tape, "SELECT path, variant FROM document WHERE id > 0"))
        self.assertEqual({("/api", ""), ("/apis", ""), ("/api/v1", ""), ("/version", ""), ("/api", "aggregated"),
                          ("/apis", "aggregated"), ("/api/v1/namespaces/kube-system", "")}, found)

    def test_the_cluster_is_known_by_the_uid_of_kube_system(self):
        self.record().ready(1).stop()
        self.assertEqual(plain_rows(self.tape, "SELECT cluster_uid, reason FROM epoch"), [(KUBE_SYSTEM, "start")])


class Ending(RecordTest):
    def test_a_signal_ends_it_with_a_summary_and_exit_code_0(self):
        recording = self.record().ready(1)
        self.pods.put("a")
        recording.wait_events(1)
        self.assertEqual(recording.stop(), 0)
        self.assertRegex(recording.lines[-1], r"^recorded 1 events .* of 1 streams in .* to '")

    def test_the_recording_ends_when_its_duration_is_over(self):
        recording = self.record("pods", "--duration", LONG).ready(1)
        self.assertEqual(recording.wait(), 0)

    def test_what_was_never_listed_or_could_not_be_watched_makes_another_exit_code(self):
        secrets = self.api.add("secrets", "Secret")
        secrets.broken = lambda x: x.status(403, "Forbidden", "secrets is forbidden: no")
        recording = self.record("pods", "secrets", "--duration", LONG).ready(1)
        self.assertEqual(recording.wait(), 3)
        self.assertIn("; of 1 streams nothing is known, their first list never came", recording.lines[-1])
        secrets.broken, secrets.watch_handlers = None, [lambda x: x.status(403, "Forbidden", "secrets is forbidden: no")] * 1000
        recording = self.record("pods", "secrets", "--duration", LONG).ready(2)
        self.assertEqual(recording.wait(), 3)
        self.assertIn("; 1 streams could not be watched at the end, and what changed since is not known", recording.lines[-1])

    def test_a_server_that_is_waited_for_in_vain_makes_another_exit_code(self):
        recording = Recording(self.tape, "pods", "--wait", "--duration", "300ms", "--server", "http://127.0.0.1:1")
        self.assertEqual(recording.wait(), 3)
        self.assertEqual(recording.lines[-1], "kubetape record: nothing was recorded: the server did not say what it has")

    def test_the_last_connections_end_with_client_stop(self):
        recording = self.record().ready(1)
        self.pods.watching()
        recording.stop()
        self.assertEqual(recording.ends(), ["client_stop"])


class BadInput(RecordTest):
    def refused(self, code, *arguments, says, server=True):
        command = [KUBETAPE, "record", *arguments] + (["--server", self.serve()] if server else [])
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                              env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.strip().split("\n")
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("kubetape record: "), lines[0])
        self.assertIn(says, lines[0])
        return lines[0]

    def test_an_unknown_resource_is_named_and_what_may_have_been_meant(self):
        self.refused(1, "gadgets", "-o", self.tape, says="server does not have a resource 'gadgets'")
        self.refused(1, "pdos", "-o", self.tape, says="'pdos'; did you mean 'pods'?")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_resource_that_cannot_be_watched_is_named(self):
        self.api.add("componentstatuses", "ComponentStatus", namespaced=False, verbs=["get", "list"])
        self.refused(1, "componentstatuses", "-o", self.tape, says="cannot be listed and watched")

    def test_a_server_that_is_not_there_is_told_of(self):
        self.serve()
        url = self.api.url
        self.api.refuse()
        self.refused(1, "pods", "-o", self.tape, "--server", url, says="cannot reach server '127.0.0.1:", server=False)

    def test_credentials_that_are_refused_are_told_of(self):
        self.api.token = "right"
        self.refused(1, "pods", "-o", self.tape, says="refused the credentials")

    def test_no_tape_is_left_where_everything_is_forbidden(self):
        self.pods.broken = lambda x: x.status(403, "Forbidden", "pods is forbidden: no")
        self.refused(1, "pods", "-o", self.tape, says="pods is forbidden: no")
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_last_line_says_of_how_many_streams_nothing_is_known(self):
        secrets = self.api.add("secrets", "Secret")
        secrets.broken = lambda x: x.status(403, "Forbidden", "secrets is forbidden: no")
        recording = self.record("pods", "secrets").ready(1)
        self.assertEqual(recording.stop(), 0)
        self.assertIn("; of 1 streams nothing is known, their first list never came", recording.lines[-1])

    def test_a_first_list_that_broke_off_is_not_shown_as_all(self):
        for i in range(600):
            self.pods.put(f"pod-{i}")
        self.pods.on_list(self.pods.list, lambda x: x.hang())
        recording = self.record("pods")
        recording.wait_events(500)
        self.assertEqual(recording.stop(), 0)
        self.assertIn("; of 1 streams nothing is known, their first list never came", recording.lines[-1])
        done = subprocess.run([KUBETAPE, "get", self.tape, "pods", "-o", "name"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "kubetape get: pods were never listed: what there was is not known\n"))
        self.assertEqual(query(self.tape, "SELECT DISTINCT certainty FROM coverage"), [{"certainty": "unlisted"}])

    def test_forbidden_secrets_leave_no_key(self):
        secrets = self.api.add("secrets", "Secret")
        secrets.broken = lambda x: x.status(403, "Forbidden", "secrets is forbidden: no")
        self.refused(1, "secrets", "-o", self.tape, says="secrets is forbidden: no")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_tape_that_was_there_stays_when_nothing_can_be_added(self):
        self.record().ready(1).stop()
        self.refused(1, "gadgets", "-o", self.tape, says="'gadgets'")
        self.assertEqual(query(self.tape, "SELECT count(*) AS n FROM streams"), [{"n": 1}])

    def test_a_bad_selector_is_told_in_the_servers_words(self):
        self.pods.broken = lambda x: x.status(400, "BadRequest", "unable to parse requirement: a b")
        self.refused(1, "pods", "-l", "a b", "-o", self.tape, says="unable to parse requirement: a b")

    def test_an_output_that_is_no_tape(self):
        with open(self.tape, "w", encoding="utf-8") as f:
            f.write("not a tape")
        self.refused(1, "pods", "-o", self.tape, says="x.tape'")
        with open(self.tape, encoding="utf-8") as f:
            self.assertEqual(f.read(), "not a tape")

    def test_words_that_make_no_sense_are_usage_errors(self):
        self.refused(2, "pods", says="-o TAPE", server=False)
        self.refused(2, "-o", self.tape, says="nothing to record", server=False)
        self.refused(2, "pods", "-o", self.tape, "--frobnicate", says="'--frobnicate'", server=False)
        self.refused(2, "pods", "-o", self.tape, "--duration", "soon", says="--duration", server=False)
        self.refused(2, "pods", "-o", self.tape, "--duration", "0", says="'--duration' wants more than nothing", server=False)
        self.refused(2, "pods", "-A", "-o", self.tape, says="all namespaces are recorded", server=False)
        for name in ("a,b", "", "A", "-a", "x" * 64):
            self.refused(2, "pods", "-n", name, "-o", self.tape, says=f"one namespace, found '{name}'", server=False)

    def test_without_a_configured_cluster_nothing_is_recorded(self):
        self.refused(1, "pods", "-o", self.tape, says="no cluster", server=False)

    def test_a_tape_that_another_recorder_holds(self):
        self.record().ready(1)
        self.refused(1, "pods", "-o", self.tape, says="x.tape'")

    def test_waits_for_the_server_when_asked_to(self):
        self.serve()
        self.api.refuse()
        recording = self.record("pods", "--wait", server=self.api.url)
        wait_for(lambda: "waiting for it" in recording.stderr, "the message")
        self.api.listen()
        recording.ready(1)

    def test_waits_for_a_server_that_is_starting_when_asked_to(self):
        documents = self.api.document
        self.api.document = lambda path, *_: None
        self.api.handlers["/apis"] = lambda x: x.status(503, "ServiceUnavailable", "apiserver not ready")
        self.refused(1, "pods", "-o", self.tape, says="answered 503: apiserver not ready")
        recording = self.record("pods", "--wait")
        wait_for(lambda: "answered 503: apiserver not ready; waiting for it" in recording.stderr, "the message")
        self.api.document = documents
        del self.api.handlers["/apis"]
        recording.ready(1)

    def test_a_first_list_that_fails_is_told_of_at_once(self):
        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable", "etcd is away")
        recording = self.record()
        wait_for(lambda: "pods: cannot list: " in recording.stderr, "the message")
        self.assertIn("answered 503: etcd is away", recording.stderr)
        self.pods.broken = None
        recording.ready(1)


if __name__ == "__main__":
    unittest.main()
