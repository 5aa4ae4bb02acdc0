"""What a statement asks is asked of the tape itself: plans as EXPLAIN QUERY PLAN shows them, and their answers."""
import itertools
import json
import unittest

from tapes import NODES, TapeTest, event, pod

BUNDLED = "tests/tapes/rolling-update.tape"
STRANGE = ["7", "9", "10", "11", "99", "100", "1000", "18446744073709551615", "18446744073709551616", "007", "",
           "abc", "1" + 39 * "0"]


class Plans(TapeTest):
    rows = [event(i, "ADDED", pod(f"p{i}", f"u{i}", rv)) for i, rv in enumerate(STRANGE)]
    rows += [event(20, "ADDED", {"kind": "Node", "apiVersion": "v1",
                                 "metadata": {"name": "n", "uid": "n", "resourceVersion": "50"}}, stream=NODES)]

    def plan(self, sql):
        return [r["detail"].split("VIRTUAL TABLE INDEX ")[-1] for r in self.query("EXPLAIN QUERY PLAN " + sql)]

    def walk(self, sql):
        plan = self.plan(sql)
        self.assertEqual(len(plan), 1, plan)  # a sort would be a line of its own
        return plan[0].split(":", 1)[1]

    def test_every_condition_on_identity_and_place_reaches_the_tape(self):
        for condition, word in [("seq = 5", "seq="), ("seq > 5", "seq>"), ("seq <= 5", "seq<="), ("time_ns >= 1", "time_ns>="),
                                ("time < '2024-01-01'", "time<"), ("uid = 'u'", "uid="), ("resource = 'pods'", "resource="),
                                ("apigroup = ''", "apigroup="), ("namespace = 'shop'", "namespace="), ("name = 'x'", "name="),
                                ("version = 'v1'", "version="), ("rv = 5", "rv="), ("rv >= '5'", "rv>="), ("rv < '5'", "rv<")]:
            self.assertEqual(self.walk(f"SELECT seq FROM events WHERE {condition}"), word + " (by seq)")
        self.assertEqual(self.walk("SELECT name FROM events WHERE resource = 'pods' AND namespace = 'shop' AND rv > 5 AND rv < 9"),
                         "resource= namespace= rv> rv< (by seq)")
        self.assertEqual(self.walk("SELECT seq FROM events WHERE type = 'ADDED'"), "(by seq)")
        self.assertEqual(self.walk("SELECT field FROM changes WHERE uid = 'u1' AND all_fields = 1"), "uid= all_fields= (by seq)")
        self.assertEqual(self.walk("SELECT name FROM objects WHERE resource = 'pods' AND at = 'end'"), "resource= at=")

    def test_orders_that_the_tape_has_are_not_sorted(self):
        self.assertEqual(self.walk("SELECT object FROM events ORDER BY seq"), "(by seq)")
        self.assertEqual(self.walk("SELECT object FROM events ORDER BY seq DESC LIMIT 1"), "(by seq descending)")
        self.assertEqual(self.walk("SELECT object FROM events ORDER BY time, seq"), "(by time)")
        self.assertEqual(self.walk("SELECT name FROM events ORDER BY time_ns DESC"), "(by time descending)")
        self.assertEqual(len(self.plan("SELECT name FROM events ORDER BY name")), 2)

    def test_a_walk_over_all_objects_goes_by_storage(self):
        self.assertEqual(self.walk("SELECT sum(length(object)) FROM events"), "(by storage)")
        self.assertEqual(self.walk("SELECT object FROM events LIMIT 1"), "(by seq)")

    def test_counting_needs_no_event_and_counts_what_a_walk_finds(self):
        for tail in ["", "WHERE seq > 3", "WHERE seq BETWEEN 2 AND 9", "WHERE seq < 1", "WHERE seq > 14", "WHERE seq = 7",
                     "WHERE seq IN (3, 99, 4)", "WHERE seq > 2.5", "WHERE seq = NULL"]:
            for order in ["", "ORDER BY seq DESC", "ORDER BY seq DESC LIMIT 2", "LIMIT 3 OFFSET 1"]:
                numbers = [r["seq"] for r in self.query(f"SELECT seq FROM events {tail} {order}")]
                walked = [r["seq"] for r in self.query(f"SELECT seq, name FROM events {tail} {order}")]
                self.assertEqual(numbers, walked, (tail, order))
            self.assertEqual(self.query(f"SELECT count(*) AS n FROM events {tail}"),
                             self.query(f"SELECT count(name) AS n FROM events {tail}"))
        joined = "SELECT count(*) AS n FROM events AS a JOIN events AS b ON b.seq < a.seq"
        self.assertEqual(self.query(joined)[0]["n"], 14 * 13 // 2)

    def test_inputs_come_from_other_tables(self):
        plan = self.plan("SELECT o.name FROM gaps AS g JOIN objects AS o ON o.at = g.begin_seq")
        self.assertTrue(plan[1].endswith("at="), plan)
        self.tape = BUNDLED  # larger, so that the few rows are walked and the many looked up
        plan = self.plan("SELECT e.seq FROM missed AS m JOIN events AS e ON e.resource = m.resource AND e.uid = m.uid")
        self.assertTrue(plan[1].endswith("resource= uid= (by seq)"), plan)

    def test_resource_versions_compare_as_numbers_and_malformed_ones_come_last(self):
        rows = self.query("SELECT rv FROM events WHERE resource = 'pods' ORDER BY rv, seq")
        numbers = sorted((r for r in STRANGE if r.isdigit()), key=int)
        self.assertEqual([r["rv"] for r in rows], numbers + ["", "abc"])

    def test_ranges_of_resource_versions_answer_as_a_look_at_every_row_does(self):
        for op, bound in itertools.product(["=", "<", "<=", ">", ">="], STRANGE + ["050", "-1", "x"]):
            pushed = self.query(f"SELECT seq FROM events WHERE rv {op} :b", "-p", f"b={bound}")
            looked = self.query(f"SELECT seq FROM events WHERE rv {op} :b OR seq < 0", "-p", f"b={bound}")
            self.assertEqual(pushed, looked, (op, bound))
        self.assertEqual(self.query("SELECT seq FROM events WHERE rv = NULL"), [])
        self.assertEqual(self.query("SELECT count(*) AS n FROM events WHERE rv BETWEEN 10 AND 99 AND resource = 'pods'"),
                         [{"n": 3}])

    def test_a_second_look_passes_by_what_the_first_has_seen(self):
        tape = self.dir + "/long.tape"
        self.make_tape(tape, [event(i, "MODIFIED", pod("p", "u", 100 + i, text="x" * 2000)) for i in range(300)], 65536)
        sql = ("WITH t(rv) AS (VALUES ('120'), ('250'), ('399'), ('400'), ('120')) SELECT t.rv, e.seq FROM t "
               "LEFT JOIN events AS e ON e.resource = 'pods' AND e.rv = t.rv")
        done = self.run_tape("query", tape, sql, "--format", "json")
        self.assertEqual([r["seq"] for r in json.loads(done.stdout)], [21, 151, 300, None, 21])

    def test_plans_answer_as_walks_without_them_on_a_real_tape(self):
        self.tape = BUNDLED
        for condition in ["resource = 'pods' AND rv > 600 AND rv <= 700", "resource = 'leases' AND rv >= '650'",
                          "rv < 500", "namespace = 'shop' AND rv > 500 AND name = 'web'"]:
            pushed = self.query(f"SELECT seq, rv FROM events WHERE {condition} ORDER BY seq")
            free = condition.replace("rv ", "CAST(rv AS INTEGER) ").replace("'650'", "650")
            self.assertEqual(pushed, self.query(f"SELECT seq, rv FROM events WHERE {free} ORDER BY seq"))
            self.assertTrue(pushed, condition)


if __name__ == "__main__":
    unittest.main()
