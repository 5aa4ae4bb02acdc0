"""Unknown is not none: what commands say where the tape cannot know the answer, and that they end with 3."""
import json
import unittest

from tapes import DEPLOYMENTS, NODES, PODS, SECOND, START, TapeTest, event, pod

SHOP_PODS = {**PODS, "namespace": "shop"}
LABELLED = {**DEPLOYMENTS, "label_selector": "app=web"}


def watch(begin, end, reason="client_stop", stream=PODS, status=200):
    return {"connection": "watch", "stream": stream, "begin_ns": START + int(begin * SECOND), "http_status": status,
            "duration_ns": int((end - begin) * SECOND), "end_reason": reason}


def listed(at, stream=PODS):
    return {"mark": "list", "time_ns": START + int(at * SECOND), "stream": stream, "rv": "10"}


def gap(begin, end, how="relist", reason="reset", stream=PODS, **more):
    return {"gap": reason, "how_ended": how, "stream": stream, "begin_ns": START + int(begin * SECOND),
            "end_ns": START + int(end * SECOND), "duration_ns": int((end - begin) * SECOND), **more}


def node(rv):
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n1", "resourceVersion": str(rv)}}


class CertaintyTest(TapeTest):
    def says(self, args, code, *parts, stdout=None):
        """One line on stderr for each part, which holds it, and nothing else there."""
        done = self.run_tape(*args)
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (code, len(parts)), done.stderr)
        for line, part in zip(lines, parts):
            self.assertTrue(line.startswith(f"kubetape {args[0]}: "), line)
            self.assertIn(part, line)
        if stdout is not None:
            self.assertEqual(done.stdout, stdout)
        return done.stdout


class OfOneNamespace(CertaintyTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), stream=SHOP_PODS, origin="list"), listed(0, SHOP_PODS),
            event(1, "ADDED", node(11), stream=NODES, origin="list"), event(5, "ADDED", pod("web-1", "u2", 12), stream=SHOP_PODS)]

    def test_a_namespace_of_which_nothing_was_recorded_is_not_one_in_which_nothing_happened(self):
        said = "nothing of namespace 'other' was recorded, only of 'shop'"
        self.says(["events", self.tape, "-n", "other"], 3, "no event to show", said, stdout="")
        self.says(["diff-state", self.tape, "1", "end", "-n", "other"], 3, said, stdout="")
        self.says(["report", self.tape, "-n", "other"], 3, said, stdout="")
        for command in (["events", self.tape], ["diff-state", self.tape, "1", "end"], ["report", self.tape]):
            self.says([*command, "-n", "shop"], 0)

    def test_a_namespace_that_is_not_on_a_tape_of_all_is_refused(self):
        self.tape += "2"
        self.make_tape(self.tape, [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), listed(0),
                                   event(5, "ADDED", pod("web-1", "u2", 12))])
        for command in (["diff-state", self.tape, "1", "end"], ["report", self.tape]):
            self.says([*command, "-n", "shpo"], 1, "the tape has no namespace 'shpo', nor an object in it", stdout="")


