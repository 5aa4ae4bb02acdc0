"""What becomes of writes: overlaid, absorbed or refused, and what they are beside the tape that goes on."""

import json
import random
import unittest

from replays import CONFIGMAPS, EVENTS, brief, obj
from writing import APPLY_PATCH, LEASES, LEASES_PATH, MAPS, MERGE_PATCH, PODS_PATH, Writes, config_map, tape


class Policies(Writes):

    def test_recorded_resources_absorb_by_default(self):
        self.start()
        status, made = self.send("POST", MAPS, config_map("new"))
        self.assertEqual((status, made["metadata"]["name"]), (201, "new"))
        self.assertEqual(self.server.request("GET", MAPS + "/new")[0], 404)
        thing = self.get(MAPS + "/a")[1]
        status, put = self.send("PUT", MAPS + "/a", {**thing, "data": {"k": "2"}})
        self.assertEqual((status, put["data"], put["metadata"]["resourceVersion"]), (200, {"k": "2"}, "10"))
        self.assertEqual(self.get(MAPS + "/a"), (200, thing))
        self.assertEqual(self.send("DELETE", MAPS + "/a")[0], 200)
        self.assertEqual(self.server.request("GET", MAPS + "/a")[0], 200)
        self.assertEqual(self.rv(MAPS), "100")

    def test_what_is_not_on_the_tape_is_overlaid(self):
        self.start()
        path = "/api/v1/namespaces/default/services"
        service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {}}
        self.assertEqual(self.get(path)[1]["items"], [])
        self.assertEqual(self.send("POST", path, service)[0], 201)
        self.assertEqual([o["metadata"]["name"] for o in self.get(path)[1]["items"]], ["s"])

    def test_the_last_rule_that_fits_counts(self):
        self.start("--write", "reject", "--write", "configmaps=overlay", "--write", "*:delete=reject")
        self.assertEqual(self.send("POST", MAPS, config_map("new"))[0], 201)
        self.assertEqual(self.get(MAPS + "/new")[0], 200)
        body = self.error(self.send("DELETE", MAPS + "/new"), 403, "Forbidden")
        self.assertIn("rejects delete of configmaps", body["message"])
        self.error(self.send("DELETE", PODS_PATH + "/idle"), 403, "Forbidden")

    def test_resources_of_rules_are_named_as_kubectl_takes_them(self):
        self.start("--write", "reject", "--write", "cm=overlay", "--write", "configmap:delete=reject", "--write", "deploy.apps=overlay",
            "--write", "ev=overlay")
        self.assertEqual(self.send("POST", MAPS, config_map("new"))[0], 201)
        self.assertEqual(self.get(MAPS + "/new")[0], 200)
        self.error(self.send("DELETE", MAPS + "/new"), 403, "Forbidden")
        thing = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
        self.assertEqual(self.send("POST", "/api/v1/namespaces/default/events", {"kind": "Event", "apiVersion": "v1", **thing})[0], 201)

    def test_a_rule_without_a_resource_is_for_all_and_one_with_a_subresource_for_it(self):
        self.start("--write", "po/status=reject", "--write", "*:deletecollection=reject")
        self.error(self.send("PUT", PODS_PATH + "/idle/status", self.get(PODS_PATH + "/idle")[1]), 403, "Forbidden")
        self.assertEqual(self.send("PUT", PODS_PATH + "/idle", self.get(PODS_PATH + "/idle")[1])[0], 200)

    def test_a_bad_rule_is_a_usage_error(self):
        for rule, word in (("podz=reject", "neither the tape nor Kubernetes has a resource 'podz'; did you mean 'pods'"),
                ("pods.apps=reject", "has a resource 'pods.apps'"), ("sometimes", "bad policy"), ("pods:fly=reject", "bad verb"), ("=reject", "no resource")):
            with self.subTest(rule=rule), self.assertRaisesRegex(AssertionError, word):
                self.start("--write", rule)

    def test_a_lease_can_be_taken_whoever_held_it_in_the_recording(self):
        self.start()
        self.error(self.get(LEASES_PATH + "/lock"), 404, "NotFound")
        lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "lock"},
            "spec": {"holderIdentity": "me"}}
        status, made = self.send("POST", LEASES_PATH, lease)
        self.assertEqual(status, 201)
        self.error(self.send("POST", LEASES_PATH, lease), 409, "AlreadyExists")
        for _ in range(3):
            status, made = self.send("PUT", LEASES_PATH + "/lock", {**made, "spec": {"holderIdentity": "me", "n": _}})
            self.assertEqual(status, 200)
        self.assertEqual([o["spec"]["holderIdentity"] for o in self.get(LEASES_PATH)[1]["items"]], ["me"])

    def test_a_lease_that_was_seen_in_a_list_can_be_updated_without_taking_it_first(self):
        self.start()
        recorded = self.get(LEASES_PATH)[1]["items"][0]
        status, made = self.send("PUT", LEASES_PATH + "/lock", {**recorded, "spec": {"holderIdentity": "me"}})
        self.assertEqual((status, made["metadata"]["uid"]), (200, recorded["metadata"]["uid"]))
        self.assertEqual(self.get(LEASES_PATH + "/lock")[1]["spec"]["holderIdentity"], "me")
        self.error(self.send("PUT", LEASES_PATH + "/lock", recorded), 409, "Conflict")

    def test_people_see_the_recorded_lease(self):
        self.start()
        self.assertEqual(self.send("GET", LEASES_PATH + "/lock", **{"User-Agent": "kubectl/v1.36.3"})[0], 200)

    def test_events_are_written_where_none_were_recorded(self):
        self.start()
        path = "/api/v1/namespaces/default/events"
        event = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e.1"}, "reason": "Tried", "count": 1}
        self.assertEqual(self.get(path)[1]["items"], [])
        self.assertEqual(self.send("POST", path, event)[0], 201)
        self.assertEqual(self.send("PATCH", path + "/e.1", {"count": 2}, MERGE_PATCH)[1]["count"], 2)
        self.assertEqual([o["count"] for o in self.get(path)[1]["items"]], [2])


