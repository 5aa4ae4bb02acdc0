"""X.ktape: a tape that is one file, which every command takes as it takes a folder."""
import json
import os
import random
import subprocess
import unittest

from tapes import KUBETAPE, TapeTest, event, pod

ROLLING = "tests/tapes/rolling-update.tape"


class OneFile(TapeTest):
    rows = [event(i, "ADDED" if i < 3 else "MODIFIED", pod(f"web-{i % 3}", f"u{i % 3}", 10 + i)) for i in range(20)]

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.dir, "x.ktape")

    def ok(self, *args, **more):
        done = self.run_tape(*args, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def left(self):
        return sorted(os.listdir(self.dir))

    def test_every_reader_takes_it_as_the_folder(self):
        self.ok("cut", ROLLING, "-o", self.file)
        self.assertTrue(os.path.isfile(self.file))
        self.assertEqual(self.left(), ["x.ktape", "x.tape"])
        for args in (["query", "SELECT seq, object FROM events"], ["query", "SELECT * FROM connections"], ["get", "pods", "-A"],
                     ["gaps"], ["log", "deploy/web", "-n", "shop"], ["diff-state", "100", "200"], ["export"]):
            whole, part = ([args[0], tape, *args[1:]] for tape in (ROLLING, self.file))
            self.assertEqual(self.run_tape(*whole).stdout, self.run_tape(*part).stdout, args)
        self.assertIn("is intact: 1 segment, 747 events", self.ok("verify", self.file))
        self.assertIn("747 of 59 resources", self.ok("info", self.file))
        done = self.run_tape("replay", self.file, "--exit-at-end", "--speed", "max", "--wait-watchers", "0", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_its_name_may_be_another_one_afterwards(self):
        self.ok("cut", self.tape, "-o", self.file)
        other = os.path.join(self.dir, "attachment.db")
        os.rename(self.file, other)
        self.assertIn("20 events", self.ok("verify", other))

    def test_every_command_that_makes_a_tape_at_one_go_makes_it(self):
        lines = self.ok("export", self.tape, "--table", "all")
        for command in (["cut", self.tape], ["repack", self.tape], ["recover", self.tape], ["import", "-"]):
            self.ok(*command, "-o", self.file, stdin=lines)
            self.assertIn("1 segment, 20 events", self.ok("verify", self.file), command)
            self.assertEqual(self.left(), ["x.ktape", "x.tape"], command)
            os.remove(self.file)

    def test_several_segments_become_one(self):
        for tape in ("rotated", "killed"):
            tape = os.path.join("tests/tapes/golden", tape + ".tape")
            for command in ("cut", "repack", "recover"):
                done = self.run_tape(command, tape, "-o", self.file)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("is intact: 1 segment", self.ok("verify", self.file))
                sql = "SELECT seq, type, object FROM events ORDER BY seq"
                self.assertEqual(self.ok("query", tape, sql), self.ok("query", self.file, sql))
                os.remove(self.file)
        self.assertEqual(self.left(), ["x.tape"])

    def test_the_size_that_is_told_is_that_of_the_file(self):
        done = self.ok("repack", "tests/tapes/golden/rotated.tape", "-o", self.file, "--json")
        self.assertEqual(json.loads(done)["new_disk_bytes"], os.path.getsize(self.file))

    def test_what_is_written_as_it_comes_is_a_folder(self):
        done = self.run_tape("record", "pods", "-o", self.file, "--server", "http://127.0.0.1:1")
        self.assert_fails(done, 2, "what is written as it comes is a folder")
        self.assertEqual(self.left(), ["x.tape"])

    def test_what_is_there_is_never_replaced(self):
        self.ok("cut", self.tape, "-o", self.file)
        for command in (["cut", self.tape], ["repack", self.tape], ["recover", self.tape], ["import", "-"]):
            done = self.run_tape(*command, "-o", self.file, stdin="{}")
            self.assert_fails(done, 2, "exists already")

    def test_a_file_that_is_none_is_told_from_one_that_is_damaged(self):
        for name, words in (("x.ktape", "x.ktape"), ("x.txt", "is not a tape")):
            path = os.path.join(self.dir, name)
            with open(path, "w", encoding="ascii") as f:
                f.write("hello" * 100)
            self.assert_fails(self.run_tape("info", path), 1, words)
        segment = os.path.join(self.tape, "seg-000001.db")
        self.assert_fails(self.run_tape("info", segment), 1, "is a segment: a tape is the folder")

    def test_a_damaged_one_is_found_by_verify_and_recovered(self):
        self.ok("cut", ROLLING, "-o", self.file)
        with open(self.file, "rb") as f:
            whole = f.read()
        os.chmod(self.file, 0o600)
        dice = random.Random(5)
        for n in range(8):
            at = dice.randrange(4096, len(whole) * 9 // 10)
            with open(self.file, "wb") as f:
                f.write(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1:])
            self.assertEqual(self.run_tape("verify", self.file).returncode, 1)
            saved = os.path.join(self.dir, f"saved{n}.ktape")
            self.assertIn(self.run_tape("recover", self.file, "-o", saved).returncode, (0, 3))
            self.assertEqual(self.run_tape("verify", saved).returncode, 0)

    def test_the_extension_and_the_shell_complete_it(self):
        self.ok("cut", self.tape, "-o", self.file)
        done = subprocess.run([KUBETAPE, "__complete", "info", self.dir + "/x"], capture_output=True, text=True, check=True, timeout=60)
        self.assertIn(self.file, done.stdout)
        rows = json.loads(self.ok("query", self.file, "SELECT count(*) AS n FROM events", "--format", "json"))
        self.assertEqual(rows, [{"n": 20}])


if __name__ == "__main__":
    unittest.main()
