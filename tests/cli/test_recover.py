"""kubetape recover: what it prints, how it ends, and what is in the new tape."""
import json
import os
import shutil
import unittest
from hashlib import sha512

import tamper
from tapes import TapeTest, event, pod


class Recover(TapeTest):
    rows = [event(i, "MODIFIED", pod(f"a{i % 7}", f"u{i % 7}", 10 + i, text=sha512(b"%d" % i).hexdigest() * 3))
            for i in range(400)]

    def setUp(self):
        super().setUp()
        self.new = os.path.join(self.dir, "new.tape")

    def zero_a_page(self, table, pagetype):
        tamper.zero_a_page(os.path.join(self.tape, "seg-000001.db"), table, pagetype)

    def recover(self, *args):
        return self.run_tape("recover", self.tape, "-o", self.new, *args)

    def events_of(self, tape):
        return [(r["uid"], r["rv"], r["object"]) for r in
                json.loads(self.run_tape("query", tape, "SELECT uid, rv, object FROM events ORDER BY seq",
                                         "--format", "json").stdout)]

    def test_a_whole_tape_comes_back_whole(self):
        done = self.recover()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"recovered 400 events, lost nothing; the tape is '{self.new}'\n")
        self.assertEqual(self.events_of(self.new), self.events_of(self.tape))
        self.assertEqual(self.run_tape("verify", self.new).returncode, 0)

    def test_what_is_lost_is_listed_and_the_rest_is_there(self):
        before = self.events_of(self.tape)
        self.zero_a_page("block", "overflow")
        done = self.recover("--json")
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        got = json.loads(done.stdout)
        lost = {s for l in got["lost"] if l["table"] == "events" for s in range(l["first_seq"], l["last_seq"] + 1)}
        self.assertGreater(len(lost), 0)
        self.assertEqual((got["lost_events"], got["events"]), (len(lost), 400 - len(lost)))
        self.assertEqual(self.events_of(self.new), [e for i, e in enumerate(before, 1) if i not in lost])
        self.assertEqual(self.run_tape("verify", self.new).returncode, 0)
        for line in got["lost"]:
            with self.subTest(line=line):
                self.assertEqual(line["rv"], before[line["first_seq"] - 1][1])

    def test_the_list_for_people_has_a_line_for_each(self):
        self.zero_a_page("block", "overflow")
        done = self.recover()
        self.assertEqual(done.returncode, 3)
        *lines, last = [l for l in done.stdout.splitlines() if not l.startswith("the end")]
        for line in lines:
            self.assertRegex(line, r"^lost: events? \d+")
        self.assertRegex(last, r"^recovered \d+ events, lost \d+ events and 0 rows; the tape is ")

    def test_the_damaged_tape_is_left_as_it_was(self):
        self.zero_a_page("mark", "leaf")
        path = os.path.join(self.tape, "seg-000001.db")
        with open(path, "rb") as f:
            before = f.read()
        self.recover()
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(sorted(os.listdir(self.tape)), ["lock", "seg-000001.db"])

    def test_without_the_segment_that_has_the_state_nobody_knows_what_lived(self):
        grouped = os.path.join(self.dir, "grouped.tape")
        os.mkdir(grouped)
        shutil.copy("tests/tapes/golden/grouped.tape/seg-000002.db", grouped)
        done = self.run_tape("recover", grouped, "-o", self.new)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertIn("what lived then is unknown", done.stdout)
        self.assertEqual(len(self.events_of(self.new)), 13)
        rows = json.loads(self.run_tape("query", self.new, "SELECT certainty, reason FROM coverage", "--format", "json").stdout)
        self.assertEqual({(r["certainty"], r["reason"]) for r in rows}, {("gap", "state_lost")})
        self.assertEqual(self.run_tape("get", self.new, "pods", "-A").returncode, 3)
        self.assertEqual(self.run_tape("verify", self.new).returncode, 0)

    def test_what_cannot_be_done_is_said(self):
        self.assertEqual(self.run_tape("recover", self.tape).returncode, 2)
        self.assertEqual(self.run_tape("recover", self.tape, "-o", self.dir).returncode, 2)
        done = self.run_tape("recover", os.path.join(self.dir, "none.tape"), "-o", self.new)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot open tape", done.stderr)


if __name__ == "__main__":
    unittest.main()
