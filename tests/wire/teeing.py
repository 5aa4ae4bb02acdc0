"""`kubetape tee` as a child process, between peers that are scripted byte by byte."""

import contextlib
import os
import re
import select
import socket
import sqlite3
import ssl
import struct
import subprocess
import tempfile
import threading

from fake_apiserver import FakeApiserver
from recording import query
from replays import DEADLINE_S, KUBETAPE, Case, Replay
from waiting import wait_for

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RESET = "reset"
OK_EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Tee(Replay):
    """A running tee; what a Replay can be asked, it can."""

    def __init__(self, folder, server, *options, child=None, env=None, tape=None):
        self.kubeconfig = os.path.join(folder, "tee-%d.kubeconfig" % id(self))
        self.tape = tape or os.path.join(folder, "tee-%d.tape" % id(self))
        self.run = self.tape.removesuffix(".tape") + ".run"
        command = [KUBETAPE, "tee", "-o", self.tape, "--client-kubeconfig", self.kubeconfig]
        command += (["--server", server] if server else []) + list(options) + (["--"] + child if child else [])
        clean = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"}
        self.errors = tempfile.TemporaryFile("a+")  # its lines go to the end, wherever ours are being read
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**clean, "HOME": "/nonexistent", **(env or {})})
        line = self.process.stdout.readline()
        found = re.match(r"teeing (\S+) at (https?)://([0-9.]+):(\d+)(\S*)$", line.strip())
        if not found:
            self.process.wait(timeout=DEADLINE_S)
            raise AssertionError("no line that tells where it is, but %r; stderr: %s" % (line, self.stderr()))
        self.host, self.port, self.path = found.group(3), int(found.group(4)), found.group(5)
        self.tls = found.group(2) == "https"
        self.codes = (0,)

    def query(self, sql):
        """Rows of the tape, once what came before is on it."""
        return query(self.tape, sql)

    def events(self, where="1"):
        """`TYPE name rv` of each event of the tape, with its origin when that is not the watch."""
        return ["%s %s %s" % (r["type"], r["name"], r["rv"]) + ("" if r["origin"] == "watch" else " " + r["origin"])
            for r in self.query("SELECT type, name, rv, origin FROM events WHERE %s ORDER BY seq" % where)]

    def rows(self, sql):
        """Rows of the run, as stock sqlite3 reads them."""
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % self.run, uri=True)) as db:
            return db.execute(sql).fetchall()

    def wait_rows(self, sql, wanted):
        """Until the run has them."""
        def found():
            try:
                return self.rows(sql) == wanted
            except sqlite3.OperationalError:  # it is not there yet
                return False

        try:
            wait_for(found, "rows")
        except AssertionError:
            raise AssertionError("%r instead of %r" % (self.rows(sql), wanted)) from None

    def wait_query(self, sql, wanted):
        """Until the tape has these rows: it is made durable a moment after the run is written, or before."""
        try:
            wait_for(lambda: self.query(sql) == wanted, "rows of the tape")
        except AssertionError:
            raise AssertionError("%r instead of %r" % (self.query(sql), wanted)) from None

    def wait_events(self, wanted, where="1"):
        try:
            wait_for(lambda: self.events(where) == wanted, "events")
        except AssertionError:
            raise AssertionError("%r instead of %r" % (self.events(where), wanted)) from None


