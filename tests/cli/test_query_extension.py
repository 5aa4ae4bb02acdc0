"""The extension in the stock sqlite3 program."""
import os
import subprocess
import unittest

from tapes import (EXTENSION, MAKE_TAPE, NODES, PODS, SECOND, START, TapeTest, event, lines_of, loading_environment,
                   pod)


class Extension(TapeTest):
    rows = [
        event(0, "ADDED", pod("web-0", "u1", 10), origin="list"),
        event(1, "MODIFIED", pod("web-0", "u1", 11, spec={"n": 1})),
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + SECOND,
         "end_ns": START + 3 * SECOND, "duration_ns": 2 * SECOND, "begin_seq": 2, "end_seq": 4, "recreated": 1},
        {"missed": "recreated", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "web-0", "uid": "u2",
         "old_uid": "u1"},
        {"missed": "added", "gap_id": 1, "stream": NODES, "name": "n1", "uid": "u3"},
    ]

    def sqlite3(self, *commands):
        return subprocess.run(["sqlite3", ":memory:", f".load {EXTENSION}", *commands], capture_output=True, text=True,
                              timeout=60, env=loading_environment())

    def test_stock_sqlite3_opens_all_tables_of_a_tape(self):
        done = self.sqlite3(f"SELECT kubetape_open('{self.tape}');",
                            "SELECT seq, name, jget(object, '$.spec.n') FROM events ORDER BY seq;",
                            "SELECT stream, begin, end, reason, how_ended FROM gaps;",
                            "SELECT * FROM missed;", "SELECT rv FROM objects;")
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.splitlines(), [
            self.tape, "1|web-0|", "2|web-0|1",
            "1|2023-11-14T22:13:21.000000000Z|2023-11-14T22:13:23.000000000Z|reset|relist",
            "1|recreated||v1|pods|shop|web-0|u2|u1||", "1|added||v1|nodes||n1|u3|||", "11"])

    def test_one_table_is_made_by_create_virtual_table(self):
        done = self.sqlite3(f"CREATE VIRTUAL TABLE t USING kubetape('{self.tape}');", "SELECT count(*) FROM t;",
                            f"CREATE VIRTUAL TABLE g USING kubetape('{self.tape}', 'gaps');",
                            "SELECT count(*) FROM g;")
        self.assertEqual((done.stdout, done.stderr), ("2\n1\n", ""))

    def test_two_tapes_are_open_at_once_under_two_prefixes(self):
        other = os.path.join(self.dir, "it's other.tape")
        self.make_tape(other, self.rows[:1])
        done = self.sqlite3(f"SELECT kubetape_open('{self.tape}');",
                            "SELECT kubetape_open('{}', 'b_');".format(other.replace("'", "''")),
                            "SELECT seq FROM events EXCEPT SELECT seq FROM b_events;")
        self.assertEqual((done.stdout.splitlines()[2:], done.stderr), (["2"], ""))

    def test_a_connection_sees_a_tape_grow(self):
        more = os.path.join(self.dir, "more")
        with open(more, "w") as f:
            f.write(lines_of([event(9, "DELETED", pod("web-0", "u1", 12))]))
        count = "SELECT count(*), (SELECT count(*) FROM objects) FROM events;"
        done = self.sqlite3(f"SELECT kubetape_open('{self.tape}');", count,
                            f".shell {MAKE_TAPE} '{self.tape}' < '{more}'", count)
        self.assertEqual((done.stdout.splitlines()[1:], done.stderr), (["2|1", "3|0"], ""))

    def test_what_is_no_tape_is_one_sentence(self):
        for path, sentence in [(self.dir, "is not a tape"), (self.dir + "/none", "No such file"), ("", "tape")]:
            done = self.sqlite3(f"CREATE VIRTUAL TABLE t USING kubetape('{path}');")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(sentence, done.stderr)
        done = self.sqlite3(f"CREATE VIRTUAL TABLE t USING kubetape('{self.tape}', 'cats');")
        self.assertIn("no table 'cats'", done.stderr)
        done = self.sqlite3("SELECT * FROM kubetape;")
        self.assertNotEqual(done.returncode, 0)

    def test_a_tape_is_not_changed_by_being_read(self):
        def content():
            return {name: open(os.path.join(self.tape, name), "rb").read() for name in sorted(os.listdir(self.tape))}

        before = content()
        self.sqlite3(f"SELECT kubetape_open('{self.tape}');", "SELECT sum(length(object)) FROM events;",
                     "DELETE FROM events;", "UPDATE gaps SET reason = 'x';")
        self.assertEqual(content(), before)


if __name__ == "__main__":
    unittest.main()
