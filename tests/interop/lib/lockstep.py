"""Programs on replays in lock-step, as a user starts them in CI: one command each, with nothing but the kubeconfig."""

import os
import shutil
import subprocess

from lib import paths, tape

PACE = ("--wait-watchers", "99", "--settle", "2s", "--speed", "max", "--lockstep", "100ms")
LIMIT_S = 300


class Run:
    """A replay of the tape into a program, to its end. `command` is called with the kubeconfig."""

    def __init__(self, of, folder, name, command, *options):
        self.tape = of
        self.path, config, self.log = (os.path.join(folder, name + ending) for ending in (".run", ".kubeconfig", ".log"))
        if os.path.exists(self.path):
            os.remove(self.path)
        with open(self.log, "w", encoding="utf-8") as file:
            done = subprocess.run([paths.KUBETAPE, "replay", of, *PACE, "--run", self.path, "--kubeconfig", config, *options, "--",
                *command(config)], stdout=subprocess.PIPE, stderr=file, text=True, env={**os.environ, "KUBECONFIG": config},
                timeout=LIMIT_S, check=False)
        self.code, self.said = done.returncode, done.stdout

    def logged(self, text):
        with open(self.log, encoding="utf-8") as file:
            return [line for line in file if text in line]

    def writes(self, where):
        return tape.rows(self.tape, f"SELECT * FROM writes WHERE {where}", "--run", self.path)


def without(of, where, to):
    """A tape without the events for which that holds."""
    exported = subprocess.run([paths.KUBETAPE, "export", of, "--table", "all", "--where", f"NOT ({where})"], capture_output=True,
        timeout=LIMIT_S, check=True)
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run([paths.KUBETAPE, "import", "-", "-o", to], input=exported.stdout, capture_output=True, timeout=LIMIT_S, check=True)
    return to


def diff(one, two, *options):
    """(exit code, what it says)"""
    done = subprocess.run([paths.KUBETAPE, "diff", one.path, two.path, *options], capture_output=True, text=True, timeout=LIMIT_S,
        check=False)
    return done.returncode, done.stdout + done.stderr
