"""A scripted Kubernetes API server for tests: HTTP/1.1 (or TLS) on a free loopback port, threads, no magic.

It behaves by itself as an API server does (discovery, lists by pages, watches from a resourceVersion, 410 below
the floor of its history), and each of the next lists or watches of a resource can be given a handler that does
something else, byte by byte if need be:

    api = FakeApiserver()
    pods = api.add("pods", "Pod", short_names=["po"])
    pods.put("a")                                   # an object; moves the resourceVersion
    pods.on_watch(lambda x: x.status(429, retry_after=1))
    with api:                                       # listens while in here
        ...
        pods.put("a"); pods.delete("a")             # running watches deliver it
        pods.disturb(lambda x: x.reset())           # what happens to the watches that run now

Every request is in api.requests.
"""

import errno
import json
import queue
import socket
import ssl
import struct
import threading
import time
import urllib.parse
import uuid

from waiting import PATIENCE_S, wait_for

KUBE_SYSTEM = "00000000-0000-4000-8000-00000000feed"


def encode(value):
    """JSON as kube-apiserver writes it: no blanks, <, > and & escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def status(code, reason, message, **more):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, **more, "code": code}


class Cut(Exception):
    """The handler has ended the connection."""


class Request:
    def __init__(self, method, target, headers, connection):
        self.method, self.target, self.headers, self.connection = method, target, headers, connection
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.time = time.monotonic()

    def __repr__(self):
        return f"{self.method} {self.target}"


class Exchange:
    """One request and the ways to answer it."""

    is_shared = False  # whether its connection carries others too

    def __init__(self, api, sock, request):
        self.api, self.sock, self.request = api, sock, request
        self.streaming = False
        self.orders = queue.Queue()  # what a running watch is told to do

    # whole answers

    def body(self, data, code=200, content_type="application/json", headers=()):
        lines = [f"HTTP/1.1 {code} X", f"Content-Type: {content_type}", f"Content-Length: {len(data)}",
                 "Audit-Id: 11111111-2222-4333-8444-555555555555", "Date: Sat, 21 Nov 2026 09:00:00 GMT", *headers]
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def json(self, value, code=200, headers=()):
        self.body(encode(value) + b"\n", code, headers=headers)

    def status(self, code, reason="", message="scripted", retry_after=None, **more):
        headers = [f"Retry-After: {retry_after}"] if retry_after is not None else []
        self.json(status(code, reason, message, **more), code, headers)

    def text(self, code, message, retry_after=None):
        headers = [f"Retry-After: {retry_after}"] if retry_after is not None else []
        self.body(message.encode(), code, "text/plain; charset=utf-8", headers)

    # streams

    def start(self):
        self.streaming = True
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAudit-Id: 66666666-7777-4888-8999-000000000000"
                 b"\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data):
        if data:
            self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def frame(self, type_word, value):
        data = value if isinstance(value, bytes) else encode(value)
        self.chunk(b'{"type":"%s","object":%s}\n' % (type_word.encode(), data))

    def error(self, code, reason, message="scripted", **more):
        self.frame("ERROR", status(code, reason, message, **more))

    def end(self):
        """The zero chunk: a clean end."""
        self.raw(b"0\r\n\r\n")
        self.streaming = False

    # what happens to the connection

    def raw(self, data):
        self.sock.sendall(data)

    def cut(self):
        """FIN, wherever the answer is."""
        raise Cut()

    def reset(self):
        """RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Cut()

    def half_frame_then(self, type_word, value, how):
        """Sends the first half of a frame as a chunk of its own, then ends the connection with `how`."""
        data = b'{"type":"%s","object":%s}\n' % (type_word.encode(), encode(value))
        self.chunk(data[:len(data) // 2])
        how()

    def hang(self):
        """Says nothing more until the test is over."""
        self.api.stopping.wait()
        raise Cut()


class Resource:
    """A collection with its history."""

    def __init__(self, api, plural, kind, group, version, namespaced, short_names, verbs, custom):
        self.api, self.plural, self.kind, self.group, self.version = api, plural, kind, group, version
        self.namespaced, self.short_names, self.custom = namespaced, short_names, custom
        self.verbs = verbs or ["create", "delete", "get", "list", "patch", "update", "watch"]
        self.objects = {}   # (namespace, name) -> object
        self.history = []   # (rv, type, object)
        self.floor = 0      # a watch from below gets 410
        self.list_handlers, self.watch_handlers = [], []
        self.running = []   # exchanges of watches that stand
        self.broken = None  # answers every request while it is set
        self.bookmarks = False
        self.snapshots = {}

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self):
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    # the world changes

    def put(self, name, namespace="default", uid=None, **fields):
        """Creates the object or changes it; a uid makes it another object of that name."""
        with self.api.lock:
            key = (namespace if self.namespaced else "", name)
            old = self.objects.get(key)
            rv = self.api.next_rv()
            metadata = {"name": name}
            if self.namespaced:
                metadata["namespace"] = namespace
            metadata["uid"] = uid or (old["metadata"]["uid"] if old else str(uuid.uuid4()))
            metadata["resourceVersion"] = str(rv)
            metadata.update(fields.pop("metadata", {}))
            value = {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata,
                     **(fields or {"spec": {"n": rv}})}
            is_new = old is None or old["metadata"]["uid"] != metadata["uid"]
            self.objects[key] = value
            self.tell(rv, "ADDED" if is_new else "MODIFIED", value)
            return value

    def delete(self, name, namespace="default", rv=None):
        with self.api.lock:
            value = self.objects.pop((namespace if self.namespaced else "", name))
            rv = rv or self.api.next_rv()
            value = {**value, "metadata": {**value["metadata"], "resourceVersion": str(rv)}}
            self.tell(rv, "DELETED", value)
            return value

    def delete_together(self, names, namespace="default"):
        """All at one resourceVersion, as an expired lease deletes them."""
        with self.api.lock:
            rv = self.api.next_rv()
            return [self.delete(name, namespace, rv) for name in names]

    def bookmark(self):
        with self.api.lock:
            rv = self.api.next_rv()
        for x in list(self.running):
            x.orders.put(lambda e: e.frame("BOOKMARK", self.bookmark_object(rv)))

    def bookmark_object(self, rv):
        return {"kind": self.kind, "apiVersion": self.api_version, "metadata": {"resourceVersion": str(rv)}}

    def tell(self, rv, type_word, value):
        self.history.append((rv, type_word, value))
        for x in list(self.running):
            x.orders.put(lambda e, t=type_word, v=value: e.frame(t, v) if self.visible(e, v) else None)

    def compact(self):
        """Forgets the history: every watch from before now gets 410."""
        with self.api.lock:
            self.floor = self.api.next_rv()

    # scripts

    def on_list(self, *handlers):
        self.list_handlers.extend(handlers)

    def on_watch(self, *handlers):
        self.watch_handlers.extend(handlers)

    def disturb(self, handler):
        """Runs the handler on every watch that stands now, after what it has still to deliver."""
        running = list(self.running)
        for x in running:
            x.orders.put(handler)
        return len(running)

    def watching(self, count=1, seconds=PATIENCE_S):
        """Waits until this many watches stand."""
        wait_for(lambda: len(self.running) == count, f"{count} watches of {self.plural}", seconds)

    def lists(self):
        return [r for r in self.api.requests if self.is_mine(r) and "watch" not in r.query]

    def watches(self):
        return [r for r in self.api.requests if self.is_mine(r) and "watch" in r.query]

    # answering

    def is_mine(self, request):
        return self.api.resource_at(request.path)[0] is self

    def item(self, value):
        """Lists leave kind and apiVersion out of built-in objects."""
        if self.custom:
            return value
        return {k: v for k, v in value.items() if k not in ("kind", "apiVersion")}

    def visible(self, x, value):
        namespace = self.api.resource_at(x.request.path)[1]
        return namespace is None or value["metadata"].get("namespace") == namespace

    def answer(self, x):
        is_watch = x.request.query.get("watch", "false") not in ("0", "false")
        handlers = self.watch_handlers if is_watch else self.list_handlers
        if self.broken:
            self.broken(x)
        elif handlers:
            handlers.pop(0)(x)
        elif is_watch:
            self.watch(x)
        else:
            self.list(x)

    def list(self, x):
        query = x.request.query
        with self.api.lock:
            if "continue" in query:
                rv, start, values = self.snapshots[query["continue"]]
            else:
                keys = sorted(self.objects, key=lambda k: "/".join(filter(None, k)))
                rv, start, values = self.api.rv, 0, [self.objects[k] for k in keys]
            values = [v for v in values if self.visible(x, v)]
            limit = int(query.get("limit", 0)) or len(values)
            metadata = {"resourceVersion": str(rv)}
            if start + limit < len(values):
                token = f"token-{rv}-{start + limit}"
                self.snapshots[token] = (rv, start + limit, values)
                metadata["continue"] = token
                metadata["remainingItemCount"] = len(values) - start - limit
            items = [self.item(v) for v in values[start:start + limit]]
        if self.custom:  # keys in alphabetical order: kind comes after the items
            x.json({"apiVersion": self.api_version, "items": items, "kind": self.kind + "List", "metadata": metadata})
        else:
            x.json({"kind": self.kind + "List", "apiVersion": self.api_version, "metadata": metadata, "items": items})

    def watch(self, x):
        query = x.request.query
        since = int(query.get("resourceVersion") or 0)
        x.start()
        with self.api.lock:
            expired = since < self.floor
            backlog = [h for h in self.history if h[0] > since and self.visible(x, h[2])]
            if not expired:
                self.running.append(x)
        if expired:
            x.error(410, "Expired", f"too old resource version: {since} ({self.floor})")
            x.end()
            return
        try:
            for _, type_word, value in backlog:
                x.frame(type_word, value)
            self.serve_orders(x, time.monotonic() + int(query.get("timeoutSeconds", 3600)))
        finally:
            self.running.remove(x)

    def serve_orders(self, x, deadline):
        while x.streaming:
            try:
                order = x.orders.get(timeout=1 if x.is_shared else 0.05)
            except queue.Empty:
                if self.api.stopping.is_set():
                    raise Cut() from None
                if time.monotonic() > deadline:
                    x.end()
                self.api.check_peer(x)
                continue
            order(x)


class FakeApiserver:
    def __init__(self, tls=None, token=None):
        self.lock = threading.RLock()
        self.rv = 1000
        self.resources = []
        self.requests = []
        self.connections = 0
        self.stopping = threading.Event()
        self.tls, self.token = tls, token
        self.host, self.family = "127.0.0.1", socket.AF_INET
        self.cluster_uid = KUBE_SYSTEM
        self.aggregated = True
        self.http2, self.max_streams = None, 250  # http2_server.Http2Connection, when tls offers "h2"
        self.handlers = {}  # path -> handler, before anything else
        self.listener = None
        self.sockets = set()
        self.port = 0

    # the cluster

    def add(self, plural, kind, group="", version="v1", namespaced=True, short_names=(), verbs=None, custom=False):
        resource = Resource(self, plural, kind, group, version, namespaced, list(short_names), verbs, custom)
        self.resources.append(resource)
        return resource

    def remove(self, resource):
        self.resources.remove(resource)

    def next_rv(self):
        self.rv += 1
        return self.rv

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    # listening

    def __enter__(self):
        self.listen()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.refuse()
        self.drop_connections()

    def listen(self):
        """On a free port, and on the same one again after refuse()."""
        self.listener = socket.socket(self.family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        wait_for(self.bind, "the port")
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def bind(self):
        """False while somebody else's connection happens to go out from the port that was given up."""
        try:
            self.listener.bind((self.host, self.port))
            return True
        except OSError as err:
            if err.errno != errno.EADDRINUSE:
                raise
            return False

    def refuse(self):
        """No new connections from now on; those that stand live on."""
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None

    def drop_connections(self, sockets=None):
        """Resets them, all there are unless some are named."""
        if sockets is None:
            with self.lock:
                sockets = list(self.sockets)
        for sock in sockets:
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except ConnectionAbortedError:
                continue
            except OSError:
                return
            self.connections += 1
            worker = threading.Thread(target=self.converse, args=(sock, self.connections), daemon=True)
            self.start(worker)

    @staticmethod
    def start(worker):
        """A machine with much to do may have no room for another thread just now."""
        while True:
            try:
                worker.start()
                return
            except RuntimeError:
                time.sleep(0.05)

    def check_peer(self, x):
        """Ends a watch whose client has gone."""
        if x.is_shared:
            return
        x.sock.setblocking(False)
        try:
            if x.sock.recv(1) == b"":
                raise Cut()
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        finally:
            x.sock.setblocking(True)

    def converse(self, sock, number):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            with self.lock:
                self.sockets.add(sock)
            if self.tls and sock.selected_alpn_protocol() == "h2":
                self.http2(self, sock, number).serve()
                return
            reader = sock.makefile("rb")
            while True:
                request = self.read_request(reader, number)
                if request is None:
                    return
                self.requests.append(request)
                self.route(Exchange(self, sock, request))
        except (Cut, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.sockets.discard(sock)
            sock.close()

    @staticmethod
    def read_request(reader, number):
        line = reader.readline().decode()
        if not line:
            return None
        method, target, _ = line.split()
        headers = {}
        while True:
            line = reader.readline().decode().strip()
            if not line:
                return Request(method, target, headers, number)
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()

    # answering

    def resource_at(self, path):
        """The resource a collection path names, and the namespace in it (None: all)."""
        for r in list(self.resources):
            if path == f"{r.path}/{r.plural}":
                return r, None
            rest = path[len(r.path):] if path.startswith(r.path + "/namespaces/") else ""
            parts = rest.split("/")
            if len(parts) == 4 and parts[3] == r.plural and r.namespaced:
                return r, parts[2]
        return None, None

    def route(self, x):
        path = x.request.path
        if self.token and x.request.headers.get("authorization") != f"Bearer {self.token}":
            x.status(401, "Unauthorized", "Unauthorized")
            return
        if path in self.handlers:
            self.handlers[path](x)
            return
        resource, _ = self.resource_at(path)
        if resource:
            resource.answer(x)
            return
        document = self.document(path, "as=APIGroupDiscoveryList" in x.request.headers.get("accept", ""))
        if document is None:
            x.text(404, "404 page not found\n")
        else:
            x.body(encode(document[0]) + b"\n", content_type=document[1])

    def document(self, path, wants_aggregated):
        plain = "application/json"
        if path in ("/api", "/apis") and wants_aggregated and self.aggregated:
            return self.aggregated_list(path == "/api"), plain + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}, plain
        if path == "/apis":
            groups = [{"name": g, "versions": [{"groupVersion": f"{g}/{v}", "version": v} for v in versions],
                       "preferredVersion": {"groupVersion": f"{g}/{versions[0]}", "version": versions[0]}}
                      for g, versions in self.groups().items() if g]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, plain
        if path == "/version":
            return {"major": "1", "minor": "36", "gitVersion": "v1.36.3-fake", "platform": "linux/amd64"}, plain
        if path == "/api/v1/namespaces/kube-system":
            return {"kind": "Namespace", "apiVersion": "v1",
                    "metadata": {"name": "kube-system", "uid": self.cluster_uid, "resourceVersion": "4"}}, plain
        for group, versions in self.groups().items():
            for version in versions:
                if path == (f"/apis/{group}/{version}" if group else f"/api/{version}"):
                    return self.resource_list(group, version), plain
        return None

    def groups(self):
        groups = {"": ["v1"]}
        for r in self.resources:
            versions = groups.setdefault(r.group, [])
            if r.version not in versions:
                versions.append(r.version)
        return groups

    def resource_list(self, group, version):
        rows = [{"name": r.plural, "singularName": r.kind.lower(), "namespaced": r.namespaced, "kind": r.kind,
                 "verbs": r.verbs, "shortNames": r.short_names, "categories": ["all"] if not r.custom else []}
                for r in self.resources if (r.group, r.version) == (group, version)]
        return {"kind": "APIResourceList", "groupVersion": f"{group}/{version}" if group else version,
                "resources": rows}

    def aggregated_list(self, core):
        items = []
        for group, versions in self.groups().items():
            if core != (group == ""):
                continue
            items.append({"metadata": {"name": group} if group else {}, "versions": [
                {"version": v, "freshness": "Current", "resources": [
                    {"resource": r.plural, "responseKind": {"group": "", "version": "", "kind": r.kind},
                     "scope": "Namespaced" if r.namespaced else "Cluster", "singularResource": r.kind.lower(),
                     "verbs": r.verbs, "shortNames": r.short_names, "categories": ["all"] if not r.custom else []}
                    for r in self.resources if (r.group, r.version) == (group, v)]} for v in versions]})
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
