"""kubetape merge: one tape out of two recordings of one cluster."""
import base64
import json
import os
import random
import shutil
import unittest

from tapes import NODES, PODS, SECOND, START, TapeTest, event, pod

SECRETS = {"version": "v1", "resource": "secrets", "kind": "Secret", "namespaced": True}


def watch(stream, begin, end, reason="client_stop"):
    return {"connection": "watch", "stream": stream, "begin_ns": int(START + begin * SECOND), "http_status": 200,
            "duration_ns": int((end - begin) * SECOND), "end_reason": reason}


def mark(stream, at, rv):
    return {"mark": "list", "stream": stream, "time_ns": int(START + at * SECOND), "rv": str(rv)}


class History:
    """What happened in a cluster: (seconds, rv, type, name, uid)."""

    def __init__(self, dice, steps):
        self.steps, self.live, rv = [], {}, 100
        for i in range(steps):
            rv += dice.randint(1, 3)
            name = f"web-{dice.randrange(6)}"
            if name not in self.live:
                self.live[name] = f"u{i}"
                type_ = "ADDED"
            else:
                type_ = dice.choice(["MODIFIED", "MODIFIED", "DELETED"])
            self.steps.append((1 + i, rv, type_, name, self.live[name]))
            if type_ == "DELETED":
                del self.live[name]

    def state_at(self, seconds):
        live = {}
        for at, rv, type_, name, uid in self.steps:
            if at <= seconds:
                live[name] = (uid, rv)
                if type_ == "DELETED":
                    del live[name]
        return live

    def rv_at(self, seconds):
        return max([99] + [rv for at, rv, *_ in self.steps if at <= seconds])

    def record(self, begin, end, gaps=(), ahead=0.0, late=0.001):
        """Rows of a recorder that began and ended then, whose clock is ahead; gaps (from, to) end by a relist."""
        rows = [event(begin + ahead, "ADDED", pod(name, uid, rv), origin="list")
                for name, (uid, rv) in sorted(self.state_at(begin).items())]
        rows.append(mark(PODS, begin + ahead, self.rv_at(begin)))
        known, since = self.state_at(begin), begin
        for at, rv, type_, name, uid in self.steps:
            gap = next((g for g in gaps if g[0] < at <= g[1]), None)
            if at <= begin or at > end or gap:
                continue
            for first, last in [g for g in gaps if since <= g[1] < at]:
                rows += self.relist(known, first, last, ahead)
                known = self.state_at(last)
            since = at
            rows.append(event(at + ahead + late, type_, pod(name, uid, rv)))
            known[name] = (uid, rv)
            if type_ == "DELETED":
                del known[name]
        for first, last in [g for g in gaps if since <= g[1] <= end]:
            rows += self.relist(known, first, last, ahead)
        return [*rows, watch(PODS, begin + ahead, end + ahead)]

    def relist(self, known, first, last, ahead):
        now, rv = self.state_at(last), self.rv_at(last)
        rows = [event(last + ahead, "DELETED", pod(name, uid, old), origin="inferred", rv=str(rv))
                for name, (uid, old) in sorted(known.items()) if now.get(name, ("",))[0] != uid]
        rows += [event(last + ahead, "MODIFIED" if known.get(name, ("",))[0] == uid else "ADDED", pod(name, uid, new), origin="relist")
                 for name, (uid, new) in sorted(now.items()) if known.get(name) != (uid, new)]
        rows.append({"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": int(START + (first + ahead) * SECOND),
                     "end_ns": int(START + (last + ahead) * SECOND), "duration_ns": int((last - first) * SECOND)})
        rows.append(mark(PODS, last + ahead, rv))
        return rows


