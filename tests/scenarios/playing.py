"""Acts as tests."""

import concurrent.futures
import os
import re
import shutil
import tempfile
import unittest

AT_ONCE = 8  # they mostly wait


def name_of(act):
    return "test_" + re.sub("[^a-zA-Z0-9]+", "_", act.name).strip("_")


def tests_of(acts):
    """A TestCase with a test for each act. They are all played when the first one is due."""
    acts = {name_of(act): act for act in acts}

    class Acts(unittest.TestCase):
        maxDiff = 4000

        @classmethod
        def setUpClass(cls):
            folder = tempfile.mkdtemp(prefix="kubetape-scenarios-")
            cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
            pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
            cls.addClassCleanup(pool.shutdown, cancel_futures=True)
            cls.said = {name: [] for name in acts}
            cls.played = {}
            for name, act in sorted(acts.items(), key=lambda one: not one[1].in_vain):  # the long ones first
                if not act.missing():
                    cls.played[name] = pool.submit(act.play, os.path.join(folder, name), cls.said[name].append)

    def test(name, act):
        def run(self):
            if act.missing():
                self.skipTest(act.missing())
            try:
                act.check(self, self.played[name].result())
            except Exception:
                print("\n".join(self.said[name]), flush=True)
                raise
        run.__doc__ = act.name
        return run

    for name, act in acts.items():
        setattr(Acts, name, test(name, act))
    return Acts
