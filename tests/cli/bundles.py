"""Bundles of the kinds that `kubetape import` reads, made in the documented forms of their programs: a folder's files as
{path: text}, and the folders and archives of them."""
import io
import json
import os
import tarfile
import zipfile

MOMENT = "2026-08-07T15:21:01.123456789Z"


def to_yaml(value, indent=0):
    """In blocks, as the printers of Kubernetes write."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"\n{pad}{key}:{to_yaml(part, indent + 1)}" for key, part in value.items())
    if isinstance(value, list) and value:
        return "".join(f"\n{pad}-{to_yaml(part, indent + 1)}" for part in value)
    return " " + json.dumps(value)


def meta(name, uid, rv, namespace=None, **more):
    own = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": uid, "resourceVersion": str(rv), **more}
    return {"creationTimestamp": "2026-08-07T15:00:00Z", **own}


def thing(api_version, kind, name, uid, rv, namespace=None, **more):
    return {"apiVersion": api_version, "kind": kind, "metadata": meta(name, uid, rv, namespace, **more.pop("metadata", {})), **more}


def list_of(api_version, kind, rv, *items, typed=True):
    if not typed:
        items = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    return {"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": rv}, "items": list(items)}


DEFINITION = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "leafmen.stable.example.com", "crd", 7, spec={
    "group": "stable.example.com", "scope": "Namespaced", "names": {"plural": "leafmen", "singular": "leafman", "kind": "Leafman", "shortNames": ["lm"]},
    "versions": [{"name": "v1", "served": True, "storage": True}]})


def leafman(name, rv, namespace="shop"):
    return thing("stable.example.com/v1", "Leafman", name, f"u-{name}", rv, namespace, spec={"leaves": 3})


def pod(name, uid, rv, namespace="shop", phase="Running"):
    return thing("v1", "Pod", name, uid, rv, namespace, spec={"containers": [{"name": "c", "image": "x<1>&"}]}, status={"phase": phase})


def must_gather():
    top = "must-gather.local.1/quay-io-x-sha256-1/"
    cluster, shop = top + "cluster-scoped-resources/", top + "namespaces/shop/"
    return {
        "must-gather.local.1/timestamp": "2026-08-07 15:20:00.5 +0000 UTC m=+0.01\n2026-08-07 17:21:01.123456789 +0200 CEST m=+60.1\n",
        top + "version": "quay.io/x\nv1\n",
        cluster + "core/nodes/n1.yaml": "---" + to_yaml(thing("v1", "Node", "n1", "n-1", 5)) + "\n",
        cluster + "stable.example.com/leafmen.yaml": to_yaml({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": []}),
        shop + "shop.yaml": to_yaml(thing("v1", "Namespace", "shop", "ns-1", 3)),
        shop + "core/pods.yaml": to_yaml(list_of("v1", "PodList", "20", pod("web-0", "p-0", 10, phase="Pending"), pod("web-1", "p-1", 11), typed=False)),
        shop + "core/configmaps.yaml": to_yaml(list_of("v1", "ConfigMapList", "", typed=False)),
        shop + "core/secrets.yaml": to_yaml(list_of("v1", "SecretList", "21", thing("v1", "Secret", "key", "s-1", 9, "shop", data={"k": "aHVzaA=="}))),
        shop + "pods/web-0/web-0.yaml": to_yaml(pod("web-0", "p-0", 12)),
        shop + "pods/web-0/c/c/logs/current.log": "it runs\n",
        shop + "pods/web-0/c/c/logs/previous.insecure.log": "it ran\n",
        shop + "pods/web-0/c/c/logs/rotated/0.log.20260807-150000.gz": "x",
        shop + "apps/deployments.yaml": to_yaml(list_of("apps/v1", "DeploymentList", "30")),
        shop + "stable.example.com/leafmen/one.yaml": to_yaml(leafman("one", 44)),
        top + "audit_logs/kube-apiserver/n1-audit.log.gz": "x",
        top + "event-filter.html": "<html>",
    }


def support_bundle():
    top, groups = "support-bundle-2026-08-07T15_21_01/", [
        {"name": "", "versions": [{"groupVersion": "v1", "version": "v1"}], "preferredVersion": {"groupVersion": "v1", "version": "v1"}},
        {"name": "stable.example.com", "versions": [{"groupVersion": "stable.example.com/v1", "version": "v1"}],
         "preferredVersion": {"groupVersion": "stable.example.com/v1", "version": "v1"}}]

    def served(name, kind, namespaced, **more):
        return {"name": name, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["get", "list", "watch"], **more}
    resources = [
        {"groupVersion": "v1", "resources": [served("namespaces", "Namespace", False), served("pods", "Pod", True, shortNames=["po"]),
                                             served("persistentvolumeclaims", "PersistentVolumeClaim", True, shortNames=["pvc"]),
                                             served("pods/log", "Pod", True)]},
        {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "stable.example.com/v1",
         "resources": [served("leafmen", "Leafman", True, shortNames=["lm"])]}]
    at = top + "cluster-resources/"
    return {
        top + "version.yaml": "apiVersion: troubleshoot.sh/v1beta2\n",
        top + "cluster-info/cluster_version.json": json.dumps({"info": {"major": "1", "minor": "33", "gitVersion": "v1.33.7"}, "string": "v1.33.7"}),
        at + "groups.json": json.dumps(groups), at + "resources.json": json.dumps(resources, indent=2),
        at + "namespaces.json": json.dumps(list_of("v1", "NamespaceList", "20", thing("v1", "Namespace", "shop", "ns-1", 3))),
        at + "namespaces-errors.json": "null", at + "auth-cani-list/shop.json": "{}",
        at + "pods/shop.json": json.dumps(list_of("v1", "PodList", "21", pod("web-0", "p-0", 12)), indent=2),
        at + "pods/empty.json": json.dumps(list_of("v1", "PodList", "22")),
        at + "pvcs/shop.json": json.dumps(list_of("v1", "PersistentVolumeClaimList", "23", thing("v1", "PersistentVolumeClaim", "d", "v-1", 8, "shop"))),
        at + "custom-resource-definitions.json": json.dumps(list_of("apiextensions.k8s.io/v1", "CustomResourceDefinitionList", "24", DEFINITION)),
        at + "custom-resources/leafmen.stable.example.com/shop.json": json.dumps([leafman("one", 44)]),
        at + "custom-resources/leafmen.stable.example.com/empty.json": "[]",
        at + "pods/logs/shop/web-0/c.log": "***HIDDEN***\n",
        top + "analysis.json": "[]",
    }


def crust_gather():
    top = "gathered/"
    discovery = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}

    def resource(name, kind, group, scope):
        return {"resource": name, "responseKind": {"group": group, "version": "v1", "kind": kind}, "scope": scope, "singularResource": kind.lower(),
                "verbs": ["get", "list", "watch"], "shortNames": [name[:2]]}
    core = {**discovery, "items": [{"metadata": {}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
        resource("pods", "Pod", "", "Namespaced"), resource("nodes", "Node", "", "Cluster")]}]}]}
    apis = {**discovery, "items": [{"metadata": {"name": "stable.example.com"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
        resource("leafmen", "Leafman", "stable.example.com", "Namespaced")]}]}]}
    return {
        top + "version.yaml": "major: '1'\nminor: '34'\ngitVersion: v1.34.1\n",
        top + "api.json": json.dumps(core), top + "apis.json": json.dumps(apis),
        top + "collected.timestamp": '"2026-08-07 15:21:01.123456789 UTC"',
        top + "cluster/v1/node/n1.yaml": to_yaml(thing("v1", "Node", "n1", "n-1", 5)),
        top + "namespaces/shop/v1/pod/web-0.yaml": to_yaml(pod("web-0", "p-0", 12)),
        top + "namespaces/shop/stable.example.com-v1/leafman/one.yaml": to_yaml(leafman("one", 44)),
        top + "namespaces/shop/v1/pod/web-0/c/current.log": "it runs\n",
        top + "app-versions.yaml": "[]\n",
    }


def told(when, what, obj):
    """As the recorder of crust-gather writes an object that a watch told of."""
    annotations = {**obj["metadata"].get("annotations", {}), f"crust-gather.io/{what}": f"2026-08-07T15:{when}Z"}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def crust_record():
    """A pod that is told of, changes, goes, and comes again in the same file."""
    at = "recorded/namespaces/shop/v1/pod/web-0"
    note = "/metadata/annotations/crust-gather.io~1"

    def patch(*operations):
        return json.dumps([{"op": op, "path": path, **({"value": value} if value is not None else {})} for op, path, value in operations]) + "\n"

    def now(old, new, when, rv, *more):
        return patch(("remove", note + old, None), ("add", note + new, f"2026-08-07T15:{when}Z"),
                     ("replace", "/metadata/resourceVersion", str(rv)), *more)
    return {
        "recorded/collected.timestamp": '"2026-08-07 15:20:00 UTC"',
        at + ".yaml": to_yaml(told("20:01.5", "added", pod("web-0", "p-0", 12, phase="Pending"))),
        at + ".patch": now("added", "updated", "20:02", 13, ("replace", "/status/phase", "Running"))
        + patch(("replace", note + "updated", "2026-08-07T15:20:03Z"))  # told again, and nothing is new
        + now("updated", "deleted", "20:04", 14) + now("deleted", "added", "20:05", 20, ("replace", "/metadata/uid", "p-9")),
    }


def write_folder(folder, files):
    for path, text in files.items():
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def write_tar(path, files, mode="w:gz", mtime=1786116061):
    with tarfile.open(path, mode) as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text.encode()), mtime
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def write_off_by_one(path, files):
    """The tar of crust-gather: each size is one too large, and the blocks are filled up as if it were not."""
    raw = io.BytesIO()
    for name, text in files.items():
        data, entry = text.encode(), tarfile.TarInfo(name)
        entry.size = len(data) + 1
        raw.write(entry.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512))
    with open(path, "wb") as file:
        file.write(raw.getvalue() + bytes(1024))
    return path