class Merge(TapeTest):
    def path(self, name):
        return os.path.join(self.dir, name)

    def merge(self, first, second, *args):
        for name, rows in (("a.tape", first), ("b.tape", second)):
            self.make_tape(self.path(name), rows)
        done = self.run_tape("merge", self.path("a.tape"), self.path("b.tape"), "-o", self.path("c.tape"), "--json", *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_tape("verify", self.path("c.tape")).returncode, 0)
        self.tape = self.path("c.tape")
        return json.loads(done.stdout)

    def watched(self):
        return [(r["type"], r["name"], int(r["rv"])) for r in self.query(
            "SELECT type, name, rv FROM events WHERE resource = 'pods' AND origin = 'watch' ORDER BY seq")]

    def state(self, at="end"):
        return {r["name"]: (r["uid"], int(r["rv"])) for r in self.query(f"SELECT name, uid, rv FROM objects('{at}')")}

    def test_two_that_saw_everything_are_one(self):
        h = History(random.Random(1), 40)
        said = self.merge(h.record(0, 50), h.record(0, 50, late=0.004))
        self.assertEqual(self.watched(), [(t, n, rv) for _, rv, t, n, _ in h.steps])
        self.assertEqual(said["events"][1], 0)
        self.assertEqual(said["common"], 40)
        self.assertEqual(self.state(), h.state_at(50))

    def test_gaps_of_the_one_are_filled_by_the_other(self):
        for seed in range(6):
            with self.subTest(seed=seed):
                h = History(random.Random(seed), 60)
                said = self.merge(h.record(0, 70, gaps=[(10.5, 20.5), (30.5, 33.5)]), h.record(0, 70, gaps=[(40.5, 50.5)], late=0.003))
                self.assertEqual(self.watched(), [(t, n, rv) for _, rv, t, n, _ in h.steps])
                self.assertEqual((said["gaps"], said["filled"]), (3, 3))
                self.assertEqual({r["how_ended"] for r in self.query("SELECT how_ended FROM gaps")}, {"filled"})
                for seconds in (5, 15, 32, 45, 69):
                    self.assertEqual(self.state(f"@{START // SECOND + seconds}.5"), h.state_at(seconds + 0.5))
                self.assertEqual(self.run_tape("get", self.tape, "pods", "-n", "shop", "--at", f"@{START // SECOND + 15}").returncode, 0)
                for name in ("a.tape", "b.tape", "c.tape"):
                    for segment in os.listdir(self.path(name)):
                        os.remove(os.path.join(self.path(name), segment))
                    os.rmdir(self.path(name))

    def exit_code_at(self, seconds):
        return self.run_tape("get", self.tape, "pods", "-n", "shop", "--at", f"@{START // SECOND + seconds}").returncode

    def test_a_gap_that_the_other_filled_is_no_time_in_which_nobody_watched(self):
        history = History(random.Random(3), 30)
        self.merge(history.record(0, 31, gaps=[(10.5, 20.5)]), history.record(0, 31))
        for args in (["events", self.tape], ["log", self.tape, "pods/web-1"]):
            told = [line for line in self.run_tape(*args).stdout.splitlines() if "SEEN BY" in line or "WATCHED" in line and "before" not in line]
            self.assertEqual(len(told), 1, told)
            self.assertRegex(told[0], "SEEN BY ANOTHER RECORDING .*for 10")
        self.assertNotIn("nobody knows", self.run_tape("gaps", self.tape).stdout)
        self.assertEqual(self.run_tape("report", self.tape).stdout.split("Not watched\n")[1].strip(), "none")

    def test_what_neither_saw_stays_a_gap_and_no_more_than_that(self):
        concluded = 0
        for seed in (3, 11, 12, 18):
            with self.subTest(seed=seed):
                h = History(random.Random(seed), 60)
                said = self.merge(h.record(0, 70, gaps=[(10.5, 20.5)]), h.record(0, 70, gaps=[(15.5, 25.5)], late=0.003))
                self.assertEqual((said["gaps"], said["filled"], said["partly_filled"]), (2, 0, 2))
                self.assertEqual([(r["b"], r["e"], r["how_ended"]) for r in self.query(
                    f"SELECT (begin_ns - {START}) / 1e9 AS b, (end_ns - {START}) / 1e9 AS e, how_ended FROM gaps ORDER BY begin_ns, how_ended")],
                    [(10.5, 15.5, "filled"), (15.5, 20.5, "relist"), (15.5, 20.5, "relist"), (20.5, 25.5, "filled")])
                self.assertEqual([self.exit_code_at(s) for s in (12, 17, 23)], [0, 3, 0])
                for seconds in (12, 15, 20, 21, 23, 25, 26, 69):
                    if not 15 < seconds + 0.5 < 20.5:
                        self.assertEqual(self.state(f"@{START // SECOND + seconds}.500000001"), h.state_at(seconds + 0.5), seconds)
                concluded += said["deletions"]
                self.put_away()
        self.assertGreater(concluded, 0)

    def put_away(self):
        for name in ("a.tape", "b.tape", "c.tape"):
            os.rename(self.path(name), self.path(f"{len(os.listdir(self.dir))}{name}"))

    def test_a_gap_of_which_the_other_saw_the_middle_has_two_parts(self):
        h = History(random.Random(8), 60)
        said = self.merge(h.record(0, 70, gaps=[(10.5, 30.5)]), h.record(0, 70, gaps=[(5.5, 15.5), (25.5, 40.5)], late=0.003))
        self.assertEqual((said["gaps"], said["filled"], said["partly_filled"]), (3, 0, 3))
        self.assertEqual([self.exit_code_at(s) for s in (8, 12, 20, 28, 35)], [0, 3, 0, 3, 0])
        for seconds in (8, 16, 20, 25, 31, 35, 45):
            self.assertEqual(self.state(f"@{START // SECOND + seconds}.500000001"), h.state_at(seconds + 0.5), seconds)

    def test_one_that_begins_while_the_other_does_not_watch_ends_that_gap(self):
        h = History(random.Random(9), 60)
        said = self.merge(h.record(0, 70, gaps=[(10.5, 30.5)]), h.record(20.5, 70, late=0.003))
        self.assertEqual((said["gaps"], said["partly_filled"]), (1, 1))
        self.assertEqual([self.exit_code_at(s) for s in (15, 25, 35)], [3, 0, 0])
        for seconds in (9, 21, 25, 29, 31, 60):
            self.assertEqual(self.state(f"@{START // SECOND + seconds}.500000001"), h.state_at(seconds + 0.5), seconds)

    def test_a_clock_that_is_ahead_is_set_back(self):
        h = History(random.Random(4), 40)
        said = self.merge(h.record(0, 50, gaps=[(10.5, 20.5)]), h.record(0, 50, ahead=37.0, late=0.002))
        self.assertTrue(abs(said["clock_ahead_ns"] - 37 * SECOND) < SECOND // 10, said)
        self.assertEqual(self.watched(), [(t, n, rv) for _, rv, t, n, _ in h.steps])
        self.assertEqual(said["filled"], 1)

    def test_one_after_the_other_with_a_pause_between_them(self):
        for first, second in (((0, 20), (30, 60)), ((30, 60), (0, 20))):
            h = History(random.Random(5), 55)
            said = self.merge(h.record(*first), h.record(*second), "--same-cluster")
            self.assertEqual(said["gaps"], 1)
            self.assertEqual(self.state(), h.state_at(60))
            self.assertEqual(self.state(f"@{START // SECOND + 31}.5"), h.state_at(31.5))
            gone = [n for n, (u, _) in h.state_at(20).items() if h.state_at(30).get(n, ("",))[0] != u]
            self.assertEqual(said["deletions"], len(gone))
            self.assertEqual(self.run_tape("get", self.tape, "pods", "-n", "shop", "--at", f"@{START // SECOND + 25}").returncode, 3)
            for name in ("a.tape", "b.tape", "c.tape"):
                os.rename(self.path(name), self.path(f"{first[0]}{name}"))

    def test_different_resources_stand_side_by_side(self):
        h = History(random.Random(6), 20)
        node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n", "resourceVersion": "90"}}
        rows = [event(0.5, "ADDED", node, stream=NODES, origin="list"), mark(NODES, 0.5, 99), watch(NODES, 0.6, 30)]
        for swap in (False, True):
            pair = (rows, h.record(0, 30)) if swap else (h.record(0, 30), rows)
            self.merge(*pair, "--same-cluster")
            self.assertEqual({r["resource"]: r["n"] for r in self.query("SELECT resource, count(*) AS n FROM objects('end') GROUP BY 1")},
                             {"pods": len(h.state_at(30)), "nodes": 1})
            for name in ("a.tape", "b.tape", "c.tape"):
                os.rename(self.path(name), self.path(f"{swap}{name}"))

    def log(self, at, body, status=200, restart=0):
        """What a recorder with --logs has of a container that died."""
        return {"document": "/api/v1/namespaces/shop/pods/web/log", "variant": f"log app {restart} u1 cri://{restart}", "http_status": status,
                "time_ns": int(START + at * SECOND), "content_type": "text/plain", "etag": "", "body": body}

    def logs_of(self, first, second):
        """Text and status of each line of the merged tape's logs."""
        for name in ("a.tape", "b.tape", "c.tape"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        h = History(random.Random(1), 40)
        self.merge([*h.record(0, 50), *first], [*h.record(0, 50, late=0.004), *second])
        return [(r["restart"], r["text"], r["reason"]) for r in self.query("SELECT restart, text, reason FROM logs ORDER BY restart, line")]

    def test_a_log_that_both_fetched_is_there_once_and_one_that_one_of_them_lacks_as_well(self):
        both = self.log(10, "killed")
        self.assertEqual(self.logs_of([both], [both, self.log(20, "killed again", restart=1)]), [(0, "killed", None), (1, "killed again", None)])

    def test_a_log_that_only_one_could_fetch_is_taken_from_that_one(self):
        had, lacked = self.log(10, "killed"), self.log(11, "too many containers died", status=429)
        for pair in (([had], [lacked]), ([lacked], [had])):
            self.assertEqual(self.logs_of(*pair), [(0, "killed", None)])

    def test_of_a_log_that_both_fetched_the_longer_is_taken(self):
        short, long = self.log(10, "killed"), self.log(11, "working\nkilled")
        for pair in (([short], [long]), ([long], [short])):
            self.assertEqual(self.logs_of(*pair), [(0, "working", None), (0, "killed", None)])

    def test_digests_of_secrets_under_two_keys_are_told(self):
        def secret(rv, digest):
            return {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "namespace": "shop", "uid": "s1", "resourceVersion": str(rv)},
                    "data": {"p": base64.b64encode(b"redacted:" + digest * 32).decode()}}
        first = [event(1, "ADDED", secret(10, b"a"), stream=SECRETS)]
        second = [event(1, "ADDED", secret(10, b"b"), stream=SECRETS), event(2, "MODIFIED", secret(11, b"b"), stream=SECRETS)]
        self.assertFalse(self.merge(first, [first[0]])["secrets_differ"])
        shutil.rmtree(self.path("c.tape"))
        for name, rows in (("d.tape", first), ("e.tape", second)):
            self.make_tape(self.path(name), rows)
        done = self.run_tape("merge", self.path("d.tape"), self.path("e.tape"), "-o", self.path("f.tape"), "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["secrets_differ"]), (0, True))
        self.assertIn("digests under two keys", done.stderr)

    def test_nothing_in_common_is_refused(self):
        one, other = History(random.Random(7), 5), [event(0, "ADDED", pod("x", "elsewhere", 5), origin="list")]
        self.make_tape(self.path("a.tape"), one.record(0, 10))
        self.make_tape(self.path("b.tape"), other)
        done = self.run_tape("merge", self.path("a.tape"), self.path("b.tape"), "-o", self.path("c.tape"))
        self.assert_fails(done, 2, "nothing shows that they are of one cluster")
        self.assertFalse(os.path.exists(self.path("c.tape")))

    def test_a_tape_and_its_own_cut_are_the_tape(self):
        rolling = "tests/tapes/rolling-update.tape"
        part = self.path("part.ktape")
        self.assertEqual(self.run_tape("cut", rolling, "--from", "200", "--until", "500", "-o", part).returncode, 0)
        done = self.run_tape("merge", rolling, part, "-o", self.path("c.tape"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        sql = "SELECT type, apigroup, resource, namespace, name, uid, rv, object FROM {} ORDER BY 2, 3, 4, 5, 7, 1"
        for table in ("events", "objects('end')"):
            texts = [self.run_tape("query", t, sql.format(table) if table == "events" else sql.format(table).replace("type, ", "", 1).replace(
                "ORDER BY 2, 3, 4, 5, 7, 1", "ORDER BY 1, 2, 3, 4")).stdout for t in (rolling, self.path("c.tape"))]
            self.assertEqual(*texts)


if __name__ == "__main__":
    unittest.main()
