"""What passes a tee over HTTP/2 and TLS: every frame as it came, but the fields of requests; every end as it was."""

import socket
import ssl
import struct
import unittest

from http2_raw import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    header)
from http2_server import Inflater
from teeing import PREFACE, RESET, TeeCase
from waiting import wait_for

CONTINUATION, PRIORITY_FRAME, PADDED, PRIORITY = 9, 2, 8, 32


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def next_frame(peer):
    head = peer.until(9)
    length = int.from_bytes(head[:3], "big")
    return head[3], head[4], int.from_bytes(head[5:9], "big"), peer.until(length) if length else b""


def fields(path="/api/v1/pods?watch=1", *more):
    return b"".join(header(*f) for f in ((":method", "GET"), (":scheme", "https"), (":path", path), (":authority", "tee"), *more))


class Raw(TeeCase):
    """Both ends of a connection of HTTP/2, without TLS: what the client says beforehand."""

    def road(self, *options):
        server = self.scripted()
        self.there = self.tee(server, *options)
        client, peer = self.connected(self.there, server)
        self.inflater = Inflater()
        self.addCleanup(self.inflater.close)
        client.send(PREFACE + frame(SETTINGS, 0, 0))
        self.assertEqual(peer.until(len(PREFACE) + 9), PREFACE + frame(SETTINGS, 0, 0))
        return client, peer

    def block_of(self, peer, stream):
        """The header block that arrives, out of its frames, and the flags and the priority of the first one."""
        kind, flags, its, payload = next_frame(peer)
        self.assertEqual((kind, its), (HEADERS, stream))
        priority, payload = (payload[:5], payload[5:]) if flags & PRIORITY else (b"", payload)
        ends = flags
        while not ends & END_HEADERS:
            kind, ends, its, more = next_frame(peer)
            self.assertEqual((kind, its), (CONTINUATION, stream))
            payload += more
        return self.inflater.inflate(payload), flags, priority

    def request(self, client, peer, stream=1, path="/api/v1/pods?watch=1"):
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, fields(path)))
        return self.block_of(peer, stream)[0]


