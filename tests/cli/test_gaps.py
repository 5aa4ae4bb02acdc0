"""kubetape gaps: what the recorder could not see, for people and as JSON."""
import json

from tapes import DEPLOYMENTS, PODS, SECOND, START, TapeTest, event, pod

SPACE_PODS = {**PODS, "namespace": "shop"}


def connection(begin, duration, reason, stream=PODS, purpose="watch", **more):
    return {"connection": purpose, "stream": stream, "begin_ns": START + int(begin * SECOND),
            "duration_ns": int(duration * SECOND), "end_reason": reason, **more}


def gap(reason, how_ended, begin, end, stream=PODS, **more):
    return {"gap": reason, "how_ended": how_ended, "stream": stream, "begin_ns": START + int(begin * SECOND),
            "end_ns": START + int(end * SECOND), "duration_ns": int((end - begin) * SECOND), **more}


def missed(change, gap_id, name, stream=PODS, **more):
    return {"missed": change, "gap_id": gap_id, "stream": stream, "name": name, **more}


class Gaps(TapeTest):
    rows = [
        event(0, "ADDED", pod("web-0", "u1", 100), origin="list"),
        connection(1, 33, "reset", events=5),
        connection(34.5, 0, "refused"),
        connection(36, 0, "refused"),
        connection(38, 0.1, "error_event:410:Expired"),
        connection(39, 0.1, "complete", purpose="list"),
        connection(39.2, 0.1, "cut"),
        gap("reset", "relist", 34, 39.1, from_rv="100", to_rv="300", begin_seq=1, end_seq=3, connection_before=1,
            connection_after=6, recreated=1, modified=1, deleted=1, unchanged=7),
        missed("modified", 1, "a", namespace="shop", uid="u5", old_uid="u5", rv="150", old_rv="90"),
        missed("recreated", 1, "web-0", namespace="shop", uid="u2", old_uid="u1"),
        missed("deleted", 1, "b", namespace="shop", uid="u6", old_uid="u6"),
        gap("server_timeout", "rewatch", 60, 60.1, stream=DEPLOYMENTS),
    ]

    def gaps(self, *args, code=3):
        done = self.run_tape("gaps", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def test_page_tells_why_what_was_tried_and_what_was_missed(self):
        self.assertEqual(self.gaps(), """\
gap 1  pods
  when     2023-11-14T22:13:54.000000000Z to 2023-11-14T22:13:59.100000000Z (5.1s), after event 1
  why      the connection was reset (reset), after 33.0s and 5 events; last version seen 100
  tried    watch refused 2 times, watch error_event:410:Expired
  ended    by listing again, at version 300
  missed   1 recreated, 1 deleted, 1 modified; 7 unchanged
    recreated  pods shop/web-0  uid u1 is now u2
    deleted    pods shop/b
    modified   pods shop/a  version 90 to 150

gap 2  deployments.apps
  when     2023-11-14T22:14:20.000000000Z to 2023-11-14T22:14:20.100000000Z (100ms), after event 0
  why      the watch was over at the time asked for (server_timeout)
  ended    the watch went on where it was: nothing was missed

2 gaps, of which 1 hid 3 changes
""")

    def test_json_has_everything(self):
        got = json.loads(self.gaps("--json"))
        self.assertEqual([g["gap"] for g in got["gaps"]], [1, 2])
        first = got["gaps"][0]
        self.assertEqual({k: first[k] for k in ("resource", "reason", "how_ended", "from_rv", "to_rv", "recreated",
                                                 "modified", "added", "deleted", "unchanged", "duration_ns", "begin")}, {
            "resource": "pods", "reason": "reset", "how_ended": "relist", "from_rv": "100", "to_rv": "300",
            "recreated": 1, "modified": 1, "added": 0, "deleted": 1, "unchanged": 7, "duration_ns": 5100000000,
            "begin": "2023-11-14T22:13:54.000000000Z"})
        self.assertEqual(first["attempts"], [{"purpose": "watch", "reason": "refused", "count": 2},
                                             {"purpose": "watch", "reason": "error_event:410:Expired", "count": 1}])
        self.assertEqual([(m["change"], m["name"], m["uid"], m["old_uid"]) for m in first["missed"]], [
            ("modified", "a", "u5", "u5"), ("recreated", "web-0", "u2", "u1"), ("deleted", "b", "u6", "u6")])
        self.assertEqual(got["gaps"][1]["missed"], [])

    def test_lossy_leaves_out_what_lost_nothing(self):
        self.assertNotIn("deployments", self.gaps("--lossy"))
        self.assertEqual(len(json.loads(self.gaps("--lossy", "--json"))["gaps"]), 1)

    def test_failures_are_sentences(self):
        self.assert_fails(self.run_tape("gaps", self.dir + "/none.tape"), 1, "No such file")
        self.assert_fails(self.run_tape("gaps"), 2, "expected one tape")


class OtherEnds(TapeTest):
    def gaps(self, rows, *args):
        self.make_tape(self.tape, rows)
        return self.run_tape("gaps", self.tape, *args)

    def test_a_tape_without_gaps_is_exit_0(self):
        done = self.gaps([event(0, "ADDED", pod("a", "u1", 1))])
        self.assertEqual((done.returncode, done.stdout),
                         (0, "no gaps: every stream was watched from its first list to the end\n"))

    def test_a_tape_without_streams_is_not_one_that_was_watched(self):
        done = self.gaps([{"document": "/version", "time_ns": START, "http_status": 200, "content_type": "application/json", "body": {}}])
        self.assertEqual((done.returncode, done.stdout), (0, "no gaps: the tape has no streams, so nothing was watched\n"))

    def test_a_gap_that_lost_nothing_is_exit_0(self):
        self.assertEqual(self.gaps([gap("cut", "rewatch", 1, 2)]).returncode, 0)

    def test_a_relist_that_showed_no_difference_says_what_nobody_can_know(self):
        done = self.gaps([gap("cut", "relist", 1, 2, stream=SPACE_PODS, unchanged=4)])
        self.assertEqual(done.returncode, 0)
        self.assertIn("gap 1  pods in namespace shop\n", done.stdout)
        self.assertIn("nothing that can be seen (4 objects unchanged)", done.stdout)

    def test_a_gap_that_never_ended_is_exit_3(self):
        done = self.gaps([gap("http_403", "open", 1, 1)])
        self.assertEqual(done.returncode, 3)
        self.assertIn(", never ended, after event 0", done.stdout)
        self.assertIn("1 gaps, of which 0 hid 0 changes and 1 never ended", done.stdout)
        self.assertIsNone(json.loads(self.run_tape("gaps", self.tape, "--json").stdout)["gaps"][0]["end"])

    def test_a_long_list_is_cut_unless_all_is_asked_for(self):
        rows = [gap("cut", "relist", 1, 2, added=30)] + [
            missed("added", 1, f"p{i:02}", namespace="shop") for i in range(30)]
        done = self.gaps(rows)
        self.assertIn("p19", done.stdout)
        self.assertNotIn("p20", done.stdout)
        self.assertIn("and 10 more (--all)", done.stdout)
        self.assertIn("p29", self.run_tape("gaps", self.tape, "--all").stdout)

    def test_nothing_on_a_tape_steers_the_terminal(self):
        rows = [gap("cut\u001b[31m", "relist", 1, 2, added=1), missed("added", 1, "p\u001b[31m\n")]
        self.assertNotIn("\u001b", self.gaps(rows).stdout)
