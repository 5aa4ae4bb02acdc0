"""Patches of every kind, and server-side apply, written to a replay."""

import json
import unittest

from replays import WIDGETS, obj
from writing import APPLY_PATCH, CRDS, JSON_PATCH, MAPS, MERGE_PATCH, STRATEGIC_PATCH, Writes, config_map, tape


class Patching(Writes):

    def test_a_merge_patch_sets_and_removes(self):
        self.start("--write", "overlay")
        patch = {"data": {"k": None, "n": "1"}, "metadata": {"labels": {"l": "v"}}}
        status, made = self.send("PATCH", MAPS + "/a", patch, MERGE_PATCH)
        self.assertEqual((status, made["data"], made["metadata"]["labels"]), (200, {"n": "1"}, {"l": "v"}))

    def test_a_json_patch_does_all_its_operations(self):
        self.start("--write", "overlay")
        patch = [{"op": "test", "path": "/data/k", "value": "1"}, {"op": "add", "path": "/data/a~1b", "value": "2"},
            {"op": "copy", "from": "/data/k", "path": "/data/c"}, {"op": "move", "from": "/data/k", "path": "/data/m"},
            {"op": "replace", "path": "/data/c", "value": "3"}, {"op": "add", "path": "/metadata/finalizers", "value": ["x/y"]},
            {"op": "add", "path": "/metadata/finalizers/0", "value": "a/b"},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "c/d"}, {"op": "remove", "path": "/metadata/finalizers/1"}]
        status, made = self.send("PATCH", MAPS + "/a", patch, JSON_PATCH)
        self.assertEqual(status, 200, made)
        self.assertEqual((made["data"], made["metadata"]["finalizers"]), ({"a/b": "2", "c": "3", "m": "1"}, ["a/b", "c/d"]))

    def test_patches_that_do_not_fit_are_refused_with_the_right_code(self):
        self.start()
        for patch, code, reason in (
                ([{"op": "test", "path": "/data/k", "value": "2"}], 422, "Invalid"),
                ([{"op": "remove", "path": "/data/none"}], 422, "Invalid"), ([{"op": "fly", "path": "/a", "value": 1}], 422, "Invalid"),
                ([{"op": "add"}], 422, "Invalid"), ({}, 400, "BadRequest"), ([1], 400, "BadRequest"), (b"nonsense", 400, "BadRequest"),
                ([{"op": "replace", "path": "", "value": 1}], 422, "Invalid"),
                ([{"op": "replace", "path": "/metadata/resourceVersion", "value": "9"}], 409, "Conflict"),
                ([{"op": "replace", "path": "/metadata/name", "value": "z"}], 400, "BadRequest"),
                ([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10001, 413, "RequestEntityTooLarge")):
            with self.subTest(patch=str(patch)[:80]):
                self.error(self.send("PATCH", MAPS + "/a", patch, JSON_PATCH), code, reason)
        self.error(self.send("PATCH", MAPS + "/a", [], "application/json"), 415, "UnsupportedMediaType")
        self.error(self.send("PATCH", MAPS + "/none", [], JSON_PATCH), 404, "NotFound")

    def test_a_finalizer_is_added_by_a_patch_that_tests_that_there_are_none(self):
        # As kube-rs does it: the RFC knows no test of a member that is not there, the API server takes it for null.
        self.start("--write", "overlay")
        first = [{"op": "test", "path": "/metadata/finalizers", "value": None},
            {"op": "add", "path": "/metadata/finalizers", "value": ["x/y"]}]
        status, made = self.send("PATCH", MAPS + "/a", first, JSON_PATCH)
        self.assertEqual((status, made["metadata"].get("finalizers")), (200, ["x/y"]), made)
        self.error(self.send("PATCH", MAPS + "/a", first, JSON_PATCH), 422, "Invalid")
        last = [{"op": "test", "path": "/metadata/finalizers/-1", "value": "x/y"}, {"op": "remove", "path": "/metadata/finalizers/0"},
            {"op": "replace", "path": "/data/new", "value": "1"}]
        status, made = self.send("PATCH", MAPS + "/a", last, JSON_PATCH)
        self.assertEqual((status, made["metadata"].get("finalizers", []), made["data"]["new"]), (200, [], "1"), made)

    def test_a_strategic_patch_merges_lists_by_their_keys(self):
        self.start("--write", "overlay")
        path = "/apis/apps/v1/namespaces/default/deployments/shop"
        template = {"metadata": {"labels": {"app": "shop"}}, "spec": {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [
            {"name": "web", "image": "web:1", "args": ["-v"], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "log", "image": "log:1"}]}}
        self.send("PATCH", path, {"spec": {"template": template}}, MERGE_PATCH)
        patch = {"metadata": {"finalizers": ["x/y"]}, "spec": {"template": {
            "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}},
            "spec": {"$setElementOrder/containers": [{"name": "new"}, {"name": "web"}], "containers": [
                {"name": "new", "image": "new:1"}, {"name": "log", "$patch": "delete"},
                {"name": "web", "image": "web:2", "env": [{"name": "B", "$patch": "delete"}, {"name": "C", "value": "3"}]}],
                "volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}}}}
        status, made = self.send("PATCH", path, patch, STRATEGIC_PATCH)
        self.assertEqual(status, 200, made)
        pod = made["spec"]["template"]
        self.assertEqual(pod["metadata"], {"labels": {"app": "shop"}, "annotations": {"kubectl.kubernetes.io/restartedAt": "now"}})
        self.assertEqual(pod["spec"], {"volumes": [{"name": "v", "configMap": {"name": "c"}}], "containers": [
            {"name": "new", "image": "new:1"}, {"name": "web", "image": "web:2", "args": ["-v"],
            "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "1"}]}]})
        self.send("PATCH", path, {"metadata": {"$setElementOrder/finalizers": ["a/b", "x/y"], "finalizers": ["a/b"]}}, STRATEGIC_PATCH)
        made = self.send("PATCH", path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x/y"]}}, STRATEGIC_PATCH)[1]
        self.assertEqual(made["metadata"]["finalizers"], ["a/b"])

    def test_a_strategic_patch_that_makes_no_sense_is_refused_and_custom_resources_take_none(self):
        self.start(made=tape().listed(WIDGETS, 100, [obj(WIDGETS, "w", 60)]))
        path = "/apis/apps/v1/namespaces/default/deployments/shop"
        for patch, code, reason in (({"spec": {"$patch": "fly"}}, 500, None),
                ({"spec": {"$retainKeys": 1}}, 400, "BadRequest"),
                ({"metadata": {"ownerReferences": [{"name": "x"}], "$setElementOrder/ownerReferences": []}}, 500, None),
                ({"metadata": {"finalizers": ["x"] * 5001, "$setElementOrder/finalizers": []}}, 413, "RequestEntityTooLarge")):
            with self.subTest(patch=str(patch)[:80]):
                self.error(self.send("PATCH", path, patch, STRATEGIC_PATCH), code, reason)
        widget = "/apis/example.com/v1/namespaces/default/widgets/w"
        self.error(self.send("PATCH", widget, {}, STRATEGIC_PATCH), 415, "UnsupportedMediaType")

    def test_the_keys_come_from_the_recorded_openapi_document_where_there_is_one(self):
        thing = {"type": "object", "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
            "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}}}
        spec = {"type": "object", "properties": {"things": {"type": "array", "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "id", "items": {"type": "object"}}}}
        document = json.dumps({"components": {"schemas": {"Thing": thing, "Spec": spec}}})
        made = tape()
        made.document("/openapi/v3/apis/apps/v1", document)
        self.start("--write", "overlay", made=made)
        path = "/apis/apps/v1/namespaces/default/deployments/shop"
        for things in ([{"id": "a", "x": 1}], [{"id": "b"}], [{"id": "a", "y": 2}]):
            status, answer = self.send("PATCH", path, {"spec": {"things": things}}, STRATEGIC_PATCH)
            self.assertEqual(status, 200, answer)
        self.assertEqual(answer["spec"]["things"], [{"id": "b"}, {"id": "a", "x": 1, "y": 2}])

    def test_numbers_of_any_size_survive_a_patch(self):
        made = tape().listed(WIDGETS, 100, [obj(WIDGETS, "w", 60, spec={"big": 9007199254740993, "e": 1.5e300})])
        self.start("--write", "overlay", made=made)
        path = "/apis/example.com/v1/namespaces/default/widgets/w"
        self.assertEqual(self.send("PATCH", path, {"spec": {"n": 18446744073709551615}}, MERGE_PATCH)[1]["spec"],
            {"big": 9007199254740993, "e": 1.5e300, "n": 18446744073709551615})


class Applying(Writes):
    SHOP = "/apis/apps/v1/namespaces/default/deployments/shop"

    def shop(self, replicas=3, image="web:1", **metadata):
        return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "shop", **metadata}, "spec": {"replicas": replicas,
            "template": {"spec": {"containers": [{"name": "web", "image": image}]}}}}

    def apply(self, target, body, manager="me", force=False):
        query = "?fieldManager=%s%s" % (manager, "&force=true" if force else "")
        return self.send("PATCH", target + query, body, APPLY_PATCH)

    def fields(self, thing, manager):
        return [e["fieldsV1"] for e in thing["metadata"]["managedFields"] if e["manager"] == manager]

    def test_what_is_applied_is_created_kept_and_pruned(self):
        self.start("--write", "overlay")
        path = MAPS + "/new"
        status, made = self.apply(path, b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: new}\ndata: {a: '1', b: '2'}\n")
        self.assertEqual((status, made["data"]), (201, {"a": "1", "b": "2"}), made)
        self.assertEqual(self.fields(made, "me"), [{"f:data": {"f:a": {}, "f:b": {}}}])
        entry = made["metadata"]["managedFields"][0]
        self.assertEqual((entry["operation"], entry["apiVersion"], entry["fieldsType"]), ("Apply", "v1", "FieldsV1"))
        self.assertEqual(self.apply(path, config_map("new", data={"b": "2", "c": "3"}), "other")[1]["data"],
            {"a": "1", "b": "2", "c": "3"})
        status, made = self.apply(path, config_map("new", data={"d": "4"}))
        self.assertEqual((status, made["data"]), (200, {"b": "2", "c": "3", "d": "4"}))
        self.assertEqual(self.apply(path, config_map("new", data={"d": "4"})), (200, made))
        self.assertEqual(self.get(path), (200, made))

    def test_an_apply_that_names_a_version_creates_what_is_not_there_and_changes_nothing_else(self):
        self.start("--write", "overlay")
        wanted = config_map("new", data={"a": "1"})
        wanted["metadata"]["resourceVersion"] = "1"
        status, made = self.apply(MAPS + "/new", wanted)
        self.assertEqual((status, made["metadata"]["resourceVersion"] != "1"), (201, True), made)
        self.error(self.apply(MAPS + "/new", wanted), 409, "Conflict")

    def test_who_changes_what_others_hold_is_told_and_may_force_it(self):
        self.start("--write", "overlay")
        self.assertEqual(self.apply(self.SHOP, self.shop(), "first", True)[0], 200)
        body = self.error(self.apply(self.SHOP, self.shop(4, "web:2"), "second"), 409, "Conflict")
        image = '.spec.template.spec.containers[name="web"].image'
        self.assertEqual(body["message"], 'Apply failed with 2 conflicts: conflicts with "first":\n- .spec.replicas\n- ' + image)
        self.assertEqual(body["details"]["causes"], [{"reason": "FieldManagerConflict", "message": 'conflict with "first"',
            "field": field} for field in (".spec.replicas", image)])
        made = self.apply(self.SHOP, self.shop(4, "web:2"), "second", True)[1]
        self.assertEqual(made["spec"]["replicas"], 4)
        self.assertEqual(self.fields(made, "first"), [{"f:spec": {"f:template": {"f:spec": {"f:containers": {
            'k:{"name":"web"}': {".": {}, "f:name": {}}}}}}}])

    def test_other_writes_take_fields_too_and_a_scale_tells_its_subresource(self):
        self.start("--write", "overlay")
        self.apply(self.SHOP, self.shop(), "first", True)
        self.send("PATCH", self.SHOP + "/scale?fieldManager=hpa", {"spec": {"replicas": 7}}, MERGE_PATCH)
        body = self.error(self.apply(self.SHOP, self.shop(3), "first"), 409, "Conflict")
        self.assertEqual(body["message"], 'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" '
            "using apps/v1: .spec.replicas")
        made = self.send("PATCH", self.SHOP, {"spec": {"paused": True}}, MERGE_PATCH)[1]
        self.assertEqual(self.fields(made, "controller"), [{"f:spec": {"f:paused": {}}}])
        made = self.send("PUT", self.SHOP + "/status", {**made, "status": {"replicas": 9}})[1]
        self.assertIn({"f:status": {"f:replicas": {}}}, self.fields(made, "controller"))

    def test_lists_of_custom_resources_are_merged_as_their_crd_says(self):
        items = {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"things": items,
            "words": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "integer"}}}}}}
        crd = obj(CRDS, "widgets.example.com", 70, spec={"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets",
            "kind": "Widget"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]})
        self.start("--write", "overlay", made=tape().listed(CRDS, 100, [crd]).listed(WIDGETS, 100, []))
        path = "/apis/example.com/v1/namespaces/default/widgets/w"
        widget = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "w"}}
        status, made = self.apply(path, {**widget, "spec": {"things": [{"id": 1, "x": 1}], "words": ["a"], "plain": [1]}})
        self.assertEqual(status, 201, made)
        made = self.apply(path, {**widget, "spec": {"things": [{"id": 2}, {"id": 1, "y": 2}], "words": ["b"]}}, "other")[1]
        self.assertEqual(made["spec"], {"things": [{"id": 2}, {"id": 1, "x": 1, "y": 2}], "words": ["a", "b"], "plain": [1]})
        made = self.apply(path, {**widget, "spec": {}})[1]
        self.assertEqual(made["spec"], {"things": [{"id": 2}, {"id": 1, "y": 2}], "words": ["b"]})

    def test_an_apply_that_makes_no_sense_is_refused_with_the_right_code(self):
        self.start()
        for target, body, code, reason in (
                (self.SHOP, self.shop(), 422, "Invalid"), (self.SHOP + "?fieldManager=" + "x" * 129, self.shop(), 422, "Invalid"),
                (self.SHOP + "?fieldManager=m", {"metadata": {"name": "shop"}}, 400, "BadRequest"),
                (self.SHOP + "?fieldManager=m", {**self.shop(), "apiVersion": "apps/v2"}, 400, "BadRequest"),
                (self.SHOP + "?fieldManager=m", {**self.shop(), "metadata": {"name": "z"}}, 400, "BadRequest"),
                (self.SHOP + "?fieldManager=m", {**self.shop(), "metadata": {"name": "shop", "managedFields": []}}, 400, "BadRequest"),
                (self.SHOP + "?fieldManager=m", b"{", 400, "BadRequest"),
                (self.SHOP + "?fieldManager=m", self.shop(resourceVersion="7"), 409, "Conflict"),
                (MAPS + "/none?fieldManager=m", config_map("none", metadata={"uid": "u"}), 409, "Conflict"),
                (self.SHOP + "/scale?fieldManager=m", {}, 415, "UnsupportedMediaType")):
            with self.subTest(target=target, body=str(body)[:60]):
                self.error(self.send("PATCH", target, body, APPLY_PATCH), code, reason)
        twice = self.shop()
        twice["spec"]["template"]["spec"]["containers"] *= 2
        self.assertIn("duplicate entries", self.error(self.apply(self.SHOP, twice), 500, None)["message"])
        self.error(self.send("PATCH", self.SHOP + "?force=true", {}, MERGE_PATCH), 422, "Invalid")


if __name__ == "__main__":
    unittest.main()
