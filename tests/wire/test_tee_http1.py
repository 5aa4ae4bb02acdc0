"""What passes a tee over HTTP/1.1: every byte as it came, but the heads of requests; every end as it was."""

import socket
import struct
import threading
import time
import unittest

from teeing import OK_EMPTY, RESET, TeeCase
from waiting import wait_for

GET = b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nUser-Agent: t\r\n\r\n"


class Plain(TeeCase):
    def road(self, *options):
        server = self.scripted()
        self.there = self.tee(server, *options)
        return self.connected(self.there, server)

    def asked(self, request=GET):
        """Both ends after a request has passed."""
        client, server = self.road()
        client.send(request)
        server.head()
        return client, server


class Requests(Plain):
    def test_only_the_host_of_a_head_is_changed(self):
        client, server = self.road()
        client.send(b"POST /x?a=%20b HTTP/1.1\r\nhOsT:   tee:1 \r\nX-Odd:\t  two  words  \r\nx-odd: again\r\nContent-Length: 5\r\n\r\nhello")
        there = server.until(b"hello")
        authority = self.there_authority(server)
        self.assertEqual(there, b"POST /x?a=%20b HTTP/1.1\r\nhOsT: " + authority +
            b"\r\nX-Odd:\t  two  words  \r\nx-odd: again\r\nContent-Length: 5\r\n\r\nhello")

    @staticmethod
    def there_authority(server):
        return ("127.0.0.1:%d" % server.socket.getsockname()[1]).encode()

    def accepted(self, *lines):
        client, server = self.road()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"Accept: " + x + b"\r\n" for x in lines) + b"\r\n")
        head = server.head().split(b"\r\n")
        return [line[8:] for line in head if line.startswith(b"Accept: ")]

    def test_accept_loses_what_is_binary_where_json_is_named(self):
        for said, passed in (
            ([b"application/vnd.kubernetes.protobuf,application/json"], [b"application/json"]),
            ([b"application/json, application/cbor;q=0.9"], [b"application/json"]),
            ([b"application/vnd.kubernetes.protobuf", b"application/json"], [b"application/json"]),
            ([b"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,"
                b"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"],
                [b"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"]),
            ([b"application/cbor-seq, application/JSON;stream=watch , */*"], [b"application/JSON;stream=watch,*/*"]),
        ):
            with self.subTest(said=said):
                self.assertEqual(self.accepted(*said), passed)

    def test_accept_stays_as_it_is_where_json_is_not_named_or_nothing_is_binary(self):
        for said in ([b"application/vnd.kubernetes.protobuf"], [b"application/cbor"], [b"*/*"],
                [b"application/yaml;q=0.5,  application/json "[:-1]], [b"text/plain", b"application/json;as=Table;v=v1;g=meta.k8s.io"]):
            with self.subTest(said=said):
                self.assertEqual(self.accepted(*said), said)

    def test_bodies_pass_by_length_and_by_chunks_and_the_next_head_is_found_behind_them(self):
        client, server = self.road()
        chunks = b"5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
        client.send(b"POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
            b"POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + GET)
        there = server.until(b"User-Agent: t\r\n\r\n")
        self.assertIn(b"\r\n\r\n" + chunks + b"POST /2 HTTP/1.1\r\nHost: 127.0.0.1", there)
        self.assertIn(b"\r\n\r\nabcGET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1", there)

    def test_a_head_may_come_byte_by_byte(self):
        client, server = self.road()
        for i in range(len(GET)):
            client.send(GET[i:i + 1])
        self.assertTrue(server.head().startswith(b"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1:"))

    def test_what_is_not_http_passes_unread(self):
        for nonsense in (b"HELLO\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"\x00\x01\n\n"):
            with self.subTest(nonsense=nonsense):
                client, server = self.road()
                client.send(nonsense + b"Accept: application/cbor,application/json\r\n\r\n")
                self.assertEqual(server.until(len(nonsense) + 45)[:len(nonsense)], nonsense)
                server.send(b"whatever")
                self.assertEqual(client.until(8), b"whatever")


class Answers(Plain):
    def test_every_byte_of_an_answer_passes(self):
        for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: \xc3\xa4\r\n\r\nhello",
                b"HTTP/1.1 200 fine \r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
                b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 No Content\r\nWarning: 299 - \"w\"\r\n\r\n",
                b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n"):
            with self.subTest(answer=answer):
                client, server = self.asked()
                server.send(answer)
                self.assertEqual(client.until(len(answer)), answer)
                client.send(GET)  # the connection goes on
                server.head()
                server.send(OK_EMPTY)
                self.assertEqual(client.until(len(OK_EMPTY)), OK_EMPTY)

    def test_a_body_of_random_pieces_passes_in_both_directions(self):
        client, server = self.road()
        body = bytes(i * 7 % 251 for i in range(300_000))
        client.send(b"PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + body)
        server.head()
        self.assertEqual(server.until(len(body)), body)
        server.send(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + body)
        client.head()
        self.assertEqual(client.until(len(body)), body)

    def test_a_watch_is_passed_on_event_by_event(self):
        client, server = self.asked(GET.replace(b"pods", b"pods?watch=1"))
        server.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.head()
        for i in range(20):
            chunk = b'%x\r\n{"type":"ADDED","object":{"n":%03d}}\n\r\n' % (36, i)
            server.send(chunk)
            self.assertEqual(client.until(len(chunk)), chunk)

    def test_what_the_server_says_unasked_passes(self):
        client, server = self.road()
        client.send(b"G")
        server.send(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n")
        server.fin()
        self.assertEqual(client.to_the_end(), "fin")
        self.assertTrue(client.received.startswith(b"HTTP/1.1 408"))


class Ends(Plain):
    START = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"

    def watch(self):
        client, server = self.asked(GET.replace(b"pods", b"pods?watch=1"))
        server.send(self.START)
        client.until(len(self.START))
        return client, server

    def test_a_fin_in_the_middle_of_an_answer_is_a_fin(self):
        client, server = self.watch()
        server.fin()
        self.assertEqual(client.to_the_end(), "fin")

    def test_a_reset_is_a_reset_and_comes_behind_what_was_sent(self):
        client, server = self.watch()
        server.send(b"lo\r\n")
        server.reset()
        self.assertEqual(client.to_the_end(), RESET)
        self.assertEqual(client.received, b"lo\r\n")

    def test_the_client_may_end_its_half_and_is_answered_all_the_same(self):
        client, server = self.watch()
        client.fin()
        self.assertEqual(server.to_the_end(), "fin")
        server.send(b"lo\r\n0\r\n\r\n")
        server.fin()
        self.assertEqual(client.to_the_end(), "fin")
        self.assertEqual(client.received, b"lo\r\n0\r\n\r\n")

    def test_a_client_that_resets_resets_the_server(self):
        client, server = self.watch()
        client.reset()
        self.assertEqual(server.to_the_end(), RESET)

    def test_a_clean_end_leaves_the_connection_open(self):
        client, server = self.watch()
        server.send(b"lo\r\n0\r\n\r\n")
        client.until(9)
        self.assertTrue(client.is_silent(0.2))
        client.send(GET)
        server.head()

    def test_a_server_that_answers_and_goes_away_while_a_body_is_sent_is_heard(self):
        client, server = self.road()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
        server.head()
        server.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        server.fin()
        self.assertTrue(client.head().startswith(b"HTTP/1.1 413"))


class Refused(Plain):
    def test_a_server_that_refuses_makes_the_tee_refuse_until_it_listens_again(self):
        server = self.scripted()
        tee = self.tee(server)
        client, there = self.connected(tee, server)
        client.send(GET)
        there.head()
        server.listener.close()
        there.reset()
        self.assertEqual(client.to_the_end(), RESET)
        with self.assertRaises(ConnectionRefusedError):  # not merely broken off: informers tell the two apart
            socket.create_connection((tee.host, tee.port))
        server.listener = socket.create_server(("127.0.0.1", server.port))

        def is_open():
            try:
                socket.create_connection((tee.host, tee.port)).close()
                return True
            except ConnectionRefusedError:
                return False

        wait_for(is_open, "the door")

    def test_a_server_that_is_not_there_at_first_resets_and_then_refuses(self):
        server = self.scripted()
        server.listener.close()
        tee = self.tee(server)
        client = self.client(tee)
        self.assertEqual(client.to_the_end(), RESET)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection((tee.host, tee.port))
        self.assertIn("refuses connections: so does the tee", tee.stderr())


class BackPressure(Plain):
    def test_a_client_that_does_not_read_stops_the_server_and_nobody_else(self):
        server = self.scripted()
        tee = self.tee(server)
        client, there = self.connected(tee, server)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send(GET)
        there.head()
        there.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        there.socket.setblocking(False)
        sent, quiet = 0, 0
        while quiet < 10:  # until it takes no more for a while
            try:
                sent += there.socket.send(b"x" * 65536)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)
        self.assertLess(sent, 64 << 20)
        other, its = self.connected(tee, server)
        other.send(GET)
        its.head()
        its.send(OK_EMPTY)
        other.head()

    def test_a_client_that_reads_again_gets_every_byte(self):
        client, server = self.asked()
        body = bytes(i * 31 % 256 for i in range(1 << 20)) * 16
        server.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        client.head()
        sender = threading.Thread(target=server.send, args=(body,))
        sender.start()
        time.sleep(0.3)
        self.assertEqual(client.until(len(body)), body)
        sender.join()


class Upgrades(Plain):
    ASK = (b"POST /api/v1/namespaces/d/pods/p/exec?command=sh HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
        b"Upgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")

    def test_an_upgraded_connection_is_a_pipe(self):
        client, server = self.asked(self.ASK)
        server.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\nfirst")
        client.head()
        self.assertEqual(client.until(5), b"first")
        for i in range(10):
            said = struct.pack(">I", i) + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\x00\xff" * i
            client.send(said)
            self.assertEqual(server.until(len(said)), said)
            server.send(said[::-1])
            self.assertEqual(client.until(len(said)), said[::-1])
        client.fin()
        self.assertEqual(server.to_the_end(), "fin")

    def test_where_an_upgrade_is_refused_http_goes_on(self):
        client, server = self.asked(self.ASK)
        refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
        server.send(refusal)
        self.assertEqual(client.until(len(refusal)), refusal)
        client.send(GET)
        self.assertIn(b"Host: 127.0.0.1", server.head())

    def test_what_a_client_sends_before_it_is_answered_waits_for_the_answer(self):
        client, server = self.road()
        client.send(self.ASK + b"eager")
        server.head()
        self.assertTrue(server.is_silent(0.2))
        server.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        self.assertEqual(server.until(5), b"eager")


if __name__ == "__main__":
    unittest.main()
