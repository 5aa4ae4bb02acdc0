"""Programs that follow resources with a client library, in any language, and what they have to do on a replay.

A program is started with KUBECONFIG and the names of resources. It writes a line of JSON for each call of a handler,
and, for each line that it is given on stdin, one for each object that its caches hold, then `{"kind":"cached"}`
(clients/report has the form)."""

import contextlib
import json
import os
import random
import subprocess

from lib import caches, paths, process, replay, tape, wait

TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
RESOURCES = ("pods", "configmaps", "leases.coordination.k8s.io", "crontabs.stable.example.com")
BUILT_IN = RESOURCES[:-1]

# Watches break again and again, and in every way; the clock waits for those that are back.
BROKEN = [{"do": "rst"}, {"do": "fin"}, {"do": "cut", "bytes": 40}, {"do": "goaway"}, {"do": "error", "code": 410},
    {"do": "error", "code": 500, "reason": "InternalError", "message": "etcdserver: no leader"}]
FAULTS = {
    # Of one resource, as Go lists again after a watch that ended within a second and told nothing.
    "ends": [{"when": {"event": "resource='pods' AND type='MODIFIED'", "nth": 5, "every": 20},
        "where": {"resource": "pods"}, "what": "end", "times": 4, "hold": "60s"}],
    "breaks": [{"when": {"event": "resource='pods'", "nth": 12 * n}, "where": {"resource": "pods"}, "what": what,
        "for": {"events": 3}, "hold": "60s"} for n, what in enumerate(BROKEN, 1)],
    "expires": [{"when": {"event": "type='DELETED'", "nth": n}, "where": {"resource": ["pods", "configmaps"]},
        "what": "rst", "for": {"events": 6}, "compaction": True, "hold": "60s"} for n in (1, 4)]}


