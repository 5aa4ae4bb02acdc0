"""Small worlds for programs that are hunted for unknown bugs: a dozen changes each, in which what the program looks after is made,
changed, deleted and made again under its name. They are played on an API server without controllers, so that the objects
have everything that a server gives them."""

IMAGE = "registry.example/web:"
NAMESPACE = "shop"
LONG_AGO = "2026-01-01T00:00:00Z"
FAR_AHEAD = "2099-01-01T00:00:00Z"
CLUSTER_WIDE = ("ClusterRole", "IPAddress", "MutatingWebhookConfiguration", "Namespace", "Node", "NodeFeatureRule", "PersistentVolume", "ResourceSlice",
    "ServiceCIDR", "ValidatingAdmissionPolicy", "ValidatingWebhookConfiguration", "VolumeAttributesClass")
# kind: where its collection is
FOLDERS = {
    "Certificate": ("/apis/cert-manager.io/v1", "certificates"),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "CronJob": ("/apis/batch/v1", "cronjobs"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "DaskCluster": ("/apis/kubernetes.dask.org/v1", "daskclusters"),
    "DaskJob": ("/apis/kubernetes.dask.org/v1", "daskjobs"),
    "DaskWorkerGroup": ("/apis/kubernetes.dask.org/v1", "daskworkergroups"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Endpoints": ("/api/v1", "endpoints"),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices"),
    "FlinkDeployment": ("/apis/flink.apache.org/v1beta1", "flinkdeployments"),
    "FlinkSessionJob": ("/apis/flink.apache.org/v1beta1", "flinksessionjobs"),
    "IPAddress": ("/apis/networking.k8s.io/v1", "ipaddresses"),
    "Issuer": ("/apis/cert-manager.io/v1", "issuers"),
    "Job": ("/apis/batch/v1", "jobs"),
    "MutatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    "Namespace": ("/api/v1", "namespaces"),
    "NodeFeature": ("/apis/nfd.k8s-sigs.io/v1alpha1", "nodefeatures"),
    "NodeFeatureRule": ("/apis/nfd.k8s-sigs.io/v1alpha1", "nodefeaturerules"),
    "Node": ("/api/v1", "nodes"),
    "PersistentVolume": ("/api/v1", "persistentvolumes"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Pod": ("/api/v1", "pods"),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
    "RabbitmqCluster": ("/apis/rabbitmq.com/v1beta1", "rabbitmqclusters"),
    "RayCluster": ("/apis/ray.io/v1", "rayclusters"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "ReplicationController": ("/api/v1", "replicationcontrollers"),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims"),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates"),
    "ResourceQuota": ("/api/v1", "resourcequotas"),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices"),
    "Secret": ("/api/v1", "secrets"),
    "Service": ("/api/v1", "services"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "ServiceCIDR": ("/apis/networking.k8s.io/v1", "servicecidrs"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "ValidatingAdmissionPolicy": ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    "ValidatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"),
    "VolumeAttributesClass": ("/apis/storage.k8s.io/v1", "volumeattributesclasses"),
}


class World:
    """What is done to an API server. `ask(verb, path, body)` returns the object."""

    def __init__(self, ask):
        self._ask = ask
        self._live = []
        self.hurries = False  # the next change does not wait until a recorder has the last one
        self.expected = []  # what a recorder must have seen: (type, UID, resourceVersion; None of deletions)

    def add(self, kind, name, namespace=NAMESPACE, metadata=None, status=None, **parts):
        group, plural = FOLDERS[kind]
        folder = f"{group}/{plural}" if kind in CLUSTER_WIDE else f"{group}/namespaces/{namespace}/{plural}"
        thing = self._ask("POST", folder, {"apiVersion": "/".join(group.split("/")[2:]), "kind": kind, "metadata": {"name": name, **(metadata or {})}, **parts})
        thing["path"] = f"{folder}/{name}"
        self._live.append(thing)
        self._note("ADDED", thing)
        if status:
            self._patch(thing, "/status", {"status": status})
        return thing

    def change(self, thing, status=None, **parts):
        """Merges; lists are replaced."""
        if parts:
            self._patch(thing, "", parts)
        if status:
            self._patch(thing, "/status", {"status": status})

    def replace(self, thing, **parts):
        """As `kubectl replace --force` does: deleted, and made again at once."""
        self.delete(thing)
        self.hurries = True
        made = self.add(thing["kind"], thing["metadata"]["name"], **parts)
        self.hurries = False
        return made

    def ask_to_end(self, thing, **how):
        """Of what its node or a finalizer holds."""
        self._take(thing, self._ask("DELETE", thing["path"], how))
        self._note("MODIFIED", thing)

    def delete(self, thing):
        metadata = thing["metadata"]
        if thing["kind"] == "Namespace":
            self._ask("PUT", thing["path"] + "/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {"finalizers": []}})
        elif metadata.get("deletionTimestamp") and metadata.get("finalizers"):
            self._ask("PATCH", thing["path"], {"metadata": {"finalizers": None}})
        else:
            if metadata.get("finalizers"):
                self._patch(thing, "", {"metadata": {"finalizers": None}})
            self._ask("DELETE", thing["path"], {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        self._live.remove(thing)
        self.expected.append(("DELETED", metadata["uid"], None))

    def clear(self, ask):
        self._ask = ask
        for thing in reversed(self._live):
            if thing["kind"] == "Namespace" and not thing["metadata"].get("deletionTimestamp"):
                self.ask_to_end(thing)
            self.delete(thing)

    def _patch(self, thing, subresource, patch):
        self._take(thing, self._ask("PATCH", thing["path"] + subresource, patch))
        self._note("MODIFIED", thing)

    def _take(self, thing, answer):
        thing["metadata"] = answer["metadata"]

    def _note(self, event, thing):
        self.expected.append((event, thing["metadata"]["uid"], thing["metadata"]["resourceVersion"]))


# --- what worlds are made of ---

def pod_spec(image="1", **more):
    return {"containers": [{"name": "main", "image": IMAGE + image}], **more}


def template(labels, image="1", **more):
    return {"metadata": {"labels": labels}, "spec": pod_spec(image, **more)}


def owned_by(owner):
    return {"ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}]}


def node(world, name, **spec):
    return world.add("Node", name, metadata={"labels": {"kubernetes.io/hostname": name}}, spec=spec, status={
        "conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": f"10.0.0.{name[-1]}"}],
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}})


def running(ip, ready=True):
    return {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}], "startTime": LONG_AGO,
        "conditions": [{"type": "Ready", "status": str(ready), "lastTransitionTime": LONG_AGO}]}


def pod(world, name, labels, ip, where="node-1", ready=True, **metadata):
    return world.add("Pod", name, metadata={"labels": labels, **metadata}, spec=pod_spec(nodeName=where), status=running(ip, ready))


# --- the worlds ---

def deployments(w):
    labels = {"app": "web"}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template(labels)}
    orphan = w.add("ReplicaSet", "web-old", metadata={"labels": labels}, spec={
        "replicas": 1, "selector": {"matchLabels": labels}, "template": template(labels, "0")})
    web = w.add("Deployment", "web", spec=spec)
    w.change(web, spec={"replicas": 3})
    w.change(web, spec={"template": template(labels, "2")})
    w.change(web, spec={"paused": True, "replicas": 4})
    w.change(web, spec={"paused": False, "template": template(labels, "3")})
    w.delete(orphan)
    w.delete(web)
    w.add("Deployment", "web", spec={**spec, "replicas": 1})


def replicas(w, kind, labels, selector):
    spec = {"replicas": 3, "selector": selector, "template": template(labels)}
    web = w.add(kind, "web", spec=spec)
    orphan = pod(w, "web-orphan", labels, "10.1.0.1")
    w.change(web, spec={"replicas": 2})
    w.change(orphan, metadata={"labels": {"app": "other"}})
    w.change(web, spec={"replicas": 4})
    w.delete(orphan)
    owned = pod(w, "web-owned", labels, "10.1.0.2", **owned_by(web))
    w.change(owned, status={"phase": "Failed"})
    w.delete(owned)
    w.delete(web)
    w.add(kind, "web", spec={**spec, "replicas": 1})


def replicasets(w):
    replicas(w, "ReplicaSet", {"app": "web"}, {"matchLabels": {"app": "web"}})


def replication_controllers(w):
    replicas(w, "ReplicationController", {"app": "web"}, {"app": "web"})


def statefulsets(w):
    labels = {"app": "db"}
    spec = {"replicas": 2, "serviceName": "db", "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels}, "template": template(labels),
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}
    db = w.add("StatefulSet", "db", spec=spec)
    w.change(db, spec={"replicas": 3})
    w.change(db, spec={"template": template(labels, "2")})
    w.change(db, spec={"replicas": 1})
    w.delete(db)
    again = w.add("StatefulSet", "db", spec={**spec, "replicas": 1})
    w.change(again, spec={"replicas": 2})


def daemonsets(w):
    labels = {"app": "agent"}
    spec = {"selector": {"matchLabels": labels}, "template": template(labels)}
    nodes = [node(w, f"node-{n}") for n in (1, 2)]
    agent = w.add("DaemonSet", "agent", spec=spec)
    node(w, "node-3")
    w.delete(nodes[1])
    w.change(nodes[0], spec={"taints": [{"key": "full", "value": "yes", "effect": "NoSchedule"}]})
    w.change(agent, spec={"template": template(labels, "2")})
    w.replace(agent, spec=spec)


def jobs(w):
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 2, "template": template({"app": "sum"}, restartPolicy="Never")}
    job = w.add("Job", "sum", spec=spec)
    labels = job["spec"]["template"]["metadata"]["labels"]
    parts = [pod(w, f"sum-{n}", labels, f"10.1.0.{n}", finalizers=["batch.kubernetes.io/job-tracking"], **owned_by(job)) for n in (1, 2)]
    w.change(parts[0], status={"phase": "Succeeded"})
    w.change(parts[1], status={"phase": "Failed"})
    w.change(job, spec={"suspend": True})
    w.change(job, spec={"suspend": False})
    w.delete(job)
    w.add("Job", "sum", spec=spec)


