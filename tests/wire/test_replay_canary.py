"""No part of a value that a client writes into a Secret, or sends as a token, reaches the run file, the report or the log."""

import json
import os
import unittest

import canary
from replays import CONFIGMAPS, NAMESPACES, Tape, obj
from test_replay_run import SECRETS
from writing import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Writes

PATH = "/api/v1/namespaces/default/secrets"
ACCOUNTS = {"version": "v1", "resource": "serviceaccounts", "kind": "ServiceAccount", "namespaced": True}
YAML = ("apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  p: " + json.dumps(canary.VALUE) + "\ndata: {q: "
        + canary.b64(canary.VALUE) + "}\n")
JSON = "application/json"


def made():
    tape = Tape().listed(NAMESPACES, 20, [obj(NAMESPACES, "default", 5)]).listed(CONFIGMAPS, 20, [obj(CONFIGMAPS, "a", 6, data={})])
    tape.listed(ACCOUNTS, 20, [obj(ACCOUNTS, "bot", 7)])
    return tape.listed(SECRETS, 20, [obj(SECRETS, "s", 8, data={"p": "cmVkYWN0ZWQ6eA=="}), obj(SECRETS, "t", 9, data={})])


def patch(*operations):
    return [dict(zip(("op", "path", "value"), operation)) for operation in operations]


def with_type(value):
    return {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, **value}


