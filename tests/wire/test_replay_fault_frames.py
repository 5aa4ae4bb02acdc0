"""Faults of a replay in frames, streams and connections: what of the others goes on."""

import json
import os
import socket
import subprocess
import unittest

from fault_case import NODES_FROM_20, ON_DELETION, POD_DAY, PODS_FROM_20, STEPS, FaultCase, a_day
from http2_raw import CLOSED, DATA, END_STREAM, GOAWAY, HEADERS, PING, RESET, RST_STREAM, body
from replays import KUBETAPE, PODS, Tape, brief, obj


class FrameTest(FaultCase):
    def test_dropped_frames_never_come(self):
        r = self.fault({"when": ON_DELETION, "what": "drop"})
        w = self.raw(r)
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY[:1] + POD_DAY[2:])

    def test_duplicated_frames_come_again_at_once(self):
        r = self.fault({"when": {"event": "type='ADDED'"}, "what": {"do": "duplicate", "count": 2}})
        w = self.raw(r)
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY[:3] + POD_DAY[2:3] * 2 + POD_DAY[3:])

    def test_delayed_frames_keep_those_behind_them_back(self):
        r = self.fault({"when": ON_DELETION, "what": {"do": "delay", "by": "2s"}, "clock": "wall"})
        w = self.raw(r)
        w.until(b'"21"')
        self.assertIsNone(w.read(0.2))
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY)

    def order(self, r):
        """What was sent to whom, in order: (client, type, name) of each delivery."""
        self.assertEqual(r.stop(), 0)
        done = subprocess.run([KUBETAPE, "query", os.path.join(self.folder, "x.tape"), "--run", os.path.join(self.folder, "x.run"),
            "SELECT r.client, e.rv FROM deliveries d JOIN requests r USING (request) JOIN events e ON e.seq = d.seq ORDER BY d.out_ns",
            "--format", "json"], capture_output=True, text=True, timeout=60, check=True)
        return [(row["client"], row["rv"]) for row in json.loads(done.stdout)]

    def played(self, rule, speed, watches):
        """The order in which everything is delivered to watches [(target, client)], of pods to their end."""
        tape = self.tape(a_day(), name="x.tape")
        r = self.fault(rule, made=tape, speed=speed,
            options=("--wait-watchers", str(len(watches)), "--run", os.path.join(self.folder, "x.run")))
        for watch in [self.raw(r, target, agent) for target, agent in watches]:
            watch.until(b'"26"' if b"pods" in watch.target else b'"24"')
        return self.order(r)

    def test_delay_by_the_tape_passes_with_it(self):
        order = self.played({"when": ON_DELETION, "where": {"client": "late"}, "what": {"do": "delay", "by": "2500ms"}}, "2",
            ((PODS_FROM_20, "late"), (PODS_FROM_20, "punctual")))
        self.assertEqual([rv for client, rv in order if client == "late"], [change[2] for change in POD_DAY])
        self.assertGreater(order.index(("late", "22")), order.index(("punctual", "23")))
        self.assertLess(order.index(("late", "22")), order.index(("punctual", "25")))

    def test_at_speed_max_a_delay_by_the_tape_does_not_stop_the_clock(self):
        r = self.fault({"when": ON_DELETION, "what": {"do": "delay", "by": "1h"}})
        w = self.raw(r)
        w.until(b'"26"')
        self.assertEqual(w.events(), POD_DAY)

    def test_reordered_frames_come_behind_events_of_other_resources(self):
        order = self.played({"when": ON_DELETION, "what": {"do": "reorder", "count": 1}}, "2", ((NODES_FROM_20, "nodes"), (PODS_FROM_20, "pods")))
        self.assertEqual([rv for _, rv in order], ["21", "24", "22", "23", "25", "26"])

    def test_chance_is_that_of_the_seed(self):
        def day():
            tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)])
            for i in range(100):
                tape.event(1 + i / 100, PODS, "MODIFIED", obj(PODS, "a", 100 + i))
            return tape.event(3, PODS, "ADDED", obj(PODS, "z", 900))

        def seen(seed):
            r = self.fault({"when": {"event": "type='MODIFIED'"}, "what": "drop", "times": 0, "probability": 0.5},
                made=day(), options=("--seed", str(seed)))
            w = self.raw(r)
            w.until(b'"900"')
            return w.events()

        first = seen(1)
        self.assertTrue(20 < len(first) < 80, len(first))
        self.assertEqual(seen(1), first)
        self.assertNotEqual(seen(2), first)


