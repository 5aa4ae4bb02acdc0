"""A real controller, twice into the same replay: kube-controller-manager, leader election on, comes to the same both times, and to something else
when one of its controllers is missing. The tape has what others write (deployments, jobs, services ...) and nothing of what it writes itself."""

import json
import os
import subprocess
import tempfile
import unittest

from lib import lockstep, paths

TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
INPUTS = {"deployments", "namespaces", "nodes", "services", "jobs", "configmaps"}
CONTROLLERS = ("deployment-controller", "replicaset-controller", "job-controller", "endpointslice-controller")


def kubetape(*arguments):
    return subprocess.run([paths.KUBETAPE, *arguments], capture_output=True, text=True, timeout=300, check=False)


class ControllerManager(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kubetape-interop-")  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.tape = os.path.join(self.folder, "inputs.tape")
        rows = [line for line in kubetape("export", TAPE, "--table", "all").stdout.splitlines() if self.is_input(json.loads(line))]
        with open(self.tape + ".ndjson", "w", encoding="utf-8") as file:
            file.write("\n".join(rows))
        made = kubetape("import", self.tape + ".ndjson", "-o", self.tape)
        self.assertEqual(made.returncode, 0, made.stderr)

    @staticmethod
    def is_input(row):
        # Whether a controller still makes a pod in a namespace that ends is a race of its own.
        ends = "doomed" in (row.get("namespace"), row.get("name"))
        return row["table"] == "documents" or (row.get("resource") in INPUTS and not ends)

    def replay(self, name, controllers, *options):
        """The run, and how the replay ended."""
        run, config = (os.path.join(self.folder, name + ending) for ending in (".run", ".kubeconfig"))
        command = [paths.program("kube-controller-manager"), *(f"--{what}={config}" for what in
            ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")), "--secure-port=0", "--leader-elect=true",
            "--controllers=" + ",".join(controllers)]
        return run, kubetape("replay", self.tape, "--rebase-time", *lockstep.PACE, "--settle", "4s", "--write", "overlay", "--run", run,
            "--kubeconfig", config, *options, "--", *command)

    def test_it_comes_to_the_same_twice_and_to_something_else_without_a_controller(self):
        first, done = self.replay("first", CONTROLLERS)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        _, done = self.replay("second", CONTROLLERS, "--golden", first, "--last")
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        _, done = self.replay("third", [c for c in CONTROLLERS if c != "job-controller"], "--golden", first, "--last")
        self.assertEqual(done.returncode, 1, done.stderr[-3000:])
        self.assertIn("- create pods shop/sums-", done.stdout)
