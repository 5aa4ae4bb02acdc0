"""What a server should not send, but once did or may: kept when it can be kept, told of when it cannot, and nothing else
is lost by it."""

import unittest

from recording import RecordTest, query
from waiting import wait_for

NAMED = b'"name":"a","namespace":"default","uid":"u"'


def event(metadata, more=b""):
    return b'{"kind":"Pod","apiVersion":"v1","metadata":' + metadata + more + b"}"


# Each is an event like any other; RV stands for the next resourceVersion.
KEPT = {
    "without metadata": b'{"kind":"Pod","apiVersion":"v1"}',
    "with empty metadata": event(b"{}"),
    "with metadata that is null": event(b"null"),
    "without a name": event(b'{"uid":"u","resourceVersion":"RV"}'),
    "without a uid": event(b'{"name":"a","namespace":"default","resourceVersion":"RV"}'),
    "without a resourceVersion": event(b"{" + NAMED + b"}"),
    "with a number as resourceVersion": event(b"{" + NAMED + b',"resourceVersion":RV}'),
    "with a word as resourceVersion": event(b"{" + NAMED + b',"resourceVersion":"abc"}'),
    "with zeros before the resourceVersion": event(b"{" + NAMED + b',"resourceVersion":"000RV"}'),
    "with a key twice": event(b'{"name":"z",' + NAMED + b',"resourceVersion":"RV"}'),
    "with bytes that are no UTF-8": event(b"{" + NAMED + b',"resourceVersion":"RV"}', b',"x":"\xff\xfe"'),
    "with half a surrogate pair": event(b"{" + NAMED + b',"resourceVersion":"RV"}', b',"x":"\\ud800"'),
    "with a zero byte in its name": event(b'{"name":"a\\u0000b","uid":"u","resourceVersion":"RV"}'),
    "with blanks everywhere": b'{ "metadata" : { "name" : "a" , "uid" : "u" , "resourceVersion" : "RV" } }',
    "of ten megabytes": event(b"{" + NAMED + b',"resourceVersion":"RV"}', b',"x":"' + b"y" * 10_000_000 + b'"'),
}

# Each ends the watch, and a list shows what follows.
TOLD = {
    b"hello": "expected an object, found 'h'",
    b"[1]": "expected an object, found '['",
    b'{"type":"ADDED"}': "'object' is no object",
    b'{"type":"ADDED","object":null}': "'object' is no object",
    b'{"type":"ADDED","object":[1]}': "'object' is no object",
    b'{"type":"ADDED","object":{"metadata":{"name":"' + b"a" * 5000 + b'"}}}': "5000 bytes, the maximum is 4096",
    b'{"type":"ADDED","object":' + b'{"a":' * 2000 + b"1" + b"}" * 2001: "nested deeper than 1000",
}


class Oddities(RecordTest):
    def watched(self, number):
        """A recording of its own, and its one watch."""
        self.tape = f"{self.folder}/{number}.tape"
        self.pods.watching(0)
        recording = self.record().ready(1)
        self.pods.watching()
        return recording

    def test_odd_events_are_kept_byte_for_byte_and_the_watch_goes_on(self):
        for number, (what, text) in enumerate(KEPT.items()):
            with self.subTest(what):
                recording = self.watched(number)
                text = text.replace(b"RV", str(self.api.next_rv()).encode())
                self.pods.disturb(lambda x, t=text: x.frame("ADDED", t))
                self.pods.put("next")
                recording.wait_events(1, "name='next' AND origin='watch'")
                recording.stop()
                self.assertEqual(recording.ends(), ["client_stop"])
                found = query(self.tape, "SELECT hex(object) AS h FROM events WHERE name<>'next'")
                self.assertEqual([row["h"] for row in found], [text.hex().upper()])
                self.pods.delete("next")

    def test_what_is_no_event_is_told_of_kept_as_a_tail_and_costs_nothing_else(self):
        for number, (text, says) in enumerate(TOLD.items()):
            with self.subTest(text[:40]):
                recording = self.watched(number)
                self.pods.disturb(lambda x, t=text: x.chunk(t + b"\n"))
                self.pods.put("next")
                recording.wait_events(1, "name='next'")
                recording.stop()
                self.assertIn(says, recording.stderr)
                rows = query(self.tape, "SELECT end_reason, hex(tail) AS h FROM connections WHERE end_reason='bad_frame'")
                self.assertEqual(rows, [{"end_reason": "bad_frame", "h": text.hex().upper()}])
                self.pods.delete("next")

    def test_an_event_beyond_the_limit_is_one_row_and_one_sentence(self):
        nodes = self.api.add("nodes", "Node", namespaced=False)
        recording = self.record("pods", "nodes").ready(2)
        self.pods.watching()
        self.pods.disturb(lambda x: x.frame("ADDED", event(b"{" + NAMED + b"}", b',"x":"' + b"y" * (65 << 20) + b'"')))
        nodes.put("n")
        self.pods.put("next")
        recording.wait_events(2)
        recording.stop()
        self.assertIn("pods: watch ended: bad_frame: event is larger than 67108864 bytes; trying again", recording.stderr)
        self.assertEqual(sorted(recording.ends()), ["bad_frame", "client_stop", "client_stop"])

    def test_bookmarks_without_a_resource_version_move_nothing(self):
        self.pods.put("a")
        recording = self.watched("bookmarks")
        for metadata in (b"{}", b'{"resourceVersion":""}', b"null"):
            self.pods.disturb(lambda x, m=metadata: x.frame("BOOKMARK", event(m)))
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], "1001")
        self.pods.put("b")
        recording.wait_events(2)
        self.assertEqual(recording.query("SELECT count(*) AS n FROM bookmarks"), [{"n": 3}])

    def test_an_impossible_resource_version_begins_an_epoch_and_the_real_ones_go_on(self):
        for number, rv in enumerate(("0", "123456789012345678901234567890")):
            with self.subTest(rv):
                recording = self.watched(number)
                self.pods.disturb(lambda x, v=rv: x.frame("ADDED", event(b"{" + NAMED + b',"resourceVersion":"%s"}' % v.encode())))
                self.pods.put("next")
                recording.wait_events(1, "name='next'")
                self.pods.watching()
                self.pods.put("last")
                recording.wait_events(1, "name='last'")
                recording.stop()
                self.assertIn("resourceVersion of pods went back from ", recording.stderr)
                self.assertEqual(recording.query("SELECT how_ended FROM gaps"), [{"how_ended": "epoch"}])
                self.pods.delete("next")
                self.pods.delete("last")


if __name__ == "__main__":
    unittest.main()
