"""A cut answers in its window as the whole tape does: lists, single objects, watches."""

import subprocess
import unittest

from recording import RecordTest, query
from replays import DEADLINE_S, KUBETAPE, Case

ROLLING = "tests/tapes/rolling-update.tape"
PLACES = ("/api/v1/pods", "/apis/apps/v1/replicasets", "/api/v1/nodes", "/api/v1/namespaces/shop/events")


class Cut(Case):
    def cut(self, tape, *args):
        path = self.folder + "/cut.tape"
        done = subprocess.run([KUBETAPE, "cut", tape, *args, "-o", path], capture_output=True, text=True,
            timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def answers(self, tape, places, *bounds):
        """What is listed at the beginning, one of the objects, and everything that a watch is sent from there."""
        r = self.replay(tape, "--speed", "max", "--wait-watchers", str(len(places)), "--exit-at-end", "--gaps", "none", *bounds)
        lists = {place: r.get(place)[1] for place in places}
        one = {place: r.get(f"{place}/{lists[place]['items'][0]['metadata']['name']}")[1] for place in places
            if "/namespaces/" in place or place.endswith("nodes")}
        watches = {place: r.watch(f"{place}?watch=1&resourceVersion={lists[place]['metadata']['resourceVersion']}")
            for place in places}
        events = {place: [e for e in w.rest() if e["type"] != "BOOKMARK"] for place, w in watches.items()}
        for w in watches.values():
            w.close()
        r.process.wait(timeout=DEADLINE_S)
        r.codes = (0, 3)
        return lists, one, events

    def assert_alike(self, part, places, *bounds):
        expected, found = self.answers(ROLLING, places, *bounds), self.answers(part, places)
        for place in places:
            for lists in (expected[0], found[0]):
                for item in lists[place]["items"]:
                    self.assertTrue(item["metadata"]["name"])
            self.assertEqual(expected[0][place]["items"], found[0][place]["items"], place)
            self.assertEqual(expected[2][place], found[2][place], place)
        self.assertEqual(expected[1], found[1])
        self.assertTrue(any(expected[2].values()))

    def test_a_stretch_is_listed_and_watched_as_in_the_whole(self):
        self.assert_alike(self.cut(ROLLING, "--from", "+8s", "--until", "+30s"), PLACES, "--from", "+8s", "--until", "+30s")

    def test_a_namespace_is_listed_and_watched_as_in_the_whole(self):
        places = [p.replace("/v1/", "/v1/namespaces/shop/").replace("shop/namespaces/shop", "shop") for p in PLACES if "nodes" not in p]
        self.assert_alike(self.cut(ROLLING, "--from", "+8s", "--until", "+30s", "-n", "shop"), places, "--from", "+8s", "--until", "+30s")


class Live(RecordTest):
    def test_a_tape_that_is_being_recorded_is_cut_as_it_stands(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.put("b")
        recording.wait_events(2)
        part = self.tape + "-part.tape"
        for command in (["cut", self.tape, "-o", part], ["verify", part]):
            done = subprocess.run([KUBETAPE, *command], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.pods.put("c")
        recording.wait_events(3)
        self.assertEqual([r["name"] for r in query(part, "SELECT name FROM events ORDER BY seq")], ["a", "b"])
        self.assertEqual(query(part, "SELECT end_reason FROM connections WHERE purpose='watch'"), [{"end_reason": None}])


if __name__ == "__main__":
    unittest.main()
