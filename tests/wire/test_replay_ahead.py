"""Requests for a version that the replay has not reached: which of them wait, and what the others are told."""

import json
import threading
import unittest

from replays import EVENTS, NODES, PODS, Case, Tape, brief, obj

STREAMING = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def a_slow_day():
    """Pods p0..p9 come at versions 31..40, ten seconds apart; nodes and events, of the same counter, stay as they are."""
    tape = Tape()
    for at, (stream, name) in enumerate(((PODS, "a"), (NODES, "n"), (EVENTS, "e"))):
        tape.connection("list", stream, at, 1).listed(stream, 20, [obj(stream, name, 5)], at + 1)
    for i in range(10):
        tape.event(10 + 10 * i, PODS, "ADDED", obj(PODS, "p%d" % i, 31 + i))
    return tape


class AheadTest(Case):
    def step(self, r, count):
        self.assertEqual(r.request("POST", "/kubetape/v1/step?count=%d" % count)[0], 200)

    def in_background(self, ask):
        """Asks in a thread of its own; returns what gives the answer."""
        found = []
        thread = threading.Thread(target=lambda: found.append(ask()))
        thread.start()

        def answer():
            thread.join()
            return found[0]
        return answer

    def assertTooLarge(self, answer, hint):
        status, headers, body = answer
        details = json.loads(body)["details"]
        self.assertEqual((status, details["causes"]), (504, [
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]))
        self.assertEqual((headers.get("Retry-After"), details.get("retryAfterSeconds")), ("1", 1) if hint else (None, None))

    def assertExpired(self, r, path):
        with r.watch(path) as w:
            (error,) = w.rest()
            self.assertEqual((error["type"], error["object"]["code"]), ("ERROR", 410))

    def test_watch_is_silent_until_the_replay_gets_there(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=33") as w, r.watch("/api/v1/pods?watch=1&resourceVersion=20") as all:
            self.step(r, 5)
            self.assertEqual([brief(e)[2] for e in all.take(5)], ["31", "32", "33", "34", "35"])
            self.assertEqual([brief(e)[2] for e in w.take(2)], ["34", "35"])

    def test_watch_of_a_quiet_resource_waits_for_the_versions_of_the_others(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=38&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])

    def test_bookmarks_tell_no_version_before_the_one_that_is_waited_for(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=38&timeoutSeconds=3&allowWatchBookmarks=1") as w:
            self.assertEqual(w.rest(), [])

    def test_what_never_comes_is_told_at_once(self):
        r = self.replay(a_slow_day())
        self.assertExpired(r, "/api/v1/pods?watch=1&resourceVersion=41")
        self.assertTooLarge(r.request("GET", "/api/v1/pods?resourceVersion=41"), hint=False)
        self.assertTooLarge(r.request("GET", "/api/v1/namespaces/default/pods/a?resourceVersion=41"), hint=False)

    def test_what_comes_only_after_the_end_of_the_replay_never_comes(self):
        r = self.replay(a_slow_day(), "--until", "+35s")
        self.assertExpired(r, "/api/v1/pods?watch=1&resourceVersion=36")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=33&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])

    def test_what_was_shown_before_the_replay_went_back_is_not_waited_for(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.step(r, 5)
            w.take(5)
            self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=seq:5")[0], 200)
            self.assertEqual(w.next()["object"]["code"], 410)
        self.assertExpired(r, "/api/v1/pods?watch=1&resourceVersion=35")
        self.assertTooLarge(r.request("GET", "/api/v1/pods?resourceVersion=35"), hint=False)
        with r.watch("/api/v1/pods?watch=1&resourceVersion=36&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])

    def test_list_waits_and_shows_the_version(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=20"):
            answers = [self.in_background(lambda path=path: r.get(path)) for path in ("/api/v1/pods?resourceVersion=33",
                "/api/v1/pods?resourceVersion=33&resourceVersionMatch=Exact", "/api/v1/pods?resourceVersion=33&limit=9")]
            self.step(r, 3)
            for answer in answers:
                status, body = answer()
                self.assertEqual((status, body["metadata"]["resourceVersion"]), (200, "33"))
                self.assertEqual([i["metadata"]["name"] for i in body["items"]], ["a", "p0", "p1", "p2"])

    def test_get_and_streaming_list_wait(self):
        r = self.replay(a_slow_day())
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=20"):
            got = self.in_background(lambda: r.get("/api/v1/namespaces/default/pods/p1?resourceVersion=32"))

            def stream():
                with r.watch("/api/v1/pods?watch=1&timeoutSeconds=9&resourceVersion=32" + STREAMING) as w:
                    return w.take(4)
            streamed = self.in_background(stream)
            self.step(r, 2)
            self.assertEqual(got()[1]["metadata"]["resourceVersion"], "32")
            events = streamed()
            self.assertEqual([e["type"] for e in events], ["ADDED"] * 3 + ["BOOKMARK"])
            self.assertEqual(events[-1]["object"]["metadata"]["resourceVersion"], "32")

    def test_who_waited_in_vain_is_told_to_try_again(self):
        r = self.replay(a_slow_day())
        asked = [self.in_background(lambda path=path: r.request("GET", path)) for path in (
            "/api/v1/pods?resourceVersion=33", "/api/v1/namespaces/default/pods/a?resourceVersion=33")]
        timed_out = self.in_background(lambda: r.request("GET", "/api/v1/pods?resourceVersion=33&timeout=100ms"))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=33" + STREAMING) as w:
            (error,) = w.rest()
            self.assertEqual(error["object"]["details"]["retryAfterSeconds"], 1)
        for answer in asked:
            self.assertTooLarge(answer(), hint=True)
        status, headers, body = timed_out()
        self.assertEqual((status, headers["Content-Type"]), (504, "text/plain; charset=utf-8"))
        self.assertEqual(body, b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the '
            b'allotted timeout","reason":"Timeout","details":{},"code":504}\n')

    def test_events_have_no_cache_that_could_catch_up(self):
        r = self.replay(a_slow_day())
        self.assertTooLarge(r.request("GET", "/api/v1/events?resourceVersion=33"), hint=False)
        with r.watch("/api/v1/events?watch=1&resourceVersion=33&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])

    def test_client_may_leave_while_it_waits(self):
        r = self.replay(a_slow_day())
        for _ in range(3):
            connection = r.connect()
            connection.request("GET", "/api/v1/pods?resourceVersion=33")
            connection.close()
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=20"):
            self.step(r, 3)
            self.assertEqual(r.get("/api/v1/pods?resourceVersion=33")[0], 200)

    def test_silent_waits_for_what_never_comes_as_the_api_server_does(self):
        r = self.replay(a_slow_day(), "--ahead=silent")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=900&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])
        self.assertTooLarge(r.request("GET", "/api/v1/pods?resourceVersion=900"), hint=True)
        self.assertTooLarge(r.request("GET", "/api/v1/events?resourceVersion=900"), hint=False)

    def test_expired_waits_for_nothing(self):
        r = self.replay(a_slow_day(), "--ahead=expired")
        self.assertExpired(r, "/api/v1/pods?watch=1&resourceVersion=33")
        self.assertTooLarge(r.request("GET", "/api/v1/pods?resourceVersion=33"), hint=False)


if __name__ == "__main__":
    unittest.main()
