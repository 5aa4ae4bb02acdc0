"""The program `caches` (client-go reflectors or SharedInformers, see tests/interop/clients/informer/caches) and the
control of a replay by HTTP."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import urllib.parse

from lib import paths, wait


class Caches:
    """Running caches of some resources, [Event of each]; a context manager."""

    def __init__(self, served, resources, folder, options=(), **env):
        self.resources = resources
        self._errors = os.path.join(folder, "caches.err")
        names = [f"{e.group}/{e.version}/{e.resource}" for e in resources.values()]
        with open(self._errors, "wb") as err:
            self._popen = subprocess.Popen([paths.program("caches"), *options, *names], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=err, env={**os.environ, "KUBECONFIG": served.kubeconfig, **env})

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._popen.stdin.close()
        self._popen.stdout.close()
        try:
            self._popen.wait(wait.PATIENCE_S)
        finally:
            self._popen.kill()

    def held(self):
        """{resource: {key: (uid, rv)}}."""
        self._popen.stdin.write(b"\n")
        self._popen.stdin.flush()
        line = self._popen.stdout.readline()
        if not line:
            raise RuntimeError(f"caches ended: {self._said()}")
        return {name: {key: tuple(one) for key, one in of.items()} for name, of in json.loads(line).items()}

    def _said(self):
        with open(self._errors, encoding="utf-8", errors="replace") as f:
            return f.read()[-1500:]

    def wait_for(self, state):
        """Wait until they hold exactly this state, {resource: {key: (uid, rv)}}."""
        wait.until("the caches to hold the state at the position", lambda: self.held() == state, every_s=0.02,
            describe=lambda: difference(self.held(), state) + "; " + self._said())


def difference(found, expected):
    return "; ".join(f"{name} {key}: holds {found[name].get(key)}, expected {expected[name].get(key)}"
        for name in sorted(expected) for key in sorted(found[name].keys() | expected[name].keys())
        if found[name].get(key) != expected[name].get(key))[:1000]


class Beside(http.client.HTTPConnection):
    """A connection to the control socket of the replay at a port."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(wait.PATIENCE_S)
        self.sock.connect(f"\0kubetape-control-{self.port}")


class Control:
    """The control API of a replay: control("seek", to=5) returns the status after it."""

    def __init__(self, url):
        self._port = urllib.parse.urlsplit(url).port

    def __call__(self, word, **query):
        target = "/kubetape/v1/" + word + "".join(f"?{name}={value}" for name, value in query.items())
        with contextlib.closing(Beside("localhost", self._port)) as connection:
            connection.request("GET" if word == "status" else "POST", target)
            answer = connection.getresponse()
            said = answer.read()
        assert answer.status == 200, said
        return json.loads(said)


def states(events, resources):
    """The state of these resources at each position, {seq: {resource: {key: (uid, rv)}}}."""
    now = {name: {} for name in resources}
    found = {}
    for e in events:
        if e.name in now:
            now[e.name] = dict(now[e.name])
            if e.type == "DELETED":
                now[e.name].pop(e.key, None)
            else:
                now[e.name][e.key] = (e.uid, e.rv)
        found[e.seq] = dict(now)
    return found


def changing(events):
    """The resources that did change while they were watched, {name: an Event of it}."""
    return {e.name: e for e in events if e.origin == "watch"}