def recreated_jobs(w):
    """The pod of a job ends when the next job of that name is there."""
    spec = {"parallelism": 1, "completions": 1, "template": template({"app": "sum"}, restartPolicy="Never")}
    job = w.add("Job", "sum", spec=spec)
    labels = job["spec"]["template"]["metadata"]["labels"]
    part = pod(w, "sum-1", labels, "10.1.0.1", finalizers=["batch.kubernetes.io/job-tracking"], **owned_by(job))
    w.replace(job, spec=spec)
    w.ask_to_end(part, gracePeriodSeconds=0)
    w.change(part, status={"phase": "Failed"})
    w.delete(part)
    node(w, "node-9")


def services(w):
    labels = {"app": "web"}
    spec = {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    node(w, "node-1")
    web = w.add("Service", "web", spec=spec)
    pods = [pod(w, f"web-{n}", labels, f"10.1.0.{n}") for n in (1, 2)]
    w.change(pods[0], status=running("10.1.0.1", False))
    w.change(pods[1], metadata={"labels": {"app": "other"}})
    w.ask_to_end(pods[0])
    w.delete(pods[0])
    pod(w, "web-1", labels, "10.1.0.3")
    w.change(web, spec={"ports": [{"name": "http", "port": 80, "targetPort": 9090}]})
    w.delete(web)
    w.add("Service", "web", spec={**spec, "selector": {"app": "other"}})


def namespaces(w):
    town = w.add("Namespace", "town")
    w.add("Namespace", "village")
    account = w.add("ServiceAccount", "default", "town")
    colour = w.add("ConfigMap", "colour", "town", data={"colour": "blue"})
    w.delete(account)
    w.ask_to_end(town)
    w.delete(colour)
    w.delete(town)
    w.add("Namespace", "town")


def quotas(w):
    most = w.add("ResourceQuota", "most", spec={"hard": {"pods": "5", "configmaps": "3"}})
    pods = [pod(w, f"web-{n}", {"app": "web"}, f"10.1.0.{n}") for n in (1, 2, 3)]
    w.add("ConfigMap", "colour", data={"colour": "blue"})
    w.change(pods[0], status={"phase": "Succeeded"})
    w.delete(pods[1])
    w.change(most, spec={"hard": {"pods": "4"}})
    w.delete(pods[2])
    w.delete(most)
    w.add("ResourceQuota", "most", spec={"hard": {"pods": "2"}})


def budgets(w):
    labels = {"app": "web"}
    web = w.add("ReplicaSet", "web", spec={"replicas": 3, "selector": {"matchLabels": labels}, "template": template(labels)})
    least = w.add("PodDisruptionBudget", "web", spec={"minAvailable": 1, "selector": {"matchLabels": labels}})
    pods = [pod(w, f"web-{n}", labels, f"10.1.0.{n}", **owned_by(web)) for n in (1, 2, 3)]
    w.change(pods[0], status=running("10.1.0.1", False))
    w.change(least, spec={"minAvailable": 2})
    w.delete(pods[1])
    w.change(pods[0], status=running("10.1.0.1"))
    w.delete(least)
    w.add("PodDisruptionBudget", "web", spec={"minAvailable": "50%", "selector": {"matchLabels": labels}})


def finished_jobs(w):
    spec = {"ttlSecondsAfterFinished": 0, "template": template({"app": "sum"}, restartPolicy="Never")}
    done = {"startTime": LONG_AGO, "completionTime": LONG_AGO, "succeeded": 1, "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": LONG_AGO} for kind in ("SuccessCriteriaMet", "Complete")]}
    kept = w.add("Job", "kept", spec={**spec, "ttlSecondsAfterFinished": 10**8}, status=done)
    first = w.add("Job", "sum", spec=spec)
    w.change(first, status=done)
    w.delete(first)
    again = w.add("Job", "sum", spec=spec)
    w.change(again, status={"startTime": LONG_AGO, "active": 1})
    w.delete(kept)


