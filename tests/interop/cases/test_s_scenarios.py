"""The scenarios of tests/scenarios that need client-go or the JavaScript client."""

import os
import sys

from lib import paths

os.environ["KUBETAPE"] = paths.KUBETAPE
sys.path.insert(0, os.path.join(paths.ROOT, "tests", "scenarios"))
import scenarios  # noqa: E402
from playing import tests_of  # noqa: E402


class AScenario(tests_of(act for act in scenarios.ACTS if act.is_go or act.is_js)):
    pass
