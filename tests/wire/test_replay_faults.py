"""Faults of a replay as they are on the wire: whom they hit, when, and what a client is told."""

import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import time
import unittest

from fault_case import BEHIND_ALL, NODES_FROM_20, ON_DELETION, POD_DAY, PODS_FROM_20, STEPS, FaultCase, Raw, a_day
from replays import DEADLINE_S, KUBETAPE, PODS, WIDGETS, Tape, brief, obj
from waiting import wait_for


class WatchEndsTest(FaultCase):
    """HTTP/1.1. Just before the deletion everybody's watch of pods ends."""

    def cut(self, what, options=(), **more):
        return self.fault({"when": ON_DELETION, "where": {"resource": "pods"}, "what": what, **more}, options=options)

    def rest_of_the_day(self, r):
        with r.watch("/api/v1/pods?watch=1&resourceVersion=21") as w:
            return [brief(e) for e in w.take(4)]

    def test_clean_end_has_the_last_chunk_and_leaves_the_connection(self):
        r = self.cut("end")
        w = self.raw(r)
        w.until(b"\r\n0\r\n\r\n")
        self.assertEqual(w.events(), POD_DAY[:1])
        w.ask("/api/v1/pods?watch=1&resourceVersion=21")
        w.until(b'"26"')
        self.assertEqual(self.rest_of_the_day(r), POD_DAY[1:])

    def test_cut_sends_so_many_bytes_of_the_next_frame_and_no_end(self):
        w = self.raw(self.cut({"do": "cut", "bytes": 40}))
        self.assertIs(w.to_the_end(), False)
        whole, rest = w.chunks()
        self.assertEqual([brief(json.loads(c)) for c in whole], POD_DAY[:1])
        size, part = rest.split(b"\r\n", 1)
        frame = json.dumps({"type": "DELETED", "object": obj(PODS, "w", 22, uid="u1")}, separators=(",", ":")) + "\n"
        self.assertEqual((int(size, 16), part), (len(frame), frame[:40].encode()))

    def test_cut_of_no_bytes_is_an_end_inside_the_chunk(self):
        w = self.raw(self.cut({"do": "cut", "bytes": 0}))
        self.assertIs(w.to_the_end(), False)
        self.assertRegex(w.chunks()[1], rb"^[0-9a-f]+\r\n$")

    def test_fin_closes_behind_whole_frames_without_the_last_chunk(self):
        for word in ("fin", "goaway"):
            w = self.raw(self.cut(word))
            self.assertIs(w.to_the_end(), False)
            self.assertEqual(w.events(), POD_DAY[:1])
            self.assertEqual(w.chunks()[1], b"")

    def test_rst_resets_behind_whole_frames(self):
        for word in ("rst", {"do": "rst_stream", "code": 2}):
            r = self.cut(word)
            w = self.raw(r)
            self.assertEqual(w.to_the_end(), "reset")
            self.assertEqual(w.events(), POD_DAY[:1])
            self.assertEqual(self.rest_of_the_day(r), POD_DAY[1:])

    def test_error_is_the_last_line_and_the_end_is_clean(self):
        wanted = {
            "error": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "too old resource version: 21 (22)", "reason": "Expired", "code": 410},
            "no leader": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "etcdserver: no leader", "reason": "InternalError", "code": 500},
            "own": {"kind": "Status", "reason": "Odd", "code": 499},
        }
        whats = {"error": "error", "no leader": {"do": "error", "code": 500, "message": "etcdserver: no leader"},
            "own": {"do": "error", "status": wanted["own"]}}
        for name, what in whats.items():
            w = self.raw(self.cut(what))
            w.until(b"\r\n0\r\n\r\n")
            lines = [json.loads(c) for c in w.chunks()[0] if c]
            self.assertEqual(lines[1:], [{"type": "ERROR", "object": wanted[name]}])

    def test_stall_is_silence_and_then_everything_comes(self):
        r = self.cut("stall", options=STEPS, **{"for": {"events": 2}})
        w = self.raw(r)
        w.until(b"\r\n\r\n")
        self.step(r, 2)
        w.until(b'"21"')
        self.assertIsNone(w.read(0.2))
        self.assertEqual(w.events(), POD_DAY[:1])
        self.step(r, 4)
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY)

    def test_stalls_end_one_by_one(self):
        stall = {"when": ON_DELETION, "what": "stall", "clock": "wall"}
        r = self.fault({**stall, "where": {"resource": "pods"}, "for": "1s"},
            {**stall, "where": {"resource": "nodes"}, "for": "1h"}, options=("--wait-watchers", "2"))
        nodes, pods = self.raw(r, NODES_FROM_20), self.raw(r)
        pods.until(b'"26"')
        self.assertEqual(pods.events(), POD_DAY)
        while nodes.read(0.5):
            pass
        self.assertNotIn(b'"24"', nodes.received)

    def test_others_are_left_alone(self):
        r = self.fault({"when": ON_DELETION, "where": {"resource": "pods", "client": "bad/*"}, "what": "rst"},
            options=("--wait-watchers", "3"))
        good, nodes = self.raw(r, agent="good/1"), self.raw(r, NODES_FROM_20, "bad/1")
        bad = self.raw(r, agent="bad/1")
        self.assertEqual(bad.to_the_end(), "reset")
        good.until(b'"26"')
        nodes.until(b'"24"')
        self.assertEqual(good.events(), POD_DAY)

    def test_credential_tells_clients_apart(self):
        r = self.fault({"when": ON_DELETION, "where": {"credential": "secret"}, "what": "end"}, options=["--anonymous"])
        c = r.connect()
        self.addCleanup(c.close)
        c.request("GET", PODS_FROM_20, headers={"Authorization": "Bearer secret"})
        self.assertEqual(len(c.getresponse().read().splitlines()), 1)
        with r.watch(PODS_FROM_20) as w:
            self.assertEqual([brief(e) for e in w.take(5)], POD_DAY)

    def test_n_th_connection_is_cut_where_it_has_come_to(self):
        r = self.fault({"when": {"connection": 2, "events": 2}, "where": {"client": "test"}, "what": "fin"})
        first = self.raw(r)
        first.until(b'"26"')
        second = self.raw(r)
        self.assertIs(second.to_the_end(), False)
        self.assertEqual(second.events(), POD_DAY[:2])
        third = self.raw(r)
        third.until(b'"26"')
        self.assertEqual(third.events(), POD_DAY)

    def websocket(self, r):
        """All that a watch sends that is opened as a WebSocket, to its end."""
        s = socket.create_connection((r.host, r.port), timeout=DEADLINE_S)
        self.addCleanup(s.close)
        s.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" % PODS_FROM_20).encode())
        received = b""
        while more := s.recv(65536):
            received += more
        return received

    def test_websocket_is_cut_too(self):
        received = self.websocket(self.cut("fin"))
        self.assertIn(b'"21"', received)
        self.assertNotIn(b'"22"', received)

    def test_websocket_is_cut_inside_a_message(self):
        """After the head of the message: bytes that are none are an error of the protocol, which some clients
        never recover from."""
        received = self.websocket(self.cut({"do": "cut", "bytes": 9}))
        self.assertRegex(received, rb'(?s)"21".*\x81\x7e..\{"type":"$')