def claims(w):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    uses = {"nodeName": "node-1", "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    for ip in ("10.1.0.1", "10.1.0.2"):
        data = w.add("PersistentVolumeClaim", "data", spec=spec)
        user = w.add("Pod", "web-0", spec=pod_spec(**uses), status=running(ip))
        w.ask_to_end(data)
        w.delete(user)
        w.delete(data)
    w.add("PersistentVolumeClaim", "data", spec=spec)
    w.add("Pod", "web-0", spec=pod_spec(**uses), status=running("10.1.0.3"))


def taints(w):
    nodes = [node(w, f"node-{n}") for n in (1, 2)]
    pods = [pod(w, f"web-{n}", {"app": "web"}, f"10.1.0.{n}", where=f"node-{n % 2 + 1}") for n in (1, 2, 3)]
    bad = {"taints": [{"key": "broken", "value": "yes", "effect": "NoExecute"}]}
    w.change(nodes[0], spec=bad)
    w.delete(pods[1])
    pod(w, "web-2", {"app": "web"}, "10.1.0.4", where="node-2")
    w.change(nodes[0], spec={"taints": None})
    pod(w, "web-4", {"app": "web"}, "10.1.0.5", where="node-1")
    w.change(nodes[1], spec=bad)


def roles(w):
    def rules(resource):
        return [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]

    selects = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}}
    whole = w.add("ClusterRole", "whole", **selects)
    pods, nodes = (w.add("ClusterRole", f"part-{what}", metadata={"labels": {"part": "yes"}}, rules=rules(what)) for what in ("pods", "nodes"))
    w.change(pods, rules=rules("services"))
    w.change(nodes, metadata={"labels": {"part": "no"}})
    w.delete(pods)
    w.change(nodes, metadata={"labels": {"part": "yes"}})
    w.delete(whole)
    w.add("ClusterRole", "whole", **selects)


