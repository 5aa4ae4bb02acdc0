"""The run that a tee writes: what each client asked, was sent, and wrote, and how it ended."""

import base64
import contextlib
import gzip
import json
import os
import struct
import subprocess
import unittest

from fake_apiserver import FakeApiserver, encode
from http2_raw import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, SETTINGS, header
from replays import DEADLINE_S
from teeing import PREFACE, TeeCase

PODS = "/api/v1/pods"
WATCH = b"GET /api/v1/pods?watch=1&resourceVersion=7 HTTP/1.1\r\nHost: x\r\nUser-Agent: scripted/1\r\n\r\n"
STREAMING = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nAudit-Id: a-1\r\n\r\n"
ENDS = "SELECT verb, resource, status, whole, how, ended_by, h2_error FROM requests ORDER BY request"


def pod(name="a", rv="8", **more):
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default", "uid": "u-" + name, "resourceVersion": rv}, **more}


def line(type_word, value):
    return b'{"type":"%s","object":%s}\n' % (type_word.encode(), encode(value))


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(body, status="200 OK", kind="application/json", *more):
    head = "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (status, kind, len(body), "".join(m + "\r\n" for m in more))
    return head.encode() + body


def zstd(data):
    return subprocess.run(["zstd", "-d", "-c"], input=data, check=True, capture_output=True, timeout=DEADLINE_S).stdout


class RunCase(TeeCase):
    def road(self, *options, **more):
        """(tee, client, peer), both of them raw."""
        self.server = self.scripted()
        tee = self.tee(self.server, *options, **more)
        return (tee, *self.connected(tee, self.server))

    def asked(self, client, peer, head=WATCH, body=b""):
        client.send(head + body)
        peer.head()
        if body:
            peer.until(len(body))

    def exchange(self, client, peer, head, reply, body=b""):
        self.asked(client, peer, head, body)
        peer.send(reply)
        client.until(len(reply))

    def answer_of(self, tee, request=1):
        return b"".join(zstd(r[0]) for r in tee.rows("SELECT data FROM answers WHERE request = %d ORDER BY piece" % request))


