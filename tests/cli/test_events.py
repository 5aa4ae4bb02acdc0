"""kubetape events: a line for each event, with what it changed and by whom."""
import json
import os
import unittest

from tapes import DEPLOYMENTS, SECOND, START, TapeTest, event, pod

BUNDLED = "tests/tapes/rolling-update.tape"
LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease", "namespaced": True}
BOOKKEEPING = "resource IN ('events', 'leases', 'endpoints', 'endpointslices')"


def entry(manager, second, fields):
    return {"manager": manager, "operation": "Update", "time": f"2023-11-14T22:13:{second:02}Z", "fieldsType": "FieldsV1", "fieldsV1": fields}


def deployment(rv, replicas, ready, *entries, **meta):
    return {"kind": "Deployment", "apiVersion": "apps/v1",
            "metadata": {"name": "web", "namespace": "shop", "uid": "d1", "resourceVersion": str(rv), "generation": rv, "managedFields": list(entries), **meta},
            "spec": {"replicas": replicas}, "status": {"readyReplicas": ready}}


SPEC, STATUS = {"f:spec": {"f:replicas": {}}}, {"f:status": {"f:readyReplicas": {}}}
HELM, CONTROLLER = entry("helm", 20, SPEC), entry("kube-controller-manager", 20, STATUS)
KUBECTL, LATER = entry("kubectl\u001b[31m", 23, SPEC), entry("kube-controller-manager", 24, STATUS)