def ephemeral_volumes(w):
    uses = {"nodeName": "node-1", "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]}
    user = w.add("Pod", "web-0", spec=pod_spec(**uses))
    w.change(user, status=running("10.1.0.1"))
    w.ask_to_end(user)
    w.delete(user)
    w.add("Pod", "web-0", spec=pod_spec(**uses))
    w.add("Pod", "web-1", spec=pod_spec(**uses))


def cron_jobs(w):
    runs = {"template": template({"app": "sum"}, restartPolicy="Never")}
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "successfulJobsHistoryLimit": 2, "jobTemplate": {"spec": runs}}

    def by_hand(name, hour=None):
        """As `kubectl create job --from` does it; done at that hour."""
        job = w.add("Job", name, metadata=owned_by(sums), spec=runs)
        if hour is not None:
            at = LONG_AGO.replace("T00", f"T{hour:02}")
            w.change(job, status={"startTime": at, "completionTime": at, "succeeded": 1, "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": at} for kind in ("SuccessCriteriaMet", "Complete")]})
        return job

    sums = w.add("CronJob", "sums", spec=spec)
    w.change(sums, status={"lastScheduleTime": "2024-06-01T00:00:00Z"})
    first = by_hand("sums-a", 1)
    by_hand("sums-b", 2)
    w.delete(first)
    by_hand("sums-a")
    w.change(sums, spec={"successfulJobsHistoryLimit": 1})
    w.change(sums, spec={"suspend": False})
    w.delete(sums)
    sums = w.add("CronJob", "sums", spec={**spec, "suspend": False})
    by_hand("sums-c", 3)


