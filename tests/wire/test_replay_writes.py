"""What programs write to a replay: every verb, every policy, every error form, and what others see of it."""

import json
import random
import re
import unittest

from replays import CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS, WIDGETS, Case, Tape, brief, obj

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease", "namespaced": True}
CRDS = {"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions",
	"kind": "CustomResourceDefinition", "namespaced": False}
MAPS = "/api/v1/namespaces/default/configmaps"
PODS_PATH = "/api/v1/namespaces/default/pods"
LEASES_PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
PROGRAM = {"User-Agent": "controller/v1"}


def tape():
	made = Tape()
	made.listed(NAMESPACES, 90, [obj(NAMESPACES, "default", 5)])
	made.listed(CONFIGMAPS, 100, [obj(CONFIGMAPS, "a", 10, data={"k": "1"}), obj(CONFIGMAPS, "b", 11, data={})])
	made.listed(PODS, 100, [obj(PODS, "web", 20, spec={"nodeName": "n1", "containers": []}, status={"phase": "Running"}),
		obj(PODS, "idle", 21, spec={"containers": []}, status={"phase": "Pending"})])
	made.listed(NODES, 100, [obj(NODES, "n1", 30)])
	made.listed(DEPLOYMENTS, 100, [obj(DEPLOYMENTS, "shop", 40, spec={"replicas": 2, "selector": {"matchLabels":
		{"app": "shop"}}}, status={"replicas": 2})])
	made.listed(LEASES, 100, [obj(LEASES, "lock", 50, spec={"holderIdentity": "recorded"})])
	return made


def config_map(name=None, namespace=None, **more):
	metadata = {k: v for k, v in {"name": name, "namespace": namespace, **more.pop("metadata", {})}.items() if v}
	return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, **more}


class Writes(Case):

	def start(self, *options, made=None):
		self.server = self.replay(made or tape(), "--wait-watchers", "0", *options)
		return self.server

	def send(self, method, target, body=None, content_type="application/json", **headers):
		"""(status, parsed answer)"""
		data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
		headers = {"Accept": "application/json", **PROGRAM, **headers}
		if data is not None:
			headers["Content-Type"] = content_type
		status, _, answer = self.server.request(method, target, headers, data)
		return status, json.loads(answer)

	def get(self, target):
		return self.send("GET", target)

	def rv(self, target):
		return self.get(target)[1]["metadata"]["resourceVersion"]

	def error(self, answer, code, reason):
		status, body = answer
		self.assertEqual((status, body["kind"], body["code"], body.get("reason")), (code, "Status", code, reason), body)
		return body