class Defaults(Writes):
    """A tape whose recorded controller held the lock and told events, and goes on doing so."""

    def recorded(self):
        made = tape()
        made.listed(EVENTS, 100, [obj(EVENTS, "e.1", 70, reason="Recorded", count=1), obj(EVENTS, "e.2", 71, reason="Other", count=1)])
        for n in range(3):
            made.event(2 + n, LEASES, "MODIFIED", obj(LEASES, "lock", 110 + 10 * n, spec={"holderIdentity": "recorded"}))
            made.event(2 + n, EVENTS, "MODIFIED", obj(EVENTS, "e.1", 111 + 10 * n, reason="Recorded", count=2 + n))
            made.event(2 + n, EVENTS, "MODIFIED", obj(EVENTS, "e.2", 112 + 10 * n, reason="Other", count=2 + n))
            made.event(2 + n, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 113 + 10 * n, data={"k": "recorded%d" % n}))
        return made

    def step_to_the_end(self):
        self.assertEqual(self.server.request("POST", "/kubetape/v1/seek?to=end")[0], 200)

    def take_the_lock(self):
        lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "lock"}, "spec": {"holderIdentity": "me"}}
        status, made = self.send("POST", LEASES_PATH, lease)
        self.assertEqual(status, 201, made)
        return made

    def test_who_took_the_lease_keeps_it_while_the_recorded_holder_renews_it(self):
        self.start(made=self.recorded())
        self.server.request("POST", "/kubetape/v1/pause")
        made = self.take_the_lock()
        for n in range(3):
            self.assertEqual(self.server.request("POST", "/kubetape/v1/step?count=4")[0], 200)
            self.assertEqual(self.get(LEASES_PATH + "/lock"), (200, made))
            status, made = self.send("PUT", LEASES_PATH + "/lock", {**made, "spec": {"holderIdentity": "me", "leaseTransitions": n}})
            self.assertEqual(status, 200, made)
        self.step_to_the_end()
        self.assertEqual([o["spec"]["holderIdentity"] for o in self.get(LEASES_PATH)[1]["items"]], ["me"])

    def test_an_event_of_a_recorded_name_hides_the_recorded_one_and_no_other(self):
        server = self.start(made=self.recorded())
        path = "/api/v1/namespaces/default/events"
        mine = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e.1"}, "reason": "Mine", "count": 1}
        server.request("POST", "/kubetape/v1/pause")
        self.assertEqual(self.send("POST", path, mine)[0], 201)
        with server.watch(path + "?watch=true&resourceVersion=" + self.rv(path)) as watch:
            server.request("POST", "/kubetape/v1/step?count=12")
            self.assertEqual([(e["object"]["metadata"]["name"], e["object"]["count"]) for e in watch.take(3)],
                [("e.2", 2), ("e.2", 3), ("e.2", 4)])
        self.step_to_the_end()
        self.assertEqual({o["metadata"]["name"]: o["reason"] for o in self.get(path)[1]["items"]}, {"e.1": "Mine", "e.2": "Other"})

    def test_an_absorbed_write_is_answered_as_done_wakes_nobody_and_may_be_said_again(self):
        server = self.start(made=self.recorded())
        server.request("POST", "/kubetape/v1/pause")
        thing = self.get(MAPS + "/a")[1]
        with server.watch(MAPS + "?watch=true&resourceVersion=" + self.rv(MAPS)) as watch:
            for n in range(3):
                status, thing = self.send("PUT", MAPS + "/a", {**thing, "data": {"k": "mine"}})
                self.assertEqual((status, thing["data"], thing["metadata"]["resourceVersion"]), (200, {"k": "mine"}, "10"))
                self.assertEqual(self.send("PATCH", MAPS + "/a", {"data": {"k": "mine"}}, MERGE_PATCH)[0], 200)
                self.assertEqual(self.send("DELETE", MAPS + "/b")[0], 200)
                self.assertEqual(self.send("PATCH", MAPS + "/a?fieldManager=me&force=true", config_map("a", data={"k": "x"}), APPLY_PATCH)[0], 200)
            server.request("POST", "/kubetape/v1/step?count=12")
            self.assertEqual([brief(e) for e in watch.take(3)], [("MODIFIED", "a", rv) for rv in ("113", "123", "133")])

    def test_a_program_reads_by_name_what_its_absorbed_writes_made_and_deleted_until_the_tape_goes_on(self):
        server = self.start(made=self.recorded())
        server.request("POST", "/kubetape/v1/pause")
        def ask(method, path, body=None, agent="mine/v1"):
            status, _, answer = server.request(method, path, {"User-Agent": agent, "Content-Type": "application/json"},
                json.dumps(body) if body else None)
            return status, json.loads(answer)
        def statuses(path):
            return [ask("GET", path, agent=agent)[0] for agent in ("mine/v1", "other/v1", "curl/8", "")]
        def kubectl(method, path, body=None):
            return ask(method, path, body, "kubectl/v1.36.3")[0]
        self.assertEqual(ask("POST", MAPS, config_map("made", data={"k": "1"}))[0], 201)
        self.assertEqual(ask("GET", MAPS + "/made")[1]["data"], {"k": "1"})
        self.assertEqual(ask("PUT", MAPS + "/made", config_map("made", data={"k": "2"}))[0], 200)
        self.assertEqual(ask("GET", MAPS + "/made")[1]["data"], {"k": "2"})
        self.assertEqual(statuses(MAPS + "/made"), [200, 404, 404, 404])
        self.assertEqual([kubectl("POST", MAPS, config_map("seen")), kubectl("GET", MAPS + "/seen")], [201, 404], "people look at the tape")
        self.assertEqual([kubectl("DELETE", MAPS + "/b"), kubectl("GET", MAPS + "/b")], [200, 404], "but wait for what they delete")
        self.assertEqual(ask("DELETE", MAPS + "/a")[0], 200)
        self.assertEqual(statuses(MAPS + "/a"), [404, 200, 200, 200])
        self.assertEqual(ask("POST", MAPS, config_map("a"), agent="other/v1")[0], 409)
        self.assertEqual(ask("POST", MAPS, config_map("a", data={"k": "anew"}))[0], 201)
        self.assertEqual(ask("GET", MAPS + "/a")[1]["data"], {"k": "anew"})
        self.assertEqual({o["metadata"]["name"]: o["data"] for o in ask("GET", MAPS)[1]["items"]}["a"], {"k": "1"})
        self.step_to_the_end()
        self.assertEqual(ask("GET", MAPS + "/a")[1]["metadata"]["resourceVersion"], "133", "what the tape has now")
        self.assertEqual(statuses(MAPS + "/made"), [200, 404, 404, 404])

    def test_what_an_absorbed_delete_would_leave_ending_is_gone_for_the_program_and_its_namespaces_hold_objects(self):
        server = self.start(made=self.recorded())
        def ask(method, path, body=None):
            return server.request(method, path, {"User-Agent": "mine/v1", "Content-Type": "application/json"},
                json.dumps(body) if body else None)[0]
        thing = {**config_map("held"), "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        self.assertEqual(ask("POST", MAPS, thing), 201)
        self.assertEqual(ask("DELETE", MAPS + "/held"), 200)
        self.assertEqual(ask("GET", MAPS + "/held"), 404)
        self.assertEqual(ask("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}}), 201)
        self.assertEqual(ask("POST", "/api/v1/namespaces/new/configmaps", config_map("inside")), 201)

    def test_what_an_absorbed_create_made_can_be_changed_and_deleted_once_but_not_listed(self):
        self.start(made=self.recorded())
        for n in range(2):
            self.assertEqual(self.send("POST", MAPS, config_map("mine", data={"n": str(n)}))[0], 201)
        self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["a", "b"])
        status, thing = self.send("PATCH", MAPS + "/mine", {"data": {"more": "x"}}, MERGE_PATCH)
        self.assertEqual((status, thing["data"]), (200, {"n": "1", "more": "x"}))
        status, thing = self.send("PUT", MAPS + "/mine", config_map("mine", data={"k": "put"}))
        self.assertEqual((status, thing["data"]), (200, {"k": "put"}))
        self.assertEqual([self.send("DELETE", MAPS + "/mine")[0] for _ in range(2)], [200, 404])
        self.assertEqual(self.send("PATCH", MAPS + "/mine", {"data": {}}, MERGE_PATCH)[0], 404)


class Versions(Writes):
    """A tape that goes on under what is written."""

    def moving(self):
        made = tape()
        made.event(5, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 101, data={"r": "1"}))
        made.event(6, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 102, data={"k": "recorded"}))
        made.event(7, CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "c", 103))
        made.event(8, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 500, data={"r": "2"}))
        return made

    def test_versions_never_repeat_nor_go_back_and_written_names_stay_the_writers(self):
        server = self.start("--write", "overlay", made=self.moving())
        self.control("pause")
        with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            for n in range(2):
                self.assertEqual(self.send("PATCH", MAPS + "/a", {"data": {"k": "mine%d" % n}}, MERGE_PATCH)[0], 200)
            self.control("step?count=9")
            events = watch.take(5)
        self.assertEqual([brief(e) for e in events], [("MODIFIED", "a", "101"), ("MODIFIED", "a", "102"),
            ("MODIFIED", "b", "103"), ("ADDED", "c", "104"), ("MODIFIED", "b", "500")])
        listed = self.get(MAPS)[1]
        self.assertEqual({o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in listed["items"]},
            {"a": "102", "b": "500", "c": "104"})
        self.assertEqual(self.get(MAPS + "/a")[1]["data"], {"k": "mine1"})
        with server.watch(MAPS + "?watch=true&resourceVersion=101") as again:
            self.assertEqual([brief(e) for e in again.take(4)], [brief(e) for e in events[1:]])
        exact = self.get(MAPS + "?resourceVersion=103&resourceVersionMatch=Exact")[1]
        self.assertEqual({o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in exact["items"]},
            {"a": "102", "b": "103"})

    def test_an_object_that_moved_up_can_be_updated_at_the_version_that_is_shown(self):
        server = self.start("--write", "overlay", made=self.moving())
        self.control("pause")
        with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            self.send("PATCH", MAPS + "/a", {"data": {"k": "mine"}}, MERGE_PATCH)
            self.control("step?count=1")
            self.assertEqual([brief(e) for e in watch.take(2)], [("MODIFIED", "a", "101"), ("MODIFIED", "b", "102")])
            thing = self.get(MAPS + "/b")[1]
            self.assertEqual(thing["metadata"]["resourceVersion"], "102")
            self.assertEqual(self.send("PUT", MAPS + "/b", {**thing, "data": {"w": "1"}})[0], 200)

    def control(self, what):
        status, _, body = self.server.request("POST", "/kubetape/v1/" + what)
        self.assertEqual(status, 200, body)

    def test_seeking_to_and_fro_keeps_what_was_written_and_no_version_stands_for_two_states(self):
        self.start("--write", "overlay", made=self.moving())
        self.control("pause")
        seen, last, dice = {}, 0, random.Random(7)
        for n in range(30):
            self.control("seek?to=" + dice.choice(["start", "end", "%2B6s"]))
            if n % 3 == 0:
                self.assertEqual(self.send("PATCH", MAPS + "/a", {"data": {"k": "mine%d" % n}}, MERGE_PATCH)[0], 200)
            listed = self.get(MAPS)[1]
            version = int(listed["metadata"]["resourceVersion"])
            self.assertGreaterEqual(version, last)
            last = version
            for thing in listed["items"]:
                key = (thing["metadata"]["name"], thing["metadata"]["resourceVersion"])
                self.assertEqual(seen.setdefault(key, thing), thing)
                self.assertLessEqual(int(key[1]), version)
            self.assertEqual(self.get(MAPS + "/a")[1]["data"], {"k": "mine%d" % (n - n % 3)})

    def test_an_event_that_moved_up_the_second_time_it_is_played_does_so_for_who_watches_from_before(self):
        server = self.start("--write", "overlay", made=self.moving())
        self.control("pause")
        self.control("step?count=4")
        self.send("PATCH", MAPS + "/a", {"data": {"k": "mine"}}, MERGE_PATCH)
        self.control("seek?to=start")
        listed = self.get(MAPS)[1]["metadata"]["resourceVersion"]
        self.control("step?count=1")
        with server.watch(MAPS + "?watch=true&resourceVersion=" + listed) as watch:
            self.assertEqual(brief(watch.next()), ("MODIFIED", "b", str(int(listed) + 1)))

    def test_a_loop_tells_watches_to_list_again_and_goes_on_behind_what_they_saw(self):
        self.start("--write", "overlay", "--loop", "--speed", "max", made=self.moving())
        self.send("PATCH", MAPS + "/a", {"data": {"k": "mine"}}, MERGE_PATCH)
        last = 0
        for _ in range(4):
            listed = self.get(MAPS)[1]["metadata"]["resourceVersion"]
            self.assertGreaterEqual(int(listed), last)
            last = int(listed)
            with self.server.watch(MAPS + "?watch=true&resourceVersion=" + listed) as watch:
                while (event := watch.next())["type"] != "ERROR":
                    name, version = brief(event)[1:]
                    self.assertNotEqual(name, "a")
                    self.assertGreater(int(version), last)
                    last = int(version)
                self.assertEqual(event["object"]["code"], 410)


if __name__ == "__main__":
    unittest.main()