def dead_pods(w):
    nodes = [node(w, f"node-{n}") for n in (1, 2, 3)]
    moved, left, stuck = (pod(w, f"web-{n}", {"app": "web"}, f"10.1.0.{n}", where=f"node-{n}") for n in (1, 2, 3))
    lone = pod(w, "web-4", {"app": "web"}, "10.1.0.5")
    w.change(moved, status={"phase": "Failed"})
    w.delete(moved)
    pod(w, "web-1", {"app": "web"}, "10.1.0.4", where="node-2")
    w.delete(nodes[0])
    w.change(left, status={"phase": "Succeeded"})
    w.ask_to_end(stuck)
    w.change(nodes[2], status={"conditions": [{"type": "Ready", "status": "False"}]})
    w.change(nodes[2], spec={"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]})
    w.delete(stuck)
    pod(w, "web-3", {"app": "web"}, "10.1.0.6", where="node-2")
    w.delete(lone)
    node(w, "node-1")
    pod(w, "web-4", {"app": "web"}, "10.1.0.7")


def moved_pods(w):
    bad = {"taints": [{"key": "broken", "value": "yes", "effect": "NoExecute"}]}
    nodes = [node(w, f"node-{n}") for n in (1, 2)]
    moved = pod(w, "web-0", {"app": "web"}, "10.1.0.1", where="node-1")
    pod(w, "web-1", {"app": "web"}, "10.1.0.2", where="node-1")
    w.delete(moved)
    pod(w, "web-0", {"app": "web"}, "10.1.0.3", where="node-2")
    w.change(nodes[0], spec=bad)
    pod(w, "web-2", {"app": "web"}, "10.1.0.4", where="node-1")
    w.change(nodes[0], spec={"taints": None})


def sick_nodes(w):
    def ready(status):
        return {"conditions": [{"type": "Ready", "status": status, "lastHeartbeatTime": LONG_AGO, "lastTransitionTime": LONG_AGO}]}

    nodes = [node(w, f"node-{n}") for n in (1, 2, 3)]
    pods = [pod(w, f"web-{n}", {"app": "web"}, f"10.1.0.{n}", where=f"node-{n}") for n in (1, 2)]
    w.change(nodes[0], spec={"unschedulable": True})
    w.change(nodes[1], status=ready("False"))
    w.change(nodes[0], spec={"unschedulable": False})
    w.delete(pods[1])
    pod(w, "web-2", {"app": "web"}, "10.1.0.3")
    w.change(nodes[1], status=ready("True"))
    w.change(nodes[0], status=ready("Unknown"))
    w.delete(nodes[0])
    node(w, "node-1")
    w.change(nodes[2], spec={"unschedulable": True})


def numbered_nodes(w):
    first, second = (node(w, f"node-{n}") for n in (1, 2))
    w.delete(second)
    second = node(w, "node-2")
    w.change(first, spec={"unschedulable": True})
    w.delete(first)
    node(w, "node-3")
    w.change(second, spec={"unschedulable": True})


def bootstrap_tokens(w):
    def token(name, expiration=FAR_AHEAD, signs="true"):
        return w.add("Secret", f"bootstrap-token-{name}", "kube-system", type="bootstrap.kubernetes.io/token", stringData={
            "token-id": name, "token-secret": name + "0123456789", "expiration": expiration, "usage-bootstrap-signing": signs})

    info = w.add("ConfigMap", "cluster-info", "kube-public", data={"kubeconfig": "1"})
    first = token("aaaaaa")
    second = token("bbbbbb")
    w.change(info, data={"kubeconfig": "2"})
    w.change(second, stringData={"usage-bootstrap-signing": "false"})
    w.change(second, stringData={"usage-bootstrap-signing": "true", "expiration": LONG_AGO})
    w.delete(first)
    token("aaaaaa", signs="false")
    w.delete(info)
    w.add("ConfigMap", "cluster-info", "kube-public", data={"kubeconfig": "3"})
    token("cccccc", LONG_AGO)
    token("dddddd")


def mirrored_endpoints(w):
    ports = [{"name": "http", "port": 80}]

    def at(*ips):
        return {"subsets": [{"addresses": [{"ip": ip} for ip in ips], "ports": ports}]}

    web = w.add("Service", "web", spec={"ports": ports})
    ends = w.add("Endpoints", "web", **at("10.1.0.1", "10.1.0.2"))
    w.change(ends, **at("10.1.0.1"))
    w.change(ends, metadata={"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}})
    w.change(ends, metadata={"labels": {"endpointslice.kubernetes.io/skip-mirror": None}})
    w.delete(ends)
    ends = w.add("Endpoints", "web", **at("10.1.0.3"))
    w.change(web, spec={"selector": {"app": "web"}})
    w.change(web, spec={"selector": None})
    w.delete(ends)  # the API server would delete it with the service
    w.delete(web)
    w.add("Service", "web", spec={"ports": ports})
    ends = w.add("Endpoints", "web", **at("10.1.0.4"))
    w.change(ends, subsets=[{"addresses": [{"ip": "10.1.0.4"}], "ports": [{"name": "http", "port": 90}]}])


def disk(world, name, size="1Gi", **more):
    return world.add("PersistentVolume", name, spec={"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": f"/srv/{name}"}, **more})


def volume_claim(world, name, size="1Gi", **more):
    return world.add("PersistentVolumeClaim", name, spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "",
        "resources": {"requests": {"storage": size}}, **more})


def used_volumes(w):
    for _ in range(2):
        first = disk(w, "disk-1")
        w.change(first, status={"phase": "Bound"})
        w.ask_to_end(first)
        w.change(first, status={"phase": "Released"})
        w.delete(first)
    second = disk(w, "disk-2")
    w.change(second, metadata={"finalizers": None})
    w.ask_to_end(disk(w, "disk-1"))


def bound_volumes(w):
    first = disk(w, "disk-1")
    data = volume_claim(w, "data")
    second = disk(w, "disk-2", "2Gi")
    w.ask_to_end(data)
    w.delete(data)
    data = volume_claim(w, "data")
    w.add("PersistentVolumeClaim", "logs", spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "disk-3",
        "resources": {"requests": {"storage": "1Gi"}}})
    disk(w, "disk-3", claimRef={"namespace": NAMESPACE, "name": "logs"})
    w.ask_to_end(first)
    w.delete(first)
    disk(w, "disk-1")
    w.ask_to_end(second)
    w.delete(second)
    volume_claim(w, "more")


def attribute_classes(w):
    def attributes(name):
        return w.add("VolumeAttributesClass", name, metadata={"finalizers": ["kubernetes.io/vac-protection"]}, driverName="disk.example",
            parameters={"iops": "1000"})

    fast, slow = (attributes(name) for name in ("fast", "slow"))
    data = volume_claim(w, "data", volumeAttributesClassName="fast")
    volume = disk(w, "disk-1", volumeAttributesClassName="slow", storageClassName="disks", hostPath=None,
        csi={"driver": "disk.example", "volumeHandle": "1"})
    w.ask_to_end(fast)
    w.ask_to_end(slow)
    w.ask_to_end(data)
    w.delete(data)
    volume_claim(w, "data")
    w.delete(volume)
    w.add("VolumeAttributesClass", "new", driverName="disk.example", parameters={"iops": "2000"})


GPU = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example"}}]}}


def shares(claim="shared", *more):
    """Of a pod that uses that claim, and more of them."""
    return pod_spec(nodeName="node-1", resourceClaims=[{"name": "shared", "resourceClaimName": claim}, *more])


def allocated(*users, device="gpu-0"):
    return {"allocation": {"devices": {"results": [{"request": "gpu", "driver": "gpu.example", "pool": "node-1", "device": device}]}},
        "reservedFor": [{"resource": "pods", "name": user["metadata"]["name"], "uid": user["metadata"]["uid"]} for user in users]}


def resource_claims(w):
    uses = shares("shared", {"name": "own", "resourceClaimTemplateName": "gpu"})
    w.add("ResourceClaimTemplate", "gpu", spec={"spec": GPU})
    shared = w.add("ResourceClaim", "shared", metadata={"finalizers": ["resource.kubernetes.io/delete-protection"]}, spec=GPU)
    user = w.add("Pod", "web-0", spec=uses)
    w.change(shared, status=allocated(user))
    w.delete(user)
    again = w.add("Pod", "web-0", spec=uses)
    w.change(shared, status=allocated(again))
    w.delete(w.add("Pod", "web-1", spec=uses))
    w.add("Pod", "web-1", spec=uses)
    w.ask_to_end(w.add("ResourceClaim", "spare", metadata={"finalizers": ["resource.kubernetes.io/delete-protection"]}, spec=GPU))


def finished_users(w):
    """Two pods share a claim, and one is done."""
    shared = w.add("ResourceClaim", "shared", spec=GPU)
    first, second = (w.add("Pod", name, spec=shares()) for name in ("web-0", "web-1"))
    w.change(shared, status=allocated(first, second))
    w.change(second, status={"phase": "Succeeded"})


def tainted_devices(w):
    def devices(*bad):
        taints = [{"key": "broken", "value": "yes", "effect": "NoExecute", "timeAdded": LONG_AGO}]
        return [{"name": f"gpu-{n}", "taints": taints if n in bad else []} for n in (0, 1, 2)]

    gpus = w.add("ResourceSlice", "gpus", spec={"driver": "gpu.example", "nodeName": "node-1", "devices": devices(),
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1}})
    shared = w.add("ResourceClaim", "shared", spec=GPU)
    user = w.add("Pod", "web-0", spec=shares())
    w.change(shared, status=allocated(user))
    w.change(gpus, spec={"devices": devices(0)})
    w.delete(user)
    w.change(shared, status={"allocation": None, "reservedFor": None})
    w.change(shared, status=allocated(w.add("Pod", "web-1", spec=shares()), device="gpu-1"))
    other = w.add("ResourceClaim", "other", spec=GPU)
    user = w.add("Pod", "sum-0", spec=shares("other"))
    w.change(other, status=allocated(user, device="gpu-2"))
    w.delete(user)
    w.change(gpus, spec={"devices": devices(0, 2)})
    w.change(other, status=allocated(w.add("Pod", "sum-0", spec=shares("other")), device="gpu-2"))