class Creating(Writes):

	def test_a_created_object_gets_what_the_server_gives_and_is_seen_by_get_list_and_watch(self):
		server = self.start("--write", "overlay")
		with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
			status, made = self.send("POST", MAPS, config_map("new", data={"x": "y"}))
			self.assertEqual(status, 201)
			metadata = made["metadata"]
			self.assertEqual(metadata["namespace"], "default")
			self.assertRegex(metadata["uid"], "^[0-9a-f]{8}-[0-9a-f]{4}-4")
			self.assertRegex(metadata["creationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
			self.assertGreater(int(metadata["resourceVersion"]), 100)
			event = watch.next()
			self.assertEqual((event["type"], event["object"]), ("ADDED", made))
		self.assertEqual(self.get(MAPS + "/new"), (200, made))
		listed = self.get(MAPS)[1]
		self.assertEqual([o["metadata"]["name"] for o in listed["items"]], ["a", "b", "new"])
		self.assertEqual(listed["metadata"]["resourceVersion"], metadata["resourceVersion"])

	def test_a_name_is_generated(self):
		self.start("--write", "overlay")
		status, made = self.send("POST", MAPS, config_map(metadata={"generateName": "web-"}))
		self.assertEqual(status, 201)
		self.assertRegex(made["metadata"]["name"], "^web-[bcdfghjklmnpqrstvwxz2456789]{5}$")

	def test_what_is_there_already_is_a_conflict(self):
		self.start()
		body = self.error(self.send("POST", MAPS, config_map("a")), 409, "AlreadyExists")
		self.assertEqual(body["message"], 'configmaps "a" already exists')
		self.assertEqual(body["details"], {"name": "a", "kind": "configmaps"})

	def test_bodies_that_make_no_sense_are_refused_with_the_right_code(self):
		self.start()
		for body, code, reason in (
				(config_map(), 422, "Invalid"), (config_map("Not A Name"), 422, "Invalid"),
				(config_map("x", namespace="other"), 400, "BadRequest"), (b"{", 400, "BadRequest"), (b"[]", 400, "BadRequest"),
				(b"", 400, "BadRequest"), (b'{"a":01}', 400, "BadRequest"), (b'{"a":1}}', 400, "BadRequest"),
				({**config_map("x"), "kind": "Secret"}, 400, "BadRequest"),
				({**config_map("x"), "apiVersion": "apps/v1"}, 400, "BadRequest"),
				(config_map("x", metadata={"resourceVersion": "7"}), 500, "InternalError"),
				(b'{"a":' * 300 + b"1" + b"}" * 300, 413, "RequestEntityTooLarge")):
			with self.subTest(body=body):
				self.error(self.send("POST", MAPS, body), code, reason)
		self.error(self.send("POST", MAPS, b"x", "text/plain"), 415, "UnsupportedMediaType")
		self.error(self.send("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("x")), 404, "NotFound")
		self.error(self.send("POST", "/api/v1/configmaps", config_map("x")), 405, "MethodNotAllowed")

	def test_what_is_done_in_a_container_says_that_this_is_a_recording(self):
		self.start()
		for what in ("exec", "attach", "portforward", "proxy"):
			for method in ("GET", "POST"):
				with self.subTest(what, method=method):
					body = self.error(self.send(method, f"/api/v1/namespaces/default/pods/p/{what}"), 403, "Forbidden")
					self.assertEqual(body["message"], f"{what} is not possible in a recording")

	def test_a_dry_run_changes_nothing(self):
		self.start("--write", "overlay")
		status, made = self.send("POST", MAPS + "?dryRun=All", config_map("new"))
		self.assertEqual(status, 201)
		self.assertIn("uid", made["metadata"])
		self.assertNotIn("resourceVersion", made["metadata"])
		self.error(self.get(MAPS + "/new"), 404, "NotFound")
		self.error(self.send("POST", MAPS + "?dryRun=Some", config_map("new")), 422, "Invalid")

	def test_yaml_is_read_and_aliases_are_not(self):
		self.start("--write", "overlay")
		text = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: new}\ndata:\n  on: 'yes'\n  n: \"1\"\n"
		status, made = self.send("POST", MAPS, text, "application/yaml")
		self.assertEqual((status, made.get("data")), (201, {"on": "yes", "n": "1"}))
		bomb = b"kind: ConfigMap\nmetadata: {name: x}\ndata: &a {k: v}\nmore: *a\n"
		self.error(self.send("POST", MAPS, bomb, "application/yaml"), 400, "BadRequest")
		self.error(self.send("POST", MAPS, b'{"a": "b"x}', "application/yaml"), 400, "BadRequest")
		self.assertNotIn("flow mapping", self.server.stderr())


def field(number, value):
	"""A field of a protobuf message: bytes, a text, or a small number."""
	if isinstance(value, int):
		return bytes([number << 3, value])
	value = value.encode() if isinstance(value, str) else value
	assert len(value) < 128
	return bytes([number << 3 | 2, len(value)]) + value


def protobuf(version, kind, raw):
	return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, raw)


class Encoding(Writes):
	TYPE = "application/vnd.kubernetes.protobuf"

	def lease(self, holder, metadata=b""):
		return protobuf("coordination.k8s.io/v1", "Lease", field(1, field(1, "lock") + metadata) +
			field(2, field(1, holder) + field(2, 15)))

	def test_protobuf_bodies_are_taken_for_every_policy_and_answered_as_json(self):
		for policy in ("overlay", "absorb"):
			with self.subTest(policy=policy):
				self.start("--write", policy)
				entry = field(1, "k") + field(2, "v")
				status, made = self.send("POST", MAPS, protobuf("v1", "ConfigMap", field(1, field(1, "new")) + field(2, entry)), self.TYPE)
				self.assertEqual((status, made["kind"], made["data"]), (201, "ConfigMap", {"k": "v"}))
				self.assertEqual(self.server.request("GET", MAPS + "/new")[0], 200 if policy == "overlay" else 404)
				options = field(2, field(1, "uid-other"))
				self.error(self.send("DELETE", MAPS + "/a", protobuf("v1", "DeleteOptions", options), self.TYPE), 409, "Conflict")

	def test_a_leader_is_elected_with_protobuf(self):
		self.start()
		status, made = self.send("POST", LEASES_PATH, self.lease("me"), self.TYPE)
		self.assertEqual((status, made["spec"]), (201, {"holderIdentity": "me", "leaseDurationSeconds": 15}))
		first = made["metadata"]["resourceVersion"]
		status, made = self.send("PUT", LEASES_PATH + "/lock", self.lease("me2", field(6, first)), self.TYPE)
		self.assertEqual((status, made["spec"]["holderIdentity"]), (200, "me2"))
		self.error(self.send("PUT", LEASES_PATH + "/lock", self.lease("me3", field(6, first)), self.TYPE), 409, "Conflict")

	def test_what_protobuf_does_not_know_is_a_clear_400(self):
		self.start()
		for body, words in ((protobuf("v1", "Gizmo", b""), "Gizmo"), (protobuf("v1", "ConfigMap", field(15, "x")), "15"),
				(b"k8s\0\xff", "protobuf"), (b"nonsense", "protobuf")):
			with self.subTest(body=body):
				self.assertIn(words, self.error(self.send("POST", MAPS, body, self.TYPE), 400, "BadRequest")["message"])


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
				(pod(name=7), "json: cannot unmarshal number into Go struct field Pod.spec.containers.name of type string"),
				(pod(ports=[{"containerPort": "80"}]),
					"json: cannot unmarshal string into Go struct field Pod.spec.containers.ports.containerPort of type int32"),
				(pod(ports=[{"containerPort": 1.5}]),
					"json: cannot unmarshal number 1.5 into Go struct field Pod.spec.containers.ports.containerPort of type int32"),
				(pod(command="sh"), "json: cannot unmarshal string into Go struct field Pod.spec.containers.command of type array"),
				(pod(resources={"limits": {"cpu": "x y"}}), "quantities must match the regular expression "
					"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")):
			with self.subTest(problem=problem):
				answer = self.error(self.send("POST", PODS_PATH + "?fieldValidation=Ignore", body), 400, "BadRequest")
				self.assertEqual(answer["message"], f'Pod in version "v1" cannot be handled as a Pod: {problem}')
		good = pod(resources={"limits": {"cpu": 1, "memory": "1.5Gi"}}, livenessProbe={"httpGet": {"port": "http"}}, command=None)
		self.assertEqual(self.send("POST", PODS_PATH, good)[0], 201)
		self.error(self.send("PATCH", MAPS + "/a", {"data": {"k": 1}}, MERGE_PATCH), 422, "Invalid")
		status, answer = self.send("PATCH", MAPS + "/a?fieldManager=m&force=true", config_map("a", data={"k": 1}), APPLY_PATCH)
		self.assertEqual((status, answer["message"]), (500, "failed to create typed patch object (default/a; v1, Kind=ConfigMap): "
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


class Updating(Writes):

	def test_a_put_at_the_current_version_replaces_and_a_stale_one_conflicts(self):
		self.start("--write", "overlay")
		thing = self.get(MAPS + "/a")[1]
		thing["data"] = {"k": "2"}
		status, put = self.send("PUT", MAPS + "/a", thing)
		self.assertEqual((status, put["data"], put["metadata"]["uid"]), (200, {"k": "2"}, "uid-a"))
		thing["data"] = {"k": "3"}
		body = self.error(self.send("PUT", MAPS + "/a", thing), 409, "Conflict")
		self.assertEqual(body["message"], 'Operation cannot be fulfilled on configmaps "a": the object has been '
			"modified; please apply your changes to the latest version and try again")
		self.assertEqual(body["details"], {"name": "a", "kind": "configmaps"})

	def test_without_a_version_most_kinds_are_replaced_and_leases_are_not(self):
		self.start("--write", "overlay")
		self.assertEqual(self.send("PUT", MAPS + "/a", config_map("a"))[0], 200)
		lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "l"}, "spec": {}}
		self.assertEqual(self.send("PUT", LEASES_PATH + "/l", lease)[0], 201)
		body = self.error(self.send("PUT", LEASES_PATH + "/l", lease), 422, "Invalid")
		self.assertIn("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update", body["message"])

	def test_a_put_elsewhere_or_of_something_else_is_refused(self):
		self.start()
		self.error(self.send("PUT", MAPS + "/none", config_map("none")), 404, "NotFound")
		self.error(self.send("PUT", MAPS + "/a", config_map("b")), 400, "BadRequest")
		self.error(self.send("PUT", MAPS + "/a", config_map("a", metadata={"uid": "other"})), 409, "Conflict")

	def test_what_changes_nothing_makes_no_version(self):
		self.start("--write", "overlay")
		thing = self.get(MAPS + "/a")[1]
		self.assertEqual(self.send("PUT", MAPS + "/a", thing), (200, thing))
		self.assertEqual(self.rv(MAPS), "100")

	def test_a_status_update_changes_the_status_alone_and_an_update_all_but_the_status(self):
		self.start("--write", "overlay")
		path = "/apis/apps/v1/namespaces/default/deployments/shop"
		thing = self.get(path)[1]
		thing["spec"]["replicas"], thing["status"]["replicas"] = 9, 7
		made = self.send("PUT", path + "/status", thing)[1]
		self.assertEqual((made["spec"]["replicas"], made["status"]["replicas"]), (2, 7))
		made["spec"]["replicas"], made["status"]["replicas"] = 9, 1
		made = self.send("PUT", path, made)[1]
		self.assertEqual((made["spec"]["replicas"], made["status"]["replicas"]), (9, 7))
		self.assertEqual(made["metadata"]["generation"], 1)

	def test_annotations_may_come_with_the_status_of_a_deployment_and_labels_not(self):
		self.start("--write", "overlay")
		path = "/apis/apps/v1/namespaces/default/deployments/shop"
		thing = self.get(path)[1]
		labels = thing["metadata"].get("labels")
		thing["metadata"].update(annotations={"deployment.kubernetes.io/revision": "2"}, labels={"l": "v"})
		made = self.send("PUT", path + "/status", thing)[1]["metadata"]
		self.assertEqual((made["annotations"], made.get("labels")), (thing["metadata"]["annotations"], labels))

	def test_a_scale_is_read_and_written(self):
		self.start("--write", "overlay")
		path = "/apis/apps/v1/namespaces/default/deployments/shop/scale"
		scale = self.get(path)[1]
		self.assertEqual((scale["kind"], scale["spec"], scale["status"]), ("Scale", {"replicas": 2},
			{"replicas": 2, "selector": "app=shop"}))
		scale["spec"]["replicas"] = 5
		self.assertEqual(self.send("PUT", path, scale)[1]["spec"], {"replicas": 5})
		self.assertEqual(self.send("PATCH", path, {"spec": {"replicas": 6}}, MERGE_PATCH)[1]["spec"], {"replicas": 6})
		self.error(self.send("PUT", path, scale), 409, "Conflict")
		self.assertEqual(self.get(path)[1]["spec"], {"replicas": 6})
		self.error(self.get(MAPS + "/a/scale"), 404, "NotFound")


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
				([{"op": "remove", "path": "/data/none"}], 422, "Invalid"), ([{"op": "fly", "path": "/a", "value": 1}], 400, "BadRequest"),
				([{"op": "add"}], 400, "BadRequest"), ({}, 400, "BadRequest"), (b"nonsense", 400, "BadRequest"),
				([{"op": "replace", "path": "", "value": 1}], 422, "Invalid"),
				([{"op": "replace", "path": "/metadata/resourceVersion", "value": "9"}], 409, "Conflict"),
				([{"op": "replace", "path": "/metadata/name", "value": "z"}], 400, "BadRequest"),
				([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10001, 413, "RequestEntityTooLarge")):
			with self.subTest(patch=str(patch)[:80]):
				self.error(self.send("PATCH", MAPS + "/a", patch, JSON_PATCH), code, reason)
		self.error(self.send("PATCH", MAPS + "/a", [], "application/json"), 415, "UnsupportedMediaType")
		self.error(self.send("PATCH", MAPS + "/none", [], JSON_PATCH), 404, "NotFound")

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


class Deleting(Writes):

	def test_a_deletion_says_what_went_and_watchers_see_its_last_state_at_a_new_version(self):
		server = self.start("--write", "overlay")
		with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
			status, body = self.send("DELETE", MAPS + "/a")
			self.assertEqual((status, body["status"], body["details"]),
				(200, "Success", {"name": "a", "kind": "configmaps", "uid": "uid-a"}))
			self.assertEqual(brief(watch.next()), ("DELETED", "a", "101"))
		self.error(self.get(MAPS + "/a"), 404, "NotFound")
		self.error(self.send("DELETE", MAPS + "/a"), 404, "NotFound")

	def test_preconditions_are_held(self):
		self.start("--write", "overlay")
		for preconditions in ({"uid": "other"}, {"resourceVersion": "9"}):
			body = self.error(self.send("DELETE", MAPS + "/a", {"preconditions": preconditions}), 409, "Conflict")
			self.assertIn("Precondition failed", body["message"])
		self.assertEqual(self.send("DELETE", MAPS + "/a", {"preconditions": {"uid": "uid-a"}})[0], 200)

	def test_finalizers_hold_an_object_until_the_last_is_gone(self):
		server = self.start("--write", "overlay")
		self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["x/y"]}}, MERGE_PATCH)
		status, body = self.send("DELETE", MAPS + "/a")
		self.assertEqual((status, body["kind"]), (200, "ConfigMap"))
		self.assertIn("deletionTimestamp", body["metadata"])
		with server.watch(MAPS + "?watch=true&resourceVersion=" + self.rv(MAPS)) as watch:
			self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": None}}, MERGE_PATCH)
			event = watch.next()
			self.assertEqual((event["type"], event["object"]["metadata"]["finalizers"]), ("DELETED", ["x/y"]))

	def test_a_pod_on_a_node_ends_when_its_node_says_so(self):
		self.start("--write", "overlay")
		status, pod = self.send("DELETE", PODS_PATH + "/web")
		self.assertEqual((status, pod["metadata"]["deletionGracePeriodSeconds"]), (200, 30))
		self.assertEqual(self.send("DELETE", PODS_PATH + "/web", {"gracePeriodSeconds": 0})[1]["status"], "Success")
		self.assertEqual(self.send("DELETE", PODS_PATH + "/idle")[1]["status"], "Success")
		self.assertEqual(self.get(PODS_PATH)[1]["items"], [])

	def test_a_collection_is_deleted_by_selector(self):
		self.start("--write", "overlay")
		self.send("PATCH", MAPS + "/b", {"metadata": {"labels": {"app": "x"}}}, MERGE_PATCH)
		status, body = self.send("DELETE", MAPS + "?labelSelector=app%3Dx")
		self.assertEqual((status, body["kind"], [o["metadata"]["name"] for o in body["items"]]), (200, "ConfigMapList", ["b"]))
		self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["a"])
		self.error(self.send("DELETE", "/api/v1/namespaces"), 405, "MethodNotAllowed")


