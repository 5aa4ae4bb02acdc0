"""Where things are in the checkout."""

import os

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "interop")
BIN = os.path.join(BUILD, "bin")
STAGES = os.path.join(BUILD, "kwok-stages.yaml")
KUBETAPE = os.environ.get("KUBETAPE", os.path.join(ROOT, "build", "kubetape"))


# Clients in other languages: how they are run.
SCRIPTS = {
    "python": [os.path.join(BUILD, "python", "bin", "python"), os.path.join(HERE, "clients", "python", "follow.py")],
    "javascript": ["node", os.path.join(BUILD, "javascript", "follow.js")]}


def client(name):
    """The command that runs a client: a program, or one of SCRIPTS."""
    return SCRIPTS.get(name) or [program(name)]


def program(name):
    """The path of a program made by tests/interop/build."""
    path = os.path.join(BIN, name)
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"program '{name}' is not built: run tests/interop/build first")
    return path
