"""The requests that write, all of them for nothing: what is wrong with them keeps them from being carried out, or they
ask for a dry run. So the cluster's counter stands still."""

import itertools
import json

from differential.catalog import CORE, OBJECTS, PARTIAL, TABLE, TEST, url
from differential.wire import Request

MAPS, PODS, WIDGETS, LEASES = (f"{CORE}/namespaces/a/configmaps", f"{CORE}/namespaces/a/pods",
    f"{TEST}/namespaces/a/widgets", "/apis/coordination.k8s.io/v1/namespaces/a/leases")
DEPLOYMENTS = "/apis/apps/v1/namespaces/a/deployments"
MAP, POD, WIDGET, LEASE, DEPLOYMENT = (f"{MAPS}/item-1", f"{PODS}/p-bound", f"{WIDGETS}/w-1", f"{LEASES}/l-1",
    f"{DEPLOYMENTS}/d-1")
DRY = {"dryRun": "All"}
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH, MERGE, STRATEGIC, APPLY = ("application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml")


def body(kind="ConfigMap", api="v1", name="new", more=None, **metadata):
    """An object as a request has it; more: members beside its metadata."""
    return json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, **(more or {})}).encode()


def widget(name="new", **spec):
    return body("Widget", "test.example.com/v1", name, {"spec": spec})


def deployment(**spec):
    chosen = {"matchLabels": {"app": "web"}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    return body("Deployment", "apps/v1", more={"spec": {"selector": chosen, "template": template, **spec}})


def send(family, method, path, text=None, kind=JSON, accept=None, **query):
    headers = {**({"Content-Type": kind} if kind else {}), **({"Accept": accept} if accept else {})}
    return Request(family, url(path, **DRY, **query), headers, method, text)


# Nothing that could be read as an object of the kind that is asked for.
NOT_JSON = (b"", b" ", b"{", b"}", b"{}", b"[]", b"null", b"7", b'"x"', b"true", b"nonsense", b'{"a"}', b'{"a":}', b'{"a":1,}',
    b'{"a":1}x', b'{"a":1}{"b":2}', b"{'a':1}", b'{"a":01}', b'{"a":+1}', b'{"a":.5}', b'{"a":NaN}', b'{"a":tru}', b'{"a":"\x01"}',
    b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"a":"', b'{"a":[', b'{"a":[1,]}', b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"\x00", b"<a/>",
    b'{"kind":"ConfigMap"', b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"new"},"data":{"a":"b"}} trailing',
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"new"}}\n\n', b'\n {"kind":"ConfigMap","apiVersion":"v1"}')
# Objects of another kind, or with members of another type.
NOT_MAPS = (body("Pod"), body("Nothing"), body(api="v2"), body(api="apps/v1"), body(api=""), body(kind=""), body("configmap"),
    b'{"kind":7,"apiVersion":"v1"}', b'{"kind":"ConfigMap","apiVersion":7}', b'{"kind":null,"apiVersion":null,"metadata":{"name":"new"}}',
    b'{"metadata":{"name":"new"}}', b'{"kind":"ConfigMap","metadata":{"name":"new"}}', b'{"apiVersion":"v1","metadata":{"name":"new"}}',
    b'{"KIND":"ConfigMap","apiVersion":"v1","metadata":{"name":"new"}}', b'{"kind":"ConfigMap","apiVersion":"v1","metadata":[]}',
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":"x"}', b'{"kind":"ConfigMap","apiVersion":"v1","metadata":null}',
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":7}}', b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{"a":1}}}',
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":[]}}', body(creationTimestamp="soon"), body(generation="1"),
    body(more={"data": []}), body(more={"data": {"a": 1}}), body(more={"data": {"a": None}}), body(more={"binaryData": {"a": "%"}}),
    body(more={"immutable": "yes"}), b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"new","name":"other"}}',
    body(more={"odd": 1}), body(odd=1), body(more={"Data": {"a": "b"}}))
