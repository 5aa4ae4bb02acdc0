"""A small day to break, and connections on which one sees how it breaks."""

import json
import os
import socket
import ssl

from http2_raw import Http2
from replays import DEADLINE_S, NODES, PODS, Case, Tape, brief, obj

PODS_FROM_20 = "/api/v1/pods?watch=1&resourceVersion=20"
NODES_FROM_20 = "/api/v1/nodes?watch=1&resourceVersion=20"


def a_day():
    """Pods and nodes are listed at 20, then: pod a changes (21), pod w goes (22) and comes again (23), node n changes
    (24), pod a changes (25, 26)."""
    return (Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "w", 6, uid="u1")])
        .listed(NODES, 20, [obj(NODES, "n", 7)])
        .event(1, PODS, "MODIFIED", obj(PODS, "a", 21))
        .event(2, PODS, "DELETED", obj(PODS, "w", 22, uid="u1"))
        .event(3, PODS, "ADDED", obj(PODS, "w", 23, uid="u2"))
        .event(4, NODES, "MODIFIED", obj(NODES, "n", 24))
        .event(5, PODS, "MODIFIED", obj(PODS, "a", 25))
        .event(6, PODS, "MODIFIED", obj(PODS, "a", 26)))


POD_DAY = [("MODIFIED", "a", "21"), ("DELETED", "w", "22"), ("ADDED", "w", "23"), ("MODIFIED", "a", "25"), ("MODIFIED", "a", "26")]
ON_DELETION = {"event": "resource='pods' AND type='DELETED'"}
STEPS = ("--wait-watchers", "100")  # the clock never starts: only steps move the tape
BEHIND_ALL = {"event": "resource='pods' AND rv='26'", "moment": "after"}


def frame_of(change):
    return json.dumps({"type": change[0], "object": obj(PODS, change[1], change[2])}, separators=(",", ":")) + "\n"


class Raw:
    """A watch over HTTP/1.1 of which every byte counts."""

    def __init__(self, replay, target, agent="test"):
        plain = socket.create_connection((replay.host, replay.port), timeout=DEADLINE_S)
        self.socket, self.target = plain, target.encode()
        if replay.tls:  # a reset looks like an end without close_notify
            self.socket = replay.context().wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        self.received = b""
        self.ask(target, agent)

    def ask(self, target, agent="test"):
        self.socket.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nUser-Agent: %s\r\n\r\n" % (target, agent)).encode())

    def read(self, seconds=DEADLINE_S):
        """More bytes: False at the end, "reset" at a reset, None when nothing comes for this long."""
        self.socket.settimeout(seconds)
        try:
            more = self.socket.recv(65536)
        except TimeoutError:
            return None
        except (ConnectionResetError, ssl.SSLError):
            return "reset"
        self.received += more
        return bool(more)

    def until(self, wanted):
        while wanted not in self.received:
            more = self.read()
            if more is not True:
                raise AssertionError("%r instead of %r in %r" % (more, wanted, self.received))

    def to_the_end(self):
        """How the connection ended."""
        more = True
        while more is True:
            more = self.read()
        return more

    def to_the_last_chunk(self):
        """The end of the watch: of its body, or of the connection."""
        while not self.received.endswith(b"\r\n0\r\n\r\n"):
            if self.read() is not True:
                return

    def chunks(self):
        """(whole chunks, what follows them) after the head"""
        rest = self.received.split(b"\r\n\r\n", 1)[1]
        whole = []
        while b"\r\n" in rest:
            size, behind = rest.split(b"\r\n", 1)
            n = int(size, 16)
            if len(behind) < n + 2:
                break
            whole.append(behind[:n])
            rest = behind[n + 2:]
        return whole, rest

    def events(self):
        return [brief(json.loads(c)) for c in self.chunks()[0] if c]

    def close(self):
        self.socket.close()


class FaultCase(Case):
    def fault(self, *rules, made=None, options=(), plain=True, speed="max", **file):
        path = os.path.join(self.folder, "faults.json")
        with open(path, "w") as f:
            json.dump({"rules": list(rules), **file}, f)
        return self.replay(made or a_day(), "--speed", speed, "--gaps", path, *options, plain=plain)

    def step(self, replay, changes):
        for _ in range(changes):
            self.assertEqual(replay.request("POST", "/kubetape/v1/step")[0], 200)

    def raw(self, replay, target=PODS_FROM_20, agent="test"):
        watch = Raw(replay, target, agent)
        self.addCleanup(watch.close)
        return watch

    def http2(self, replay):
        connection = Http2(replay)
        self.addCleanup(connection.close)
        return connection