class RequestTest(FaultCase):
    """What requests get instead of an answer."""

    def test_refused_connections_are_refused_and_the_port_stays(self):
        r = self.fault({"when": ON_DELETION, "what": "rst", "for": "3s", "clock": "wall"})
        idle = self.raw(r, "/version")
        idle.until(b"gitVersion")
        w = self.raw(r)
        self.assertEqual(w.to_the_end(), "reset")
        self.assertEqual(idle.read(), "reset")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((r.host, r.port), timeout=5)
        self.assertEqual(self.events_when_back(r), POD_DAY[1:])

    def events_when_back(self, r):
        def events():
            try:
                with r.watch("/api/v1/pods?watch=1&resourceVersion=21") as w:
                    return [brief(e) for e in w.take(4)]
            except ConnectionRefusedError:
                return None

        return wait_for(events, "a connection")

    def test_control_gets_through_while_connections_are_refused(self):
        r = self.fault({"when": ON_DELETION, "what": "refuse"})
        self.raw(r).until(b'"26"')
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((r.host, r.port), timeout=5)
        hosts = ["http://127.0.0.1", "localhost", "0.0.0.0"]
        with contextlib.suppress(OSError):  # no IPv6 here
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
            hosts.append("[::1]")
        for address in ["%s:%d" % (host, r.port) for host in hosts]:
            done = subprocess.run([KUBETAPE, "ctl", address, "status", "--json"], capture_output=True, text=True,
                timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["state"], "ended")

    def test_control_that_is_under_way_when_refusing_begins_is_answered(self):
        r = self.fault({"when": ON_DELETION, "what": "refuse"})
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(DEADLINE_S)
            control.connect("\0kubetape-control-%d" % r.port)
            self.raw(r).until(b'"26"')
            control.sendall(b"GET /kubetape/v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertTrue(control.recv(100).startswith(b"HTTP/1.1 200"))

    def test_refusing_leaves_running_watches(self):
        r = self.fault({"when": ON_DELETION, "what": "refuse"})
        w = self.raw(r)
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((r.host, r.port), timeout=5)

    def test_http_error_is_given_to_those_in_scope(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods", "requests": ["list", "watch"]},
            "what": {"do": "http", "code": 503, "retry_after": "2s"}})
        status, headers, answer = r.request("GET", "/api/v1/pods")
        self.assertEqual((status, headers["Retry-After"]), (503, "2"))
        answer = json.loads(answer)
        self.assertEqual((answer["kind"], answer["reason"], answer["details"]["retryAfterSeconds"]), ("Status", "ServiceUnavailable", 2))
        self.assertEqual(r.request("GET", PODS_FROM_20)[0], 503)
        self.assertEqual(r.get("/api/v1/nodes")[0], 200)
        self.assertEqual(r.get("/api/v1/namespaces/default/pods/a")[0], 200)

    def test_http_error_can_have_words_of_its_own(self):
        status = {"kind": "Status", "reason": "Odd", "code": 599}
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": {"do": "http", "code": 599, "status": status}},
            {"when": {"at": "+0s"}, "where": {"resource": "nodes"}, "what": {"do": "http", "code": 403, "message": "not you"}})
        self.assertEqual(r.get("/api/v1/pods"), (599, status))
        self.assertEqual(r.get("/api/v1/nodes")[1]["message"], "not you")

    def test_410_goes_only_to_requests_with_a_version(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": {"do": "http", "code": 410}})
        self.assertEqual(r.get("/api/v1/pods?resourceVersion=20")[0], 410)
        self.assertEqual(r.get("/api/v1/pods?resourceVersion=0")[0], 200)
        self.assertEqual(r.get("/api/v1/pods")[0], 200)

    def test_control_requests_get_through(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"requests": ["list", "watch", "get", "write", "other"]},
            "what": {"do": "http", "code": 500}})
        self.assertEqual(r.get("/version")[0], 500)
        self.assertEqual(r.get("/kubetape/v1/status")[0], 200)

    def test_requests_are_broken_off_or_never_answered(self):
        for word, end in (("fin", False), ("rst", "reset")):
            r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": "nothing", "for": "1h", "during": word})
            w = self.raw(r, "/api/v1/pods")
            self.assertIs(w.to_the_end(), end) if end is False else self.assertEqual(w.to_the_end(), end)
            self.assertEqual(w.received, b"")
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": "nothing", "for": {"events": 1}, "during": "stall"},
            options=STEPS)
        w = self.raw(r, "/api/v1/pods")
        self.assertIsNone(w.read(0.2))
        self.step(r, 1)
        self.assertEqual(w.to_the_end(), "reset")
        self.assertEqual(r.get("/api/v1/pods")[0], 200)

    def test_requests_that_wait_are_answered_when_the_fault_is_over(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods", "requests": "watch"}, "what": "nothing", "for": {"events": 1}, "during": "wait"},
            options=STEPS)
        gone, waits = self.raw(r, "/api/v1/pods?watch=1"), self.raw(r, "/api/v1/pods?watch=1&resourceVersion=20")
        gone.close()
        self.assertIsNone(waits.read(0.2))
        self.assertEqual(r.get("/api/v1/pods")[0], 200)
        self.step(r, 1)
        waits.until(b'"21"')
        self.assertEqual(waits.events(), POD_DAY[:1])

    def test_outage_of_one_resource_is_429_without_retry_after(self):
        r = self.fault({"when": ON_DELETION, "where": {"resource": "pods"}, "what": "end", "for": "1h"}, speed="10")
        self.raw(r).until(b"\r\n0\r\n\r\n")
        status, headers, _ = r.request("GET", PODS_FROM_20)
        self.assertEqual((status, headers["Retry-After"]), (429, None))
        self.assertEqual(r.get("/api/v1/nodes")[0], 200)

    def test_stale_list_shows_an_older_state_with_its_version(self):
        r = self.fault({"when": BEHIND_ALL, "where": {"resource": "pods"}, "what": {"do": "stale_list", "by": "4500ms"}}, options=STEPS)
        self.step(r, 6)  # the clock stands there
        answer = r.get("/api/v1/pods?resourceVersion=26")[1]
        self.assertEqual(answer["metadata"]["resourceVersion"], "21")
        self.assertEqual([(i["metadata"]["name"], i["metadata"]["uid"]) for i in answer["items"]], [("a", "uid-a"), ("w", "u1")])

    def test_first_list_behind_a_gap_is_old_and_the_next_is_not(self):
        r = self.fault({"when": BEHIND_ALL, "where": {"resource": "pods"}, "what": "end", "stale": "3500ms"})
        self.raw(r).until(b"\r\n0\r\n\r\n")
        uids = [[i["metadata"]["uid"] for i in r.get("/api/v1/pods")[1]["items"]] for _ in range(2)]
        self.assertEqual(uids, [["uid-a"], ["uid-a", "u2"]])

    def test_streaming_list_is_a_list(self):
        r = self.fault({"when": BEHIND_ALL, "where": {"resource": "pods"}, "what": "end", "stale": "3500ms"})
        self.raw(r).until(b"\r\n0\r\n\r\n")
        with r.watch("/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true") as w:
            self.assertEqual([brief(e) for e in w.take(5)], [("ADDED", "a", "21"), ("BOOKMARK", "", "22")] + POD_DAY[2:])


