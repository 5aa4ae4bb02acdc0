"""The life of an operator as a script of requests, carried out on a live server and on a replay: its CRD, its custom resource,
what it makes for that, and the end of it all. What each request is answered, and what watches see, is compared."""

import itertools
import json
import re
import time

from differential.wire import Request

PATIENCE_S = 60.0
JSON, MERGE = "application/json", "application/merge-patch+json"
IN = "/api/v1/namespaces/life"
MAPS, PODS, SERVICES, CLAIMS = (f"{IN}/{name}" for name in ("configmaps", "pods", "services", "persistentvolumeclaims"))
SETS, JOBS = "/apis/apps/v1/namespaces/life/statefulsets", "/apis/batch/v1/namespaces/life/jobs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LIONS = "/apis/zoo.example.com/v1/namespaces/life/lions"
LION_CRD = f"{CRDS}/lions.zoo.example.com"
WATCHED = {"configmaps": MAPS, "statefulsets": SETS, "jobs": JOBS, "pods": PODS}

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"')
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
VERSION = re.compile(r'"resourceVersion":"\d+"')
PORT = re.compile(r'("(?:nodePort|healthCheckNodePort)":) *\d+')
TAKEN = re.compile(r"Invalid value: \d+: provided")
# What workloads are filled in with is compared elsewhere.
UNSEEN_SPECS = ("Pod", "StatefulSet", "Job")


def thing(kind, api, name, metadata=None, **members):
    return {"kind": kind, "apiVersion": api, "metadata": {"name": name, **(metadata or {})}, **members}


def config_map(name, **metadata):
    return thing("ConfigMap", "v1", name, metadata)


def owned(kind, api, name, uid, **more):
    return {"ownerReferences": [{"apiVersion": api, "kind": kind, "name": name, "uid": uid, **more}]}


def of_map(name, **more):
    """By a config map that the script has made."""
    return owned("ConfigMap", "v1", name, f"UID OF {name}", **more)