class Ends(RunCase):
    def watch(self):
        tee, client, peer = self.road()
        self.asked(client, peer)
        peer.send(STREAMING + chunk(line("ADDED", pod())))
        client.until(chunk(line("ADDED", pod())))
        return tee, client, peer

    def check(self, tee, *end):
        tee.wait_rows(ENDS, [("watch", "pods", 200, *end)])

    def test_with_its_end_mark(self):
        tee, client, peer = self.watch()
        peer.send(b"0\r\n\r\n")
        client.until(b"0\r\n\r\n")
        self.check(tee, 1, "complete", "server", None)
        tee.wait_rows("SELECT step, what, detail, resource, request FROM faults", [("watch", "end", "server_close_early", "pods", 1)])
        tee.wait_rows("SELECT client, rv, events, content_type, audit_id, path FROM requests",
            [("scripted/1", "7", 1, "application/json", "a-1", "/api/v1/pods?watch=1&resourceVersion=7")])
        tee.wait_rows("SELECT how FROM sockets", [(None,)])

    def test_without_it(self):
        tee, client, peer = self.watch()
        peer.fin()
        client.to_the_end()
        self.check(tee, 0, "fin", "server", None)
        tee.wait_rows("SELECT what, detail FROM faults", [("fin", "cut")])
        client.close()
        tee.wait_rows("SELECT http_version, tls, how, ended_by FROM sockets", [(None, 0, "fin", "server")])

    def test_inside_an_event(self):
        tee, client, peer = self.watch()
        peer.send(chunk(b'{"type":"MODI'))
        client.until(b"MODI")
        peer.fin()
        client.to_the_end()
        tee.wait_rows("SELECT what, detail FROM faults", [("cut", "cut")])
        tee.wait_query("SELECT tail FROM connections WHERE purpose = 'watch'", [{"tail": '{"type":"MODI'}])

    def test_with_a_reset(self):
        tee, client, peer = self.watch()
        peer.reset()
        client.to_the_end()
        self.check(tee, 0, "reset", "server", None)
        tee.wait_rows("SELECT what FROM faults", [("rst",)])

    def test_by_the_client(self):
        for how, word in (("fin", "fin"), ("reset", "reset")):
            with self.subTest(how=how):
                tee, client, peer = self.watch()
                getattr(client, how)()
                peer.to_the_end()
                peer.close()
                self.check(tee, 0, word, "client", None)
                self.assertEqual(tee.rows("SELECT what FROM faults"), [])

    def test_by_the_tee(self):
        tee, _, _ = self.watch()
        self.assertEqual(tee.stop(), 0)
        self.check(tee, 0, "reset", "tee", None)
        self.assertEqual(tee.rows("SELECT value FROM run WHERE name = 'ended_by'"), [("signal",)])

    def test_without_a_word(self):
        tee, client, peer = self.road()
        self.asked(client, peer)
        peer.fin()
        client.to_the_end()
        tee.wait_rows(ENDS, [("watch", "pods", None, 0, "fin", "server", None)])
        tee.wait_rows("SELECT step, what, detail FROM faults", [("request", "fin", "no_response")])

    def test_with_an_error(self):
        tee, client, peer = self.watch()
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410}
        peer.send(chunk(line("ERROR", status)) + b"0\r\n\r\n")
        client.until(b"\r\n0\r\n\r\n")
        tee.wait_rows("SELECT what, detail FROM faults", [("error", "error_event:410:Expired")])
        tee.wait_rows("SELECT type, number, CAST(body AS TEXT) FROM frames", [("ERROR", 2, encode(status).decode())])

    def test_refused_with_a_status(self):
        tee, client, peer = self.road()
        self.exchange(client, peer, WATCH, answer(b"slow down", "429 Too Many Requests", "text/plain", "Retry-After: 3"))
        tee.wait_rows("SELECT status, retry_after, how FROM requests", [(429, 3, "complete")])
        tee.wait_rows("SELECT step, what, detail FROM faults", [("request", "http", "http_429")])
        tee.wait_rows("SELECT count(*) FROM answers", [(1,)])
        self.assertEqual(self.answer_of(tee), b"slow down")

    def test_nobody_listens(self):
        tee, client, _ = self.road()
        server = self.scripted()
        server.close()
        tee = self.tee(server.url)
        with contextlib.suppress(ConnectionResetError):  # which may come before the connection is known to be there
            self.client(tee).to_the_end()
        tee.wait_rows("SELECT step, what FROM faults", [("request", "refuse")])


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class Ends2(RunCase):
    def watch(self):
        tee, client, peer = self.road()
        fields = b"".join(header(*f) for f in ((":method", "GET"), (":scheme", "http"), (":path", PODS + "?watch=1"), (":authority", "x"), ("user-agent", "scripted/2")))
        client.send(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS | END_STREAM, 1, fields))
        peer.until(len(PREFACE) + 9)
        peer.until(9)
        self.reply(client, peer, frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, b"\x88" + header("content-type", "application/json")) +
            frame(DATA, 0, 1, line("ADDED", pod())))
        return tee, client, peer

    def reply(self, client, peer, data):
        peer.send(data)
        client.until(len(data))

    def check(self, tee, what, *end):
        tee.wait_rows(ENDS, [("watch", "pods", 200, *end)])
        tee.wait_rows("SELECT what FROM faults", [(what,)])
        tee.wait_rows("SELECT client, events FROM requests", [("scripted/2", 1)])

    def test_with_its_end_mark(self):
        tee, client, peer = self.watch()
        self.reply(client, peer, frame(DATA, END_STREAM, 1))
        self.check(tee, "end", 1, "complete", "server", None)

    def test_with_a_reset_of_the_stream(self):
        tee, client, peer = self.watch()
        self.reply(client, peer, frame(RST_STREAM, 0, 1, struct.pack(">I", 2)))
        self.check(tee, "rst_stream", 0, "rst_stream", "server", 2)
        tee.wait_query("SELECT end_reason, h2_error FROM connections WHERE purpose = 'watch'", [{"end_reason": "h2_stream", "h2_error": 2}])

    def test_with_the_connection_after_goaway(self):
        tee, client, peer = self.watch()
        self.reply(client, peer, frame(GOAWAY, 0, 0, struct.pack(">II", 1, 0)))
        peer.fin()
        client.to_the_end()
        self.check(tee, "goaway", 0, "goaway", "server", 0)

    def test_by_the_client(self):
        tee, client, peer = self.watch()
        client.send(frame(RST_STREAM, 0, 1, struct.pack(">I", 8)))
        peer.until(frame(RST_STREAM, 0, 1, struct.pack(">I", 8)))
        tee.wait_rows(ENDS, [("watch", "pods", 200, 0, "rst_stream", "client", 8)])


