"""Informers of client-go and controller-runtime on a replay: their handlers are called once for each event of the
tape, and their caches end with exactly its objects, UIDs and resourceVersions."""

import concurrent.futures
import os
import unittest

from lib import paths, replay, tape
from lib.case import Case
from lib.session import NAMED_RESOURCES

# Kinds that a typed client of client-go does not know.
UNTYPED_GROUPS = ("apiregistration.k8s.io", "apiextensions.k8s.io", "stable.example.com")


class AnInformerOnAReplay(Case):

    def follow(self, program, resources, streaming=None, *options):
        """Run a client through the whole tape; returns {resource: Told}."""
        folder = os.path.join(self.folder(), "-".join((*program[:2], *options)))
        os.makedirs(folder, exist_ok=True)
        events = tape.by_resource(self.all_events)
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        last = {name: events[name][-1] for name in resources}
        with replay.Replay(self.all_tape, folder, "replay", "--speed", "max",
                "--wait-watchers", str(len(resources)), *options) as served:
            with replay.Informers(program, resources, served, folder, "client", streaming) as client:
                client.wait_until_seen(last, last_list)
                return client.end()

    def check(self, told):
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        for name, one in told.items():
            with self.subTest(resource=name):
                self.check_one(one, tape.by_resource(self.all_events)[name], last_list)

    def check_one(self, one, events, start_by):
        """The client told one of the histories that begin, at the latest, after the event start_by."""
        starts = [(tape.versions(before), tape.calls(before, after))
            for before, after in tape.possible_starts(events, start_by)]
        fitting = [made for initial, made in starts if initial == one.initial]
        self.assertTrue(fitting, f"initial state: found {one.initial}, expected {starts[0][0]}")
        if one.calls not in fitting:
            self.assertEqual(one.calls, fitting[0])
        self.assertEqual(one.cache, tape.versions(tape.state(events)))

    def resources(self, typed=False):
        events = tape.by_resource(self.all_events)
        return sorted(name for name, some in events.items() if not typed or some[0].group not in UNTYPED_GROUPS)

    def test_that_was_live_during_the_recording_told_the_same(self):
        """Not on a replay: this is what the others have to equal."""
        with open(os.path.join(self.session.folder, "live.out"), encoding="utf-8") as f:
            told = replay.told(f.read(), NAMED_RESOURCES)
        for name, one in told.items():
            with self.subTest(resource=name):
                events = tape.by_resource(self.all_events)[name]
                self.check_one(one, events, events[-1].seq)

    def test_dynamic_with_streaming_lists_tells_the_tape_one_to_one(self):
        self.check(self.follow(["informer"], self.resources(), streaming=True))

    def test_dynamic_with_classic_lists_tells_the_tape_one_to_one(self):
        self.check(self.follow(["informer"], self.resources(), streaming=False))

    def test_typed_with_streaming_lists_tells_the_tape_one_to_one(self):
        self.check(self.follow(["informer", "-mode", "typed"], self.resources(typed=True), streaming=True))

    def test_typed_with_classic_lists_tells_the_tape_one_to_one(self):
        self.check(self.follow(["informer", "-mode", "typed"], self.resources(typed=True), streaming=False))

    def test_of_metadata_only_tells_the_tape_one_to_one(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                self.check(self.follow(["informer", "-mode", "metadata"], self.resources(), streaming))

    def test_typed_of_the_release_before_tells_the_tape_one_to_one(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                self.check(self.follow(["informer-0.36", "-mode", "typed"], self.resources(typed=True), streaming))

    def test_controller_runtime_cache_tells_the_tape_one_to_one(self):
        for streaming in (True, False):
            with self.subTest(streaming=streaming):
                self.check(self.follow(["crcache"], self.resources(), streaming))

    def test_of_the_python_client_tells_the_tape_one_to_one_over_tls_and_without(self):
        self.in_another_language("python")

    @unittest.skipUnless(os.path.exists(os.path.join(paths.BUILD, "javascript", "installed")),
        "the JavaScript client could not be installed")
    def test_of_the_javascript_client_tells_the_tape_one_to_one_over_tls_and_without(self):
        self.in_another_language("javascript")

    def in_another_language(self, language):
        """Lists in pages and watches of five resources, informers of those four that are built in."""
        ways = [(mode, options) for mode in ("watch", "informer") for options in ((), ("--plain",))]
        resources = {"watch": NAMED_RESOURCES, "informer": NAMED_RESOURCES[:-1]}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            following = {way: pool.submit(self.follow, [language, way[0]], resources[way[0]], None, *way[1])
                for way in ways}
        for way, one in following.items():
            with self.subTest(way):
                self.check(one.result())
