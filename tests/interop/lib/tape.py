"""The events of a tape as `kubetape query` gives them, and what follows from them: states and handler calls."""

import json
import subprocess
from typing import NamedTuple

from lib import paths, wait


class Event(NamedTuple):
    seq: int
    type: str
    origin: str
    group: str
    version: str
    resource: str
    namespace: str
    object_name: str
    uid: str
    rv: str
    object: bytes

    @property
    def name(self):
        """The resource as users write it: `pods`, `deployments.apps`."""
        return self.resource + ("." + self.group if self.group else "")

    @property
    def key(self):
        return f"{self.namespace}/{self.object_name}" if self.namespace else self.object_name


class Call(NamedTuple):
    """One call of an informer's handler. old is what an update replaces: (uid, rv)."""
    kind: str
    key: str
    uid: str
    rv: str
    old: tuple = None
    unknown: bool = False


COLUMNS = "seq,type,origin,apigroup,version,resource,namespace,name,uid,rv"


def kubetape(*args, timeout_s=wait.PATIENCE_S):
    """Run kubetape to its end; returns its output as bytes, raises with its error text when it fails."""
    done = subprocess.run([paths.KUBETAPE, *args], capture_output=True, timeout=timeout_s, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"kubetape {' '.join(args)}: exit code {done.returncode}: {said}")
    return done.stdout


def rows(tape, sql, *options):
    return [json.loads(line) for line in kubetape("query", tape, *options, sql, "--format", "ndjson").splitlines()]


def load(tape):
    """All events of a tape, in its order."""
    return [_event(row) for row in rows(tape, f"SELECT {COLUMNS},object FROM events ORDER BY seq")]


def _event(row):
    if not isinstance(row["object"], str):
        raise TypeError(f"column 'object' is {type(row['object']).__name__}, expected the text of the object")
    return Event(row["seq"], row["type"], row["origin"], row["apigroup"] or "", row["version"], row["resource"],
        row["namespace"] or "", row["name"], row["uid"], row["rv"], row["object"].encode("utf-8", "surrogatepass"))


def by_resource(events):
    found = {}
    for e in events:
        found.setdefault(e.name, []).append(e)
    return found


def state(events):
    """The live objects after these events, {key: last event}."""
    live = {}
    for e in events:
        if e.type == "DELETED":
            live.pop(e.key, None)
        else:
            live[e.key] = e
    return live


def versions(live):
    """What identifies a state: {key: (uid, rv)}."""
    return {key: (e.uid, e.rv) for key, e in live.items()}


def calls(before, events):
    """The handler calls of an informer whose cache held the state `before` and that saw these events."""
    cache = versions(before)
    made = []
    for e in events:
        old = cache.get(e.key)
        if e.type == "DELETED":
            if cache.pop(e.key, None):
                made.append(Call("delete", e.key, e.uid, e.rv))
            continue
        made.append(Call("update" if old else "add", e.key, e.uid, e.rv, old))
        cache[e.key] = (e.uid, e.rv)
    return made


def possible_starts(of_resource, start_by):
    """Where a client's view of one resource may begin: anywhere from its list to the event of seq start_by. Yields
    (state before, events after)."""
    first = sum(1 for e in of_resource if e.origin == "list")
    for n in range(first, len(of_resource) + 1):
        yield state(of_resource[:n]), of_resource[n:]
        if n == len(of_resource) or of_resource[n].seq > start_by:
            return
