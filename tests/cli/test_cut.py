"""kubetape cut: a part of a tape that is whole."""
import json
import os
import random
import unittest

from incidents import Cluster, ended, not_ready, rolled_out, status
from tapes import DEPLOYMENTS, NODES, PODS, SECOND, START, TapeTest, event, pod

ROLLING = "tests/tapes/rolling-update.tape"
STATE = ("SELECT apigroup, resource, namespace, name, uid, rv, object FROM objects('{}') WHERE {} "
         "ORDER BY apigroup, resource, namespace, name")
EVENTS = "SELECT seq, time_ns, type, origin, apigroup, resource, namespace, name, uid, rv, object FROM events WHERE {} ORDER BY seq"


def connection(stream, begin, seconds, **more):
    return {"connection": "watch", "stream": stream, "begin_ns": START + begin * SECOND, "http_status": 200,
            "duration_ns": seconds * SECOND if seconds else -1, "end_reason": "reset" if seconds else None, **more}


class Cut(TapeTest):
    def cut(self, tape, *args, code=0):
        """The path of the new tape, which verify finds intact."""
        path = os.path.join(self.dir, f"cut{len(os.listdir(self.dir))}.tape")
        done = self.run_tape("cut", tape, *args, "-o", path)
        self.assertEqual(done.returncode, code, done.stderr)
        verified = self.run_tape("verify", path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return path

    def rows_of(self, tape, sql):
        done = self.run_tape("query", tape, sql, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), sql)
        return json.loads(done.stdout)

    def assert_same(self, whole, part, sql):
        self.assertEqual(self.rows_of(whole, sql), self.rows_of(part, sql), sql)


class Stretches(Cut):
    def test_a_stretch_has_its_events_under_their_numbers_and_every_state_in_it(self):
        dice = random.Random(7)
        for _ in range(6):
            first, last = sorted(dice.sample(range(747), 2))
            part = self.cut(ROLLING, "--from", str(first), "--until", str(last))
            self.assert_same(ROLLING, part, EVENTS.format(f"seq > {first} AND seq <= {last}"))
            self.assertEqual(self.rows_of(part, "SELECT min(seq) AS a, max(seq) AS b FROM events"),
                             [{"a": first + 1, "b": last}])
            for seq in {first, last, dice.randint(first, last)}:
                self.assert_same(ROLLING, part, STATE.format(seq, 1))

    def test_a_stretch_without_events_shows_what_was_there(self):
        for at in ("400", "2026-11-21T09:52:22Z"):
            part = self.cut(ROLLING, "--from", at, "--until", at)
            self.assertEqual(self.rows_of(part, "SELECT count(*) AS n FROM events"), [{"n": 0}])
            for where in ("1", "resource = 'pods' AND namespace = 'shop'"):
                rows = self.rows_of(ROLLING, STATE.format(at, where))
                self.assertGreater(len(rows), 0)
                self.assertEqual(self.rows_of(part, STATE.format("end", where)), rows)
            pods = [self.run_tape("get", tape, "pods", "-n", "shop", "-o", "json", *more) for tape, more in ((ROLLING, ("--at", at)), (part, ()))]
            self.assertEqual(pods[0].stdout, pods[1].stdout)
            info = json.loads(self.run_tape("info", part, "--json").stdout)
            self.assertEqual((info["events"], info["last_seq"]), (0, info["first_seq"] - 1))
            self.assertIsNotNone(info["first_time"])

    def test_of_a_stretch_without_events_the_same_can_be_cut_again(self):
        part = self.cut(ROLLING, "--from", "400", "--until", "400")
        pods = "resource = 'pods' AND namespace = 'shop'"
        for again in (self.cut(part), self.cut(part, "-n", "shop", "pods"), self.cut(ROLLING, "--from", "400", "--until", "400", "-n", "shop", "pods")):
            self.assert_same(part, again, STATE.format("end", pods))
        one_file = os.path.join(self.dir, "one.ktape")
        self.assertEqual(self.run_tape("cut", part, "-o", one_file).returncode, 0)
        self.assert_same(part, one_file, STATE.format("end", 1))

    def test_a_namespace_that_is_not_there_is_refused(self):
        part = os.path.join(self.dir, "none.tape")
        self.assert_fails(self.run_tape("cut", ROLLING, "-n", "shopp", "-o", part), 1, "the tape has no namespace 'shopp', nor an object in it")
        self.assertFalse(os.path.exists(part))
        for there in ("shop", "kube-node-lease", "kube-public"):
            self.cut(ROLLING, "-n", there, "pods")
        begun = self.cut(ROLLING, "--from", "400", "--until", "400")
        self.cut(begun, "-n", "shop")
        self.assert_fails(self.run_tape("cut", begun, "-n", "shopp", "-o", part), 1, "the tape has no namespace 'shopp', nor an object in it")

    def test_a_cut_of_a_cut_is_that_cut(self):
        one = self.cut(ROLLING, "--from", "200", "--until", "300")
        two = self.cut(self.cut(ROLLING, "--from", "100", "--until", "600"), "--from", "200", "--until", "300")
        for sql in (EVENTS.format(1), STATE.format("start", 1), "SELECT * FROM connections", "SELECT * FROM marks WHERE time_ns > 0",
                    "SELECT path, variant, body FROM documents ORDER BY 1, 2"):
            self.assert_same(one, two, sql)

    def test_without_bounds_everything_is_there(self):
        part = self.cut(ROLLING)
        for sql in (EVENTS.format(1), "SELECT * FROM connections", "SELECT * FROM marks", "SELECT * FROM gaps",
                    "SELECT path, variant, body, time_ns FROM documents ORDER BY 1, 2"):
            self.assert_same(ROLLING, part, sql)

    def test_namespaces_and_resources_show_the_same_objects_at_every_time(self):
        wanted = "namespace = 'demo' AND resource IN ('pods', 'deployments')"
        namespaces = self.rows_of(ROLLING, "SELECT namespace, count(*) AS n FROM events WHERE resource = 'pods' GROUP BY 1 ORDER BY n DESC")
        wanted = wanted.replace("demo", namespaces[0]["namespace"])
        part = self.cut(ROLLING, "-n", namespaces[0]["namespace"], "--from", "+10s", "--until", "+40s", "pods", "deploy")
        times = self.rows_of(ROLLING, "SELECT time FROM events WHERE seq IN (420, 500, 560)")
        for row in times:
            self.assert_same(ROLLING, part, STATE.format(row["time"], wanted))
        self.assertEqual(self.rows_of(part, f"SELECT count(*) AS n FROM events WHERE NOT ({wanted})"), [{"n": 0}])
        self.assertEqual(self.run_tape("get", part, "nodes").returncode, 1)


