"""With --write overlay: what follows on the tape from an object that is hidden, as it waits for a program."""

import time
import unittest

from replays import CONFIGMAPS, PODS, brief, obj
from waiting import wait_for
from writing import MAPS, PODS_PATH, config_map, tape
from test_replay_follow import Following, MAP, with_meta

HOLD = ("--hold-finalizer", "x/y")
STEPS = ("--speed", "max", "--lockstep", "50ms")
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}


def recreated():
    """An object that a program holds is followed by another one, and by what somebody made because of that."""
    made = tape()
    made.event(1, CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201), finalizers=["x/y"]))
    made.event(2, CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 202), finalizers=["x/y"], **ENDING))
    made.event(3, CONFIGMAPS, "DELETED", with_meta(obj(CONFIGMAPS, "a", 203), **ENDING))
    made.event(4, CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 204, uid="another"))
    made.event(5, CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "because-of-a", 205))
    return made


class NamesThatAreHeld(Following):
    """In lock-step the tape waits for the program that holds the name."""

    def begin(self, *options):
        self.server = self.replay(recreated(), "--write", "overlay", *HOLD, *STEPS, *options)

    def let_go(self):
        self.patch(MAP, {"metadata": {"finalizers": None}})

    def test_what_comes_after_the_hidden_object_comes_after_it(self):
        self.begin("--settle", "30s")
        with self.server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            watch.take(2)
            time.sleep(0.2)  # the tape must not go on, however long the program takes
            self.let_go()
            self.assertEqual([brief(e)[:2] for e in watch.take(3)], [("DELETED", "a"), ("ADDED", "a"), ("ADDED", "because-of-a")])

    def begin_with_gap(self, words):
        self.begin("--settle", "30s", "--gaps", "none", "--gap", f"#1,4ev,{words},configmaps,event=object LIKE '%deletionTimestamp%'")

    def test_a_gap_that_would_hide_from_the_program_that_it_is_to_let_go_ends_first(self):
        self.begin_with_gap("end,compact")
        with self.server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            self.assertEqual(len(watch.rest()), 1)
        wait_for(self.is_asked_to_end, "the deletion to be seen")
        with self.watch(MAPS) as watch:
            self.let_go()
            self.assertEqual([brief(e)[:2] for e in watch.take(3)], [("DELETED", "a"), ("ADDED", "a"), ("ADDED", "because-of-a")])

    def is_asked_to_end(self):
        """As a program sees it that lists, and rests when it is refused."""
        time.sleep(0.3)
        status, found = self.get(MAPS)
        return status == 200 and any("deletionTimestamp" in o["metadata"] for o in found["items"])

    def test_so_do_events_that_are_kept_back(self):
        self.begin_with_gap("burst")
        with self.server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            self.assertIn("deletionTimestamp", watch.take(2)[1]["object"]["metadata"])
            self.let_go()
            self.assertEqual([brief(e)[:2] for e in watch.take(3)], [("DELETED", "a"), ("ADDED", "a"), ("ADDED", "because-of-a")])

    def test_a_program_that_never_lets_go_does_not_stop_the_tape(self):
        self.begin("--settle", "300ms")
        with self.server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            self.assertEqual([brief(e)[:2] for e in watch.take(3)], [("MODIFIED", "a"), ("MODIFIED", "a"), ("ADDED", "because-of-a")])


class Dependents(Following):
    """--await: what the tape makes for an object waits for the program that makes the object."""

    def wait_for(self, *events):
        self.begin((CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "new", 201, uid="uid-new")), *events, options=("--await", "configmaps/default/new", "--gc"))

    def of(self, owner, name, rv, **more):
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "new", "uid": owner}
        return with_meta(obj(PODS, name, rv, uid="uid-" + name, **more), ownerReferences=[reference])

    def make(self):
        self.assertEqual(self.send("POST", MAPS, config_map("new"))[0], 201)

    def pods(self):
        return {o["metadata"]["name"]: o.get("status", {}) for o in self.get(PODS_PATH)[1]["items"] if o["metadata"]["name"].startswith("of-")}

    def test_they_are_hidden_until_then_and_shown_where_the_tape_has_them(self):
        self.wait_for((PODS, "ADDED", self.of("uid-new", "of-new", 202, status={"phase": "Pending"})),
            (PODS, "MODIFIED", self.of("uid-new", "of-new", 203, status={"phase": "Running"})),
            (PODS, "MODIFIED", self.of("uid-new", "of-new", 204, status={"phase": "Succeeded"})))
        with self.watch(PODS_PATH) as watch:
            self.step(3)
            self.assertEqual(self.pods(), {})
            self.make()
            self.assertEqual(brief(watch.next())[:2], ("ADDED", "of-new"))
            self.assertEqual(self.pods(), {"of-new": {"phase": "Running"}})
            self.step()
            self.assertEqual(brief(watch.next())[:2], ("MODIFIED", "of-new"))
        self.assertEqual(self.pods(), {"of-new": {"phase": "Succeeded"}})

    def test_so_are_their_own(self):
        self.wait_for((PODS, "ADDED", self.of("uid-new", "of-new", 202)), (PODS, "ADDED", self.of("uid-of-new", "of-of-new", 203)))
        self.step(3)
        self.assertEqual(self.pods(), {})
        self.make()
        self.assertEqual(list(self.pods()), ["of-new", "of-of-new"])

    def test_one_that_the_tape_deletes_before_is_never_shown(self):
        gone = self.of("uid-new", "of-new", 202)
        self.wait_for((PODS, "ADDED", gone), (PODS, "DELETED", gone), (PODS, "ADDED", self.of("uid-other", "of-other", 204)))
        with self.watch(PODS_PATH) as watch:
            self.step(3)
            self.make()
            self.step()
            self.assertEqual(brief(watch.next())[:2], ("ADDED", "of-other"))
        self.assertNotIn("of-new", self.pods())

    def test_one_that_comes_later_is_shown_at_once(self):
        self.wait_for((PODS, "ADDED", self.of("uid-new", "of-new", 202)))
        self.make()
        self.step(2)
        self.assertEqual(list(self.pods()), ["of-new"])


if __name__ == "__main__":
    unittest.main()