class Requests(Raw):
    def test_fields_are_those_that_came_but_for_the_authority_and_accept(self):
        client, peer = self.road()
        more = (("accept", "application/vnd.kubernetes.protobuf, application/json"), ("user-agent", "t/1"), ("x-a", "1"),
            ("x-b", ""), ("cookie", "a=b"), ("authorization", "Bearer secret"))
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields("/x?y=%20", *more)))
        got, flags, _ = self.block_of(peer, 1)
        self.assertEqual(flags & END_STREAM, END_STREAM)
        port = peer.socket.getsockname()[1]
        self.assertEqual(got, {":method": "GET", ":scheme": "https", ":path": "/x?y=%20", ":authority": "127.0.0.1:%d" % port,
            "accept": "application/json", **dict(more[1:])})
        self.assertEqual(list(got), [":method", ":scheme", ":path", ":authority", *(m[0] for m in more)])

    def test_padding_priority_and_continuations_of_fields(self):
        client, peer = self.road()
        block, priority = fields(), struct.pack(">IB", 0x80000000, 7)
        client.send(frame(HEADERS, PADDED | PRIORITY, 1, bytes([9]) + priority + block[:10] + bytes(9)))
        for byte in block[10:-1]:
            client.send(frame(CONTINUATION, 0, 1, bytes([byte])))
        client.send(frame(CONTINUATION, END_HEADERS, 1, block[-1:]))
        got, flags, passed = self.block_of(peer, 1)
        self.assertEqual((flags & PRIORITY, passed, flags & END_STREAM, got[":path"]), (PRIORITY, priority, 0, "/api/v1/pods?watch=1"))

    def test_fields_that_do_not_fit_into_a_frame_go_on_in_the_next(self):
        client, peer = self.road()
        long = tuple(("x-%d" % i, "v" * 120) for i in range(300))
        block = fields("/", *long)
        pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
        client.send(frame(HEADERS, 0, 1, pieces[0]) + b"".join(frame(CONTINUATION, END_HEADERS if p is pieces[-1] else 0, 1, p)
            for p in pieces[1:]))
        got, _, _ = self.block_of(peer, 1)
        self.assertEqual({k: v for k, v in got.items() if k.startswith("x-")}, dict(long))

    def test_every_other_frame_of_the_client_passes_as_it_came(self):
        client, peer = self.road()
        self.request(client, peer)
        others = (frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 77)) + frame(PING, 0, 0, b"12345678") +
            frame(PRIORITY_FRAME, 0, 1, bytes(5)) + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 100)) +
            frame(0xbe, 0xef, 1, b"unknown") + frame(DATA, PADDED, 1, bytes([3]) + b"data" + bytes(3)) +
            frame(SETTINGS, ACK, 0) + frame(RST_STREAM, 0, 1, struct.pack(">I", 8)) +
            frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0) + b"bye"))
        for i in range(0, len(others), 7):  # however they are cut
            client.send(others[i:i + 7])
        self.assertEqual(peer.until(len(others)), others)

    def test_a_client_may_use_a_table_as_large_as_the_server_has_said(self):
        client, peer = self.road()
        peer.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 8192)))
        client.until(15)
        client.send(frame(SETTINGS, ACK, 0))
        peer.until(9)
        size = b"\x3f\xe1\x3f"  # the table's size becomes 8192
        def indexed(name, value):
            return b"\x40" + bytes([len(name)]) + name + b"\x7f" + bytes([len(value) - 127 & 0x7f | 0x80, len(value) - 127 >> 7]) + value
        values = [bytes([65 + i]) * 1000 for i in range(7)]
        block = size + fields() + b"".join(indexed(b"x-%d" % i, v) for i, v in enumerate(values))
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        self.assertEqual(self.block_of(peer, 1)[0]["x-0"], "A" * 1000)
        # The oldest of seven is still there, in the place after the 61 that everybody knows.
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 3, fields() + bytes([0x80 | 61 + 7])))
        self.assertEqual(self.block_of(peer, 3)[0]["x-0"], "A" * 1000)

    def test_trailers_of_a_request_pass(self):
        client, peer = self.road()
        client.send(frame(HEADERS, END_HEADERS, 1, fields("/")))
        self.block_of(peer, 1)
        client.send(frame(DATA, 0, 1, b"body"))
        self.assertEqual(next_frame(peer), (DATA, 0, 1, b"body"))
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, header("x-sum", "1")))
        got, flags, _ = self.block_of(peer, 1)
        self.assertEqual((got, flags & END_STREAM), ({"x-sum": "1"}, END_STREAM))

    def test_many_requests_share_a_connection(self):
        client, peer = self.road()
        for i in range(300):
            self.assertEqual(self.request(client, peer, 2 * i + 1, "/%d" % i)[":path"], "/%d" % i)

    def test_a_client_that_breaks_the_rules_of_fields_is_cut(self):
        for bad in (frame(CONTINUATION, END_HEADERS, 1, b"x"), frame(HEADERS, 0, 1, fields()) + frame(PING, 0, 0, bytes(8)),
                frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), frame(HEADERS, END_HEADERS | PADDED, 1, b"\x09x"),
                frame(5, END_HEADERS, 1, bytes(4) + fields())):
            with self.subTest(bad=bad):
                client, _ = self.road()
                client.send(bad)
                self.assertEqual(client.to_the_end(), RESET)

    def test_fields_that_become_too_large_when_they_are_unpacked_cut_the_client(self):
        client, _ = self.road()
        value = b"v" * 3900
        first = b"\x40\x01x\x7f" + bytes([(len(value) - 127) & 0x7f | 0x80, (len(value) - 127) >> 7]) + value
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields() + first + b"\xbe" * 8000))
        self.assertEqual(client.to_the_end(), RESET)


