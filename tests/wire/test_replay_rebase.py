"""replay --rebase-time: recorded times are shown as times of the replay, in every answer, and nothing else changes."""

import datetime
import json
import time
import unittest

from replays import CONFIGMAPS, PODS, TABLE, Case, Tape, obj

BEGIN = datetime.datetime(2027, 1, 15, 8, 0, 0, tzinfo=datetime.timezone.utc)  # of the small tapes
LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease", "namespaced": True}
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SLACK_S = 40  # for a machine that is busy; times on the tape lie further apart


def text(seconds, fraction=""):
    """A time this many seconds after the tape's beginning."""
    return (BEGIN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def parse(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def pod(name, rv, born, **more):
    thing = obj(PODS, name, rv, **more)
    thing["metadata"]["creationTimestamp"] = text(born)
    thing["metadata"]["annotations"] = {"at": text(born), "note": "since " + text(born)}
    thing["metadata"]["managedFields"] = [{"manager": "m", "time": text(born), "fieldsV1": {"f:at": {}}}]
    thing["status"] = {"phase": "Running", "startTime": text(born + 5),
        "conditions": [{"type": "Ready", "lastProbeTime": None, "lastTransitionTime": text(born + 7)}]}
    return thing


def tape():
    made = Tape().listed(PODS, 20, [pod("old", 5, -3600, labels={"app": "web"}), pod("young", 6, -60)])
    made.listed(CONFIGMAPS, 20, [obj(CONFIGMAPS, "c", 7, data={"at": text(-60)})])
    lease = obj(LEASES, "lock", 8, spec={"renewTime": text(-2, ".123456"), "holderIdentity": "x"})
    made.listed(LEASES, 20, [lease])
    made.event(0.5, PODS, "ADDED", pod("new", 31, 0)).event(0.6, PODS, "MODIFIED", pod("old", 32, -3600, labels={"app": "db"}))
    return made.event(600, PODS, "ADDED", pod("late", 33, 600))


class Rebase(Case):
    def begin(self, *options):
        self.server = self.replay(tape(), "--rebase-time", *options)
        return self.server

    def born(self, name):
        return parse(self.server.get("/api/v1/namespaces/default/pods/" + name)[1]["metadata"]["creationTimestamp"])

    def assert_age(self, stamp, expected_s):
        age = time.time() - (parse(stamp) if isinstance(stamp, str) else stamp)
        self.assertTrue(expected_s - 3 <= age <= expected_s + SLACK_S, (age, expected_s))

    def test_the_times_of_an_object_keep_their_distances_and_end_now(self):
        r = self.begin()
        thing = r.get("/api/v1/namespaces/default/pods/old")[1]
        born = thing["metadata"]["creationTimestamp"]
        self.assert_age(born, 3600)
        self.assertEqual(parse(thing["status"]["startTime"]) - parse(born), 5)
        self.assertEqual(parse(thing["status"]["conditions"][0]["lastTransitionTime"]) - parse(born), 7)
        self.assertEqual(thing["metadata"]["managedFields"][0]["time"], born)
        self.assertEqual((thing["metadata"]["resourceVersion"], thing["metadata"]["uid"]), ("5", "uid-old"))
        renewed = r.get(LEASE_PATH)[1]["items"][0]["spec"]["renewTime"]
        self.assertTrue(renewed.endswith(".123456Z"), renewed)
        self.assert_age(renewed, 2)
        self.assertAlmostEqual(parse(renewed) - parse(born), 3598.123456, places=5)

    def test_texts_of_users_stay(self):
        r = self.begin()
        thing = r.get("/api/v1/namespaces/default/pods/old")[1]
        self.assertEqual(thing["metadata"]["annotations"], {"at": text(-3600), "note": "since " + text(-3600)})
        self.assertEqual(r.get("/api/v1/namespaces/default/configmaps/c")[1]["data"], {"at": text(-60)})

    def test_lists_gets_watches_and_streaming_lists_show_the_same_bytes(self):
        r = self.begin()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as live:
            events = live.take(2)
        query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
        with r.watch("/api/v1/pods" + query) as streamed, r.watch("/api/v1/pods?watch=1&resourceVersion=20") as late:
            initial = {e["object"]["metadata"]["name"]: e["object"] for e in streamed.take(3)}
            self.assertEqual(late.take(2), events)
        listed = {thing["metadata"]["name"]: thing for thing in r.get("/api/v1/pods")[1]["items"]}
        for name, thing in initial.items():
            self.assertEqual({**listed[name], "kind": "Pod", "apiVersion": "v1"}, thing)
            self.assertEqual(r.get("/api/v1/namespaces/default/pods/" + name)[1], thing)
        self.assertEqual(events[0]["object"], initial["new"])
        self.assert_age(initial["new"]["metadata"]["creationTimestamp"], 0)

    def test_only_digits_change(self):
        moved, plain = self.begin(), self.replay(tape())
        a, b = (s.request("GET", "/api/v1/pods")[2] for s in (moved, plain))
        self.assertEqual(len(a), len(b))
        self.assertNotEqual(a, b)
        self.assertTrue(all(x == y or (chr(x).isdigit() and chr(y).isdigit()) for x, y in zip(a, b)))

    def test_the_old_state_that_a_selector_shows_is_moved_too(self):
        r = self.begin()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20&labelSelector=app%3Dweb") as w:
            gone = w.next()
        self.assertEqual((gone["type"], gone["object"]["metadata"]["resourceVersion"]), ("DELETED", "32"))
        self.assert_age(gone["object"]["metadata"]["creationTimestamp"], 3600)

    def test_the_age_in_a_table_is_that_of_now(self):
        r = self.begin()
        table = r.get("/api/v1/pods", accept=TABLE)[1]
        column = [c["name"] for c in table["columnDefinitions"]].index("Age")
        ages = {row["object"]["metadata"]["name"]: row["cells"][column] for row in table["rows"]}
        self.assertRegex(ages["old"], "^6[01]m$")
        self.assertRegex(ages["young"], "^(6[0-9]|[789][0-9]|10[0-9])s$")

    def test_what_is_played_fast_happened_while_it_was_played(self):
        r = self.begin("--speed", "max")
        before = self.born("old")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            events = w.take(3)
        self.assertEqual(events[2]["object"]["metadata"]["name"], "late")
        self.assert_age(events[2]["object"]["metadata"]["creationTimestamp"], 0)
        self.assertEqual(self.born("late"), parse(events[2]["object"]["metadata"]["creationTimestamp"]))
        self.assertEqual(self.born("old"), before)
        self.assertLessEqual(self.born("new"), self.born("late"))

    def test_a_seek_begins_anew(self):
        r = self.begin("--wait-watchers", "0")
        self.assertEqual(r.request("POST", "/kubetape/v1/pause")[0], 200)
        self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=end")[0], 200)
        self.assert_age(self.born("late"), 0)
        self.assert_age(self.born("new"), 600)
        self.assert_age(self.born("old"), 4200)
        self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=start")[0], 200)
        self.assert_age(self.born("old"), 3600)

    def test_the_beginning_of_a_part_is_now(self):
        self.begin("--from", "+600s", "--wait-watchers", "0")
        self.assert_age(self.born("late"), 0)
        self.assert_age(self.born("old"), 4200)

    def test_a_write_goes_on_from_the_moved_object(self):
        r = self.begin("--write", "overlay")
        thing = r.get("/api/v1/namespaces/default/pods/young")[1]
        thing["metadata"]["labels"] = {"seen": "1"}
        status, _, body = r.request("PUT", "/api/v1/namespaces/default/pods/young", {"Content-Type": "application/json"}, json.dumps(thing))
        self.assertEqual(status, 200, body)
        after = r.get("/api/v1/namespaces/default/pods/young")[1]
        self.assertEqual(after["metadata"]["creationTimestamp"], thing["metadata"]["creationTimestamp"])
        self.assertEqual(after["status"], thing["status"])


if __name__ == "__main__":
    unittest.main()
