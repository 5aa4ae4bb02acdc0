"""Custom resources that programs define while a replay runs: served, found in discovery, and gone with their CRD."""

import json
import unittest

from replays import TABLE, WIDGETS, obj
from writing import CRDS, MERGE_PATCH, Writes, tape

CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/zoo.example.com"
PATH = GROUP + "/v1/namespaces/default/lions"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def lions(**version):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer", "default": 1},
        "name": {"type": "string"}}}, "status": {"type": "object", "properties": {"fed": {"type": "boolean"}, "replicas": {"type": "integer"}}}}}
    subresources = {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
    return {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "lions.zoo.example.com"},
        "spec": {"group": "zoo.example.com", "scope": "Namespaced", "names": {"plural": "lions", "kind": "Lion", "shortNames": ["li"], "categories": ["cats"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "subresources": subresources,
                "additionalPrinterColumns": [{"name": "Fed", "type": "boolean", "jsonPath": ".status.fed"}], **version}]}}


def lion(name, **members):
    return {"kind": "Lion", "apiVersion": "zoo.example.com/v1", "metadata": {"name": name}, **members}


class Defined(Writes):

    def define(self, *options, made=None):
        server = self.start("--write", "overlay", *options, made=made)
        status, crd = self.send("POST", CRDS_PATH, lions())
        self.assertEqual(status, 201, crd)
        return server

    def make(self, name, **members):
        status, made = self.send("POST", PATH, lion(name, **members))
        self.assertEqual(status, 201, made)
        return made

    def test_one_recorded_in_the_form_of_v1beta1_says_for_all_versions_what_they_have(self):
        crd = lions()
        version = crd["spec"]["versions"][0]
        crd["spec"] |= {"subresources": version.pop("subresources"), "validation": version.pop("schema")}
        crd["apiVersion"] = "apiextensions.k8s.io/v1beta1"
        crd["metadata"]["resourceVersion"] = "7"
        stream = {"group": "zoo.example.com", "version": "v1", "resource": "lions", "kind": "Lion", "namespaced": True}
        self.start("--write", "overlay", made=tape().listed({**CRDS, "version": "v1beta1"}, 100, [crd]).listed(stream, 100, []))
        self.make("leo", spec={"name": "Leo"})
        status, fed = self.send("PATCH", PATH + "/leo/status", {"status": {"fed": True}}, MERGE_PATCH)
        self.assertEqual((status, fed["spec"]["replicas"], fed["status"]), (200, 1, {"fed": True}))

    def test_one_that_was_deleted_and_made_anew_may_have_another_scope(self):
        namespaced = {"group": "zoo.example.com", "version": "v1", "resource": "lions", "kind": "Lion", "namespaced": True}
        crd = {**lions(), "metadata": {"name": "lions.zoo.example.com", "resourceVersion": "7", "uid": "of-namespaces"}}
        anew = json.loads(json.dumps(crd))
        anew["spec"]["scope"], anew["metadata"] = "Cluster", {**anew["metadata"], "resourceVersion": "102", "uid": "of-the-cluster"}
        leo = {"kind": "Lion", "apiVersion": "zoo.example.com/v1", "metadata": {"name": "leo", "uid": "leo", "resourceVersion": "103"}}
        made = tape().listed(CRDS, 100, [crd]).listed(namespaced, 100, [])
        made.event(1, CRDS, "DELETED", {**crd, "metadata": {**crd["metadata"], "resourceVersion": "101"}})
        made.event(2, CRDS, "ADDED", anew)
        made.event(3, namespaced, "ADDED", leo)
        self.start("--write", "overlay", "--from", "end", made=made)
        self.assertEqual(self.get(GROUP + "/v1/lions/leo")[0], 200)
        self.assertEqual(self.send("POST", GROUP + "/v1/lions", lion("nala"))[0], 201)
        self.assertEqual(self.get(GROUP + "/v1/lions/nala")[0], 200)
        self.assertEqual(self.server.request("GET", PATH + "/leo")[0], 404)

    def test_a_crd_is_established_at_once_and_watches_see_that(self):
        server = self.start("--write", "overlay", made=tape().listed(CRDS, 100, []))
        with server.watch(CRDS_PATH + "?watch=true&resourceVersion=" + self.rv(CRDS_PATH)) as watch:
            status = self.send("POST", CRDS_PATH, lions())[1]["status"]
            self.assertEqual((status["acceptedNames"], status["storedVersions"]), ({"plural": "", "kind": ""}, ["v1"]))
            made, established = watch.take(2)
        self.assertEqual((made["type"], established["type"]), ("ADDED", "MODIFIED"))
        conditions = {c["type"]: c["status"] for c in established["object"]["status"]["conditions"]}
        self.assertEqual(conditions, {"NamesAccepted": "True", "Established": "True"})
        names = self.get(CRDS_PATH + "/lions.zoo.example.com")[1]["status"]["acceptedNames"]
        self.assertEqual((names["singular"], names["listKind"]), ("lion", "LionList"))

    def test_what_it_defines_is_listed_watched_and_written(self):
        self.start("--write", "overlay")
        self.assertEqual(self.server.request("GET", PATH)[0], 404)
        server = self.define()
        self.assertEqual(self.get(PATH)[1]["items"], [])
        with server.watch(PATH + "?watch=true&resourceVersion=" + self.rv(PATH)) as watch:
            made = self.make("leo", spec={"name": "Leo", "wings": 2})
            self.assertEqual(watch.next()["object"]["metadata"]["name"], "leo")
        self.assertEqual((made["spec"], made["metadata"]["generation"]), ({"name": "Leo", "replicas": 1}, 1))
        self.assertEqual([o["metadata"]["name"] for o in self.get(GROUP + "/v1/lions")[1]["items"]], ["leo"])
        body = self.error(self.send("POST", PATH, lion("bad", spec={"replicas": "many"})), 422, "Invalid")
        self.assertIn("spec.replicas", body["message"])
        table = self.send("GET", PATH, Accept=TABLE)[1]
        self.assertEqual([c["name"] for c in table["columnDefinitions"]], ["Name", "Fed"])

    def test_its_subresources_are_served_and_the_generation_counts_the_spec(self):
        self.define()
        self.make("leo", spec={"name": "Leo"}, status={"fed": True})
        self.assertNotIn("status", self.get(PATH + "/leo")[1])
        told = self.send("PATCH", PATH + "/leo/status", {"status": {"fed": True}, "spec": {"name": "other"}}, MERGE_PATCH)[1]
        self.assertEqual((told["status"], told["spec"]["name"], told["metadata"]["generation"]), ({"fed": True}, "Leo", 1))
        scale = self.send("PATCH", PATH + "/leo/scale", {"spec": {"replicas": 3}}, MERGE_PATCH)[1]
        self.assertEqual((scale["kind"], scale["spec"]["replicas"]), ("Scale", 3))
        leo = self.get(PATH + "/leo")[1]
        self.assertEqual((leo["spec"]["replicas"], leo["metadata"]["generation"], leo["status"]), (3, 2, {"fed": True}))
        self.assertEqual(self.get(PATH + "/leo/status")[0], 200)
        self.assertEqual(self.get(PATH + "/leo/scale")[1]["spec"]["replicas"], 3)

    def test_discovery_names_it_in_both_forms(self):
        self.define()
        self.assertIn("zoo.example.com", [g["name"] for g in self.get("/apis")[1]["groups"]])
        self.assertEqual(self.get(GROUP)[1]["preferredVersion"]["groupVersion"], "zoo.example.com/v1")
        resources = {r["name"]: r for r in self.get(GROUP + "/v1")[1]["resources"]}
        self.assertEqual(sorted(resources), ["lions", "lions/scale", "lions/status"])
        self.assertEqual((resources["lions"]["shortNames"], resources["lions"]["singularName"]), (["li"], "lion"))
        self.assertIn("create", resources["lions"]["verbs"])
        groups = {g["metadata"].get("name"): g for g in self.send("GET", "/apis", Accept=AGGREGATED)[1]["items"]}
        found = groups["zoo.example.com"]["versions"][0]["resources"][0]
        self.assertEqual((found["resource"], found["scope"], [s["subresource"] for s in found["subresources"]]), ("lions", "Namespaced", ["status", "scale"]))
        self.assertIn("apps", groups)

    def test_recorded_discovery_keeps_what_it_has(self):
        recorded = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
            "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]}
        group = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "zoo.example.com/v1", "resources": [{"name": "bears", "singularName": "bear",
            "namespaced": True, "kind": "Bear", "verbs": ["get"]}]}
        made = tape()
        made.document("/apis", json.dumps(recorded))
        made.document("/apis/zoo.example.com/v1", json.dumps(group))
        self.define(made=made)
        self.assertEqual([g["name"] for g in self.get("/apis")[1]["groups"]], ["apps", "zoo.example.com"])
        self.assertEqual([r["name"] for r in self.get(GROUP + "/v1")[1]["resources"]], ["bears", "lions", "lions/status", "lions/scale"])
        self.make("leo")
        self.assertEqual(self.get(PATH + "/leo/status")[0], 200)

    def test_an_absorbed_crd_is_served_too(self):
        self.start(made=tape().listed(CRDS, 100, []))
        self.assertEqual(self.send("POST", CRDS_PATH, lions())[0], 201)
        self.assertEqual(self.get(CRDS_PATH)[1]["items"], [])
        self.assertIn("Established", [c["type"] for c in self.get(CRDS_PATH + "/lions.zoo.example.com")[1]["status"]["conditions"]])
        self.make("leo")
        self.assertEqual([o["metadata"]["name"] for o in self.get(PATH)[1]["items"]], ["leo"])

    def test_custom_resources_go_with_their_crd_and_come_back_empty(self):
        server = self.define()
        self.make("leo")
        self.make("old", metadata={"name": "old", "finalizers": ["x/y"]})
        with server.watch(PATH + "?watch=true&resourceVersion=" + self.rv(PATH)) as watch:
            crd = self.send("DELETE", CRDS_PATH + "/lions.zoo.example.com")[1]
            self.assertEqual(crd["metadata"]["finalizers"], ["customresourcecleanup.apiextensions.k8s.io"])
            self.assertEqual([(e["type"], e["object"]["metadata"]["name"]) for e in watch.take(2)], [("DELETED", "leo"), ("MODIFIED", "old")])
            body = self.error(self.send("POST", PATH, lion("late")), 403, "Forbidden")
            self.assertEqual(body["message"], 'lions.zoo.example.com "late" is forbidden: create not allowed while custom resource definition is terminating')
            self.send("PATCH", PATH + "/old", {"metadata": {"finalizers": None}}, MERGE_PATCH)
            self.assertEqual(watch.next()["type"], "DELETED")
        self.wait_until(lambda: self.server.request("GET", PATH)[0], 404)
        self.error(self.get(CRDS_PATH + "/lions.zoo.example.com"), 404, "NotFound")
        self.assertNotIn("zoo.example.com", [g["name"] for g in self.get("/apis")[1]["groups"]])
        self.assertEqual(self.send("POST", CRDS_PATH, lions())[0], 201)
        self.assertEqual(self.get(PATH)[1]["items"], [])

    def test_a_recorded_crd_that_a_program_deletes_takes_recorded_objects_with_it(self):
        crd = obj(CRDS, "widgets.example.com", 50, spec={"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True}]})
        made = tape().listed(CRDS, 100, [crd])
        made.listed(WIDGETS, 100, [obj(WIDGETS, "w", 60)])
        self.start("--write", "overlay", made=made)
        path = "/apis/example.com/v1/namespaces/default/widgets"
        self.assertEqual(len(self.get(path)[1]["items"]), 1)
        self.send("DELETE", CRDS_PATH + "/widgets.example.com")
        self.wait_until(lambda: self.server.request("GET", path)[0], 404)

    def test_a_resource_that_nothing_defines_has_a_status_to_write(self):
        self.start("--write", "overlay", made=tape().listed(WIDGETS, 100, [obj(WIDGETS, "w", 60, spec={"size": 1})]))
        path = "/apis/example.com/v1/namespaces/default/widgets/w/"
        told = self.send("PATCH", path + "status", {"status": {"seen": "yes"}, "spec": {"size": 2}}, MERGE_PATCH)
        self.assertEqual((told[0], told[1]["status"], told[1]["spec"]), (200, {"seen": "yes"}, {"size": 1}))
        self.error(self.send("PATCH", path + "scale", {"spec": {"replicas": 2}}, MERGE_PATCH), 404, "NotFound")

    def test_a_move_keeps_what_was_defined(self):
        server = self.define()
        self.make("leo")
        self.assertEqual(server.request("POST", "/kubetape/v1/rewind")[0], 200)
        self.assertEqual([o["metadata"]["name"] for o in self.get(PATH)[1]["items"]], ["leo"])

    def test_a_crd_that_defines_nothing_is_refused(self):
        self.start("--write", "overlay")
        body = self.error(self.send("POST", CRDS_PATH, {**lions(), "metadata": {"name": "lions.example.com"}}), 422, "Invalid")
        self.assertIn('metadata.name: Invalid value: "lions.example.com": must be spec.names.plural+"."+spec.group', body["message"])
        body = self.error(self.send("POST", CRDS_PATH, lions(storage=False)), 422, "Invalid")
        self.assertIn("must have exactly one version marked as storage version", body["message"])


if __name__ == "__main__":
    unittest.main()