def field(number, data):
    """A length-delimited field of protobuf."""
    data = data if isinstance(data, bytes) else data.encode()
    length = bytes([len(data)]) if len(data) < 128 else bytes([len(data) % 128 + 128, len(data) // 128])
    return bytes([number << 3 | 2]) + length + data


def protobuf(name):
    """A Secret as typed Go clients send it."""
    data = field(2, field(1, "p") + field(2, canary.VALUE)) + field(4, field(1, "q") + field(2, canary.VALUE)) + field(3, "Opaque")
    return b"k8s\0" + field(1, field(1, "v1") + field(2, "Secret")) + field(2, field(1, field(1, name)) + data)


# (method, path below the secrets, content type, body)
SENT = [
    ("POST", "", JSON, canary.secret("new")), ("POST", "", JSON, canary.secret("generated", metadata={"generateName": "g-"})),
    ("POST", "?dryRun=All", JSON, canary.secret("dry")), ("POST", "?fieldValidation=Strict", JSON, canary.secret("strict", extra=canary.VALUE)),
    ("POST", "", "application/yaml", YAML.replace("name: s", "name: yaml")), ("POST", "", "text/plain", canary.VALUE),
    ("POST", "", JSON, json.dumps(canary.secret("cut"))[:-9]), ("POST", "", JSON, " " + json.dumps(canary.secret("blank"))),
    ("POST", "", JSON, {"kind": "SecretList", "apiVersion": "v1", "items": [canary.secret("listed")]}),
    ("POST", "", JSON, {"kind": "List", "apiVersion": "v1", "items": [canary.secret("listed")]}),
    ("POST", "", JSON, with_type({"data": {"p": canary.VALUE}, "metadata": {"name": "nobase64"}})),
    ("POST", "", JSON, with_type({"data": {"p": {"q": canary.VALUE}}, "metadata": {"name": "nested"}})),
    ("POST", "", JSON, with_type({"data": [canary.VALUE], "metadata": {"name": "array"}})),
    ("POST", "", JSON, with_type({"data": canary.VALUE, "stringData": canary.VALUE, "type": [canary.VALUE]})),
    ("POST", "", JSON, json.dumps(canary.secret("escaped")).replace('"stringData"', '"string\\u0044ata"').replace("kubernetes.io/", "kubernetes.io\\/")),
    ("POST", "", JSON, '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"twice"},"data":{"p":"%s"},"data":{}}' % canary.b64(canary.VALUE)),
    ("POST", "", "application/vnd.kubernetes.protobuf", protobuf("proto")), ("PUT", "/s", "application/vnd.kubernetes.protobuf", protobuf("s")),
    ("POST", "", "application/vnd.kubernetes.protobuf", protobuf("cut")[:-30]),
    ("POST", "", "application/vnd.kubernetes.protobuf", b"k8s\0" + canary.VALUE.encode()),
    ("POST", "", "application/vnd.kubernetes.protobuf", canary.VALUE.encode()),
    ("PUT", "/s", JSON, canary.secret()), ("PUT", "/s", JSON, canary.secret("other")), ("PUT", "/none", JSON, canary.secret("none")),
    ("PUT", "/s", JSON, with_type({"data": {"p": canary.b64(canary.VALUE)}})), ("PUT", "/s/status", JSON, canary.secret()),
    ("PATCH", "/s", MERGE_PATCH, {"data": {"p": canary.b64(canary.VALUE), "q": None}, "stringData": {"r": canary.VALUE}}),
    ("PATCH", "/s", MERGE_PATCH, {"metadata": canary.secret()["metadata"]}), ("PATCH", "/s", MERGE_PATCH, {"spec": {"x": canary.VALUE}}),
    ("PATCH", "/s", STRATEGIC_PATCH, {"data": {"$patch": "replace", "p": canary.b64(canary.VALUE)}}),
    ("PATCH", "/s", STRATEGIC_PATCH, {"$retainKeys": [canary.VALUE], "stringData": {"p": canary.VALUE}}),
    ("PATCH", "/s", JSON_PATCH, patch(("add", "/data/p", canary.b64(canary.VALUE)), ("add", "/stringData", {"q": canary.VALUE}))),
    ("PATCH", "/s", JSON_PATCH, patch(("replace", "", canary.secret()), ("add", "/metadata/annotations/x", canary.VALUE))),
    ("PATCH", "/s", JSON_PATCH, patch(("test", "/data/p", canary.b64(canary.VALUE)), ("replace", "/type", [canary.VALUE]))),
    ("PATCH", "/s", JSON_PATCH, {"value": canary.VALUE}), ("PATCH", "/s", JSON_PATCH, [canary.VALUE]),
    ("PATCH", "/s?fieldManager=m", APPLY_PATCH, YAML), ("PATCH", "/a?fieldManager=m&force=true", APPLY_PATCH, canary.secret("a")),
    ("PATCH", "/s", "application/x-none", canary.VALUE), ("DELETE", "/s", JSON, canary.secret()), ("DELETE", "/t", None, None),
    ("DELETE", "", JSON, {"kind": "DeleteOptions", "apiVersion": "v1", "x": canary.VALUE}),
]
# (path, body)
ELSEWHERE = [
    ("/api/v1/namespaces/default/configmaps", canary.secret("misplaced")), ("/api/v1/namespaces/default/configmaps", YAML),
    ("/api/v1/namespaces/default/configmaps", {"kind": "List", "apiVersion": "v1", "items": [canary.secret("misplaced")]}),
    ("/apis/authentication.k8s.io/v1/tokenreviews", {"kind": "TokenReview", "spec": {"token": canary.VALUE, "audiences": ["a"]}}),
    ("/apis/authentication.k8s.io/v1/tokenreviews", json.dumps({"spec": {"token": canary.VALUE}})[:-2]),
    ("/api/v1/namespaces/default/serviceaccounts/bot/token", {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
        "spec": {"audiences": ["a"]}, "status": {"token": canary.VALUE}}),
]


class Canary(Writes):
    def check(self, policy):
        run, report = os.path.join(self.folder, policy + ".run"), os.path.join(self.folder, policy + ".json")
        server = self.start("--write", policy, "--run", run, "--report", report, made=made())
        for method, path, content_type, body in SENT:
            self.give(method, PATH + path, content_type, body)
        for path, body in ELSEWHERE:
            self.give("POST", path, "application/yaml" if isinstance(body, str) and "\n" in body else JSON, body)
        server.get("/api/v1/secrets", Authorization="Bearer " + canary.VALUE.replace("\\", ""))
        self.assertEqual(server.stop(), 0)
        canary.assert_nowhere(self, self.folder, runs=[run], texts=[server.stderr()])
        return run

    def give(self, method, target, content_type, body):
        data = body if isinstance(body, (bytes, type(None))) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.server.request(method, target, {"Accept": JSON, **({"Content-Type": content_type} if content_type else {})}, data)

    def test_bodies_of_writes_that_are_overlaid(self):
        run = self.check("overlay")
        writes = dict(canary.run_file_texts(run))["writes"]
        self.assertIn(b"redacted:", writes)
        self.assertRegex(writes, rb'"name":"proto"[^\n]*"data":{"p":"cmVkYWN0ZWQ6')

    def test_bodies_of_writes_that_are_absorbed(self):
        self.check("absorb")

    def test_bodies_of_writes_that_are_refused(self):
        self.check("reject")


if __name__ == "__main__":
    unittest.main()
