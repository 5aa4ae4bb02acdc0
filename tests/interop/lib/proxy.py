"""A TCP proxy on loopback that cuts its connections on demand, as a failing network does."""

import contextlib
import select
import socket
import struct
import threading

_CHUNK = 1 << 16


class Link(threading.Thread):
    """One forwarded connection. It closes its sockets itself: a socket closed under a waiting thread lives on."""

    def __init__(self, client, target, frozen):
        super().__init__(daemon=True)
        self._pair = (client, target)
        self._cut = threading.Event()
        self._frozen = frozen

    def cut(self):
        self._cut.set()

    def run(self):
        try:
            self._begin()
            while not self._cut.is_set() and (self._is_frozen() or self._forward()):
                pass
        except OSError:
            pass
        for s in self._pair:
            with contextlib.suppress(OSError):  # what broke off while TLS began is closed
                if self._cut.is_set():
                    # Closing with RST instead of FIN: the peer learns at once, and not by a clean end.
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()

    def _begin(self):
        """Before anything is forwarded."""

    def _is_frozen(self):
        return self._frozen.is_set() and not self._cut.wait(0.02)

    def _readable(self):
        return select.select(self._pair, [], [], 0.02)[0]

    def _forward(self):
        """Move what there is; False when a side has ended."""
        for s in self._readable():
            data = s.recv(_CHUNK)
            if not data:
                return False
            self._pair[s is self._pair[0]].sendall(data)
        return True


class Proxy:
    """Forwards a port of its own to another port until close()."""

    def __init__(self, target_port):
        self._target = ("127.0.0.1", target_port)
        self._links = []
        self._frozen = threading.Event()
        self._listener = None
        self.port = 0
        self.up()

    def cut(self):
        """Reset every connection, both sides, wherever in the stream they are. Returns how many there were."""
        links = [link for link in self._links if link.is_alive()]
        for link in links:
            link.cut()
        for link in links:
            link.join(timeout=10)
        return len(links)

    def down(self):
        """Reset every connection and refuse new ones until up()."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        return self.cut()

    def up(self):
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def freeze(self):
        """Move nothing any more, and say so to neither side, until thaw()."""
        self._frozen.set()

    def thaw(self):
        self._frozen.clear()

    def close(self):
        self.down()

    def _link(self, client, target):
        return Link(client, target, self._frozen)

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                target = socket.create_connection(self._target, timeout=30)
            except OSError:
                client.close()
                continue
            target.settimeout(None)
            link = self._link(client, target)
            self._links.append(link)
            link.start()
