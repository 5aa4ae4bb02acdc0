#!/usr/bin/env python3
"""Runs the wire and CLI tests (unittest) against the programs in $KUBETAPE_BUILD (default: build).

usage: tests/run_python.py [-j N] [--folder FOLDER] [--without PATTERN] [PATTERN]...
       tests/run_python.py [--folder FOLDER] --ids ID...
PATTERN is a part of a test's id; without one, every test runs. --ids: the tests of those ids, and no other is even loaded.
With -j the files run N at a time, each with its output when it is done; so do the tests of a file that says
TESTS_APART = True. Ends with a plain line `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ["tests/crash", "tests/cli", "tests/scenarios", "tests/view", "tests/wire"]  # what takes long first


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def collect(folders, patterns, without):
    wanted = unittest.TestSuite()
    for folder in folders:
        path = os.path.join(ROOT, folder)
        if not os.path.isdir(path):
            continue
        found = unittest.TestLoader().discover(path, pattern="test_*.py", top_level_dir=path)
        wanted.addTests(t for t in flatten(found)
                        if (not patterns or any(p in t.id() for p in patterns)) and not any(p in t.id() for p in without))
    return wanted


def load(folders, ids):
    sys.path[:0] = [os.path.join(ROOT, folder) for folder in folders]
    return unittest.TestLoader().loadTestsFromNames(ids)


def run(suite):
    """Returns (passed, failed, skipped)."""
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    # A test fails once, however many of its parts do.
    broken = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    failed = len(broken) + len(result.unexpectedSuccesses)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    return result.testsRun - failed - len(result.skipped), failed, len(result.skipped)


def run_file(folders, name, ids):
    """Tests of one file, in a process of its own. What it took of processors includes the programs that it ran and waited for."""
    began = time.monotonic()
    with subprocess.Popen([sys.executable, os.path.abspath(__file__), *(f"--folder={f}" for f in folders), "--ids", *ids], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.MULTILINE)
    print(f"{output}{name}: {time.monotonic() - began:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of processors", flush=True)
    return [int(n) for n in counts.groups()] if counts else [0, 1, 0]


def run_files(folders, suite, jobs):
    files = {}
    for test in flatten(suite):
        module = type(test).__module__
        apart = getattr(sys.modules.get(module), "TESTS_APART", False)
        files.setdefault(test.id() if apart else module, []).append(test.id())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [sum(column) for column in zip(*pool.map(lambda name: run_file(folders, name, files[name]), files))]


def keep_bytecode(build):
    """Hundreds of interpreters start, this program's and those of what the tests run: none needs to compile what another has."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(build, "pycache")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("--folder", dest="folders", action="append", help="instead of " + ", ".join(FOLDERS))
    parser.add_argument("--without", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--ids", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    build = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
    os.environ["KUBETAPE_BUILD"] = build
    os.environ.setdefault("KUBETAPE", os.path.join(build, "kubetape"))
    keep_bytecode(build)
    folders = args.folders or FOLDERS
    suite = load(folders, args.ids) if args.ids else collect(folders, args.patterns, args.without)
    if args.jobs > 1 and suite.countTestCases():
        passed, failed, skipped = run_files(folders, suite, args.jobs)
    else:
        passed, failed, skipped = run(suite)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed + skipped == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
