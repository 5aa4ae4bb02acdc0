"""HTTP/2 for the scripted API server: each request is an Exchange as with HTTP/1.1, in a thread of its own."""

import ctypes
import select
import ssl
import struct
import threading
from collections import defaultdict

from fake_apiserver import Cut, Exchange, Request
from http2_raw import ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, header

INITIAL_WINDOW, MAX_FRAME_BYTES = 65535, 16384
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 3, 4


class Pair(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("value", ctypes.c_void_p), ("namelen", ctypes.c_size_t),
                ("valuelen", ctypes.c_size_t), ("flags", ctypes.c_uint8)]


class Inflater:
    """Headers are compressed by what came before; libnghttp2, which libcurl brings along, undoes it."""

    def __init__(self):
        self.library = ctypes.CDLL("libnghttp2.so.14")
        self.library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
        self.state = ctypes.c_void_p()
        assert self.library.nghttp2_hd_inflate_new(ctypes.byref(self.state)) == 0

    def inflate(self, block):
        found, pair, flags = {}, Pair(), ctypes.c_int()
        while True:
            taken = self.library.nghttp2_hd_inflate_hd2(self.state, ctypes.byref(pair), ctypes.byref(flags), block,
                                                        ctypes.c_size_t(len(block)), 1)
            if taken < 0:
                raise ValueError("bad header block")
            block = block[taken:]
            if flags.value & 2:
                name = ctypes.string_at(pair.name, pair.namelen).decode()
                found[name] = ctypes.string_at(pair.value, pair.valuelen).decode()
            if flags.value & 1:
                self.library.nghttp2_hd_inflate_end_headers(self.state)
                return found

    def close(self):
        self.library.nghttp2_hd_inflate_del(self.state)


class Http2Exchange(Exchange):
    """What it says goes out as frames of its stream."""

    is_shared = True

    def __init__(self, api, connection, request, stream):
        super().__init__(api, connection.sock, request)
        self.connection, self.stream = connection, stream

    def headers(self, code, pairs, flags=0):
        block = header(":status", str(code)) + b"".join(header(k, v) for k, v in pairs)
        self.connection.send(HEADERS, END_HEADERS | flags, self.stream, block)

    def body(self, data, code=200, content_type="application/json", headers=()):
        more = [(k.lower(), v) for k, _, v in (line.partition(": ") for line in headers)]
        self.headers(code, [("content-type", content_type), ("audit-id", "11111111-2222-4333-8444-555555555555"),
                            ("date", "Sat, 21 Nov 2026 09:00:00 GMT"), *more])
        self.connection.data(self.stream, data)
        self.end()

    def start(self):
        self.streaming = True
        self.headers(200, [("content-type", "application/json"), ("audit-id", "66666666-7777-4888-8999-000000000000")])

    def chunk(self, data):
        if data:
            self.connection.data(self.stream, data)

    def end(self):
        self.connection.send(DATA, END_STREAM, self.stream, b"")
        self.streaming = False

    def trailers(self, *pairs):
        """A clean end with headers after the body."""
        self.connection.send(HEADERS, END_HEADERS | END_STREAM, self.stream, b"".join(header(*p) for p in pairs))
        self.streaming = False

    def rst_stream(self, code):
        self.connection.send(RST_STREAM, 0, self.stream, struct.pack(">I", code))
        raise Cut()

    def goaway(self, last_stream, code=0):
        """For the whole connection; the streams up to last_stream may live on."""
        self.connection.send(GOAWAY, 0, 0, struct.pack(">II", last_stream, code))


class Http2Connection:
    def __init__(self, api, sock, number):
        self.api, self.sock, self.number = api, sock, number
        self.sending, self.inside_tls = threading.Lock(), threading.Lock()
        self.received = b""
        self.room = threading.Condition()
        self.windows = defaultdict(lambda: self.initial_window)  # stream 0 is the connection
        self.initial_window = INITIAL_WINDOW
        self.exchanges = {}
        self.is_open = True

    # A TLS session must not be read and written at the same time.

    def read(self, count):
        """So many bytes, or nothing at the end of the connection."""
        while len(self.received) < count:
            try:
                with self.inside_tls:
                    more = self.sock.recv(65536)
            except ssl.SSLWantReadError:
                select.select([self.sock], [], [], 1)
                continue
            if not more:
                return b""
            self.received += more
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def send_bytes(self, bytes_):
        with self.sending:
            while bytes_:
                try:
                    with self.inside_tls:
                        bytes_ = bytes_[self.sock.send(bytes_):]
                except ssl.SSLWantWriteError:
                    select.select([], [self.sock], [], 1)

    def send(self, kind, flags, stream, payload):
        self.send_bytes(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload)

    def data(self, stream, bytes_):
        """As fast as the client gives room for it."""
        for i in range(0, len(bytes_), MAX_FRAME_BYTES):
            piece = bytes_[i:i + MAX_FRAME_BYTES]
            with self.room:
                self.room.wait_for(lambda n=len(piece): not self.is_open or min(self.windows[0], self.windows[stream]) >= n)
                if not self.is_open:
                    raise Cut()
                self.windows[0] -= len(piece)
                self.windows[stream] -= len(piece)
            self.send(DATA, 0, stream, piece)

    def serve(self):
        inflater = Inflater()
        try:
            self.sock.setblocking(False)
            if self.read(24) != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
                return
            self.windows[0] = INITIAL_WINDOW
            self.send(SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, self.api.max_streams))
            while head := self.read(9):
                length = int.from_bytes(head[:3], "big")
                payload = self.read(length)
                if len(payload) < length:
                    return
                self.take(inflater, head[3], head[4], int.from_bytes(head[5:], "big"), payload)
        finally:
            with self.room:
                self.is_open = False
                self.room.notify_all()
            for x in list(self.exchanges.values()):
                x.orders.put(Exchange.cut)
            inflater.close()

    def take(self, inflater, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self.settings(payload)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE:
            with self.room:
                self.windows[stream] += int.from_bytes(payload, "big")
                self.room.notify_all()
        elif kind == RST_STREAM and stream in self.exchanges:
            self.exchanges[stream].orders.put(Exchange.cut)
        elif kind == HEADERS:
            assert flags & END_HEADERS and not flags & 8
            self.begin(stream, inflater.inflate(payload[5:] if flags & 32 else payload))

    def settings(self, payload):
        for i in range(0, len(payload), 6):
            number, value = struct.unpack(">HI", payload[i:i + 6])
            if number == INITIAL_WINDOW_SIZE:
                with self.room:
                    self.initial_window = value
        self.send(SETTINGS, ACK, 0, b"")

    def begin(self, stream, headers):
        request = Request(headers[":method"], headers[":path"], {**headers, "host": headers[":authority"]}, self.number)
        x = Http2Exchange(self.api, self, request, stream)
        self.exchanges[stream] = x
        self.api.requests.append(request)
        self.api.start(threading.Thread(target=self.answer, args=(x,), daemon=True))

    def answer(self, x):
        try:
            self.api.route(x)
        except (Cut, OSError):
            pass
        finally:
            self.exchanges.pop(x.stream, None)