class OutsideTheTape(CertaintyTest):
    """Events from 22:13:20 to 22:13:29; the watch goes on in silence until 22:13:40."""
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), listed(0),
            event(5, "ADDED", pod("web-1", "u2", 11)), event(9, "MODIFIED", pod("web-1", "u2", 12, spec={"n": 1})), watch(0, 20)]
    SPAN = "which goes from 2023-11-14T22:13:20.000000000Z (event 1) to 2023-11-14T22:13:40.000000000Z (event 3)"

    def test_get_before_the_beginning_says_so(self):
        for at in ("22:13", "22:13:19", "-10m", "2023-11-14", "0001-01-01"):
            self.says(["get", self.tape, "pods", "--at", at], 3, f"before the beginning of the tape, {self.SPAN}", stdout="")
        self.says(["get", self.tape, "pods", "--at", "22:13"], 3, "'22:13' is 2023-11-14T22:13:00.000000000Z, 20.0s before")

    def test_get_after_the_end_says_so_and_shows_the_last_state(self):
        for at in ("22:13:41", "now", "+1h", "9999-12-31", "seq:4", "pods@13"):
            out = self.says(["get", self.tape, "pods", "-o", "name", "--at", at], 3, f"after the end of the tape, {self.SPAN}")
            self.assertEqual(out, "pod/web-0\npod/web-1\n")

    def test_a_silence_of_a_running_watch_belongs_to_the_tape(self):
        for at in ("22:13:30", "22:13:40", "end", "seq:3", "pods@12"):
            self.says(["get", self.tape, "pods", "-o", "name", "--at", at], 0)

    def test_json_on_stdout_stays_json(self):
        for output in ("json", "yaml"):
            done = self.run_tape("get", self.tape, "pods", "-o", output, "--at", "now")
            self.assertEqual((done.returncode, done.stdout), (3, self.run_tape("get", self.tape, "pods", "-o", output).stdout))

    def test_diff_state_says_it_of_both_ends(self):
        self.says(["diff-state", self.tape, "22:13", "end"], 3, "'22:13' is")
        self.says(["diff-state", self.tape, "22:13:21", "22:14"], 3, "'22:14' is")
        self.says(["diff-state", self.tape, "22:13", "22:14"], 3, "before the beginning", "after the end")

    def test_diff_state_never_tells_history_backwards(self):
        forwards = self.says(["diff-state", self.tape, "1", "2"], 0)
        self.assertEqual(forwards, "+ pods shop/web-1\n")
        self.says(["diff-state", self.tape, "2", "1"], 0, "'2' lies after '1': this is what happened from the second to the first",
                  stdout=forwards)

    def test_log_has_bounds_and_says_where_they_are_outside(self):
        out = self.says(["log", self.tape, "pods/web-1", "--from", "22:13:26", "--until", "end"], 0)
        self.assertEqual(out, "2023-11-14T22:13:29.000000000Z MODIFIED pods shop/web-1 rv 12 uid u2\n    + spec: {\"n\":1}\n")
        self.says(["log", self.tape, "pods/web-1", "--from", "22:13"], 3, "before the beginning")
        self.says(["log", self.tape, "pods/web-1", "--until", "now"], 3, "after the end")
        self.assert_fails(self.run_tape("log", self.tape, "pods/web-1", "--until", "22:13:24"), 1,
                          "no event of 'pods/web-1' between these positions")
        self.assert_fails(self.run_tape("log", self.tape, "pods/web-1", "--from", "3", "--until", "1"), 2, "'1' lies before '3'")

    def test_log_of_a_stretch_outside_the_tape_does_not_say_that_nothing_happened(self):
        self.says(["log", self.tape, "pods/web-1", "--from", "2199-01-01"], 3, "no event to show", "after the end", stdout="")
        self.says(["log", self.tape, "pods/web-1", "--until", "1999-01-01"], 3, "no event to show", "before the beginning", stdout="")


class SeveralDays(CertaintyTest):
    rows = [event(i * 86400, "ADDED", pod(f"web-{i}", f"u{i}", 10 + i), origin="watch" if i else "list") for i in range(4)]

    def test_the_first_of_several_days_is_taken_and_told(self):
        self.says(["get", self.tape, "pods", "-o", "name", "--at", "22:14"], 3,
                  "'22:14' is on 3 days of the tape: the first was taken, 2023-11-14T22:14:00.000000000Z", stdout="pod/web-0\n")
        self.says(["get", self.tape, "pods", "-o", "name", "--at", "2023-11-16 22:14"], 0, stdout="pod/web-0\npod/web-1\npod/web-2\n")


