"""Plays every scenario that needs no Go; each act is a test."""

import unittest

import scenarios
from playing import tests_of


class Scenario(tests_of(act for act in scenarios.ACTS if not (act.is_go or act.is_js))):
    pass


if __name__ == "__main__":
    unittest.main()
