"""As little of an HTTP/2 client as it takes to see frames, and what comes behind them."""

import socket
import ssl
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
RESET, CLOSED = "reset", "closed"  # instead of a frame, when the connection ends


def text(value):
    raw = value.encode()
    assert len(raw) < 127 + 128
    return (bytes([len(raw)]) if len(raw) < 127 else bytes([127, len(raw) - 127])) + raw


def header(name, value):
    """Literal, in no table, not compressed."""
    return b"\x00" + text(name) + text(value)


class Http2:
    """One connection. Frames are read one by one: (type, flags, stream, payload)."""

    def __init__(self, replay, timeout=60, settings=(), window=1 << 24, piece=None):
        """settings: pairs of number and value. window: what is added to the connection's. piece: bytes sent at a time."""
        self.socket = socket.create_connection((replay.host, replay.port), timeout=timeout)
        if replay.tls:
            context = replay.context()
            context.set_alpn_protocols(["h2"])
            # So that an end without close_notify, which is what a reset looks like, can be told from a clean one.
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
            assert self.socket.selected_alpn_protocol() == "h2"
        self.replay = replay
        self.piece = piece
        self.next_stream = 1
        self.data = b""
        self.send_bytes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.set(*settings)
        if window:
            self.update(0, window)

    def send_bytes(self, bytes_):
        step = self.piece or len(bytes_)
        for i in range(0, len(bytes_), step):
            self.socket.sendall(bytes_[i:i + step])

    def send(self, kind, flags, stream, payload):
        """What cannot be sent any more shows when the next frame is read."""
        head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream)
        try:
            self.send_bytes(head + payload)
        except (ssl.SSLError, ConnectionError):
            pass

    def set(self, *settings):
        self.send(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *s) for s in settings))

    def update(self, stream, increment):
        self.send(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))

    def get(self, target, agent="test"):
        """Sends a GET; its stream."""
        return self.ask("GET", target, {"user-agent": agent})

    def ask(self, method, target, headers=None, body=None, end=True, authority="127.0.0.1"):
        """Sends a request with a body of at most one frame; its stream. end: nothing more comes of it."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        head = (header(":method", method) + header(":scheme", "https") + header(":path", target) +
            header(":authority", authority) + b"".join(header(*h) for h in (headers or {}).items()))
        last = END_STREAM if end else 0
        self.send(HEADERS, END_HEADERS | (last if body is None else 0), stream, head)
        if body is not None:
            self.send(DATA, last, stream, body)
        return stream

    def frame(self):
        """The next frame that is not housekeeping, or how the connection ended."""
        while True:
            try:
                head = self.read(9)
                if not head:
                    return CLOSED
                length, (kind, flags, stream) = int.from_bytes(head[:3], "big"), (head[3], head[4], struct.unpack(">I", head[5:9])[0])
                payload = self.read(length)
            except (ssl.SSLError, ConnectionResetError):
                return RESET
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0, b"")
            elif kind not in (SETTINGS, WINDOW_UPDATE):
                return kind, flags, stream, payload

    def read(self, count):
        while len(self.data) < count:
            more = self.socket.recv(65536)
            if not more:
                assert not self.data, "the connection ends inside a frame"
                return b""
            self.data += more
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def until(self, wanted):
        """Reads frames up to and with the first for which wanted(frame) is true."""
        frames = []
        while True:
            frames.append(self.frame())
            if frames[-1] in (RESET, CLOSED) or wanted(frames[-1]):
                return frames

    def rest(self):
        return self.until(lambda frame: False)

    def is_silent(self, seconds):
        """Whether nothing comes for this long."""
        old = self.socket.gettimeout()
        self.socket.settimeout(seconds)
        begin = time.monotonic()
        try:
            self.data += self.socket.recv(1)
            return False
        except TimeoutError:
            return time.monotonic() - begin >= seconds * 0.9
        finally:
            self.socket.settimeout(old)

    def close(self):
        self.socket.close()


def body(frames, stream):
    return b"".join(f[3] for f in frames if f not in (RESET, CLOSED) and f[0] == DATA and f[2] == stream)
