"""`kubetape replay --as-seen-by`: what a client saw through a tee is given to it again."""

import contextlib
import http.client
import json
import socket
import sqlite3
import subprocess
import threading
import time
import unittest

from fake_apiserver import FakeApiserver
from replays import DEADLINE_S, KUBETAPE
from teeing import Peer, TeeCase
from waiting import wait_for

PODS = "/api/v1/pods"
MAPS = "/api/v1/configmaps"


class Client:
    """Reads as informers do, and writes down every byte that it is given."""

    def __init__(self, server, name="reader/1"):
        self.server, self.name, self.said = server, name, []

    def open(self, target, **headers):
        connection = self.server.connect()
        connection.request("GET", target, headers={"User-Agent": self.name, "Accept": "application/json", **headers})
        return connection, connection.getresponse()

    def get(self, target, **headers):
        connection, response = self.open(target, **headers)
        with contextlib.closing(connection):
            body = response.read()
            self.said.append((target, response.status, response.headers["Retry-After"], response.headers["Content-Type"], body))
            return json.loads(body)

    def list(self, target=PODS):
        return self.get(target)["metadata"]["resourceVersion"]

    def follow(self, rv, last=None, target=PODS):
        """Watches to the end, or up to an object; the version that it got to, None when it has expired."""
        try:
            connection, response = self.open("%s?watch=1&resourceVersion=%s" % (target, rv))
        except (ConnectionError, http.client.HTTPException) as e:
            self.said.append((target, type(e).__name__))
            return rv
        with contextlib.closing(connection):
            if response.status != 200:
                self.said.append((target, response.status, response.headers["Retry-After"], response.read()))
                return rv
            return self.take(response, rv, last)

    def take(self, response, rv, last):
        try:
            while True:
                line = response.readline()
                self.said.append(line)
                if not line.endswith(b"\n"):
                    return rv
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.said.append(response.readline())
                    return None
                rv = event["object"]["metadata"]["resourceVersion"]
                if event["object"]["metadata"].get("name") == last:
                    return rv
        except (ConnectionError, http.client.HTTPException) as e:
            self.said.append(type(e).__name__)
            return rv


class SeenCase(TeeCase):
    def setUp(self):
        super().setUp()
        self.api = FakeApiserver()
        self.pods = self.api.add("pods", "Pod")
        self.maps = self.api.add("configmaps", "ConfigMap")
        self.addCleanup(self.api.__exit__)
        self.api.listen()

    def start(self, *options):
        return self.tee(self.api.url, *options, tape=self.path("live.tape"))

    def live(self, tee, client, work):
        """Lets the client work while the caller changes the world."""
        thread = threading.Thread(target=work, args=(client,))
        thread.start()
        self.addCleanup(thread.join, DEADLINE_S)
        return thread

    def opened(self, count):
        """Until the client has asked for this many watches, of which the last one stands."""
        wait_for(lambda: len(self.pods.watches()) == count and len(self.pods.running) == 1, "%d watches" % count)

    def again(self, tee, *options, client="reader"):
        self.assertEqual(tee.stop(), 0)
        return self.replay(tee.tape, "--as-seen-by", client, "--speed", "max", "--lockstep", "50ms", *options)


