"""Incidents as rows of tapes: what a recorder sees of a cluster when something goes wrong."""
from audit_log import managed, stamp
from tapes import DEPLOYMENTS, NODES, PODS, event

REPLICASETS = {"group": "apps", "version": "v1", "resource": "replicasets", "kind": "ReplicaSet", "namespaced": True}
NAMESPACES = {"version": "v1", "resource": "namespaces", "kind": "Namespace", "namespaced": False}
EVENTS = {"version": "v1", "resource": "events", "kind": "Event", "namespaced": True}
QUOTAS = {"version": "v1", "resource": "resourcequotas", "kind": "ResourceQuota", "namespaced": True}
LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease", "namespaced": True}
WEBHOOKS = {"group": "admissionregistration.k8s.io", "version": "v1", "resource": "validatingwebhookconfigurations",
            "kind": "ValidatingWebhookConfiguration", "namespaced": False}
STATEFULSETS = {"group": "apps", "version": "v1", "resource": "statefulsets", "kind": "StatefulSet", "namespaced": True}
JOBS = {"group": "batch", "version": "v1", "resource": "jobs", "kind": "Job", "namespaced": True}
CONFIGMAPS = {"version": "v1", "resource": "configmaps", "kind": "ConfigMap", "namespaced": True}
AUTOSCALERS = {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers", "kind": "HorizontalPodAutoscaler",
               "namespaced": True}
STREAMS = {s["kind"]: s for s in (PODS, DEPLOYMENTS, REPLICASETS, NODES, NAMESPACES, EVENTS, QUOTAS, LEASES, WEBHOOKS, STATEFULSETS,
                                  JOBS, CONFIGMAPS, AUTOSCALERS)}


class Cluster:
    """Makes events in order; each object keeps what it was last."""

    def __init__(self):
        self.rows, self.rv = [], 100

    def put(self, at, type_, obj, **more):
        self.rv += 1
        obj["metadata"]["resourceVersion"] = str(self.rv)
        self.rows.append(event(at, type_, {**obj, "metadata": dict(obj["metadata"])}, stream=STREAMS[obj["kind"]], **more))
        return obj

    def add(self, at, obj, **more):
        return self.put(at, "ADDED", obj, **more)

    def change(self, at, obj, manager=None, subresource=None, **members):
        """The object with other members; who wrote it stands in managedFields if it is said."""
        new = {**obj, **members, "metadata": {**obj["metadata"], **members.get("metadata", {})}}
        if manager:
            new["metadata"]["managedFields"] = [
                e for e in obj["metadata"].get("managedFields", []) if e["manager"] != manager] + managed(
                    (manager, at, subresource) if subresource else (manager, at))
        return self.put(at, "MODIFIED", new)

    def delete(self, at, obj, **more):
        return self.put(at, "DELETED", {**obj, "metadata": dict(obj["metadata"])}, **more)


def obj(kind, name, namespace="shop", api="v1", owner=None, uid=None, **members):
    meta = {"name": name, "uid": uid or f"{kind.lower()}-{name}", "creationTimestamp": stamp(0)[:19] + "Z"}
    if namespace:
        meta["namespace"] = namespace
    if owner:
        meta["ownerReferences"] = [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                                    "uid": owner["metadata"]["uid"], "controller": True}]
    return {"kind": kind, "apiVersion": api, "metadata": meta, **members}


def template(image="web:1", memory=None):
    container = {"name": "app", "image": image}
    if memory:
        container["resources"] = {"limits": {"memory": memory}}
    return {"spec": {"containers": [container]}}


def condition(type_, status, reason, message):
    return {"type": type_, "status": status, "reason": reason, "message": message}


NOT_READY = condition("Ready", "False", "ContainersNotReady", "containers with unready status: [app]")


def ended(code, reason="Error", at=0):
    """How a container ended, as its state or last state."""
    return {"exitCode": code, "reason": reason, "finishedAt": stamp(at)[:19] + "Z", "containerID": f"containerd://{at}"}


def status(name, last=None, waits=None, message=None, restarts=0, ready=False):
    """Of a container that waits or runs, and ended before."""
    state = {"waiting": {"reason": waits, **({"message": message} if message else {})}} if waits else {"running": {"startedAt": stamp(0)[:19] + "Z"}}
    return {"name": name, "image": "web:1", "ready": ready, "restartCount": restarts, "state": state, "lastState": {"terminated": last} if last else {}}