class Beginnings(Cut):
    """A part begins with objects that have no event on it."""

    def part(self):
        c = Cluster()
        pod = rolled_out(c)
        pod = not_ready(c, 15, pod, status("app", ended(3, at=14)))
        not_ready(c, 30, pod, status("app", ended(3, at=14), restarts=1), status("side", ended(1, at=29)))
        self.make_tape(self.tape, c.rows)
        return self.cut(self.tape, "--from", "+20s")

    def test_log_says_how_the_part_begins_with_what_did_not_change_on_it(self):
        part = self.part()
        done = self.run_tape("log", part, "deploy/web")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("the tape begins with 'deploy/web' as event 4 of 2023-11-14T22:13:30.", done.stderr)
        self.assert_fails(self.run_tape("log", part, "deploy/none"), 1, "no event of 'deploy/none'")

    def test_log_finds_what_such_an_object_owns(self):
        tree, told = self.run_tape("log", self.part(), "deploy/web", "--with-owned").stdout.split("\n\n")
        self.assertEqual([line.split()[1] for line in tree.splitlines()], ["shop/web", "shop/web-1", "shop/web-1-a", "shop/web-2", "shop/web-2-b"])
        self.assertIn("MODIFIED pods shop/web-2-b", told)

    def test_why_begins_with_such_an_object_and_goes_through_it(self):
        part = self.part()
        for what, rules in (("deploy/web", ["pod-in-trouble", "crashed"]), ("rs/web-1", ["appeared"]), ("pods/web-2-b", ["crashed"])):
            done = self.run_tape("why", part, what, "-o", "json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual([s["rule"] for s in json.loads(done.stdout)["steps"]], rules)
        self.assertIn("before the recording is not on the tape", self.run_tape("why", part, "rs/web-1").stdout)

    def test_such_an_object_is_found_by_its_uid_and_by_the_beginning_of_it(self):
        part = self.part()
        for uid in ("replicaset-web-1", "deployment-w"):
            told = json.loads(self.run_tape("why", part, uid, "-o", "json").stdout)
            self.assertIn(told["steps"][0]["rule"], ("appeared", "pod-in-trouble"), uid)
        self.assert_fails(self.run_tape("why", part, "replicaset-web-"), 2, "several UIDs begin with")
        self.assertEqual(self.run_tape("log", part, "replicaset-web-1").returncode, 0)

    def test_report_tells_nothing_of_before_as_of_the_part(self):
        crashes = self.run_tape("report", self.part()).stdout.split("Crashes\n")[1].split("\n\n")[0]
        self.assertIn("container side: exit code 1", crashes)
        self.assertNotIn("container app", crashes)


class Rows(Cut):
    rows = [
        connection(NODES, 0, None),
        event(0, "ADDED", pod("a", "u1", 10), origin="list"),
        event(1, "ADDED", pod("b", "u2", 11, namespace="data"), origin="list"),
        {"mark": "list", "stream": PODS, "time_ns": START + 2 * SECOND, "rv": "12"},
        event(5, "MODIFIED", pod("a", "u1", 13)),
        connection(PODS, 0, 20),
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + 20 * SECOND, "end_ns": START + 30 * SECOND,
         "duration_ns": 10 * SECOND, "begin_seq": 3, "end_seq": 4, "connection_before": 2, "modified": 1},
        event(30, "MODIFIED", pod("a", "u1", 20), origin="relist"),
        connection(PODS, 31, None),
        event(40, "DELETED", pod("b", "u2", 21, namespace="data")),
        event(50, "ADDED", {"kind": "Deployment", "metadata": {"name": "d", "namespace": "shop", "uid": "d1", "resourceVersion": "22"}},
              stream=DEPLOYMENTS),
    ]

    def gaps(self, tape):
        return [(r["resource"], r["namespace"], r["reason"], r["how_ended"]) for r in self.rows_of(
            tape, "SELECT resource, s.namespace AS namespace, reason, how_ended FROM gaps AS g "
                  "JOIN streams AS s USING (stream, resource) ORDER BY gap")]

    def test_a_gap_that_ends_after_the_cut_never_ended(self):
        self.assertEqual(self.gaps(self.cut(self.tape, "--until", "+25s")), [("pods", "", "reset", "open")])
        self.assertEqual(self.gaps(self.cut(self.tape, "--from", "+25s")), [("pods", "", "reset", "relist")])
        self.assertEqual(self.gaps(self.cut(self.tape, "--from", "+35s")), [])
        self.assertEqual(self.gaps(self.cut(self.tape, "--until", "+10s")), [])

    def test_a_connection_that_ends_after_the_cut_still_runs(self):
        rows = self.rows_of(self.cut(self.tape, "--until", "+10s"), "SELECT end_reason, events FROM connections WHERE resource = 'pods'")
        self.assertEqual(rows, [{"end_reason": None, "events": None}])

    def test_the_state_at_the_beginning_is_a_complete_list(self):
        part = self.cut(self.tape, "--from", "+10s")
        done = self.run_tape("get", part, "pods", "-A", "-o", "name", "--at", "start")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "pod/b\npod/a\n", ""))
        self.assertEqual(self.rows_of(part, "SELECT kind, rv FROM marks"), [{"kind": "list", "rv": "13"}])

    def test_a_namespace_has_a_stream_of_its_own_with_the_gaps(self):
        part = self.cut(self.tape, "-n", "data", "-n", "shop", "pods")
        self.assertEqual(self.gaps(part), [("pods", "data", "reset", "relist"), ("pods", "shop", "reset", "relist")])
        self.assertEqual(self.rows_of(part, "SELECT count(*) AS n FROM events")[0]["n"], 5)
        other = self.run_tape("get", part, "pods", "-n", "elsewhere")
        self.assertEqual(other.returncode, 3, other.stderr)

    def test_what_where_leaves_out_is_a_gap(self):
        part = self.cut(self.tape, "--where", "type <> 'MODIFIED'")
        self.assertIn(("pods", "", "left_out", "open"), self.gaps(part))
        self.assertEqual(self.run_tape("get", part, "pods", "-A").returncode, 3)
        self.assertEqual(self.run_tape("get", part, "pods", "-A", "--at", "+2s").returncode, 0)

    def test_a_column_that_is_misspelt_in_double_quotes_is_told(self):
        done = self.run_tape("cut", self.tape, "-o", os.path.join(self.dir, "typo.ktape"), "--where", "\"typ\" = 'ADDED'")
        self.assertIn("typ names no column of an event and is taken for a text", done.stderr)

    def test_a_position_outside_the_tape_is_told(self):
        self.cut(self.tape, "--from", "2001-01-01", code=3)

    def test_the_wrong_way_round_and_names_that_are_taken_are_refused(self):
        taken = os.path.join(self.dir, "taken")
        os.mkdir(taken)
        free = os.path.join(self.dir, "free.tape")
        for args, code, words in ((["--from", "4", "--until", "2", "-o", free], 2, "the end lies before the beginning"),
                                  (["-o", taken], 2, "exists already"), ([], 2, "no tape to make"),
                                  (["-o", free, "--where", "nonsense ="], 2, "syntax error"),
                                  (["-o", free, "pots"], 1, "did you mean 'pods'"),
                                  (["-o", os.path.join(free, "x.tape")], 1, "cannot create")):
            self.assert_fails(self.run_tape("cut", self.tape, *args), code, words)
        self.assertEqual(sorted(os.listdir(self.dir)), ["taken", "x.tape"])

    def test_of_a_damaged_tape_nothing_is_made_that_is_not_intact(self):
        dice = random.Random(3)
        segment = os.path.join(self.tape, "seg-000001.db")
        with open(segment, "rb") as f:
            whole = f.read()
        os.chmod(segment, 0o600)
        for n in range(40):
            at = dice.randrange(len(whole) // 3)
            with open(segment, "wb") as f:
                f.write(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1:])
            part = os.path.join(self.dir, f"part{n}.tape")
            done = self.run_tape("cut", self.tape, "--until", str(dice.randint(1, 6)), "-o", part)
            self.assertIn(done.returncode, (0, 1, 3), done.stderr)
            if os.path.exists(part):
                self.assertEqual(self.run_tape("verify", part).returncode, 0)
            else:
                self.assertNotEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse([name for name in os.listdir(self.dir) if ".tmp-" in name])


if __name__ == "__main__":
    unittest.main()
