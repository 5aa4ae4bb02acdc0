"""What `sweep --junit` and `--sarif` write is what programs of others expect: `make check-reports`. Without these it is skipped."""

import importlib
import json
import os
import sys
import unittest

import test_sweep

BLIND = os.path.join(test_sweep.ROOT, "tests", "sweep", "blind.py")


def needed(module, *files):
    """The module, or the reason to skip as an exception."""
    missing = [name for name in files if not os.environ.get(name)]
    if missing:
        raise unittest.SkipTest("needs %s" % ", ".join(missing))
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise unittest.SkipTest("needs Python's %s" % module) from e


class SweepReportsTest(unittest.TestCase):
    arguments, sweep = test_sweep.SweepTest.arguments, test_sweep.SweepTest.sweep

    def setUp(self):
        needed("junitparser")
        test_sweep.SweepTest.setUp(self)
        self.tape = test_sweep.Story(["web-0"]).write(os.path.join(self.folder, "a \"day\" & more.tape"))
        self.junit, self.sarif = (os.path.join(self.folder, name) for name in ("junit.xml", "sarif.json"))
        done = self.sweep("--patterns", "writes,unobserved", "--settle", "500ms", "--max", "3", "--junit", self.junit, "--sarif", self.sarif,
            command=[sys.executable, BLIND, "buggy", "again"])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_a_parser_of_junit_files_counts_the_same(self):
        suite, = needed("junitparser").JUnitXml.fromfile(self.junit)
        results = [type(case.result[0]).__name__ if case.result else "" for case in suite]
        self.assertEqual((suite.tests, suite.failures, suite.errors), (len(results), results.count("Failure"), 0))
        self.assertGreater(suite.failures, 0)
        suite.update_statistics()
        self.assertEqual((suite.tests, suite.failures, suite.skipped), (len(results), results.count("Failure"), results.count("Skipped")))
        self.assertIn("--gaps=", next(case.result[0].text for case in suite if case.result))

    def test_the_junit_file_is_valid_for_jenkins(self):
        schema = needed("xmlschema", "JUNIT_XSD").XMLSchema(os.environ["JUNIT_XSD"])
        self.assertEqual([error.reason for error in schema.iter_errors(self.junit)], [])

    def test_the_sarif_file_is_valid(self):
        jsonschema = needed("jsonschema", "SARIF_SCHEMA")
        with open(os.environ["SARIF_SCHEMA"], encoding="utf-8") as f, open(self.sarif, encoding="utf-8") as found:
            checker = jsonschema.Draft7Validator(json.load(f), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
            self.assertEqual([error.message for error in checker.iter_errors(json.load(found))], [])


if __name__ == "__main__":
    unittest.main()
