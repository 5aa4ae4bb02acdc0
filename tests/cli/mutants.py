#!/usr/bin/env python3
"""Tapes changed at random, checksums and all, for the tests that read them.

usage: mutants.py SEED NUMBER PATH       makes the tape again that a test named by these two
"""
import contextlib
import ctypes
import os
import random
import sqlite3
import struct
import sys

import tamper

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes", "golden")
TAPES = ["chains.tape", "gaps.tape", "grouped.tape", "killed.tape", "open.tape", "packed.tape", "repacked.tape", "rotated.tape", "sealed.tape"]
TABLES = ["meta", "resource", "stream", "connection", "mark", "gap", "missed", "clock", "epoch", "document", "chunk", "extent", "block"]
NUMBERS = [0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**62, 2**63 - 1, -2**63, -2**63 + 1, 10**18]
WORDS = ["", "a", "\0", "\u202e\x1b[2J", "x" * 5000, "../../../x", "9" * 400, "-1", "1e999", "pods", "open", "relist", "list",
         "events", "state", "pack", "chain", "{}", "[", '{"kind":"Status"}', "2026-11-21T09:51:40Z", "é\ud7ff"]
BYTES = [b"", b"\0", b"\xff" * 9, b"\x28\xb5\x2f\xfd", b"{}", bytes(70000), tamper.zpack(b""), tamper.zpack(b"{}"), tamper.zpack(bytes(1 << 20))]
SCHEMAS = ["ALTER TABLE gap ADD COLUMN more", "ALTER TABLE stream ADD COLUMN n AS (printf('%.*c', 900000000, 'x'))", "DROP TABLE missed",
           "CREATE VIEW v AS SELECT * FROM gap", "CREATE INDEX i ON connection(stream)", "CREATE TABLE event(id)",
           "CREATE TRIGGER t AFTER INSERT ON clock BEGIN DELETE FROM clock; END", "ALTER TABLE epoch RENAME TO epochs",
           "PRAGMA user_version = 99", "PRAGMA application_id = 0", "ALTER TABLE mark DROP COLUMN rv", "ALTER TABLE clock RENAME COLUMN boot_id TO id2"]

IMPOSSIBLE = (sqlite3.Error, OSError, ArithmeticError, LookupError, TypeError, ValueError, MemoryError, struct.error, ctypes.ArgumentError)


