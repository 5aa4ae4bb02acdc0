"""What the tests of the replay share: small tapes with known content, a running replay, and a raw client."""

import base64
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("KUBETAPE_BUILD", "build"))
KUBETAPE = os.path.join(BUILD, "kubetape")
MAKE_TAPE = os.path.join(BUILD, "make_tape")
DEADLINE_S = 60

T0 = 1_800_000_000_000_000_000  # the time at which the small tapes begin

PODS = {"version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
CONFIGMAPS = {"version": "v1", "resource": "configmaps", "kind": "ConfigMap", "namespaced": True}
NODES = {"version": "v1", "resource": "nodes", "kind": "Node", "namespaced": False}
NAMESPACES = {"version": "v1", "resource": "namespaces", "kind": "Namespace", "namespaced": False}
EVENTS = {"version": "v1", "resource": "events", "kind": "Event", "namespaced": True}
DEPLOYMENTS = {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "namespaced": True}
WIDGETS = {"group": "example.com", "version": "v1", "resource": "widgets", "kind": "Widget", "namespaced": True}

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def api_version(stream):
    group = stream.get("group", "")
    return (group + "/" if group else "") + stream["version"]


def obj(stream, name, rv, uid=None, namespace="default", labels=None, **members):
    """An object as a watch of a built-in resource delivers it."""
    meta = {"name": name}
    if stream["namespaced"]:
        meta["namespace"] = namespace
    meta["uid"] = uid or "uid-" + name
    meta["resourceVersion"] = str(rv)
    meta["creationTimestamp"] = "2027-01-15T07:00:00Z"
    if labels:
        meta["labels"] = labels
    return {"kind": stream["kind"], "apiVersion": api_version(stream), "metadata": meta, **members}


class Tape:
    """Collects lines and writes them as a tape. Times are seconds after T0."""

    def __init__(self):
        self.lines = []

    def event(self, at, stream, kind, thing, origin="watch", **more):
        self.lines.append({"time_ns": T0 + int(at * 1e9), "origin": origin, "stream": stream, "type": kind,
            "object": thing, **more})
        return self

    def listed(self, stream, rv, things, at=0):
        for thing in things:
            self.event(at, stream, "ADDED", thing, origin="list")
        return self.mark("list", stream, rv, at)

    def mark(self, kind, stream, rv, at, thing=None):
        line = {"mark": kind, "time_ns": T0 + int(at * 1e9), "stream": stream, "rv": str(rv)}
        if thing is not None:
            line["object"] = thing
        self.lines.append(line)
        return self

    def connection(self, purpose, stream, at, seconds):
        """One that was answered and has ended."""
        self.lines.append({"connection": purpose, "stream": stream, "begin_ns": T0 + int(at * 1e9),
            "duration_ns": int(seconds * 1e9), "http_status": 200, "end_reason": "complete"})
        return self

    def document(self, path, body, variant="", content_type="application/json", etag="", status=200):
        self.lines.append({"document": path, "variant": variant, "time_ns": T0, "http_status": status,
            "content_type": content_type, "etag": etag, "body": body})
        return self

    def write(self, path, extent_bytes=None):
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        command = [MAKE_TAPE, path] + ([str(extent_bytes)] if extent_bytes else [])
        subprocess.run(command, input=text.encode(), check=True, timeout=60)
        return path


class Replay:
    """A running `kubetape replay`; a context manager."""

    def __init__(self, tape, folder, *options, plain=True, child=None, through=()):
        self.kubeconfig = os.path.join(folder, "replay-%d.kubeconfig" % id(self))
        command = [*through, KUBETAPE, "replay", tape, "--listen", "127.0.0.1:0", "--kubeconfig", self.kubeconfig]
        command += (["--plain"] if plain else []) + list(options) + (["--"] + child if child else [])
        self.errors = tempfile.TemporaryFile("a+")  # its lines go to the end, wherever ours are being read
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"serving (\S+) at (https?)://([0-9.]+):(\d+)$", line.strip())
        if not found:
            self.process.wait(timeout=DEADLINE_S)
            raise AssertionError("no serving line, but %r; stderr: %s" % (line, self.stderr()))
        self.host, self.port = found.group(3), int(found.group(4))
        self.tls = found.group(2) == "https"
        self.codes = (0,)  # how it may end

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def context(self):
        with open(self.kubeconfig) as f:
            cluster = json.load(f)["clusters"][0]["cluster"]
        pem = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return ssl.create_default_context(cadata=pem)

    def connect(self, room_bytes=None):
        """room_bytes: what the kernel keeps of what comes before it is read; without it, what it likes, megabytes."""
        if room_bytes:
            c = http.client.HTTPConnection(self.host, self.port)
            c.sock = socket.socket()
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room_bytes)
            c.sock.settimeout(DEADLINE_S)
            c.sock.connect((self.host, self.port))
            return c
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=DEADLINE_S, context=self.context())
        return http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE_S)

    def control(self):
        """The control address, with its token."""
        return re.search(r"^control at (\S+)$", self.stderr(), re.MULTILINE).group(1)

    def token(self):
        """The token of the kubeconfig."""
        with open(self.kubeconfig) as f:
            return json.load(f)["users"][0]["user"]["token"]

    def request(self, method, target, headers=None, body=None):
        """(status, headers, body bytes); control requests are given their token."""
        headers = dict(headers or {})
        if target.startswith("/kubetape/v1/"):
            headers["Authorization"] = "Bearer " + re.search(r"token=(\w+)", self.control()).group(1)
        c = self.connect()
        try:
            c.request(method, target, body=body, headers=headers)
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def get(self, target, accept="application/json", **headers):
        """(status, parsed body)"""
        status, _, body = self.request("GET", target, {"Accept": accept, **headers})
        return status, json.loads(body)

    def watch(self, target, accept="application/json", room_bytes=None):
        return Watch(self, target, accept, room_bytes)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(timeout=DEADLINE_S)
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.stop()
        self.errors.close()

    def end(self, case):
        """Stops it; under a sanitizer the exit code tells of leaks."""
        code = self.stop()
        errors = self.stderr()
        self.errors.close()
        case.assertIn(code, self.codes, errors)


class Watch:
    """A watch whose events are read one by one."""

    def __init__(self, replay, target, accept="application/json", room_bytes=None):
        self.connection = replay.connect(room_bytes)
        self.connection.request("GET", target, headers={"Accept": accept})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers

    def next(self):
        """The next event, None at a clean end."""
        line = self.response.readline()
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise AssertionError("unfinished line %r" % line)
        return json.loads(line)

    def next_raw(self):
        return self.response.readline()

    def take(self, count):
        return [self.next() for _ in range(count)]

    def rest(self):
        """All events up to the clean end."""
        events = []
        while True:
            event = self.next()
            if event is None:
                return events
            events.append(event)

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()


def brief(event):
    """("ADDED", "web", "12") of an event."""
    meta = event["object"].get("metadata", {})
    return event["type"], meta.get("name", ""), meta.get("resourceVersion", "")


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kubetape-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def tape(self, made, name=None, **options):
        name = name or "t%d.tape" % len(os.listdir(self.folder))
        return made.write(os.path.join(self.folder, name), **options)

    def replay(self, made, *options, **more):
        path = made if isinstance(made, str) else self.tape(made)
        running = Replay(path, self.folder, *options, **more)
        self.addCleanup(running.end, self)
        return running