def lion_crd():
    spec = {"type": "object", "properties": {"replicas": {"type": "integer", "default": 1}, "colour": {"type": "string"}}}
    status = {"type": "object", "properties": {"fed": {"type": "boolean"}, "replicas": {"type": "integer"}}}
    return thing("CustomResourceDefinition", "apiextensions.k8s.io/v1", "lions.zoo.example.com", spec={"group": "zoo.example.com",
        "scope": "Namespaced", "names": {"plural": "lions", "kind": "Lion", "shortNames": ["li"]}, "versions": [{"name": "v1",
            "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}]})


def pod(name, **spec):
    return thing("Pod", "v1", name, spec={"containers": [{"name": "main", "image": "i"}], "automountServiceAccountToken": False,
        "serviceAccountName": "default", **spec})


def template():
    return {"metadata": {"labels": {"app": "leo"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}


def steps():
    """(what is done, method, path, body); None as a method: wait until a GET is answered with that code."""
    yield from _definition()
    yield from _custom_resource()
    yield from _made_for_it()
    yield from _services()
    yield from _pods()
    yield from _owners()
    yield from _ends()


def _definition():
    yield "namespace", "POST", "/api/v1/namespaces", thing("Namespace", "v1", "life")
    yield "account", "POST", f"{IN}/serviceaccounts", thing("ServiceAccount", "v1", "default")
    yield "crd", "POST", CRDS, {**lion_crd(), "metadata": {"name": "lions.example.com"}}
    yield "crd", "POST", CRDS, lion_crd()
    yield "served", None, LIONS, 200
    yield "crd", "GET", LION_CRD, None
    yield "discovery", "GET", "/apis/zoo.example.com/v1", None
    yield "discovery", "GET", "/apis/zoo.example.com", None


def _custom_resource():
    lion = thing("Lion", "zoo.example.com/v1", "leo", {"finalizers": ["example.com/lion"]}, spec={"colour": "gold", "wings": 2}, status={"fed": True})
    yield "cr", "POST", LIONS, lion
    yield "cr", "POST", LIONS, lion
    yield "cr value", "POST", LIONS, thing("Lion", "zoo.example.com/v1", "bad", spec={"colour": 7})
    yield "status", "PATCH", f"{LIONS}/leo/status", {"status": {"fed": False, "replicas": 1}, "spec": {"colour": "none"}}
    yield "status", "GET", f"{LIONS}/leo/status", None
    yield "spec", "PATCH", f"{LIONS}/leo", {"spec": {"colour": "brown"}, "status": {"fed": True}}
    yield "label", "PATCH", f"{LIONS}/leo", {"metadata": {"labels": {"a": "b"}}}
    yield "scale", "GET", f"{LIONS}/leo/scale", None
    yield "scale", "PATCH", f"{LIONS}/leo/scale", {"spec": {"replicas": 3}}
    yield "cr", "GET", f"{LIONS}/leo", None


def _made_for_it():
    of_leo = owned("Lion", "zoo.example.com/v1", "leo", "UID OF leo", controller=True, blockOwnerDeletion=True)
    yield "set", "POST", SETS, thing("StatefulSet", "apps/v1", "leo-set", of_leo, spec={"serviceName": "leo-headless", "replicas": 1,
        "selector": {"matchLabels": {"app": "leo"}}, "template": template()})
    yield "set status", "PATCH", f"{SETS}/leo-set/status", {"status": {"replicas": 1, "readyReplicas": 1}}
    yield "set scale", "PATCH", f"{SETS}/leo-set/scale", {"spec": {"replicas": 2}}
    yield "set", "GET", f"{SETS}/leo-set", None
    yield "claim", "POST", CLAIMS, thing("PersistentVolumeClaim", "v1", "leo-data", of_leo, spec={"accessModes": ["ReadWriteOnce"],
        "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}})
    yield "map", "POST", MAPS, config_map("leo-map", **of_leo)


def _services():
    yield "headless", "POST", SERVICES, thing("Service", "v1", "leo-headless", spec={"clusterIP": "None", "selector": {"app": "leo"}, "ports": [{"port": 80}]})
    yield "bare", "POST", SERVICES, thing("Service", "v1", "bare", spec={"clusterIP": "None", "ports": [{"port": 80}]})
    yield "cluster ip", "POST", SERVICES, thing("Service", "v1", "inner", spec={"selector": {"app": "leo"}, "ports": [{"port": 80}], "sessionAffinity": "ClientIP"})
    yield "node port", "POST", SERVICES, thing("Service", "v1", "outer", spec={"type": "NodePort", "ports": [{"port": 80}]})
    yield "balancer", "POST", SERVICES, thing("Service", "v1", "balancer", spec={"type": "LoadBalancer", "externalTrafficPolicy": "Local",
        "ports": [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]})
    yield "external", "POST", SERVICES, thing("Service", "v1", "external", spec={"type": "ExternalName", "externalName": "example.com"})
    yield "taken ip", "POST", SERVICES, thing("Service", "v1", "thief", spec={"clusterIP": "IP OF inner", "ports": [{"port": 80}]})
    yield "taken port", "POST", SERVICES, thing("Service", "v1", "thief", spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": "PORT OF outer"}]})
    yield "no ip", "POST", SERVICES, thing("Service", "v1", "thief", spec={"clusterIP": "nowhere", "ports": [{"port": 80}]})
    yield "change ip", "PATCH", f"{SERVICES}/inner", {"spec": {"clusterIP": "IP OF outer", "clusterIPs": ["IP OF outer"]}}
    yield "to node port", "PATCH", f"{SERVICES}/inner", {"spec": {"type": "NodePort"}}
    yield "to cluster ip", "PATCH", f"{SERVICES}/inner", {"spec": {"type": "ClusterIP"}}
    yield "to external", "PATCH", f"{SERVICES}/inner", {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    yield "back", "PATCH", f"{SERVICES}/inner", {"spec": {"type": "ClusterIP", "externalName": None}}
    yield "delete", "DELETE", f"{SERVICES}/inner", None
    yield "gone", "PUT", f"{SERVICES}/inner", thing("Service", "v1", "inner", {"uid": "00000000-1111-4222-8333-444444444444"}, spec={"ports": [{"port": 80}]})
    yield "gone", "PUT", f"{MAPS}/gone", config_map("gone", uid="00000000-1111-4222-8333-444444444444")


def _pods():
    yield "unscheduled", "POST", PODS, pod("idle")
    yield "delete", "DELETE", f"{PODS}/idle", None
    yield "scheduled", "POST", PODS, pod("busy", nodeName="node-0")
    yield "delete", "DELETE", f"{PODS}/busy", None
    yield "longer", "DELETE", f"{PODS}/busy", {"gracePeriodSeconds": 60}
    yield "shorter", "DELETE", f"{PODS}/busy", {"gracePeriodSeconds": 20}
    yield "finalizer", "PATCH", f"{PODS}/busy", {"metadata": {"finalizers": ["example.com/late"]}}
    yield "at once", "DELETE", f"{PODS}/busy", {"gracePeriodSeconds": 0}
    yield "gone", "GET", f"{PODS}/busy", None


def _owners():
    yield "owner", "POST", MAPS, config_map("o1")
    yield "owner", "POST", MAPS, config_map("o2")
    yield "both", "POST", MAPS, config_map("both", ownerReferences=of_map("o1")["ownerReferences"] + of_map("o2")["ownerReferences"])
    yield "background", "DELETE", f"{MAPS}/o1", {"propagationPolicy": "Background"}
    yield "one is left", None, f"{MAPS}/both", {"owners": ["o2"]}
    yield "orphan", "DELETE", f"{MAPS}/o2", {"propagationPolicy": "Orphan"}
    yield "orphaned", None, f"{MAPS}/o2", 404
    yield "both", "GET", f"{MAPS}/both", None
    yield "front", "POST", MAPS, config_map("front")
    yield "blocks", "POST", MAPS, config_map("blocks", finalizers=["example.com/hold"], **of_map("front", blockOwnerDeletion=True))
    yield "does not", "POST", MAPS, config_map("does-not", **of_map("front"))
    yield "foreground", "DELETE", f"{MAPS}/front", {"propagationPolicy": "Foreground"}
    yield "blocked", None, f"{MAPS}/blocks", {"deletionTimestamp": True}
    yield "blocked", "GET", f"{MAPS}/front", None
    yield "let go", "PATCH", f"{MAPS}/blocks", {"metadata": {"finalizers": None}}
    yield "gone", None, f"{MAPS}/front", 404
    yield "gone", None, f"{MAPS}/does-not", 404
    yield "nobody's", "POST", MAPS, config_map("lost", **owned("ConfigMap", "v1", "front", "00000000-0000-0000-0000-000000000000"))
    yield "gone", None, f"{MAPS}/lost", 404
    yield "job", "POST", JOBS, thing("Job", "batch/v1", "job", spec={"suspend": True, "template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "i"}]}}})
    yield "job", "DELETE", f"{JOBS}/job", None
    yield "gone", None, f"{JOBS}/job", 404


def _ends():
    yield "delete", "DELETE", f"{LIONS}/leo", None
    yield "add finalizer", "PATCH", f"{LIONS}/leo", {"metadata": {"finalizers": ["example.com/lion", "example.com/more"]}}
    yield "status while ending", "PATCH", f"{LIONS}/leo/status", {"status": {"fed": True}}
    yield "finalized", "PATCH", f"{LIONS}/leo", {"metadata": {"finalizers": None}}
    yield "gone", None, f"{LIONS}/leo", 404
    for path in (f"{SETS}/leo-set", f"{CLAIMS}/leo-data", f"{MAPS}/leo-map"):
        yield "collected", None, path, {"over": True}
    yield "last", "POST", LIONS, thing("Lion", "zoo.example.com/v1", "last", {"finalizers": ["example.com/lion"]})
    yield "crd", "DELETE", LION_CRD, None
    yield "too late", None, f"{LIONS}/last", {"deletionTimestamp": True}
    yield "too late", "POST", LIONS, thing("Lion", "zoo.example.com/v1", "late")
    yield "finalized", "PATCH", f"{LIONS}/last", {"metadata": {"finalizers": None}}
    yield "gone", None, LION_CRD, 404


# ---- carrying it out ----

class Side:
    """One server, and what it has made up so far."""

    def __init__(self, server):
        self.server = server
        self.made = {}  # what stands in bodies for what the server has given: its value
        self.told = []  # (step, what was answered)

    def ask(self, method, path, body=None, kind=JSON):
        text = None if body is None else self._filled(json.dumps(body)).encode()
        answer = self.server.ask(Request("life", path, {"Connection": "close", **({"Content-Type": kind} if text else {})}, method, text))
        return answer.status, json.loads(answer.body) if answer.body[:1] == b"{" else answer.body.decode(errors="replace")

    def _filled(self, text):
        for name, value in self.made.items():
            text = text.replace(name, value)
        return re.sub(r'"nodePort": "(\d+)"', r'"nodePort": \1', text)

    def _remember(self, value):
        if not isinstance(value, dict) or "metadata" not in value:
            return
        name, spec = value["metadata"].get("name"), value.get("spec") or {}
        self.made[f"UID OF {name}\""] = value["metadata"].get("uid", "") + '"'
        if value.get("kind") == "Service" and spec.get("clusterIP", "None") != "None":
            self.made[f"IP OF {name}"] = spec["clusterIP"]
            self.made[f"PORT OF {name}"] = str(spec["ports"][0].get("nodePort", ""))

    def carry_out(self, steps_of_life):
        """Does all steps; the answers go into self.told."""
        begins = {name: self.ask("GET", path)[1]["metadata"]["resourceVersion"] for name, path in WATCHED.items()}
        for what, method, path, body in steps_of_life:
            if method is None:
                self._wait(what, path, body)
                continue
            status, value = self.ask(method, path, body, MERGE if method == "PATCH" else JSON)
            if 200 <= status < 300:
                self._remember(value)
            self.told.append((f"{what}: {method} {path}", normal(status, value)))
        for name, path in WATCHED.items():
            self.told.append((f"watch of {name}", self._watched(path, begins[name])))

    def _wait(self, what, path, wanted):
        deadline = time.monotonic() + PATIENCE_S
        while not self._is(path, wanted):
            if time.monotonic() > deadline:
                self.told.append((f"{what}: {path}", f"is not {wanted} after {PATIENCE_S:.0f} s"))
                return
            time.sleep(0.1)

    def _is(self, path, wanted):
        status, value = self.ask("GET", path)
        if isinstance(wanted, int):
            return status == wanted
        metadata = value.get("metadata", {}) if isinstance(value, dict) else {}
        if "owners" in wanted:
            return [o["name"] for o in metadata.get("ownerReferences", [])] == wanted["owners"]
        return "deletionTimestamp" in metadata or (status == 404 and "over" in wanted)

    def _watched(self, path, begin):
        answer = self.server.ask(Request("life", f"{path}?watch=true&timeoutSeconds=2&resourceVersion={begin}", {"Connection": "close"}))
        return [(e["type"], normal(0, e["object"])) for e in _in_order(map(json.loads, answer.body.splitlines()))]


def _in_order(events):
    """Dependents go in any order, as many workers of the collector delete them: of those that go one after the other each object's
    events stay in their order."""
    for are_collected, some in itertools.groupby(events, _is_collected):
        yield from sorted(some, key=lambda e: e["object"]["metadata"]["name"]) if are_collected else some


def _is_collected(event):
    metadata = event["object"].get("metadata", {})
    return "ownerReferences" in metadata and (event["type"] == "DELETED" or "deletionTimestamp" in metadata)


def normal(status, value):
    """What is to be the same: without what each server makes up."""
    if isinstance(value, dict):
        value = json.loads(json.dumps(value))
        _drop_unseen(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    for pattern, word in ((UID, "UID"), (TIME, '"TIME"'), (VERSION, '"resourceVersion":"?"'), (TAKEN, "Invalid value: PORT: provided"), (ADDRESS, "ADDRESS"), (PORT, r"\1 0")):
        text = pattern.sub(word, text)
    return f"{status} {text}" if status else text


def _drop_unseen(value):
    if value.get("kind") in UNSEEN_SPECS:
        value.pop("spec", None)
        value.pop("status", None)
    metadata = value.get("metadata", {})
    metadata.pop("managedFields", None)
    # No controller of a replay would take it away again.
    if metadata.get("finalizers") == ["kubernetes.io/pvc-protection"]:
        del metadata["finalizers"]
    for resource in value.get("resources", []):
        resource.pop("storageVersionHash", None)


def differences(live, replayed):
    """Lines that say where the two sides were told different things."""
    for (what, one), (_, two) in zip(live.told, replayed.told):
        if one != two:
            yield f"{what}:\n    live   {one}\n    replay {two}"
