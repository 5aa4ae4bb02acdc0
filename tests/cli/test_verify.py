"""kubetape verify: exit codes, the line for a damage, JSON."""
import json
import os
import re
import unittest

from tapes import TapeTest, event, pod


class Verify(TapeTest):
    rows = [event(i, "MODIFIED", pod("a", "u1", 10 + i)) for i in range(50)]

    def damage(self, offset):
        path = os.path.join(self.tape, "seg-000001.db")
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(offset)
            byte = f.read(1)[0]
            f.seek(offset)
            f.write(bytes([byte ^ 0x10]))

    def test_an_intact_tape_is_called_so(self):
        done = self.run_tape("verify", self.tape)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("is intact: 1 segment, 50 events", done.stdout)

    def test_a_damage_has_one_line_with_file_offset_found_and_expected(self):
        self.damage(3 * 1024 + 77)
        done = self.run_tape("verify", self.tape)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        first, last = done.stdout.splitlines()
        self.assertRegex(first, r"^seg-000001\.db at offset 3072: bad checksum of page 4: found [0-9a-f]{16}, "
                                r"expected [0-9a-f]{16}$")
        self.assertIn("is damaged: 1 damage in 1 segment; ", last)

    def test_a_damaged_tape_says_how_many_of_its_events_can_be_read(self):
        whole = os.path.join(self.dir, "whole.tape")
        self.make_tape(whole, self.rows + [event(60 + i, "MODIFIED", pod("b", "u2", 100 + i, spec={"text": "x" * 20000})) for i in range(3)])
        self.tape = whole
        path = os.path.join(whole, "seg-000001.db")
        with open(path, "rb") as f:
            size = len(f.read())
        for offset in range(2 * 1024 + 77, size - 1024, 1024):
            self.damage(offset)
            last = self.run_tape("verify", whole).stdout.splitlines()[-1]
            self.damage(offset)
            counts = re.search(r"; (?:at least )?(\d+) of 53 events can be read, |; it cannot be opened, ", last)
            self.assertTrue(counts, last)
        self.assertNotIn("readable_events", json.loads(self.run_tape("verify", "--json", whole).stdout))

    def test_json_says_the_same(self):
        got = json.loads(self.run_tape("verify", "--json", self.tape).stdout)
        self.assertEqual((got["intact"], got["events"], got["found"]), (True, 50, []))
        self.damage(4096)
        done = self.run_tape("verify", "--json", self.tape)
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got["intact"], got["damages"]), (1, False, 1))
        self.assertEqual((got["found"][0]["file"], got["found"][0]["offset"]), ("seg-000001.db", 4096))

    def test_quick_finds_a_damage_of_a_page_too(self):
        self.assertEqual(self.run_tape("verify", "--quick", self.tape).returncode, 0)
        self.damage(5000)
        self.assertEqual(self.run_tape("verify", "--quick", self.tape).returncode, 1)

    def test_what_is_no_tape_is_refused_with_a_sentence(self):
        done = self.run_tape("verify", os.path.join(self.dir, "nothing.tape"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot open tape", done.stderr)
        self.assertEqual(self.run_tape("verify").returncode, 2)
        self.assertEqual(self.run_tape("verify", "--nope", self.tape).returncode, 2)

    def test_nothing_is_written(self):
        before = sorted((f, os.stat(os.path.join(self.tape, f)).st_mtime_ns) for f in os.listdir(self.tape))
        self.run_tape("verify", self.tape)
        after = sorted((f, os.stat(os.path.join(self.tape, f)).st_mtime_ns) for f in os.listdir(self.tape))
        self.assertEqual(before, after)


if __name__ == "__main__":
    unittest.main()