class Watches(CertaintyTest):
    """Pods: listed at 2 s, a gap from 10 to 20 s. Nodes: never listed. Deployments: followed by the first recording only."""
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"),
            event(0, "ADDED", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d", "namespace": "shop", "uid": "d", "resourceVersion": "9"}},
                  stream=DEPLOYMENTS, origin="list"),
            listed(0, DEPLOYMENTS), listed(2), event(3, "ADDED", node(11), stream=NODES, origin="list"),
            event(20, "ADDED", pod("web-1", "u2", 12), origin="relist"),
            watch(0, 5, stream=DEPLOYMENTS), watch(2, 10, "reset"), watch(20, 60),
            gap(10, 20.5, begin_seq=3, end_seq=4, added=1)]

    def test_gaps_tells_of_a_stream_that_was_never_listed(self):
        self.tape = self.tape.replace("x.tape", "unlisted.tape")
        self.make_tape(self.tape, [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), listed(0), event(3, "ADDED", node(11), stream=NODES, origin="list"), watch(0, 5)])
        done = self.run_tape("gaps", self.tape)
        self.assertEqual((done.returncode, done.stdout), (3, "1 stream was never listed: what there was is not known\nno gaps are known\n"))
        self.assertEqual(json.loads(self.run_tape("gaps", self.tape, "--json").stdout)["unlisted_streams"], 1)

    def test_events_log_and_report_do_not_show_what_was_never_listed_as_none(self):
        self.tape = self.tape.replace("x.tape", "forbidden.tape")
        self.make_tape(self.tape, [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), listed(0), listed(0, NODES),
                                   event(1, "ADDED", pod("web-1", "u2", 11)), watch(0, 5),
                                   watch(0, 5, "forbidden", stream=DEPLOYMENTS)])
        never = "deployments.apps were never listed: what there was is not known"
        self.says(["events", self.tape, "deploy"], 3, "no event to show", never, stdout="")
        self.says(["events", self.tape, "pods", "-o", "json"], 0)
        self.says(["events", self.tape], 3, never)
        self.says(["log", self.tape, "deploy/web"], 3, never, "no event to show", stdout="")
        self.says(["log", self.tape, "deploy/web", "pods/web-1"], 3, never)
        self.assert_fails(self.run_tape("log", self.tape, "nodes/n1"), 1, "no event of 'nodes/n1'")
        self.assert_fails(self.run_tape("why", self.tape, "deploy/web"), 1, "its resource was never listed, and what there was is not known")
        self.assertIn("never listed: what there was is not known", self.says(["report", self.tape], 3, never))

    def test_get_says_why_a_resource_is_not_known(self):
        get = ["get", self.tape, "-o", "name"]
        self.says([*get, "pods", "--at", "+1s"], 3, "pods were listed first at 2023-11-14T22:13:22.000000000Z: what there was before is not known")
        self.says([*get, "pods", "--at", "+12s"], 3, "pods were not watched from 2023-11-14T22:13:30.000000000Z to 2023-11-14T22:13:40.500000000Z "
                  "(gap 1): what happened meanwhile is not known", stdout="pod/web-0\n")
        self.says([*get, "nodes"], 3, "nodes were never listed: what there was is not known", stdout="node/n1\n")
        self.says([*get, "deploy", "--at", "+4s"], 0)
        self.says([*get, "deploy", "--at", "+6s"], 3, "deployments.apps were not followed after 2023-11-14T22:13:25.000000000Z: what happened since")
        self.says([*get, "pods"], 0)
        self.says([*get, "pods", "--at", "4"], 0)

    def test_get_of_what_is_not_known_does_not_say_that_there_is_nothing(self):
        self.says(["get", self.tape, "pods", "-n", "other", "--at", "+12s"], 3, "pods were not watched", stdout="")
        done = self.run_tape("get", self.tape, "pods", "-n", "other")
        self.assertEqual((done.returncode, done.stderr), (0, "No resources found in other namespace.\n"))

    def test_each_resource_has_its_line_once(self):
        self.says(["get", self.tape, "pods/web-0", "po/web-0", "deploy/d", "-o", "name", "--at", "+12s"], 3, "pods were", "deployments.apps were")

    def test_diff_state_says_it_of_each_resource_at_both_ends(self):
        self.says(["diff-state", self.tape, "+12s", "+13s", "-r", "pods"], 3, "pods were not watched")
        self.says(["diff-state", self.tape, "+1s", "+12s", "-r", "pods"], 3, "pods were listed first", "pods were not watched")
        self.says(["diff-state", self.tape, "+3s", "+4s", "-r", "pods,deploy"], 0)

    def test_log_tells_of_gaps_among_the_events(self):
        self.assertEqual(self.run_tape("log", self.tape, "pods/web-0").stdout.splitlines(), [
            "2023-11-14T22:13:20.000000000Z NOT WATCHED before: this was the first list",
            "2023-11-14T22:13:20.000000000Z ADDED    pods shop/web-0 rv 10 uid u1 (list)",
            "2023-11-14T22:13:30.000000000Z NOT WATCHED for 10.5s: reset, ended by relist"])
        self.assertEqual(self.run_tape("log", self.tape, "deploy/d").stdout.splitlines()[-1],
                         "2023-11-14T22:13:25.000000000Z NOT WATCHED from here on: client_stop")

    def test_gaps_and_info_count_what_is_not_followed_any_more(self):
        done = self.run_tape("gaps", self.tape)
        self.assertEqual(done.returncode, 3)
        self.assertIn("gap -  deployments.apps\n  when     2023-11-14T22:13:25.000000000Z, never ended, after event 3\n", done.stdout)
        self.assertIn("ended    not at all: later recordings on this tape did not follow it\n", done.stdout)
        got = json.loads(self.run_tape("gaps", self.tape, "--json").stdout)["gaps"]
        self.assertEqual([(g["gap"], g["resource"], g["end"] is None) for g in got], [(None, "deployments", True), (1, "pods", False)])
        self.assertEqual(self.query("SELECT gap, resource, end FROM gaps WHERE gap IS NULL"), [{"gap": None, "resource": "deployments", "end": None}])
        info = json.loads(self.run_tape("info", self.tape, "--json").stdout)
        self.assertEqual((info["gaps"], info["streams_at_end"]), (2, {"watched": 1, "unlisted": 1, "gap": 0, "left": 1, "untold": 0}))
        self.assertIn("unknown      1 streams never listed, 1 streams not followed any more\n", self.run_tape("info", self.tape).stdout)