class Subresources(Writes):

	def test_a_binding_puts_a_pod_on_a_node_once(self):
		self.start("--write", "overlay")
		binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "idle"}, "target": {"kind": "Node", "name": "n1"}}
		status, body = self.send("POST", PODS_PATH + "/idle/binding", binding)
		self.assertEqual((status, body["status"]), (201, "Success"))
		pod = self.get(PODS_PATH + "/idle")[1]
		self.assertEqual((pod["spec"]["nodeName"], pod["status"]["conditions"][0]["type"]), ("n1", "PodScheduled"))
		self.error(self.send("POST", PODS_PATH + "/idle/binding", binding), 409, "Conflict")

	def test_an_eviction_deletes(self):
		self.start("--write", "overlay")
		eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "idle"}}
		self.assertEqual(self.send("POST", PODS_PATH + "/idle/eviction", eviction)[0], 201)
		self.error(self.get(PODS_PATH + "/idle"), 404, "NotFound")


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

	def test_a_bad_rule_is_a_usage_error(self):
		for rule, word in (("sometimes", "bad policy"), ("pods:fly=reject", "bad verb"), ("=reject", "no resource")):
			with self.subTest(rule=rule), self.assertRaisesRegex(AssertionError, word):
				self.start("--write", rule)

	def test_a_lease_can_be_taken_whoever_held_it_in_the_recording(self):
		self.start()
		self.error(self.get(LEASES_PATH + "/lock"), 404, "NotFound")
		lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "lock"},
			"spec": {"holderIdentity": "me"}}
		status, made = self.send("POST", LEASES_PATH, lease)
		self.assertEqual(status, 201)
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
