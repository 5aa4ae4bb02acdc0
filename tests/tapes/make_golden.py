#!/usr/bin/env python3
"""Makes the golden tapes, of formats 1 and 2. They were made once, when the format was fixed, and stay as they are for ever:
a program that reads a later format must still read these (schema/FORMAT.md, "Promise").

usage: tests/tapes/make_golden.py OUT      OUT must not exist; wants build/make_tape and build/kubetape

Events and rows follow from this file alone, and tests/cli/test_golden.py holds the tapes against it. What differs from
run to run: a tape's random id, when it was made, and with these the digests. OUT gets the good tapes and damages.json,
which says how the bad ones are made of them, byte by byte: they would say nothing more, and take up half a megabyte.
"""
import json
import os
import sqlite3
import subprocess
import sys
from hashlib import sha512

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("KUBETAPE_BUILD", os.path.join(ROOT, "build")))
START_NS = 1767225600 * 10**9  # 2026-01-01T00:00:00Z
PAGE = 4096

PODS = {"version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
NODES = {"version": "v1", "resource": "nodes", "kind": "Node", "namespaced": False}
CRONTABS = {"group": "stable.example.com", "version": "v1", "resource": "crontabs", "kind": "CronTab",
            "namespaced": True}


def text(seed, length):
    """Letters that do not compress away."""
    out = ""
    while len(out) < length:
        out += sha512(f"{seed}/{len(out)}".encode()).hexdigest()
    return out[:length]


def event(number, type_, stream, name, uid, rv, origin="watch", padding=80):
    meta = {"name": name, "uid": uid, "resourceVersion": str(rv)}
    if stream["namespaced"]:
        meta["namespace"] = "shop" if number % 3 else "shop-b"
    version = "/".join(filter(None, [stream.get("group"), "v1"]))
    return {"time_ns": START_NS + number * 250_000_000, "type": type_, "stream": stream, "origin": origin,
            "object": {"kind": stream["kind"], "apiVersion": version, "metadata": meta,
                       "spec": {"note": "gr\u00fc\u00dfe", "text": text(f"{name}/{rv}", padding)}}}


def uid(name, life=0):
    """Some are UUIDs, some are not: both forms are in the index."""
    if len(name) % 2:
        return f"{name}-{life}"
    return f"{int(sha512(name.encode()).hexdigest()[:8], 16):08x}-0000-4000-8000-{life:012x}"


def history(first, count, padding=80):
    """Pods that are listed, change, go and come again under their name; one node; resourceVersions with holes."""
    rows = []
    for i in range(first, first + count):
        name = f"web-{i * 7 % 11}"
        life = i // 44
        type_ = "ADDED" if i < 11 or (i % 44 < 11 and i >= 44) else "DELETED" if i % 44 >= 33 else "MODIFIED"
        origin = "list" if i < 11 else "inferred" if type_ == "DELETED" and i % 2 else "watch"
        row = event(i, type_, PODS, name, uid(name, life), 1000 + 3 * i, origin, padding)
        if origin == "inferred":
            row["rv"] = str(1000 + 3 * i + 1)
        rows.append(row)
        if i % 10 == 9:
            rows.append(event(i, "MODIFIED", NODES, "node-0", uid("node-0"), 1000 + 3 * i + 2, "watch"))
    return rows


def marks(number):
    return [{"mark": "list", "time_ns": START_NS, "stream": PODS, "rv": "1000"},
            {"mark": "bookmark", "time_ns": START_NS + number, "stream": PODS, "rv": "1200",
             "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "1200"}}},
            {"document": "/version", "time_ns": START_NS, "http_status": 200, "content_type": "application/json",
             "body": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}},
            {"connection": "list", "stream": PODS, "target": "/api/v1/pods?limit=500", "begin_ns": START_NS,
             "duration_ns": 1000000, "http_status": 200, "end_reason": "complete", "events": 11}]


def gaps():
    return [{"connection": "watch", "stream": PODS, "target": "/api/v1/pods?watch=1", "begin_ns": START_NS + 1,
             "duration_ns": 4 * 10**9, "http_status": 200, "end_reason": "reset", "events": 9, "last_rv": "1057"},
            {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START_NS + 5 * 10**9,
             "end_ns": START_NS + 7 * 10**9, "duration_ns": 2 * 10**9, "begin_seq": 20, "end_seq": 24,
             "from_rv": "1057", "to_rv": "1072", "connection_before": 2, "modified": 1, "added": 1, "deleted": 1,
             "recreated": 1, "unchanged": 7},
            *({"missed": change, "gap_id": 1, "stream": PODS, "namespace": "shop", "name": f"web-{i}",
               "uid": uid(f"web-{i}", 1), "old_uid": uid(f"web-{i}"), "rv": str(1060 + i), "old_rv": "1006"}
              for i, change in enumerate(["modified", "added", "deleted", "recreated"])),
            {"gap": "refused", "how_ended": "rewatch", "stream": NODES, "begin_ns": START_NS + 8 * 10**9,
             "end_ns": START_NS + 9 * 10**9, "duration_ns": 10**9, "begin_seq": 30, "end_seq": 30}]


def large():
    """Objects on both sides of 16 KiB, versions of one that is much the same each time."""
    rows = []
    for i in range(40):
        row = event(i, "ADDED" if i < 2 else "MODIFIED", CRONTABS, f"big-{i % 2}", uid(f"big-{i % 2}"), 500 + i,
                    padding=10 if i % 2 else 30)
        row["object"]["spec"]["blob"] = text(f"big-{i % 2}", 17000 if i % 2 else 15000)
        rows.append(row)
    return rows


def documents(count):
    """Descriptions of much the same types."""
    return [{"document": f"/openapi/v3/apis/{i}", "time_ns": START_NS + i, "http_status": 200,
             "content_type": "application/json",
             "body": {"group": i, "types": [text(f"type/{n}", 60) for n in range(40)]}} for i in range(count)]


def long(first, count):
    """As history(), with much text that compresses away: a state of more than 2 MiB, which not every segment repeats."""
    rows = history(first, count)
    for row in rows:
        row["object"]["spec"]["blob"] = "blob " * 60000
    return rows


FLUSH, ROTATE = {"flush": True}, {"rotate": True}

# By name: the lines for make_tape. Events and rows in this order.
TAPES = {
    "sealed": [*marks(1), *history(0, 120)],
    "gaps": [*marks(2), *history(0, 24), *gaps(), *history(24, 30)],
    "chains": large(),
    "rotated": [*marks(3), *history(0, 44), ROTATE, *history(44, 44), ROTATE, *history(88, 40)],
    "open": [*marks(4), *history(0, 20), FLUSH, *history(20, 20), FLUSH, {"abandon": True}],
    "killed": [*marks(5), *history(0, 25), ROTATE, *history(25, 15), FLUSH, *history(40, 10), FLUSH, {"kill": True}],
    # Made later than the others: packs that refer to names, documents packed together, pages of 1024 bytes.
    "packed": [*marks(6), *documents(5), *history(0, 60), ROTATE, *history(60, 30)],
    # Format 2: a segment that builds upon the state of the one before it.
    "grouped": [*marks(7), *long(0, 20), ROTATE, *long(20, 12)],
}
# What was packed again, by its name, each by the repack of its time: `repacked` has format 1, `compact` 3 and 4, `bare` 5.
REPACKED = {"repacked": "rotated", "compact": "grouped", "bare": "rotated"}


def events_of(name):
    """What the tape must hold: (time_ns, type, origin, resource, name, uid, rv, object text)."""
    lines = TAPES[REPACKED.get(name, name)]
    return [(e["time_ns"], e["type"], e["origin"], e["stream"]["resource"], e["object"]["metadata"]["name"],
             e["object"]["metadata"]["uid"], e.get("rv") or e["object"]["metadata"]["resourceVersion"],
             compact(e["object"])) for e in lines if "type" in e]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# ---- the bad ones ----

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
                      2870177450012600261)