# Names, places and versions that are not to be.
NOT_TO_BE = (body(name=""), body(name="UPPER"), body(name="a_b"), body(name="a" * 254), body(name="-a"), body(name="a/b"), body(name=".."),
    body(namespace="ab"), body(namespace=""), body(generateName="x-"), body(name="", generateName="X-"), body(resourceVersion="1"),
    body(resourceVersion="x"), body(uid="u"), body(name="item-1"), body(labels={"a b": "c"}), body(labels={"a": "b c"}),
    body(annotations={"a b": "c"}), body(finalizers=["x"]), body(finalizers=["example.com/x"]), body(ownerReferences=[{}]),
    body(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]), body(managedFields=[{}]),
    body(more={"data": {"a b": "c"}}), body(more={"data": {"a": "b"}, "binaryData": {"a": "Yg=="}}), body(deletionTimestamp="2026-01-01T00:00:00Z"))
TYPES = (None, "", JSON, "application/json; charset=utf-8", "APPLICATION/JSON", "application/*", "*/*", "text/plain", "text/json", "text/yaml",
    "application/x-www-form-urlencoded", YAML, "application/cbor", "nonsense", ";", MERGE, JSON_PATCH, STRATEGIC, APPLY,
    "application/apply-patch+cbor", "multipart/form-data")
NOT_YAML = (b"", b"a: [", b"a: b: c", b"\t", b"- a", b"7", b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: new}", b"a: &x b\nc: *y",
    b"kind: ConfigMap\nkind: Pod\napiVersion: v1", b"--- {}\n--- {}", b"kind: !!binary x", b"{", b"\xff")


def bodies():
    for text in NOT_JSON + NOT_MAPS + NOT_TO_BE:
        yield send("create", "POST", MAPS, text)
    for text in NOT_JSON + NOT_MAPS:
        yield send("update", "PUT", MAP, text)
    for text in NOT_JSON:
        yield send("create", "POST", WIDGETS, text)
        yield send("update", "PUT", WIDGET, text)
        yield send("create", "POST", f"{CORE}/nothing", text)
    for text in NOT_YAML:
        yield send("create", "POST", MAPS, text, YAML)
        yield send("create", "POST", WIDGETS, text, YAML)
        yield send("update", "PUT", MAP, text, YAML)
    for kind, path in itertools.product(TYPES, (MAPS, WIDGETS)):
        yield send("content type", "POST", path, b"{}", kind)
        yield send("content type", "PUT", path + "/missing", b"{}", kind)
        yield send("content type", "PATCH", path + "/missing", b"{}", kind)
        yield send("content type", "DELETE", path + "/missing", b"{}", kind)
    for text in (b"", b"k8s\x00", b"k8s\x00\xff", b"{}", b"k8s\x00" + b"\x0a\x0b\x0a\x02v1\x12\x05Lease\x12\x00"):
        yield send("protobuf", "POST", LEASES, text, PROTOBUF)
        yield send("protobuf", "POST", MAPS, text, PROTOBUF)


def values():
    """Fields that are not there, and values of another type than theirs."""
    for check in ("Strict", "Warn", "Ignore", "", "strict", "x"):
        for path, text in ((MAPS, body(more={"odd": 1})), (MAPS, body()), (WIDGETS, widget(odd=1)),
                (DEPLOYMENTS, deployment(odd=1, replicas=1)),
                (MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"new"},"data":{"a":"b"},"data":{"a":"c"}}')):
            yield send("validation", "POST", path, text, fieldValidation=check)
        yield send("validation", "PATCH", DEPLOYMENT, b'{"spec":{"odd":1}}', MERGE, fieldValidation=check)
        yield send("validation", "PATCH", WIDGET, b'{"spec":{"odd":1}}', MERGE, fieldValidation=check)
    for spec in ({"replicas": "3"}, {"replicas": 1.5}, {"replicas": None}, {"replicas": 1e20}, {"paused": "true"}, {"strategy": 1},
            {"template": []}, {"selector": "a=b"}, {"replicas": True}, {"minReadySeconds": -2147483649}):
        yield send("value", "POST", DEPLOYMENTS, deployment(**spec))
        yield send("value", "PATCH", DEPLOYMENT, json.dumps({"spec": spec}).encode(), MERGE)
        if spec.get("replicas") != 1e20:  # which number Go makes of it there depends on the processor
            yield send("value", "PATCH", DEPLOYMENT, json.dumps({"spec": spec}).encode(), STRATEGIC)
    for spec in ({"replicas": "3"}, {"replicas": 1.5}, {"colour": 1}, {"colour": None}, {"odd": {}}, []):
        text = json.dumps({"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": {"name": "new"}, "spec": spec}).encode()
        yield send("value", "POST", WIDGETS, text)
        yield send("value", "PATCH", WIDGET, json.dumps({"spec": spec}).encode(), MERGE)
    for name, text in (("renewTime", "soon"), ("renewTime", "2026-01-02T03:04:05Z"), ("leaseDurationSeconds", "15"), ("acquireTime", 7)):
        yield send("value", "POST", LEASES, body("Lease", "coordination.k8s.io/v1", more={"spec": {name: text}}))