class Asked(RunCase):
    def test_clients_are_told_apart_by_name_and_credentials(self):
        tee, client, peer = self.road()
        for agent, token in ((b"a", b"one"), (b"a", b"two"), (b"b", b"two"), (b"a", b"one"), (b"c", None)):
            head = b"GET /version HTTP/1.1\r\nHost: x\r\nUser-Agent: %s\r\n" % agent
            self.exchange(client, peer, head + (b"Authorization: Bearer %s\r\n" % token if token else b"") + b"\r\n", answer(b"{}"))
        tee.wait_rows("SELECT client, client_id FROM requests ORDER BY request", [("a", 1), ("a", 2), ("b", 3), ("a", 1), ("c", 4)])
        tee.wait_rows("SELECT count(*), count(DISTINCT credential), min(length(credential)) FROM clients", [(4, 2, 32)])

    def test_a_request_says_what_its_client_had_seen(self):
        tee, client, peer = self.road()
        self.asked(client, peer)
        peer.send(STREAMING + chunk(line("ADDED", pod())))
        client.until(b"}}\n\r\n")
        tee.wait_rows("SELECT count(*) FROM deliveries", [(1,)])
        client, peer = self.connected(tee, self.server)
        self.exchange(client, peer, WATCH.replace(b"?watch=1&resourceVersion=7", b"/a"), answer(encode(pod())))
        tee.wait_rows("SELECT verb, name, seen_seq, seen_rv, latency_ns > 0, seq FROM requests WHERE request = 2", [("get", "a", 1, "8", 1, 1)])

    def test_a_write_has_its_body_and_its_answer(self):
        tee, client, peer = self.road()
        made = pod("web-x", "12", spec={})
        asked = b'{"metadata":{"generateName":"web-"}}'
        head = b"POST /api/v1/namespaces/default/pods?dryRun=All HTTP/1.1\r\nHost: x\r\nUser-Agent: w\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.exchange(client, peer, head % len(asked), answer(encode(made), "201 Created"), asked)
        tee.wait_rows("SELECT verb, resource, namespace, name, policy, content_type, dry_run, body, object, status, reason, rv, uid, client FROM writes",
            [("create", "pods", "default", "web-x", "live", "application/json", 1, asked.decode(), encode(made).decode(), 201, None, "12", "u-web-x", "w")])
        refused = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}
        head = b"PUT /api/v1/namespaces/default/pods/web-x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        self.exchange(client, peer, head % len(asked), answer(encode(refused), "409 Conflict"), asked)
        tee.wait_rows("SELECT verb, status, reason, rv FROM writes WHERE write = 2", [("update", 409, "Conflict", None)])

    def test_a_question_is_no_write_and_no_token_stays(self):
        tee, client, peer = self.road()
        secret = "eyJhbGciOiJSUzI1NiJ9.c2VjcmV0"
        review = encode({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": secret}})
        token = encode({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": {}, "status": {"token": secret, "expirationTimestamp": "2027-01-01T00:00:00Z"}})
        for path, body in (("/apis/authentication.k8s.io/v1/tokenreviews", review), ("/api/v1/namespaces/a/serviceaccounts/b/token", token)):
            head = "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (path, secret, len(body))
            self.exchange(client, peer, head.encode(), answer(body, "201 Created"), body)
        tee.wait_rows("SELECT resource, subresource FROM writes", [("serviceaccounts", "token")])
        self.assertEqual(tee.stop(), 0)
        for root, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(root, name), "rb") as f:
                    self.assertNotIn(secret.encode()[5:], f.read(), name)

    def test_what_is_no_object_is_noted_and_not_kept(self):
        tee, client, peer = self.road()
        for path in ("/api/v1/namespaces/a/pods/b/log?follow=true", "/api/v1/namespaces/a/services/b/proxy/x", "/metrics", "/api/v1/nodes/n/proxy/stats"):
            self.exchange(client, peer, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode(), answer(b"bytes", "200 OK", "text/plain"))
        tee.wait_rows("SELECT subresource, bytes FROM requests ORDER BY request", [("log", 5), ("proxy", 5), (None, 5), ("proxy", 5)])
        self.assertEqual(tee.rows("SELECT * FROM answers"), [])

    def test_a_path_that_all_requests_begin_with_is_left_out(self):
        server = self.scripted()
        tee = self.tee(server.url + "/k8s/c-1")
        client, peer = self.connected(tee, server)
        self.exchange(client, peer, b"GET /k8s/c-1/api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n", answer(b"{}"))
        tee.wait_rows("SELECT verb, path FROM requests", [("list", "/api/v1/pods")])


class Read(RunCase):
    def test_an_answer_is_kept_in_pieces(self):
        tee, client, peer = self.road()
        body = encode({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [pod("p%d" % i, spec={"x": "y" * 1000}) for i in range(900)]})
        self.exchange(client, peer, b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n", answer(body))
        tee.wait_rows("SELECT sum(raw_bytes), count(*) > 3 FROM answers", [(len(body), 1)])
        self.assertEqual(self.answer_of(tee), body)
        tee.wait_events(["ADDED p%d 8 list" % i for i in range(900)])

    def test_a_packed_answer_is_unpacked(self):
        tee, client, peer = self.road()
        body = encode({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [pod()]})
        for encoding, packed in (("gzip", gzip.compress(body)),):
            self.exchange(client, peer, b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n",
                answer(packed, "200 OK", "application/json", "Content-Encoding: " + encoding))
        tee.wait_rows("SELECT sum(raw_bytes) FROM answers", [(len(body),)])
        self.assertEqual(self.answer_of(tee), body)
        tee.wait_events(["ADDED a 8 list"])

    def test_secrets_are_digests_in_lists_and_alone_and_in_errors(self):
        tee, client, peer = self.road()
        value = base64.b64encode(b"swordfish").decode()
        secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "d", "uid": "u", "resourceVersion": "5"}, "data": {"p": value}}
        for path, body in (("", {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [secret]}), ("/s", secret)):
            self.exchange(client, peer, b"GET /api/v1/namespaces/d/secrets%s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode(), answer(encode(body)))
        self.exchange(client, peer, b"GET /api/v1/namespaces/d/secrets/s HTTP/1.1\r\nHost: x\r\n\r\n", answer(value.encode(), "500 X", "text/plain"))
        tee.wait_rows("SELECT count(*) FROM answers", [(3,)])
        digest = json.loads(self.answer_of(tee, 1))["items"][0]["data"]["p"]
        self.assertEqual(json.loads(self.answer_of(tee, 2))["data"]["p"], digest)
        tee.wait_events(["ADDED s 5 list"])
        self.assertEqual(json.loads(tee.query("SELECT object FROM events")[0]["object"])["data"]["p"], digest)
        self.assertTrue(self.answer_of(tee, 3).startswith(b"redacted: 12 bytes"))

    def test_they_stay_as_they_are_when_that_is_asked_for(self):
        tee, client, peer = self.road("--secrets", "keep")
        secret = encode({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "uid": "u", "resourceVersion": "5"}, "data": {"p": "eA=="}})
        self.exchange(client, peer, b"GET /api/v1/namespaces/d/secrets/s HTTP/1.1\r\nHost: x\r\n\r\n", answer(secret))
        tee.wait_rows("SELECT count(*) FROM answers", [(1,)])
        self.assertEqual(self.answer_of(tee), secret)


def field(number, value):
    out, length = bytearray(), len(value)
    while length > 127:
        out.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2]) + bytes(out) + bytes([length]) + value


