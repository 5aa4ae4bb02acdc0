"""Where a replay begins and ends: positions that are not on the tape, what was not watched there, gaps that are over by then."""

import json
import os
import subprocess
import unittest

from replays import KUBETAPE, NODES, PODS, T0, Case, Tape, obj

GAPS = 40
BEGIN = "2027-01-15T08:00:00.000000000Z"


def many_gaps():
    """Pods listed at 20, then one a second of versions 21, 22, ...; each came with a relist after a gap of half a second."""
    tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(NODES, 20, [obj(NODES, "n", 6)])
    for i in range(GAPS):
        tape.event(i + 1, PODS, "ADDED", obj(PODS, "p%d" % i, 21 + i), origin="relist")
        tape.lines.append({"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": T0 + int((i + 0.6) * 1e9),
            "end_ns": T0 + int((i + 1.1) * 1e9), "duration_ns": 500000000, "begin_seq": i + 2, "end_seq": i + 3,
            "from_rv": str(20 + i), "to_rv": str(21 + i)})
    return tape


class BoundsTest(Case):
    def errors(self, r, words=""):
        return [line for line in r.stderr().splitlines() if words in line]

    def run_once(self, tape, *options):
        """(exit code, warnings) of a replay of nothing but `true`."""
        done = subprocess.run([KUBETAPE, "replay", self.path(tape), "--plain", *options, "--", "true"], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, [line.split(" warn ", 1)[1] for line in done.stderr.splitlines() if " warn " in line]

    def path(self, tape):
        path = "%s/%d.tape" % (self.folder, len(os.listdir(self.folder)))
        return tape.write(path)

    def test_gaps_before_the_beginning_are_history(self):
        r = self.replay(many_gaps(), "--from", "end", "--wait-watchers", "0")
        self.assertEqual(len(r.get("/api/v1/pods")[1]["items"]), GAPS + 1)
        self.assertEqual(self.errors(r, "recorded gap"), [])
        self.assertEqual(len(self.errors(r, "recorded faults were over before event")), 1)
        # What the last of them expired stays so.
        with r.watch("/api/v1/pods?watch=1&resourceVersion=%d" % (19 + GAPS)) as w:
            self.assertEqual(w.next()["object"]["code"], 410)
        with r.watch("/api/v1/nodes?watch=1&resourceVersion=20") as w:
            self.assertEqual(r.get("/kubetape/v1/status")[1]["watches"], 1)

    def test_a_gap_that_is_not_over_at_the_beginning_happens(self):
        r = self.replay(many_gaps(), "--from", "+39.7s", "--wait-watchers", "0")
        self.assertEqual(len(self.errors(r, "'recorded gap %d: reset' at event" % GAPS)), 1)
        self.assertEqual(self.errors(r, "'recorded gap %d: reset' at event" % (GAPS - 1)), [])

    def test_going_back_does_not_repeat_the_gaps_before(self):
        r = self.replay(many_gaps(), "--wait-watchers", "100")
        for to in ("seq:30", "seq:20"):
            self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=" + to)[0], 200)
        back = r.stderr().split("recorded faults were over before event 20", 1)[1]
        self.assertNotIn("recorded gap", back)

    def test_jumping_ahead_does_not_play_the_gaps_on_the_way(self):
        r = self.replay(many_gaps(), "--wait-watchers", "100")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=seq:30")[0], 200)
            self.assertEqual([e["object"]["metadata"]["name"] for e in w.take(28)], ["p%d" % i for i in range(28)])
            self.assertNotIn("recorded gap", r.stderr())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=40") as w:
            self.assertEqual(w.next()["object"]["code"], 410)

    def test_a_position_that_is_not_on_the_tape_is_told_and_is_exit_code_3(self):
        for options, words in ((["--from", "7:00"], f"--from: '7:00' is 2027-01-15T07:00:00.000000000Z, 1h00m before the beginning of the tape, which goes from {BEGIN} (event 1)"),
                (["--from", "now"], "before the beginning of the tape"), (["--until", "+1h"], "--until: '+1h' is 2027-01-15T09:00:00.000000000Z, 59m19s after the end of the tape"),
                (["--until", "seq:99"], "--until: 'seq:99' lies after the end of the tape")):
            code, warnings = self.run_once(many_gaps(), *options)
            self.assertEqual((code, len(warnings)), (3, 1), warnings)
            self.assertIn(words, warnings[0])
            self.assertEqual(self.run_once(many_gaps(), *options, "--lenient")[0], 0)
        self.assertEqual(self.run_once(many_gaps(), "--from", "+10.3s", "--until", "end"), (0, []))

    def test_a_beginning_inside_a_gap_is_one_warning(self):
        self.assertEqual(self.run_once(many_gaps(), "--from", "+5.8s"),
            (0, ["the recorder did not watch pods where this replay begins: the last state seen is served"]))

    def test_a_resource_that_is_not_followed_any_more_is_told_as_well(self):
        tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(NODES, 20, [obj(NODES, "n", 6)])
        for stream, at, seconds in ((PODS, 0, 5), (NODES, 0, 5), (NODES, 10, 20)):
            tape.lines.append({"connection": "watch", "stream": stream, "begin_ns": T0 + int(at * 1e9), "duration_ns": int(seconds * 1e9),
                "http_status": 200, "end_reason": "client_stop"})
        tape.event(20, NODES, "MODIFIED", obj(NODES, "n", 30))
        self.assertEqual(self.run_once(tape, "--from", "+20s"),
            (0, ["the recorder did not watch pods where this replay begins: the last state seen is served"]))
        self.assertEqual(self.run_once(tape, "--from", "+4s"), (0, []))

    def test_seeking_outside_says_so_in_the_answer(self):
        r = self.replay(many_gaps(), "--from", "seq:10", "--until", "seq:30", "--wait-watchers", "100")
        for to, words in (("7:00", "before the beginning of the tape"), ("9:00", "after the end of the tape"), ("seq:5", "before the beginning of this replay, event 10"),
                ("seq:35", "after the end of this replay, event 30")):
            answer = json.loads(r.request("POST", "/kubetape/v1/seek?to=" + to)[2])
            self.assertIn(words, answer["notice"], to)
            done = subprocess.run([KUBETAPE, "ctl", "127.0.0.1:%d" % r.port, "seek", to], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
            self.assertIn(words, done.stderr)
        for to in ("seq:20", "start", "end", "%2B15s"):
            answer = json.loads(r.request("POST", "/kubetape/v1/seek?to=" + to)[2])
            self.assertIsNone(answer["notice"], to)


if __name__ == "__main__":
    unittest.main()
