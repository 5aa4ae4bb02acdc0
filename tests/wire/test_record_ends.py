"""How requests end, as the tape tells it, and what the recorder does next."""

import os
import signal
import time
import unittest

from recording import RecordTest
from waiting import wait_for


# An object that the server does not have.
GHOST = {"kind": "Pod", "apiVersion": "v1",
         "metadata": {"name": "ghost", "namespace": "n", "uid": "u", "resourceVersion": "9000"}}


class Ends(RecordTest):
    """One way to end each; the recorder goes on at its resume point and loses nothing."""

    def after(self, how):
        """Records, lets `how` happen to the running watch, then one more event; returns the watches' rows."""
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("b")
        recording.wait_events(2)
        self.pods.disturb(how)
        wait_for(lambda: len(self.pods.watches()) >= 2, "the next watch")
        self.pods.put("c")
        events = recording.wait_events(3)
        self.assertEqual([e.split()[1] for e in events], ["a", "b", "c"])
        self.assertEqual(recording.stop(), 0)
        return recording.query("SELECT * FROM connections WHERE purpose='watch' ORDER BY connection")

    def check(self, row, **expected):
        self.assertEqual({k: row[k] for k in expected}, expected)

    def test_a_clean_end_before_its_time(self):
        rows = self.after(lambda x: x.end())
        self.check(rows[0], end_reason="server_close_early", http_status=200, curl_code=0, next_action="rewatch",
                   events=1, last_rv="1002", http_version="1.1")
        self.check(rows[1], start_rv="1002")

    def test_a_connection_closed_inside_the_body(self):
        rows = self.after(lambda x: x.cut())
        self.check(rows[0], end_reason="cut", http_status=200, curl_code=18, os_errno=0)

    def test_a_reset_is_told_with_its_codes(self):
        rows = self.after(lambda x: x.reset())
        self.check(rows[0], end_reason="reset", http_status=200, curl_code=56, os_errno=104)

    def test_a_cut_inside_a_frame_keeps_the_bytes_and_is_no_gap(self):
        rows = self.after(lambda x: x.half_frame_then("ADDED", GHOST, x.cut))
        self.assertEqual(rows[0]["end_reason"], "cut")
        self.assertIn('{"type":"ADDED","object":{"kind":"Pod"', rows[0]["tail"])
        self.assertEqual(self.recordings[0].query("SELECT * FROM gaps"), [])

    def test_an_event_that_was_cut_in_its_middle_is_recorded_once_when_it_comes_again(self):
        def cut_the_next(x):
            self.pods.running.remove(x)  # what is put now comes by this hand only
            value = self.pods.put("cut")
            x.half_frame_then("ADDED", value, x.cut)

        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.disturb(cut_the_next)
        recording.wait_events(2)
        self.pods.watching()
        self.pods.put("b")
        self.assertEqual([e.split()[1] for e in recording.wait_events(3)], ["a", "cut", "b"])
        recording.stop()
        row = recording.query("SELECT * FROM connections WHERE purpose='watch' ORDER BY connection")[0]
        self.check(row, end_reason="cut", last_rv="1001")
        self.assertIn('"name":"cut"', row["tail"])

    def test_a_clean_end_inside_a_frame(self):
        rows = self.after(lambda x: x.half_frame_then("ADDED", GHOST, x.end))
        self.check(rows[0], end_reason="cut_clean_midframe")

    def test_a_last_line_without_line_feed_is_an_event(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.disturb(lambda x: (x.chunk(b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":'
                                             b'{"name":"z","namespace":"n","uid":"u","resourceVersion":"9000"}}}'),
                                     x.end()))
        self.assertEqual(recording.wait_events(1), ["ADDED z 9000"])
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], "9000")

    def test_errors_inside_the_stream(self):
        rows = self.after(lambda x: (x.error(500, "InternalError", "etcdserver: no leader"), x.end()))
        self.check(rows[0], end_reason="error_event:500:InternalError", next_action="rewatch")
        self.assertIn("no leader", rows[0]["error_status"])
        self.assertGreater(rows[0]["next_delay_ns"], 0)

    def test_an_error_without_a_code_is_an_error(self):
        for number, code in enumerate((None, 0)):
            self.tape = f"{self.folder}/{number}.tape"
            recording = self.record().ready(1)
            self.pods.watching()
            self.pods.disturb(lambda x, c=code: (x.frame("ERROR", {"kind": "Status", "reason": "Odd", "code": c}), x.end()))
            wait_for(lambda r=recording: any(r.ends()), "the end of the watch")
            self.assertEqual(recording.ends()[0], "error_event:-1:Odd")
            recording.stop()
            self.pods.watching(0)

    def test_nonsense_is_kept_and_answered_by_a_list(self):
        rows = self.after(lambda x: (x.chunk(b'{"type":"ADDED","object":{]}\n'), x.end()))
        self.check(rows[0], end_reason="bad_frame", next_action="relist")
        self.assertIn('{"type":"ADDED","object":{]}', rows[0]["tail"])

    def test_an_unknown_event_type_is_nonsense(self):
        rows = self.after(lambda x: (x.frame("RENAMED", {"metadata": {}}), x.end()))
        self.check(rows[0], end_reason="bad_frame", next_action="relist")

    def test_frames_after_an_error_do_not_count(self):
        def error_and_more(x):
            x.error(500, "InternalError")
            x.frame("ADDED", GHOST)
            x.end()

        rows = self.after(error_and_more)
        self.check(rows[0], end_reason="error_event:500:InternalError")