def rotl(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def xxh64(data):
    """XXH64, seed 0, of a multiple of 8 bytes."""
    at = 0
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= len(data):
            for i in range(4):
                word = int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little")
                lanes[i] = rotl((lanes[i] + word * P2) & MASK, 31) * P1 & MASK
            at += 32
        total = sum(rotl(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            total = ((total ^ rotl(lane * P2 & MASK, 31) * P1 & MASK) * P1 + P4) & MASK
    else:
        total = P5
    total = (total + len(data)) & MASK
    for at in range(at, len(data) - 7, 8):
        word = int.from_bytes(data[at:at + 8], "little")
        total = (rotl(total ^ rotl(word * P2 & MASK, 31) * P1 & MASK, 27) * P1 + P4) & MASK
    assert len(data) % 8 == 0
    total = (total ^ total >> 33) * P2 & MASK
    total = (total ^ total >> 29) * P3 & MASK
    return total ^ total >> 32


def page_of(path, table, pagetype):
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as db:
        return db.execute("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = ?", (table, pagetype)
                          ).fetchone()[0]


def inside_blob(path, sql, at):
    """Where byte `at` of a blob is in the file, which holds it in one piece as far as that."""
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as db, open(path, "rb") as file:
        blob = db.execute(sql).fetchone()[0]
        return file.read().index(blob[at:][:16])


def wrong_digest(path):
    """A footer that is right about itself and the sums, but names another digest."""
    with open(path, "rb") as file:
        footer = bytearray(file.read()[-64:])
    at = os.path.getsize(path) - 64
    footer[32:48] = bytes(range(16))
    footer[56:] = xxh64(bytes(footer[:56])).to_bytes(8, "little")
    return [{"at": at + 32, "bytes": footer[32:].hex()}]


def flips(path, offsets):
    with open(path, "rb") as file:
        data = file.read()
    return [{"at": at, "bytes": f"{data[at] ^ 4:02x}"} for at in offsets]


def damages(out):
    """By name: the good tape, and what is done to it: a file to remove, to cut, or bytes to put somewhere."""
    sealed = os.path.join(out, "sealed.tape/seg-000001.db")
    block = (page_of(sealed, "block", "overflow") - 1) * PAGE
    index = inside_blob(sealed, "SELECT \"index\" FROM extent", 60)
    chains = os.path.join(out, "chains.tape/seg-000001.db")
    chain = inside_blob(chains, "SELECT data FROM block WHERE kind = 'chain' ORDER BY id", -60)
    first = os.path.join(out, "rotated.tape/seg-000001.db")
    return {
        "flipped-bit": {"of": "sealed", "file": "seg-000001.db", "put": flips(sealed, [block + 1000])},
        "damaged-block": {"of": "sealed", "file": "seg-000001.db", "put": flips(sealed, [block + 1000, block + 1001])},
        "damaged-index": {"of": "sealed", "file": "seg-000001.db", "put": flips(sealed, [index, index + 1])},
        "damaged-chain": {"of": "chains", "file": "seg-000001.db", "put": flips(chains, [chain, chain + 1])},
        "cut": {"of": "sealed", "file": "seg-000001.db", "cut": os.path.getsize(sealed) * 6 // 10},
        "empty-file": {"of": "sealed", "file": "seg-000001.db", "cut": 0},
        "missing-middle": {"of": "rotated", "file": "seg-000002.db", "remove": True},
        "wrong-digest": {"of": "rotated", "file": "seg-000001.db", "put": wrong_digest(first)},
        "newer-version": {"of": "open", "file": "open-000001.db", "put": [{"at": 60, "bytes": "00000007"}]},
        "other-database": {"of": "open", "file": "open-000001.db", "put": [{"at": 68, "bytes": "00000000"}]},
        "torn-log": {"of": "killed", "file": "open-000002.db-wal",
                     "cut": os.path.getsize(os.path.join(out, "killed.tape/open-000002.db-wal")) - 5000},
    }


def main(out):
    os.mkdir(out)
    for name, lines in TAPES.items():
        data = "\n".join(map(compact, lines)) + "\n"
        tape = os.path.join(out, name + ".tape")
        subprocess.run([os.path.join(BUILD, "make_tape"), tape], input=data.encode(), check=True, timeout=60)
    for name, of in REPACKED.items():
        subprocess.run([os.path.join(BUILD, "kubetape"), "repack", os.path.join(out, of + ".tape"),
                        "-o", os.path.join(out, name + ".tape")], check=True, timeout=60, stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "damages.json"), "w", encoding="ascii") as file:
        json.dump(damages(out), file, indent=1)
        file.write("\n")
    for directory, _, files in os.walk(out):
        for file in files:
            if file == "lock" or file.endswith("-shm"):
                os.unlink(os.path.join(directory, file))


if __name__ == "__main__":
    main(sys.argv[1])
