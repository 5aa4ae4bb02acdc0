"""No part of a Secret's value reaches the tape, the log, the metrics or a core dump, however the server breaks off,
answers nonsense, or puts the Secret where none belongs."""

import http.client
import os
import re
import resource
import signal
import unittest

import canary
from fake_apiserver import status
from recording import RecordTest, is_sanitized
from waiting import wait_for

FRAME = b'{"type":"ADDED","object":%s}\n' % canary.encode(canary.secret()).encode()
ITEMS = canary.encode([canary.secret(str(i), str(900 + i)) for i in range(3)])


def frame(type_word, value):
    return b'{"type":"%s","object":%s}\n' % (type_word, canary.encode(value).encode())


def list_of(kind="SecretList", metadata='{"resourceVersion":"1000"}', items=ITEMS):
    return f'{{"kind":"{kind}","apiVersion":"v1","metadata":{metadata},"items":{items}}}\n'.encode()


# None of them is an event.
BAD_FRAMES = [
    FRAME[:-2] + b"]\n", FRAME.replace(b"ADDED", b"SYNCED"), FRAME[1:], FRAME[len(FRAME) // 2:],
    FRAME.replace(b"ADDED", canary.VALUE.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"')),
    FRAME.replace(b'"object"', b'"objekt"'), FRAME.replace(b'"object":{', b'"object":[{').replace(b"}\n", b"]}\n"),
    canary.encode(canary.secret()).encode() + b"\n", canary.VALUE.encode() + b"\n",
    FRAME.replace(b'"data":{', b'"data":[').replace(b'},"stringData"', b']],"stringData"'),
]
# None of them is a Secret, and some are events all the same.
ODD_FRAMES = [
    frame(b"BOOKMARK", canary.secret()),
    frame(b"ADDED", {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [{"name": canary.VALUE}],
                     "rows": [{"cells": [canary.VALUE], "object": canary.secret()}]}),
    frame(b"ADDED", {**canary.secret("partial"), "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}),
    frame(b"ADDED", {"kind": "List", "apiVersion": "v1", "items": [canary.secret()]}),
    frame(b"MODIFIED", {"kind": "Wrapped", "apiVersion": "v1", "metadata": {"name": "w"}, "spec": {"of": canary.secret()}}),
    FRAME.replace(b'"stringData"', b'"string\\u0044ata"').replace(b'"data"', b'"d\\u0061ta"').replace(b"kubernetes.io/", b"kubernetes.io\\/"),
]
ERRORS = [
    frame(b"ERROR", canary.secret()),
    frame(b"ERROR", {**status(500, "InternalError", "sorry"), "data": {"p": canary.VALUE}}),
    frame(b"ERROR", {**status(500, "InternalError", "sorry"), "message": {"p": canary.VALUE}, "reason": [canary.VALUE]}),
]
BAD_LISTS = [
    lambda x: x.body(list_of(metadata="{}")),
    lambda x: x.body(list_of(metadata='{"resourceVersion":""}')),
    lambda x: x.body(list_of()[:-9]),
    lambda x: x.body(list_of()[1:]),
    lambda x: x.body(list_of() + canary.VALUE.encode()),
    lambda x: x.body(list_of(), code=203),
    lambda x: x.body(list_of(), code=500),
    lambda x: x.body(canary.VALUE.encode(), code=503, content_type="text/plain"),
    lambda x: x.body(list_of(kind="SecretSet ")),
    lambda x: x.body(list_of(kind=canary.VALUE.replace("\\", "").replace('"', ""))),
    lambda x: x.body(list_of(items='{"a":' + ITEMS + "}")),
    lambda x: x.body(list_of(items=f"[{canary.b64(canary.VALUE)}]")),
    lambda x: x.body(canary.encode(canary.secret()).encode()),
    lambda x: x.body(canary.encode(canary.VALUE).encode()),
    lambda x: x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n" + list_of()[:-40]) or x.cut(),
    lambda x: x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n" + list_of()[:300]) or x.reset(),
]


class Canary(RecordTest):
    def setUp(self):
        super().setUp()
        self.secrets = self.api.add("secrets", "Secret")
        self.dumps = []

    def begin(self, *arguments, **options):
        self.tape = os.path.join(self.folder, f"{len(self.dumps)}{len(self.recordings)}.tape")
        return self.record("secrets", "-v", *arguments, **options)

    def check(self, recording, code=0):
        self.assertEqual(recording.stop(), code, recording.stderr)
        self.dumps.append(recording.stderr)
        tapes = [recording.tape] if os.path.isdir(recording.tape) else []
        canary.assert_nowhere(self, self.folder, tapes, texts=[recording.stderr])

    def through_watches(self, recording, handlers):
        """Each of them is one watch; the recorder must have come back after the last."""
        before = len(self.secrets.watches())
        self.secrets.on_watch(*handlers)
        self.secrets.disturb(lambda x: x.end())
        wait_for(lambda: len(self.secrets.watches()) > before + len(handlers), "all watches")

    def settled(self, send):
        """A handler: the watch stands, and the next one follows it at once."""
        def handler(x):
            x.start()
            x.frame("BOOKMARK", self.secrets.bookmark_object(self.api.rv))
            send(x)
        return handler

    def test_frames_that_are_cut_wherever_it_be(self):
        recording = self.begin().ready(1)
        self.secrets.watching()
        begin, handlers = FRAME.index(b'"annotations"'), []
        ends = [lambda x: x.cut(), lambda x: x.reset(), lambda x: x.end()]
        for number, at in enumerate(range(begin, len(FRAME), 11)):
            handlers.append(self.settled(lambda x, n=at, end=ends[number % 3]: (x.chunk(FRAME[:n]), end(x))))
        self.through_watches(recording, handlers)
        self.check(recording)
        self.assertEqual(recording.events(), [])
        tails = [r["tail"] for r in recording.query("SELECT tail FROM connections WHERE tail IS NOT NULL")]
        self.assertGreater(len(tails), len(handlers) // 3)
        for tail in tails:
            self.assertRegex(tail, r"^redacted: \d+ bytes, digest [0-9a-f]{32}$")

    def test_frames_that_arrive_in_pieces_of_every_size(self):
        recording = self.begin().ready(1)
        self.secrets.watching()

        def pieces(x, data, size):
            for i in range(0, len(data), size):
                x.chunk(data[i:i + size])

        for size in (1, 2, 3, 5, 17, 64):
            data = frame(b"ADDED", canary.secret(f"s{size}", str(self.api.next_rv())))
            self.secrets.disturb(lambda x, d=data, n=size: pieces(x, d, n))
            recording.wait_events(1, f"name='s{size}'")
        self.check(recording)

    def test_frames_that_are_none_or_of_something_else(self):
        recording = self.begin().ready(1)
        self.secrets.watching()
        sends = [lambda x, t=text: (x.chunk(t), x.sock.settimeout(0.2), x.hang()) for text in BAD_FRAMES]
        sends += [lambda x, t=text: (x.chunk(t), x.end()) for text in ODD_FRAMES + ERRORS]
        self.through_watches(recording, [self.settled(send) for send in sends])
        self.check(recording)

    def test_a_recorder_that_is_stopped_in_the_middle_of_a_secret(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            recording = self.begin("--metrics", "0").ready(1)
            self.secrets.watching()
            sent = []
            self.secrets.disturb(lambda x, s=sent: (x.chunk(FRAME[:-20]), s.append(1)))
            wait_for(lambda s=sent: s, "half a frame")
            self.secrets.watching()
            port = int(re.search(r"metrics at http://127\.0\.0\.1:(\d+)", recording.stderr).group(1))
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            client.request("GET", "/metrics")
            self.assertEqual(canary.leaks(client.getresponse().read()), [])
            client.close()
            self.assertEqual(recording.stop(number), 0)
            canary.assert_nowhere(self, self.folder, [recording.tape], texts=[recording.stderr])
            self.secrets.watching(0)

    def test_lists_that_are_none_at_the_start(self):
        for number in range(0, len(BAD_LISTS), 4):
            handlers = BAD_LISTS[number:number + 4]
            self.secrets.on_list(*handlers)
            recording = self.begin().ready(1)
            self.check(recording)
            self.secrets.watching(0)

    def test_lists_that_are_none_after_a_gap(self):
        for number in range(0, len(BAD_LISTS), 4):
            recording = self.begin().ready(1)
            self.secrets.watching()
            before = len(self.secrets.lists())
            self.secrets.on_list(*BAD_LISTS[number:number + 4])
            self.secrets.compact()
            self.secrets.disturb(lambda x: x.end())
            wait_for(lambda n=before: len(self.secrets.lists()) > n + 4, "all lists")
            self.secrets.watching()
            self.check(recording)
            self.secrets.watching(0)

    def test_answers_to_watches_that_are_errors(self):
        recording = self.begin().ready(1)
        self.secrets.watching()
        answers = [lambda x: x.body(FRAME, code=500), lambda x: x.body(canary.VALUE.encode(), code=403, content_type="text/plain"),
                   lambda x: x.status(429, "TooManyRequests", retry_after=0), lambda x: x.json({**status(500, "x", "y"), "data": canary.VALUE}, 500)]
        self.through_watches(recording, answers)
        self.check(recording)
        self.assertIn("TooManyRequests", str(recording.query("SELECT error_status FROM connections WHERE http_status = 429")))

    def test_what_is_kept_stays_kept(self):
        recording = self.begin("--secrets=keep").ready(1)
        self.secrets.watching()
        self.through_watches(recording, [self.settled(lambda x: (x.chunk(FRAME[:-9]), x.cut()))])
        recording.stop()
        self.assertEqual(recording.query("SELECT CAST(tail AS TEXT) AS t FROM connections WHERE tail IS NOT NULL"),
                         [{"t": FRAME[:-9].decode()}])

    def test_a_status_of_the_server_is_kept_as_it_is(self):
        recording = self.begin().ready(1)
        self.secrets.watching()
        said = status(410, "Expired", "too old resource version: 1 (2)")
        self.through_watches(recording, [self.settled(lambda x: (x.frame("ERROR", said), x.end()))])
        recording.stop()
        self.assertEqual(recording.query("SELECT count(*) AS n FROM marks WHERE kind = 'error' AND object LIKE '%too old resource version: 1 (2)%'"),
                         [{"n": 1}])
        self.assertIn("error_event:410:Expired", recording.ends())

    @unittest.skipIf(is_sanitized(), "a sanitizer catches the signal")
    def test_a_crash_leaves_no_core_dump_unless_it_is_asked_for(self):
        pattern = open("/proc/sys/kernel/core_pattern", encoding="utf-8").read()
        if not pattern.startswith("core") or "/" in pattern or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("core dumps go elsewhere here")
        self.addCleanup(signal.signal, signal.SIGQUIT, signal.signal(signal.SIGQUIT, signal.SIG_DFL))  # a shell's background jobs ignore it
        for arguments, dumps in (((), False), (("--core",), True), (("--secrets=keep",), True)):
            recording = self.begin(*arguments, before=["sh", "-c", 'ulimit -c unlimited; cd "$0" && exec "$@"', self.folder]).ready(1)
            recording.stop(signal.SIGQUIT)
            self.assertEqual(any(name.startswith("core") for name in os.listdir(self.folder)), dumps, arguments)
            self.secrets.watching(0)
            for name in os.listdir(self.folder):
                if name.startswith("core"):
                    os.remove(os.path.join(self.folder, name))


if __name__ == "__main__":
    unittest.main()
