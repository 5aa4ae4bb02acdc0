"""Informers of client-go and controller-runtime on a replay: their handlers are called once for each event of the
tape, and their caches end with exactly its objects, UIDs and resourceVersions."""

from lib import tape
from lib.case import Case
from lib.replay import Informers, Replay

# Kinds that a typed client of client-go does not know.
UNTYPED_GROUPS = ("apiregistration.k8s.io", "apiextensions.k8s.io", "stable.example.com")


class AnInformerOnAReplay(Case):

	def follow(self, program, resources, streaming=None):
		"""Run a client through the whole tape; returns {resource: Told}."""
		events = tape.by_resource(self.all_events)
		last_list = max(e.seq for e in self.all_events if e.origin == "list")
		last = {name: events[name][-1] for name in resources}
		with Replay(self.session.all_tape, self.folder(), "replay", "--speed", "max",
				"--wait-watchers", str(len(resources))) as replay:
			with Informers(program, resources, replay, self.folder(), "client", streaming) as client:
				client.wait_until_seen(last, last_list)
				return client.end()

	def check(self, told):
		events = tape.by_resource(self.all_events)
		for name, one in told.items():
			with self.subTest(resource=name):
				starts = [(tape.versions(before), tape.calls(before, after))
					for before, after in tape.possible_starts(self.all_events, events[name])]
				fitting = [made for initial, made in starts if initial == one.initial]
				self.assertTrue(fitting, f"initial state: found {one.initial}, expected {starts[0][0]}")
				if one.calls not in fitting:
					self.assertEqual(one.calls, fitting[0])
				self.assertEqual(one.cache, tape.versions(tape.state(events[name])))

	def resources(self, typed=False):
		events = tape.by_resource(self.all_events)
		return sorted(name for name, some in events.items() if not typed or some[0].group not in UNTYPED_GROUPS)

	def test_dynamic_with_streaming_lists_tells_the_tape_one_to_one(self):
		self.check(self.follow(["informer"], self.resources(), streaming=True))

	def test_dynamic_with_classic_lists_tells_the_tape_one_to_one(self):
		self.check(self.follow(["informer"], self.resources(), streaming=False))

	def test_typed_with_streaming_lists_tells_the_tape_one_to_one(self):
		self.check(self.follow(["informer", "-mode", "typed"], self.resources(typed=True), streaming=True))

	def test_typed_with_classic_lists_tells_the_tape_one_to_one(self):
		self.check(self.follow(["informer", "-mode", "typed"], self.resources(typed=True), streaming=False))

	def test_typed_of_the_release_before_tells_the_tape_one_to_one(self):
		for streaming in (True, False):
			with self.subTest(streaming=streaming):
				self.check(self.follow(["informer-0.36", "-mode", "typed"], self.resources(typed=True), streaming))

	def test_controller_runtime_cache_tells_the_tape_one_to_one(self):
		for streaming in (True, False):
			with self.subTest(streaming=streaming):
				self.check(self.follow(["crcache"], self.resources(), streaming))