def makings():
    """What is made of kinds of which the API server knows more than their fields: names, texts of Secrets, labels."""
    for path, api, kind in ((f"{CORE}/namespaces", "v1", "Namespace"), (f"{CORE}/namespaces/a/secrets", "v1", "Secret"),
            ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole")):
        for name in ("Bad_Name", "a.b", "a.", "a..b", "a.-b", "-a", "a:b", "a" * 64, "a" * 53, "A" * 300, "..", "a/b", "a%b"):
            yield send("making", "POST", path, body(kind, api, name, **({"labels": {"a b": ""}} if kind == "ClusterRole" else {})))
    secrets = f"{CORE}/namespaces/a/secrets"
    for more in ({"stringData": {"a": "b"}}, {"data": {"a": "eA=="}, "stringData": {"a": "b", "c": ""}}, {"data": {"a": "eA=="}}, {"stringData": {}},
            {"type": "example.com/x", "stringData": {"a": "\u00e9\n"}}, {"stringData": {"a": None}}):
        yield send("making", "POST", secrets, body("Secret", more=more))
        yield send("making", "PUT", f"{secrets}/s-tls", body("Secret", name="s-tls", more=more))
        for kind in (MERGE, STRATEGIC):
            yield send("making", "PATCH", f"{secrets}/s-tls", json.dumps(more).encode(), kind)
        if None not in more.get("stringData", {}).values():
            yield send("making", "PATCH", f"{secrets}/s-tls", body("Secret", name="s-tls", more=more), APPLY, fieldManager="m", force="true")
    for labels in ({}, None, {"kubernetes.io/metadata.name": "other"}, {"x": "y"}):
        yield send("making", "PATCH", f"{CORE}/namespaces/a", json.dumps({"metadata": {"labels": labels}}).encode(), MERGE)
        yield send("making", "POST", f"{CORE}/namespaces", body("Namespace", labels=labels))
    for force in ("true", "false", "1", ""):
        yield send("making", "PATCH", MAP, b"{}", MERGE, force=force)


def patches():
    changes = {
        MERGE: (b"", b"{", b"{}", b"[]", b"null", b"7", b'{"metadata":{"labels":{"x":"y"}}}', b'{"metadata":{"name":"other"}}',
            b'{"metadata":{"resourceVersion":"1"}}', b'{"metadata":{"uid":"x"}}', b'{"kind":"Pod"}', b'{"data":{"a":1}}', b'{"data":null}',
            b'{"metadata":null}', b'{"metadata":{"namespace":"ab"}}', b'{"apiVersion":"v2"}', b'{"metadata":{"labels":{"x":null}}}'),
        JSON_PATCH: (b"", b"{}", b"[]", b"[", b"null", b"7", b"[{}]", b"[7]", b'[{"op":"add"}]', b'[{"op":"odd","path":"/data"}]',
            b'[{"op":"add","path":"/data/x","value":"y"}]', b'[{"op":"remove","path":"/nothing"}]', b'[{"op":"test","path":"/kind","value":"Pod"}]',
            b'[{"op":"test","path":"/kind","value":"ConfigMap"}]', b'[{"op":"replace","path":"/nothing/at/all","value":1}]',
            b'[{"op":"add","path":"x","value":1}]', b'[{"op":"add","path":"/metadata/labels","value":7}]', b'[{"op":"copy","from":"/x","path":"/y"}]',
            b'[{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]', b'[{"op":"remove","path":""}]',
            b'[{"op":"replace","path":"","value":{}}]', b'[{"op":"add","path":"/data/-","value":1}]', b'[{"op":"remove","path":"/metadata"}]'),
        STRATEGIC: (b"", b"{", b"{}", b"[]", b"null", b'{"metadata":{"labels":{"x":"y"}}}', b'{"$patch":"replace"}', b'{"$patch":"odd"}',
            b'{"data":{"$patch":"delete"}}', b'{"metadata":{"finalizers":7}}', b'{"metadata":{"$retainKeys":["name"]}}',
            b'{"metadata":{"ownerReferences":[{"name":"x"}]}}', b'{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}}'),
    }
    for kind, texts in changes.items():
        for text, path in itertools.product(texts, (MAP, WIDGET, MAPS + "/missing")):
            yield send("patch", "PATCH", path, text, kind)
    for text in (b"", b"{", b"{}", b"[]", b"kind: ConfigMap", body(name="item-1"), body(name="other"), body("Pod", name="item-1"), body(name=""),
            body(name="item-1", managedFields=[{}]), body(name="item-1", resourceVersion="1"), body(name="new", resourceVersion="1"), body(name="item-1", more={"odd": 1}),
            b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: item-1}\ndata: {a: b}", b"a: ["):
        yield send("apply", "PATCH", MAP, text, APPLY, fieldManager="m")
        yield send("apply", "PATCH", MAPS + "/new", text, APPLY, fieldManager="m", force="true")
    for manager in ("", "m" * 128, "m" * 129, "a\tb", "ä", " "):
        yield send("manager", "PATCH", MAP, body(name="item-1"), APPLY, fieldManager=manager)
        yield send("manager", "PATCH", MAP, b"{}", MERGE, fieldManager=manager)
        yield send("manager", "POST", MAPS, body(), fieldManager=manager)
        yield send("manager", "PUT", MAP, body(name="item-1"), fieldManager=manager)
        yield send("manager", "PATCH", MAP, b"{}", MERGE, fieldManager=manager, force="true")
    for force in ("", "true", "false", "1", "x"):
        yield send("manager", "PATCH", MAP, body(name="item-1"), APPLY, fieldManager="m", force=force)
    yield send("manager", "PATCH", MAP, body(name="item-1"), APPLY)
    yield send("manager", "PATCH", MAP, b"{}", JSON_PATCH, force="true")


def subresources():
    scale = body("Scale", "autoscaling/v1", "d-1", {"spec": {"replicas": 2}})
    for path, text in ((f"{DEPLOYMENT}/scale", scale), (f"{WIDGET}/scale", scale.replace(b"d-1", b"w-1")), (f"{MAP}/scale", scale),
            (f"{DEPLOYMENTS}/missing/scale", scale), (f"{POD}/status", b'{"status":{"phase":"Failed"}}'),
            (f"{WIDGET}/status", b'{"status":{"ready":false}}'), (f"{MAP}/status", b"{}"), (f"{CORE}/namespaces/a/status", b"{}"),
            (f"{CORE}/nodes/n-1/status", b'{"status":{"phase":"x"}}'), (f"{POD}/ephemeralcontainers", b"{}"), (f"{POD}/nothing", b"{}"),
            (f"{POD}/resize", b"{}"), (f"{CORE}/namespaces/a/finalize", b"{}")):
        yield send("subresource", "PUT", path, text)
        yield send("subresource", "POST", path, text)
        yield send("subresource", "DELETE", path)
        for kind in (MERGE, STRATEGIC, JSON_PATCH, "text/plain"):
            yield send("subresource", "PATCH", path, text, kind)
    for text in (b"", b"{", b"{}", body("Scale", "autoscaling/v1", "other", {"spec": {"replicas": 2}}), body("Pod", "v1", "d-1"),
            body("Scale", "autoscaling/v1", "d-1", {"spec": {"replicas": -1}}), body("Scale", "autoscaling/v1", "d-1", {"spec": {"replicas": "2"}}),
            body("Scale", "autoscaling/v1", "d-1", {}), body("Scale", "autoscaling/v1", "d-1", {"spec": {"replicas": 2}}, resourceVersion="1")):
        yield send("subresource", "PUT", f"{DEPLOYMENT}/scale", text)
    for accept in (TABLE, PARTIAL, "application/yaml", "text/html"):
        for path in (f"{DEPLOYMENT}/scale", f"{WIDGET}/scale", f"{POD}/status", f"{WIDGET}/status", DEPLOYMENT):
            yield Request("subresource", path, {"Accept": accept})
    for method, path in itertools.product(("POST", "PUT", "PATCH", "DELETE"), (f"{POD}/log", f"{POD}/exec", f"{POD}/eviction",
            f"{POD}/binding", f"{CORE}/bindings", f"{CORE}/componentstatuses/x", "/api/v1", "/apis", "/version", "/healthz", "/openapi/v2",
            f"{CORE}/nothing", f"{CORE}/nothing/x", f"{TEST}/nothing", "/nothing", f"{CORE}/namespaces", f"{CORE}/nodes", MAPS, MAP)):
        yield send("method", method, path, b'{"dryRun":["All"]}')
    for method, path in itertools.product(("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"), (f"{TEST}/widgets", f"{TEST}/widgets/w-1",
            f"{TEST}/gadgets/g-2/status", f"{TEST}/gadgets/g-2/scale", f"{WIDGET}/status", f"{WIDGET}/scale", f"{WIDGET}/nothing")):
        yield send("method", method, path, b'{"dryRun":["All"]}')


def deletions():
    # Options in the body count alone: without a dry run in it this would be carried out.
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    for more in ({}, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": -1}, {"gracePeriodSeconds": "x"}, {"preconditions": {"uid": "x"}},
            {"preconditions": {"resourceVersion": "1"}}, {"propagationPolicy": "Odd"}, {"propagationPolicy": "Orphan"},
            {"propagationPolicy": "Foreground"}, {"orphanDependents": True}, {"orphanDependents": True, "propagationPolicy": "Orphan"},
            {"dryRun": ["Odd"]}, {"dryRun": ["All", "Odd"]}, {"odd": 1}, {"kind": "Pod"}, {"apiVersion": "v2"}, {"kind": ""}):
        for path in (MAP, POD, WIDGET, MAPS + "/missing", MAPS):
            yield send("delete", "DELETE", path, json.dumps({**options, **more}).encode())
    for text in (b"", b"{", b"[]", b"nonsense", b"7"):
        yield send("delete", "DELETE", MAP, text)
        yield send("delete", "DELETE", MAPS, text)
    for text in (b"null", b"{}"):
        yield send("delete", "DELETE", MAPS + "/missing", text)
    for query in ({"gracePeriodSeconds": "0"}, {"gracePeriodSeconds": "x"}, {"propagationPolicy": "Odd"}, {"propagationPolicy": "Background"},
            {"orphanDependents": "true"}, {"orphanDependents": "x"}):
        for path in (MAP, POD, MAPS):
            yield send("delete", "DELETE", path, **query)
    for query in ({"labelSelector": "tier=db"}, {"labelSelector": "a b"}, {"fieldSelector": "metadata.name=item-1"}, {"fieldSelector": "odd=x"},
            {"limit": "1"}, {"limit": "x"}, {"continue": "x"}):
        yield send("delete", "DELETE", MAPS, **query)
    for path in (f"{CORE}/namespaces", f"{CORE}/configmaps", f"{CORE}/nodes", f"{CORE}/namespaces/a"):
        yield send("delete", "DELETE", path)
    for dry in ("all", "", "Odd", "All,All"):
        yield Request("dry run", url(MAPS, dryRun=dry), {"Content-Type": JSON}, "POST", body(name="item-1"))


def answers():
    """Errors and objects of writes in all the forms that answers have."""
    for accept, (method, path, text) in itertools.product((TABLE, PARTIAL, "application/yaml", "text/html", "application/cbor", "*/*", PROTOBUF,
            f"{PROTOBUF},{JSON}", "application/json;pretty=1", f"{TABLE},{JSON}"), (("POST", MAPS, body()), ("POST", MAPS, b"{"),
            ("PUT", MAPS + "/missing", body(name="missing")), ("DELETE", MAP, None), ("POST", WIDGETS, widget()), ("POST", f"{CORE}/nothing", b"{}"))):
        yield send("answer", method, path, text, accept=accept)
    for pretty, (method, path, text) in itertools.product(("", "true", "0"), (("POST", MAPS, body()), ("POST", MAPS, b"{"), ("DELETE", MAP, None))):
        yield send("answer", method, path, text, pretty=pretty)
    for path in OBJECTS[:3]:
        yield Request("answer", path, {"Accept": "application/yaml", "If-None-Match": "x"}, "HEAD")


def everything():
    return itertools.chain(bodies(), values(), makings(), patches(), subresources(), deletions(), answers())
