"""Tapes of formats 1 to 5, good and bad, as they were made once: what every command says of them, for ever."""
import json
import os
import shutil
import unittest

from golden import DAMAGES, GOLDEN, GOOD, copy_good, make_bad, make_golden
from tapes import TapeTest

EVENTS = ("SELECT time_ns, type, origin, resource, name, uid, rv, object FROM events ORDER BY seq")
SEGMENTS = {"rotated": 3, "repacked": 3, "killed": 2, "packed": 2, "grouped": 2, "compact": 2, "bare": 3}
OBJECTS = "SELECT count(*) AS events, sum(length(object) > 0) AS objects FROM events"


class Golden(TapeTest):
    def setUp(self):
        super().setUp()
        self.new = os.path.join(self.dir, "new.tape")

    def events(self, tape):
        done = self.run_tape("query", tape, EVENTS, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def recover(self, code, *args):
        done = self.run_tape("recover", self.tape, "-o", self.new, *args)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        return done.stdout

    def check_recovered(self, of, lost=()):
        """The new tape is sound, and holds every event but the lost ones, byte for byte."""
        self.assertEqual(self.run_tape("verify", self.new).returncode, 0)
        want = [e for seq, e in enumerate(make_golden.events_of(of), 1) if seq not in lost]
        self.assertEqual(self.events(self.new), want)

    def verify(self, *sentences):
        """One line for each damage, in order, then the verdict."""
        done = self.run_tape("verify", self.tape)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        *lines, verdict = done.stdout.splitlines()
        self.assertEqual(len(lines), len(sentences), lines)
        for line, sentence in zip(lines, sentences):
            self.assertIn(sentence, line)
        self.assertIn(f"is damaged: {len(lines)} damage", verdict)

    def refused(self, sentence, *commands):
        for command in commands:
            with self.subTest(command=command):
                self.assert_fails(self.run_tape(*command), 1, sentence)

    def bad(self, name):
        make_bad(name, self.tape)


class GoodTapes(Golden):
    def each(self):
        for name in GOOD:
            shutil.rmtree(self.tape, ignore_errors=True)
            with self.subTest(tape=name):
                copy_good(name, self.tape)
                yield name

    def test_info_counts_what_is_in_them(self):
        for name in self.each():
            done = self.run_tape("info", self.tape, "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            got, events = json.loads(done.stdout), make_golden.events_of(name)
            self.assertEqual((got["events"], got["segments"]), (len(events), SEGMENTS.get(name, 1)))
            self.assertEqual(got["raw_bytes"], sum(len(e[7].encode()) for e in events))

    def test_verify_calls_them_intact(self):
        for name in self.each():
            done = self.run_tape("verify", self.tape)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"is intact: {SEGMENTS.get(name, 1)} segment", done.stdout)

    def test_every_event_is_there_byte_for_byte(self):
        for name in self.each():
            self.assertEqual(self.events(self.tape), make_golden.events_of(name))

    def test_recover_gives_back_all_of_them(self):
        for name in self.each():
            shutil.rmtree(self.new, ignore_errors=True)
            self.assertIn(", lost nothing;", self.recover(0))
            self.check_recovered(name)

    def test_gaps_and_what_they_hid_are_there_also_after_recover(self):
        copy_good("gaps", self.tape)
        self.assertEqual(self.query("SELECT reason, how_ended FROM gaps ORDER BY rowid"),
                         [{"reason": "reset", "how_ended": "relist"}, {"reason": "refused", "how_ended": "rewatch"}])
        self.assertEqual([r["change"] for r in self.query("SELECT change FROM missed ORDER BY rowid")],
                         ["modified", "added", "deleted", "recreated"])
        self.assertEqual(self.query("SELECT purpose, end_reason FROM connections ORDER BY rowid"),
                         [{"purpose": "list", "end_reason": "complete"}, {"purpose": "watch", "end_reason": "reset"}])
        self.recover(0)
        self.tape = self.new
        self.assertEqual(len(self.query("SELECT * FROM missed")), 4)

    def version(self, tape, segment):
        with open(os.path.join(tape, f"seg-{segment:06}.db"), "rb") as f:
            f.seek(60)
            return int.from_bytes(f.read(4), "big")

    def each_packed_again(self):
        for name, versions in {"compact": [3, 4], "bare": [5, 5, 5]}.items():
            for tape in (self.tape, self.new):
                shutil.rmtree(tape, ignore_errors=True)
            with self.subTest(tape=name):
                copy_good(name, self.tape)
                self.assertEqual([self.version(self.tape, n + 1) for n in range(len(versions))], versions)
                yield name, versions

    def test_what_is_cut_out_of_a_tape_that_was_packed_again_has_a_format_that_earlier_readers_know(self):
        for name, _ in self.each_packed_again():
            done = self.run_tape("cut", self.tape, "-o", self.new)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(self.version(self.new, 1), 3)
            self.check_recovered(name)

    def test_what_was_packed_again_is_packed_once_more(self):
        for name, versions in self.each_packed_again():
            done = self.run_tape("repack", "--best", self.tape, "-o", self.new)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([self.version(self.new, n + 1) for n in range(len(versions))], [6 - v % 2 for v in versions])
            self.check_recovered(name)

    def test_a_compact_extent_whose_object_is_asked_for_has_it_or_not(self):
        copy_good("compact", self.tape)
        first = make_golden.events_of("compact")[0]
        for uid, found in ((first[5], True), ("nobody", False)):
            self.assertEqual(bool(self.query(f"SELECT 1 FROM events WHERE uid = '{uid}'")), found)

    def test_packed_documents_are_there_also_when_the_first_segment_is_gone(self):
        copy_good("packed", self.tape)
        want = [{"path": d["document"], "body": make_golden.compact(d["body"])} for d in make_golden.documents(5)]
        ask = "SELECT path, body FROM documents WHERE path LIKE '/openapi/%' ORDER BY path"
        self.assertEqual(self.query(ask), want)
        os.unlink(os.path.join(self.tape, "seg-000001.db"))
        self.assertEqual(self.query(ask), want)
        self.run_tape("recover", self.tape, "-o", self.new)
        self.tape = self.new
        self.assertEqual(self.query(ask), want)

    def test_a_writer_goes_on_with_one_that_was_killed(self):
        copy_good("killed", self.tape)
        self.make_tape(self.tape, make_golden.history(50, 10))
        self.assertEqual(self.events(self.tape)[:55], make_golden.events_of("killed"))
        self.assertEqual(self.run_tape("verify", self.tape).returncode, 0)

    def test_all_of_them_are_small(self):
        size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(GOLDEN) for f in files)
        self.assertLess(size, 1150000)


