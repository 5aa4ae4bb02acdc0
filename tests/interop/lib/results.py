"""Printing test results: a line for each test, the failures in full at the end, and one plain closing line."""

import time
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

	def report(self):
		"""Print what failed and the closing line; True when nothing failed."""
		for test, trace in self.failures + self.errors:
			self.say(f"\n--- {sentence(test)}\n{trace}")
		for test, reason in self.skipped:
			self.say(f"skipped: {sentence(test)}: {reason}")
		counts = {word: list(self.ran.values()).count(word) for word in ("ok", "FAILED", "skipped")}
		# A failure outside a test (a broken module, a fixture) is one of unittest's own and counts as well.
		failed = counts["FAILED"] + sum(1 for test, _ in self.errors if not _of_a_test(test, self.ran))
		skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
		self.say(f"{counts['ok']} passed, {failed} failed{skipped}")
		return failed == 0


def _of_a_test(test, ran):
	return getattr(test, "test_case", test).id() in ran


def sentence(test):
	"""cases.test_a_tape.TheTape.test_holds_every_resource -> 'TheTape: holds every resource'."""
	identity = test.id().split(" ", 1)
	parts = identity[0].split(".")
	rest = " " + identity[1] if len(identity) > 1 else ""
	return f"{parts[-2]}: {parts[-1].removeprefix('test_').replace('_', ' ')}{rest}"
