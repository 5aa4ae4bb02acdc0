"""WATCH of a replay: where it begins, what it sends, how it ends."""

import contextlib
import http.client
import json
import os
import select
import socket
import sqlite3
import time
import unittest

from replays import DEADLINE_S, EVENTS, PARTIAL, PODS, TABLE, Case, Tape, brief, obj
from waiting import wait_for


def a_day():
    """Pods a and b are listed at 20; then a changes, c comes, b goes."""
    return (Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6, namespace="x")])
        .event(1, PODS, "MODIFIED", obj(PODS, "a", 21, status={"n": 1}))
        .event(1, PODS, "ADDED", obj(PODS, "c", 22))
        .event(1, PODS, "DELETED", obj(PODS, "b", 23, namespace="x"))
        .event(1, PODS, "MODIFIED", obj(PODS, "a", 24, status={"n": 2})))


DAY = [("MODIFIED", "a", "21"), ("ADDED", "c", "22"), ("DELETED", "b", "23"), ("MODIFIED", "a", "24")]


class BeginTest(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(a_day(), "--speed", "max")

    def events(self, query, count):
        with self.r.watch("/api/v1/pods?watch=1&" + query) as w:
            self.assertEqual(w.status, 200)
            return [brief(e) for e in w.take(count)]

    def test_watch_from_a_version_brings_what_is_newer_in_order(self):
        self.assertEqual(self.events("resourceVersion=20", 4), DAY)
        self.assertEqual(self.events("resourceVersion=22", 2), DAY[2:])
        self.assertEqual(self.events("resourceVersion=23", 1), DAY[3:])

    def test_frames_are_the_recorded_bytes_in_one_line_each(self):
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            line = w.next_raw()
            self.assertEqual(line.decode(), '{"type":"MODIFIED","object":' +
                json.dumps(obj(PODS, "a", 21, status={"n": 1}), separators=(",", ":")) + "}\n")
            self.assertEqual(w.headers["Content-Type"], "application/json")
            self.assertEqual(w.headers["Transfer-Encoding"], "chunked")

    def test_without_version_the_state_comes_first_in_key_order(self):
        self.events("resourceVersion=20", 4)
        self.assertEqual(self.events("", 2), [("ADDED", "a", "24"), ("ADDED", "c", "22")])
        self.assertEqual(self.events("resourceVersion=0", 2), [("ADDED", "a", "24"), ("ADDED", "c", "22")])

    def test_state_and_changes_join_without_hole_or_repeat(self):
        got = self.events("resourceVersion=0", 6)
        self.assertEqual(got, [("ADDED", "a", "5"), ("ADDED", "b", "6")] + DAY)

    def test_streaming_list_ends_with_one_annotated_bookmark_and_goes_on_live(self):
        got = self.events("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", 7)
        self.assertEqual(got, [("ADDED", "a", "5"), ("ADDED", "b", "6"), ("BOOKMARK", "", "20")] + DAY)

    def test_end_of_initial_events_is_annotated(self):
        with self.r.watch("/api/v1/pods?watch=1&allowWatchBookmarks=1") as w:
            w.take(2)
            mark = w.next()["object"]
            self.assertEqual((mark["kind"], mark["apiVersion"]), ("Pod", "v1"))
            self.assertEqual(mark["metadata"], {"resourceVersion": "20",
                "annotations": {"k8s.io/initial-events-end": "true"}})

    def test_streaming_list_of_a_namespace_without_objects_is_only_the_bookmark(self):
        with self.r.watch("/api/v1/namespaces/none/pods?watch=1&sendInitialEvents=true"
                "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=3") as w:
            self.assertEqual(brief(w.next()), ("BOOKMARK", "", "20"))

    def test_streaming_list_without_bookmarks_has_no_end_mark(self):
        got = self.events("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 6)
        self.assertEqual(got, [("ADDED", "a", "5"), ("ADDED", "b", "6")] + DAY)

    def test_without_initial_events_only_changes_come(self):
        got = self.events("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", 4)
        self.assertEqual(got, DAY)

    def test_version_below_the_window_is_expired_in_the_stream(self):
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=19") as w:
            self.assertEqual(w.status, 200)
            (error,) = w.rest()
            self.assertEqual(error, {"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "message": "too old resource version: 19 (20)", "reason": "Expired", "code": 410}})

    def test_version_above_the_position_is_an_error_that_makes_clients_list_again(self):
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=900") as w:
            (error,) = w.rest()
            self.assertEqual((error["type"], error["object"]["code"]), ("ERROR", 410))
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=900&sendInitialEvents=true"
                "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true") as w:
            (error,) = w.rest()
            self.assertEqual(error["object"]["code"], 504)
            self.assertEqual(error["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")
            self.assertNotIn("retryAfterSeconds", error["object"]["details"])

    def test_version_above_the_position_can_be_silence_as_on_the_real_server(self):
        r = self.replay(a_day(), "--speed", "max", "--ahead=silent", "--wait-watchers", "2")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=22") as ahead:
            ahead.connection.sock.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                ahead.next()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=22") as ahead, \
                r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e) for e in ahead.take(2)], DAY[2:])
            self.assertEqual([brief(e) for e in w.take(4)], DAY)

    def test_old_path_form_is_a_watch_of_the_collection_or_of_one_object(self):
        with self.r.watch("/api/v1/watch/pods?resourceVersion=20&watch=false") as w:
            self.assertEqual([brief(e) for e in w.take(4)], DAY)
        with self.r.watch("/api/v1/watch/namespaces/default/pods/a?resourceVersion=20") as w:
            self.assertEqual([brief(e) for e in w.take(2)], [DAY[0], DAY[3]])
        status, answer = self.r.get("/api/v1/watch/namespaces/default/pods/a?fieldSelector=metadata.name%3Db")
        self.assertEqual((status, answer["message"]), (400, "fieldSelector metadata.name doesn't match requested name"))

    def test_words_for_true_are_read_as_the_server_reads_them(self):
        for word in ("1", "true", "True", ""):
            with self.r.watch("/api/v1/pods?resourceVersion=20&timeoutSeconds=-1&watch=" + word) as w:
                self.assertEqual(w.rest(), [])
        for word in ("0", "false", "FALSE"):
            self.assertEqual(self.r.get("/api/v1/pods?watch=" + word)[1]["kind"], "PodList")


class ScopeTest(Case):
    def test_namespace_and_name_restrict_a_watch(self):
        r = self.replay(a_day().event(2, PODS, "ADDED", obj(PODS, "b", 30, namespace="x")), "--speed", "max")
        with r.watch("/api/v1/namespaces/x/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e) for e in w.take(2)], [("DELETED", "b", "23"), ("ADDED", "b", "30")])
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&fieldSelector=metadata.name%3Dc&timeoutSeconds=1") as w:
            self.assertEqual([brief(e) for e in w.rest()], [("ADDED", "c", "22")])

    def test_selector_turns_changes_into_what_they_are_for_the_watcher(self):
        def pod(rv, app):
            return obj(PODS, "a", rv, labels={"app": app} if app else None)

        r = self.replay(Tape().listed(PODS, 20, [pod(5, "web"), obj(PODS, "o", 6)])
            .event(1, PODS, "MODIFIED", pod(21, "db"))
            .event(1, PODS, "MODIFIED", pod(22, None))
            .event(1, PODS, "MODIFIED", obj(PODS, "o", 23))
            .event(1, PODS, "MODIFIED", pod(24, "web"))
            .event(1, PODS, "MODIFIED", {**pod(25, "web"), "spec": {"x": 1}})
            .event(1, PODS, "DELETED", {**pod(26, "web"), "spec": {"x": 1}})
            .event(1, PODS, "ADDED", pod(27, "web")), "--speed", "max")
        for _ in range(2):  # first as it happens, then from the past
            with r.watch("/api/v1/pods?watch=1&resourceVersion=20&labelSelector=app%3Dweb") as w:
                got = w.take(5)
            self.assertEqual([brief(e) for e in got], [("DELETED", "a", "21"), ("ADDED", "a", "24"),
                ("MODIFIED", "a", "25"), ("DELETED", "a", "26"), ("ADDED", "a", "27")])
            self.assertEqual(got[0]["object"]["metadata"]["labels"], {"app": "web"})

    def test_field_selector_sees_a_pod_when_it_is_scheduled(self):
        r = self.replay(Tape().listed(PODS, 20, [obj(PODS, "a", 5, spec={})])
            .event(1, PODS, "MODIFIED", obj(PODS, "a", 21, spec={"nodeName": "n"})), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%3Dn") as w:
            self.assertEqual(brief(w.next()), ("ADDED", "a", "21"))


class FormTest(Case):
    def test_table_watch_names_its_columns_once(self):
        r = self.replay(a_day(), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20", TABLE) as w:
            one, two = w.take(2)
            self.assertEqual(one["object"]["kind"], "Table")
            self.assertEqual(one["object"]["metadata"]["resourceVersion"], "21")
            self.assertEqual(one["object"]["columnDefinitions"][0]["name"], "Name")
            self.assertEqual(one["object"]["rows"][0]["cells"][0], "a")
            self.assertIsNone(two["object"]["columnDefinitions"])
        with r.watch("/api/v1/pods?watch=1&resourceVersion=1", TABLE) as w:
            self.assertEqual(w.next()["object"]["kind"], "Status")
        with r.watch("/api/v1/pods?watch=1&allowWatchBookmarks=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone", TABLE) as w:
            one, *more = w.rest()
            self.assertEqual(one["object"]["columnDefinitions"][0]["name"], "Name")
            self.assertEqual([m["object"]["columnDefinitions"] for m in more], [None] * len(more))
            self.assertTrue(more)

    def test_metadata_watch_sends_metadata_only(self):
        r = self.replay(a_day(), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&allowWatchBookmarks=1", PARTIAL) as w:
            for event in w.take(4):
                self.assertEqual(event["object"]["kind"], "PartialObjectMetadata")
                self.assertEqual(event["object"]["apiVersion"], "meta.k8s.io/v1")
                self.assertEqual(set(event["object"]), {"kind", "apiVersion", "metadata"})


class EndTest(Case):
    def test_timeout_ends_the_stream_cleanly_and_the_connection_goes_on(self):
        r = self.replay(a_day(), "--wait-watchers", "2")
        began = time.monotonic()
        w = r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=1")
        self.assertEqual(w.rest(), [])
        self.assertGreater(time.monotonic() - began, 0.9)
        w.connection.request("GET", "/version")
        self.assertEqual(w.connection.getresponse().status, 200)
        w.close()

    def test_negative_timeout_ends_at_once(self):
        r = self.replay(a_day())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=-5") as w:
            self.assertEqual(w.rest(), [])

    def test_bookmarks_come_before_the_end_for_those_who_want_them(self):
        r = self.replay(a_day(), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=3&allowWatchBookmarks=true") as w:
            self.assertEqual([brief(e) for e in w.rest()],
                DAY + [("BOOKMARK", "", "24"), ("BOOKMARK", "", "24")])
        with r.watch("/api/v1/pods?watch=1&resourceVersion=24&timeoutSeconds=3") as w:
            self.assertEqual(w.rest(), [])

    def test_recorded_bookmark_gives_version_and_shape(self):
        mark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "90"},
            "spec": {"containers": None}, "status": {}}
        tape = a_day().mark("bookmark", PODS, 90, 2, mark)
        r = self.replay(tape, "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=3&allowWatchBookmarks=true") as w:
            self.assertEqual(w.rest()[-1]["object"], mark)
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "90")

    def test_events_get_no_periodic_bookmarks(self):
        r = self.replay(Tape().listed(EVENTS, 20, []).event(1, EVENTS, "ADDED", obj(EVENTS, "e", 21)), "--speed", "max")
        with r.watch("/api/v1/events?watch=1&timeoutSeconds=3&allowWatchBookmarks=true") as w:
            self.assertEqual([brief(e)[0] for e in w.rest()], ["BOOKMARK", "ADDED"])

    def test_stream_stays_open_when_the_watched_object_is_deleted_and_at_the_end_of_the_tape(self):
        r = self.replay(a_day(), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&fieldSelector=metadata.name%3Db") as w:
            self.assertEqual(brief(w.next()), ("DELETED", "b", "23"))
            w.connection.sock.settimeout(1)
            with self.assertRaises(TimeoutError):
                w.next()

    def test_exit_at_end_delivers_everything_and_ends_streams_cleanly(self):
        r = self.replay(a_day(), "--speed", "max", "--exit-at-end")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e) for e in w.rest()], DAY)
        self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)


class RelistTest(Case):
    """What a recorder learned by listing again after a gap, healed: as if the events had been seen."""

    def setUp(self):
        super().setUp()
        tape = (Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6), obj(PODS, "c", 7), obj(PODS, "d", 8)])
            .event(1, PODS, "MODIFIED", obj(PODS, "a", 21))
            # The list in its order: a changed late, b is another one, c changed early, d is gone, e is new.
            .event(2, PODS, "MODIFIED", obj(PODS, "a", 38), origin="relist")
            .event(2, PODS, "DELETED", obj(PODS, "b", 6), origin="inferred", rv="50")
            .event(2, PODS, "ADDED", obj(PODS, "b", 35, uid="other"), origin="relist")
            .event(2, PODS, "MODIFIED", obj(PODS, "c", 31), origin="relist")
            .event(2, PODS, "DELETED", obj(PODS, "d", 8), origin="inferred", rv="50")
            .event(2, PODS, "ADDED", obj(PODS, "e", 33), origin="relist")
            .mark("list", PODS, 50, 2.1)
            .event(3, PODS, "MODIFIED", obj(PODS, "e", 51)))
        self.r = self.replay(tape, "--speed", "max")

    def test_events_come_by_version_and_deletions_where_they_may_have_happened(self):
        expected = [("MODIFIED", "a", "21"), ("MODIFIED", "c", "31"), ("ADDED", "e", "33"), ("DELETED", "b", "35"),
            ("ADDED", "b", "35"), ("MODIFIED", "a", "38"), ("DELETED", "d", "50"), ("MODIFIED", "e", "51")]
        for _ in range(2):  # first as it happens, then from the past
            with self.r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
                got = w.take(8)
            self.assertEqual([brief(e) for e in got], expected)
            self.assertEqual([e["object"]["metadata"]["uid"] for e in got[3:5]], ["uid-b", "other"])
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=33") as w:
            self.assertEqual([brief(e) for e in w.take(5)], expected[3:])

    def test_state_behind_the_gap_is_that_of_the_list(self):
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(8)
        _, answer = self.r.get("/api/v1/pods")
        self.assertEqual([(i["metadata"]["name"], i["metadata"]["resourceVersion"]) for i in answer["items"]],
            [("a", "38"), ("b", "35"), ("c", "31"), ("e", "51")])