class SameAgain(SeenCase):
    def work(self, client):
        rv = client.list()
        while True:
            rv = client.follow(rv, "last") if rv else client.list()
            if client.said[-1][:1] == b"{" and b'"name":"last"' in client.said[-1]:
                return

    def test_frames_and_ends_and_answers_are_those_that_the_client_had(self):
        self.pods.put("a"), self.pods.put("b")
        tee = self.start()
        live = Client(tee)
        thread = self.live(tee, live, self.work)
        self.opened(1)
        self.pods.put("a")
        self.pods.on_watch(lambda x: x.status(429, "TooManyRequests", retry_after=1))
        self.pods.disturb(lambda x: x.reset())
        self.pods.put("b")
        self.opened(3)
        self.pods.bookmark()
        self.pods.disturb(lambda x: x.half_frame_then("MODIFIED", self.pods.objects["default", "a"], x.cut))
        self.opened(4)
        self.pods.on_watch(lambda x: x.cut())
        self.pods.disturb(lambda x: x.end())
        self.opened(6)
        self.pods.delete("b")
        self.pods.disturb(lambda x: (x.error(410, "Expired"), x.end()))
        self.opened(7)
        self.pods.put("last")
        thread.join(DEADLINE_S)
        replay = self.again(tee)
        here = Client(replay)
        self.work(here)
        self.assertEqual(here.said, live.said)

    def test_a_watch_that_lasted_is_not_over_at_once_however_fast_the_replay_is(self):
        """client-go takes a watch of less than a second that brought nothing for a failure."""
        tee = self.start()
        live = Client(tee)
        rv = live.list()
        thread = self.live(tee, live, lambda c: c.follow(rv))
        self.opened(1)
        self.pods.disturb(lambda x: x.end())
        thread.join(DEADLINE_S)
        self.assertEqual(tee.stop(), 0)
        with contextlib.closing(sqlite3.connect(tee.run)) as db, db:
            db.execute("UPDATE requests SET end_ns = end_ns + 5000000000 WHERE verb = 'watch'")
        here = Client(self.replay(tee.tape, "--as-seen-by", "reader", "--speed", "max", "--lockstep", "50ms"))
        here.list()
        begin = time.monotonic()
        here.follow(rv)
        self.assertGreater(time.monotonic() - begin, 1)
        self.assertEqual(here.said, live.said)

    def given_again(self, head, reply, frames, is_kept):
        """The head of the answer here, and what follows it, after one that a scripted server gave to the same request."""
        server = self.scripted()
        tee = self.tee(server, tape=self.path("live.tape"))
        client, peer = self.connected(tee, server)
        client.send(head)
        peer.head()
        peer.send(reply + frames)
        client.until(frames)
        is_kept(tee)
        peer.fin(), client.to_the_end()
        replay = self.again(tee)
        again = Peer(socket.create_connection((replay.host, replay.port)))
        self.addCleanup(again.close)
        again.send(head)
        answer = again.head()
        again.until(frames)
        return answer

    def test_a_watch_in_protobuf_is_given_again_byte_for_byte(self):
        head = (b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: reader/2\r\n"
            b"Accept: application/vnd.kubernetes.protobuf;stream=watch\r\n\r\n")
        reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf;stream=watch\r\nConnection: close\r\n\r\n"
        frame = b"\x00\x00\x00\x12\x0a\x05ADDED\x12\x09\x0a\x07k8s\x00xyz"
        answer = self.given_again(head, reply, frame, lambda tee: tee.wait_rows("SELECT count(*) FROM frames", [(1,)]))
        self.assertIn(b"application/vnd.kubernetes.protobuf;stream=watch", answer)

    def test_a_watch_over_websocket_is_given_again_in_the_same_messages(self):
        head = (b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: reader/2\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        reply = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        event = (b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"x","uid":"u",'
            b'"resourceVersion":"7"}}}')
        messages = b"\x81" + bytes([126, 0, len(event)]) + event + b"\x88\x02\x03\xe8"
        self.assertIn(b"101 Switching Protocols", self.given_again(head, reply, messages, lambda tee: tee.wait_events(["ADDED a 7"])))


class Order(SeenCase):
    def test_no_watch_is_sent_what_came_after_another_was_opened_again(self):
        tee = self.start()
        live = Client(tee)
        pods, maps = live.list(PODS), live.list(MAPS)
        first, second = tee.watch("%s?watch=1&resourceVersion=%s" % (PODS, pods)), tee.watch("%s?watch=1&resourceVersion=%s" % (MAPS, maps))
        self.pods.watching(), self.maps.watching()
        self.pods.put("a")
        first.next()
        self.pods.disturb(lambda x: x.end())
        self.assertIsNone(first.next())
        again = tee.watch("%s?watch=1&resourceVersion=1001" % PODS)
        self.pods.watching()
        self.pods.put("b")
        again.next()
        self.maps.put("m")
        second.next()
        tee.wait_rows("SELECT count(*) FROM deliveries", [(3,)])
        replay = self.again(tee, client="")
        pods, maps = replay.watch("%s?watch=1&resourceVersion=1000" % PODS), replay.watch("%s?watch=1&resourceVersion=1000" % MAPS)
        self.assertEqual([e["object"]["metadata"]["name"] for e in pods.rest()], ["a"])
        maps.connection.sock.settimeout(1)
        with self.assertRaises(TimeoutError):
            maps.next()
        again = replay.watch("%s?watch=1&resourceVersion=1001" % PODS)
        self.assertEqual(again.next()["object"]["metadata"]["name"], "b")

    def test_a_client_that_goes_on_in_another_way_holds_nobody_up(self):
        tee = self.start()
        live = Client(tee)
        self.pods.put("a")
        watch = tee.watch(PODS + "?watch=1&resourceVersion=1000")
        watch.next()
        self.pods.disturb(lambda x: x.end())
        self.assertIsNone(watch.next())
        other = tee.watch(PODS + "?watch=1&resourceVersion=1001")
        maps = tee.watch(MAPS + "?watch=1&resourceVersion=1000")
        self.pods.watching(), self.maps.watching()
        self.pods.put("b")
        other.next()
        self.maps.put("m")
        maps.next()
        tee.wait_rows("SELECT count(*) FROM deliveries", [(3,)])
        replay = self.again(tee, client="")
        maps = replay.watch(MAPS + "?watch=1&resourceVersion=1000")
        pods = replay.watch(PODS + "?watch=1&resourceVersion=1000")
        self.assertEqual(pods.next()["object"]["metadata"]["name"], "a")
        self.assertIsNone(pods.next())
        replay.watch(PODS + "?watch=1&resourceVersion=1000")  # not from where the live one went on
        self.assertEqual(maps.next()["object"]["metadata"]["name"], "m")
        self.assertEqual(live.said, [])


class Others(SeenCase):
    def test_another_client_gets_the_ordinary_replay(self):
        self.pods.put("a")
        tee = self.start()
        live = Client(tee)
        live.list()
        self.pods.on_watch(lambda x: x.status(500, "InternalError"))
        live.follow(1001)
        tee.wait_rows("SELECT count(*) FROM requests WHERE status = 500", [(1,)])
        replay = self.again(tee)
        here, other = Client(replay), Client(replay, "other/1")
        here.list(), here.follow(1001)
        self.assertEqual(here.said, live.said)
        self.assertEqual(other.open(PODS + "?watch=1&resourceVersion=1001")[1].status, 200)

    def test_what_the_live_client_did_not_ask_is_answered_by_the_tape(self):
        self.pods.put("a")
        tee = self.start()
        Client(tee).list()
        tee.wait_events(["ADDED a 1001 list"])
        here = Client(self.again(tee))
        self.assertEqual(here.get(PODS + "?limit=7")["items"][0]["metadata"]["name"], "a")
        self.assertEqual(here.get("/api/v1/namespaces/default/pods/a")["metadata"]["name"], "a")


class Usage(SeenCase):
    def refused(self, *options):
        done = subprocess.run([KUBETAPE, "replay", *options], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_what_makes_no_sense_is_said_in_a_sentence(self):
        tee = self.start()
        Client(tee).list()
        tee.wait_rows("SELECT count(*) FROM requests WHERE status = 200", [(1,)])
        self.assertEqual(tee.stop(), 0)
        self.assertIn("no client of the run '%s' is called 'nobody'" % tee.run, self.refused(tee.tape, "--as-seen-by", "nobody"))
        self.assertIn("it has: reader/1", self.refused(tee.tape, "--as-seen-by", "nobody"))
        self.assertIn("--loop", self.refused(tee.tape, "--as-seen-by", "reader", "--loop"))
        other = self.path("other.run")
        replay = self.replay(tee.tape, "--run", other)
        replay.stop()
        self.assertIn("made by a replay", self.refused(tee.tape, "--as-seen-by", "reader@" + other))
        self.pods.put("x")
        second = self.tee(self.api.url, tape=self.path("second.tape"))
        self.assertEqual(second.stop(), 0)
        self.assertIn("belongs to another tape", self.refused(tee.tape, "--as-seen-by", "reader@" + second.run))

    def test_it_cannot_be_moved(self):
        tee = self.start()
        Client(tee).list()
        tee.wait_rows("SELECT count(*) FROM requests WHERE status = 200", [(1,)])
        replay = self.again(tee)
        status, _, body = replay.request("POST", "/kubetape/v1/rewind")
        self.assertGreaterEqual(status, 400)
        self.assertIn(b"cannot be moved", body)


if __name__ == "__main__":
    unittest.main()
