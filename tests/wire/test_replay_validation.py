"""What a replay checks in what programs write, as their types and CustomResourceDefinitions have it."""

import json
import unittest

from replays import WIDGETS, obj
from writing import APPLY_PATCH, CRDS, MAPS, MERGE_PATCH, PODS_PATH, PROGRAM, Writes, config_map, tape


class Validating(Writes):
    """fieldValidation: Warn unless the request says Strict or Ignore."""

    def answer(self, method, target, body, content_type="application/json"):
        """(status, the Warning header, parsed answer)"""
        status, headers, answer = self.server.request(method, target, {**PROGRAM, "Content-Type": content_type}, body.encode())
        return status, headers.get("Warning"), json.loads(answer)

    def test_unknown_and_repeated_fields_are_warned_of_refused_or_ignored(self):
        self.start("--write", "overlay")
        pods = PODS_PATH + "?fieldValidation="
        body = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n%d"},"spec":{"containers":[{"name":"a","imgae":"x","name":"b"}],"x":1}}'
        faults = ['duplicate field "spec.containers[0].name"', 'unknown field "spec.containers[0].imgae"', 'unknown field "spec.x"']
        for how in ("Warn", ""):
            status, warning, made = self.answer("POST", pods + how, body % len(how))
            self.assertEqual((status, warning), (201, ", ".join("299 - " + json.dumps(fault) for fault in faults)), made)
        self.assertEqual(self.answer("POST", pods + "Ignore", body % 9)[:2], (201, None))
        status, warning, answer = self.answer("POST", pods + "Strict", body % 8)
        self.assertEqual((status, warning, answer["message"]), (400, None,
            'Pod in version "v1" cannot be handled as a Pod: strict decoding error: ' + ", ".join(faults)))
        self.assertEqual(self.answer("PATCH", PODS_PATH + "/web?fieldValidation=Strict", '{"spec":{"nodeSelctor":{}}}', MERGE_PATCH)[0], 422)
        self.assertEqual(self.answer("PATCH", PODS_PATH + "/web?fieldValidation=Strict", '{"spec":{"hostname":"h"}}', MERGE_PATCH)[:2], (200, None))
        self.error(self.send("POST", pods + "Perhaps", {}), 422, "Invalid")

    def test_custom_resources_have_the_fields_of_their_crd_and_others_those_of_the_recorded_document(self):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "map": {"type": "object", "additionalProperties": {
            "type": "object", "properties": {"a": {"type": "string"}}}}}}}}
        crd = obj(CRDS, "widgets.example.com", 70, spec={"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets",
            "kind": "Widget"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]})
        made = tape().listed(CRDS, 100, [crd]).listed(WIDGETS, 100, [])
        made.document("/openapi/v3/api/v1", json.dumps({"components": {"schemas": {"P": {"x-kubernetes-group-version-kind": [
            {"group": "", "version": "v1", "kind": "Pod"}], "properties": {"kind": {}, "apiVersion": {}, "metadata": {}, "future": {}}}}}}))
        self.start("--write", "overlay", made=made)
        widget = '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"size":1,"any":{"x":1},"map":{"k":{"a":"","b":1}},"siez":1}}'
        self.assertEqual(self.answer("POST", "/apis/example.com/v1/namespaces/default/widgets", widget)[:2], (201,
            '299 - "unknown field \\"spec.map.k.b\\"", 299 - "unknown field \\"spec.siez\\""'))
        pod = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"future":1,"spec":{}}'
        self.assertEqual(self.answer("POST", PODS_PATH, pod)[:2], (201, '299 - "unknown field \\"spec\\""'))

    def test_what_go_could_not_decode_is_refused_whatever_the_validation(self):
        self.start("--write", "overlay")
        def pod(**container):
            return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}
        for body, problem in (
                (pod(name=7), "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string"),
                (pod(ports=[{"containerPort": "80"}]),
                    "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32"),
                (pod(ports=[{"containerPort": 1.5}]),
                    "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32"),
                (pod(command="sh"), "json: cannot unmarshal string into Go struct field Container.spec.containers.command of type []string"),
                (pod(resources={"limits": {"cpu": "x y"}}), "quantities must match the regular expression "
                    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")):
            with self.subTest(problem=problem):
                answer = self.error(self.send("POST", PODS_PATH + "?fieldValidation=Ignore", body), 400, "BadRequest")
                self.assertEqual(answer["message"], f'Pod in version "v1" cannot be handled as a Pod: {problem}')
        good = pod(resources={"limits": {"cpu": 1, "memory": "1.5Gi"}}, livenessProbe={"httpGet": {"port": "http"}}, command=None)
        self.assertEqual(self.send("POST", PODS_PATH, good)[0], 201)
        self.error(self.send("PATCH", MAPS + "/a", {"data": {"k": 1}}, MERGE_PATCH), 422, "Invalid")
        status, answer = self.send("PATCH", MAPS + "/a?fieldManager=m&force=true", config_map("a", data={"k": 1}), APPLY_PATCH)
        self.assertEqual((status, answer["message"]), (500, "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): "
            ".data: expected string, got number"))

    def test_a_custom_resource_gets_its_defaults_and_loses_what_its_schema_does_not_have(self):
        part = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "B"}}}
        spec = {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}, "part": part,
            "parts": {"type": "array", "items": part}, "none": {"type": "string", "nullable": True, "default": "x"},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"part": part}},
            "map": {"type": "object", "additionalProperties": part}}}
        crd = obj(CRDS, "widgets.example.com", 70, spec={"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets",
            "kind": "Widget"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": spec}}}}]})
        self.start("--write", "overlay", made=tape().listed(CRDS, 100, [crd]).listed(WIDGETS, 100, []))
        path = "/apis/example.com/v1/namespaces/default/widgets"
        def widget(name, **members):
            return {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": name, "labels": {"l": "1"}}, **members}
        made = self.send("POST", path, widget("bare", extra=1))[1]
        self.assertEqual((made["spec"], made.get("extra"), made["metadata"]["labels"]), ({"n": 3, "none": "x"}, None, {"l": "1"}))
        given = {"n": None, "none": None, "part": {"a": "1", "c": "2"}, "parts": [{"a": "1"}, {"b": "2"}], "any": {"x": 1, "part": {"y": 1}},
            "map": {"k": {"z": 1}}, "siez": 1}
        self.assertEqual(self.send("POST", path, widget("full", spec=given))[1]["spec"], {"n": 3, "none": None, "part": {"a": "1", "b": "B"},
            "parts": [{"a": "1", "b": "B"}, {"b": "2"}], "any": {"x": 1, "part": {"b": "B"}}, "map": {"k": {"b": "B"}}})
        patched = self.send("PATCH", path + "/bare", {"spec": {"part": {}}}, MERGE_PATCH)[1]
        self.assertEqual(patched["spec"], {"n": 3, "none": "x", "part": {"b": "B"}})
        applied = self.send("PATCH", path + "/applied?fieldManager=m", widget("applied", spec={"part": {"a": "1"}}), APPLY_PATCH)[1]
        self.assertEqual(applied["spec"], {"part": {"a": "1", "b": "B"}, "n": 3, "none": "x"})
        self.assertNotIn("f:n", json.dumps(applied["metadata"]["managedFields"]), "defaults have no owner")

    def test_what_the_schema_of_a_crd_refuses_is_told_cause_by_cause(self):
        spec = {"type": "object", "required": ["image"], "properties": {"image": {"type": "string", "minLength": 2, "maxLength": 5},
            "n": {"type": "integer", "minimum": 1, "maximum": 10}, "mode": {"type": "string", "enum": ["A", "B"]},
            "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}}, "maybe": {"type": "string", "nullable": True},
            "port": {"x-kubernetes-int-or-string": True}, "map": {"type": "object", "additionalProperties": {"type": "boolean"}}}}
        schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec,
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
        crd = obj(CRDS, "widgets.example.com", 70, spec={"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets",
            "kind": "Widget"}, "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema}}]})
        old = obj(WIDGETS, "old", 71, spec={"image": "much too long", "n": 1})
        self.start("--write", "overlay", made=tape().listed(CRDS, 100, [crd]).listed(WIDGETS, 100, [old]))
        path = "/apis/example.com/v1/namespaces/default/widgets"
        def widget(**members):
            return {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "w"}, "spec": {"image": "abc", **members}}
        for members, cause in (
                ({"image": None}, "spec.image: Required value"),
                ({"image": "a"}, 'spec.image: Invalid value: "a": spec.image in body should be at least 2 chars long'),
                ({"image": "abcdef"}, "spec.image: Too long: may not be more than 5 bytes"),
                ({"n": "x"}, 'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"'),
                ({"n": 0}, "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"),
                ({"n": 11}, "spec.n: Invalid value: 11: spec.n in body should be less than or equal to 10"),
                ({"mode": "C"}, 'spec.mode: Unsupported value: "C": supported values: "A", "B"'),
                ({"list": []}, "spec.list: Invalid value: 0: spec.list in body should have at least 1 items"),
                ({"list": ["a"] * 3}, "spec.list: Too many: 3: must have at most 2 items"),
                ({"list": ["a", 1]}, 'spec.list[1]: Invalid value: "integer": spec.list[1] in body must be of type string: "integer"'),
                ({"port": True}, 'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"'),
                ({"map": {"k": 1}}, 'spec.map.k: Invalid value: "integer": spec.map.k in body must be of type boolean: "integer"')):
            with self.subTest(cause=cause):
                answer = self.error(self.send("POST", path, widget(**members)), 422, "Invalid")
                self.assertEqual(answer["message"], f'Widget.example.com "w" is invalid: {cause}')
                self.assertEqual([f"{c['field']}: {c['message']}" for c in answer["details"]["causes"]], [cause])
        self.assertEqual(self.send("POST", path, {**widget(maybe=None, port="x", map={"k": True}), "status": {"n": "ignored"}})[0], 201)
        self.error(self.send("PATCH", path + "/w", {"spec": {"n": 99}}, MERGE_PATCH), 422, "Invalid")
        self.error(self.send("PATCH", path + "/w/status", {"status": {"n": "x"}}, MERGE_PATCH), 422, "Invalid")
        self.assertEqual(self.send("PATCH", path + "/w?fieldManager=m", widget(n="x"), APPLY_PATCH)[0], 500)
        self.assertEqual(self.send("PATCH", path + "/old", {"spec": {"n": 2}}, MERGE_PATCH)[0], 200, "what was wrong before may stay")


if __name__ == "__main__":
    unittest.main()
