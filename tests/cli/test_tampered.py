"""Tapes that somebody changed, checksums and all: every reader ends in good order, within bounds."""
import os
import unittest

import bounded
import tamper
from tapes import TapeTest

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes", "golden")
REPLAY = ["replay", "X", "--plain", "--speed", "max", "--wait-watchers", "0", "--", "true"]
FIRST, LAST = -2**63, 2**63 - 1


class Tampered(TapeTest):
    def make(self, golden, *statements):
        tape = tamper.copy(os.path.join(GOLDEN, golden), self.tape)
        with tamper.segment(tamper.segments(tape)[0]) as db:
            for statement in statements:
                self.assertGreater(db.execute(statement).rowcount, 0, statement)
        return tape

    def run_bounded(self, *args, **more):
        done = bounded.Run([self.tape if a == "X" else os.path.join(self.dir, "R") if a == "R" else a for a in args], **more)
        self.assertIsNone(done.problem, args)
        return done

    def test_columns_may_be_null(self):
        self.make("gaps.tape", "UPDATE gap SET how_ended = NULL, reason = NULL, from_rv = NULL, to_rv = NULL",
                  "UPDATE connection SET purpose = NULL, target = NULL, end_reason = NULL, error_status = NULL",
                  "UPDATE missed SET change = NULL, name = NULL, namespace = NULL, uid = NULL",
                  "UPDATE mark SET kind = NULL, rv = NULL, object = NULL",
                  "UPDATE document SET path = NULL, variant = NULL, content_type = NULL, etag = NULL",
                  "UPDATE clock SET time_ns = NULL, mono_ns = NULL, boot_id = NULL",
                  "UPDATE resource SET kind = NULL, apigroup = NULL WHERE id = 1")
        for command in bounded.readers("X", self.dir):
            self.run_bounded(*command)

    def test_times_may_be_the_first_and_the_last(self):
        for number in FIRST, LAST, FIRST + 1, LAST - 1:
            with self.subTest(number=number):
                self.tape = os.path.join(self.dir, f"{number}.tape")
                self.make("gaps.tape", f"UPDATE gap SET begin_ns = {number} WHERE id % 2", f"UPDATE gap SET end_ns = {-1 - number}",
                          f"UPDATE connection SET begin_ns = {number} WHERE id % 3 > 0",
                          f"UPDATE connection SET duration_ns = {abs(number) - 1} WHERE id % 2",
                          f"UPDATE mark SET time_ns = {number} WHERE id % 2", f"UPDATE clock SET time_ns = {number}",
                          f"UPDATE extent SET min_time_ns = {number}, max_time_ns = {-1 - number}")
                for command in bounded.readers("X", self.dir):
                    self.run_bounded(*command)
                    recovered = os.path.join(self.dir, "recovered.tape")
                    if os.path.isdir(recovered):
                        os.rename(recovered, os.path.join(self.dir, f"recovered{number}.tape"))

    def test_a_row_may_have_the_last_id_there_is(self):
        self.make("gaps.tape", f"UPDATE gap SET id = {LAST} WHERE id = (SELECT max(id) FROM gap)",
                  "UPDATE block SET data = x'00' WHERE id = (SELECT max(id) FROM block)")
        self.run_bounded("recover", "X", "-o", "R", codes=(3,))
        self.run_bounded("gaps", "X")

    def test_a_record_may_be_no_json(self):
        def spoil(db):
            number, extent, first, time_ns = db.execute("SELECT id, extent, first_seq, first_time_ns FROM chunk ORDER BY id").fetchone()
            raw = b"\0" + tamper.varint(1) + tamper.varint(0) + tamper.varint(12) + b'{"metadata":'
            db.execute("DELETE FROM chunk")
            db.execute("INSERT INTO chunk VALUES (?, ?, ?, 1, ?, ?, 0, ?)", (number, extent, first, time_ns, len(raw), tamper.zpack(raw)))
        tape = tamper.copy(os.path.join(GOLDEN, "open.tape"), self.tape)
        with tamper.segment([s for s in tamper.segments(tape) if "open-" in s][0]) as db:
            spoil(db)
        self.run_bounded("recover", "X", "-o", "R", codes=(3,))
        self.run_bounded("verify", "X", codes=(1,))

    def test_a_block_may_be_no_json(self):
        tape = tamper.copy(os.path.join(GOLDEN, "sealed.tape"), self.tape)
        with tamper.segment(tamper.segments(tape)[0]) as db:
            for number, size in db.execute("SELECT id, raw_bytes FROM block WHERE kind <> 'chain'").fetchall():
                db.execute("UPDATE block SET data = ?, kind = 'pack' WHERE id = ?", (tamper.zpack(b"{" * size), number))
        self.run_bounded("recover", "X", "-o", "R", codes=(3,))


if __name__ == "__main__":
    unittest.main()
