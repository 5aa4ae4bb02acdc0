"""Running kubectl, any release of it, against one kubeconfig."""

import json
import os
import subprocess

from lib import paths, wait


class Kubectl:
    """A kubectl program bound to a kubeconfig, with a discovery cache of its own (kubectl keeps one for each
    host and port, and ports come back)."""

    def __init__(self, kubeconfig, cache, program=None):
        self.program = program or paths.program("kubectl")
        self.kubeconfig = kubeconfig
        self.cache = cache

    def command(self, *args):
        return [self.program, "--kubeconfig", self.kubeconfig, "--cache-dir", self.cache, *args]

    def __call__(self, *args, stdin=None, timeout_s=wait.PATIENCE_S, env=None):
        """Run it; returns its output, raises RuntimeError with its error text when it fails."""
        done = subprocess.run(self.command(*args), input=stdin, capture_output=True, text=True, timeout=timeout_s,
            env={**os.environ, **(env or {})}, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(args)}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *args):
        """The parsed JSON of `kubectl get ARGS -o json`."""
        return json.loads(self("get", *args, "-o", "json"))

    def items(self, *args):
        return self.get(*args)["items"]


def installed():
    """Other releases of kubectl on this machine, {version: path}: those named like `kubectl.1.27` beside the
    kubectl on the PATH. They are used where they are found, and not missed where they are not."""
    found = {}
    for folder in os.get_exec_path():
        link = os.path.join(folder, "kubectl")
        if not os.access(link, os.X_OK):
            continue
        home = os.path.dirname(os.path.realpath(link))
        for name in os.listdir(home):
            if name.startswith("kubectl.1."):
                found.setdefault(name.removeprefix("kubectl."), os.path.join(home, name))
    return dict(sorted(found.items()))
