"""Replays of a tape and the clients that are pointed at them."""

import json
import os
import signal

from lib import paths, process, tape, teed, wait


class Replay:
    """A running `kubetape replay`; a context manager."""

    def __init__(self, of, folder, name, *options):
        self.kubeconfig = os.path.join(folder, name + ".kubeconfig")
        self.child = process.Child(
            [paths.KUBETAPE, "replay", of, "--kubeconfig", self.kubeconfig, "--listen", "127.0.0.1:0", *options],
            folder, name)
        try:
            self.url = self.child.wait_for(r"^serving .* at (\S+)$", "out").group(1)
            # `make clients TEE=1`
            self.tee = teed.Tee(self.kubeconfig, folder, name + "-tee") if os.environ.get("TEE") else None
        except BaseException:
            self.child.kill()
            raise
        if self.tee:
            self.kubeconfig = self.tee.kubeconfig

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        code = self.tee.end() if self.tee else 0
        self.child.stop(signal.SIGINT)
        if code:
            raise RuntimeError(f"the tee has ended with exit code {code}, see {self.tee.log}")
        if self.tee and not failure[0]:
            self.tee.check()


class Told:
    """What a client program told of one resource."""

    def __init__(self):
        self.synced = False
        self.initial = {}  # key: (uid, rv)
        self.calls = []
        self.cache = {}


class Informers:
    """A running informer or crcache program on some resources; a context manager."""

    def __init__(self, program, resources, replay, folder, name, streaming=None):
        env = {"KUBECONFIG": replay.kubeconfig}
        if streaming is not None:
            env["KUBE_FEATURE_WatchListClient"] = "true" if streaming else "false"
        self.resources = resources
        command = [*paths.client(program[0]), *program[1:], *resources]
        self.child = process.Child(command, folder, name, env)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.child.kill()

    def wait_until_seen(self, last, last_list):
        """Wait until all are synced and, for each resource, its last event {name: Event} has come. Events up to the
        seq last_list may be part of the initial state, or gone with it."""

        def unseen():
            if not self.child.running():
                raise RuntimeError(f"{self.child.name} ended with exit code {self.child.exit_code}: "
                    + process.tail(self.child.files["err"]))
            told = self.told()
            return {name: "not synced" if not told[name].synced else f"last event {e.rv} not seen"
                for name, e in last.items() if not told[name].synced or
                    e.seq > last_list and not _has_seen(told[name], e)}

        wait.until(f"the last events at {self.child.name}", lambda: not unseen(), every_s=0.3, describe=unseen)

    def end(self):
        """End it and return {resource: Told}, with the caches."""
        code = self.child.stop(signal.SIGTERM)
        if code != 0 or '{"kind":"end"}' not in self.child.text("out"):
            raise RuntimeError(f"{self.child.name}: exit code {code}: {process.tail(self.child.files['err'])}")
        return self.told()

    def told(self):
        return told(self.child.text("out"), self.resources)


def told(text, resources):
    """What the output of an informer or crcache program says, {resource: Told}; an unfinished line is left out."""
    found = {name: Told() for name in resources}
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            take(found, json.loads(line))
    return found


def _has_seen(told, event):
    return any((c.uid, c.rv) == (event.uid, event.rv) for c in told.calls)


def take(found, line):
    """Adds what one line says to {resource: Told}."""
    told = found.get(line.get("resource"))
    o = line.get("object")
    if line["kind"] == "synced":
        told.synced = True
    elif line["kind"] == "cache":
        told.cache[o["key"]] = (o["uid"], o["rv"])
    elif line["kind"] == "add" and line.get("initial"):
        told.initial[o["key"]] = (o["uid"], o["rv"])
    elif line["kind"] in ("add", "update", "delete"):
        old = line.get("old")
        told.calls.append(tape.Call(line["kind"], o["key"], o["uid"], o["rv"],
            (old["uid"], old["rv"]) if old else None, line.get("unknown", False)))
