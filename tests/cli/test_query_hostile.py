"""Tapes that somebody damaged or made up: a sentence at most, never a crash, never anything executed."""
import os
import random
import subprocess
import unittest

from tapes import EXTENSION, PODS, SECOND, START, TapeTest, event, loading_environment, pod, table_names

EVERY_TABLE = ["SELECT count(*), sum(length(object)) FROM events;", "SELECT count(object) FROM events ORDER BY seq;",
               "SELECT count(*), sum(length(object)) FROM objects;", "SELECT count(*) FROM objects(2);",
               "SELECT count(*) FROM changes;", "SELECT count(manager) FROM changes ORDER BY seq DESC;"]
EVERY_TABLE += [f"SELECT * FROM {t};" for t in table_names() if t not in ("events", "objects", "changes")]
INJECTION = "x'); DROP TABLE events; SELECT load_extension('/tmp/x'); --\"; .shell touch {}"


class Hostile(TapeTest):
    rows = [
        {"connection": "watch", "stream": PODS, "begin_ns": START, "duration_ns": SECOND, "end_reason": "reset"},
        event(0, "ADDED", pod("web-0", "u1", 10, text="a" * 20000)),
        event(1, "MODIFIED", pod("web-0", "u1", 11, text="b" * 20000)),
        event(2, "MODIFIED", pod("web-0", "u1", 12, spec={"n": [1, {"name": "x"}]})),
        {"mark": "bookmark", "time_ns": START, "stream": PODS, "rv": "12", "object": {"kind": "Pod"}},
        {"document": "/version", "time_ns": START, "http_status": 200, "content_type": "application/json",
         "body": {"gitVersion": "v1"}},
        {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START, "end_ns": START + SECOND},
        {"missed": "deleted", "gap_id": 1, "stream": PODS, "namespace": "shop", "name": "web-0", "uid": "u1"},
    ]

    def read_everything(self, tape):
        """Each statement by itself in stock sqlite3, which goes on after an error."""
        script = "\n".join([f".load {EXTENSION}", f"SELECT kubetape_open('{tape}');"] + EVERY_TABLE)
        done = subprocess.run(["sqlite3", ":memory:"], input=script.encode(), capture_output=True, timeout=60,
                              env=loading_environment())
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"Sanitizer", done.stderr)
        self.assertNotIn(b"runtime error", done.stderr)
        return done

    def damaged(self, change):
        name = next(f for f in os.listdir(self.tape) if f.startswith("seg-"))
        with open(os.path.join(self.tape, name), "rb") as f:
            data = bytearray(f.read())
        change(data)
        path = os.path.join(self.dir, "damaged.tape")
        os.makedirs(path, exist_ok=True)
        target = os.path.join(path, name)
        if os.path.exists(target):
            os.unlink(target)
        with open(target, "wb") as f:
            f.write(data)
        return path

    def test_flipped_bytes_are_at_most_sentences(self):
        chance = random.Random(7)
        refused = 0

        def flip(data):
            for _ in range(chance.choice([1, 1, 4])):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)

        for _ in range(60):
            refused += b"rror" in self.read_everything(self.damaged(flip)).stderr
        self.assertGreater(refused, 0)

    def test_cut_segments_are_at_most_sentences(self):
        chance = random.Random(8)
        for _ in range(20):
            def cut(data):
                del data[chance.randrange(len(data)):]
            self.assertIn(b"rror", self.read_everything(self.damaged(cut)).stderr)

    def test_names_are_never_executed(self):
        flag = os.path.join(self.dir, "executed")
        name = INJECTION.format(flag)
        tape = os.path.join(self.dir, "'quoted\" $(x).tape")
        self.make_tape(tape, [event(0, "ADDED", pod(name, name, "1", namespace=name),
                                    stream={"version": name, "resource": name, "kind": name, "namespaced": True})])
        rows = self.run_tape("query", tape, "SELECT name FROM events WHERE name = :n", "-p", f"n={name}", "--format",
                             "csv").stdout
        self.assertIn(name.replace('"', '""'), rows)
        for args in [["info", tape], ["get", tape, name], ["log", tape, name], ["diff-state", tape, "start"],
                     ["export", tape, "--format", "trace"], ["query", tape, f"SELECT '{name}"]]:
            self.assertIn(self.run_tape(*args).returncode, (0, 1, 2, 3))
        self.assertEqual(self.run_tape("query", tape, "SELECT count(*) FROM events", "--format", "csv").stdout,
                         "count(*)\n1\n")
        self.assertFalse(os.path.exists(flag))

    def test_a_view_or_trigger_in_a_segment_is_not_read(self):
        name = next(f for f in os.listdir(self.tape) if f.startswith("seg-"))
        path = os.path.join(self.tape, name)
        os.chmod(path, 0o600)
        flag = os.path.join(self.dir, "executed")
        done = subprocess.run(["sqlite3", path, "DROP TABLE gap;", f"CREATE VIEW gap AS SELECT writefile('{flag}', 'x');"],
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.read_everything(self.tape)
        self.assertFalse(os.path.exists(flag))


if __name__ == "__main__":
    unittest.main()