class Mutant:
    """self.what says what was done to it."""

    def __init__(self, seed, number, path):
        self.r = random.Random(f"{seed}/{number}")
        self.what = []
        self.is_huge = False  # no more to be read from here
        self.golden = self.r.choice(TAPES)
        self.path = tamper.copy(os.path.join(GOLDEN, self.golden), path)
        changes = [self.value, self.value, self.value, self.column, self.row, self.index, self.index, self.hot, self.block,
                   self.document, self.schema, self.page, self.footer, self.log, self.length, self.splice]
        wanted = self.r.choice([1, 1, 1, 2, 4])
        for _ in range(100):  # not every one finds something to change
            if len(self.what) < wanted and not self.is_huge:
                with contextlib.suppress(*IMPOSSIBLE):
                    self.r.choice(changes)()

    def note(self, text):
        self.what.append(f"{self.golden}: {text}")

    def any_segment(self):
        return self.r.choice(tamper.segments(self.path))

    @contextlib.contextmanager
    def database(self, sums=True):
        """Of a segment. What does not work with what earlier changes left does nothing."""
        with tamper.segment(self.any_segment(), sums and self.r.random() < 0.9) as db, contextlib.suppress(*IMPOSSIBLE):
            yield db

    def odd(self):
        return self.r.choice([None, self.r.choice(NUMBERS), self.r.choice(WORDS), self.r.choice(BYTES), self.r.random() * 1e300,
                              self.r.getrandbits(62)])

    def spoil(self, data):
        """Bytes like these."""
        if not data:
            return self.r.randbytes(3)
        data, at, how = bytearray(data), self.r.randrange(len(data)), self.r.randrange(6)
        if how == 0:
            data[at] ^= 1 << self.r.randrange(8)
        elif how == 1:
            data[at] = self.r.choice([0, 1, 0x7f, 0x80, 0xff])
        elif how == 2:
            del data[at:at + self.r.randrange(1, 9)]
        elif how == 3:
            data[at:at] = self.r.choice([tamper.varint(self.r.choice(NUMBERS)), self.r.randbytes(2), b"{", b'"', b"\\u0000"])
        elif how == 4:
            data = data[:at]
        else:
            data[at:at] = data[max(0, at - self.r.randrange(1, 40)):at]
        return bytes(data)

    # ---- rows ----

    def pick(self, db):
        """(table, column, id) of a value that is there, as far as there is any."""
        tables = [t for t in TABLES if db.execute(f"SELECT 1 FROM {t} LIMIT 1").fetchone()]
        table = self.r.choice(tables)
        column = self.r.choice([c[1] for c in db.execute(f"PRAGMA table_info({table})")])
        return table, column, self.r.choice([r[0] for r in db.execute(f"SELECT rowid FROM {table}")])

    def value(self):
        with self.database() as db:
            table, column, row = self.pick(db)
            value = self.odd()
            self.note(f"{table}.{column} of {row} = {value!r:.60}")
            db.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (value, row))

    def column(self):
        """As a whole."""
        with self.database() as db:
            table, column, _ = self.pick(db)
            value = self.odd()
            self.note(f"{table}.{column} = {value!r:.60}")
            db.execute(f'UPDATE OR IGNORE {table} SET "{column}" = ?', (value,))

    def row(self):
        with self.database() as db:
            table, _, row = self.pick(db)
            columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})")]
            if self.r.random() < 0.4:
                self.note(f"{table} without {row}")
                db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
                return
            rest = ", ".join(f'"{c}"' for c in columns[1:])
            key = self.r.choice(NUMBERS) if columns[0] == "id" else self.r.choice(WORDS)
            self.note(f"{table} {row} again as {key!r:.30}")
            db.execute(f'INSERT OR REPLACE INTO {table}("{columns[0]}", {rest}) SELECT ?, {rest} FROM {table} WHERE rowid = ?', (key, row))

    # ---- what rows hold ----

    def index(self):
        with self.database() as db:
            extent = self.r.choice([r[0] for r in db.execute("SELECT id FROM extent")])
            counts, columns = tamper.split_index(tamper.get_index(db, extent))
            name = self.r.choice([*tamper.COLUMNS, "counts"])
            self.note(f"index of extent {extent}: {name}")
            if name == "counts":
                counts[self.r.randrange(3)] = self.r.choice(NUMBERS)
            else:
                columns[name] = self.spoil(columns[name])
            raw = tamper.join_index(counts, columns)
            tamper.put_index(db, extent, self.spoil(raw) if self.r.random() < 0.1 else raw)

    def hot(self):
        """Each chunk becomes a frame of its own."""
        with self.database() as db:
            rows = db.execute("SELECT id, raw_bytes, data FROM chunk ORDER BY id").fetchall()
            parts = tamper.zstream([(data, size) for _, size, data in rows])
            victim = self.r.choice(range(len(rows)))
            self.note(f"records of chunk {rows[victim][0]}")
            for number, ((row, _, _), raw) in enumerate(zip(rows, parts)):
                raw = self.spoil(raw) if number == victim else raw
                db.execute("UPDATE chunk SET raw_bytes = ?, data = ? WHERE id = ?", (len(raw), tamper.zpack(raw), row))

    def block(self):
        """What a frame needs of the index's names to be decoded is not known here; then something else is put there."""
        with self.database() as db:
            row, size, data = self.r.choice(db.execute("SELECT id, raw_bytes, data FROM block").fetchall())
            raw = tamper.zunpack(data, size) or (b'{"metadata":{"name":"a"}}' * size)[:size]
            raw = self.spoil(raw)
            self.note(f"block {row}")
            size = len(raw) if self.r.random() < 0.5 else size
            db.execute("UPDATE block SET raw_bytes = ?, data = ? WHERE id = ?", (size, tamper.zpack(raw[:size].ljust(size, b" ")), row))

    def document(self):
        with self.database() as db:
            row, size, body = self.r.choice(db.execute("SELECT id, raw_bytes, body FROM document WHERE typeof(body) = 'blob'").fetchall())
            raw = self.spoil(tamper.zunpack(body, size) or b"{}")
            self.note(f"document {row}")
            db.execute("UPDATE document SET raw_bytes = ?, body = ? WHERE id = ?", (len(raw), tamper.zpack(raw), row))

    def schema(self):
        with self.database() as db:
            statement = self.r.choice(SCHEMAS)
            self.note(statement)
            db.execute(statement)

    # ---- files ----

    def page(self):
        path = self.any_segment()
        with open(path, "rb") as file:
            data = file.read()
        size = tamper.page_bytes(path) or 4096
        at = size * self.r.randrange(max(1, len(data) // size))
        self.note(f"page at {at} of {os.path.basename(path)}")
        page = self.spoil(data[at:at + size])[:size].ljust(min(size, len(data) - at), b"\0")
        is_sealed = os.path.basename(path).startswith("seg-")
        if is_sealed:
            tamper.unseal(path)
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(page)
        if is_sealed:
            tamper.seal(path)

    def footer(self):
        path = self.any_segment()
        self.note(f"footer of {os.path.basename(path)}")
        with open(path, "r+b") as file:
            file.seek(-min(64, os.path.getsize(path)), os.SEEK_END)
            footer = bytearray(self.spoil(file.read())[:64].ljust(64, b"\0"))
            struct.pack_into("<Q", footer, 8 * self.r.randrange(7), self.r.choice(NUMBERS) & (1 << 64) - 1)
            struct.pack_into("<Q", footer, 56, tamper.xxh64(footer[:56]))
            file.seek(-min(64, os.path.getsize(path)), os.SEEK_END)
            file.write(footer)

    def log(self):
        logs = [os.path.join(self.path, name) for name in sorted(os.listdir(self.path)) if name.endswith("-wal")]
        if not logs or not os.path.getsize(logs[0]):
            return
        victim = self.r.randrange(8)

        def change(number, header, page):
            if number % 8 == victim:
                page[:] = self.spoil(bytes(page))[:len(page)].ljust(len(page), b"\0")
            elif self.r.random() < 0.1:
                struct.pack_into(">I", header, self.r.choice([0, 4]), self.r.choice(NUMBERS) & 0xffffffff)
        self.note("frames of the log")
        tamper.rewrite_log(logs[0], change)

    def length(self):
        path = os.path.join(self.path, self.r.choice(sorted(os.listdir(self.path))))
        size = self.r.choice([0, 1, 31, 100, 511, 4096, os.path.getsize(path) // 2, os.path.getsize(path) + 4096, 1 << 40])
        self.note(f"{os.path.basename(path)} has {size} bytes")
        os.truncate(path, size)
        self.is_huge = size == 1 << 40

    def splice(self):
        """A file of another tape, or one under another name."""
        other = self.r.choice(TAPES)
        names = sorted(os.listdir(os.path.join(GOLDEN, other)))
        name = self.r.choice(names)
        target = self.r.choice([*sorted(os.listdir(self.path)), "seg-000002.db", "seg-999999.db", "open-000009.db", "lock", "open-000001.db-wal"])
        self.note(f"{name} of {other} as {target}")
        with open(os.path.join(GOLDEN, other, name), "rb") as file:
            data = file.read()
        with open(os.path.join(self.path, target), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    print("\n".join(Mutant(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]).what))
