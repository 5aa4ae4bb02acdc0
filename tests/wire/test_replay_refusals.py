"""What a replay says of writes that cannot be: the words of a live API server, for each kind of fault."""

import json
import unittest

from replays import WIDGETS, obj
from writing import APPLY_PATCH, JSON_PATCH, MAPS, MERGE_PATCH, PODS_PATH, STRATEGIC_PATCH, Writes, config_map, tape

HEAD = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
SHOP = "/apis/apps/v1/namespaces/default/deployments/shop"


class Refusals(Writes):
    def refused(self, code, message, method, target, body, content_type="application/json", reason="BadRequest"):
        """Returns the Status."""
        with self.subTest(method=method, body=body):
            answer = self.error(self.send(method, target, body, content_type), code, reason)
            self.assertEqual(answer["message"], message)
            return answer
        return None

    def test_bodies_that_are_no_json_are_told_where_and_how_they_begin(self):
        self.start()
        for body, problem, shown in ((b"", "unexpected end of JSON input", "<empty>"), (b"{", "unexpected end of JSON input", "{"),
                (b"nonsense", "invalid character 'o' in literal null (expecting 'u')", "6e6f6e73656e7365"),
                (b'{"kind":"ConfigMap","apiVersion":"v1"}x', "invalid character 'x' after top-level value",
                    '{"kind":"ConfigMap","apiVersio ...')):
            for method, target in (("POST", MAPS), ("PUT", MAPS + "/a")):
                self.refused(400, f"{HEAD}{problem} ({shown})", method, target, body)

    def test_a_kind_that_is_another_or_none_is_told(self):
        self.start()
        for kind, version, problem in (("Pod", "v1", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
                ("Nothing", "v1", 'no kind "Nothing" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"')):
            body = {"kind": kind, "apiVersion": version, "metadata": {"name": "new"}}
            self.refused(400, f'{kind} in version "v1" cannot be handled as a ConfigMap: {problem}', "POST", MAPS, body)
        answer = self.error(self.send("PATCH", MAPS + "/a", {"kind": "Pod"}, MERGE_PATCH), 422, "Invalid")
        self.assertRegex(answer["message"], r'^ "" is invalid: patch: Invalid value: "\{.*: unknown conversion$')

    def test_names_labels_and_owners_that_no_object_may_have_are_told_cause_by_cause(self):
        self.start()
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}
        for metadata, field, problem in (
                ({}, "metadata.name", "Required value: name or generateName is required"),
                ({"name": "new", "finalizers": ["x"]}, "metadata.finalizers[0]",
                    'Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified'),
                ({"name": "new", "ownerReferences": [owner]}, "metadata.ownerReferences.uid", 'Invalid value: "": must not be empty')):
            answer = self.refused(422, f'ConfigMap "{metadata.get("name", "")}" is invalid: {field}: {problem}', "POST", MAPS,
                {"metadata": metadata}, reason="Invalid")
            self.assertEqual([(c["field"], c["message"]) for c in answer["details"]["causes"]], [(field, problem)])
        for metadata in ({"name": "UPPER"}, {"name": "a" * 254}, {"name": "new", "labels": {"a b": "c"}}, {"name": "new", "annotations": {"/": ""}}):
            self.error(self.send("POST", MAPS, {"metadata": metadata}), 422, "Invalid")

    def test_names_are_checked_by_the_rule_of_their_kind(self):
        self.start("--write", "overlay")
        batch, rbac = "/apis/batch/v1/namespaces/default/cronjobs", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
        for path, name, problem in (("/api/v1/namespaces", "a.b", "must not contain dots"), ("/api/v1/namespaces", "a" * 64, "must be no more than 63"),
                ("/api/v1/namespaces/default/services", "A", "a lowercase RFC 1123 label must consist of"), (MAPS, "a..b", "a lowercase RFC 1123 subdomain"),
                (batch, "a" * 53, "must be no more than 52 characters"), (rbac, "a/b", "may not contain '/'"), (rbac, "..", "may not be '..'")):
            with self.subTest(path=path, name=name):
                answer = self.error(self.send("POST", path, {"metadata": {"name": name}}), 422, "Invalid")
                self.assertIn(f'metadata.name: Invalid value: "{name}": {problem}', answer["message"])
        for path, name in ((rbac, "system:a"), ("/api/v1/namespaces/default/events", "Odd_Name"), (MAPS, "a.b-c"), ("/api/v1/namespaces", "a" * 63)):
            self.assertEqual(self.send("POST", path, {"metadata": {"name": name}})[0], 201, name)

    def test_patches_that_are_none_are_told_by_their_type(self):
        self.start()
        a, decoding = MAPS + "/a", "error decoding patch: "
        wrong = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        for kind, body, message in ((MERGE_PATCH, b"", decoding + "unexpected end of JSON input"), (MERGE_PATCH, b"[]", decoding + wrong),
                (MERGE_PATCH, b"null", "Invalid JSON Patch"), (STRATEGIC_PATCH, b"[]", wrong),
                (JSON_PATCH, b"{}", decoding + "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
                (JSON_PATCH, b"[7]", decoding + "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp")):
            self.refused(400, message, "PATCH", a, body, kind)
        self.refused(422, "the server rejected our request due to an error in our request", "PATCH", a, b"[{}]", JSON_PATCH, "Invalid")
        self.refused(500, "unknown patch type: odd in map: map[$patch:odd]", "PATCH", a, b'{"$patch":"odd"}', STRATEGIC_PATCH, None)
        for body, message in ((b"", "invalid object type: /, Kind="), (b"kind: ConfigMap", "invalid object type: /, Kind=ConfigMap"),
                (config_map("other"), "the name of the object (other) does not match the name on the URL (a)"),
                (config_map("a", metadata={"managedFields": [{}]}), "metadata.managedFields must be nil")):
            self.refused(400, message, "PATCH", a + "?fieldManager=m", body, APPLY_PATCH)

    def test_what_go_cannot_decode_of_a_patched_object_is_told_with_the_object(self):
        self.start("--write", "overlay")
        answer = self.error(self.send("PATCH", MAPS + "/a", {"data": {"k": 1}}, MERGE_PATCH), 422, "Invalid")
        self.assertTrue(answer["message"].endswith("json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
            answer["message"])
        self.assertEqual(answer["details"]["causes"][0]["field"], "patch")

    def test_subresources_take_the_methods_that_the_api_server_has(self):
        self.start()
        for method, target, code, reason in (("POST", PODS_PATH + "/web/status", 405, "MethodNotAllowed"),
                ("DELETE", PODS_PATH + "/web/status", 405, "MethodNotAllowed"), ("PUT", PODS_PATH + "/web/binding", 405, "MethodNotAllowed"),
                ("DELETE", PODS_PATH + "/web/log", 405, "MethodNotAllowed"),
                ("PATCH", MAPS + "/a/scale", 404, "NotFound")):
            with self.subTest(method=method, target=target):
                self.error(self.send(method, target, {}, MERGE_PATCH if method == "PATCH" else "application/json"), code, reason)

    def test_methods_that_custom_resources_do_not_have_are_told_by_their_own_handler(self):
        made = tape().listed(WIDGETS, 100, [obj(WIDGETS, "w", 60)])
        self.start(made=made)
        group = "/apis/example.com/v1"
        answer = self.refused(405, ' is not supported on resources of kind "widgets.example.com"', "OPTIONS",
            group + "/namespaces/default/widgets/w", None, reason="MethodNotAllowed")
        self.assertEqual(answer["details"], {"group": "example.com", "kind": "widgets"})
        for method, path in (("POST", "/widgets"), ("PATCH", "/widgets/w"), ("DELETE", "/widgets"), ("OPTIONS", "/widgets")):
            with self.subTest(method=method):
                status, _, text = self.server.request(method, group + path, {}, b"{}")
                self.assertEqual((status, text), (404, b"404 page not found\n"))
        self.assertEqual(self.get(group + "/widgets")[0], 200)

    def test_a_scale_is_of_its_own_kind(self):
        self.start("--write", "overlay")
        scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "shop"}, "spec": {"replicas": -1}}
        self.refused(422, 'Scale.autoscaling "shop" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
            "PUT", SHOP + "/scale", scale, reason="Invalid")
        status, _, table = self.server.request("GET", SHOP + "/scale", {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        table = json.loads(table)
        self.assertEqual((status, [c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"][:3]),
            (200, ["Name", "Desired", "Available", "Age"], ["shop", 2, 2]))

    def test_options_of_a_deletion_are_checked_and_those_of_its_body_count_alone(self):
        self.start("--write", "overlay")
        options = {"kind": "DeleteOptions", "apiVersion": "v1"}
        self.error(self.send("DELETE", MAPS + "/a", {**options, "propagationPolicy": "Odd"}), 422, "Invalid")
        self.error(self.send("DELETE", MAPS + "/a", {**options, "dryRun": ["Odd"]}), 422, "Invalid")
        self.refused(400, 'strconv.ParseInt: parsing "x": invalid syntax', "DELETE", MAPS + "/a?gracePeriodSeconds=x", None)
        self.assertEqual(self.send("DELETE", MAPS + "/a", {**options, "dryRun": ["All"]})[0], 200)
        self.assertEqual(self.send("DELETE", MAPS + "/a?dryRun=All")[0], 200)
        self.assertEqual(self.get(MAPS + "/a")[0], 200)
        self.assertEqual(self.send("DELETE", MAPS + "/a?dryRun=All", options)[0], 200)
        self.error(self.get(MAPS + "/a"), 404, "NotFound")

    def test_a_collection_is_deleted_page_by_page(self):
        self.start("--write", "overlay")
        status, page = self.send("DELETE", MAPS + "?limit=1")
        self.assertEqual((status, [o["metadata"]["name"] for o in page["items"]], page["metadata"]["remainingItemCount"]), (200, ["a"], 1))
        status, page = self.send("DELETE", MAPS + "?limit=1&continue=" + page["metadata"]["continue"])
        self.assertEqual((status, [o["metadata"]["name"] for o in page["items"]], page["metadata"].get("continue")), (200, ["b"], None))
        self.assertEqual(self.get(MAPS)[1]["items"], [])

    def test_what_only_the_server_sets_is_not_taken_from_a_new_object(self):
        self.start("--write", "overlay")
        made = self.send("POST", MAPS, config_map("new", metadata={"uid": "mine", "deletionTimestamp": "2026-01-01T00:00:00Z"}))[1]["metadata"]
        self.assertNotEqual(made["uid"], "mine")
        self.assertNotIn("deletionTimestamp", json.dumps(made))


if __name__ == "__main__":
    unittest.main()
