"""TLS and HTTP/2: what a client that checks certificates sees."""

import base64
import json
import os
import shutil
import socket
import ssl
import subprocess
import unittest

from http2_raw import DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, Http2, body
from replays import PODS, TABLE, Case, Tape, brief, obj


def a_day():
    tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)])
    for i in range(10):
        tape.event(1 + 0.1 * i, PODS, "MODIFIED", obj(PODS, "a", 30 + i, spec={"x": "y" * 1000}))
    return tape


class TlsTest(Case):
    def test_certificate_is_good_for_loopback_names_and_only_with_the_authority_of_the_kubeconfig(self):
        r = self.replay(a_day(), plain=False)
        self.assertEqual(r.get("/api/v1/pods")[1]["kind"], "PodList")
        with self.assertRaises(ssl.SSLCertVerificationError):
            with ssl.create_default_context().wrap_socket(socket.create_connection((r.host, r.port)),
                    server_hostname="127.0.0.1"):
                pass

    def test_http_1_1_over_tls_streams_and_ends_cleanly(self):
        r = self.replay(a_day(), "--speed", "max", plain=False)
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=1") as w:
            self.assertEqual(w.headers["Transfer-Encoding"], "chunked")
            self.assertEqual([brief(e)[2] for e in w.rest()], [str(30 + i) for i in range(10)])

    def test_bytes_that_are_no_tls_end_the_connection(self):
        r = self.replay(a_day(), plain=False)
        with socket.create_connection((r.host, r.port), timeout=60) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            try:
                while s.recv(1000):
                    pass
            except ConnectionResetError:
                pass  # closed with our bytes unread
        self.assertEqual(r.get("/api/v1/pods")[0], 200)


