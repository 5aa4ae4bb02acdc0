"""Changing tapes on purpose, so that every checksum holds again: sums of rows, pages, seals and frames of the log.

    with tamper.segment(path) as db: db.execute("UPDATE gap SET how_ended = NULL")
"""
import contextlib
import ctypes
import os
import shutil
import sqlite3
import struct

FOOTER_BYTES = 64
MASK = (1 << 64) - 1

_hash = ctypes.CDLL("libxxhash.so.0")
_zstd = ctypes.CDLL("libzstd.so.1")


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_hash.XXH64.restype = ctypes.c_uint64
_hash.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
_hash.XXH3_128bits.restype = _Hash128
_hash.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_zstd.ZSTD_createCCtx.restype = _zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
_zstd.ZSTD_freeCCtx.argtypes = _zstd.ZSTD_freeDCtx.argtypes = [ctypes.c_void_p]
_zstd.ZSTD_compressBound.restype = _zstd.ZSTD_compress2.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_compress2.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
_zstd.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
_zstd.ZSTD_CCtx_refPrefix.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
_zstd.ZSTD_DCtx_refPrefix.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
_zstd.ZSTD_decompressDCtx.restype = ctypes.c_size_t
_zstd.ZSTD_decompressDCtx.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                      ctypes.c_size_t]
LEVEL, CHECKSUM = 100, 201  # ZSTD_c_compressionLevel, ZSTD_c_checksumFlag


# ---- damage that the sums show ----

def zero_a_page(segment, table, pagetype):
    """The last page of that type (a word of dbstat) of a table."""
    os.chmod(segment, 0o600)
    with contextlib.closing(sqlite3.connect(f"file:{segment}?immutable=1", uri=True)) as db:
        page, = db.execute("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = ?", (table, pagetype)).fetchone()
        page_bytes, = db.execute("PRAGMA page_size").fetchone()
    with open(segment, "r+b") as f:
        f.seek(page_bytes * (page - 1))
        f.write(bytes(page_bytes))


# ---- sums and frames ----

def signed(number):
    number &= MASK
    return number - (1 << 64) if number >> 63 else number


def xxh64(data):
    return _hash.XXH64(bytes(data), len(data), 0)


def chunk_sum(*row):
    """Of the six numbers of a row of table chunk and its data."""
    numbers = struct.pack("<6Q", *(n & MASK if isinstance(n, int) else 0 for n in row[:6]))
    return signed(xxh64(numbers + (row[6] if isinstance(row[6], bytes) else b"")))


def zpack(raw, prefix=b"", level=1):
    context = _zstd.ZSTD_createCCtx()
    _zstd.ZSTD_CCtx_setParameter(context, LEVEL, level)
    _zstd.ZSTD_CCtx_setParameter(context, CHECKSUM, 1)
    if prefix:
        _zstd.ZSTD_CCtx_refPrefix(context, prefix, len(prefix))
    room = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(len(raw)))
    size = _zstd.ZSTD_compress2(context, room, len(room), raw, len(raw))
    _zstd.ZSTD_freeCCtx(context)
    return room.raw[:size]


def zunpack(frame, size, prefix=b""):
    """None where that is no frame of that size."""
    context = _zstd.ZSTD_createDCtx()
    if prefix:
        _zstd.ZSTD_DCtx_refPrefix(context, prefix, len(prefix))
    room = ctypes.create_string_buffer(size + 1)
    found = _zstd.ZSTD_decompressDCtx(context, room, size, frame, len(frame))
    _zstd.ZSTD_freeDCtx(context)
    return room.raw[:size] if found == size else None


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


_zstd.ZSTD_decompressStream.restype = ctypes.c_size_t
_zstd.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer)]


def zstream(parts):
    """The bytes of each (data, size) of a frame that runs through all of them."""
    context, result = _zstd.ZSTD_createDCtx(), []
    for data, size in parts:
        room = ctypes.create_string_buffer(size + 64)
        source, target = _Buffer(ctypes.cast(data, ctypes.c_void_p), len(data), 0), _Buffer(ctypes.cast(room, ctypes.c_void_p), size + 64, 0)
        while source.at < source.size and _zstd.ZSTD_decompressStream(context, target, source) < 1 << 60 and target.at < target.size:
            pass
        result.append(room.raw[:target.at])
    _zstd.ZSTD_freeDCtx(context)
    return result


def varint(number):
    number &= MASK
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def varints(data):
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def zigzag(number):
    return (number << 1 ^ number >> 63) & MASK


# ---- the index of an extent ----

COLUMNS = ["block", "resource", "run", "namespace", "name", "uid", "place", "length", "seq", "time", "head", "stream",
           "rv", "rv_text"]


def split_index(raw):
    """([events, objects, blocks], {column: its bytes})"""
    count, at = 3 + len(COLUMNS), 0
    for _ in range(count):
        while raw[at] & 0x80:
            at += 1
        at += 1
    numbers = varints(raw[:at])
    columns = {}
    for name, length in zip(COLUMNS, numbers[3:]):
        columns[name] = raw[at:at + length]
        at += length
    return numbers[:3], columns


def join_index(counts, columns):
    return b"".join([*map(varint, counts), *(varint(len(columns[c])) for c in COLUMNS), *(columns[c] for c in COLUMNS)])


def text(value, shared=0):
    """A value of the columns namespace and name."""
    return varint(shared) + varint(len(value)) + value


def put_index(db, extent, raw):
    frame = zpack(raw)
    db.execute('UPDATE extent SET "index" = ?, index_raw_bytes = ?, index_xxh64 = ? WHERE id = ?',
               (frame, len(raw), signed(xxh64(frame)), extent))


