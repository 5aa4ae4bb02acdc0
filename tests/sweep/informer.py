"""An informer in a hundred lines: lists, watches, and lists again when history is gone, telling what the difference is.

The kubeconfig is the one that a replay writes (JSON). Handlers are called from one thread for each informer, under
one lock for all of them.
"""

import base64
import http.client
import json
import os
import ssl
import threading
import time
import urllib.parse

LOCK = threading.RLock()


class Gone(Exception):
    pass


class Cluster:
    """Requests to the API server that KUBECONFIG names."""

    def __init__(self):
        with open(os.environ["KUBECONFIG"]) as f:
            cluster = json.load(f)["clusters"][0]["cluster"]
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.context = None
        if self.url.scheme == "https":
            pem = base64.b64decode(cluster["certificate-authority-data"]).decode()
            self.context = ssl.create_default_context(cadata=pem)

    def open_socket(self, path):
        """A watch as fabric8 opens it, as a WebSocket: (what is to be closed, answer)."""
        connection, response = self.open("GET", path, None, {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
        return connection, Messages(response)

    def open(self, method, path, body=None, headers={}):
        if self.context:
            connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.context)
        else:
            connection = http.client.HTTPConnection(self.url.hostname, self.url.port)
        text = json.dumps(body) if body is not None else None
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        connection.request(method, path, text, {"Content-Type": kind, "User-Agent": "small-controller/1", **headers})
        return connection, connection.getresponse()

    def ask(self, method, path, body=None):
        """(status, parsed body)"""
        connection, response = self.open(method, path, body)
        try:
            return response.status, json.loads(response.read())
        finally:
            connection.close()


class Messages:
    """The messages that an API server sends over a WebSocket."""

    def __init__(self, response):
        self.stream = response.fp or response
        self.status = 200 if response.status == 101 else response.status

    def __iter__(self):
        head = self.stream.read(2)
        while len(head) == 2 and head[0] & 15 != 8:
            length = {126: 2, 127: 8}.get(head[1] & 127)
            length = int.from_bytes(self.stream.read(length), "big") if length else head[1] & 127
            message = self.stream.read(length)
            if head[0] & 15 < 3:
                yield message
            head = self.stream.read(2)


class Informer(threading.Thread):
    """Keeps `cache` (key -> object). Handlers: added(new), updated(old, new), deleted(old, tombstone); a deletion that
    was not seen itself, but follows from a list, is a tombstone."""

    by_socket = False
    pause_s = 0.05  # before it asks again

    def __init__(self, cluster, path, added, updated, deleted, first=""):
        super().__init__(daemon=True)
        self.cluster, self.path, self.first = cluster, path, first
        self.synced = threading.Event()
        self.added, self.updated, self.deleted = added, updated, deleted
        self.cache = {}
        self.rv = None

    def run(self):
        while True:
            try:
                if self.rv is None:
                    self.list()
                self.watch()
            except Gone:
                self.rv = None
                time.sleep(self.pause_s)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(self.pause_s)

    def list(self):
        status, answer = self.cluster.ask("GET", self.path + ("?" + self.first if self.first and not self.synced.is_set() else ""))
        if status != 200:
            raise OSError(status)
        there = {key_of(thing): thing for thing in answer["items"]}
        with LOCK:
            for key in [key for key in self.cache if key not in there]:
                self.deleted(self.cache.pop(key), True)
            for key, thing in there.items():
                self.put(key, thing)
        self.rv = answer["metadata"]["resourceVersion"]
        self.synced.set()

    def put(self, key, thing):
        old = self.cache.get(key)
        self.cache[key] = thing
        if old is None:
            self.added(thing)
        elif old["metadata"]["resourceVersion"] != thing["metadata"]["resourceVersion"]:
            self.updated(old, thing)

    def watch(self):
        path = self.path + ("&" if "?" in self.path else "?") + "watch=true&allowWatchBookmarks=true&resourceVersion=" + self.rv
        connection, response = self.cluster.open_socket(path) if self.by_socket else self.cluster.open("GET", path)
        try:
            if response.status != 200:
                raise Gone if response.status == 410 else OSError(response.status)
            for line in response:
                self.take(json.loads(line))
        finally:
            connection.close()

    def take(self, event):
        thing = event["object"]
        if event["type"] == "ERROR":
            raise Gone
        with LOCK:
            if event["type"] == "DELETED":
                self.deleted(self.cache.pop(key_of(thing), thing), False)
            elif event["type"] != "BOOKMARK":
                self.put(key_of(thing), thing)
        self.rv = thing["metadata"]["resourceVersion"]


def key_of(thing):
    return thing["metadata"].get("namespace", "") + "/" + thing["metadata"]["name"]