class Http2Test(FaultCase):
    """Two watches of pods and one of nodes on one connection, which is cut just before the deletion."""

    def cut(self, what, options=("--wait-watchers", "2"), **more):
        r = self.fault({"when": ON_DELETION, "where": {"resource": "pods"}, "what": what, **more}, options=options, plain=False)
        connection = self.http2(r)
        return r, connection, connection.get(PODS_FROM_20), connection.get(NODES_FROM_20)

    def events(self, frames, stream):
        return [brief(json.loads(line)) for line in body(frames, stream).splitlines()]

    def test_clean_end_is_the_end_of_one_stream(self):
        _, c, pods, nodes = self.cut("end")
        frames = c.until(lambda f: f[0] == DATA and f[2] == nodes)
        self.assertEqual(self.events(frames, pods), POD_DAY[:1])
        self.assertTrue([f for f in frames if f[0] == DATA and f[1] & END_STREAM and f[2] == pods])

    def test_rst_stream_has_the_code_and_leaves_the_others(self):
        _, c, pods, nodes = self.cut({"do": "rst_stream", "code": 11})
        frames = c.until(lambda f: f[0] == RST_STREAM)
        if not body(frames, nodes):
            frames += c.until(lambda f: f[0] == DATA and f[2] == nodes)
        self.assertEqual(self.events(frames, pods), POD_DAY[:1])
        self.assertEqual([(f[2], f[3]) for f in frames if f[0] == RST_STREAM], [(pods, (11).to_bytes(4, "big"))])

    def test_fin_closes_the_connection_without_a_word(self):
        _, c, pods, _ = self.cut("fin")
        frames = c.rest()
        self.assertEqual(frames[-1], CLOSED)
        self.assertEqual(self.events(frames, pods), POD_DAY[:1])
        self.assertFalse([f for f in frames[:-1] if f[0] in (GOAWAY, RST_STREAM) or f[0] == DATA and f[1] & END_STREAM])

    def test_rst_resets_the_connection(self):
        _, c, pods, _ = self.cut("rst")
        frames = c.rest()
        self.assertEqual(frames[-1], RESET)
        self.assertEqual(self.events(frames, pods), POD_DAY[:1])

    def test_goaway_is_said_before_the_connection_is_closed(self):
        _, c, pods, nodes = self.cut("goaway")
        frames = c.rest()
        self.assertEqual(frames[-1], CLOSED)
        self.assertEqual(self.events(frames, pods), POD_DAY[:1])
        (goaway,) = [f for f in frames[:-1] if f[0] == GOAWAY]
        self.assertEqual((int.from_bytes(goaway[3][:4], "big"), goaway[3][4:8]), (nodes, b"\0\0\0\0"))

    def test_cut_sends_so_many_bytes_and_closes(self):
        _, c, pods, _ = self.cut({"do": "cut", "bytes": 40})
        frames = c.rest()
        self.assertEqual(frames[-1], CLOSED)
        first, part = body(frames, pods).split(b"\n")
        self.assertEqual(brief(json.loads(first)), POD_DAY[0])
        self.assertEqual(part, b'{"type":"DELETED","object":{"kind":"Pod","apiVersion"'[:40])

    def test_error_comes_last_on_its_stream(self):
        _, c, pods, nodes = self.cut({"do": "error", "code": 500, "message": "etcdserver: no leader"})
        frames = c.until(lambda f: f[0] == DATA and f[2] == nodes)
        last = json.loads(body(frames, pods).splitlines()[-1])
        self.assertEqual((last["type"], last["object"]["message"]), ("ERROR", "etcdserver: no leader"))

    def test_stalled_connection_answers_no_ping_until_it_is_over(self):
        r, c, pods, nodes = self.cut("stall", options=STEPS, **{"for": {"events": 2}})
        c.until(lambda f: f[0] == HEADERS and f[2] == pods)
        self.step(r, 2)
        c.until(lambda f: f[0] == DATA and f[2] == pods)
        c.send(PING, 0, 0, b"12345678")
        self.assertTrue(c.is_silent(0.2))
        self.step(r, 4)
        frames = c.until(lambda f: f[0] == DATA and b'"26"' in f[3])
        self.assertEqual(self.events(frames, pods), POD_DAY[1:])
        self.assertTrue([f for f in frames if f[0] == PING])

    def test_stalled_connection_does_not_hold_up_others_at_speed_max(self):
        r, c, pods, _ = self.cut("stall", **{"for": "1h", "clock": "wall"})
        c.until(lambda f: f[0] == DATA and f[2] == pods)
        self.assertEqual(r.get("/api/v1/nodes")[1]["metadata"]["resourceVersion"], "24")

    def test_refusing_says_goaway_and_leaves_running_watches(self):
        r = self.fault({"when": ON_DELETION, "what": "refuse"}, plain=False)
        c = self.http2(r)
        pods = c.get(PODS_FROM_20)
        frames = c.until(lambda f: f[0] == DATA and b'"26"' in f[3])
        self.assertEqual(self.events(frames, pods), POD_DAY)
        self.assertTrue([f for f in frames if f[0] == GOAWAY])
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((r.host, r.port), timeout=5)

    def test_requests_are_answered_with_an_error_or_never(self):
        r = self.fault({"when": {"at": "+0s"}, "where": {"resource": "pods"}, "what": {"do": "http", "code": 503}},
            {"when": {"at": "+0s"}, "where": {"resource": "nodes"}, "what": "nothing", "for": {"events": 1}, "during": "stall"},
            options=STEPS, plain=False)
        c = self.http2(r)
        pods, nodes = c.get("/api/v1/pods"), c.get("/api/v1/nodes")
        frames = c.until(lambda f: f[0] == DATA and f[2] == pods)
        self.assertEqual(json.loads(body(frames, pods))["code"], 503)
        c.send(PING, 0, 0, b"12345678")
        frames = c.until(lambda f: f[0] == PING)
        self.step(r, 4)  # the fourth event is the first of nodes
        frames += c.until(lambda f: f[0] == RST_STREAM)
        self.assertEqual([f[0] for f in frames if f[2] == nodes], [RST_STREAM])
        self.assertEqual(frames[0][0], PING)


class TlsTest(FaultCase):
    def test_fin_and_rst_over_http_1_1(self):
        for word, end in (("fin", False), ("rst", "reset")):
            r = self.fault({"when": ON_DELETION, "what": word}, plain=False)
            w = self.raw(r)
            self.assertEqual(w.to_the_end(), end)
            self.assertEqual(w.events(), POD_DAY[:1])

if __name__ == "__main__":
    unittest.main()
