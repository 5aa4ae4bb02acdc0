"""A replay that breaks its watches, a tee, a client: the run shows just what the faults did."""

import unittest

from fault_case import PODS_FROM_20, FaultCase, Raw, a_day
from http2_raw import Http2
from teeing import Tee, TeeCase

BEFORE_DELETION = ",pods,event=resource='pods' AND type='DELETED'"
# What ends the watch; what the run of the tee calls it, and how the request ended there.
ENDS = [
    ("end", "end", ("complete", "server", None)),
    ("fin", "fin", ("fin", "server", None)),
    ("rst", "rst", ("reset", "server", None)),
    ("cut=20", "cut", ("fin", "server", None)),
    ("error=410", "error", ("complete", "server", None)),
    ("error=500", "error", ("complete", "server", None)),
]
ENDS2 = [
    ("end", "end", ("complete", "server", None)),
    ("rst_stream=7", "rst_stream", ("rst_stream", "server", 7)),
    ("goaway", "goaway", ("goaway", "server", 0)),
]


class Faults(TeeCase, FaultCase):
    def road(self, gap, *options, plain=True):
        """(replay, tee): the replay's clock never starts, steps alone move it."""
        replay = self.replay(a_day(), "--wait-watchers", "100", "--gap", gap, *options, plain=plain)
        tee = Tee(self.folder, None, "--kubeconfig", replay.kubeconfig, tape=self.path("%d.tape" % id(replay)))
        self.addCleanup(tee.end, self)
        return replay, tee

    def watching(self, tee):
        tee.wait_rows("SELECT count(*) FROM requests WHERE verb = 'watch'", [(1,)])

    def check(self, tee, what, end):
        tee.wait_rows("SELECT how, ended_by, h2_error FROM requests WHERE verb = 'watch'", [end])
        tee.wait_rows("SELECT step, what, resource FROM faults", [("watch", what, "pods")])

    def test_over_http1(self):
        for act, what, end in ENDS:
            with self.subTest(act=act):
                replay, tee = self.road("#1,1ev,%s%s" % (act, BEFORE_DELETION))
                watch = Raw(tee, PODS_FROM_20)
                self.addCleanup(watch.close)
                watch.until(b"\r\n\r\n")
                self.step(replay, 1)
                watch.until(b'"21"')
                self.step(replay, 1)
                if end[0] == "complete":
                    watch.to_the_last_chunk()
                else:
                    watch.to_the_end()
                self.check(tee, what, end)
                tee.wait_events(["MODIFIED a 21"])

    def test_over_http2(self):
        for act, what, end in ENDS2:
            with self.subTest(act=act):
                replay, tee = self.road("#1,1ev,%s%s" % (act, BEFORE_DELETION), plain=False)
                client = Http2(tee)
                self.addCleanup(client.close)
                client.get(PODS_FROM_20)
                self.watching(tee)
                self.step(replay, 2)
                self.check(tee, what, end)

    def test_answers_to_requests(self):
        replay, tee = self.road("#1,2ev,fin,http=429" + BEFORE_DELETION)
        watch = Raw(tee, PODS_FROM_20)
        self.addCleanup(watch.close)
        watch.until(b"\r\n\r\n")
        self.step(replay, 1)
        watch.until(b'"21"')
        self.step(replay, 1)
        watch.to_the_end()
        self.assertEqual(tee.get("/api/v1/pods")[0], 429)
        tee.wait_rows("SELECT step, what, detail FROM faults ORDER BY fault", [("watch", "fin", "cut"), ("request", "http", "http_429")])

    def test_a_frame_that_is_left_out_is_none_of_the_tapes(self):
        replay, tee = self.road("#1,1ev,end,compact" + BEFORE_DELETION)
        watch = Raw(tee, PODS_FROM_20)
        self.addCleanup(watch.close)
        watch.until(b"\r\n\r\n")
        self.step(replay, 5)
        watch.to_the_last_chunk()
        again = Raw(tee, PODS_FROM_20.replace("=20", "=21"))
        self.addCleanup(again.close)
        again.to_the_last_chunk()
        tee.wait_rows("SELECT what, detail FROM faults ORDER BY fault", [("end", "server_close_early"), ("error", "error_event:410:Expired")])


if __name__ == "__main__":
    unittest.main()
