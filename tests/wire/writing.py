"""What tests of writes to a replay share: a small tape, and a program that writes."""

import json

from replays import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, NODES, PODS, Case, Tape, obj
from waiting import wait_for

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

    def wait_until(self, ask, wanted):
        wait_for(lambda: ask() == wanted, wanted)

    def rv(self, target):
        return self.get(target)[1]["metadata"]["resourceVersion"]

    def error(self, answer, code, reason):
        status, body = answer
        self.assertEqual((status, body["kind"], body["code"], body.get("reason")), (code, "Status", code, reason), body)
        return body
