"""What a replay sends is what was recorded, down to the bytes: seen by the raw watcher and by a second recorder."""

import json
import os
import signal
import time

from lib import paths, process, tape, wait, witness
from lib.case import Case
from lib.replay import Replay


class TheReplay(Case):

    def resources(self):
        return sorted(tape.by_resource(self.all_events))

    def assertSame(self, name, initial, after):
        """A view of one resource is a recorded history from some start on. initial: {(uid, rv): object}, after:
        [(type, rv, object)]."""
        of_resource = tape.by_resource(self.all_events)[name]
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        for before, events in tape.possible_starts(of_resource, last_list):
            if {(e.uid, e.rv): e.object for e in before.values()} == initial:
                break
        else:
            self.fail(f"initial state of {len(initial)} objects is none of the tape")
        expected = [(e.type, e.rv, e.object) for e in events]
        self.assertEqual([x[:2] for x in after], [x[:2] for x in expected])
        self.assertNothing([f"{found[:2]}" for found, x in zip(after, expected) if found != x],
            "objects differ in their bytes")

    def test_sends_the_raw_watcher_the_very_bytes_that_the_server_sent(self):
        names, folder = self.resources(), self.folder()
        end = sum(1 for e in self.all_events if e.origin == "watch")
        with Replay(self.all_tape, folder, "replay", "--speed", "max", "--wait-watchers", str(len(names))) as served:
            watcher = process.Child([paths.program("rawwatch"), "-o", folder, *names], folder, "rawwatch",
                {"KUBECONFIG": served.kubeconfig})
            try:
                last = self.all_events[-1]
                wait.until("the last event", lambda: any(int(last.rv) == seen.rv
                    for seen in witness.events(os.path.join(folder, last.name + ".lines"))))
                wait.until("the events of all resources", lambda: sum(
                    len(s.seen) for s in witness.load(folder).values()) >= end - self.before_start())
            finally:
                self.assertEqual(watcher.stop(), 0)
        for name, stream in witness.load(folder).items():
            with self.subTest(resource=name):
                items = {}
                for item in stream.items:
                    metadata = json.loads(item)["metadata"]
                    items[metadata["uid"], metadata["resourceVersion"]] = witness.typed(item, stream)
                self.assertSame(name, items, [(s.type, str(s.rv), s.object) for s in stream.seen])

    def before_start(self):
        """Events that were watched while other resources were still being listed: part of the initial state."""
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        return sum(1 for e in self.all_events if e.origin == "watch" and e.seq <= last_list)

    def test_can_be_recorded_and_gives_the_same_events(self):
        folder = self.folder()
        again = os.path.join(folder, "again.tape")
        streams = int(self.session.facts["all"]["said"].split()[1])
        with Replay(self.all_tape, folder, "replay", "--speed", "max", "--wait-watchers", str(streams)) as served:
            recorder = process.Child([paths.KUBETAPE, "record", "--all", "--secrets=keep", "-o", again], folder,
                "recorder", {"KUBECONFIG": served.kubeconfig})
            try:
                said = recorder.wait_for("^recording [0-9]+ streams").group()
                wait.until("the last event", lambda: self.has_all(again), every_s=0.3)
            finally:
                self.assertEqual(recorder.stop(signal.SIGINT), 0)
        self.assertEqual(said, self.session.facts["all"]["said"])
        recorded = tape.by_resource(tape.load(again))
        self.assertEqual(sorted(recorded), self.resources())
        for name, events in recorded.items():
            with self.subTest(resource=name):
                listed = {(e.uid, e.rv): e.object for e in events if e.origin == "list"}
                self.assertSame(name, listed, [(e.type, e.rv, e.object) for e in events if e.origin != "list"])

    def has_all(self, again):
        rvs = {row["rv"] for row in tape.rows(again, "SELECT rv FROM events")}
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        return rvs >= {e.rv for e in self.all_events if e.seq > last_list}

    def test_takes_its_time_divided_by_the_speed(self):
        info = tape.rows(self.all_tape, "SELECT max(time_ns) - min(time_ns) AS ns FROM events WHERE origin='watch'")
        expected = info[0]["ns"] / 1e9 / 20
        began = time.monotonic()
        child = process.Child([paths.KUBETAPE, "replay", self.all_tape, "--speed", "20", "--wait-watchers", "0",
            "--exit-at-end"], self.folder(), "replay")
        self.assertEqual(child.wait_end(), 0, child.text("err"))
        self.assertGreater(time.monotonic() - began, expected)
