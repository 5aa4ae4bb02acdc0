"""replayer/TESTING.md: what it tells users to do is done here, with the ledger of tests/wire for their controller."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import textwrap
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "wire"))

from replays import KUBETAPE, PODS, Case, Tape, obj  # pylint: disable=wrong-import-position

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def read(path):
    with open(os.path.join(ROOT, path)) as f:
        return f.read()


class Page(Case):
    def setUp(self):
        super().setUp()
        self.blocks = FENCE.findall(read("replayer/TESTING.md"))
        made = Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6)])
        made.event(0.3, PODS, "DELETED", obj(PODS, "b", 23)).event(0.31, PODS, "ADDED", obj(PODS, "b", 24, uid="second"))
        self.tape(made.event(0.8, PODS, "ADDED", obj(PODS, "last", 30)), "session.tape")
        os.symlink(KUBETAPE, os.path.join(self.folder, "kubetape"))
        self.environment = {**os.environ, "PATH": self.folder + os.pathsep + os.environ["PATH"], "KUBETAPE": KUBETAPE}

    def block(self, language, first_words):
        return next(text for kind, text in self.blocks if kind == language and text.startswith(first_words))

    def make_controller(self, *options, last="last"):
        """./controller: the ledger, which goes on for ever unless there is a pod called `last`."""
        path = os.path.join(self.folder, "controller")
        with open(path, "w") as f:
            f.write("#!/bin/sh\nexec %s %s $KUBECONFIG default %s %s\n" % (sys.executable, os.path.join(ROOT, "tests/wire/controller.py"),
                last, " ".join(options)))
        os.chmod(path, 0o755)

    def shell(self, command):
        return subprocess.run(["bash", "-e", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120,
            check=False)

    def make_golden(self, **controller):
        self.make_controller(**controller)
        done = self.shell(self.block("sh", "kubetape replay"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("released-", done.stdout)

    def steps(self):
        """The commands of the workflow that replay."""
        text = self.block("yaml", "# .github")
        lines = re.findall(r"run: (kubetape .*)", text)
        return lines + [textwrap.dedent(m) for m in re.findall(r"run: \|\n((?:          .*\n)+)", text)]

    def test_the_steps_of_the_workflow_pass_a_good_controller_and_fail_a_forgetful_one(self):
        self.make_golden()
        steps = self.steps()
        self.assertEqual(len(steps), 2)
        for step in steps:
            done = self.shell(step)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.make_controller("--forgetful")
        self.assertEqual(self.shell(steps[0]).returncode, 0)
        done = self.shell(steps[1])
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("- create configmaps default/released-*", done.stdout)

    def test_the_workflow_is_yaml(self):
        text = self.block("yaml", "# .github")
        path = os.path.join(self.folder, "workflow.yaml")
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run([KUBETAPE, "record", "pods", "-o", os.path.join(self.folder, "x.tape"), "--kubeconfig", path, "--duration", "1s"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("no kubeconfig with a current context", done.stderr)  # it is a mapping, but no kubeconfig

    def test_the_commands_of_the_page_take_their_options(self):
        for kind, text in self.blocks:
            for line in re.findall(r"^kubetape .*", text, re.M) if kind == "sh" else []:
                words = shlex.split(line)
                known = self.shell("kubetape %s --help" % words[1]).stdout
                for option in [w for w in words[:words.index("--") if "--" in words else None] if w.startswith("--")]:
                    self.assertIn(option, known, line)

    def write_pytest(self, change=lambda text: text):
        for name in ("conftest.py", "test_controller.py"):
            with open(os.path.join(self.folder, name), "w") as f:
                f.write(change(self.block("python", "# " + name)))

    def test_the_fixture_of_the_page_judges_tests_of_pytest(self):
        for last in ("last", "never"):  # a controller that ends by itself, and one that goes on for ever
            self.make_golden(last=last)
            self.write_pytest()
            self.assertEqual(self.run_pytest(), {"test_it_does_what_it_did": True, "test_it_survives_a_gap": True})
            self.make_controller("--forgetful", last=last)
            self.assertEqual(self.run_pytest(), {"test_it_does_what_it_did": True, "test_it_survives_a_gap": False})

    def test_the_fixture_of_the_page_fails_a_test_whose_gap_strikes_nobody(self):
        self.make_golden(last="never")
        self.write_pytest(lambda text: text.replace("type='DELETED'\"", "type='DELETEX'\""))
        self.assertEqual(self.run_pytest(), {"test_it_does_what_it_did": True, "test_it_survives_a_gap": False})

    def test_the_fixture_of_the_page_ends_a_controller_that_has_no_end(self):
        self.make_controller()
        with open(os.path.join(self.folder, "controller"), "w") as f:
            f.write("#!/bin/sh\necho $$ > pid\nexec sleep 1000\n")
        self.write_pytest(lambda text: text.replace("TIMEOUT_S = 300", "TIMEOUT_S = 1").replace(', "--golden", "good.run"', ""))
        self.assertEqual(set(self.run_pytest().values()), {False})
        with open(os.path.join(self.folder, "pid")) as f, self.assertRaises(ProcessLookupError):
            os.kill(int(f.read()), 0)

    def run_pytest(self):
        """{test: passed}, by pytest if there is one."""
        if importlib.util.find_spec("pytest"):
            done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--tb=short", "--color=no"], cwd=self.folder, env=self.environment,
                capture_output=True, text=True, timeout=120, check=False)
            found = re.findall(r"::(test_\w+) (PASSED|FAILED|ERROR)", done.stdout)
            return {name: all(how == "PASSED" for n, how in found if n == name) for name, _ in found}
        return {name: self.run_by_hand(name) for name in ("test_it_does_what_it_did", "test_it_survives_a_gap")}

    def run_by_hand(self, name):
        """As pytest runs a test with a fixture that yields."""
        script = textwrap.dedent("""
			import pathlib, sys, tempfile, types
			sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda f: f)
			import conftest, test_controller
			with tempfile.TemporaryDirectory() as folder:
				fixture = conftest.replay(pathlib.Path(folder))
				getattr(test_controller, sys.argv[1])(next(fixture))
				next(fixture, None)
			""")
        return subprocess.run([sys.executable, "-c", script, name], cwd=self.folder, env={**self.environment, "PYTHONPATH": self.folder},
            capture_output=True, timeout=120, check=False).returncode == 0

    def test_the_go_function_of_the_page_is_the_one_that_is_tested(self):
        self.assertIn(self.block("go", "// Replay serves"), read("tools/testing/kubetapetest/replay.go"))


if __name__ == "__main__":
    unittest.main()
