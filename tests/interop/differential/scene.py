"""The cluster of the differential test, its history, and the recording of it.

Only etcd and kube-apiserver run, and of the server's own writers all that can be switched off: when the history is
over the cluster's counter stands still, so that both servers can be asked for hours about the same position.
"""

import json
import os
import shutil
import signal

from lib import cluster, manifests, paths, process, replay, tape, wait, workload

# Without controllers nothing writes but the server itself: its identity lease, its endpoints, its compaction.
QUIET = ("--endpoint-reconciler-type=none", "--etcd-compaction-interval=0",
    "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false")
NAMESPACES = ("a", "a-b", "ab")
LAST = "the-last-write"


def labelled(name, where, labels, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": where, "labels": labels}, **more}


def widgets_definition():
    """Namespaced, with columns of its own, selectable fields, status and scale."""
    spec = {"type": "object", "properties": {"colour": {"type": "string"}, "replicas": {"type": "integer"},
        "selector": {"type": "string"}}}
    columns = [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "description": "how many"},
        {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready", "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    return _definition("widgets", "Widget", "Namespaced", spec, additionalPrinterColumns=columns,
        selectableFields=[{"jsonPath": ".spec.colour"}], subresources={"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}})


def gadgets_definition():
    return _definition("gadgets", "Gadget", "Cluster", {"type": "object",
        "x-kubernetes-preserve-unknown-fields": True})


def _definition(plural, kind, scope, spec, **more):
    schema = {"type": "object", "properties": {"spec": spec,
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.test.example.com"},
        "spec": {"group": "test.example.com", "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "shortNames": [plural[:2]]},
            "versions": [{"name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": schema}, **more}]}}


def custom(kind, name, where, spec):
    return {"apiVersion": "test.example.com/v1", "kind": kind,
        "metadata": {"name": name, **({"namespace": where} if where else {})}, "spec": spec}


class Scene:
    """Everything that the requests can be about. A context manager: live and replay run inside."""

    def __init__(self, folder, say):
        self.folder = folder
        self.say = say
        self.tape = os.path.join(folder, "differential.tape")
        self.cluster = cluster.Cluster(os.path.join(folder, "cluster"))
        self.replay = None
        self.rvs = {}  # moments of the history, by name
        self._work = None

    def __enter__(self):
        self.cluster = self.cluster.anew()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        try:
            self.cluster.up(programs=("etcd", "kube-apiserver"), apiserver_flags=QUIET)
            self._work = workload.Workload(self.cluster.kubectl, self.say)
            self._before()
            self._record()
            self.start_replay()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        if self.replay:
            self.replay.__exit__()
        self.cluster.down()

    def start_replay(self):
        """All of the tape is played, so that the position is its end and its events can be watched. The live server does
        not know either whether a version ahead will come. Both take the same token."""
        token = os.path.join(self.folder, "replay.token")
        with open(token, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(cluster.TOKEN)
        self.replay = replay.Replay(self.tape, self.folder, "replay", "--speed", "max", "--wait-watchers", "0",
            "--ahead=silent", "--token-file", token)

    # --- the history ---

    def _create(self, *bodies):
        """Returns the resourceVersion of the last one."""
        return int(self._work.kubectl("create", "-o", "jsonpath={.metadata.resourceVersion}{\"\\n\"}", "-f", "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})).split()[-1])

    def _patch(self, what, where, change, *more):
        self._work.kubectl("patch", what, "-n", where, "--type=merge", "-p", json.dumps(change), *more)

    def _moment(self, name):
        """Remember the counter, by a write of its own."""
        self.rvs[name] = self._create(labelled(f"moment-{name}", "a", {"moment": name}))

    def _before(self):
        """What the recorder finds."""
        self._create(*(manifests.namespace(n) for n in NAMESPACES), widgets_definition(), gadgets_definition())
        self._create(*({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default",
            "namespace": n}} for n in NAMESPACES))
        self._work.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        wait.until("custom resources to be served", lambda: self._work._succeeds("get", "widgets,gadgets", "-A"))
        self._create(*(labelled(f"item-{n}", where, {"tier": ("web", "db")[n % 2], "n": str(n)})
            for where in NAMESPACES for n in range(4)))
        self._create(*_many_kinds())
        self._create(custom("Widget", "w-1", "a", {"colour": "red", "replicas": 2}),
            custom("Widget", "w-2", "ab", {"colour": "green"}), custom("Gadget", "g-1", None, {"size": 1}))

    def _record(self):
        # A first consistent read of each resource brings its cache to the counter.
        recorder = process.Child([paths.KUBETAPE, "record", "--all", "--secrets=keep", "-o", self.tape],
            self.folder, "recorder", {"KUBECONFIG": self.cluster.kubeconfig})
        try:
            recorder.wait_for("^recording [0-9]+ streams")
            self._during()
            wait.until("the last write on the tape", lambda: tape.rows(self.tape,
                f"SELECT 1 FROM events WHERE name = '{LAST}'"), every_s=0.3)
        finally:
            recorder.stop(signal.SIGINT)
        self.say(f"differential: recorded, counter {self.rvs}")

    def _during(self):
        kubectl = self._work.kubectl
        self._moment("begin")
        self._create(labelled("late", "a", {"tier": "web"}), labelled("doomed", "ab", {"tier": "web"}))
        self._patch("configmap/item-1", "a", {"metadata": {"labels": {"tier": "web"}}})
        self._patch("configmap/item-2", "a", {"metadata": {"labels": {"tier": "db"}}})
        self._patch("configmap/item-2", "a", {"metadata": {"labels": {"tier": "web"}}})
        kubectl("delete", "configmap/doomed", "-n", "ab")
        self._moment("middle")
        self._patch("pod/p-bound", "a", {"status": {"phase": "Running", "podIP": "10.1.0.7",
            "podIPs": [{"ip": "10.1.0.7"}], "conditions": [{"type": "Ready", "status": "True"}],
            "startTime": "2026-01-02T03:04:05Z"}}, "--subresource=status")
        self._patch("widget/w-1", "a", {"spec": {"colour": "blue"}})
        self._patch("widget/w-1", "a", {"status": {"ready": True, "replicas": 1}}, "--subresource=status")
        self._patch("node/n-2", "a", {"spec": {"unschedulable": True}})
        self._create(_event("during", "a"), custom("Gadget", "g-2", None, {"size": 2}))
        kubectl("delete", "gadget/g-1")
        kubectl("delete", "secret/s-tls", "-n", "a")
        self._create(manifests.secret("s-tls", "a", "again"))
        self._large()
        self._moment("late")
        kubectl("delete", "configmap/item-3", "-n", "a-b")
        self._create(labelled("item-3", "a-b", {"tier": "db", "again": "yes"}))
        self._patch("deployment/d-1", "a", {"spec": {"replicas": 3}})
        self.rvs["last"] = self._create(labelled(LAST, "a", {}))

    def _large(self):
        """Lists above the size from which the server compresses."""
        line = "".join(chr(33 + (n * 7) % 90) for n in range(999)) + "\n"
        self._create(*(labelled(f"large-{n}", "ab", {"size": "large"}, data={"text": line * 100}) for n in range(2)))


def _event(name, where):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": where},
        "involvedObject": {"kind": "Pod", "namespace": where, "name": "p-bound", "uid": "u-1", "apiVersion": "v1",
            "fieldPath": "spec.containers{main}"},
        "reason": "Started", "message": f"what {name} says", "type": "Normal", "count": 2,
        "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:05:05Z",
        "source": {"component": "kubelet", "host": "n-1"}, "reportingComponent": "kubelet"}


def _node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
        "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/os": "linux"}}, "spec": {}}


def _pod(name, where, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": where,
        "labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "registry.example/web:1"}],
            "automountServiceAccountToken": False, **spec}}


def _many_kinds():
    """One or two of many kinds, so that each has rows in its table."""
    template = {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example/web:1"}]}}
    chosen = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    once = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}

    def named(api, kind, name, where, **more):
        return {"apiVersion": api, "kind": kind,
            "metadata": {"name": name, **({"namespace": where} if where else {})}, **more}

    return [_node("n-1"), _node("n-2"),
        _pod("p-free", "a"), _pod("p-bound", "a", nodeName="n-1", restartPolicy="Never"),
        _pod("p-host", "ab", nodeName="n-2", hostNetwork=True),
        manifests.service("web", "a"), named("v1", "Service", "none", "a", spec={"clusterIP": "None",
            "ports": [{"port": 80}]}),
        named("v1", "Service", "by-name", "ab", spec={"type": "ExternalName", "externalName": "www.example.com"}),
        manifests.secret("s-tls", "a", "first"), named("v1", "Secret", "s-auth", "ab",
            type="kubernetes.io/basic-auth", stringData={"username": "u", "password": "p"}),
        manifests.deployment("d-1", "a", 2, "registry.example/web:1"),
        named("apps/v1", "ReplicaSet", "r-1", "a", spec={"replicas": 1, **chosen}),
        named("apps/v1", "DaemonSet", "ds-1", "a", spec=chosen),
        named("apps/v1", "StatefulSet", "st-1", "a", spec={"serviceName": "web", "replicas": 2, **chosen}),
        named("v1", "ReplicationController", "rc-1", "a", spec={"replicas": 1, "template": template}),
        named("batch/v1", "Job", "j-1", "a", spec={"completions": 2, "template": once}),
        named("batch/v1", "CronJob", "cj-1", "a", spec={"schedule": "*/5 * * * *",
            "jobTemplate": {"spec": {"template": once}}}),
        named("networking.k8s.io/v1", "Ingress", "i-1", "a", spec={"rules": [{"host": "www.example.com", "http": {
            "paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web",
                "port": {"number": 80}}}}]}}]}),
        named("networking.k8s.io/v1", "NetworkPolicy", "np-1", "a", spec={"podSelector": {
            "matchLabels": {"app": "web"}}}),
        named("storage.k8s.io/v1", "StorageClass", "sc-1", None, provisioner="example.com/disk"),
        named("v1", "PersistentVolume", "pv-1", None, spec={"capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"], "storageClassName": "sc-1", "hostPath": {"path": "/tmp/x"}}),
        named("v1", "PersistentVolumeClaim", "pvc-1", "a", spec={"accessModes": ["ReadWriteOnce"],
            "storageClassName": "sc-1", "resources": {"requests": {"storage": "1Gi"}}}),
        named("autoscaling/v2", "HorizontalPodAutoscaler", "h-1", "a", spec={"maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d-1"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization",
                "averageUtilization": 60}}}]}),
        named("policy/v1", "PodDisruptionBudget", "b-1", "a", spec={"minAvailable": 1,
            "selector": {"matchLabels": {"app": "web"}}}),
        named("coordination.k8s.io/v1", "Lease", "l-1", "a", spec={"holderIdentity": "somebody",
            "leaseDurationSeconds": 15}),
        named("discovery.k8s.io/v1", "EndpointSlice", "es-1", "a", addressType="IPv4",
            endpoints=[{"addresses": ["10.1.0.7"]}], ports=[{"name": "http", "port": 80, "protocol": "TCP"}]),
        named("v1", "ResourceQuota", "q-1", "a-b", spec={"hard": {"pods": "10"}}),
        named("v1", "LimitRange", "lr-1", "a-b", spec={"limits": [{"type": "Container",
            "default": {"cpu": "1"}}]}),
        named("scheduling.k8s.io/v1", "PriorityClass", "pc-1", None, value=7),
        _event("before", "a"), _event("before", "ab")]
