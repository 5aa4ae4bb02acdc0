"""What the test cases share: the recorded session, read once, and a folder for what a test leaves."""

import functools
import os
import unittest

from lib import session, tape, witness

FOLDER = os.environ.get("KUBETAPE_INTEROP_SESSION", "")
# A list of differences is for reading: the first few tell what is wrong.
SHOWN = 5


@functools.cache
def recorded():
    return session.Session(FOLDER)


@functools.cache
def events(path):
    return tape.load(path)


@functools.cache
def seen():
    return witness.load(recorded().raw)


class Case(unittest.TestCase):
    """A test on the recorded session."""

    longMessage = True
    maxDiff = 2000

    @property
    def session(self):
        return recorded()

    @property
    def all_tape(self):
        return recorded().tape("all")

    @property
    def all_events(self):
        return events(self.all_tape)

    @property
    def seen(self):
        return seen()

    def folder(self):
        """A folder for the output of this test's programs, kept for looking at it until tests run again."""
        path = os.path.join(recorded().folder, "tests", self.id().split(".", 1)[-1])
        os.makedirs(path, exist_ok=True)
        return path

    def assertNothing(self, differences, what):
        """Fail with the first few of a list of differences."""
        if differences:
            shown = "\n".join(f"  {d}" for d in differences[:SHOWN])
            self.fail(f"{len(differences)} {what}:\n{shown}")