def address_ranges(w):
    def allot(cidr, name):
        return w.add("ServiceCIDR", name, metadata={"finalizers": ["networking.k8s.io/service-cidr-finalizer"]}, spec={"cidrs": [cidr]})

    def address(ip):
        return w.add("IPAddress", ip, metadata={"labels": {
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io", "ipaddress.kubernetes.io/ip-family": "IPv4"}},
            spec={"parentRef": {"resource": "services", "namespace": NAMESPACE, "name": "web"}})

    small = allot("10.9.1.0/24", "small")
    large = allot("10.8.0.0/16", "large")
    used = address("10.9.1.7")
    w.ask_to_end(small)
    w.delete(large)
    large = allot("10.9.0.0/16", "large")
    w.delete(small)
    small = allot("10.7.1.0/24", "small")
    w.ask_to_end(large)
    w.delete(used)
    w.ask_to_end(small)


def policies(w):
    def validates(field):
        return {"failurePolicy": "Fail", "validations": [{"expression": f"object.spec.{field} > 1"}], "matchConstraints": {"resourceRules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}]}}

    first = w.add("ValidatingAdmissionPolicy", "first", metadata={"finalizers": ["shop.example/held"]}, spec=validates("replicas"))
    w.change(first, spec=validates("replica"))
    w.change(first, spec=validates("copies"))
    w.ask_to_end(first)
    w.delete(first)
    first = w.add("ValidatingAdmissionPolicy", "first", spec=validates("replicas"))
    w.change(first, spec=validates("bar"))
    w.add("ValidatingAdmissionPolicy", "second", spec=validates("replicas"))


def legacy_tokens(w):
    def token(name, account="robot"):
        return w.add("Secret", name, metadata={"annotations": {"kubernetes.io/service-account.name": account}}, type="kubernetes.io/service-account-token")

    robot = w.add("ServiceAccount", "robot")
    first = token("robot-a")
    second = token("robot-b")
    w.change(robot, secrets=[{"name": "robot-a"}, {"name": "robot-b"}])
    w.delete(first)
    w.change(second, data={"ca.crt": "b2xk"})
    w.delete(robot)
    w.add("ServiceAccount", "robot")
    token("robot-a")
    token("ghost-a", "ghost")


def families(w):
    """Owners and what they own, of two levels."""
    labels = {"app": "web"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template(labels)}
    first, other = (w.add("ReplicaSet", name, spec=spec) for name in ("web", "other"))
    pod(w, "web-1", labels, "10.1.0.1", **owned_by(first))
    shared = pod(w, "web-2", labels, "10.1.0.2", ownerReferences=[
        {**owned_by(first)["ownerReferences"][0], "controller": False}, {**owned_by(other)["ownerReferences"][0], "controller": False}])
    w.add("ConfigMap", "colour", metadata=owned_by(shared), data={"colour": "blue"})
    w.delete(first)
    again = w.add("ReplicaSet", "web", spec=spec)
    pod(w, "web-3", labels, "10.1.0.3", **owned_by(again))
    w.ask_to_end(again, propagationPolicy="Foreground")
    w.delete(other)
    pod(w, "web-4", labels, "10.1.0.4", **owned_by(other))
    kept = w.add("ReplicaSet", "kept", spec=spec)
    pod(w, "web-5", labels, "10.1.0.5", **owned_by(kept))
    w.ask_to_end(kept, propagationPolicy="Orphan")
    pod(w, "web-6", labels, "10.1.0.6")


def waiting_pods(w):
    nodes = [node(w, f"node-{n}") for n in (1, 2)]

    def waits(name, where="node-1"):
        return w.add("Pod", name, spec=pod_spec(nodeSelector={"kubernetes.io/hostname": where}))

    w.delete(waits("web-0"))
    waits("web-0")
    w.change(nodes[0], spec={"unschedulable": True})
    waits("web-1")
    waits("web-2", "node-2")
    w.change(nodes[0], spec={"unschedulable": False})
    w.delete(nodes[1])
    waits("web-3", "node-2")
    node(w, "node-2")


def bound_pods(w):
    nodes = [node(w, f"node-{n}") for n in (1, 2)]

    def bound(name, where):
        return w.add("Pod", name, spec=pod_spec(nodeName=where))

    first, second = bound("web-0", "node-1"), bound("web-1", "node-2")
    w.ask_to_end(first)
    w.delete(first)
    bound("web-0", "node-2")
    w.delete(second)
    w.delete(nodes[1])
    bound("web-2", "node-1")


def names(w):
    labels = {"app": "db"}
    ports = [{"name": "sql", "port": 5432}]
    web = w.add("Service", "web", spec={"ports": ports})
    db = w.add("Service", "db", spec={"clusterIP": "None", "selector": labels, "ports": ports})
    pods = [pod(w, f"db-{n}", labels, f"10.1.0.{n}") for n in (1, 2)]
    both = [{"addresses": [f"10.1.0.{n}"], "hostname": f"db-{n}", "conditions": {"ready": True}} for n in (1, 2)]
    slices = {"metadata": {"labels": {"kubernetes.io/service-name": "db"}}, "addressType": "IPv4", "ports": ports}
    first = w.add("EndpointSlice", "db-a", **slices, endpoints=both[:1])
    w.change(first, endpoints=both)
    w.ask_to_end(pods[0])
    w.delete(pods[0])
    w.change(first, endpoints=both[1:])
    w.delete(web)
    w.add("Service", "web", spec={"ports": ports})
    w.delete(first)
    w.delete(db)
    w.add("Service", "db", spec={"clusterIP": "None", "ports": ports})
    pod(w, "db-1", labels, "10.1.0.3")
    w.add("EndpointSlice", "db-a", **slices, endpoints=both[:1])


def webhooks(w):
    def authority(text):
        return {"metadata": {"annotations": {"cert-manager.io/allow-direct-injection": "true"}}, "stringData": {"ca.crt": text}}

    def hook(name):
        return {"name": f"{name}.shop.example", "clientConfig": {"service": {"namespace": NAMESPACE, "name": name}}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "rules": [{"apiGroups": ["shop.example"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}

    wants = {"annotations": {"cert-manager.io/inject-ca-from-secret": f"{NAMESPACE}/authority"}}
    first = w.add("ValidatingWebhookConfiguration", "checks", metadata=wants, webhooks=[hook("first")])
    secret = w.add("Secret", "authority", **authority("1"))
    other = w.add("MutatingWebhookConfiguration", "fills", metadata=wants, webhooks=[hook("fills")])
    w.change(secret, stringData={"ca.crt": "2"})
    w.change(first, webhooks=[hook("first"), hook("second")])
    w.delete(first)
    w.change(other, metadata={"annotations": {"cert-manager.io/inject-ca-from-secret": None}})
    w.delete(secret)
    w.add("ValidatingWebhookConfiguration", "checks", metadata=wants, webhooks=[hook("third")])
    w.change(other, metadata=wants)
    w.add("Secret", "authority", **authority("3"))


def certificates(w):
    def wants(*names):
        return {"secretName": names[0].split(".")[0], "dnsNames": names, "issuerRef": {"kind": "Issuer", "name": "own"}}

    w.add("Issuer", "own", spec={"selfSigned": {}})
    web = w.add("Certificate", "web", spec=wants("web.example"))
    db = w.add("Certificate", "db", spec=wants("db.example"))
    w.change(web, spec=wants("web.example", "www.example"))
    w.delete(db)
    w.add("Certificate", "db", spec=wants("db.example", "sql.example"))


def queues(w):
    spec = {"replicas": 1, "persistence": {"storage": "10Gi"}}
    held = {"finalizers": ["deletion.finalizers.rabbitmqclusters.rabbitmq.com"]}
    queue = w.add("RabbitmqCluster", "queue", metadata=held, spec=spec)
    w.change(queue, spec={"replicas": 3})
    w.change(queue, spec={"image": "rabbitmq:4.1.3"})
    w.change(queue, spec={"service": {"type": "NodePort"}})
    w.change(queue, spec={"rabbitmq": {"additionalConfig": "log.console = true"}})
    w.ask_to_end(queue)
    w.delete(queue)
    again = w.add("RabbitmqCluster", "queue", metadata=held, spec=spec)
    w.change(again, spec={"persistence": {"storage": "20Gi"}})


def features(w):
    def feature(name, where, **labels):
        return w.add("NodeFeature", name, metadata={"labels": {"nfd.node.kubernetes.io/node-name": where}}, spec=says(**labels))

    def says(**labels):
        return {"features": {"attributes": {"cpu.model": {"elements": labels}}, "flags": {}, "instances": {}},
            "labels": {f"feature.node.kubernetes.io/{name}": value for name, value in labels.items()}}

    def rules(vendor, label):
        return {"rules": [{"name": vendor, "labels": {label: "true"},
            "matchFeatures": [{"feature": "cpu.model", "matchExpressions": {"vendor": {"op": "In", "value": [vendor]}}}]}]}

    annotated_node(w, "n2")
    first = feature("n1", "n1", vendor="one", avx="true")
    second = feature("n2", "n2", vendor="two")
    one, two = (w.add("NodeFeatureRule", vendor, spec=rules(vendor, f"is-{vendor}")) for vendor in ("one", "two"))
    w.change(first, spec=says(vendor="one", avx="false"))
    w.change(one, spec=rules("one", "vendor-one"))
    w.delete(second)
    w.delete(two)
    feature("n2", "n2", vendor="two", kernel="6.6")
    w.add("NodeFeatureRule", "two", spec=rules("two", "vendor-two"))
    w.delete(one)
    w.delete(first)


def annotated_node(w, name):
    w.change(node(w, name), metadata={"annotations": {"node.alpha.kubernetes.io/ttl": "0"}})  # as any node has some


def own_node(w):
    annotated_node(w, "n1")


def rays(w):
    def starts(part):
        return {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": f"ray-{part}", "image": "rayproject/ray:2.9.0",
            "resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}}]}}}

    def workers(name, count):
        return {"groupName": name, "replicas": count, "minReplicas": count, "maxReplicas": count, **starts("worker")}

    spec = {"rayVersion": "2.9.0", "headGroupSpec": starts("head"), "workerGroupSpecs": [workers("small", 2)]}
    sums = w.add("RayCluster", "sums", spec=spec)
    w.change(sums, spec={"workerGroupSpecs": [workers("small", 3)]})
    w.change(sums, spec={"workerGroupSpecs": [workers("small", 1), workers("large", 1)]})
    w.change(sums, spec={"suspend": True})
    w.change(sums, spec={"suspend": False})
    w.change(sums, spec={"workerGroupSpecs": [workers("large", 1)]})
    w.delete(sums)
    again = w.add("RayCluster", "sums", spec=spec)
    w.change(again, spec={"workerGroupSpecs": [workers("small", 1)]})


def clusters(w):
    held = {"finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}
    ports = [{"name": "tcp-comm", "port": 8786}, {"name": "http-dashboard", "port": 8787}]

    def workers(count):
        return {"replicas": count, "spec": pod_spec()}

    def spec(count):
        return {"worker": workers(count), "scheduler": {"spec": pod_spec(), "service": {"type": "ClusterIP", "selector": {"app": "sums"}, "ports": ports}}}

    sums = w.add("DaskCluster", "sums", metadata=held, spec=spec(2))
    w.change(sums, spec={"worker": {"replicas": 3}})
    large = w.add("DaskWorkerGroup", "sums-large", spec={"cluster": "sums", "worker": workers(1)})
    w.change(large, spec={"worker": {"replicas": 2}})
    outside = w.add("Service", "sums-outside", spec={"type": "LoadBalancer", "ports": ports}, metadata={"labels": {
        "dask.org/cluster-name": "sums", "dask.org/component": "scheduler"}})
    w.change(outside, status={"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})
    w.delete(large)
    w.ask_to_end(sums)
    w.delete(sums)
    w.delete(outside)
    again = w.add("DaskCluster", "sums", metadata=held, spec=spec(1))
    w.change(again, spec={"worker": {"replicas": 2}})
    w.add("DaskWorkerGroup", "sums-large", spec={"cluster": "sums", "worker": workers(1)})
    # The operator finds the pod that it would make for the job.
    runner = w.add("Pod", "totals-runner", metadata={"labels": {"dask.org/cluster-name": "totals", "dask.org/component": "job-runner"}}, spec=pod_spec())
    w.add("DaskJob", "totals", spec={"cluster": {"spec": spec(1)}, "job": {"spec": pod_spec()}})
    w.change(runner, status={"phase": "Running"})
    w.change(runner, status={"phase": "Succeeded"})


def flinks(w):
    held = {"finalizers": ["flinkdeployments.flink.apache.org/finalizer"]}

    def spec(slots="1", mode="native", **job):
        conf, part = {"taskmanager.numberOfTaskSlots": slots}, {"resource": {"cpu": 1, "memory": "1024m"}}
        cluster = {"image": "flink:1.17", "flinkVersion": "v1_17", "mode": mode, "serviceAccount": "flink", "flinkConfiguration": conf,
            "jobManager": part, "taskManager": part if job else {**part, "replicas": 1}}
        if job:
            conf["$internal.pipeline.job-id"] = "0" * 31 + "1"  # otherwise drawn at random
            cluster["job"] = {"jarURI": "local:///opt/flink/sums.jar", "upgradeMode": "stateless", **job}
        return cluster

    w.add("FlinkDeployment", "yard", metadata=held, spec=spec(mode="standalone"))
    sums = w.add("FlinkDeployment", "sums", metadata=held, spec=spec(parallelism=1))
    desk = w.add("FlinkDeployment", "desk", metadata=held, spec=spec())
    w.change(sums, spec=spec(parallelism=2))
    w.change(desk, spec=spec("2"))
    w.change(sums, spec={"job": {"state": "suspended"}})
    w.change(sums, spec={"job": {"state": "running"}})
    w.ask_to_end(desk)
    w.delete(desk)
    w.ask_to_end(sums)
    w.delete(sums)
    again = w.add("FlinkDeployment", "sums", metadata=held, spec=spec(parallelism=1))
    w.change(again, spec=spec("2", parallelism=1))
    w.add("FlinkDeployment", "desk", metadata=held, spec=spec())


BEFORE = {features: own_node}  # makes what a world has before it is recorded
