"""With --write overlay: what the tape goes on to say of objects that programs have written."""

import os
import unittest

from replays import CONFIGMAPS, PODS, brief, obj
from writing import APPLY_PATCH, MAPS, MERGE_PATCH, PODS_PATH, Writes, config_map, tape

MAP = MAPS + "/a"
POD = PODS_PATH + "/web"
STRATEGIC = "application/strategic-merge-patch+json"


def with_meta(made, **meta):
    made["metadata"].update(meta)
    return made


def pod(rv, status, **more):
    return obj(PODS, "web", rv, spec={"nodeName": "n1", "containers": []}, status=status, **more)


def entry(manager, fields, sub=None):
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
        **({"subresource": sub} if sub else {})}


class Following(Writes):

    def begin(self, *events, options=()):
        """The tape is about to go on with these (resource, type, object), one a step."""
        made = tape()
        for n, event in enumerate(events, 1):
            made.event(n, *event)
        self.start("--write", "overlay", *options, made=made)
        self.server.request("POST", "/kubetape/v1/pause")
        self.server.request("POST", "/kubetape/v1/rewind")

    def step(self, count=1):
        for _ in range(count):
            self.assertEqual(self.server.request("POST", "/kubetape/v1/step?count=1")[0], 200)

    def patch(self, path, body, content_type=MERGE_PATCH, **headers):
        status, answer = self.send("PATCH", path, body, content_type, **headers)
        self.assertLess(status, 300, answer)
        return answer

    def watch(self, path):
        return self.server.watch(f"{path}?watch=true&resourceVersion={self.rv(path)}")


class Changes(Following):

    def test_fields_that_the_program_did_not_write_go_on_and_those_that_it_wrote_stay(self):
        self.begin((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 201, data={"k": "tape", "other": "tape"}, labels={"l": "tape"})))
        with self.watch(MAPS) as watch:
            self.patch(MAP, {"data": {"k": "program"}})
            self.step()
            self.assertEqual([brief(e)[0] for e in watch.take(2)], ["MODIFIED", "MODIFIED"])
        found = self.get(MAP)[1]
        self.assertEqual(found["data"], {"k": "program", "other": "tape"})
        self.assertEqual(found["metadata"]["labels"], {"l": "tape"})

    def test_a_field_that_the_program_wrote_stays_after_the_tape_has_had_the_same_value(self):
        self.begin(*((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 200 + int(k), data={"k": k, "n": k})) for k in "234"))
        self.patch(MAP, {"data": {"k": "3"}})
        self.step(3)
        self.assertEqual(self.get(MAP)[1]["data"], {"k": "3", "n": "4"})

    def test_what_the_program_removed_stays_away(self):
        self.begin((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 201, data={"k": "2", "m": "2"})))
        self.patch(MAP, {"data": {"k": None}})
        self.step()
        self.assertEqual(self.get(MAP)[1]["data"], {"m": "2"})

    def test_a_kubelets_conditions_come_to_a_pod_that_has_one_of_the_programs(self):
        ready = {"type": "Ready", "status": "True"}
        self.begin((PODS, "MODIFIED", pod(201, {"phase": "Failed", "conditions": [ready]})))
        gate = {"type": "example.com/gate", "status": "True"}
        self.patch(POD + "/status", {"status": {"conditions": [gate]}}, STRATEGIC)
        self.step()
        status = self.get(POD)[1]["status"]
        self.assertEqual(status["phase"], "Failed")
        self.assertCountEqual(status["conditions"], [ready, gate])

    def test_of_an_item_the_program_keeps_the_fields_that_it_wrote(self):
        first, then = ({"type": "Ready", "status": s, "reason": r} for s, r in (("False", "old"), ("True", "new")))
        self.begin((PODS, "MODIFIED", pod(201, {"conditions": [first]})), (PODS, "MODIFIED", pod(202, {"conditions": [then]})))
        self.step()
        self.patch(POD + "/status", {"status": {"conditions": [{"type": "Ready", "reason": "mine"}]}}, STRATEGIC)
        self.step()
        self.assertEqual(self.get(POD)[1]["status"]["conditions"], [{"type": "Ready", "status": "True", "reason": "mine"}])

    def test_of_an_item_of_which_a_field_was_applied_the_others_go_on(self):
        web = {"name": "web", "image": "a", "command": ["run"]}
        first, then = (obj(PODS, "web", rv, spec={"nodeName": "n1", "containers": [{**web, "workingDir": at}]}) for rv, at in ((201, "/old"), (202, "/new")))
        self.begin((PODS, "MODIFIED", first), (PODS, "MODIFIED", then))
        self.step()
        self.patch(POD + "?fieldManager=me&force=true", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "web", "image": "mine"}]}}, APPLY_PATCH)
        self.step()
        self.assertEqual(self.get(POD)[1]["spec"]["containers"], [{**web, "image": "mine", "workingDir": "/new"}])

    def test_an_item_that_is_nothing_but_its_key_stays(self):
        self.begin((PODS, "MODIFIED", pod(201, {"phase": "Failed"})))
        self.patch(POD + "/status", {"status": {"conditions": [{"type": "example.com/gate"}]}}, STRATEGIC)
        self.step()
        self.assertEqual(self.get(POD)[1]["status"], {"phase": "Failed", "conditions": [{"type": "example.com/gate"}]})

    def test_what_says_nothing_new_is_no_event(self):
        self.begin((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 201, data={"k": "2"})), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 202, data={})))
        self.patch(MAP, {"data": {"k": "program"}})
        with self.watch(MAPS) as watch:
            self.step(2)
            self.assertEqual(watch.take(1)[0]["object"]["metadata"]["name"], "b")

    def test_what_a_program_made_is_its_own(self):
        self.begin((CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "new", 201, data={"k": "tape"})), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "new", 202)))
        made = self.send("POST", MAPS, config_map("new", data={"k": "program"}))[1]
        self.step(2)
        self.assertEqual(self.get(MAPS + "/new")[1], made)

    def test_a_change_of_the_spec_raises_the_generation_and_one_of_the_status_does_not(self):
        bare = {"containers": [], "nodeName": "n1"}
        self.begin((PODS, "MODIFIED", pod(201, {"phase": "Failed"})), (PODS, "MODIFIED", obj(PODS, "web", 202, spec={**bare, "priority": 1})))
        self.patch(POD, {"metadata": {"labels": {"l": "1"}, "generation": 7}})
        count = self.get(POD)[1]["metadata"].get("generation", 0)
        self.step()
        self.assertEqual(self.get(POD)[1]["metadata"].get("generation", 0), count)
        self.step()
        self.assertEqual(self.get(POD)[1]["metadata"]["generation"], count + 1)

    def test_an_end_asked_for_by_the_tape_raises_the_generation(self):
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
        self.begin((PODS, "MODIFIED", with_meta(pod(201, {"phase": "Running"}), **ending)), (PODS, "MODIFIED", with_meta(pod(202, {"phase": "Failed"}), **ending)))
        self.patch(POD, {"metadata": {"labels": {"l": "1"}}, "spec": {"activeDeadlineSeconds": 60}})
        count = self.get(POD)[1]["metadata"]["generation"]
        for _ in range(2):
            self.step()
            self.assertEqual(self.get(POD)[1]["metadata"]["generation"], count + 1)