class SameVersionTest(Case):
    def test_all_deletions_of_one_version_arrive(self):
        things = [obj(EVENTS, "e%d" % i, 5 + i) for i in range(6)]
        tape = Tape().listed(EVENTS, 20, things)
        for i in range(6):
            tape.event(1, EVENTS, "DELETED", obj(EVENTS, "e%d" % i, 30))
        r = self.replay(tape, "--speed", "max")
        for _ in range(2):
            with r.watch("/api/v1/events?watch=1&resourceVersion=20") as w:
                self.assertEqual([brief(e) for e in w.take(6)], [("DELETED", "e%d" % i, "30") for i in range(6)])
        with r.watch("/api/v1/events?watch=1&resourceVersion=30&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])


class ClockTest(Case):
    def spaced(self):
        tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)], at=0)
        for i in range(5):
            tape.event(10 + 0.3 * i, PODS, "ADDED", obj(PODS, "p%d" % i, 30 + i))
        return tape

    def due_ms(self, *options):
        """When each event of a replay of spaced() was to leave, in its run, after the first; none left before."""
        run = os.path.join(self.folder, "x.run")
        r = self.replay(self.spaced(), "--run", run, "--exit-at-end", *options)
        began = time.monotonic()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e)[1] for e in w.take(5)], ["p%d" % i for i in range(5)])
            took_ms = 1000 * (time.monotonic() - began)
        self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)
        with contextlib.closing(sqlite3.connect(run)) as db:
            due = [row[0] for row in db.execute("SELECT due_ns FROM deliveries ORDER BY seq")]
            self.assertEqual(db.execute("SELECT count(*) FROM deliveries WHERE out_ns < due_ns").fetchone(), (0,))
        self.assertGreaterEqual(took_ms, (due[-1] - due[0]) // 10**6)
        return [(at - due[0]) // 10**6 for at in due]

    def test_events_are_spaced_as_recorded(self):
        self.assertEqual(self.due_ms("--from", "+9900ms"), [0, 300, 600, 900, 1200])

    def test_speed_divides_the_time_between_events(self):
        self.assertEqual(self.due_ms("--speed", "10"), [0, 30, 60, 90, 120])

    def test_clock_waits_for_the_watchers_asked_for(self):
        r = self.replay(a_day(), "--speed", "max", "--wait-watchers", "2")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as one:
            one.connection.sock.settimeout(0.5)
            with self.assertRaises(TimeoutError):
                one.next()
            with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as two:
                self.assertEqual([brief(e) for e in two.take(4)], DAY)

    def test_clock_runs_at_once_when_told_to_wait_for_nobody(self):
        r = self.replay(a_day(), "--speed", "max", "--wait-watchers", "0")
        wait_for(lambda: r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"] == "24", "the last version")

    def test_replay_can_begin_and_end_inside_the_tape(self):
        r = self.replay(a_day(), "--speed", "max", "--from", "seq:4", "--until", "rv:23")
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "22")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=1") as w:
            self.assertEqual([brief(e) for e in w.rest()], DAY[:3])


class SlowTest(Case):
    ROOM_BYTES = 64 << 10  # for those who read slowly: far less than what they are sent

    def big(self, count, size=50_000):
        tape = Tape().listed(PODS, 20, [])
        for i in range(count):
            tape.event(1, PODS, "ADDED", obj(PODS, "p%04d" % i, 30 + i, spec={"x": "y" * size}))
        return tape

    def test_client_that_reads_slowly_gets_everything_and_sets_the_pace_of_speed_max(self):
        r = self.replay(self.big(400), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20", room_bytes=self.ROOM_BYTES) as slow:
            slow.next()
            time.sleep(1)  # it must not get far ahead of this client, however long it is given
            rv = int(r.get("/api/v1/pods?limit=1")[1]["metadata"]["resourceVersion"])
            self.assertLess(rv, 429)
            self.assertEqual([brief(e)[2] for e in slow.take(399)], [str(31 + i) for i in range(399)])

    def test_client_that_never_reads_holds_nobody_up_is_cut_and_misses_nothing_when_it_watches_again(self):
        tape = self.big(400)
        r = self.replay(tape, "--speed", "1")
        stuck = [r.watch("/api/v1/pods?watch=1&resourceVersion=20", room_bytes=self.ROOM_BYTES) for _ in range(5)]
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as reader:
            self.assertEqual(len(reader.take(400)), 400)
        for w in stuck:
            self.wait_until_cut(w)
        seen = self.until_cut(stuck[0])
        self.assertLess(len(seen), 400)
        with r.watch("/api/v1/pods?watch=1&resourceVersion=%s" % (seen[-1] if seen else 20)) as again:
            seen += [brief(e)[2] for e in again.take(400 - len(seen))]
        self.assertEqual(seen, [str(30 + i) for i in range(400)])
        for w in stuck:
            w.close()

    def until_cut(self, w):
        """The resourceVersions of the whole events that came before the connection ended."""
        seen = []
        try:
            while (line := w.next_raw()).endswith(b"\n"):
                seen.append(brief(json.loads(line))[2])
        except (OSError, http.client.HTTPException):
            pass
        return seen

    def wait_until_cut(self, w):
        poll = select.poll()
        poll.register(w.connection.sock, 0)
        self.assertTrue(poll.poll(DEADLINE_S * 1000), "the connection still stands")


class WebSocketTest(Case):
    KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # the key of RFC 6455's example, and what it must be answered with
    ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    def open(self, r, target):
        s = socket.create_connection((r.host, r.port), timeout=60)
        self.addCleanup(s.close)
        s.sendall(("GET %s HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % (target, self.KEY)).encode())
        stream = s.makefile("rb")
        self.addCleanup(stream.close)
        head = []
        while not head or head[-1] != b"\r\n":
            head.append(stream.readline())
        self.assertEqual(head[0], b"HTTP/1.1 101 Switching Protocols\r\n")
        self.assertIn(b"Sec-WebSocket-Accept: " + self.ACCEPT.encode() + b"\r\n", head)
        return s, stream

    def message(self, stream):
        one, two = stream.read(2)
        length = two & 127
        if length == 126:
            length = int.from_bytes(stream.read(2), "big")
        elif length == 127:
            length = int.from_bytes(stream.read(8), "big")
        return one, stream.read(length)

    def send(self, s, opcode, payload):
        mask = b"\x01\x02\x03\x04"
        s.sendall(bytes([0x80 | opcode, 0x80 | len(payload)]) + mask +
            bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def test_each_event_is_a_text_message_without_a_line_feed(self):
        tape = a_day().event(1, PODS, "ADDED", obj(PODS, "big", 40, spec={"x": "y" * 70_000}))
        r = self.replay(tape, "--speed", "max")
        s, stream = self.open(r, "/api/v1/pods?watch=1&resourceVersion=20")
        got = []
        for _ in range(5):
            kind, payload = self.message(stream)
            self.assertEqual(kind, 0x81)
            self.assertFalse(payload.endswith(b"\n"))
            got.append(brief(json.loads(payload)))
        self.assertEqual(got, DAY + [("ADDED", "big", "40")])
        self.send(s, 9, b"are you there")
        self.assertEqual(self.message(stream), (0x8A, b"are you there"))
        self.send(s, 8, b"\x03\xe8")
        self.assertEqual(self.message(stream), (0x88, b"\x03\xe8"))
        self.assertEqual(stream.read(), b"")

    def test_timeout_ends_it_with_a_close_message(self):
        r = self.replay(a_day(), "--wait-watchers", "9")
        _, stream = self.open(r, "/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=1")
        self.assertEqual(self.message(stream), (0x88, b"\x03\xe8"))

    def test_upgrade_without_its_headers_is_refused(self):
        r = self.replay(a_day())
        status, _, body = r.request("GET", "/api/v1/pods?watch=1", {"Connection": "Upgrade", "Upgrade": "websocket"})
        self.assertEqual((status, body), (400, b"mismatch challenge/response\n"))
        status, _, _ = r.request("GET", "/api/v1/pods?watch=1&timeoutSeconds=-1", {"Connection": "keep-alive"})
        self.assertEqual(status, 200)


if __name__ == "__main__":
    unittest.main()
