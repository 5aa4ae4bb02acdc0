"""Sending one request to a server and keeping all of the answer."""

import http.client
import queue
import ssl
import threading
import time
import urllib.parse
import zlib
from typing import NamedTuple

from lib import cluster

# Watches are asked to end after a second; what takes longer than this does not end.
PATIENCE_S = 40.0
AGENT = "differential/1"


class Request(NamedTuple):
    """One request, and what follows it. pages: how many continue tokens are followed, each server its own."""
    family: str
    target: str
    headers: dict = {}
    method: str = "GET"
    body: bytes = None
    pages: int = 0

    def __str__(self):
        extra = " ".join(f"{name}: {value}" for name, value in self.headers.items())
        text = f" {self.body[:200]!r}" if self.body is not None else ""
        return f"{self.family}: {self.method} {self.target}" + (f" [{extra}]" if extra else "") + text

    @property
    def query(self):
        """The parameters, {name: first value}."""
        found = {}
        for name, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(self.target).query, keep_blank_values=True):
            found.setdefault(name, value)
        return found

    @property
    def watches(self):
        return "/watch/" in self.target or self.query.get("watch", "0").lower() not in ("0", "false")


class Answer(NamedTuple):
    status: int
    headers: dict  # names in lower case
    body: bytes
    ended: str  # "clean", or how else
    took_s: float


class Server:
    """Sends requests over connections that are kept, one for each thread that asks."""

    def __init__(self, url):
        self._at = urllib.parse.urlsplit(url)
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self._local = threading.local()

    def ask(self, request):
        began = time.monotonic()
        for attempt in (1, 2):
            connection = getattr(self._local, "connection", None) or http.client.HTTPSConnection(
                self._at.hostname, self._at.port, timeout=PATIENCE_S, context=self._tls)
            self._local.connection = connection
            try:
                return self._ask(connection, request, began)
            except (http.client.HTTPException, OSError):
                # A connection that was kept may have been closed meanwhile.
                self._forget()
                if attempt == 2:
                    raise
        raise AssertionError("not reached")

    def _forget(self):
        self._local.connection.close()
        self._local.connection = None

    def _ask(self, connection, request, began):
        connection.putrequest(request.method, request.target, skip_accept_encoding=True)
        headers = {"User-Agent": AGENT, "Authorization": f"Bearer {cluster.TOKEN}", **request.headers}
        if request.body is not None:
            headers.setdefault("Content-Length", str(len(request.body)))
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(request.body)
        response = connection.getresponse()
        body, ended = self._read(response)
        if ended != "clean" or response.will_close:
            self._forget()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()},
            body, ended, time.monotonic() - began)

    @staticmethod
    def _read(response):
        pieces = []
        try:
            while piece := response.read1(1 << 16):
                pieces.append(piece)
        except http.client.IncompleteRead as err:
            return b"".join(pieces) + err.partial, "cut"
        except TimeoutError:
            return b"".join(pieces), "still open"
        return b"".join(pieces), "clean"


def unpacked(answer):
    """The body as the client sees it."""
    if answer.headers.get("content-encoding") == "gzip":
        return zlib.decompress(answer.body, 16 + zlib.MAX_WBITS)
    return answer.body


def ask_all(requests, ask, threads):
    """Answers of ask(request), in the order of the requests."""
    todo = queue.SimpleQueue()
    answers = [None] * len(requests)
    for at, request in enumerate(requests):
        todo.put((at, request))

    def work():
        while True:
            try:
                at, request = todo.get_nowait()
            except queue.Empty:
                return
            try:
                answers[at] = ask(request)
            except Exception as err:  # pylint: disable=broad-except
                answers[at] = err
    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return answers