@unittest.skipUnless(shutil.which("curl"), "no curl on the PATH")
class Http2Test(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(a_day(), "--speed", "max", plain=False)
        self.authority = os.path.join(self.folder, "ca.pem")
        with open(self.r.kubeconfig) as f, open(self.authority, "wb") as to:
            to.write(base64.b64decode(json.load(f)["clusters"][0]["cluster"]["certificate-authority-data"]))

    def url(self, target):
        return "https://127.0.0.1:%d%s" % (self.r.port, target)

    def curl(self, *arguments):
        command = ["curl", "--noproxy", "*", "-sS", "--http2", "--cacert", self.authority, "-A", "test", "--max-time", "60", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout

    def test_requests_are_answered_over_http_2(self):
        out = self.curl("-i", self.url("/api/v1/pods"))
        head, body = out.split("\n\n", 1) if "\n\n" in out else out.split("\r\n\r\n", 1)
        self.assertTrue(head.startswith("HTTP/2 200"), head)
        self.assertNotIn("transfer-encoding", head.lower())
        self.assertEqual(json.loads(body)["kind"], "PodList")
        self.assertTrue(self.curl("-i", "-H", "Accept: " + TABLE, self.url("/api/v1/nope")).startswith("HTTP/2 404"))

    def test_blanks_around_a_header_are_no_error(self):
        """As a script sends it whose token is empty."""
        out = self.curl("-i", "-H", "Authorization: Bearer ", self.url("/version"))
        self.assertTrue(out.startswith("HTTP/2 200"), out)

    def test_watch_ends_with_the_stream_and_leaves_the_connection(self):
        out = self.curl(self.url("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=1"),
            self.url("/api/v1/pods?watch=1&resourceVersion=35&timeoutSeconds=1"), "-w", "%{num_connects}\n")
        lines = out.strip().split("\n")
        self.assertEqual([brief(json.loads(l))[2] for l in lines[:10]], [str(30 + i) for i in range(10)])
        self.assertEqual([brief(json.loads(l))[2] for l in lines[11:15]], ["36", "37", "38", "39"])
        self.assertEqual((lines[10], lines[15]), ("1", "0"))

    def test_many_watches_share_a_connection(self):
        urls = []
        for i in range(50):
            urls += [self.url("/api/v1/pods?watch=1&resourceVersion=20&timeoutSeconds=2&n=%d" % i), "-o",
                os.path.join(self.folder, "out-%d" % i)]
        self.curl("--parallel", "--parallel-max", "50", *urls)
        for i in range(50):
            with open(os.path.join(self.folder, "out-%d" % i)) as f:
                self.assertEqual(len(f.readlines()), 10)

    def test_bodies_are_taken_and_large_ones_refused(self):
        review = '{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{}}'
        out = self.curl("-d", review, self.url("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"))
        self.assertEqual(json.loads(out)["status"], {"allowed": True})
        big = os.path.join(self.folder, "big")
        with open(big, "wb") as f:
            f.write(b"x" * (4 << 20))
        done = subprocess.run(["curl", "--noproxy", "*", "-s", "--http2", "--cacert", self.authority, "--max-time", "60", "--data-binary",
            "@" + big, self.url("/api/v1/namespaces/default/pods")], capture_output=True, timeout=90, check=True)
        self.assertEqual(json.loads(done.stdout)["code"], 413)
        self.assertEqual(json.loads(self.curl(self.url("/api/v1/pods")))["kind"], "PodList")


class WindowTest(Case):
    """A client decides how much it is sent, on each stream and on all of them together."""
    INITIAL_WINDOW_SIZE, PROTOCOL_ERROR, FLOW_CONTROL_ERROR = 4, 1, 3
    MAX = (1 << 31) - 1

    def open(self, *settings, window=1 << 24, objects=100):
        tape = Tape().listed(PODS, 200, [obj(PODS, "p%d" % i, 5 + i, spec={"x": "y" * 1000}) for i in range(objects)])
        r = self.replay(tape.event(1, PODS, "ADDED", obj(PODS, "last", 201)), "--wait-watchers", "9", plain=False)
        client = Http2(r, settings=settings, window=window)
        self.addCleanup(client.close)
        self.whole = r.request("GET", "/api/v1/pods")[2]
        return client

    def frames(self, client, stream, until):
        """Frames until as many bytes of that body have come, or its end (-1)."""
        got = [0]

        def enough(f):
            got[0] += len(f[3]) if f[0] == DATA and f[2] == stream else 0
            return f[2] == stream and f[1] & END_STREAM and f[0] in (DATA, HEADERS) or 0 <= until <= got[0]

        return client.until(enough)

    def test_a_stream_gets_no_more_than_its_window(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 0))
        stream = client.get("/api/v1/pods")
        self.assertEqual(client.frame()[0], HEADERS)
        taken = b""
        for n in (1, 10, 100, 20000):
            client.update(stream, n)
            more = body(self.frames(client, stream, n), stream)
            self.assertEqual(len(more), n)
            taken += more
        self.assertTrue(client.is_silent(0.3))
        client.update(stream, self.MAX)
        self.assertEqual(taken + body(self.frames(client, stream, -1), stream), self.whole)

    def test_all_streams_together_get_no_more_than_the_window_of_the_connection(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 1 << 20), window=0)
        one, two = client.get("/api/v1/pods"), client.get("/api/v1/pods?limit=99")
        frames = []
        while sum(len(f[3]) for f in frames if f[0] == DATA) < 65535 or {f[2] for f in frames if f[0] == HEADERS} != {one, two}:
            frames.append(client.frame())
        self.assertEqual(sum(len(f[3]) for f in frames if f[0] == DATA), 65535)
        self.assertTrue(client.is_silent(0.3))
        client.update(0, 1 << 20)
        ends = set()
        while ends != {one, two}:
            frames.append(client.frame())
            ends |= {frames[-1][2]} if frames[-1][0] == DATA and frames[-1][1] & END_STREAM else set()
        self.assertEqual(body(frames, one), self.whole)
        self.assertEqual(len(json.loads(body(frames, two))["items"]), 99)

    def test_a_new_initial_window_counts_for_streams_that_run(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 5))
        stream = client.get("/api/v1/pods")
        frames = self.frames(client, stream, 5)
        client.set((self.INITIAL_WINDOW_SIZE, 1 << 20))
        self.assertEqual(body(frames + self.frames(client, stream, -1), stream), self.whole)

    def test_the_end_of_a_stream_needs_no_window(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 1))
        stream = client.get("/api/v1/pods")
        client.until(lambda f: f[0] == DATA)
        client.update(stream, len(self.whole) - 1)
        self.assertEqual(len(body(self.frames(client, stream, -1), stream)), len(self.whole) - 1)
        client.set((self.INITIAL_WINDOW_SIZE, 0))
        stream = client.get("/api/v1/pods?watch=1&resourceVersion=200&timeoutSeconds=1")
        self.assertEqual(body(self.frames(client, stream, -1), stream), b"")

    def test_windows_that_grow_too_large_are_an_error(self):
        client = self.open()
        stream = client.get("/api/v1/pods?watch=1&resourceVersion=200")
        client.update(stream, self.MAX)
        self.assertEqual(client.until(lambda f: f[0] == RST_STREAM)[-1][2:], (stream, bytes([0, 0, 0, self.FLOW_CONTROL_ERROR])))
        client.update(0, self.MAX)
        self.assertEqual(client.until(lambda f: f[0] == GOAWAY)[-1][3][7], self.FLOW_CONTROL_ERROR)

    def test_an_increment_of_nothing_is_an_error(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 1))
        stream = client.get("/api/v1/pods")
        client.update(stream, 0)
        self.assertEqual(client.until(lambda f: f[0] == GOAWAY)[-1][3][7], self.PROTOCOL_ERROR)

    def test_frames_may_arrive_byte_by_byte(self):
        client = self.open((self.INITIAL_WINDOW_SIZE, 1), objects=1)
        client.piece = 1
        stream = client.get("/api/v1/pods")
        client.update(stream, 5)
        client.update(stream, 1 << 20)
        self.assertEqual(body(self.frames(client, stream, -1), stream), self.whole)


class WithoutTlsTest(Case):
    def test_who_knows_beforehand_speaks_http_2_without_tls(self):
        replay = self.replay(a_day(), "--speed", "max")
        for piece in (None, 1):
            client = Http2(replay, piece=piece)
            self.addCleanup(client.close)
            stream = client.get("/api/v1/pods")
            frames = client.until(lambda f: f[0] == DATA and f[1] & END_STREAM)
            self.assertEqual(json.loads(body(frames, stream))["kind"], "PodList")

    def test_http_1_1_may_begin_as_the_preface_of_http_2_does(self):
        replay = self.replay(a_day(), "--speed", "max")
        with socket.create_connection((replay.host, replay.port), timeout=60) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in (b"P", b"OST /api/v1/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"):
                client.sendall(part)
            self.assertTrue(client.makefile("rb").readline().startswith(b"HTTP/1.1 4"))


if __name__ == "__main__":
    unittest.main()
