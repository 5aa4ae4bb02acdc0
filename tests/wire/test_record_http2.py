"""What only HTTP/2 can do to a watch: streams that are reset, connections that are told to go away, trailers."""

import unittest

from fake_apiserver import Cut
from test_record_access import Access
from waiting import wait_for

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 1, 2, 7, 8, 11


class Http2Test(Access):
    def follow(self, *resources):
        self.certificates()
        server = self.serve_tls(http2=True)
        return self.record(*(resources or ["pods"]), "--certificate-authority", self.path("ca.crt"), server=server)

    def names(self, recording):
        return [row["name"] for row in recording.query("SELECT name FROM events ORDER BY seq")]


class Streams(Http2Test):
    def test_a_reset_of_any_code_is_kept_and_costs_nothing(self):
        recording = self.follow().ready(1)
        codes = [NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM, 99]
        for count, code in enumerate(codes, 1):
            self.pods.watching()
            self.pods.put(f"a{code}")
            recording.wait_events(count)
            self.pods.disturb(lambda x, c=code: x.rst_stream(c))
            wait_for(lambda n=count: len(self.pods.watches()) > n, "the next watch")
        self.pods.watching()
        recording.stop()
        rows = recording.query("SELECT end_reason, h2_error FROM connections WHERE purpose='watch' ORDER BY connection")
        # To libcurl the first is a clean end and the fourth a failed read.
        self.assertEqual([(row["end_reason"], row["h2_error"]) for row in rows[:-1]],
                         [("server_close_early", 0), ("h2_stream", 1), ("h2_stream", 2), ("cut", 0), ("h2_stream", 8),
                          ("h2_stream", 11), ("h2_stream", 99)])
        self.assertEqual(self.names(recording), [f"a{code}" for code in codes])
        self.assertEqual(recording.query("SELECT * FROM missed"), [])

    def test_trailers_behind_a_watch_are_a_clean_end(self):
        recording = self.follow().ready(1)
        self.pods.watching()
        self.pods.put("a")
        self.pods.disturb(lambda x: x.trailers(("x-checksum", "0"), ("x-more", "y")))
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.pods.watching()
        self.pods.put("b")
        recording.wait_events(2)
        recording.stop()
        self.assertEqual(recording.ends(), ["server_close_early", "client_stop"])
        self.assertEqual(self.names(recording), ["a", "b"])


    def test_a_server_that_lets_few_requests_share_a_connection_gets_more_connections(self):
        self.api.max_streams = 5
        things = [self.api.add(f"things{i}", "Thing", "x.example.com", custom=True) for i in range(40)]
        recording = self.follow(*(t.plural for t in things)).ready(40)
        for t in things:
            t.watching()
            t.put("a")
        recording.wait_events(40)
        self.assertEqual(recording.query("SELECT * FROM connections WHERE end_reason<>'complete' AND purpose='watch'"), [])
        self.assertLess(self.api.connections, 40)


class GivenUp(Http2Test):
    """An idle connection is closed by a server that has not seen yet what was just asked for over it."""

    def give_up(self, x):
        x.goaway(max(x.stream - 2, 0))
        raise Cut()

    def overtaken(self, times):
        """A recording, ended, of which this many watches after the first are overtaken; what it says of its watches."""
        recording = self.follow().ready(1)
        self.pods.watching()
        self.pods.put("a")
        recording.wait_events(1)
        self.pods.on_watch(*[self.give_up] * times)
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == times + 2, "the watch after them")
        self.pods.watching()
        self.pods.put("b")
        recording.wait_events(2)
        recording.stop()
        rows = recording.query("SELECT end_reason, next_delay_ns FROM connections WHERE purpose='watch' ORDER BY connection")
        return recording, [tuple(row.values()) for row in rows]

    def test_a_watch_that_a_goaway_overtakes_is_asked_for_again_at_once(self):
        recording, watches = self.overtaken(1)
        self.assertEqual(watches, [("server_close_early", 0), ("goaway", 0), ("client_stop", None)])
        self.assertEqual(recording.query("SELECT * FROM gaps"), [])
        self.assertNotIn("trying again", recording.stderr)

    def test_one_that_is_overtaken_again_waits(self):
        recording, watches = self.overtaken(2)
        waits = [(reason, delay and delay > 0) for reason, delay in watches]
        self.assertEqual(waits, [("server_close_early", 0), ("goaway", 0), ("goaway", 1), ("client_stop", None)])
        self.assertEqual([row["how_ended"] for row in recording.query("SELECT how_ended FROM gaps")], ["rewatch"])


class Goaway(Http2Test):
    def setUp(self):
        super().setUp()
        self.things = [self.api.add(f"things{i}", "Thing", "x.example.com", custom=True) for i in range(100)]
        self.recording = self.follow(*(t.plural for t in self.things)).ready(100)
        self.opened(1)
        self.put("before")
        self.recording.wait_events(100)

    def opened(self, count):
        """Waits until this many watches of each thing have been opened, and stand."""
        wait_for(lambda: sum(len(t.watches()) for t in self.things) >= 100 * count, "watches")
        for t in self.things:
            t.watching()

    def put(self, name):
        for t in self.things:
            t.put(name)

    def running(self):
        """The exchanges that stand, by connection."""
        found = {}
        for t in self.things:
            found.setdefault(t.running[0].connection, []).append(t.running[0])
        return found

    def test_watches_of_a_connection_that_is_told_to_go_away_live_on_and_the_next_ones_come_over_another(self):
        old = self.running()
        for exchanges in old.values():
            exchanges[0].goaway(max(x.stream for x in exchanges))
        self.put("between")
        self.recording.wait_events(200)
        self.assertEqual(sum(len(t.watches()) for t in self.things), 100)
        for t in self.things:
            t.disturb(lambda x: x.end())
        self.opened(2)
        self.put("after")
        self.recording.wait_events(300)
        self.assertFalse(self.running().keys() & old.keys())
        self.recording.stop()
        self.assertEqual(sorted(self.recording.ends()), ["client_stop"] * 100 + ["server_close_early"] * 100)
        self.assertEqual(self.recording.query("SELECT * FROM missed"), [])

    def test_watches_that_a_goaway_gives_up_are_taken_up_again(self):
        old = self.running()
        for exchanges in old.values():
            exchanges[0].goaway(0, ENHANCE_YOUR_CALM)
        self.api.drop_connections([c.sock for c in old])  # the recorder may have opened others by now
        self.opened(2)
        self.put("after")
        self.recording.wait_events(200)
        self.recording.stop()
        self.assertEqual(sorted(self.recording.ends()), ["client_stop"] * 100 + ["goaway"] * 100)
        self.assertEqual(self.recording.query("SELECT * FROM missed"), [])


if __name__ == "__main__":
    unittest.main()
