"""API servers that mean harm, or are broken beyond measure: the recorder stays within its memory, asks no faster than it
should, goes on recording what else there is, and the tape is sound."""

import gzip
import os
import subprocess
import threading
import unittest

from fake_apiserver import encode, status
from recording import KUBETAPE, RecordTest, is_sanitized
from waiting import PATIENCE_S, wait_for

MB = 1 << 20
# What the recorder takes for itself, libraries included, and for the open extent (64 MB in its forms).
BASE_MB = 180
# LIMIT_UNFINISHED_BYTES: frames and items that are not whole.
UNFINISHED_MB = 256
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def pod(name, rv=5000, text=""):
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": name, "namespace": "n", "uid": "u-" + name, "resourceVersion": str(rv)}, "spec": {"x": text}}


def page(items, token="", rv=1000, kind="PodList"):
    metadata = {"resourceVersion": str(rv), **({"continue": token} if token else {})}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items}


class Hostile(RecordTest):
    def setUp(self):
        super().setUp()
        self.nodes = self.api.add("nodes", "Node", namespaced=False)

    def peak_mb(self, recording):
        with open(f"/proc/{recording.process.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def assert_within(self, recording, mb):
        """Allocators of sanitizers keep what is freed."""
        if not is_sanitized():
            self.assertLess(self.peak_mb(recording), mb)

    def assert_goes_on(self, recording):
        """The neighbour of what went wrong is recorded."""
        name = f"still-{self.api.next_rv()}"
        self.nodes.put(name)
        recording.wait_events(1, f"name='{name}'")

    def assert_sound(self, recording, code=0):
        self.assertEqual(recording.stop(), code, recording.stderr)
        done = subprocess.run([KUBETAPE, "verify", self.tape], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("Sanitizer", recording.stderr)


class Lists(Hostile):
    def begin(self, handler):
        """A recording of nodes, and of pods whose lists are answered by the handler."""
        self.pods.broken = lambda x: handler(x) if "watch" not in x.request.query else self.pods.watch(x)
        recording = self.record("pods", "nodes")
        wait_for(lambda: self.nodes.running, "the watch of nodes")
        return recording

    def ends(self, recording):
        return [r["end_reason"] for r in recording.query("SELECT end_reason FROM connections WHERE purpose='list' AND "
                                                         "resource='pods' AND end_reason IS NOT NULL ORDER BY connection")]

    def test_a_continue_token_that_comes_again_ends_the_list(self):
        def answer(x):
            x.json(page([pod("a")], "same") if "limit" in x.request.query else page([pod("a"), pod("b")]))

        recording = self.begin(answer)
        recording.ready(2)
        self.assertEqual(recording.events("resource='pods'"), ["ADDED a 5000 list", "ADDED b 5000 list"])
        self.assertEqual(self.ends(recording), ["complete", "bad_frame", "complete"])
        self.assertIn("pods: cannot list: list does not end: the next page has the continue token of this one", recording.stderr)
        self.assert_goes_on(recording)
        self.assert_sound(recording)

    def test_pages_that_bring_nothing_new_are_not_followed_for_ever(self):
        for number, items in enumerate(([], [pod("a")])):
            with self.subTest(len(items)):
                self.tape = os.path.join(self.folder, f"{number}.tape")
                self.pods.requests = []
                before = len(self.api.requests)
                recording = self.begin(lambda x, i=items: x.json(page(i, f"token-{self.api.next_rv()}")))
                wait_for(lambda r=recording: self.ends(r).count("bad_frame") >= 3, "three failures")
                lists = [r for r in self.api.requests[before:] if r.path.endswith("/pods")]
                self.assertLess(len(lists), 30)
                self.assertIn("pods: cannot list: list does not end: 3 pages in a row had nothing new", recording.stderr)
                self.assert_goes_on(recording)
                self.assert_sound(recording)
                self.nodes.watching(0)

    def test_a_page_that_is_cut_is_asked_for_again_and_nothing_is_recorded_twice(self):
        data = encode(page([pod(f"p{i}") for i in range(50)]))
        cuts = [len(data) // 3, 2 * len(data) // 3, len(data) - 5]

        def answer(x):
            if cuts:
                x.raw(HEAD + b"Content-Length: %d\r\n\r\n" % len(data) + data[:cuts.pop(0)])
                x.cut()
            x.body(data)

        recording = self.begin(answer)
        recording.ready(2)
        self.assertEqual(recording.events("resource='pods'"), [f"ADDED p{i} 5000 list" for i in range(50)])
        self.assertEqual(self.ends(recording), ["cut", "cut", "cut", "complete"])
        self.assert_sound(recording)

    def test_what_a_cut_relist_has_shown_is_missed_once(self):
        recording = self.record("pods", "nodes").ready(2)
        self.pods.watching()
        for i in range(20):
            self.pods.put(f"p{i}")
        recording.wait_events(20)
        self.pods.disturb(lambda x: x.end())

        def cut(x):
            items = [self.pods.item(v) for v in self.pods.objects.values()]
            data = encode(page(items, rv=self.api.rv))
            x.raw(HEAD + b"Content-Length: %d\r\n\r\n" % len(data) + data[:len(data) // 2])
            x.cut()

        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable")
        self.pods.watching(0)
        for i in (2, 5, 17):
            self.pods.put(f"p{i}")
        self.pods.compact()
        self.pods.on_list(cut, cut)
        self.pods.broken = None
        wait_for(lambda: recording.query("SELECT 1 FROM gaps WHERE how_ended='relist'"), "the relist")
        row = recording.query("SELECT modified, added, deleted, recreated, unchanged FROM gaps WHERE how_ended='relist'")
        self.assertEqual(row, [{"modified": 3, "added": 0, "deleted": 0, "recreated": 0, "unchanged": 17}])
        self.assertEqual(len(recording.events("origin='relist'")), 3)
        self.assert_sound(recording)

    def test_a_page_of_hundreds_of_megabytes_is_taken_in_without_being_held(self):
        text, count = "y" * MB, 60 if is_sanitized() else 400

        def answer(x):
            x.start()
            x.chunk(b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[')
            for i in range(count):
                x.chunk((b"," if i else b"") + encode(self.pods.item(pod(f"p{i}", text=text))))
            x.chunk(b"]}")
            x.end()

        recording = self.begin(answer)
        recording.ready(2)
        self.assertEqual(recording.query("SELECT count(*) AS n FROM events WHERE resource='pods'"), [{"n": count}])
        self.assert_within(recording, BASE_MB)
        self.assert_goes_on(recording)
        self.assert_sound(recording)

    def test_items_that_never_end_share_what_may_be_held(self):
        """Twelve lists at a time, each of one item that grows and grows."""
        names = [f"things{i}" for i in range(12)]
        things = [self.api.add(name, f"Thing{i}", group="example.com") for i, name in enumerate(names)]

        def answer(x):
            x.start()
            x.chunk(b'{"kind":"ThingList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1000"},"items":[{"x":"')
            for _ in range(70):
                x.chunk(b"y" * MB)
            x.cut()

        for thing in things:
            thing.broken = answer
        recording = self.record("nodes", *names)
        recording.wait_events(0)  # there is a tape by then
        wait_for(lambda: recording.query("SELECT count(*) AS n FROM connections WHERE purpose='list' AND end_reason='bad_frame'")[0]["n"] >= 12,
                 "every list given up", 5 * PATIENCE_S)  # 840 MB, through a sanitizer
        self.assertRegex(recording.stderr, r"unfinished items of all lists are larger than 268435456 bytes|an item of the list, after 0, is larger")
        self.assert_within(recording, BASE_MB + UNFINISHED_MB)
        self.assert_goes_on(recording)
        self.assert_sound(recording)

    def test_lists_that_are_odd_throughout(self):
        blanks = b" " * MB

        def endless(x):
            x.start()
            x.chunk(b'{"kind":"PodList","apiVersion":"v1","items":[')
            for _ in range(80):
                x.chunk(blanks)
            x.cut()

        odd = [
            endless,
            lambda x: x.body(b'{"items":[' + b"[" * 5000 + b"]" * 5000 + b"]}"),
            lambda x: x.body(b'{"items":[1,2,{}],"kind":"PodList","metadata":{"resourceVersion":"1000"}}'),
            lambda x: x.body(b'{"a":' * 3000 + b"1" + b"}" * 3000),
            lambda x: x.body(gzip.compress(b" " * 20 * MB), headers=["Content-Encoding: gzip"]),
            lambda x: x.body(b"\0" * 5000), lambda x: x.body(b""), lambda x: x.body(b"null"),
            lambda x: x.json({"kind": "PodList", "metadata": {"resourceVersion": "9" * 5000}, "items": []}),
            lambda x: x.json({"kind": "PodList", "metadata": {"resourceVersion": "1000", "continue": "c" * 2 * MB}, "items": [pod("a")]}),
            lambda x: x.body(b"e" * 3 * MB, code=500),
        ]
        for number in range(0, len(odd), 4):
            self.tape = os.path.join(self.folder, f"{number}.tape")
            left = odd[number:number + 4]
            count = len(left)
            recording = self.begin(lambda x, o=left: o.pop(0)(x) if o else self.pods.list(x))
            recording.ready(2, 180)
            self.assertEqual(len(self.ends(recording)), count + 1)
            self.assert_within(recording, BASE_MB)
            self.assert_goes_on(recording)
            self.assert_sound(recording)
            self.nodes.watching(0)


class Answers(Hostile):
    def test_heads_that_never_end_are_given_up(self):
        def headers(x):
            x.raw(b"HTTP/1.1 200 OK\r\n")
            for i in range(200):
                x.raw(b"".join(b"X-%d-%d: %s\r\n" % (i, k, b"h" * 200) for k in range(200)))

        def interim(x):
            while True:
                x.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000)

        def trailers(x):
            x.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
            while True:
                x.raw(b"X-Trailer: %s\r\n" % (b"t" * 1000))

        self.pods.on_list(headers, interim, trailers)
        recording = self.record("pods", "nodes").ready(2)
        self.assert_within(recording, BASE_MB)
        self.assert_goes_on(recording)
        self.assert_sound(recording)

    def test_documents_of_discovery_share_what_may_be_held_and_leave_the_core_groups_room(self):
        sent = threading.Semaphore(0)

        def large(x):
            try:
                x.body(b'{"kind":"APIResourceList","resources":[],"x":"' + b"y" * 20 * MB + b'"}')
            finally:
                sent.release()

        def core(x):
            for _ in range(16):
                sent.acquire(timeout=60)
            x.json(self.api.resource_list("", "v1"))

        self.api.handlers["/api/v1"] = core
        for i in range(16):
            self.api.add("things", "Thing", group=f"g{i}.example.com")
            self.api.handlers[f"/apis/g{i}.example.com/v1"] = large
        self.api.aggregated = False
        recording = self.record("pods", "nodes").ready(2)
        self.assert_within(recording, BASE_MB + 250)
        self.assert_goes_on(recording)
        self.assert_sound(recording)

    def test_a_token_goes_nowhere_else(self):
        """Redirects are answers like others."""
        token = os.path.join(self.folder, "token")
        with open(token, "w", encoding="utf-8") as f:
            f.write("tok-71c2\n")
        other = type(self.api)()
        self.addCleanup(other.__exit__)
        other.listen()
        for code in (301, 302, 303, 307, 308):
            self.pods.on_list(lambda x, c=code: x.body(b"", code=c, headers=[f"Location: {other.url}/api/v1/pods"]))
        recording = self.record("pods", "nodes", "--token-file", token).ready(2)
        self.assertEqual(other.requests, [])
        self.assertIn("Bearer tok-71c2", {r.headers.get("authorization") for r in self.api.requests})
        self.assert_sound(recording)


class Watches(Hostile):
    def setUp(self):
        super().setUp()
        self.recording = self.record("pods", "nodes").ready(2)
        self.pods.watching()
        self.nodes.watching()

    def test_events_of_sixty_megabytes_each(self):
        count = 4 if is_sanitized() else 20
        text = "y" * 60 * MB

        def flood(x):
            for i in range(count):
                x.frame("ADDED", pod("big", 5000 + i, text))

        self.pods.disturb(flood)
        self.recording.wait_events(count, "name='big'", 180)
        self.assert_within(self.recording, BASE_MB + 250)
        self.assert_goes_on(self.recording)
        self.assert_sound(self.recording)

    def test_a_flood_of_bookmarks(self):
        def flood(x):
            for k in range(100):
                x.chunk(b"".join(b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}\n'
                                 % (5000 + 1000 * k + i) for i in range(1000)))
            x.frame("ADDED", pod("after", 900_000))

        self.pods.disturb(flood)
        self.recording.wait_events(1, "name='after'")
        self.assertEqual(self.recording.query("SELECT count(*) AS n FROM bookmarks"), [{"n": 100_000}])
        self.assert_within(self.recording, BASE_MB)
        self.assert_goes_on(self.recording)
        self.assert_sound(self.recording)

    def test_lines_that_never_end_on_many_watches(self):
        names = [f"things{i}" for i in range(8)]
        things = [self.api.add(name, f"Thing{i}", group="example.com") for i, name in enumerate(names)]
        self.recording.stop()
        recording = self.record("nodes", *names).ready(9)

        def line(x):
            x.chunk(b'{"type":"ADDED","object":{"x":"')
            for _ in range(60):
                x.chunk(b"y" * MB)
            x.hang()

        for thing in things:
            thing.watching()
            thing.disturb(line)
        wait_for(lambda: recording.query("SELECT 1 FROM connections WHERE end_reason='bad_frame'"), "a watch given up", 120)
        self.assert_goes_on(recording)
        self.assertIn("unfinished events of all resources are larger than 268435456 bytes", recording.stderr)
        self.assert_within(recording, BASE_MB + UNFINISHED_MB)
        self.assert_sound(recording)

    def test_error_frames_without_end(self):
        def errors(x):
            for i in range(2000):
                x.frame("ERROR", status(500 + i % 5, "InternalError", "m" * 1000))

        self.pods.disturb(errors)
        wait_for(lambda: self.recording.query("SELECT 1 FROM marks WHERE kind='error'"), "the error")
        self.assert_goes_on(self.recording)
        self.assertEqual(self.recording.query("SELECT count(*) AS n FROM marks WHERE kind='error'"), [{"n": 1}])
        self.assert_sound(self.recording)


if __name__ == "__main__":
    unittest.main()