class Peer:
    """One end of a connection of which every byte counts. What has arrived is in `received`."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(DEADLINE_S)
        self.received = b""
        self.end = None

    def send(self, data):
        self.socket.sendall(data)

    def read(self, seconds=DEADLINE_S):
        """More bytes; False when nothing comes for this long, or it has ended: then `end` says how."""
        self.socket.settimeout(seconds)
        is_broken = self.wait(seconds)
        try:
            more = self.socket.recv(65536)
        except TimeoutError:
            return False
        except ConnectionResetError:
            self.end = RESET
            return False
        except ssl.SSLEOFError:
            self.end = RESET if is_broken else "fin"  # without a goodbye
            return False
        except ssl.SSLError:
            self.end = RESET
            return False
        finally:
            with contextlib.suppress(OSError):
                self.socket.settimeout(DEADLINE_S)
        if not more:
            self.end = "goodbye" if isinstance(self.socket, ssl.SSLSocket) else "fin"
        self.received += more
        return bool(more)

    def wait(self, seconds):
        """Whether the socket has an error, once it has anything: TLS does not tell a reset from an end."""
        if not isinstance(self.socket, ssl.SSLSocket) or self.socket.pending():
            return False
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return any(events & select.POLLERR for _, events in poll.poll(seconds * 1000))

    def until(self, wanted):
        """Takes off what has come up to and with these bytes, or that many."""
        while not self.has(wanted):
            if not self.read():
                raise AssertionError("%r instead of %r after %r" % (self.end, wanted, self.received))
        n = wanted if isinstance(wanted, int) else self.received.index(wanted) + len(wanted)
        taken, self.received = self.received[:n], self.received[n:]
        return taken

    def has(self, wanted):
        return len(self.received) >= wanted if isinstance(wanted, int) else wanted in self.received

    def head(self):
        return self.until(b"\r\n\r\n")

    def to_the_end(self):
        """How it ends; everything before is in `received`."""
        while self.read():
            pass
        if self.end is None:
            raise AssertionError("it does not end; %r has come" % self.received)
        return self.end

    def is_silent(self, seconds=0.3):
        return not self.read(seconds) and self.end is None

    def fin(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        raw = self.socket
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(raw.detach())

    def close(self):
        self.socket.close()


class Scripted:
    """A server that does nothing by itself: accept() gives the other end of each connection."""

    def __init__(self, tls=None):
        self.tls = tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(DEADLINE_S)
        self.port = self.listener.getsockname()[1]
        self.url = "%s://127.0.0.1:%d" % ("https" if tls else "http", self.port)
        self.peers = []

    def accept(self):
        sock, _ = self.listener.accept()
        sock.settimeout(DEADLINE_S)
        if self.tls:
            sock = self.tls.wrap_socket(sock, server_side=True, suppress_ragged_eofs=False)
        peer = Peer(sock)
        self.peers.append(peer)
        return peer

    def close(self):
        self.listener.close()
        for peer in self.peers:
            peer.close()


class TeeCase(Case):
    """A tee between a scripted server and scripted clients, plain or with TLS."""

    def setUp(self):
        super().setUp()
        self.servers = []

    def certificates(self):
        """A CA, and a certificate for 127.0.0.1; a client certificate."""
        run = lambda *a: subprocess.run(["openssl", *a], cwd=self.folder, check=True, capture_output=True)
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key",
            "-out", "ca.crt", "-subj", "/CN=test-ca", "-days", "2")
        for name, extension in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
            with open(self.path(name + ".ext"), "w") as f:
                f.write(extension)
            run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key",
                "-out", name + ".csr", "-subj", "/CN=" + name)
            run("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", name + ".ext", "-out", name + ".crt")

    def path(self, name):
        return os.path.join(self.folder, name)

    def server_context(self, protocols=("h2", "http/1.1"), clients=False):
        self.certificates()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.crt"), self.path("server.key"))
        if protocols:
            context.set_alpn_protocols(list(protocols))
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.crt"))
        return context

    def scripted(self, tls=None):
        server = Scripted(tls)
        self.addCleanup(server.close)
        return server

    def tee(self, server, *options, **more):
        if isinstance(server, Scripted) and server.tls:
            options = ("--certificate-authority", self.path("ca.crt"), *options)
        running = Tee(self.folder, server.url if isinstance(server, Scripted) else server, *options, **more)
        self.addCleanup(running.end, self)
        return running

    def client(self, tee, protocols=()):
        """A connection to the tee. With TLS the handshake needs the server at the same time: connected() does both."""
        sock = socket.create_connection((tee.host, tee.port), timeout=DEADLINE_S)
        if tee.tls:
            context = tee.context()
            if protocols:
                context.set_alpn_protocols(list(protocols))
            sock = context.wrap_socket(sock, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        peer = Peer(sock)
        self.addCleanup(peer.close)
        return peer

    def accepting(self, server):
        """Lets the server take a connection meanwhile; what came of it is in the list."""
        found = []

        def accept():
            with contextlib.suppress(OSError):
                found.append(server.accept())

        thread = threading.Thread(target=accept)
        thread.start()
        self.addCleanup(thread.join, DEADLINE_S)
        return thread, found

    def connected(self, tee, server, protocols=()):
        """(client, server): both ends of one road."""
        thread, found = self.accepting(server)
        client = self.client(tee, protocols)
        thread.join(DEADLINE_S)
        return client, found[0]


class ApiCase(TeeCase):
    """The server is an API server with pods."""

    def setUp(self):
        super().setUp()
        self.api = FakeApiserver()
        self.pods = self.api.add("pods", "Pod", short_names=["po"])
        self.addCleanup(self.api.__exit__)
        self.api.listen()