class Managers(Following):

    def test_what_the_tapes_own_run_of_the_program_wrote_in_the_same_way_is_left_to_the_program(self):
        def said(rv, phase, by):
            return with_meta(pod(rv, {"phase": phase, "reason": phase}), managedFields=[entry("controller", {"f:status": {"f:" + by: {}}}, "status"),
                entry("kubelet", {"f:status": {"f:reason": {}}}, "status")])
        self.begin((PODS, "MODIFIED", said(201, "A", "phase")), (PODS, "MODIFIED", said(202, "B", "phase")))
        self.step()
        self.patch(POD + "/status", {"status": {"message": "mine"}})
        self.step()
        self.assertEqual(self.get(POD)[1]["status"], {"phase": "A", "reason": "B", "message": "mine"})

    def test_another_way_of_the_same_manager_is_the_tapes(self):
        def said(rv, value):
            return with_meta(pod(rv, {"phase": "A"}), labels={"l": value}, managedFields=[entry("controller", {"f:metadata": {"f:labels": {".": {}, "f:l": {}}}})])
        self.begin((PODS, "MODIFIED", said(201, "1")), (PODS, "MODIFIED", said(202, "2")))
        self.step()
        self.patch(POD + "/status", {"status": {"phase": "B"}})
        self.step()
        found = self.get(POD)[1]
        self.assertEqual((found["metadata"]["labels"], found["status"]["phase"]), ({"l": "2"}, "B"))

    def test_managers_are_those_of_the_tape_with_the_programs(self):
        def said(rv, value):
            return with_meta(obj(CONFIGMAPS, "a", rv, data={"k": value, "m": value}), managedFields=[entry("tape", {"f:data": {"f:k": {}, "f:m": {}}})])
        self.begin((CONFIGMAPS, "MODIFIED", said(201, "1")), (CONFIGMAPS, "MODIFIED", said(202, "2")))
        self.step()
        self.patch(MAP + "?fieldManager=me&force=true", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "mine"}}, APPLY_PATCH)
        self.step()
        found = self.get(MAP)[1]
        self.assertEqual(found["data"], {"k": "mine", "m": "2"})
        self.assertEqual({e["manager"]: e["fieldsV1"] for e in found["metadata"]["managedFields"]},
            {"me": {"f:data": {"f:k": {}}}, "tape": {"f:data": {"f:m": {}}}})