class CompactionTest(FaultCase):
    RULE = {"when": {**ON_DELETION}, "where": {"resource": "pods"}, "what": "rst", "for": {"events": 2}, "compaction": True, "hold": "1h"}

    def test_what_passed_in_the_gap_is_gone_and_nothing_else(self):
        r = self.fault(self.RULE)
        w = self.raw(r)
        self.assertEqual(w.to_the_end(), "reset")
        self.assertEqual(w.events(), POD_DAY[:1])
        again = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21")
        again.until(b"\r\n0\r\n\r\n")
        (error,) = [json.loads(c) for c in again.chunks()[0] if c]
        self.assertEqual((error["type"], error["object"]["code"], error["object"]["reason"]), ("ERROR", 410, "Expired"))
        self.assertEqual(error["object"]["message"], "too old resource version: 21 (23)")
        status, lists = r.get("/api/v1/pods?resourceVersion=21")
        self.assertEqual((status, lists["metadata"]["resourceVersion"]), (200, "23"))
        self.assertEqual([i["metadata"]["uid"] for i in lists["items"]], ["uid-a", "u2"])
        behind = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=23")
        behind.until(b'"26"')
        self.assertEqual(behind.events(), POD_DAY[3:])

    def test_exact_lists_and_further_pages_expire_as_well(self):
        r = self.fault(self.RULE)
        token = r.get("/api/v1/pods?limit=1")[1]["metadata"]["continue"]
        self.raw(r).to_the_end()
        self.assertEqual(r.get("/api/v1/pods?resourceVersion=21&resourceVersionMatch=Exact")[0], 410)
        status, answer = r.get("/api/v1/pods?limit=1&continue=" + token)
        self.assertEqual((status, answer["reason"]), (410, "Expired"))
        self.assertEqual(r.get("/api/v1/pods?limit=1&continue=" + answer["metadata"]["continue"])[0], 200)

    def test_without_compaction_everything_is_still_there(self):
        r = self.fault({**self.RULE, "compaction": False})
        self.raw(r).to_the_end()
        w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21")
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY[1:])

    def test_who_lists_in_the_gap_what_a_program_wrote_can_watch_from_there(self):
        tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)])
        for i in range(4):
            tape.event(1 + i, PODS, "MODIFIED", obj(PODS, "a", 100 + i, spec={"x": i}))
        r = self.fault({"when": {"event": "rv='101'"}, "what": "end", "for": {"events": 2}, "compaction": True, "hold": "1h"},
            made=tape, options=("--write", "overlay"))
        status, _, body = r.request("PATCH", "/api/v1/namespaces/default/pods/a", {"Content-Type": "application/merge-patch+json"},
            b'{"metadata": {"labels": {"b": "c"}}}')
        self.assertEqual(status, 200, body)
        w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21")
        w.until(b"\r\n0\r\n\r\n")
        self.assertEqual(w.events(), [("MODIFIED", "a", "22")])
        self.raw(r, "/api/v1/pods?watch=1&resourceVersion=22").until(b"too old resource version: 22 (24)")
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "24")
        behind = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=24")
        behind.until(b'"25"')
        self.assertEqual(behind.events(), [("MODIFIED", "a", "25")])

    def test_clock_waits_for_the_watch_to_come_back(self):
        r = self.fault(self.RULE)
        self.raw(r).to_the_end()
        other = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=23", agent="another client")
        other.until(b"\r\n\r\n")
        self.assertIsNone(other.read(0.3))
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "23")
        w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=23")
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY[3:])
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "26")

    def test_short_form_says_the_same(self):
        r = self.replay(a_day(), "--speed", "max", "--gaps", "none", "--gap",
            "#1,2ev,rst,compact,hold=10s,pods,event=resource='pods' AND type='DELETED'")
        self.assertEqual(self.raw(r).to_the_end(), "reset")
        again = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21")
        again.until(b"too old resource version: 21 (23)")

    def test_in_lock_step_every_gap_waits_for_watches_to_come_back(self):
        r = self.replay(a_day(), "--speed", "max", "--lockstep", "5ms", "--gaps", "none", "--gap",
            "#1,2ev,rst,compact,pods,event=resource='pods' AND type='DELETED'")
        self.assertEqual(self.raw(r).to_the_end(), "reset")
        time.sleep(0.2)  # it must not go on, however long it is given
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "23")

    def test_in_lock_step_the_tape_waits_after_a_relist_and_after_a_burst(self):
        waited = {"rst,compact": "SELECT out_ns - time_ns FROM deliveries JOIN requests USING (request) WHERE deliveries.seq = 6",
            "burst": "SELECT max(out_ns) - min(out_ns) FROM deliveries WHERE seq IN (5, 6)"}
        for what, sql in waited.items():
            with self.subTest(what=what):
                run = os.path.join(self.folder, "%s.run" % what)
                r = self.replay(a_day(), "--speed", "max", "--lockstep", "1s", "--run", run, "--gaps", "none", "--gap",
                    "#1,1ev,%s,pods,event=resource='pods' AND type='DELETED'" % what)
                w = self.raw(r)
                if what != "burst":
                    self.assertEqual(w.to_the_end(), "reset")
                    w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=" + r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"])
                w.until(b'"23"')
                r.stop()
                with contextlib.closing(sqlite3.connect(run)) as db:
                    self.assertGreater(db.execute(sql).fetchone()[0], 0.95e9)

    def test_in_lock_step_who_is_never_quiet_keeps_the_tape_for_less_and_less(self):
        run = os.path.join(self.folder, "restless.run")
        r = self.replay(a_day(), "--speed", "max", "--lockstep", "200ms", "--run", run)
        self.raw(r)
        wait_for(lambda: r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"] == "26", "the tape to go on", 120)
        r.stop()
        with contextlib.closing(sqlite3.connect(run)) as db:
            out = [at for at, in db.execute("SELECT out_ns FROM deliveries ORDER BY seq LIMIT 3")]
        self.assertLess(out[2] - out[1], (out[1] - out[0]) / 2)


class ClockTest(FaultCase):
    def test_position_is_reached_between_events_and_behind_the_last(self):
        r = self.fault({"when": {"at": "+2500ms"}, "what": "end"}, {"when": {"at": "+7s"}, "what": "fin"}, speed="10")
        w = self.raw(r)
        w.until(b"\r\n0\r\n\r\n")
        self.assertEqual(w.events(), POD_DAY[:2])
        w = self.raw(r)
        self.assertIs(w.to_the_end(), False)
        self.assertEqual(w.events(), POD_DAY)

    def test_going_back_makes_it_happen_again(self):
        r = self.fault({"when": ON_DELETION, "what": "fin"}, speed="5")
        for _ in range(2):
            w = self.raw(r)
            self.assertIs(w.to_the_end(), False)
            self.assertEqual(w.events(), POD_DAY[:1])
            self.assertEqual(r.request("POST", "/kubetape/v1/rewind")[0], 200)

    def test_what_lies_before_the_beginning_strikes_nobody(self):
        r = self.fault({"when": {"at": "+1500ms"}, "what": "fin"}, options=("--from", "+2500ms"))
        r.codes = (3,)
        w = self.raw(r, "/api/v1/pods?watch=1&resourceVersion=22")
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY[2:])

    def test_step_and_pause_go_together_with_faults(self):
        r = self.fault({"when": ON_DELETION, "what": "end"}, options=("--wait-watchers", "100"))
        w = self.raw(r)
        self.assertEqual(r.request("POST", "/kubetape/v1/step")[0], 200)
        w.until(b'"21"')
        self.assertEqual(r.request("POST", "/kubetape/v1/step")[0], 200)
        w.until(b"\r\n0\r\n\r\n")
        self.assertEqual(w.events(), POD_DAY[:1])