def protobuf(type_word, name, rv):
    metadata = field(1, name.encode()) + field(3, b"default") + field(5, b"u-" + name.encode()) + field(6, rv.encode())
    unknown = field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, field(1, metadata) + field(2, field(1, b"k") + field(2, b"v")))
    event = field(1, type_word.encode()) + field(2, field(1, b"k8s\0" + unknown))
    return struct.pack(">I", len(event)) + event


CONFIGMAP = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","namespace":"default","uid":"u-c","resourceVersion":"8"},"data":{"k":"v"}}'


class Encodings(RunCase):
    def test_a_watch_in_protobuf_is_kept_as_it_came_and_read_for_the_tape(self):
        tee, client, peer = self.road()
        head = WATCH.replace(b"pods", b"configmaps").replace(b"\r\n\r\n", b"\r\nAccept: application/vnd.kubernetes.protobuf;stream=watch\r\n\r\n")
        self.asked(client, peer, head)
        event = protobuf("ADDED", "c", "8")
        reply = STREAMING.replace(b"application/json", b"application/vnd.kubernetes.protobuf;stream=watch") + chunk(event[:9]) + chunk(event[9:])
        peer.send(reply)
        client.until(len(reply))
        tee.wait_rows("SELECT type, rv, uid, encoding, body FROM frames", [("ADDED", "8", "u-c", "protobuf", event[4:])])
        tee.wait_rows("SELECT seq, number FROM deliveries", [(1, 1)])
        tee.wait_events(["ADDED c 8"])
        self.assertEqual(tee.query("SELECT object FROM events")[0]["object"], CONFIGMAP)

    def test_a_watch_over_websocket_is_one(self):
        tee, client, peer = self.road()
        head = WATCH.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n")
        self.asked(client, peer, head)
        event = line("ADDED", pod()).rstrip(b"\n")
        reply = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + b"\x81\x7e" + struct.pack(">H", len(event)) + event
        peer.send(reply)
        client.until(len(reply))
        tee.wait_rows("SELECT type, rv FROM deliveries", [("ADDED", "8")])
        tee.wait_events(["ADDED a 8"])
        close = b"\x88\x02\x03\xe8"
        peer.send(close)
        client.until(close)
        peer.fin()
        client.to_the_end()
        tee.wait_rows("SELECT what, detail FROM faults", [("end", "server_close_early")])

    def test_a_packed_watch_is_unpacked(self):
        tee, client, peer = self.road()
        self.asked(client, peer)
        packed = gzip.compress(line("ADDED", pod()))
        peer.send(STREAMING.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + chunk(packed))
        client.until(chunk(packed))
        tee.wait_events(["ADDED a 8"])


class Slow(RunCase):
    def test_a_thousand_watches_at_once(self):
        api = FakeApiserver()
        pods = api.add("pods", "Pod")
        self.addCleanup(api.__exit__)
        api.listen()
        tee = self.tee(api.url)
        count = 200 if "asan" in os.environ.get("KUBETAPE_BUILD", "") else 1000
        clients = []
        for _ in range(count):
            client = self.client(tee)
            client.send(WATCH.replace(b"resourceVersion=7", b"resourceVersion=1000"))
            clients.append(client)
        pods.watching(count)
        pods.put("a")
        for client in clients:
            client.until(b'"n":1001}}}\n')
        tee.wait_rows("SELECT count(*), count(DISTINCT request), min(seq), max(seq) FROM deliveries", [(count, count, 1, 1)])
        tee.wait_events(["ADDED a 1001"])


if __name__ == "__main__":
    unittest.main()
