"""The decoder of protobuf bodies against the Go types that it was made from."""

import os
import subprocess
import unittest

from lib import paths

DECODER = os.path.join(paths.ROOT, "build", "protobuf_decode")
TABLE = os.path.join(paths.ROOT, "replayer", "protobuf", "protobuf_table.c")


def run(folder, *command, **environment):
    return subprocess.run(command, cwd=os.path.join(paths.ROOT, folder), capture_output=True, timeout=1200,
        env={**os.environ, **environment}, check=False)


class Protobuf(unittest.TestCase):

    def test_every_kind_is_printed_as_go_prints_it(self):
        made = run(".", "make", "-s", "build/protobuf_decode")
        self.assertEqual(made.returncode, 0, made.stderr.decode())
        done = run("tests/interop/protobuf", "go", "test", "-count=1", "./...", KUBETAPE_PROTOBUF_DECODE=DECODER)
        self.assertEqual(done.returncode, 0, done.stdout.decode()[-3000:] + done.stderr.decode()[-1000:])

    def test_the_table_is_what_its_generator_writes(self):
        done = run("tools/protobuf", "go", "run", ".")
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-1000:])
        with open(TABLE, "rb") as file:
            self.assertTrue(done.stdout == file.read(), "run the generator again: see tools/protobuf/main.go")