class FileTest(FaultCase):
    def refuse(self, *options):
        done = subprocess.run([KUBETAPE, "replay", self.tape(a_day()), "--plain", *options], capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr.splitlines()[0]

    def test_bad_file_is_refused_with_its_place(self):
        path = os.path.join(self.folder, "bad.json")
        with open(path, "w") as f:
            f.write('{"rules": [\n  {"wen": {"at": "+1s"}, "what": "end"}]}')
        self.assertRegex(self.refuse("--gaps", path), r"bad\.json, line 2, column 5: unknown key 'wen'")
        with open(path, "w") as f:
            f.write('{"rules": [{"when": {"at": "pods@never"}, "what": "end"}]}')
        self.assertRegex(self.refuse("--gaps", path), r"bad\.json, line 1, column \d+: .*'never'")

    def test_bad_short_form_is_refused_with_its_word(self):
        self.assertRegex(self.refuse("--gap", "+1s,10s,rst,compcat=3"), "compcat")
        self.assertRegex(self.refuse("--gap", "sometime,10s"), "sometime")

    def test_empty_file_is_refused_in_one_sentence(self):
        path = os.path.join(self.folder, "empty.json")
        open(path, "w").close()
        for name in (path, "/dev/null"):
            self.assertEqual(self.refuse("--gaps", name), "kubetape replay: %s, line 1, column 1: bad JSON: expected more" % name)

    def test_misspelt_words_are_refused_with_what_was_meant(self):
        for words, found in (("rts,pods", "found 'rts', expected one of the words of --gap, or a resource of the tape or of Kubernetes;"
                " did you mean 'rst'?"),
            ("rst,podz", "did you mean 'pods'?"), ("rst,compcat=3", "did you mean 'compact'?"), ("pods,po,pods", "'pods' is there twice"),
            ("hold=1s,hold=2s", "'hold' is there twice"), ("client=a,client=b", "'client' is there twice"),
            ("rst,optinal", "did you mean 'optional'?"), ("gizmos", "found 'gizmos', expected one of the words")):
            self.assertIn(found, self.refuse("--gap", "+1s,10s," + words))

    def test_what_can_never_strike_is_refused(self):
        path = os.path.join(self.folder, "never.json")
        for rule, sentence in (
                ({"where": {"resource": "podz"}}, "line 1, column 60: neither the tape nor Kubernetes has a resource 'podz'; did you mean 'pods'?"),
                ({"where": {"resource": ["pods", "x.example.com"]}}, "neither the tape nor Kubernetes has a resource 'x.example.com'"),
                ({"where": {"resource": "nodes", "namespace": "shop"}}, "'nodes' has no namespaces, so that nothing is in 'shop'"),
                ({"where": {"namespace": "Shop"}}, "nothing would match the namespace 'Shop'"),
                ({"where": {"client": ""}}, "nothing would match the client ''"),
                ({"where": {"client": "a\n*"}}, "nothing would match the client"),
                ({"where": {"requests": "list"}}, "'end' is done to watches, and 'requests' leaves them out"),
                ({"what": {"do": "stale_list", "by": "1s"}, "where": {"requests": "get"}}, "'stale_list' is done to lists"),
                ({"what": "stall", "hold": "1s"}, "'hold' waits for watches, but 'stall' ends none")):
            with open(path, "w") as f:
                json.dump({"rules": [{"when": {"at": "+1s"}, "what": "end", **rule}]}, f)
            self.assertIn(sentence, self.refuse("--gaps", path))

    def test_positions_that_are_not_on_the_tape_are_refused(self):
        for position, where in (("seq:100", "after the end"), ("pods@999", "after the end"), ("pods@1", "before the beginning"), ("+1h", "after the end"),
                ("2020-01-01T00:00:00Z", "before the beginning"), ("-1h", "before the beginning")):
            for gap in (["--gap", position + ",1s,end"], ["--speed", "max", "--gap", position + ",1s,end"]):
                self.assertRegex(self.refuse(*gap), "gap '.*': '%s' .*%s of the tape, which goes from " % (re.escape(position), where))
        self.assertIn("after the end", self.refuse("--speed", "max", "--gap", "+7s,1s"))  # no time passes there
        self.assertIn("after the end", self.refuse("--exit-at-end", "--gap", "+7s,1s"))
        path = os.path.join(self.folder, "f.json")
        with open(path, "w") as f:
            f.write('{"rules": [{"when": {"at": "+3h"}, "what": "end"}]}')
        self.assertRegex(self.refuse("--gaps", path), r"f\.json, line 1, column 21: '\+3h' is .* after the end of the tape")

    def test_a_refused_fault_leaves_an_earlier_run_alone(self):
        path = os.path.join(self.folder, "x.run")
        self.fault({"when": ON_DELETION, "what": "end", "optional": True}, options=("--run", path)).stop()
        with open(path, "rb") as f:
            before = f.read()
        self.refuse("--gap", "+1s,1s,podz", "--run", path)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)

    def test_missing_file_is_an_error(self):
        done = subprocess.run([KUBETAPE, "replay", self.tape(a_day()), "--gaps", "/nowhere.json"], capture_output=True, text=True,
            timeout=60, check=False)
        self.assertIn(done.returncode, (1, 2))
        self.assertIn("/nowhere.json", done.stderr)



