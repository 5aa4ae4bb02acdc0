#!/usr/bin/env python3
"""Runs the wire and CLI tests (unittest) against the programs in $KUBETAPE_BUILD (default: build).

usage: tests/run_python.py [PATTERN]...      PATTERN is a part of a test's id; without one, every test runs.
Ends with a plain line `N passed, N failed`.
"""
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ["tests/wire", "tests/cli", "tests/crash", "tests/scenarios"]


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def collect(patterns):
    wanted = unittest.TestSuite()
    for folder in FOLDERS:
        path = os.path.join(ROOT, folder)
        if not os.path.isdir(path):
            continue
        found = unittest.TestLoader().discover(path, pattern="test_*.py", top_level_dir=path)
        wanted.addTests(t for t in flatten(found) if not patterns or any(p in t.id() for p in patterns))
    return wanted


def main():
    os.chdir(ROOT)
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    build = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
    os.environ["KUBETAPE_BUILD"] = build
    os.environ.setdefault("KUBETAPE", os.path.join(build, "kubetape"))
    suite = collect(sys.argv[1:])
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or result.testsRun == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
