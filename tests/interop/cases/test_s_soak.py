"""A control plane at the highest rate of events that it gives: what its recorders keep, held against what etcd
holds and against the bytes that an independent watcher saw."""

import collections
import json
import os
import unittest

from lib import soak, tape, witness
from lib.case import Case, recorded

# `make soak` gives it minutes.
SECONDS = float(os.environ.get("KUBETAPE_SOAK_S", "24"))


class ASoak(Case):

    @classmethod
    def setUpClass(cls):
        cls.soak = soak.Soak(os.path.join(recorded().folder, "soak"), SECONDS, say).record()

    def test_has_no_failure_of_its_own(self):
        happened = self.soak.happened
        self.assertGreater(happened["kills"], 2)
        self.assertGreater(happened["steps"], 2)
        self.assertEqual((happened["stops"], happened["silences"]), (1, 1))
        self.assertEqual(self.soak.failures, [])
        self.assertEqual(self.soak.exit_codes, dict.fromkeys(self.soak.names, 0))

    def test_leaves_every_change_that_etcd_has_on_each_tape_or_inside_a_gap_of_it(self):
        for name in self.soak.names:
            with self.subTest(tape=name):
                self.assertNothing(self.soak.kept(name).missing(self.soak.changes_for(name)), "changes are missing")

    def test_leaves_nothing_on_a_tape_that_etcd_has_not(self):
        changed = collections.Counter((c.type, c.revision, tail) for c in self.soak.changes
            for tail in set(soak.tails(c.key)))
        for name in self.soak.names:
            with self.subTest(tape=name):
                watched = collections.Counter((r["type"], int(r["rv"]), soak.key_of(r)) for r in self.soak.kept(name).rows
                    if r["origin"] == "watch" and self.soak.begin_rv < int(r["rv"]) <= self.soak.end_rv)
                self.assertGreater(len(watched), 100)
                self.assertNothing(sorted((watched - changed).elements()), "events are not in etcd's account")

    def test_lets_only_those_have_a_gap_that_lost_their_server(self):
        """A server that is short of processor time ends watches that fall behind, and counts them: those are lost, too."""
        ended = collections.Counter()
        for name in set(self.soak.names) & {"calm", "stepped", "full"}:
            gaps = self.soak.kept(name).gaps
            with self.subTest(tape=name):
                self.assertNothing([g for g in gaps if g["reason"] != "server_close_early"], "gaps of its own")
            ended.update((g["apigroup"], g["resource"]) for g in gaps)
        self.assertNothing(sorted((ended - self.soak.cut_off).elements()), "watches ended, and the server has not ended them")

    @unittest.skipIf(SECONDS < 60, "the API server lets its events expire after 15 s at the earliest")
    def test_saw_events_expire(self):
        self.assertTrue([c for c in self.soak.changes if c.type == "DELETED" and c.key.startswith("events/")])

    def test_keeps_the_bytes_that_an_independent_watcher_saw(self):
        seen = {name: {(s.type, s.rv, uid_of(s.object)): s.object for s in stream.seen}
            for name, stream in witness.load(self.soak.raw).items()}
        for name in self.soak.names:
            found = [e for e in tape.load(self.soak.tape(name)) if e.origin == "watch"
                and self.soak.begin_rv < int(e.rv) <= self.soak.end_rv]
            with self.subTest(tape=name):
                self.assertNothing([f"{e.name} {e.key} {e.type} {e.rv}" for e in found
                    if seen[e.name].get((e.type, int(e.rv), e.uid)) != e.object], "events differ in their bytes")


def say(text):
    print(text, flush=True)


def uid_of(thing):
    return json.loads(thing)["metadata"]["uid"]