class NobodyTest(FaultCase):
    """A fault that strikes nobody is never a passed test."""

    def play(self, *rules, child=("sleep", "1000"), options=(), code=3, **file):
        """Replays the whole day to a command that watches nothing, and returns what is said of the faults."""
        path = os.path.join(self.folder, "faults.json")
        with open(path, "w") as f:
            json.dump({"rules": list(rules), **file}, f)
        command = [KUBETAPE, "replay", self.tape(a_day()), "--plain", "--speed", "max", "--wait-watchers", "0", "--settle", "50ms", "--gaps", path, *options]
        done = subprocess.run([*command, "--", *child], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return [line.split(" warn ")[1] for line in done.stderr.splitlines() if " warn " in line]

    def watched(self, *rules, agent="test", code=3, target=PODS_FROM_20, options=()):
        """The same to a client that watches pods to the end of the day, or of its watch."""
        r = self.fault(*rules, options=options)
        w = self.raw(r, target, agent)
        while b'"26"' not in w.received and w.read() is True and not w.received.endswith(b"\r\n0\r\n\r\n"):
            pass
        r.codes = (code,)
        self.assertEqual(r.stop(), code, r.stderr())
        return [line.split(" warn ")[1] for line in r.stderr().splitlines() if " warn " in line]

    def test_an_event_that_never_comes_is_told(self):
        self.assertEqual(self.watched({"when": {"event": "type='DELETEX'"}, "what": "end"}), ["fault 'rule 1' has not happened: no event matched"])
        self.assertEqual(self.watched({"when": {"event": "type='DELETED'", "nth": 3}, "what": "end"}),
            ["fault 'rule 1' has not happened: it is for number 3 of the events that match, and there were 1"])

    def test_a_position_that_does_not_come_is_told(self):
        r = self.fault({"when": {"at": "+5s"}, "what": "end"}, options=("--until", "+3s"))
        self.raw(r).until(b'"23"')
        r.codes = (3,)
        self.assertEqual(r.stop(), 3)
        self.assertIn("fault 'rule 1' has not happened: '+5s' did not come", r.stderr())

    def test_a_client_that_never_comes_is_told(self):
        self.assertEqual(self.watched({"when": ON_DELETION, "where": {"client": "manager/*"}, "what": "end"}),
            ["fault 'rule 1' struck nobody: no client matched 'manager/*'"])
        self.assertEqual(self.watched({"when": ON_DELETION, "where": {"credential": "secret"}, "what": "end"}),
            ["fault 'rule 1' struck nobody: no request bore its credential"])
        self.assertEqual(self.watched({"when": {"connection": 2}, "what": "end"}),
            ["fault 'rule 1' has not happened: it is for number 2 of the watches that a client opens in its scope, and there were 1"])

    def test_a_scope_in_which_nobody_was_is_told(self):
        self.assertEqual(self.watched({"when": ON_DELETION, "where": {"resource": ["no", "jobs"]}, "what": "rst"}),
            ["fault 'rule 1' struck nobody: nobody asked for no, jobs"])
        self.assertEqual(self.watched({"when": ON_DELETION, "where": {"namespace": "shop"}, "what": "rst"}),
            ["fault 'rule 1' struck nobody: nobody asked in the namespace 'shop'"])
        self.assertEqual(self.watched({"when": ON_DELETION, "where": {"resource": "pods"}, "what": {"do": "http", "code": 500}, "for": {"events": 1}}),
            ["fault 'rule 1' struck nobody: no request in its scope came while it lasted"])
        self.assertEqual(self.watched({"when": {"event": "resource='nodes'"}, "where": {"resource": "pods"}, "what": "drop"}),
            ["fault 'rule 1' struck nobody: no watch in its scope was sent such an event"])
        self.assertEqual(self.watched({"when": ON_DELETION, "what": "nothing", "compaction": True}),
            ["fault 'rule 1' struck nobody: nobody resumed from before its end"])

    def test_a_cut_that_no_frame_follows_cuts_nobody(self):
        self.assertEqual(self.watched({"when": {"event": "rv='26'", "moment": "after"}, "what": {"do": "cut", "bytes": 3}}),
            ["fault 'rule 1' struck nobody: no watch in its scope was open when it happened"])

    def test_each_way_to_strike_counts(self):
        for what in ("end", "fin", "rst", "goaway", "rst_stream", "error", {"do": "cut", "bytes": 1}, "drop", {"do": "duplicate", "count": 1}):
            self.assertEqual(self.watched({"when": ON_DELETION, "where": {"resource": "po"}, "what": what}, code=0), [], what)
        self.assertEqual(self.play({"when": {"at": "start"}, "what": "refuse", "for": {"events": 1}}, code=0), [])

    def test_what_is_optional_or_lenient_may_strike_nobody(self):
        never = {"when": {"event": "0"}, "what": "end"}
        self.assertEqual(self.play({**never, "optional": True}, code=0), [])
        self.assertEqual(self.play({**never, "optional": True}, never), ["fault 'rule 2' has not happened: no event matched"])
        self.assertEqual(self.play(never, {**never, "where": {"resource": "podz"}}, options=["--lenient"], code=0),
            ["fault 'rule 1' has not happened: no event matched", "fault 'rule 2' has not happened: no event matched"])

    def test_the_commands_own_failure_comes_first(self):
        self.play({"when": {"event": "0"}, "what": "end"}, child=["sh", "-c", "exit 7"], code=7)

    def test_a_replay_that_is_interrupted_before_says_so(self):
        r = self.fault({"when": ON_DELETION, "what": "end"}, options=STEPS)
        self.step(r, 1)
        r.codes = (3,)
        self.assertEqual(r.stop(), 3)
        self.assertIn("fault 'rule 1' was not reached: the replay ended at event 4 of 9, and until then no event matched", r.stderr())

    def test_when_endpoints_were_triggered_is_no_difference_to_a_golden_run(self):
        endpoints = {"version": "v1", "resource": "endpoints", "kind": "Endpoints", "namespaced": True}
        golden = os.path.join(self.folder, "golden.run")
        base = [KUBETAPE, "replay", self.tape(Tape().listed(endpoints, 20, [])), "--plain", "--speed", "max", "--write", "overlay"]
        writing = """echo '{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e", "annotations": {"%s": "%d"}}}' |
            kubectl create --raw /api/v1/namespaces/default/endpoints -f - >&2"""
        trigger = "endpoints.kubernetes.io/last-change-trigger-time"
        for first, name, code in ((trigger, trigger, 0), ("example.com/when", "example.com/when", 1), ("", trigger, 0)):
            plain = """echo '{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}}' |
                kubectl create --raw /api/v1/namespaces/default/endpoints -f - >&2"""
            subprocess.run([*base, "--run", golden, "--", "sh", "-c", writing % (first, 1) if first else plain], check=True, capture_output=True, timeout=60)
            done = subprocess.run([*base, "--golden", golden, "--compare", "writes", "--", "sh", "-c", writing % (name, 2)],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_what_the_tape_has_beside_what_was_written_is_no_difference_to_a_golden_run(self):
        golden = os.path.join(self.folder, "golden.run")
        tape = Tape().listed(PODS, 10, [obj(PODS, "a", 10, spec={"nodeName": "n1"})]).event(1, PODS, "MODIFIED", obj(PODS, "a", 11, spec={"nodeName": "n2"}))
        base = [KUBETAPE, "replay", self.tape(tape), "--plain", "--speed", "max", "--write", "overlay"]
        labelling = "kubectl label pod a step=%d >&2"
        subprocess.run([*base, "--wait-watchers", "1", "--run", golden, "--", "sh", "-c", labelling % 1], check=True, capture_output=True, timeout=60)
        for value, code in ((1, 0), (2, 1)):
            done = subprocess.run([*base, "--from", "end", "--golden", golden, "--compare", "writes", "--", "sh", "-c", labelling % value],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn('pods default/a is left with other content: metadata.labels.step is "2" (golden: "1")', done.stdout)

    def test_what_is_deleted_in_the_foreground_or_without_its_dependents_is_not_left(self):
        golden = os.path.join(self.folder, "golden.run")
        base = [KUBETAPE, "replay", self.tape(Tape().listed(PODS, 10, [])), "--plain", "--speed", "max", "--wait-watchers", "0", "--gc", "--write", "overlay"]
        subprocess.run([*base, "--run", golden, "--", "true"], check=True, capture_output=True, timeout=60)
        deleting = "kubectl create configmap x >&2; kubectl delete configmap x --wait=false --cascade="
        for command, code in ((deleting + "background", 0), (deleting + "foreground", 0), (deleting + "orphan", 0), ("kubectl create configmap x >&2", 1)):
            done = subprocess.run([*base, "--golden", golden, "--compare", "writes", "--", "sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, command + done.stdout + done.stderr)

    def test_what_is_ignored_of_what_is_left_is_no_difference_to_a_golden_run(self):
        golden = os.path.join(self.folder, "golden.run")
        pod = obj(PODS, "a", 10, spec={"containers": [{"name": "main", "image": "i:0"}, {"name": "side", "image": "s"}]})
        base = [KUBETAPE, "replay", self.tape(Tape().listed(PODS, 10, [pod])), "--plain", "--speed", "max", "--wait-watchers", "0", "--write", "overlay"]
        changing = """kubectl patch pod a -p '{"metadata": {"annotations": {"example.com/step": "%d"}},
            "spec": {"containers": [{"name": "main", "image": "i:%d"}]}}' >&2"""
        subprocess.run([*base, "--run", golden, "--", "sh", "-c", changing % (1, 1)], check=True, capture_output=True, timeout=60)
        image, step = "spec.containers[main].image", "metadata.annotations[example.com/step]"
        for rules, code in (((), 1), ((image,), 1), ((step,), 1), ((image, step), 0), (("pods=spec.containers.image", "metadata"), 0),
                (("po=*",), 0), (("**.image", "*.annotations"), 0), (("nodes=*", "spec.containers[side]", step), 1), (("spec.cont", step), 1)):
            done = subprocess.run([*base, "--golden", golden, "--compare", "writes", *(f"--ignore={rule}" for rule in rules), "--", "sh", "-c", changing % (2, 2)],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, f"{rules} {done.stdout} {done.stderr}")
        for rules, words in ((["--ignore", "pods:update=*"], "objects are compared, and not writes"), (["--keep", "spec"], "it goes without --ordered, --last and --keep")):
            done = subprocess.run([*base, "--golden", golden, "--compare", "writes", *rules, "--", "true"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def test_what_its_last_finalizer_held_is_gone_without_it(self):
        golden = os.path.join(self.folder, "golden.run")
        base = [KUBETAPE, "replay", self.tape(a_day(), "g.tape"), "--plain", "--speed", "max", "--wait-watchers", "0", "--write", "overlay"]
        making = """kubectl create configmap x >&2 && kubectl patch configmap x -p '{"metadata": {"finalizers": ["example.com/hold"]}}' >&2 &&
            kubectl delete --wait=false configmap x >&2"""
        ending = making + """ && kubectl patch configmap x --type merge -p '{"metadata": {"finalizers": null}}' >&2"""
        subprocess.run([*base, "--run", golden, "--", "sh", "-c", ending], check=True, capture_output=True, timeout=60)
        for commands, code in ((ending, 0), (making, 1)):
            done = subprocess.run([*base, "--golden", golden, "--compare", "writes", "--", "sh", "-c", commands],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn("configmaps default/x is left (golden: not)", done.stdout)

    def test_difference_to_a_golden_run_comes_before_a_fault_that_struck_nobody(self):
        golden = os.path.join(self.folder, "golden.run")
        base = [KUBETAPE, "replay", self.tape(a_day(), "g.tape"), "--plain", "--speed", "max", "--wait-watchers", "0"]
        writing = """kubectl create configmap x --from-literal=a=%s >&2"""
        subprocess.run([*base, "--run", golden, "--", "sh", "-c", writing % 1], check=True, capture_output=True, timeout=60)
        for value, code in ((1, 3), (2, 1)):
            done = subprocess.run([*base, "--golden", golden, "--gap", "#1,1ev,event=0", "--", "sh", "-c", writing % value],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertRegex(done.stderr, "fault 'gap 1' .* no event matched")

    def test_run_and_report_count_whom_a_fault_struck(self):
        run, report = os.path.join(self.folder, "x.run"), os.path.join(self.folder, "report.json")
        self.watched({"name": "late", "when": {"event": "type='MODIFIED' AND resource='pods'"}, "what": {"do": "duplicate", "count": 1}, "times": 0},
            {"name": "never", "when": {"event": "0"}, "what": "fin"}, options=["--run", run, "--report", report])
        with open(report) as f:
            self.assertEqual(json.load(f)["faults"], [
                {"name": "late", "what": "duplicate", "happened": 3, "watches": 0, "requests": 0, "frames": 3, "struck": True, "optional": False},
                {"name": "never", "what": "fin", "happened": 0, "watches": 0, "requests": 0, "frames": 0, "struck": False, "optional": False}])
        with contextlib.closing(sqlite3.connect(run)) as db:
            self.assertEqual(db.execute("SELECT detail, step, count(*), count(request) FROM faults WHERE step IN ('frame', 'nobody') GROUP BY 1, 2").fetchall(),
                [("late", "frame", 3, 3), ("never", "nobody", 1, 0)])

    def test_going_back_does_not_forget_whom_it_struck(self):
        r = self.fault({"when": ON_DELETION, "what": "fin"}, speed="5")
        self.assertIs(self.raw(r).to_the_end(), False)
        self.assertEqual(r.request("POST", "/kubetape/v1/rewind")[0], 200)
        self.assertEqual(r.stop(), 0, r.stderr())


class NamesTest(FaultCase):
    """Resources as `get` takes them."""

    def test_names_are_those_that_kubectl_takes(self):
        for name in ("pods", "pod", "po", "Pod", "pods.v1."):
            r = self.fault({"when": ON_DELETION, "where": {"resource": name}, "what": "rst"}, options=("--wait-watchers", "2"))
            pods, nodes = self.raw(r), self.raw(r, NODES_FROM_20)
            self.assertEqual(pods.to_the_end(), "reset", name)
            nodes.until(b'"24"')

    def test_short_form_takes_them_too(self):
        r = self.replay(a_day(), "--speed", "max", "--gaps", "none", "--gap", "#1,1ev,rst,po,event=type='DELETED'")
        self.assertEqual(self.raw(r).to_the_end(), "reset")

    def test_names_of_custom_resources_come_from_the_recorded_discovery(self):
        groups = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [{"metadata": {"name": "example.com"},
            "versions": [{"version": "v1", "resources": [{"resource": "widgets", "responseKind": {"kind": "Widget"}, "scope": "Namespaced",
                "singularResource": "widget", "verbs": ["list", "watch"], "shortNames": ["wd"], "categories": ["all"]}]}]}]}
        day = (Tape().listed(WIDGETS, 20, [obj(WIDGETS, "a", 5)]).event(1, WIDGETS, "MODIFIED", obj(WIDGETS, "a", 21))
            .document("/apis", json.dumps(groups), variant="aggregated"))
        for name in ("wd", "widget", "all", "widgets.example.com"):
            r = self.fault({"when": {"event": "1"}, "where": {"resource": name}, "what": "rst"}, made=day)
            self.assertEqual(self.raw(r, "/apis/example.com/v1/widgets?watch=1&resourceVersion=20").to_the_end(), "reset", name)

    def test_a_resource_that_only_kubernetes_has_can_be_struck(self):
        r = self.fault({"when": {"at": "start"}, "where": {"resource": "leases"}, "what": {"do": "http", "code": 503}})
        self.assertEqual(r.get("/apis/coordination.k8s.io/v1/namespaces/x/leases")[0], 503)


class RunTest(FaultCase):
    def test_run_tells_what_happened_to_whom_and_when(self):
        path = os.path.join(self.folder, "x.run")
        r = self.fault({**CompactionTest.RULE, "name": "gap"}, options=("--run", path))
        self.raw(r).to_the_end()
        self.raw(r, "/api/v1/pods?watch=1&resourceVersion=21").to_the_last_chunk()
        self.assertEqual(r.stop(), 0)
        with contextlib.closing(sqlite3.connect(path)) as db:
            rows = db.execute("SELECT f.rule, f.episode, f.step, f.what, f.detail, f.resource, f.seq, substr(f.tape_time, 18, 3), r.rv"
                " FROM faults f LEFT JOIN requests r USING (request) ORDER BY fault").fetchall()
        self.assertEqual(rows, [
            (1, 1, "begins", "rst", "gap", None, 4, "02.", None),
            (1, 1, "watch", "rst", "gap", "pods", 4, "02.", "20"),
            (1, 1, "ends", "rst", "gap", None, 6, "03.", None),
            (1, None, "request", "compaction", "gap", "pods", 6, "03.", "21")])


class TwiceTest(FaultCase):
    """The same file twice is the same run: the same faults, requests and deliveries, though clients come when they like."""

    RULES = [
        {"name": "cut", "when": {"event": "resource='pods'", "every": 2}, "where": {"resource": "pods"},
            "what": {"do": "cut", "bytes": 9}, "times": 0, "hold": "1h"},
        {"name": "by chance", "when": {"event": "resource='pods'"}, "what": "fin", "probability": 0.5, "times": 0, "hold": "1h"},
        {"name": "position", "when": {"at": "+3500ms"}, "where": {"resource": "pods"}, "what": "rst", "compaction": True, "hold": "1h"},
        {"name": "drop", "when": {"event": "type='MODIFIED'"}, "what": "drop", "times": 0, "probability": 0.5}]
    TABLES = (
        "SELECT seq, rule, episode, step, what, detail, resource, request FROM faults",
        "SELECT request, seq, client, method, path, rv, seen_seq, status, whole, events, bytes FROM requests",
        "SELECT request, seq, type FROM deliveries")

    def seen(self, seed, speed):
        """What a client of pods sees that comes back whenever it is cut, and the tables of the run."""
        path = os.path.join(self.folder, "x.run")
        day = a_day().event(7, PODS, "ADDED", obj(PODS, "z", 27)).event(8, PODS, "ADDED", obj(PODS, "last", 28))
        r = self.fault(*self.RULES, made=day, seed=seed, speed=speed, options=("--run", path))
        watches, rv = [], "20"
        while not any(e[1] == "last" for w in watches for e in w[0]):
            w = Raw(r, "/api/v1/pods?watch=1&resourceVersion=" + rv)
            while b'"28"' not in w.received and not w.received.endswith(b"\r\n0\r\n\r\n") and w.read() is True:
                pass
            w.close()
            watches.append((w.events(), w.chunks()[1]))
            versions = [e[2] for e in w.events() if e[0] != "ERROR"]
            rv = versions[-1] if versions else "24" if w.events() else rv
        self.assertEqual(r.stop(), 0)
        with contextlib.closing(sqlite3.connect(path)) as db:
            return watches, [db.execute(sql).fetchall() for sql in self.TABLES]

    def test_same_file_twice_is_the_same_run(self):
        for speed in ("max", "20"):
            first = self.seen(7, speed)
            self.assertGreater(len(first[1][0]), 10)
            self.assertEqual(self.seen(7, speed), first)

    def test_another_seed_is_another_run(self):
        self.assertNotEqual(self.seen(8, "max")[1], self.seen(9, "max")[1])


if __name__ == "__main__":
    unittest.main()