class Ends(Following):

    def test_a_deletion_on_the_tape_deletes_and_what_it_makes_anew_is_shown(self):
        again = obj(CONFIGMAPS, "a", 202, data={"k": "again"}, uid="another")
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 201)), (CONFIGMAPS, "ADDED", again),
            (CONFIGMAPS, "MODIFIED", {**again, "data": {"k": "later"}}))
        self.patch(MAP, {"data": {"k": "program"}})
        with self.watch(MAPS) as watch:
            self.step()
            self.error(self.get(MAP), 404, "NotFound")
            self.step(2)
            seen = watch.take(3)
        self.assertEqual([brief(e)[:2] for e in seen], [("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a")])
        self.assertEqual([e["object"]["data"]["k"] for e in seen], ["program", "again", "later"])

    def test_a_finalizer_of_the_program_holds_what_the_tape_deletes(self):
        again = obj(CONFIGMAPS, "a", 202, data={"k": "again"}, uid="another")
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 201)), (CONFIGMAPS, "ADDED", again))
        self.patch(MAP, {"metadata": {"finalizers": ["x/y"]}})
        self.step()
        self.assertIn("deletionTimestamp", self.get(MAP)[1]["metadata"])
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.error(self.get(MAP), 404, "NotFound")
        self.step()
        self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], "another")

    def test_what_the_tape_makes_meanwhile_is_shown_once_the_name_is_free(self):
        again = obj(CONFIGMAPS, "a", 202, data={"k": "again"}, uid="another")
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 201)), (CONFIGMAPS, "ADDED", again), (CONFIGMAPS, "MODIFIED", {**again, "data": {"k": "later"}}),
            (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 204, data={"k": "last"}, uid="another")))
        self.patch(MAP, {"metadata": {"finalizers": ["x/y"]}})
        self.step(3)
        self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], "uid-a")
        with self.watch(MAPS) as watch:
            self.patch(MAP, {"metadata": {"finalizers": None}})
            seen = watch.take(2)
            self.step()
            seen += watch.take(1)
        self.assertEqual([(brief(e)[:2], e["object"]["data"]["k"]) for e in seen],
            [(("DELETED", "a"), "1"), (("ADDED", "a"), "later"), (("MODIFIED", "a"), "last")])

    def test_what_the_tape_made_and_deleted_meanwhile_is_never_shown(self):
        again = obj(CONFIGMAPS, "a", 202, data={}, uid="another")
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 201)), (CONFIGMAPS, "ADDED", again), (CONFIGMAPS, "DELETED", again))
        self.patch(MAP, {"metadata": {"finalizers": ["x/y"]}})
        self.step(3)
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.error(self.get(MAP), 404, "NotFound")

    def test_so_does_one_that_the_tapes_own_run_of_the_program_had_too(self):
        last = with_meta(obj(CONFIGMAPS, "a", 201), finalizers=["x/y"], deletionTimestamp="2026-01-01T00:00:00Z")
        self.begin((CONFIGMAPS, "DELETED", last))
        self.patch(MAP, {"metadata": {"finalizers": ["x/y"]}})
        self.step()
        self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["x/y"])

    def test_what_the_tape_deletes_and_the_program_lets_go_earlier_may_come_again(self):
        ending = {"finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        self.begin((CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201), **ending)), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 202)),
            (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 203, uid="another")))
        self.patch(MAP, {"metadata": {"labels": {"l": "1"}}})
        self.step()
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.error(self.get(MAP), 404, "NotFound")
        self.step()
        self.error(self.get(MAP), 404, "NotFound")
        self.step()
        self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], "another")

    def test_so_may_what_the_program_had_not_written_before(self):
        ending = {"finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        for first in ({}, {"labels": {"l": "1"}}):
            with self.subTest(first=first):
                self.begin((CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201), **ending)), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 202)),
                    (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 203, uid="another")))
                self.step()
                self.patch(MAP, {"metadata": first})
                self.patch(MAP, {"metadata": {"finalizers": None}})
                self.error(self.get(MAP), 404, "NotFound")
                self.step(2)
                self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], "another")

    def test_the_tapes_finalizer_holds_what_the_program_deletes_until_the_tape_takes_it_away(self):
        self.begin((CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201, data={}), finalizers=["tape/y"])), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 202, data={})))
        self.step()
        self.send("DELETE", MAP)
        self.assertIn("deletionTimestamp", self.get(MAP)[1]["metadata"])
        self.step()
        self.error(self.get(MAP), 404, "NotFound")

    def test_another_object_takes_the_place_of_one_whose_end_the_recording_missed(self):
        self.begin((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 202, data={"k": "again"}, uid="another")))
        self.patch(MAP, {"data": {"k": "program"}})
        with self.watch(MAPS) as watch:
            self.step()
            self.assertEqual([brief(e)[0] for e in watch.take(2)], ["DELETED", "ADDED"])
        self.assertEqual(self.get(MAP)[1]["data"], {"k": "again"})

    def test_what_a_program_deleted_stays_away_until_the_tape_makes_another_one(self):
        self.begin((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 201, data={"k": "2"})), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 202)),
            (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 203, uid="another")), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 204, uid="another", data={"k": "4"})))
        self.send("DELETE", MAP)
        self.step(2)
        self.error(self.get(MAP), 404, "NotFound")
        with self.watch(MAPS) as watch:
            self.step(2)
            self.assertEqual([brief(e)[0] for e in watch.take(2)], ["ADDED", "MODIFIED"])
        self.assertEqual((self.get(MAP)[1]["metadata"]["uid"], self.get(MAP)[1]["data"]), ("another", {"k": "4"}))

    def test_what_a_program_made_anew_keeps_the_name_from_the_tape(self):
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 202)), (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 203, uid="another")))
        self.send("DELETE", MAP)
        uid = self.send("POST", MAPS, config_map("a"))[1]["metadata"]["uid"]
        self.step(2)
        self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], uid)

    def test_a_pod_that_the_tape_ends_waits_for_the_tape_and_not_for_its_grace(self):
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}
        others = [(CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 210 + n, data={})) for n in range(3)]
        self.begin((PODS, "MODIFIED", with_meta(pod(201, {}), **ending)), *others, (PODS, "DELETED", with_meta(pod(220, {}), **ending)))
        self.patch(POD, {"metadata": {"labels": {"l": "1"}}})
        self.step(4)
        self.assertIn("deletionTimestamp", self.get(POD)[1]["metadata"])
        self.step()
        self.error(self.get(POD), 404, "NotFound")

    def test_dependents_of_what_the_tape_deletes_are_collected_if_programs_made_them(self):
        self.begin((CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 201)), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 202)), options=("--gc",))
        uid = self.patch(MAP, {"data": {"k": "program"}})["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid}
        self.assertEqual(self.send("POST", MAPS, config_map("of-a", metadata={"ownerReferences": [owner]}))[0], 201)
        self.step()
        self.step()
        self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["b"])


