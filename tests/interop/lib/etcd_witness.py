"""What etcd holds: every change of every key from revision 1 on, read through etcd's own JSON gateway.

It shares nothing with the API server's watch cache, so it also sees what that would lose.
"""

import base64
import json
import threading
import urllib.request
from typing import NamedTuple

# Keys that the API server keeps for itself and shows to nobody.
NOT_SERVED = ("ranges/", "masterleases/", "peerserverleases/", "health", "compact_rev_key")


class Change(NamedTuple):
    type: str  # as a watch would call it
    revision: int
    key: str  # without the /registry/ in front


class EtcdWitness(threading.Thread):
    """Watches until close()."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.changes = []
        self.failure = None
        self._url = url
        self._answer = None

    def run(self):
        every_key = base64.b64encode(b"\0").decode()
        wish = {"create_request": {"key": every_key, "range_end": every_key, "start_revision": "1"}}
        request = urllib.request.Request(self._url + "/v3/watch", json.dumps(wish).encode())
        try:
            with urllib.request.urlopen(request, timeout=3600) as self._answer:
                for line in self._answer:
                    self._take(json.loads(line)["result"])
        except (OSError, ValueError, KeyError, AttributeError) as err:
            self.failure = err  # closing it ends here as well

    def _take(self, result):
        if result.get("compact_revision"):
            raise ValueError(f"etcd was compacted at {result['compact_revision']} before everything was seen")
        for event in result.get("events", ()):
            kv = event["kv"]
            key = base64.b64decode(kv["key"]).decode().removeprefix("/registry/")
            if not key.startswith(NOT_SERVED) and not key.endswith(NOT_SERVED):
                self.changes.append(Change(_type(event), int(kv["mod_revision"]), key))

    def has_seen(self, revision):
        """A revision's changes come together, and the next one's after them."""
        return bool(self.changes) and self.changes[-1].revision >= revision

    def between(self, before, last):
        return [c for c in self.changes if before < c.revision <= last]


def _type(event):
    if event.get("type") == "DELETE":
        return "DELETED"
    return "ADDED" if event["kv"]["create_revision"] == event["kv"]["mod_revision"] else "MODIFIED"