class BadTapes(Golden):
    def test_each_is_told_of_here(self):
        told = {name[len("test_"):].replace("_", "-") for name in dir(self) if name.startswith("test_")}
        self.assertEqual(set(DAMAGES) - told, set())

    def test_flipped_bit(self):
        self.bad("flipped-bit")
        self.verify("seg-000001.db at offset 61440: bad checksum of page 16: found ")
        self.assertEqual(self.run_tape("info", self.tape).returncode, 0)
        self.refused("block 0 of extent 1: bad checksum: found 0x", ["query", self.tape, OBJECTS])
        self.assertIn("pages mended, of which a single bit was wrong: 1", self.recover(0))
        self.check_recovered("sealed")

    def test_damaged_block(self):
        self.bad("damaged-block")
        self.verify("bad checksum of page 16")
        self.refused("block 0 of extent 1: bad checksum", ["query", self.tape, OBJECTS])
        got = json.loads(self.recover(3, "--json"))
        self.assertEqual((got["lost_events"], got["lost_rows"], got["tail_unknown"]), (132, 0, False))
        self.assertEqual([l["rv"] for l in got["lost"]], [e[6] for e in make_golden.events_of("sealed")])

    def test_damaged_index(self):
        self.bad("damaged-index")
        self.verify("bad checksum of page 14")
        self.refused("extent 1: index: bad checksum", ["info", self.tape], ["query", self.tape, OBJECTS])
        self.assertIn("lost: events 1 to 132: seg-000001.db: the last extent cannot be read", self.recover(3))

    def test_damaged_chain(self):
        self.bad("damaged-chain")
        self.verify("bad checksum of page 17")
        self.refused("bad checksum", ["query", self.tape, OBJECTS])
        got = json.loads(self.recover(3, "--json"))
        lost = [l["first_seq"] for l in got["lost"]]
        self.assertEqual((lost, {l["name"] for l in got["lost"]}), ([36, 38], {"big-1"}))
        self.check_recovered("chains", lost)

    def test_cut(self):
        self.bad("cut")
        self.verify("bad seal in")
        self.refused("database disk image is malformed", ["info", self.tape], ["query", self.tape, OBJECTS])
        self.assertIn("the end of the tape is damaged", self.recover(3))
        self.assertEqual(self.run_tape("verify", self.new).returncode, 0)

    def test_empty_file(self):
        self.bad("empty-file")
        self.verify("is cut short: 0 bytes have no room for a seal")
        self.refused("is not a segment of a tape", ["info", self.tape], ["query", self.tape, OBJECTS])
        self.assertIn("the end of the tape is damaged", self.recover(3))

    def test_missing_middle(self):
        self.bad("missing-middle")
        self.verify("segment 2 is missing")
        self.refused("has segment 3 but not segment 2", ["info", self.tape], ["query", self.tape, OBJECTS])
        got = json.loads(self.recover(3, "--json"))
        lost = {seq for l in got["lost"] if l["table"] == "events" for seq in range(l["first_seq"], l["last_seq"] + 1)}
        self.assertEqual((got["lost_events"], min(lost), max(lost)), (len(lost), 49, 96))
        self.assertLess(len(lost), 48)  # what still lived at the end of it stands in the next one
        self.check_recovered("rotated", lost)
        self.tape = self.new
        self.assertIn({"reason": "lost", "how_ended": "recovered"}, self.query("SELECT reason, how_ended FROM gaps"))
        done = self.run_tape("replay", self.new, "--plain", "--speed", "max", "--wait-watchers", "0", "--exit-at-end")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_digest(self):
        self.bad("wrong-digest")
        self.verify("bad checksum of the digest: found 000102030405060708090a0b0c0d0e0f, expected ",
                    "bad previous_digest: found ")
        self.assertEqual(self.events(self.tape), make_golden.events_of("rotated"))
        self.assertIn(", lost nothing;", self.recover(0))
        self.check_recovered("rotated")

    def test_newer_version(self):
        self.bad("newer-version")
        sentence = "has format version 7, this program reads 1 to 6"
        self.verify(sentence)
        self.refused(sentence, ["info", self.tape], ["query", self.tape, OBJECTS],
                     ["recover", self.tape, "-o", self.new])
        self.assertFalse(os.path.exists(self.new))

    def test_other_database(self):
        self.bad("other-database")
        self.verify("is not a segment of a tape: application id 0x0, expected 0x4b545045")
        self.refused("is not a segment of a tape", ["info", self.tape], ["query", self.tape, OBJECTS])
        self.assertIn(", lost nothing;", self.recover(0))  # all but the mark of ownership is there
        self.check_recovered("open")

    def test_torn_log(self):
        """What was not whole was not promised: no damage, 44 of the 55 events."""
        self.bad("torn-log")
        self.assertEqual(self.run_tape("verify", self.tape).returncode, 0)
        self.assertEqual(self.events(self.tape), make_golden.events_of("killed")[:44])
        self.assertIn("recovered 44 events, lost nothing;", self.recover(0))

    def test_what_is_no_tape_at_all(self):
        os.mkdir(self.tape)
        with open(os.path.join(self.tape, "notes.txt"), "w", encoding="ascii") as file:
            file.write("no tape\n")
        self.refused("is not a tape: it has no segment", ["info", self.tape], ["verify", self.tape],
                     ["query", self.tape, OBJECTS], ["recover", self.tape, "-o", self.new])


if __name__ == "__main__":
    unittest.main()