class HeldFinalizers(Following):
    """--hold-finalizer: the tape was recorded while the program ran, which took its finalizer away."""

    ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}

    def hold(self, *events):
        self.begin((CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201, data={"k": "1"}), finalizers=["x/y", "tape/z"])), *events,
            options=("--hold-finalizer", "x/y"))
        self.step()

    def ending(self, rv, *finalizers):
        return with_meta(obj(CONFIGMAPS, "a", rv, data={"k": "1"}), finalizers=list(finalizers), **self.ENDING)

    def test_what_the_tape_lets_go_waits_for_the_program(self):
        self.hold((CONFIGMAPS, "MODIFIED", self.ending(202, "x/y")), (CONFIGMAPS, "MODIFIED", self.ending(203)), (CONFIGMAPS, "DELETED", self.ending(204)))
        with self.watch(MAPS) as watch:
            self.step(3)
            self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["x/y"])
            self.patch(MAP, {"metadata": {"finalizers": None}})
            self.assertEqual([brief(e) for e in watch.take(2)][0][:2], ("MODIFIED", "a"))
        self.error(self.get(MAP), 404, "NotFound")

    def test_nobody_sees_an_event_that_brings_nothing_but_its_end(self):
        self.hold((CONFIGMAPS, "MODIFIED", self.ending(202, "x/y")), (CONFIGMAPS, "DELETED", self.ending(203)), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 204)))
        with self.watch(MAPS) as watch:
            self.step(3)
            self.assertEqual([brief(e)[:2] for e in watch.take(2)], [("MODIFIED", "a"), ("MODIFIED", "b")])

    def test_until_it_is_to_be_deleted_the_tapes_own_versions_are_shown(self):
        self.hold((CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 230, data={"k": "2"}), finalizers=["x/y"])), (CONFIGMAPS, "MODIFIED", self.ending(240, "x/y")))
        self.step(2)
        meta = self.get(MAP)[1]["metadata"]
        self.assertEqual((meta["resourceVersion"], meta["finalizers"]), ("240", ["x/y"]))

    def test_what_the_tape_deletes_without_asking_first_is_asked(self):
        self.hold((CONFIGMAPS, "DELETED", with_meta(obj(CONFIGMAPS, "a", 203), finalizers=["x/y", "tape/z"])))
        self.step()
        meta = self.get(MAP)[1]["metadata"]
        self.assertIn("deletionTimestamp", meta)
        self.assertEqual(meta["finalizers"], ["x/y"])

    def test_so_is_one_in_whose_place_another_is_found(self):
        self.hold((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 203, data={"k": "again"}, uid="another")))
        self.step()
        meta = self.get(MAP)[1]["metadata"]
        self.assertEqual((meta["uid"], meta["finalizers"], "deletionTimestamp" in meta), ("uid-a", ["x/y"], True))
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.assertEqual(self.get(MAP)[1]["metadata"]["uid"], "another")

    def test_it_holds_what_the_program_has_written_for_another_reason(self):
        self.hold((CONFIGMAPS, "MODIFIED", self.ending(202, "x/y")), (CONFIGMAPS, "DELETED", self.ending(203)))
        self.patch(MAP, {"data": {"k": "program"}})
        self.step(2)
        found = self.get(MAP)[1]
        self.assertEqual((found["metadata"]["finalizers"], found["data"]), (["x/y"], {"k": "program"}))

    def test_what_lives_on_keeps_it_until_the_program_takes_it_away(self):
        self.hold((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 202, data={"k": "2"})), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 203)))
        self.step()
        found = self.get(MAP)[1]
        self.assertEqual((found["metadata"]["finalizers"], found["data"]), (["x/y"], {"k": "2"}))
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.assertNotIn("finalizers", self.get(MAP)[1]["metadata"])
        self.step()
        self.error(self.get(MAP), 404, "NotFound")

    def test_what_lives_on_and_is_deleted_then_waits_as_well(self):
        self.hold((CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 202)), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 203)))
        self.step(2)
        meta = self.get(MAP)[1]["metadata"]
        self.assertEqual((meta["finalizers"], "deletionTimestamp" in meta), (["x/y"], True))

    def test_it_stays_held_when_the_replay_goes_back(self):
        self.hold((CONFIGMAPS, "DELETED", self.ending(202, "x/y")))
        self.step()
        self.server.request("POST", "/kubetape/v1/rewind")
        self.assertIn("deletionTimestamp", self.get(MAP)[1]["metadata"])
        self.patch(MAP, {"metadata": {"finalizers": None}})
        self.error(self.get(MAP), 404, "NotFound")

    def test_where_writes_are_absorbed_nothing_is_held(self):
        made = tape()
        made.event(1, CONFIGMAPS, "MODIFIED", with_meta(obj(CONFIGMAPS, "a", 201), finalizers=["x/y"]))
        made.event(2, CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 202))
        self.start("--hold-finalizer", "x/y", made=made)
        self.server.request("POST", "/kubetape/v1/pause")
        self.server.request("POST", "/kubetape/v1/rewind")
        self.step(2)
        self.error(self.get(MAP), 404, "NotFound")