class Follower:
    """One such program; a context manager."""

    def __init__(self, command, served, folder, resources, env=None):
        self.resources = resources
        self._files = {end: os.path.join(folder, "client." + end) for end in ("out", "err")}
        with open(self._files["out"], "wb") as out, open(self._files["err"], "wb") as err:
            self._popen = subprocess.Popen([*command, *resources], stdin=subprocess.PIPE, stdout=out, stderr=err,
                env={**os.environ, "KUBECONFIG": served.kubeconfig, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._popen.stdin.close()
        self._popen.kill()
        self._popen.wait(wait.PATIENCE_S)

    def said(self):
        if self._popen.poll() is not None:
            raise RuntimeError(f"it ended with exit code {self._popen.returncode}: {process.tail(self._files['err'])}")
        with open(self._files["out"], encoding="utf-8") as f:
            return f.read()

    def told(self):
        """{resource: Told}, with what was told of the first list among the other calls."""
        found = {name: replay.Told() for name in self.resources}
        for line in self.said().splitlines(keepends=True):
            if line.endswith("\n"):
                replay.take(found, {**json.loads(line), "initial": False})
        return found

    def synced(self):
        return all(one.synced for one in self.told().values())

    def held(self):
        """What the caches hold now, {resource: {key: (uid, rv)}}."""

        asked = self._cached()
        self._popen.stdin.write(b"\n")
        self._popen.stdin.flush()
        wait.until("an answer of the client", lambda: self._cached() > asked, every_s=0.02)
        found = {name: {} for name in self.resources}

        for line in self.said().splitlines():
            one = json.loads(line)
            if one["kind"] == "cached":
                asked -= 1
            elif one["kind"] == "cache" and asked == 0:
                found[one["resource"]][one["object"]["key"]] = (one["object"]["uid"], one["object"]["rv"])
        return found

    def _cached(self):
        return sum(json.loads(line)["kind"] == "cached" for line in self.said().splitlines(keepends=True)
            if line.endswith("\n"))

    def wait_for(self, state):
        wait.until("the caches to hold what the tape holds there", lambda: self.held() == state, every_s=0.1,
            describe=lambda: caches.difference(self.held(), state) + "; " + process.tail(self._files["err"], 5))


class Trial:
    """A client on a replay of the tape, over TLS or without. Each method is one thing to get right; it raises
    an exception when the client did not."""

    CHECKS = ("whole", "normal_speed", "ends", "breaks", "expires", "seeks")

    def __init__(self, command, folder, plain, env=None, by_key=False, resources=RESOURCES):
        """by_key: its handlers are told each object's events in order, but not those of several."""
        self._resources = resources
        self._by_key = by_key
        self._command = command
        self._folder = folder
        self._options = ["--plain"] if plain else []
        os.makedirs(folder, exist_ok=True)
        self._env = env
        self._events = tape.load(TAPE)
        self._by_resource = tape.by_resource(self._events)
        self._states = caches.states(self._events, dict.fromkeys(resources))

    @contextlib.contextmanager
    def _running(self, name, *options):
        folder = os.path.join(self._folder, name)
        os.makedirs(folder, exist_ok=True)
        with replay.Replay(TAPE, folder, "replay", *self._options, *options) as served:
            with Follower(self._command, served, folder, self._resources, self._env) as client:
                yield client, caches.Control(served.url)

    def _end(self):
        return self._states[self._events[-1].seq]

    def _tells_all(self, client):
        """Each resource's calls are what the tape says, from wherever the client began. Handlers may be behind the
        caches."""

        def wrong():
            return [f"{name}: {difference}" for name, one in client.told().items()
                if (difference := self._difference(name, one.calls))]
        wait.until("the calls that the tape tells", lambda: not wrong(), describe=wrong)

    def _difference(self, name, told):
        """Of a resource's calls from the nearest of the histories that it may tell, None when there is none."""
        nearest = -1, None
        for before, after in tape.possible_starts(self._by_resource[name], self._events[-1].seq):
            initial = tape.calls({}, before.values())
            expected = self._in_order(initial + tape.calls(before, after), len(initial))
            found = self._in_order(told, len(initial))
            if found == expected:
                return None
            same = next((n for n, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]),
                min(len(found), len(expected)))
            nearest = max(nearest, (same, f"call {same}: found {found[same:same + 1]}, expected {expected[same:same + 1]}"))
        return nearest[1]

    def _in_order(self, calls, initial):
        """So that they can be compared: the first list comes in any order."""
        first = len(calls) if self._by_key else initial
        return sorted(calls[:first], key=lambda call: call.key) + calls[first:]

    def _tells_what_it_holds(self, client):
        """Whoever only listened to the handlers believes what the cache holds."""

        def wrong():
            return caches.difference({name: _believed(one) for name, one in client.told().items()}, self._end())
        wait.until("handlers that know what the tape holds", lambda: not wrong(), describe=wrong)

    def whole(self):
        with self._running("whole", "--speed", "max", "--wait-watchers", str(len(self._resources))) as (client, _):
            client.wait_for(self._end())
            self._tells_all(client)

    def normal_speed(self):
        with self._running("normal_speed", "--from", "-4s") as (client, _):
            client.wait_for(self._end())
            self._tells_what_it_holds(client)

    def _broken(self, name):
        faults = os.path.join(self._folder, name + ".faults.json")
        with open(faults, "w", encoding="utf-8") as f:
            json.dump({"rules": FAULTS[name]}, f)
        return self._running(name, "--speed", "max", "--wait-watchers", str(len(self._resources)), "--gaps", faults)

    def ends(self):
        with self._broken("ends") as (client, _):
            client.wait_for(self._end())
            self._tells_all(client)

    def breaks(self):
        with self._broken("breaks") as (client, _):
            client.wait_for(self._end())
            self._tells_what_it_holds(client)

    def expires(self):
        with self._broken("expires") as (client, _):
            client.wait_for(self._end())
            self._tells_what_it_holds(client)

    def seeks(self, moves=4, seed=1):
        dice = random.Random(seed)
        with self._running("seeks", "--wait-watchers", "0") as (client, control):
            at = control("pause")
            wait.until("the first lists", client.synced)
            for seq in dice.sample(range(at["first_seq"], at["last_seq"]), moves):
                control("seek", to=f"seq:{seq}")
                client.wait_for(self._states[seq])
                client.wait_for(self._states[control("step", count=10)["seq"]])


def _believed(one):
    held = {}
    for call in one.calls:
        held.pop(call.key, None)
        if call.kind != "delete":
            held[call.key] = (call.uid, call.rv)
    return held