def warning(cluster, at, about, reason, message, count=1, type_="Warning", **more):
    """An Event as a component of the cluster sends it."""
    meta = about["metadata"]
    return cluster.add(at, obj("Event", f"{meta['name']}.{len(cluster.rows):x}", namespace=meta.get("namespace", "default"), reason=reason, message=message,
                               type=type_, count=count, source={"component": "kubelet"},
                               involvedObject={"kind": about["kind"], "name": meta["name"], "uid": meta["uid"]}), **more)


def web(cluster, at=0, image="web:1", replicas=1, **more):
    """A Deployment with its ReplicaSet and a Pod."""
    deployment = cluster.add(at, obj("Deployment", "web", api="apps/v1", spec={"replicas": replicas, "template": template(image, **more)}),
                             origin="list" if at == 0 else "watch")
    replicaset = cluster.add(at, obj("ReplicaSet", "web-1", api="apps/v1", owner=deployment, spec={"replicas": replicas}))
    pod = cluster.add(at, obj("Pod", "web-1-a", owner=replicaset, spec={**template(image, **more)["spec"], "nodeName": "n1"},
                              status={"phase": "Running"}))
    return deployment, replicaset, pod


def new_pod(cluster, at, deployment, status, image="web:2", **more):
    """What a changed template makes: another ReplicaSet and its Pod, which comes to that status."""
    replicaset = cluster.add(at, obj("ReplicaSet", "web-2", api="apps/v1", owner=deployment, spec={"replicas": 1}))
    pod = cluster.add(at + 0.1, obj("Pod", "web-2-b", owner=replicaset, spec={**template(image, **more)["spec"], "nodeName": "n1"},
                                    status={"phase": "Pending"}))
    not_ready = condition("Ready", "False", "ContainersNotReady", "containers with unready status: [app]")
    return cluster.change(at + 5, pod, "kubelet", "status", status={"phase": "Running", "conditions": [not_ready], **status})


def bad_image():
    c = Cluster()
    deployment, _, _ = web(c)
    deployment = c.change(10, deployment, "kubectl-set", spec={"replicas": 1, "template": template("web:tpyo")})
    new_pod(c, 10.2, deployment, {"containerStatuses": [{
        "name": "app", "image": "web:tpyo", "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"web:tpyo\""}}}]}, "web:tpyo")
    return c.rows