class ReleasedFinalizers(Following):
    """--release-finalizer: the program adds it, and somebody else takes it away."""

    ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

    def said(self, rv, *finalizers, **meta):
        return with_meta(obj(CONFIGMAPS, "a", rv), finalizers=list(finalizers), **meta)

    def add_and_delete(self, *options):
        self.begin((CONFIGMAPS, "MODIFIED", self.said(202)), (CONFIGMAPS, "MODIFIED", self.said(203, "example.com/mine", "example.com/others")),
            (CONFIGMAPS, "MODIFIED", self.said(204, "example.com/mine", "example.com/others", **self.ENDING)), (CONFIGMAPS, "MODIFIED", self.said(205, "example.com/others", **self.ENDING)),
            (CONFIGMAPS, "DELETED", self.said(206, "example.com/others", **self.ENDING)), options=options)
        self.patch(MAP, {"metadata": {"finalizers": ["example.com/mine"]}})
        self.step(3)
        self.assertEqual(sorted(self.get(MAP)[1]["metadata"]["finalizers"]), ["example.com/mine", "example.com/others"])

    def test_the_tape_takes_it_away_as_the_object_ends_and_not_before(self):
        self.add_and_delete("--release-finalizer", "example.com/mine")
        self.step()
        self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["example.com/others"])
        self.step()
        self.error(self.get(MAP), 404, "NotFound")

    def test_otherwise_it_waits_for_the_program(self):
        self.add_and_delete()
        self.step(2)
        self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["example.com/mine"])

    def test_it_is_also_gone_with_the_object(self):
        self.begin((CONFIGMAPS, "MODIFIED", self.said(202, "example.com/mine")), (CONFIGMAPS, "DELETED", self.said(203, "example.com/mine", **self.ENDING)),
            options=("--release-finalizer", "example.com/mine"))
        self.patch(MAP, {"metadata": {"finalizers": ["example.com/mine"]}})
        self.step(2)
        self.error(self.get(MAP), 404, "NotFound")


