"""Tapes that may be read and nothing more: on a file system that is read-only, or in another user's directory."""
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import bounded
import tamper
from tapes import KUBETAPE, TapeTest

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes", "golden")
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && ! touch "$0/x" 2>/dev/null && exec "$@"'
NOBODY = 65534


def namespaces():
    return shutil.which("unshare") and not subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/run"], capture_output=True, check=False).returncode


def outcome(done):
    """What a command did, without what differs from run to run: how long it took; ports and tokens of a replay."""
    texts = [re.sub(r" in [\w.]+ \([\d.]+ \w+/s\)", "", text) for text in (done.stdout, done.stderr)]
    return (done.returncode, *texts) if "replay" not in done.args else done.returncode


class ReadOnly(TapeTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)

    def copies(self, golden, change=None):
        """The same tape twice, under one name in two directories: one that may be written, one that may not."""
        directories = [tempfile.mkdtemp(dir=self.dir) for _ in range(2)]
        for directory in directories:
            tape = tamper.copy(os.path.join(GOLDEN, golden), os.path.join(directory, "x.tape"))
            if change:
                change(tape)
            os.chmod(directory, 0o777)
        return directories

    @staticmethod
    def commands():
        return [c for c in bounded.readers("x.tape", ".") if c[0] != "log"] + \
            [["log", "x.tape", "pod", "web-3", "-n", "shop"], ["query", "x.tape", "SELECT * FROM events"]]

    def assert_read_alike(self, golden, run, change=None):
        writable, fixed = self.copies(golden, change)
        self.close(os.path.join(fixed, "x.tape"))
        for command in self.commands():
            expected = subprocess.run([KUBETAPE, *command], cwd=writable, capture_output=True, text=True, check=False, timeout=120)
            done = run(command, fixed)
            self.assertEqual(outcome(done), outcome(expected), command)
            self.assertIn(done.returncode, (0, 3), command)

    def close(self, tape):
        """As another user leaves it. Who reads may read and search, and nothing else."""
        for name in os.listdir(tape):
            os.chmod(os.path.join(tape, name), 0o444)
        os.chmod(tape, 0o555)
        self.addCleanup(os.chmod, tape, 0o755)

    @staticmethod
    def mounted(command, directory):
        return subprocess.run(["unshare", "-rm", "sh", "-c", MOUNT, os.path.join(directory, "x.tape"), KUBETAPE, *command],
                              cwd=directory, capture_output=True, text=True, check=False, timeout=120)

    @staticmethod
    def other_user(command, directory):
        """Root may do what the modes forbid."""
        return subprocess.run([KUBETAPE, *command], cwd=directory, capture_output=True, text=True, check=False, timeout=120,
                              user=NOBODY if os.geteuid() == 0 else None)

    @staticmethod
    def share_index(tape):
        """As SQLite's index of the log is left by a recorder that was killed: copied while it is in use."""
        database = os.path.join(tape, "open-000002.db")
        db = sqlite3.connect(database)
        db.execute("SELECT count(*) FROM chunk").fetchall()
        shutil.copy(database + "-shm", database + "-kept")
        shutil.copy(database + "-wal", database + "-log")
        db.close()
        os.rename(database + "-kept", database + "-shm")
        os.rename(database + "-log", database + "-wal")

    @staticmethod
    def drop_log(tape):
        os.unlink(os.path.join(tape, "open-000002.db-wal"))

    @staticmethod
    def empty_log(tape):
        os.truncate(os.path.join(tape, "open-000002.db-wal"), 0)

    def assert_all_read_alike(self, run):
        for golden, change in (("killed.tape", None), ("killed.tape", self.share_index), ("killed.tape", self.drop_log),
                               ("killed.tape", self.empty_log), ("open.tape", None), ("rotated.tape", None)):
            with self.subTest(golden=golden, change=change and change.__name__):
                self.assert_read_alike(golden, run, change)

    @unittest.skipUnless(namespaces(), "mounting needs namespaces")
    def test_a_tape_on_a_read_only_file_system_is_read_as_any(self):
        self.assert_all_read_alike(self.mounted)

    @unittest.skipIf("coverage" in KUBETAPE.split(os.sep), "another user cannot write down which lines ran")
    @unittest.skipUnless(os.geteuid() or os.access(os.path.dirname(KUBETAPE), os.X_OK), "nobody must find the program")
    def test_a_tape_of_another_user_is_read_as_any(self):
        self.assert_all_read_alike(self.other_user)

    @unittest.skipUnless(namespaces(), "mounting needs namespaces")
    def test_damage_is_told_there_as_well(self):
        def break_log(tape):
            with open(os.path.join(tape, "open-000002.db-wal"), "r+b") as log:
                log.seek(32 + 24 + 100)
                byte = log.read(1)[0]
                log.seek(32 + 24 + 100)
                log.write(bytes([byte ^ 1]))
        _, fixed = self.copies("killed.tape", break_log)
        done = self.mounted(["verify", "x.tape"], fixed)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("x.tape is damaged", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
