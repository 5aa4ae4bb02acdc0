"""An API server of its own on which worlds are played, and the tapes of them."""

import contextlib
import os
import shutil
import signal
import sys

import programs

sys.path.insert(0, os.path.join(programs.HERE, "..", "interop"))
from lib import churn, cluster, kubectl, paths, process, tape, wait  # noqa: E402 (found by the line above)
import worlds  # noqa: E402

# What these would add or refuse is the work of controllers, of which none runs here.
WITHOUT = "--disable-admission-plugins=ServiceAccount,ResourceQuota,TaintNodesByCondition,DefaultTolerationSeconds"


class Stage:
    """While it is open, play() makes tapes in the folder."""

    def __init__(self, folder):
        self._folder = folder

    def __enter__(self):
        with contextlib.ExitStack() as opened:
            self._cluster = opened.enter_context(cluster.fresh(self._folder, programs=("etcd", "kube-apiserver"), apiserver_flags=[WITHOUT]))
            self._api = churn.Api(self._cluster)
            opened.callback(self._api.close)
            self._kubectl = kubectl.Kubectl(self._cluster.kubeconfig, os.path.join(self._folder, "discovery"))
            self._ask("POST", "/api/v1/namespaces", {"metadata": {"name": worlds.NAMESPACE}})
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_):
        self._opened.close()

    def define(self, custom, source):
        """Custom resources, from files in the folder of a module."""
        for file in custom.definitions:
            self._kubectl("create", "-f", os.path.join(source, file))
        for plural, _ in custom.resources:
            wait.until(f"the API server has {plural}", lambda: self._lists(f"{plural}.{custom.group}"))

    def play(self, world):
        """The path of the tape."""
        path = os.path.join(self._folder, world.__name__ + ".tape")
        shutil.rmtree(path, ignore_errors=True)
        # Streams are not in step with each other: a tape has changes in their order if each is on it before the next is made.
        played = worlds.World(lambda *words: self._ask_after(path, played, *words))
        there = worlds.World(self._ask)
        worlds.BEFORE.get(world, lambda _: None)(there)
        recorder = process.Child([paths.KUBETAPE, "record", "--all", "--secrets=keep", "-o", path], self._folder, world.__name__, {"KUBECONFIG": self._cluster.kubeconfig})
        recorder.wait_for("^recording [0-9]+")
        try:
            world(played)
            wait_for(path, played.expected)
        finally:
            recorder.stop(signal.SIGINT)
            played.clear(self._ask)
            there.clear(self._ask)
        return path

    def _lists(self, resource):
        with contextlib.suppress(RuntimeError):
            self._kubectl("get", resource)
            return True
        return False

    def _ask_after(self, path, played, *words):
        if not played.hurries:
            wait_for(path, played.expected)
        return self._ask(*words)

    def _ask(self, verb, path, body):
        status, answer = self._api.ask(verb, path, body, "application/merge-patch+json" if verb == "PATCH" else "application/json")
        if status >= 300:
            raise RuntimeError(f"{verb} {path}: {status} {answer.get('message')}")
        return answer


def wait_for(path, expected):
    wait.until(f"all changes in '{path}'", lambda: not missing(path, expected), every_s=0.02, describe=lambda: missing(path, expected))


def missing(path, expected):
    rows = tape.rows(path, "SELECT type, uid, rv FROM events WHERE origin = 'watch'")
    seen = {(row["type"], row["uid"], None if row["type"] == "DELETED" else row["rv"]) for row in rows}
    return [event for event in expected if event not in seen]