class InSql(CertaintyTest):
    rows = Watches.rows

    def test_objects_say_whether_they_were_known(self):
        for at, want in (("+12s", {"web-0": "gap", "d": "left", "n1": "unlisted"}), ("+1s", {"web-0": "unlisted", "d": "watched"}),
                         ("end", {"web-0": "watched", "web-1": "watched", "d": "left", "n1": "unlisted"}),
                         ("now", {"web-0": "outside", "web-1": "outside", "d": "outside", "n1": "outside"})):
            got = json.loads(self.run_tape("query", self.tape, f"SELECT name, certainty FROM objects('{at}')", "--format", "json").stdout)
            self.assertEqual({r["name"]: r["certainty"] for r in got}, want, at)
    def test_coverage_says_it_of_each_stream(self):
        got = self.query("SELECT resource, certainty, since, until, gap, reason FROM coverage('+12s') ORDER BY resource")
        self.assertEqual([tuple(r.values()) for r in got], [
            ("deployments", "left", "2023-11-14T22:13:25.000000000Z", None, None, "client_stop"), ("nodes", "unlisted", None, None, None, None),
            ("pods", "gap", "2023-11-14T22:13:30.000000000Z", "2023-11-14T22:13:40.500000000Z", 1, "reset")])
        self.assertEqual(self.query("SELECT resource, until FROM coverage('+1s') WHERE resource = 'pods'"),
                         [{"resource": "pods", "until": "2023-11-14T22:13:22.000000000Z"}])
        self.assertEqual(self.query("SELECT DISTINCT certainty FROM coverage WHERE resource = 'pods'"), [{"certainty": "watched"}])
        # Once for each moment.
        got = self.query("WITH t(at) AS (VALUES ('+1s'), ('+12s'), ('end')) SELECT certainty FROM t JOIN coverage USING (at) WHERE resource = 'pods'")
        self.assertEqual([r["certainty"] for r in got], ["unlisted", "gap", "watched"])
        self.assert_fails(self.run_tape("query", self.tape, "SELECT * FROM coverage('noon')"), 1, "bad position 'noon'")

    def test_a_position_beside_the_tape_is_told(self):
        for at, place in (("now", "after the end"), ("-1h", "before the beginning"), ("2023-11-13", "before the beginning")):
            for table in "objects", "coverage":
                done = self.run_tape("query", self.tape, f"SELECT DISTINCT certainty FROM {table}('{at}')")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, f"^kubetape query: '{at}' is .* {place} of the tape, which goes from .* to .*\n$")
                self.assertNotIn("watched", done.stdout)
        done = self.run_tape("query", self.tape, "SELECT count(*) FROM events AS e JOIN objects AS o ON o.at = e.seq; SELECT 1 FROM objects('end')")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_objects_at_a_resource_version_do_not_say(self):
        self.assertEqual(self.query("SELECT DISTINCT certainty FROM objects WHERE at_rv = '10'"), [{"certainty": None}])
        self.assertEqual(self.query("SELECT count(*) AS n FROM objects WHERE certainty <> 'watched'"), [{"n": 2}])


class Parts(CertaintyTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), stream=SHOP_PODS, origin="list"), listed(0, SHOP_PODS), listed(0, LABELLED),
            watch(0, 10, stream=SHOP_PODS), watch(0, 10, stream=LABELLED)]

    def test_a_namespace_that_was_not_recorded_is_not_an_empty_one(self):
        self.says(["get", self.tape, "pods", "-n", "other"], 3, "pods in namespace other were not recorded, only pods in namespace shop", stdout="")
        self.says(["get", self.tape, "pods", "-n", "shop"], 0)
        self.says(["diff-state", self.tape, "1", "end", "-n", "other", "-r", "pods"], 3, "pods in namespace other were not recorded")

    def test_a_part_is_told_to_be_one(self):
        self.says(["get", self.tape, "pods", "-o", "name"], 0, "only a part of pods was recorded: pods in namespace shop", stdout="pod/web-0\n")
        self.says(["get", self.tape, "deploy", "-o", "name"], 0, "only a part of deployments.apps was recorded: deployments.apps with labels app=web")


class ManyStreams(CertaintyTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list")] + [
        row for i in range(30) for stream in [{**PODS, "namespace": f"n{i:02}"}] for row in (listed(5, stream), watch(5, 9, stream=stream))]

    def test_one_outage_of_many_streams_is_a_few_lines(self):
        done = self.run_tape("get", self.tape, "pods", "--at", "+1s")
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (3, 9), done.stderr)
        self.assertEqual(lines[-1], "kubetape get: nor is it known of 23 more streams")


if __name__ == "__main__":
    unittest.main()