class Events(TapeTest):
    rows = [
        event(0, "ADDED", deployment(10, 6, 6, HELM, CONTROLLER), stream=DEPLOYMENTS, origin="list"),
        event(1, "ADDED", pod("web-1", "u1", 11, metadata={"managedFields": [CONTROLLER]})),
        event(2, "ADDED", {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
                           "metadata": {"name": "n1", "namespace": "shop", "uid": "l1", "resourceVersion": "12"}}, stream=LEASES),
        event(3, "MODIFIED", deployment(13, 9, 6, KUBECTL, CONTROLLER), stream=DEPLOYMENTS),
        event(4, "MODIFIED", deployment(14, 9, 7, KUBECTL, LATER), stream=DEPLOYMENTS),
        {"gap": "reset", "how_ended": "relist", "stream": {"version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True},
         "begin_ns": START + 5 * SECOND, "end_ns": START + 7 * SECOND, "duration_ns": 2 * SECOND, "begin_seq": 5, "end_seq": 6},
        event(7, "DELETED", pod("web-1", "u1", 15), origin="inferred"),
        event(8, "ADDED", pod("db-0\n", "u2", 16, namespace="data")),
        event(9, "MODIFIED", deployment(17, 9, 7, KUBECTL, LATER), stream=DEPLOYMENTS),
        event(10, "MODIFIED", deployment(18, 9, 7, KUBECTL, LATER, deletionTimestamp="2023-11-14T22:13:30Z"), stream=DEPLOYMENTS),
        event(11, "DELETED", deployment(19, 9, 7, KUBECTL, LATER, deletionTimestamp="2023-11-14T22:13:30Z"), stream=DEPLOYMENTS),
    ]

    def lines(self, *args, tape=None):
        """What it prints, without the times, each line's white space as one blank."""
        done = self.run_tape("events", tape or self.tape, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [" ".join(line.split()[1:]) for line in done.stdout.splitlines()]

    def json_lines(self, tape, *args):
        done = self.run_tape("events", tape, "-o", "json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_line_tells_what_changed_and_by_whom(self):
        self.assertEqual(self.lines(), [
            "1 LISTED deployments shop/web",
            "2 ADDED pods shop/web-1 by kube-controller-manager",
            "4 MODIFIED deployments shop/web spec.replicas 6 -> 9 (+1) by kubectl\\x1b[31m",
            "5 MODIFIED deployments shop/web status.readyReplicas 6 -> 7 (+1) by kube-controller-manager",
            "NOT WATCHED pods for 2.0s: the connection was reset, ended by relist",
            "6 DELETED pods shop/web-1 (concluded: it was no longer listed) by ?",
            "7 ADDED pods data/db-0\\n by ?",
            "8 MODIFIED deployments shop/web metadata.generation 14 -> 17 by ?",
            "9 MODIFIED deployments shop/web +metadata.deletionTimestamp 2023-11-14T22:13:30Z (+1) by ?",
            "10 DELETED deployments shop/web metadata.generation 18 -> 19 by ?"])

    def test_bookkeeping_is_left_out_with_a_word_unless_it_is_asked_for(self):
        done = self.run_tape("events", self.tape)
        self.assertEqual(done.stderr, "kubetape events: left out 1 event of Events, leases, endpoints and endpoint slices; --all shows them\n")
        for words in (["--all"], ["leases"], ["leases/n?", "pods"]):
            done = self.run_tape("events", self.tape, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertIn("leases shop/n1", done.stdout)
        self.assertEqual(self.run_tape("events", self.tape, "pods").stderr, "")

    def test_nothing_to_show_is_said_beside_the_gaps_that_may_hide_it(self):
        for words, gaps in ((["pods/none"], 1), (["-n", "none"], 1), (["deploy/none"], 0), (["--from", "end"], 0)):
            done = self.run_tape("events", self.tape, *words)
            self.assertEqual((done.returncode, done.stderr), (0, "kubetape events: no event to show\n"), words)
            self.assertEqual((done.stdout.count("\n"), done.stdout.count("NOT WATCHED")), (gaps, gaps), words)

    def test_objects_are_chosen_by_resource_name_pattern_namespace_and_position(self):
        self.assertEqual([line.split()[0] for line in self.lines("po/web-*", "deploy/nothing")], ["2", "NOT", "6"])
        self.assertEqual([line.split()[0] for line in self.lines("*/web", "-n", "shop", "--from", "4", "--until", "22:13:29")], ["5", "NOT", "8"])
        self.assertEqual(self.lines("-n", "data", "deploy"), [])
        self.assert_fails(self.run_tape("events", self.tape, "cats"), 1, "no resource 'cats'")
        for word in ("pods/", "/x", "", "pods/a/b"):
            self.assert_fails(self.run_tape("events", self.tape, word), 2, "expected RESOURCE or RESOURCE/NAME-PATTERN")
        self.assert_fails(self.run_tape("events", self.tape, "--from", "5", "--until", "4"), 2, "'4' lies before '5'")
        self.assert_fails(self.run_tape("events", self.tape, "-f", "--until", "4"), 2, "--until '4'")

    def test_wide_shows_all_changes_and_versions(self):
        line = next(line for line in self.lines("-o", "wide") if line.startswith("4 "))
        self.assertEqual(line, "4 MODIFIED deployments.apps shop/web rv 13 uid d1 spec.replicas 6 -> 9, metadata.generation 10 -> 13 by kubectl\\x1b[31m")

    def test_colour_is_for_terminals_or_who_asks_for_it(self):
        self.assertNotIn("\u001b", self.run_tape("events", self.tape).stdout)
        self.assertIn("\u001b[33mspec.replicas\u001b[0m 6 -> 9", self.run_tape("events", self.tape, "--color=always").stdout)

    def test_a_position_outside_the_tape_is_a_guess(self):
        done = self.run_tape("events", self.tape, "pods", "--until", "22:14:30")
        self.assertEqual(done.returncode, 3)
        self.assertIn("after the end", done.stderr)

    def test_times_are_local_when_asked_and_are_positions(self):
        env = {**os.environ, "TZ": "IST-5:30"}
        text = self.run_tape("events", self.tape, "--local", "-o", "wide", env=env).stdout
        self.assertTrue(text.startswith("2023-11-15T03:43:20.000000000+05:30 "), text)
        moment = text.splitlines()[3].split()[0]
        self.assertEqual([line.split()[0] for line in self.lines("--from", moment, "deploy")], ["8", "9", "10"])

    def test_json_has_the_changes_that_sql_has(self):
        self.tape = BUNDLED
        rows = self.query("SELECT seq, op, field, path, old_json AS old, new_json AS new, manager FROM changes WHERE field <> '' ORDER BY seq")
        want = {}
        for row in rows:
            change = {**row, "old": row["old"] and json.loads(row["old"]), "new": row["new"] and json.loads(row["new"])}
            want.setdefault(change.pop("seq"), []).append(change)
        got = self.json_lines(BUNDLED, "--all")
        self.assertEqual([e["seq"] for e in got], [r["seq"] for r in self.query("SELECT seq FROM events ORDER BY seq")])
        self.assertEqual({e["seq"]: e["changes"] for e in got if e["changes"]}, want)
        names = "seq, time, type, origin, apigroup, version, resource, namespace, name, uid, rv"
        self.assertEqual([{k: e[k] for k in names.split(", ")} for e in got], self.query(f"SELECT {names} FROM events ORDER BY seq"))
        made = {r["seq"]: r["manager"] for r in self.query("SELECT seq, manager FROM changes WHERE op = 'add' AND path = '$' AND origin = 'watch'")}
        self.assertEqual({e["seq"]: e["made_by"] for e in got if e["seq"] in made}, made)
        self.assertTrue(any(made.values()))

    def test_json_has_gaps_among_the_events(self):
        gap = next(e for e in self.json_lines(self.tape) if "gap" in e)
        self.assertEqual((gap["resource"], gap["reason"], gap["how_ended"], gap["after_seq"], gap["end"]),
                         ("pods", "reset", "relist", 5, "2023-11-14T22:13:27.000000000Z"))

    def test_a_tape_of_many_parts_is_told_in_order(self):
        path = os.path.join(self.dir, "parts.tape")
        rows = [event(i, "ADDED" if i < 40 else "MODIFIED", pod(f"p{i * 7 % 40}", f"u{i * 7 % 40}", 100 + i, spec={"n": i})) for i in range(400)]
        self.make_tape(path, rows, extent_bytes=3000)
        got = self.json_lines(path)
        self.assertEqual([e["seq"] for e in got], list(range(1, 401)))
        self.assertEqual([(c["old"], c["new"]) for e in got[40:] for c in e["changes"]], [(i - 40, i) for i in range(40, 400)])


if __name__ == "__main__":
    unittest.main()
