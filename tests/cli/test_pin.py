"""kubetape pin: stretches that are kept whatever retention removes."""
import json
import os
import re
import shutil
import subprocess

from tapes import TapeTest, event, pod



class Pin(TapeTest):
    rows = [event(60 * i, "ADDED", pod(f"p{i:02}", f"u{i}", i + 1)) for i in range(30)]

    def pin(self, *options, code=0):
        done = self.run_tape("pin", self.tape, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def pins(self):
        return sorted(os.listdir(self.tape + ".pins"))

    def ask(self, name, sql):
        done = self.run_tape("query", os.path.join(self.tape + ".pins", name), sql, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_without_options_it_keeps_the_last_ten_minutes_under_their_time(self):
        self.pin()
        self.assertEqual(self.pins(), ["2023-11-14T22-32-20Z.ktape"])
        self.assertEqual(self.ask(self.pins()[0], "SELECT name FROM events ORDER BY seq")[0], {"name": "p20"})
        self.assertEqual(self.ask(self.pins()[0], "SELECT count(*) AS n FROM objects")[0], {"n": 30})

    def test_a_pin_is_intact_and_outlives_its_tape(self):
        self.pin("--from", "start", "--until", "+5m", "--name", "first")
        shutil.rmtree(self.tape)
        path = os.path.join(self.tape + ".pins", "first.ktape")
        self.assertEqual(self.run_tape("verify", path).returncode, 0)
        self.assertEqual(self.ask("first.ktape", "SELECT count(*) AS n FROM events"), [{"n": 6}])

    def test_what_a_killed_pin_had_begun_is_removed_and_what_another_one_is_making_stays(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        for pid in (dead.pid, os.getpid()):
            shutil.copytree(self.tape, os.path.join(self.tape + ".pins", f"x.ktape.tmp-{pid}"))
        self.pin("--name", "whole")
        self.assertEqual(self.pins(), ["whole.ktape", f"x.ktape.tmp-{os.getpid()}"])

    def test_pins_of_one_moment_do_not_replace_each_other(self):
        self.pin()
        self.pin()
        self.assertEqual(len(self.pins()), 2)

    def test_a_stretch_from_before_the_tape_is_called_after_its_beginning(self):
        self.assertIn("before the beginning of the tape", self.pin("--from", "-10h", code=3).stderr)
        self.assertEqual(self.pins(), ["2023-11-14T22-13-20Z.ktape"])

    def test_a_stretch_without_an_event_is_refused_and_leaves_no_file(self):
        for options in (("--from", "2030-01-01"), ("--from", "31"), ("--from", "start", "--until", "2001-01-01"), ("--from", "end"),
                        ("--from", "+9m", "--until", "+5m"), ("--from", "20", "--until", "10"), ("--from", "20", "--until", "20")):
            done = self.pin(*options, code=2)
            self.assertRegex(done.stderr, "^kubetape pin: nothing to pin: .*'.*\n$")
        self.assertIn("'2030-01-01' is 2030-01-01T00:00:00.000000000Z, ", self.pin("--from", "2030-01-01", code=2).stderr)
        self.assertIn("the tape has no event after '+9m' until '+5m'", self.pin("--from", "+9m", "--until", "+5m", code=2).stderr)
        self.assertFalse(os.path.exists(self.tape + ".pins"))

    def test_the_oldest_pins_go_when_all_take_too_much_and_other_files_stay(self):
        os.mkdir(self.tape + ".pins")
        for name in ("notes", ".hidden.ktape"):
            with open(os.path.join(self.tape + ".pins", name), "w", encoding="utf-8") as file:
                file.write("mine")
        for name in ("a", "b", "c"):
            self.pin("--name", name)
        size = os.stat(os.path.join(self.tape + ".pins", "c.ktape")).st_size
        done = self.pin("--name", "d", "--max-size", str(2 * size + size // 2))
        self.assertEqual(re.findall(r"^removed '.*/([^/]+)', the oldest: pins may take ", done.stdout, re.MULTILINE), ["a.ktape", "b.ktape"])
        self.assertEqual(self.pins(), [".hidden.ktape", "c.ktape", "d.ktape", "notes"])

    def test_the_newest_pin_stays_however_large_it_is(self):
        self.pin("--name", "a")
        self.pin("--name", "b", "--max-size", "1")
        self.assertEqual(self.pins(), ["b.ktape"])

    def test_a_name_that_leads_elsewhere_is_refused(self):
        for name in ("../x", "", ".x", "a/b"):
            self.assertIn("bad name of a pin", self.pin("--name", name, code=2).stderr)
        self.assertFalse(os.path.exists(self.tape + ".pins"))

    def test_a_tape_that_is_not_there_leaves_no_folder(self):
        done = self.run_tape("pin", self.tape + "x")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(self.tape + "x.pins"))