class Awaited(Following):
    """--await: the tape was recorded while the program ran, which made the object then."""

    NEW = MAPS + "/new"

    def said(self, rv, value, uid="uid-new", **meta):
        """With the program's field and somebody else's."""
        return with_meta(obj(CONFIGMAPS, "new", rv, data={"k": "tape", "other": value}, uid=uid), **meta)

    def wait_for(self, *events, rule="configmaps/default/new"):
        self.begin(*events, options=("--await", rule))

    def refused(self, words, rule, *options):
        with self.subTest(rule=rule), self.assertRaisesRegex(AssertionError, words):
            self.start("--await", rule, *options)

    def make(self, **more):
        status, made = self.send("POST", MAPS, config_map("new", data={"k": "program"}, **more))
        self.assertEqual(status, 201, made)
        return made

    def test_what_the_tape_makes_is_hidden_until_the_program_makes_it_and_then_where_the_tape_has_it(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "2")), (CONFIGMAPS, "MODIFIED", self.said(203, "3")))
        with self.watch(MAPS) as watch:
            self.step(2)
            self.error(self.get(self.NEW), 404, "NotFound")
            self.assertEqual(self.make()["metadata"]["uid"], "uid-new")
            seen = watch.take(2)
            self.step()
            seen += watch.take(1)
        self.assertEqual([(brief(e)[:2], e["object"]["data"]) for e in seen], [(("ADDED", "new"), {"k": "program"}),
            (("MODIFIED", "new"), {"k": "program", "other": "2"}), (("MODIFIED", "new"), {"k": "program", "other": "3"})])

    def test_what_the_program_makes_first_gets_the_tapes_uid_and_follows(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "2")), (CONFIGMAPS, "DELETED", self.said(203, "2")))
        self.assertEqual(self.make()["metadata"]["uid"], "uid-new")
        self.step(2)
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program", "other": "2"})
        self.step()
        self.error(self.get(self.NEW), 404, "NotFound")

    def test_a_status_that_others_report_comes_to_it(self):
        def said(rv, phase):
            return obj(PODS, "new", rv, spec={"nodeName": "n1", "containers": [{"name": "tape"}]}, status={"phase": phase}, uid="uid-new")
        self.begin((PODS, "ADDED", said(201, "Pending")), (PODS, "MODIFIED", said(202, "Running")), options=("--await", "pods/new"))
        self.assertEqual(self.send("POST", PODS_PATH, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"},
            "spec": {"containers": [{"name": "program"}]}})[0], 201)
        self.step(2)
        found = self.get(PODS_PATH + "/new")[1]
        self.assertEqual((found["status"], [c["name"] for c in found["spec"]["containers"] if c["name"] == "program"]), ({"phase": "Running"}, ["program"]))

    def test_each_of_that_name_waits_for_one_of_the_programs(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "DELETED", self.said(202, "1")), (CONFIGMAPS, "ADDED", self.said(203, "2", uid="second")))
        self.make()
        self.step(3)
        self.error(self.get(self.NEW), 404, "NotFound")
        self.assertEqual(self.make()["metadata"]["uid"], "second")
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program", "other": "2"})

    def test_one_that_is_made_for_another_owner_of_that_name_is_the_programs(self):
        def owned(uid):
            return {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": True}]}
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1", **owned("later"))))
        self.assertNotEqual(self.make(metadata=owned("earlier"))["metadata"]["uid"], "uid-new")
        self.assertEqual(self.send("DELETE", self.NEW)[0], 200)
        self.assertEqual(self.make(metadata=owned("later"))["metadata"]["uid"], "uid-new")

    def test_one_that_is_over_on_the_tape_when_the_program_makes_it_is_the_programs(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "DELETED", self.said(202, "1")))
        self.step(2)
        self.assertNotEqual(self.make()["metadata"]["uid"], "uid-new")
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program"})

    def test_unless_it_is_the_programs_to_delete(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "2")), (CONFIGMAPS, "DELETED", self.said(203, "2")),
            rule="create,delete=configmaps/default/new")
        self.step(3)
        self.assertEqual(self.make()["metadata"]["uid"], "uid-new")
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program", "other": "2"})

    def test_a_deletion_that_is_awaited_as_well_is_the_programs(self):
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "1", **ending)), (CONFIGMAPS, "DELETED", self.said(203, "1")),
            (CONFIGMAPS, "ADDED", self.said(204, "2", uid="second")), rule="create,delete=configmaps/default/new")
        self.make()
        self.step(4)
        meta = self.get(self.NEW)[1]["metadata"]
        self.assertEqual((meta["uid"], "deletionTimestamp" in meta), ("uid-new", False))
        self.send("DELETE", self.NEW)
        self.error(self.get(self.NEW), 404, "NotFound")
        self.assertEqual(self.make()["metadata"]["uid"], "second")

    def test_what_the_program_deletes_and_makes_anew_earlier_than_the_tape_is_the_next_one(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "2")), (CONFIGMAPS, "DELETED", self.said(203, "2")),
            (CONFIGMAPS, "ADDED", self.said(204, "3", uid="second")), rule="create,delete=configmaps/default/new")
        self.make()
        self.step()
        self.send("DELETE", self.NEW)
        self.assertEqual(self.make()["metadata"]["uid"], "second")
        self.step(2)
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program"})
        self.step()
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "program", "other": "3"})

    def test_a_deletion_of_what_is_there_at_the_start_is_the_programs_if_awaited(self):
        old = obj(CONFIGMAPS, "a", 202, data={"k": "2"})
        self.wait_for((CONFIGMAPS, "MODIFIED", old), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 203)),
            (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "a", 204, uid="second")), (CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 205, data={"k": "3"}, uid="second")),
            rule="delete=configmaps/default/a")
        with self.watch(MAPS) as watch:
            self.step(4)
            found = self.get(MAP)[1]
            self.assertEqual((found["data"], found["metadata"]["uid"]), ({"k": "2"}, old["metadata"]["uid"]))
            self.send("DELETE", MAP)
            seen = [(*brief(e)[:2], e["object"]["metadata"]["uid"]) for e in watch.take(3)]
        self.assertEqual(seen, [("MODIFIED", "a", old["metadata"]["uid"]), ("DELETED", "a", old["metadata"]["uid"]), ("ADDED", "a", "second")])
        self.assertEqual(self.get(MAP)[1]["data"], {"k": "3"})

    def test_so_is_that_of_what_others_make_later(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "MODIFIED", self.said(202, "2")), (CONFIGMAPS, "DELETED", self.said(203, "2")),
            rule="delete=configmaps")
        self.step(3)
        self.assertEqual(self.get(self.NEW)[1]["data"], {"k": "tape", "other": "2"})
        self.send("DELETE", self.NEW)
        self.error(self.get(self.NEW), 404, "NotFound")

    def test_once_the_program_has_asked_others_let_it_go_as_on_the_tape(self):
        def held(rv, *finalizers, **meta):
            return with_meta(obj(CONFIGMAPS, "a", rv), finalizers=list(finalizers), **meta)
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        events = ((CONFIGMAPS, "MODIFIED", held(202, "others/a", "others/b")), (CONFIGMAPS, "MODIFIED", held(203, "others/a", "others/b", **ending)),
            (CONFIGMAPS, "MODIFIED", held(204, "others/b", **ending)), (CONFIGMAPS, "DELETED", held(205, "others/b", **ending)))
        for when in 1, 3, 4:
            with self.subTest(deleted_after=when):
                self.wait_for(*events, rule="delete=configmaps/default/a")
                self.step(when)
                self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["others/a", "others/b"])
                self.send("DELETE", MAP)
                if when < 4:
                    self.step(3 - when)
                    self.assertEqual(self.get(MAP)[1]["metadata"]["finalizers"], ["others/b"])
                    self.step()
                self.error(self.get(MAP), 404, "NotFound")

    def test_others_are_the_tapes(self):
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (CONFIGMAPS, "ADDED", obj(CONFIGMAPS, "also", 202, data={})), (CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "a", 203)))
        self.step(3)
        self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["also", "b"])

    def test_a_file_names_many_and_a_rule_all_of_a_resource(self):
        rules = os.path.join(self.folder, "rules")
        with open(rules, "w", encoding="utf-8") as f:
            f.write("configmaps/default/new\npods\n")
        self.wait_for((CONFIGMAPS, "ADDED", self.said(201, "1")), (PODS, "ADDED", obj(PODS, "new", 202, uid="uid-new")), rule="@" + rules)
        self.step(2)
        self.error(self.get(self.NEW), 404, "NotFound")
        self.error(self.get(PODS_PATH + "/new"), 404, "NotFound")

    def test_a_rule_that_says_nothing_or_cannot_work_is_refused(self):
        self.refused("needs '--write configmaps=overlay'", "configmaps")
        self.refused("needs '--write pods=overlay'", "update=pods/status:kubelet", "--write", "pods:create=overlay")
        self.refused("needs '--write overlay'", "finalizer=x/y")
        for words, rule in (*(("bad rule '%s'" % rule, rule) for rule in ("fly=pods", "patch=pods", "/web", "pods/", "update=pods/status", "update=pods/binding:", "finalizer=")), ("'nowhere'", "@nowhere")):
            self.refused(words, rule, "--write", "overlay")

    def test_what_the_program_wrote_to_an_object_of_others_waits_for_it_too(self):
        def said(rv, phase, reason):
            return with_meta(pod(rv, {"phase": phase, "reason": reason}), finalizers=["x/y"], managedFields=[entry("controller", {"f:status": {"f:phase": {}}}, "status"),
                entry("controller", {"f:metadata": {"f:finalizers": {".": {}, 'v:"x/y"': {}}}}), entry("kubelet", {"f:status": {"f:reason": {}}}, "status")])
        self.begin((PODS, "MODIFIED", said(201, "A", "1")), (PODS, "MODIFIED", said(202, "B", "2")), (PODS, "DELETED", said(203, "B", "2")),
            options=("--await", "update=pods/status:controller", "--await", "update=pods:controller"))
        with self.watch(PODS_PATH) as watch:
            self.step()
            seen = watch.take(1)[0]["object"]
        self.assertEqual((seen["status"], "finalizers" in seen["metadata"]), ({"phase": "Running", "reason": "1"}, False))
        self.patch(POD + "/status", {"status": {"phase": "mine"}})
        self.patch(POD, {"metadata": {"finalizers": ["x/y"]}})
        self.step(2)
        found = self.get(POD)[1]
        self.assertEqual((found["status"], found["metadata"]["finalizers"]), ({"phase": "mine", "reason": "2"}, ["x/y"]))

    def test_so_does_a_finalizer_that_it_adds(self):
        def said(rv, **meta):
            return with_meta(pod(rv, {"phase": "A"}), finalizers=["x/y", "others/z"], **meta)
        self.begin((PODS, "MODIFIED", said(201)), (PODS, "MODIFIED", said(202, labels={"l": "1"})), (PODS, "MODIFIED", said(203, deletionTimestamp="2027-01-15T08:00:00Z")),
            (PODS, "DELETED", said(204)), options=("--await", "finalizer=x/y"))
        self.step()
        self.assertEqual(self.get(POD)[1]["metadata"]["finalizers"], ["others/z"])
        self.patch(POD, {"metadata": {"finalizers": ["others/z", "x/y"]}})
        self.step()
        self.assertEqual(self.get(POD)[1]["metadata"]["finalizers"], ["others/z", "x/y"])
        self.step(2)
        self.assertEqual(self.get(POD)[1]["metadata"]["finalizers"], ["x/y"])

    def test_what_is_deleted_on_the_tape_with_such_a_finalizer_alone_is_gone_without_it(self):
        def said(rv, **meta):
            return with_meta(pod(rv, {"phase": "A"}), finalizers=["x/y"], **meta)
        self.begin((PODS, "MODIFIED", said(201)), (PODS, "MODIFIED", said(202, deletionTimestamp="2027-01-15T08:00:00Z")), options=("--await", "finalizer=x/y"))
        self.step(2)
        self.error(self.get(POD), 404, "NotFound")

    def test_also_if_it_has_written_to_it_in_another_way_by_then(self):
        said = with_meta(pod(201, {"phase": "A"}), managedFields=[entry("controller", {"f:status": {"f:phase": {}}}, "status")])
        self.begin((PODS, "MODIFIED", said), options=("--await", "update=pods/status:controller"))
        self.patch(POD, {"metadata": {"labels": {"l": "1"}}})
        self.step()
        self.assertEqual(self.get(POD)[1]["status"], {"phase": "Running"})

    def test_another_managers_events_are_the_tapes_own_versions(self):
        said = with_meta(pod(230, {"phase": "A"}), managedFields=[entry("controller", {"f:status": {"f:phase": {}}}, "status")])
        self.begin((PODS, "MODIFIED", said), options=("--await", "update=pods:controller", "--await", "update=pods/status:kubelet"))
        self.step()
        self.assertEqual(self.get(POD)[1]["metadata"]["resourceVersion"], "230")

    def begin_unbound(self, *events):
        """A pod without a node, and then these: (type, node, phase) and perhaps a UID."""
        def said(rv, node, phase, uid="uid-new"):
            return obj(PODS, "new", rv, spec={"containers": [{"name": "tape"}], **({"nodeName": node} if node else {})}, status={"phase": phase},
                uid=uid)
        self.begin((PODS, "ADDED", said(201, None, "Pending")), *((PODS, kind, said(202 + n, *of)) for n, (kind, *of) in enumerate(events)),
            options=("--await", "update=pods/binding:default-scheduler"))
        self.step()

    def bind(self, node):
        return self.send("POST", PODS_PATH + "/new/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "new"}, "target": {"name": node}})[0]

    def new_pod(self):
        found = self.get(PODS_PATH + "/new")[1]
        return found["spec"].get("nodeName"), found["status"]["phase"]

    def test_a_pod_waits_for_its_binding_and_is_then_where_the_tape_has_it_on_the_node_of_the_programs_choice(self):
        self.begin_unbound(("MODIFIED", "n1", "Pending"), ("MODIFIED", "n1", "Running"), ("MODIFIED", "n1", "Succeeded"))
        with self.watch(PODS_PATH) as watch:
            self.step(2)
            self.assertEqual(self.new_pod(), (None, "Pending"))
            self.assertEqual(self.bind("n2"), 201)
            self.step()
            seen = [(e["object"]["spec"]["nodeName"], e["object"]["status"]["phase"]) for e in watch.take(3)]
        self.assertEqual(seen, [("n2", "Pending"), ("n2", "Running"), ("n2", "Succeeded")])
        self.assertEqual(self.bind("n1"), 409)

    def test_a_binding_names_its_pod_where_the_path_does_not(self):
        self.begin_unbound()
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "new"}, "target": {"kind": "Node", "name": "n2"}}
        path = PODS_PATH.removesuffix("pods") + "bindings"
        self.assertEqual([self.send("POST", path, body)[0] for _ in range(2)], [201, 409])
        self.assertEqual(self.new_pod(), ("n2", "Pending"))
        self.error(self.send("POST", path, {**body, "metadata": {"name": "nobody"}}), 404, "NotFound")

    def test_a_pod_that_is_bound_before_the_tape_binds_it_follows(self):
        self.begin_unbound(("MODIFIED", "n1", "Pending"), ("MODIFIED", "n1", "Running"))
        self.assertEqual(self.bind("n2"), 201)
        self.step(2)
        self.assertEqual(self.new_pod(), ("n2", "Running"))

    def test_a_pod_that_nobody_binds_is_gone_when_the_tape_deletes_it_and_its_successor_is_shown(self):
        self.begin_unbound(("MODIFIED", "n1", "Running"), ("DELETED", "n1", "Running"), ("ADDED", None, "Pending", "second"))
        self.step(2)
        self.error(self.get(PODS_PATH + "/new"), 404, "NotFound")
        self.step()
        self.assertEqual(self.new_pod(), (None, "Pending"))

    def test_a_pod_of_another_scheduler_waits_for_nobody(self):
        def said(rv, **spec):
            return obj(PODS, "new", rv, spec={"containers": [], "schedulerName": "other", **spec}, status={"phase": "Pending"}, uid="uid-new")
        self.begin((PODS, "ADDED", said(201)), (PODS, "MODIFIED", said(202, nodeName="n1")), options=("--await", "update=pods/binding:default-scheduler"))
        self.step(2)
        self.assertEqual(self.new_pod(), ("n1", "Pending"))

    def test_a_pod_that_the_tape_makes_on_a_node_waits_for_nobody(self):
        self.begin((PODS, "ADDED", with_meta(pod(201, {"phase": "Pending"}), name="new")), (PODS, "MODIFIED", with_meta(pod(202, {"phase": "Running"}), name="new")),
            options=("--await", "update=pods/binding:default-scheduler"))
        self.step(2)
        self.assertEqual(self.new_pod(), ("n1", "Running"))

    def test_what_was_there_before_is_shown_with_an_owner_that_is_to_come(self):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "new", "uid": "uid-new"}
        self.begin((CONFIGMAPS, "ADDED", self.said(201, "1")), (PODS, "MODIFIED", with_meta(pod(202, {}), ownerReferences=[owner])),
            options=("--await", "configmaps", "--gc"))
        self.step(2)
        self.patch(POD, {"metadata": {"labels": {"l": "1"}}})
        self.assertEqual(self.get(POD)[1]["metadata"]["ownerReferences"], [owner])


if __name__ == "__main__":
    unittest.main()
