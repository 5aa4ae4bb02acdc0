"""Tapes that somebody changed, checksums and all: every reader ends in good order, within bounds."""
import os
import unittest

import bounded
import tamper
from tapes import TapeTest

TESTS_APART = True  # some take long
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

    def make_bomb(self, golden, build):
        """build(db, next_seq) changes the last segment of the golden tape."""
        tape = tamper.copy(os.path.join(GOLDEN, golden), self.tape)
        with tamper.segment(tamper.segments(tape)[-1]) as db:
            build(db, db.execute("SELECT max(last_seq) + 1 FROM extent WHERE kind = 'events'").fetchone()[0])
        self.assertLess(sum(os.path.getsize(s) for s in tamper.segments(tape)), 4 << 20)

    def run_readers(self):
        for command in bounded.readers("X", self.dir):
            self.run_bounded(*command)

    def test_names_that_share_most_of_their_bytes_take_no_more_memory_than_their_maximum(self):
        count = 100000
        names = [b"x" * 4000 + b"%06d" % i for i in range(count)]
        self.make_bomb("sealed.tape", lambda db, seq: tamper.add_extent(db, tamper.make_index(names, seq), seq, count))
        self.assertIn("exceed the maximum", self.run_bounded("info", "X", codes=(1,)).err)
        self.run_readers()

    def test_many_extents_of_many_objects_are_not_all_in_memory(self):
        count = 300000 // bounded.BULK

        def build(db, seq):
            for extent in range(12):
                names = [b"%02d%06d" % (extent, i) for i in range(count)]
                tamper.add_extent(db, tamper.make_index(names, seq + extent * count), seq + extent * count, count)
        self.make_bomb("sealed.tape", build)
        self.run_readers()

    def test_an_extent_of_a_million_damaged_events_is_told_in_a_thousand_lines(self):
        count = (1 << 20) // bounded.BULK

        def build(db, seq):
            index = tamper.make_index([b"%07d" % i for i in range(count)], seq)
            extent = tamper.add_extent(db, index, seq, count)
            db.execute("INSERT INTO block VALUES (?, 'pack', ?, ?, 0, ?)", (extent << 24, count, 100 * count, tamper.zpack(b"{" * (100 * count))))
        self.make_bomb("sealed.tape", build)
        done = self.run_bounded("verify", "X", codes=(1,))
        self.assertLessEqual(done.out.count("\n"), 1002)
        self.run_readers()

    def make_open(self, spoil):
        tape = tamper.copy(os.path.join(GOLDEN, "open.tape"), self.tape)
        with tamper.segment([s for s in tamper.segments(tape) if "open-" in s][0]) as db:
            spoil(db, *db.execute("SELECT id, extent, first_seq FROM chunk ORDER BY id").fetchone())

    @staticmethod
    def put_chunk(db, number, extent, first, objects, stream=1):
        raw = b"".join(b"\4" + tamper.varint(stream) + b"\0" + tamper.varint(len(o)) + o for o in objects)
        db.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, 1700000000000000000, ?, 0, ?)",
                   (number, extent, first, len(objects), len(raw), tamper.zpack(raw)))

    def test_a_hot_extent_has_a_maximum(self):
        large = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"x":"' + b"x" * (60 << 20) + b'"}'

        def spoil(db, number, extent, first):
            db.execute("DELETE FROM chunk")
            for i in range(6):
                self.put_chunk(db, number + i, extent, first + i, [large])
        self.make_open(spoil)
        self.run_readers()

    def test_there_is_one_hot_extent(self):
        large = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"x":"' + b"x" * (60 << 20) + b'"}'

        def spoil(db, number, extent, first):
            db.execute("DELETE FROM chunk")
            for i in range(8):
                self.put_chunk(db, number + i, extent + i, first + i, [large])
        self.make_open(spoil)
        self.assertIn("two hot extents", self.run_bounded("info", "X", codes=(1,)).err)
        self.run_readers()

    def test_a_hot_extent_of_a_million_tiny_events(self):
        def spoil(db, number, extent, first):
            db.execute("DELETE FROM chunk")
            self.put_chunk(db, number, extent, first, [b'{"metadata":{"name":"%d"}}' % i for i in range((1 << 20) // bounded.BULK)])
        self.make_open(spoil)
        self.run_readers()

    def test_documents_are_not_all_decoded_at_once(self):
        size = (60 << 20) // bounded.BULK
        frame = tamper.zpack(bytes(size))

        def build(db, _):
            for i in range(30):
                db.execute("INSERT INTO document(id, after_seq, time_ns, path, variant, http_status, raw_bytes, body) "
                           "VALUES (?, 0, 0, ?, '', 200, ?, ?)", (1000 + i, f"/{i}", size, frame))
        self.make_bomb("sealed.tape", build)
        self.run_readers()

    def test_packed_documents_do_not_overlap(self):
        def build(db, _):
            pack = bytes(60 << 20)
            frame, sum_of_all = tamper.zpack(pack), tamper.signed(tamper.xxh64(pack))
            db.execute("DELETE FROM document")
            db.execute("INSERT INTO document(id, raw_bytes, body) VALUES (0, ?, ?)", (60 << 20, frame))
            db.executemany("INSERT INTO document(id, after_seq, time_ns, path, variant, http_status, raw_bytes, xxh64, body) "
                           "VALUES (?, 0, 0, ?, '', 200, ?, ?, 0)", [(i, f"/{i}", 60 << 20, sum_of_all) for i in range(1, 20000)])
        self.make_bomb("sealed.tape", build)
        self.assertIn("documents claim more bytes than the pack has", self.run_bounded("verify", "X", codes=(1,)).out)
        self.run_readers()

    def claim_pages(self, also_in_the_header):
        tape = tamper.copy(os.path.join(GOLDEN, "killed.tape"), self.tape)
        log = [os.path.join(tape, name) for name in os.listdir(tape) if name.endswith("-wal")][0]

        def claim(_, header, __):
            if any(header[4:8]):
                header[4:8] = b"\xff\xff\xff\xff"
        tamper.rewrite_log(log, claim)
        if also_in_the_header:
            with open(log.removesuffix("-wal"), "r+b") as file:
                file.seek(28)
                file.write(b"\xff\xff\xff\xff")

    def test_a_log_may_claim_all_pages_there_can_be(self):
        self.claim_pages(also_in_the_header=False)
        self.run_readers()

    def test_a_database_that_claims_all_pages_there_can_be_is_refused(self):
        self.claim_pages(also_in_the_header=True)
        self.assertIn("claims 4294967295 pages", self.run_bounded("info", "X", codes=(1,)).err)
        self.run_readers()

    def make_many(self, table, rows, values):
        """Rows with ids that follow those that are there."""
        tape = tamper.copy(os.path.join(GOLDEN, "gaps.tape"), self.tape)
        with tamper.segment(tamper.segments(tape)[-1]) as db:
            first = db.execute(f"SELECT max(id) + 1 FROM {table}").fetchone()[0]
            db.execute("BEGIN")
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values(0)))})", (values(i) for i in range(first, first + rows)))
            db.execute("COMMIT")

    @unittest.skipIf(bounded.SANITIZED, "it is their number that counts")
    def test_two_hundred_thousand_resources_are_found_by_their_names(self):
        """With a walk through all before for each one it would take minutes."""
        self.make_many("resource", 200000, lambda i: (i, "g", "v1", f"r{i}", f"K{i}", 1))
        for command in ["get", "X", "pods", "-A"], ["get", "X", "r1000.g"], ["log", "X", "configmaps"], ["info", "X"]:
            self.run_bounded(*command)

    @unittest.skipIf(bounded.SANITIZED, "it is their number that counts")
    def test_three_hundred_thousand_gaps_at_one_moment_do_not_stop_a_replay(self):
        """With a look at all that last for each one it would take minutes."""
        at = 1700000000 * 10**9
        self.make_many("gap", 300000, lambda i: (i, 1, 3, 4, at + i, at + i + 5, 1, "1", "2", "reset", "relist", *[None] * 7))
        self.run_bounded(*REPLAY, codes=(0,))

    def test_missing_segments_are_told_in_one_line(self):
        tape = tamper.copy(os.path.join(GOLDEN, "sealed.tape"), self.tape)
        path = tamper.segments(tape)[-1]
        os.link(path, os.path.join(tape, "seg-4294967295.db"))
        self.assertIn("segments 2 to 4294967294 are missing", self.run_bounded("verify", "X", codes=(1,)).out)
        self.run_readers()


if __name__ == "__main__":
    unittest.main()