def get_index(db, extent):
    frame, size = db.execute('SELECT "index", index_raw_bytes FROM extent WHERE id = ?', (extent,)).fetchone()
    return zunpack(frame, size)


# ---- files ----

def copy(source, target):
    """A copy of a tape that may be changed."""
    shutil.copytree(source, target)
    for name in os.listdir(target):
        os.chmod(os.path.join(target, name), 0o600)
    return target


def segments(tape):
    return sorted((os.path.join(tape, name) for name in os.listdir(tape) if name.endswith(".db")),
                  key=lambda path: path.split("-")[-1])


def page_bytes(path):
    with open(path, "rb") as file:
        size = struct.unpack(">H", file.read(18)[16:])[0]
    return 65536 if size == 1 else size


def unseal(path):
    """Cuts off the sums of the pages."""
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(-FOOTER_BYTES, os.SEEK_END)
        footer = file.read()
        if footer[:8] == b"KTSEAL01":
            pages, size = struct.unpack("<QQ", footer[8:24])
            file.truncate(pages * size)


def seal(path):
    """Puts sums behind the pages that are right for what the file holds."""
    size = page_bytes(path)
    with open(path, "rb") as file:
        data = file.read()
    data += bytes(-len(data) % size)
    sums = b"".join(struct.pack("<Q", xxh64(data[at:at + size])) for at in range(0, len(data), size))
    digest = _hash.XXH3_128bits(sums, len(sums))
    footer = b"KTSEAL01" + struct.pack("<QQQ", len(data) // size, size, xxh64(sums))
    footer += struct.pack(">QQ", digest.high, digest.low) + bytes(8)
    with open(path, "wb") as file:
        file.write(data + sums + footer + struct.pack("<Q", xxh64(footer)))


SUMS = ["UPDATE chunk SET xxh64 = chunk_sum(id, extent, first_seq, events, first_time_ns, raw_bytes, data)",
        "UPDATE block SET xxh64 = xxh64(data)", "UPDATE document SET xxh64 = xxh64(body) WHERE typeof(body) = 'blob'",
        'UPDATE extent SET index_xxh64 = xxh64("index"), filter_xxh64 = xxh64(filter)']


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.create_function("xxh64", 1, lambda data: signed(xxh64(data if isinstance(data, bytes) else str(data).encode())))
    db.create_function("chunk_sum", 7, chunk_sum)
    return db


@contextlib.contextmanager
def segment(path, sums=True):
    """The database of a segment. At the end the sums are made right, and it is sealed as it was."""
    is_sealed = os.path.basename(path).startswith("seg-")
    if is_sealed:
        unseal(path)
    with contextlib.closing(connect(path)) as db:
        yield db
        for statement in SUMS if sums else []:
            with contextlib.suppress(sqlite3.Error):
                db.execute(statement)
    if is_sealed:
        seal(path)


# ---- the log ----

def _add_to_sum(data, state, order):
    first, second = state
    for one, other in struct.iter_unpack(order + "II", data):
        first = first + one + second & 0xffffffff
        second = second + other + first & 0xffffffff
    return first, second


def rewrite_log(path, change):
    """Calls change(number, header, page) with bytearrays for each frame of a write-ahead log, and makes the sums
    right again."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    order = ">" if data[3] & 1 else "<"
    size = struct.unpack_from(">I", data, 8)[0]
    state = _add_to_sum(data[:24], (0, 0), order)
    struct.pack_into(">II", data, 24, *state)
    for number, at in enumerate(range(32, len(data) - size - 23, 24 + size)):
        if data[at + 8:at + 16] != data[16:24]:
            break
        header, page = data[at:at + 24], data[at + 24:at + 24 + size]
        change(number, header, page)
        state = _add_to_sum(page, _add_to_sum(header[:8], state, order), order)
        struct.pack_into(">II", header, 16, *state)
        data[at:at + 24 + size] = header + page
    with open(path, "wb") as file:
        file.write(data)


# ---- tapes that become large ----

def make_index(names, first_seq=1, length=100, resource=1, stream=1, time_ns=1700000000 * 10**9):
    """An index of one event for each object. names: bytes, sorted; objects have no namespace, and no uid."""
    count = len(names)
    shared = [0] + [len(os.path.commonprefix([a, b])) for a, b in zip(names, names[1:])]
    columns = {
        "block": varint(count << 1), "resource": varint(resource) + bytes(count - 1), "run": b"\1" * count,
        "namespace": b"\0\0" * count, "name": b"".join(text(n[s:], s) for n, s in zip(names, shared)), "uid": b"\1" * count,
        "place": b"\0" + varint(zigzag(1)) * (count - 1), "length": varint(zigzag(length)) + bytes(count - 1),
        "seq": varint(first_seq - 1) + bytes(count - 1), "time": varint(zigzag(time_ns)) + bytes(count - 1),
        "head": b"\4" * count, "stream": varint(stream) * count, "rv": varint(1 + zigzag(1)) * count, "rv_text": b""}
    return join_index([count, count, 1], columns)


def add_extent(db, index, first_seq, events, length=100):
    """An extent of events, with a filter that lets everything through for whoever looks for nothing, without blocks."""
    extent = db.execute("SELECT max(id) + 1 FROM extent").fetchone()[0]
    frame, time_ns = zpack(index), 1700000000 * 10**9
    db.execute('INSERT INTO extent(id, kind, first_seq, last_seq, events, objects, min_time_ns, max_time_ns, raw_bytes, blocks, '
               'index_raw_bytes, filter, "index") VALUES (?, \'events\', ?, ?, ?, ?, ?, ?, ?, 1, ?, x\'\', ?)',
               (extent, first_seq, first_seq + events - 1, events, events, time_ns, time_ns, events * length, len(index), frame))
    return extent