def out_of_memory():
    c = Cluster()
    deployment, _, _ = web(c, memory="512Mi")
    deployment = c.change(10, deployment, "helm", spec={"replicas": 1, "template": template("web:1", "64Mi")})
    new_pod(c, 10.2, deployment, {"containerStatuses": [{
        "name": "app", "image": "web:1", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}, "web:1", memory="64Mi")
    return c.rows


def eviction():
    c = Cluster()
    _, _, pod = web(c)
    node = c.add(0, obj("Node", "n1", namespace=None, status={"conditions": [condition("MemoryPressure", "False", "Ok", "")]}), origin="list")
    c.change(20, node, "kubelet", "status", status={"conditions": [
        condition("MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")]})
    c.change(21, pod, "kubelet", "status", status={"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."})
    return c.rows


def quota():
    c = Cluster()
    deployment, replicaset, _ = web(c)
    limits = c.add(0, obj("ResourceQuota", "team", spec={"hard": {"pods": "10"}}), origin="list")
    c.change(5, limits, "kubectl-edit", spec={"hard": {"pods": "1"}})
    deployment = c.change(10, deployment, "kubectl", spec={"replicas": 3, "template": template()})
    c.change(10.2, replicaset, "kube-controller-manager", "status", status={"conditions": [condition(
        "ReplicaFailure", "True", "FailedCreate", "pods \"web-1-x\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1")]})
    return c.rows


def scaled_to_zero():
    c = Cluster()
    deployment, replicaset, pod = web(c)
    c.change(30, deployment, "kubectl", spec={"replicas": 0, "template": template()})
    c.change(30.1, replicaset, "kube-controller-manager", spec={"replicas": 0})
    c.change(30.2, pod, metadata={"deletionTimestamp": stamp(60)[:19] + "Z"})
    c.delete(33, pod)
    return c.rows


def namespace_deleted():
    c = Cluster()
    namespace = c.add(0, obj("Namespace", "shop", namespace=None, status={"phase": "Active"}), origin="list")
    deployment, _, pod = web(c)
    namespace = c.change(10, namespace, metadata={"deletionTimestamp": stamp(10)[:19] + "Z"}, status={"phase": "Terminating"})
    c.delete(11, pod)
    c.delete(12, deployment)
    c.delete(13, namespace)
    return c.rows


def node_lost():
    c = Cluster()
    node = c.add(0, obj("Node", "n1", namespace=None, status={"conditions": [condition("Ready", "True", "KubeletReady", "")]}), origin="list")
    _, _, pod = web(c)
    lease = c.add(0, obj("Lease", "n1", namespace="kube-node-lease", api="coordination.k8s.io/v1", spec={"renewTime": stamp(0)}), origin="list")
    for at in (10, 20):
        lease = c.change(at, lease, "kubelet", spec={"renewTime": stamp(at)})
    c.change(60, node, "kube-controller-manager", "status", status={"conditions": [
        condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")]})
    pod = c.change(90, pod, "kube-controller-manager", "status", status={"conditions": [
        condition("DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")]})
    c.delete(91, pod)
    return c.rows


def webhook(message="failed calling webhook \"check.example.com\": connect: connection refused"):
    c = Cluster()
    deployment, replicaset, _ = web(c)
    c.add(10, obj("ValidatingWebhookConfiguration", "checks", namespace=None, api="admissionregistration.k8s.io/v1", webhooks=[{
        "name": "check.example.com", "failurePolicy": "Fail", "clientConfig": {"service": {"namespace": "checks", "name": "check"}}}]))
    deployment = c.change(20, deployment, "kubectl", spec={"replicas": 2, "template": template()})
    c.change(20.2, replicaset, "kube-controller-manager", "status", status={"conditions": [
        condition("ReplicaFailure", "True", "FailedCreate", f"Internal error occurred: {message}")]})
    return c.rows


def expired_certificate():
    return webhook("failed calling webhook \"check.example.com\": tls: failed to verify certificate: x509: certificate has expired "
                   "or is not yet valid")


def not_ready(cluster, at, pod, *statuses, phase="Running", **more):
    """What the kubelet says of a pod whose containers are not ready."""
    return cluster.change(at, pod, "kubelet", "status", status={"phase": phase, "conditions": [condition("PodScheduled", "True", "", ""), NOT_READY],
                                                                "containerStatuses": list(statuses), **more})


def rolled_out(cluster, manager="helm", image="web:2"):
    """A Deployment whose template is changed at 10 s; the Pod that this makes."""
    deployment, _, _ = web(cluster)
    deployment = cluster.change(10, deployment, manager, spec={"replicas": 1, "template": template(image)})
    replicaset = cluster.add(10.2, obj("ReplicaSet", "web-2", api="apps/v1", owner=deployment, spec={"replicas": 1}))
    return cluster.add(10.3, obj("Pod", "web-2-b", owner=replicaset, spec={**template(image)["spec"], "nodeName": "n1"}, status={"phase": "Pending"}))


def readiness():
    c = Cluster()
    pod = not_ready(c, 15, rolled_out(c), status("app"))
    event_of = warning(c, 20, pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404")
    c.change(40, event_of, count=9)
    return c.rows


def liveness():
    c = Cluster()
    _, _, pod = web(c)
    warning(c, 20, pod, "Unhealthy", "Liveness probe failed: context deadline exceeded")
    not_ready(c, 22, pod, status("app", ended(137, at=22), restarts=1))
    warning(c, 30, pod, "BackOff", "Back-off restarting failed container app")
    return c.rows


def init_container():
    c = Cluster()
    pod = rolled_out(c)
    not_ready(c, 15, pod, status("app", waits="PodInitializing"), phase="Pending",
              initContainerStatuses=[status("migrate", ended(1, at=14), waits="CrashLoopBackOff", restarts=2)])
    warning(c, 16, pod, "BackOff", "Back-off restarting failed container migrate")
    return c.rows


def missing_config():
    c = Cluster()
    config = c.add(0, obj("ConfigMap", "settings"), origin="list")
    c.delete(5, config)
    pod = not_ready(c, 15, rolled_out(c), status("app", waits="ContainerCreating"), phase="Pending")
    warning(c, 16, pod, "FailedMount", 'MountVolume.SetUp failed for volume "conf" : configmap "settings" not found', count=4)
    return c.rows


SECRETS = {"version": "v1", "resource": "secrets", "kind": "Secret", "namespaced": True}
STREAMS["Secret"] = SECRETS


def key_gone():
    c = Cluster()
    secret = c.add(0, obj("Secret", "db", data={"user": "dQ==", "pass.word": "cA=="}), origin="list")
    c.add(0, obj("Secret", "db2", data={"user": "dQ=="}), origin="list")
    secret = c.change(5, secret, "kubectl-edit", data={"user": "dQ=="})
    c.change(8, secret, "kubectl-label", metadata={"labels": {"a": "b"}})
    not_ready(c, 15, rolled_out(c), status("app", waits="CreateContainerConfigError", message="couldn't find key pass.word in Secret shop/db"), phase="Pending")
    return c.rows


def key_of_a_volume_gone():
    c = Cluster()
    config = c.add(0, obj("ConfigMap", "settings", data={"app.yaml": "a"}), origin="list")
    other = c.add(0, obj("ConfigMap", "other", data={"app.yaml": "a"}), origin="list")
    c.change(5, config, "kubectl-edit", data=None)
    c.change(6, other, "kubectl-edit", data={})
    pod = rolled_out(c)
    pod = c.change(12, pod, spec={**pod["spec"], "volumes": [{"name": "c", "configMap": {"name": "settings", "items": [{"key": "app.yaml", "path": "a"}]}}]})
    pod = not_ready(c, 15, pod, status("app", waits="ContainerCreating"), phase="Pending")
    warning(c, 16, pod, "FailedMount", 'MountVolume.SetUp failed for volume "c" : references non-existent config key: app.yaml')
    return c.rows


def key_lacking():
    c = Cluster()
    c.add(0, obj("Secret", "db", data={"user": "dQ=="}), origin="list")
    not_ready(c, 15, rolled_out(c), status("app", waits="CreateContainerConfigError", message="couldn't find key password in Secret shop/db"), phase="Pending")
    return c.rows


def first_rollout():
    c = Cluster()
    c.add(0, obj("ConfigMap", "other"), origin="list")
    _, _, pod = web(c, 10, image="web:tpyo")
    not_ready(c, 15, pod, status("app", waits="ErrImagePull"))
    return c.rows


def node(cluster, **spec):
    return cluster.add(0, obj("Node", "n1", namespace=None, spec=spec, status={"conditions": [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory", ""), condition("Ready", "True", "KubeletReady", "")]}), origin="list")


def disrupted(cluster, at, pod, reason, message, **more):
    """A pod that is deleted with a grace period."""
    pod = cluster.change(at, pod, "kube-apiserver", "status", metadata={"deletionTimestamp": stamp(at + 30)[:19] + "Z"}, status={
        "phase": "Running", "conditions": [condition("DisruptionTarget", "True", reason, message)], **more})
    return cluster.delete(at + 2, pod)


def drain():
    c = Cluster()
    n1 = node(c)
    _, _, pod = web(c)
    c.change(10, n1, "kubectl-drain", spec={"unschedulable": True})
    disrupted(c, 1500, pod, "EvictionByEvictionAPI", "Eviction API: evicting")
    return c.rows


def unschedulable():
    c = Cluster()
    deployment, replicaset, _ = web(c)
    c.change(1000, deployment, "kubectl", spec={"replicas": 5, "template": template()})
    replicaset = c.change(1000.1, replicaset, "kube-controller-manager", spec={"replicas": 5})
    message = "0/3 nodes are available: 3 Insufficient cpu."
    pod = c.add(1000.2, obj("Pod", "web-1-z", owner=replicaset, spec=template()["spec"], status={"phase": "Pending"}))
    pod = c.change(1000.3, pod, status={"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable", message)]})
    warning(c, 1000.4, pod, "FailedScheduling", message)
    return c.rows


def pod_on_a_lost_node():
    """The node controller says only that the pod is not ready; its Event comes as well."""
    c = Cluster()
    n1 = node(c)
    _, _, pod = web(c)
    c.change(60, n1, "kube-controller-manager", "status", status={"conditions": [
        condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")]})
    pod = c.change(60.5, pod, "kube-controller-manager", "status", status={"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]})
    warning(c, 60.6, pod, "NodeNotReady", "Node is not ready")
    return c.rows


def evicted_and_gone():
    c = Cluster()
    rows = eviction()
    c.rows, c.rv = rows, 200
    c.delete(4000, rows[-1]["object"])
    return c.rows


def preempted():
    c = Cluster()
    _, _, pod = web(c)
    disrupted(c, 12, pod, "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod")
    warning(c, 14.5, pod, "Preempted", "Preempted by pod 5c3 on node n1", type_="Normal")
    return c.rows


def autoscaled():
    c = Cluster()
    deployment, replicaset, pod = web(c, replicas=3)
    autoscaler = c.add(0, obj("HorizontalPodAutoscaler", "web", api="autoscaling/v2", spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
                              status={"desiredReplicas": 3}), origin="list")
    c.change(10, deployment, "kube-controller-manager", "scale", spec={"replicas": 1, "template": template()})
    c.change(10.1, autoscaler, "kube-controller-manager", "status", status={"desiredReplicas": 1})
    c.change(10.2, replicaset, "kube-controller-manager", spec={"replicas": 1})
    c.delete(12, pod)
    return c.rows


def quota_of_a_set():
    c = Cluster()
    limits = c.add(0, obj("ResourceQuota", "team", spec={"hard": {"pods": "10"}}), origin="list")
    db = c.add(0, obj("StatefulSet", "db", api="apps/v1", spec={"replicas": 1, "template": template()}, status={"readyReplicas": 1}), origin="list")
    limits = c.change(5, limits, "kubectl-edit", spec={"hard": {"pods": "1"}})
    db = c.change(10, db, "kubectl", spec={"replicas": 3, "template": template()})
    refused = warning(c, 11, db, "FailedCreate", 'create Pod db-1 in StatefulSet db failed error: pods "db-1" is forbidden: exceeded quota: team, '
                      "requested: pods=1, used: pods=1, limited: pods=1")
    c.change(20, refused, count=12)
    # What is done about it later is not the cause.
    c.change(30, limits, "kubectl-edit", spec={"hard": {"pods": "2"}})
    return c.rows


def failed_job():
    c = Cluster()
    job = c.add(1, obj("Job", "load", api="batch/v1", spec={"backoffLimit": 0}))
    pod = c.add(2, obj("Pod", "load-a", owner=job, spec=template()["spec"], status={"phase": "Pending"}))
    pod = c.change(5, pod, "kubelet", "status", status={"phase": "Failed", "containerStatuses": [{**status("app"), "state": {"terminated": ended(2, at=5)}}]})
    c.change(6, job, "kube-controller-manager", "status", status={"conditions": [condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the limit")]})
    c.delete(7, pod)
    return c.rows


def fight():
    c = Cluster()
    deployment, _, _ = web(c)
    for i in range(8):
        deployment = c.change(10 + i, deployment, ("argocd", "tuner")[i % 2], spec={"replicas": (1, 5)[i % 2], "template": template()})
    return c.rows


def deleted_in_a_gap():
    c = Cluster()
    _, _, pod = web(c)
    rows = c.rows
    rows.append(event(60, "DELETED", pod, origin="inferred", rv="900"))
    rows.append({"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": rows[0]["time_ns"] + 30 * 10**9,
                 "end_ns": rows[0]["time_ns"] + 60 * 10**9, "duration_ns": 30 * 10**9, "begin_seq": 3, "end_seq": 4, "deleted": 1})
    return rows


# What each is called: the rows, what is asked about, and the steps that must be told: (rule, resource, a part of its text).
INCIDENTS = {
    "bad image": (bad_image(), "deploy/web", [
        ("pod-in-trouble", "pods", "not ready"), ("image", "pods", "web:tpyo"), ("image-changed", "deployments", "web:1 -> web:tpyo")]),
    "out of memory": (out_of_memory(), "pods/web-2-b", [
        ("oom-killed", "pods", "its limit: 64Mi"), ("limit-changed", "deployments", "512Mi -> 64Mi")]),
    "eviction": (eviction(), "pods/web-1-a", [
        ("evicted", "pods", "low on resource: memory"), ("node-under-pressure", "nodes", "MemoryPressure")]),
    "quota": (quota(), "deploy/web", [
        ("replicaset-in-trouble", "replicasets", "cannot make"), ("cannot-make-pods", "replicasets", "exceeded quota: team"),
        ("quota", "resourcequotas", "allows"), ("quota-changed", "resourcequotas", "spec.hard.pods 10 -> 1")]),
    "scaled to zero": (scaled_to_zero(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("owner-scaled-down", "replicasets", "1 -> 0"), ("owner-changed", "deployments", "spec.replicas 1 -> 0")]),
    "namespace deleted": (namespace_deleted(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("namespace-deleted", "namespaces", "holds it")]),
    "node lost": (node_lost(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("disrupted", "pods", "DeletionByTaintManager"), ("node-lost", "nodes", "Kubelet stopped posting"),
        ("lease-stopped", "leases", "last time, 40")]),
    "webhook": (webhook(), "rs/web-1", [
        ("cannot-make-pods", "replicasets", "connection refused"), ("webhook", "validatingwebhookconfigurations", "checks/check"),
        ("webhook-changed", "validatingwebhookconfigurations", "was made")]),
    "expired certificate": (expired_certificate(), "rs/web-1", [
        ("cannot-make-pods", "replicasets", "certificate has expired"), ("webhook", "validatingwebhookconfigurations", "checks/check")]),
    "readiness": (readiness(), "deploy/web", [
        ("pod-in-trouble", "pods", "is not ready"), ("not-ready", "pods", "unready status"), ("event", "events", "statuscode: 404"),
        ("template-changed", "deployments", "web:1 -> web:2")]),
    "liveness": (liveness(), "pods/web-1-a", [("crashed", "pods", "exit code 137"), ("probe", "events", "Liveness probe failed")]),
    "init container": (init_container(), "pods/web-2-b", [
        ("crashed", "pods", "container migrate ended with exit code 1"), ("template-changed", "deployments", "web:1 -> web:2")]),
    "missing config": (missing_config(), "pods/web-2-b", [
        ("not-ready", "pods", "unready status"), ("event", "events", 'configmap "settings" not found'), ("missing", "configmaps", "was deleted")]),
    "key gone": (key_gone(), "pods/web-2-b", [
        ("config", "pods", "couldn't find key pass.word"), ("key-gone", "secrets", "lost the key pass.word")]),
    "key of a volume gone": (key_of_a_volume_gone(), "deploy/web", [
        ("pod-in-trouble", "pods", "is not ready"), ("not-ready", "pods", "unready"), ("event", "events", "non-existent config key"),
        ("key-gone", "configmaps", "lost the key app.yaml")]),
    "key lacking": (key_lacking(), "pods/web-2-b", [
        ("config", "pods", "couldn't find key password"), ("key-lacking", "secrets", "does not have the key password; it has user"),
        ("template-changed", "deployments", "web:1 -> web:2")]),
    "first rollout": (first_rollout(), "pods/web-1-a", [("image", "pods", "ErrImagePull"), ("came-with", "deployments", "was made")]),
    "drain": (drain(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("disrupted", "pods", "EvictionByEvictionAPI"), ("node-cordoned", "nodes", "spec.unschedulable nothing -> true")]),
    "unschedulable": (unschedulable(), "deploy/web", [
        ("pod-in-trouble", "pods", "is not ready"), ("unschedulable", "pods", "Insufficient cpu"), ("made", "pods", "was made"),
        ("owner-scaled-up", "replicasets", "1 -> 5"), ("owner-changed", "deployments", "1 -> 5")]),
    "pod on a lost node": (pod_on_a_lost_node(), "deploy/web", [
        ("pod-in-trouble", "pods", "is not ready"), ("not-ready", "pods", "is not ready: its condition does not say why"), ("node-lost", "nodes", "Kubelet stopped posting")]),
    "evicted and gone": (evicted_and_gone(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("evicted-before", "pods", "low on resource: memory"), ("node-under-pressure", "nodes", "MemoryPressure")]),
    "preempted": (preempted(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("disrupted", "pods", "PreemptionByScheduler"), ("preempted", "events", "Preempted by pod 5c3")]),
    "autoscaled": (autoscaled(), "pods/web-1-a", [
        ("deleted", "pods", "was deleted"), ("owner-scaled-down", "replicasets", "3 -> 1"), ("owner-changed", "deployments", "3 -> 1"),
        ("autoscaled", "horizontalpodautoscalers", "desiredReplicas 3 -> 1")]),
    "quota of a set": (quota_of_a_set(), "sts/db", [
        ("cannot-make-pods-event", "events", "exceeded quota: team"), ("quota", "resourcequotas", 'allows {"pods":"1"}'),
        ("quota-changed", "resourcequotas", "spec.hard.pods 10 -> 1")]),
    "failed job": (failed_job(), "jobs/load", [("job-failed", "jobs", "BackoffLimitExceeded"), ("pod-of-job", "pods", "exit code 2")]),
    "fight": (fight(), "deploy/web", [("fought-over", "deployments", "write spec.replicas in turns, 7 times")]),
    "deleted in a gap": (deleted_in_a_gap(), "pods/web-1-a", [("deleted", "pods", "while nobody watched")]),
}