class Attempts(RecordTest):
    """Watches that do not come about."""

    def attempt(self, *handlers):
        self.pods.put("a")
        self.pods.on_watch(*handlers)
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("b")
        recording.wait_events(2)
        self.assertEqual(recording.stop(), 0)
        return recording.query("SELECT * FROM connections WHERE purpose='watch' ORDER BY connection")

    def test_statuses_are_kept_with_retry_after(self):
        rows = self.attempt(lambda x: x.text(429, "Too many requests", retry_after=1),
                            lambda x: x.status(503, "ServiceUnavailable", "shutting down"))
        self.assertEqual([r["end_reason"] for r in rows], ["http_429", "http_503", "client_stop"])
        self.assertEqual([r["http_status"] for r in rows], [429, 503, 200])
        self.assertEqual(rows[0]["retry_after_s"], 1)
        self.assertEqual(rows[0]["next_delay_ns"], 1_000_000_000)
        self.assertIn("shutting down", rows[1]["error_status"])
        first, second = self.pods.watches()[:2]
        self.assertGreaterEqual(second.time - first.time, 1.0)

    def test_watches_that_end_as_soon_as_they_stand_are_not_asked_for_in_a_tight_loop(self):
        short = lambda x: (x.start(), x.frame("BOOKMARK", self.pods.bookmark_object(self.api.next_rv())), x.end())
        rows = self.attempt(*[short] * 6)
        self.assertEqual([r["next_delay_ns"] > 0 for r in rows[:6]], [False] * 3 + [True] * 3)

    def test_nobody_sleeps_for_days_because_a_server_says_so(self):
        """However it says so: five minutes are the most."""
        for number, answer in enumerate((lambda x: x.status(429, "TooManyRequests", retry_after=950_000),
                                         lambda x: x.status(429, "TooManyRequests", details={"retryAfterSeconds": 950_000}),
                                         lambda x: (x.start(), x.error(500, "InternalError", details={"retryAfterSeconds": 950_000}), x.end()))):
            self.tape = os.path.join(self.folder, f"{number}.tape")
            self.pods.on_watch(answer)
            recording = self.record().ready(1)
            wait_for(lambda: "trying again in" in recording.stderr, "the end of the watch")
            self.assertEqual(recording.stop(), 0)
            self.assertLessEqual(recording.query("SELECT max(next_delay_ns) AS n FROM connections")[0]["n"], 300 * 10**9)

    def test_a_retry_after_that_is_no_number_of_seconds_is_none(self):
        odd = ("Sat, 21 Nov 2026 23:59:59 GMT", "-5", "1e3", "99999999999999999999")
        rows = self.attempt(*(lambda x, v=value: x.text(429, "Too many requests", retry_after=v) for value in odd))
        self.assertEqual([r["end_reason"] for r in rows], ["http_429"] * 4 + ["client_stop"])
        self.assertEqual([r["retry_after_s"] for r in rows[:-1]], [None] * 4)

    def test_revoked_rights_are_seen_and_asked_about_slowly(self):
        rows = self.attempt(lambda x: x.status(403, "Forbidden", "pods is forbidden"))
        self.assertEqual([r["end_reason"] for r in rows], ["http_403", "client_stop"])
        self.assertGreaterEqual(rows[0]["next_delay_ns"], 6 * 20_000_000)

    def test_a_running_watch_goes_on_although_the_rights_are_revoked(self):
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.broken = lambda x: x.status(403, "Forbidden", "pods is forbidden")
        self.pods.put("a")
        self.assertEqual(recording.wait_events(1), ["ADDED a 1001"])
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: "http_403" in recording.ends(), "the refusal")
        self.pods.put("b")
        self.pods.broken = None
        recording.wait_events(2)
        self.assertEqual(recording.query("SELECT how_ended, from_rv FROM gaps"),
                         [{"how_ended": "rewatch", "from_rv": "1001"}])

    def test_an_answer_that_never_begins(self):
        rows = self.attempt(lambda x: x.cut(), lambda x: x.reset())
        self.assertEqual([r["end_reason"] for r in rows], ["no_response", "no_response", "client_stop"])
        self.assertEqual([r["curl_code"] for r in rows[:2]], [52, 56])

    def test_refused_connections_are_kept_and_the_watch_goes_on_where_it_was(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        self.api.refuse()
        self.pods.disturb(lambda x: x.reset())
        wait_for(lambda: recording.ends().count("refused") >= 2, "refused attempts")
        self.pods.put("b")
        self.api.listen()
        recording.wait_events(2)
        self.assertEqual(len(self.pods.lists()), 1)
        row = recording.query("SELECT * FROM connections WHERE end_reason='refused' LIMIT 1")[0]
        self.assertEqual((row["curl_code"], row["os_errno"], row["http_status"]), (7, 111, 0))
        gap = wait_for(lambda: recording.query("SELECT * FROM gaps WHERE how_ended='rewatch'"), "the gap")[0]
        self.assertEqual((gap["reason"], gap["from_rv"]), ("reset", "1001"))

    def test_one_broken_stream_does_not_stall_another(self):
        nodes = self.api.add("nodes", "Node", namespaced=False)
        self.pods.on_watch(lambda x: x.hang())
        recording = self.record("pods,nodes").ready()
        nodes.watching()
        for _ in range(20):
            nodes.put("n")
        recording.wait_events(20)

    def test_a_list_that_fails_is_tried_again(self):
        self.pods.put("a")
        self.pods.on_list(lambda x: x.status(429, "TooManyRequests", "storage is (re)initializing", retry_after=1),
                          lambda x: x.status(500, "InternalError"),
                          lambda x: x.body(b'{"kind":"PodList","apiVersion":"v1"'))
        recording = self.record().ready(1)
        self.assertEqual(recording.ends("list"), ["http_429", "http_500", "bad_frame", "complete"])
        self.assertEqual(recording.events(), ["ADDED a 1001 list"])

    def test_a_stopped_process_that_wakes_up_goes_on(self):
        recording = self.record().ready(1)
        self.pods.watching()
        recording.process.send_signal(signal.SIGSTOP)
        for _ in range(10):
            self.pods.put("a")
        time.sleep(0.3)  # it must not be able to do anything, however long it is given
        recording.process.send_signal(signal.SIGCONT)
        self.assertEqual(len(recording.wait_events(10)), 10)


if __name__ == "__main__":
    unittest.main()
