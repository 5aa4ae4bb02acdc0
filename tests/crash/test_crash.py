"""Writers that are killed at any moment, and disks that fail or lose power at any call.

A quick look by default: 200 kills, and some of the calls, the same ones each time. KUBETAPE_CRASH=all
(`make crash`) takes thousands of kills and every call in turn, with the day for a seed. KUBETAPE_CRASH_SEED takes
another seed.
"""
import contextlib
import glob
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from memory_folder import memory_folder

BUILD = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
PROGRAM = os.path.join(BUILD, "crash", "crash_tape")
SHIM = os.path.join(BUILD, "crash", "fault_shim.so")
ALL = os.environ.get("KUBETAPE_CRASH") == "all"
SEED = int(os.environ.get("KUBETAPE_CRASH_SEED", time.time() // 86400 if ALL else 1))
EVENTS = 330
CUT_EXIT = 137
_, files = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))  # the shim keeps one open for each write that it may undo


def rows_of(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


class CrashTest(unittest.TestCase):
    def setUp(self):
        self.dir = memory_folder(self, "crash")

    def run_program(self, *args, **env):
        return subprocess.run([PROGRAM, *map(str, args)], env=dict(os.environ, **env), capture_output=True,
                              text=True, timeout=1800)


class Kills(CrashTest):
    def test_no_kill_loses_what_was_acknowledged_or_stops_the_next_writer(self):
        rounds = 5000 if ALL else 50 if "asan" in BUILD else 200
        done = self.run_program("kill", self.dir, rounds, SEED)
        self.assertEqual((done.returncode, done.stderr), (0, ""), f"seed {SEED}")
        self.assertRegex(done.stdout, rf"^{rounds} kills, \d+ events, 0 acknowledged ones lost$")


@unittest.skipIf("asan" in BUILD, "the sanitizer's runtime wants to be loaded first")
class Faults(CrashTest):
    """Each call fails in turn, until a run has no failure: those that write, then those that read."""

    def shim(self, mode, at, errno, calls, count):
        """The environment of a program under the shim."""
        return {"LD_PRELOAD": SHIM, "FAULT_DIR": self.tape, "FAULT_AT": str(at), "FAULT_MODE": mode,
                "FAULT_ERRNO": errno, "FAULT_SEED": str(SEED + at), "FAULT_CALLS": calls, "FAULT_COUNT": count}

    def write(self, mode, at, errno="ENOSPC", calls="write"):
        """A fresh tape under the shim. Returns the finished process and how many calls it made, None after a cut."""
        for name in os.listdir(self.dir):
            path = os.path.join(self.dir, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        count = os.path.join(self.dir, "count")
        self.tape, self.ack = os.path.join(self.dir, "x.tape"), os.path.join(self.dir, "ack")
        done = self.run_program("write", self.tape, EVENTS, self.ack, **self.shim(mode, at, errno, calls, count))
        if not os.path.exists(count):
            return done, None
        with open(count) as f:
            return done, int(f.read())

    def has_incomplete_segment(self):
        """A writer died while it made one: the next discards it."""
        paths = glob.glob(os.path.join(self.tape, "open-*.db"))
        return any(not rows_of(path, "SELECT 1 FROM meta WHERE key = 'state_complete'") for path in paths)

    def last_call_of_making_a_segment(self):
        at, begun = 0, False
        while not begun or self.has_incomplete_segment():
            at += 1
            done, _ = self.write("kill", at)
            self.assertEqual(done.returncode, -signal.SIGKILL)
            begun = begun or self.has_incomplete_segment()
        return at - 1

    @contextlib.contextmanager
    def reader_that_holds_the_tape(self):
        with subprocess.Popen([PROGRAM, "hold", self.tape], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            self.assertEqual(reader.stdout.readline(), b"held\n")
            yield
            reader.stdin.close()
            self.assertEqual(reader.wait(), 0)

    def check(self, what):
        done = self.run_program("check", self.tape, self.ack)
        self.assertEqual((done.returncode, done.stderr), (0, ""), what)
        return int(done.stdout)

    def check_and_go_on(self, what):
        """The tape is sound and has what was acknowledged; the next writer goes on as if nothing had been."""
        self.check(what)
        done = self.run_program("write", self.tape, EVENTS + 50, self.ack)
        self.assertEqual((done.returncode, done.stderr), (0, ""), what)
        self.assertEqual(self.check(what), EVENTS + 50, what)
        left = [n for n in os.listdir(self.tape) if not n.startswith("seg-") or not n.endswith(".db")]
        self.assertEqual(left, ["lock"], what)

    def calls(self, step, calls):
        """Numbers of calls to fail at: every one, or some with the first and last few."""
        done, count = self.write("none", 0, calls=calls)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.check("no fault"), EVENTS)
        self.assertGreater(count, 100)
        return range(1, count + 100) if ALL else sorted({*range(1 + SEED % step, count, step), *range(1, 12),
                                                         *range(count - 45, count + 1, 3)})

    def each(self, mode, step, errno="ENOSPC", calls="write"):
        for at in self.calls(step, calls):
            done, count = self.write(mode, at, errno, calls)
            what = f"{mode} {errno} at {calls} {at}, seed {SEED}: {done.stderr}"
            yield at, done, what
            self.check_and_go_on(what)
            if count is not None and count < at and mode != "cut":
                break

    def one_failure(self, mode, errno, step=53, calls="write"):
        for _, done, what in self.each(mode, step, errno, calls):
            self.assertIn(done.returncode, (0, 1), what)
            self.assertEqual(done.returncode == 1, done.stderr != "", what)
            self.assertNotRegex(done.stderr, "malformed|corrupt|checksum", what)
            if done.returncode == 0:
                self.assertEqual(self.check(what), EVENTS, what)

    def test_a_full_disk_at_one_call_loses_nothing(self):
        self.one_failure("once", "ENOSPC")

    def test_an_error_at_one_call_loses_nothing(self):
        self.one_failure("once", "EIO")

    def test_a_broken_disk_at_the_end_is_said_with_what_is_stored_and_the_next_writer_seals(self):
        _, count = self.write("none", 0)
        said = 0
        for at in range(count - 40, count + 1, 1 if ALL else 4):
            done, _ = self.write("sticky", at, "EIO")
            what = f"EIO from call {at} of {count}, seed {SEED}: {done.stderr}"
            if "all events are stored, and the next writer of the tape seals them" in done.stderr:
                said += 1
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), what)
                self.assertEqual(self.check(what), EVENTS, what)
            self.check_and_go_on(what)
        self.assertGreater(said, 0)

    def test_an_error_once_at_the_end_is_tried_again(self):
        _, count = self.write("none", 0)
        for at in range(count - 20, count + 1, 1 if ALL else 3):
            done, _ = self.write("once", at, "EIO")
            self.assertEqual((done.returncode, done.stderr), (0, ""), f"EIO at call {at} of {count}, seed {SEED}")
            self.assertEqual(self.check(at), EVENTS)

    def test_an_error_at_one_read_loses_nothing(self):
        self.one_failure("once", "EIO", 37, "read")

    def test_a_reader_with_a_read_error_says_so_or_reads_everything(self):
        self.write("none", 0)
        count = os.path.join(self.dir, "reads")
        for at in range(1, 10000, 1 if ALL else 7):
            done = self.run_program("check", self.tape, self.ack, **self.shim("once", at, "EIO", "read", count))
            what = f"read {at}: {done.stdout}{done.stderr}"
            self.assertIn(done.returncode, (0, 1), what)
            self.assertEqual((done.stdout == f"{EVENTS}\n", done.stderr == ""), (done.returncode == 0,) * 2, what)
            with open(count) as f:
                if int(f.read()) < at:
                    break
        else:
            self.fail("a reader that reads without end")

    def test_half_a_write_and_then_a_full_disk_lose_nothing(self):
        self.one_failure("short", "ENOSPC")

    def test_a_disk_that_stays_full_is_said_and_loses_nothing_acknowledged(self):
        for _, done, what in self.each("sticky", 47):
            self.assertIn(done.returncode, (0, 1), what)
            self.assertEqual(done.returncode == 1, done.stderr != "", what)

    def test_a_disk_that_stays_broken_is_said_and_loses_nothing_acknowledged(self):
        for _, done, what in self.each("sticky", 71, "EIO"):
            self.assertIn(done.returncode, (0, 1), what)

    def test_a_kill_while_a_segment_is_discarded_leaves_a_tape_that_others_can_read_and_write(self):
        """A reader has it open all the while, and with it the index of the segment's log."""
        made = self.last_call_of_making_a_segment()
        for at in range(1, 60):
            self.write("kill", made)
            with self.reader_that_holds_the_tape():
                done = self.run_program("write", self.tape, EVENTS, self.ack, **self.shim("kill", at, "EIO", "write", ""))
                self.assertEqual(done.returncode, -signal.SIGKILL)
                self.check_and_go_on(f"killed at call {at}")

    def test_a_power_cut_at_any_call_loses_nothing_acknowledged(self):
        for _, done, what in self.each("cut", 13):
            self.assertIn(done.returncode, (CUT_EXIT, 0), what)


if __name__ == "__main__":
    unittest.main()