class Answers(Raw):
    def answer(self, *frames, end=None):
        """What arrives of an answer, byte for byte, however it is cut."""
        client, peer = self.road()
        self.request(client, peer)
        said = b"".join(frames)
        for i in range(0, len(said), 11):
            peer.send(said[i:i + 11])
        self.assertEqual(client.until(len(said)), said)
        return client, peer

    def test_every_frame_of_the_server_passes_as_it_came(self):
        head = header(":status", "200") + header("content-type", "application/json")
        self.answer(frame(SETTINGS, 0, 0, struct.pack(">HIHI", 3, 250, 5, 65536)), frame(SETTINGS, ACK, 0),
            frame(HEADERS, END_HEADERS, 1, header(":status", "103") + header("link", "x")),
            frame(HEADERS, 0, 1, head[:5]), frame(CONTINUATION, END_HEADERS, 1, head[5:]), frame(PING, 0, 0, b"abcdefgh"),
            frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)), frame(DATA, PADDED, 1, bytes([2]) + b'{"a":1}' + bytes(2)),
            frame(DATA, 0, 1, b""), frame(0x77, 1, 1, b"?"), frame(HEADERS, END_HEADERS | END_STREAM, 1, header("x-trailer", "t")),
            frame(GOAWAY, 0, 0, struct.pack(">II", 1, 0) + b"debug"))

    def test_a_push_passes(self):
        self.answer(frame(5, END_HEADERS, 1, struct.pack(">I", 2) + fields("/pushed")))

    def test_every_code_of_a_reset_stream_passes_and_the_connection_lives(self):
        client, peer = self.road()
        for i, code in enumerate((0, 1, 2, 7, 8, 11, 99)):
            stream = 2 * i + 1
            self.request(client, peer, stream)
            peer.send(frame(HEADERS, END_HEADERS, stream, header(":status", "200")))
            peer.send(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))
            next_frame(client)
            self.assertEqual(next_frame(client), (RST_STREAM, 0, stream, struct.pack(">I", code)))

    def test_goaway_and_then_a_fin(self):
        client, peer = self.answer(frame(GOAWAY, 0, 0, struct.pack(">II", 1, 0)))
        peer.fin()
        self.assertEqual(client.to_the_end(), "fin")

    def test_a_reset_connection(self):
        client, peer = self.answer(frame(HEADERS, END_HEADERS, 1, header(":status", "200")))
        peer.reset()
        self.assertEqual(client.to_the_end(), RESET)

    def test_a_server_that_talks_nonsense_is_passed_on_and_requests_are_rewritten_on(self):
        client, peer = self.answer(frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), frame(CONTINUATION, 4, 9, b"x"))
        self.assertEqual(self.request(client, peer, 3, "/later")[":path"], "/later")
        peer.send(b"no frame at all")
        self.assertEqual(client.until(15), b"no frame at all")


class Tls(TeeCase):
    def setup_tls(self, *protocols, **options):
        server = self.scripted(self.server_context(protocols))
        return server, self.tee(server, **options)

    def test_what_the_server_chooses_is_what_the_client_gets(self):
        for offered, served, chosen in ((("h2", "http/1.1"), ("h2", "http/1.1"), "h2"), (("h2", "http/1.1"), ("http/1.1",), "http/1.1"),
                (("http/1.1",), ("h2", "http/1.1"), "http/1.1"), ((), ("h2",), None), (("h2",), (), None)):
            with self.subTest(offered=offered, served=served):
                server, tee = self.setup_tls(*served)
                client, peer = self.connected(tee, server, offered)
                self.assertEqual(client.socket.selected_alpn_protocol(), chosen)
                self.assertEqual(peer.socket.selected_alpn_protocol(), chosen)

    def test_bytes_pass_and_a_goodbye_is_told_from_its_absence(self):
        for goodbye in (True, False):
            with self.subTest(goodbye=goodbye):
                server, tee = self.setup_tls("http/1.1")
                client, peer = self.connected(tee, server, ("http/1.1",))
                client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                peer.head()
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                client.until(b"half")
                if goodbye:
                    peer.socket.settimeout(1)
                    try:
                        peer.socket.unwrap()
                    except (TimeoutError, ssl.SSLError, OSError):
                        pass
                else:
                    peer.fin()
                self.assertEqual(client.to_the_end(), "goodbye" if goodbye else "fin")

    def test_a_reset_is_a_reset(self):
        server, tee = self.setup_tls("h2")
        client, peer = self.connected(tee, server, ("h2",))
        peer.reset()
        self.assertEqual(client.to_the_end(), RESET)

    def test_large_bodies_pass_in_both_directions(self):
        server, tee = self.setup_tls("http/1.1")
        client, peer = self.connected(tee, server, ("http/1.1",))
        body = bytes(i * 7 % 251 for i in range(200_000))
        client.send(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + body)
        peer.head()
        self.assertEqual(peer.until(len(body)), body)
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + body)
        client.head()
        self.assertEqual(client.until(len(body)), body)

    def test_a_server_under_another_authority_is_not_spoken_to(self):
        server = self.scripted(self.server_context())
        self.certificates()  # another authority under the same name
        tee = self.tee(server)
        self.accepting(server)
        with self.assertRaises((ssl.SSLError, ConnectionResetError)):
            self.client(tee)
        self.assertIn("its certificate is not accepted", tee.stderr())

    def test_a_client_that_does_not_trust_the_tee_is_told_of(self):
        server, tee = self.setup_tls("h2")
        self.accepting(server)
        with self.assertRaises(ssl.SSLError):
            ssl.create_default_context().wrap_socket(socket.create_connection((tee.host, tee.port)), server_hostname="127.0.0.1")
        wait_for(lambda: "a client does not come to terms with the tee" in tee.stderr(), "the warning")


if __name__ == "__main__":
    unittest.main()
