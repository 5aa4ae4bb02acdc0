"""What the independent raw watcher wrote: the very bytes of the lists' items and of the watches' lines."""

import glob
import json
import os
from typing import NamedTuple


class Seen(NamedTuple):
    """One event of a watch. object is a slice of the line, untouched."""
    type: str
    rv: int
    object: bytes


class Stream(NamedTuple):
    name: str
    group: str
    version: str
    resource: str
    kind: str
    list_rv: int
    items: list  # bytes of each item, as they stood in the list
    seen: list  # Seen, bookmarks left out


def load(folder):
    """All streams of a folder, {name: Stream}."""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.json")):
        name = os.path.basename(path).removesuffix(".json")
        with open(path, encoding="utf-8") as f:
            about = json.load(f)
        base = os.path.join(folder, name)
        found[name] = Stream(name, about["group"], about["version"], about["resource"], about["kind"],
            int(about["listResourceVersion"]), _lines(base + ".items"), events(base + ".lines"))
    return found


def _lines(path):
    with open(path, "rb") as f:
        return f.read().split(b"\n")[:-1]


def events(path):
    return [_seen(line) for line in _lines(path) if not line.startswith(b'{"type":"BOOKMARK"')]


def _seen(line):
    parsed = json.loads(line)
    head = b'{"type":"' + parsed["type"].encode() + b'","object":'
    if not line.startswith(head) or not line.endswith(b"}"):
        raise ValueError(f"a watch line of an unknown shape: {line[:120]!r}")
    return Seen(parsed["type"], int(parsed["object"]["metadata"]["resourceVersion"]), line[len(head):-1])


def typed(item, stream):
    """An item as the tape keeps it: lists leave out kind and apiVersion of built-in types, the recorder puts them
    first."""
    parsed = json.loads(item)
    if "kind" in parsed or "apiVersion" in parsed:
        return item
    api = f"{stream.group}/{stream.version}" if stream.group else stream.version
    return b'{"kind":"%s","apiVersion":"%s",' % (stream.kind.encode(), api.encode()) + item[1:]
