"""Printing test results: a line for each test, the failures in full at the end, and one plain closing line."""

import collections
import time
import typing
import unittest


class Result(unittest.TestResult):
    def __init__(self, say):
        super().__init__()
        self.say = say
        self.ran = {}
        self._began = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()
        self.ran[test.id()] = "ok"

    def stopTest(self, test):
        super().stopTest(test)
        self.say(f"{self.ran[test.id()]:7} {time.monotonic() - self._began:6.1f} s  {sentence(test)}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.ran[test.id()] = "FAILED"

    def addError(self, test, err):
        super().addError(test, err)
        self.ran[test.id()] = "FAILED"

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.ran[test.id()] = "FAILED"

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.ran[test.id()] = "skipped"

    def outcome(self):
        """What is left to say in the end, as something that another process can be told."""
        counts = collections.Counter(self.ran.values())
        # A failure outside a test (a broken module, a fixture) is one of unittest's own and counts as well.
        counts["FAILED"] += sum(1 for test, _ in self.errors if not _of_a_test(test, self.ran))
        return Outcome(counts,
            [f"\n--- {sentence(test)}\n{trace}" for test, trace in self.failures + self.errors],
            [f"skipped: {sentence(test)}: {reason}" for test, reason in self.skipped])


class Outcome(typing.NamedTuple):
    counts: collections.Counter  # of "ok", "FAILED" and "skipped"
    failures: list
    skips: list


def report(say, outcomes):
    """Print what failed and the closing line; True when nothing failed."""
    for text in [t for o in outcomes for t in o.failures] + [t for o in outcomes for t in o.skips]:
        say(text)
    counts = sum((o.counts for o in outcomes), collections.Counter())
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    say(f"{counts['ok']} passed, {counts['FAILED']} failed{skipped}")
    return counts["FAILED"] == 0


def _of_a_test(test, ran):
    return getattr(test, "test_case", test).id() in ran


def sentence(test):
    """cases.test_a_tape.TheTape.test_holds_every_resource -> 'TheTape: holds every resource'; a fixture's name stays as it is."""
    identity = test.id().split(" ", 1)
    parts = identity[0].split(".")
    if len(parts) < 2:
        return test.id()
    rest = " " + identity[1] if len(identity) > 1 else ""
    return f"{parts[-2]}: {parts[-1].removeprefix('test_').replace('_', ' ')}{rest}"
