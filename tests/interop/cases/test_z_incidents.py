"""Incidents that happen to a real control plane, recorded with its audit log: `kubetape why` tells the cause that we made, and
who we were."""

import concurrent.futures
import json
import os
import signal
import subprocess

from lib import cluster, manifests, paths, process, wait
from lib.case import Case

# A node is given up within seconds, once its lease is not renewed.
FLAGS = {"kube-controller-manager": ["--node-monitor-period=1s", "--node-monitor-grace-period=10s"],
         "kwok": ["--node-lease-duration-seconds=6", "--manage-all-nodes=false", "--manage-nodes-with-label-selector=kubelet!=dead"]}
SOON = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1} for what in ("unreachable", "not-ready")]
WEBHOOK = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "checks"}, "webhooks": [{
    "name": "check.example.com", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
    "clientConfig": {"url": "https://127.0.0.1:1/check"}, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "webhook"}},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]}


class Incidents:
    """Each in a namespace of its own; makes it and returns what is asked about: (resource/name, namespace)."""

    def __init__(self, kubectl):
        self.kubectl = kubectl

    def make(self, name):
        return name, getattr(self, name)(name)

    def by(self, who, *args, **more):
        return self.kubectl(f"--token={who}-token", *args, **more)

    def create(self, body):
        self.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def web(self, where, replicas=1, **spec):
        """A Deployment that has come up; the name of one of its Pods."""
        body = manifests.deployment("web", where, replicas, "registry.example/web:1", manifests.kubelet_takes("50ms", "100ms"))
        body["spec"]["template"]["spec"].update(spec)
        self.create(body)
        self.kubectl("rollout", "status", "deployment/web", "-n", where, "--timeout=110s")
        return self.pods(where)[0]

    def pods(self, where):
        return sorted(p["metadata"]["name"] for p in self.kubectl.items("pods", "-n", where))

    def gone(self, pod, where):
        wait.until(f"pod {pod} to go", lambda: pod not in self.pods(where))
        return f"pods/{pod}", where

    def refused(self, where):
        wait.until("a ReplicaSet that cannot make pods", lambda: any(
            c["type"] == "ReplicaFailure" for r in self.kubectl.items("rs", "-n", where) for c in r["status"].get("conditions", [])))
        return "deploy/web", where

    def image(self, where):
        pod = self.web(where)
        self.by("alice", "set", "image", "deployment/web", "main=registry.example/web:2", "-n", where)
        return self.gone(pod, where)

    def zero(self, where):
        pod = self.web(where)
        self.by("bob", "scale", "deployment/web", "--replicas=0", "-n", where)
        return self.gone(pod, where)

    def owner(self, where):
        pod = self.web(where)
        self.by("alice", "delete", "deployment/web", "-n", where)
        return self.gone(pod, where)

    def doomed(self, where):
        pod = self.web(where)
        self.by("bob", "delete", "namespace", where, "--timeout=110s")
        return f"pods/{pod}", where

    def quota(self, where):
        self.web(where)
        self.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", "namespace": where}, "spec": {"hard": {"pods": "10"}}})
        self.by("alice", "patch", "quota/team", "-n", where, "--type=merge", "-p", '{"spec": {"hard": {"pods": "1"}}}')
        self.kubectl("wait", "quota/team", "-n", where, "--for=jsonpath={.status.hard.pods}=1", "--timeout=60s")
        self.by("bob", "scale", "deployment/web", "--replicas=3", "-n", where)
        return self.refused(where)

    def webhook(self, where):
        self.web(where)
        self.by("bob", "create", "-f", "-", stdin=json.dumps(WEBHOOK))

        def is_called():
            try:
                self.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(manifests.pod("probe", where)))
            except RuntimeError:
                return True
            return False

        wait.until("the webhook to be called", is_called)
        self.by("alice", "scale", "deployment/web", "--replicas=2", "-n", where)
        return self.refused(where)

    def fight(self, where):
        self.web(where)
        for turn in range(8):
            self.by(("alice", "bob")[turn % 2], "patch", "deployment/web", "-n", where, f"--field-manager={('argocd', 'tuner')[turn % 2]}", "--type=merge",
                "-p", json.dumps({"spec": {"replicas": 1 + turn % 2}}))
        return "deploy/web", where

    def taint(self, where):
        pod = self.web(where)
        node = self.kubectl.get("pod", pod, "-n", where)["spec"]["nodeName"]
        self.by("alice", "taint", "node", node, "maintenance=now:NoExecute")
        asked = self.gone(pod, where)
        self.kubectl("taint", "node", node, "maintenance-")
        return asked

    def lost(self, where):
        """The simulated kubelet of a node is gone; nobody ends its pods, which are being deleted for ever."""
        pod = self.web(where, tolerations=SOON)
        node = self.kubectl.get("pod", pod, "-n", where)["spec"]["nodeName"]
        self.kubectl("label", "node", node, "kubelet=dead")
        wait.until("the pod to be deleted", lambda: self.kubectl.get("pod", pod, "-n", where)["metadata"].get("deletionTimestamp"))
        return f"pods/{pod}", where


# The steps that must be told, in their order, others between them: (rule, resource, a part of its text, who asked; None: whoever).
EXPECTED = {
    "image": [("deleted", "pods", "was deleted", None), ("owner-scaled-down", "replicasets", "1 -> 0", None),
              ("owner-changed", "deployments", "web:1 -> registry.example/web:2", "alice")],
    "zero": [("deleted", "pods", "was deleted", None), ("owner-scaled-down", "replicasets", "1 -> 0", None), ("owner-changed", "deployments", "1 -> 0", "bob")],
    "owner": [("deleted", "pods", "was deleted", None), ("owner-deleted", "replicasets", "was deleted", None), ("owner-deleted", "deployments", "was deleted", "alice")],
    "doomed": [("deleted", "pods", "was deleted", None), ("namespace-deleted", "namespaces", "was being deleted", "bob")],
    "quota": [("cannot-make-pods", "deployments", "exceeded quota: team", None), ("quota", "resourcequotas", "allows", None),
              ("quota-changed", "resourcequotas", "10 -> 1", "alice")],
    "webhook": [("cannot-make-pods", "deployments", "connection refused", None), ("webhook", "validatingwebhookconfigurations", "127.0.0.1:1", None),
                ("webhook-changed", "validatingwebhookconfigurations", "was made", "bob")],
    "fight": [("fought-over", "deployments", "write spec.replicas in turns", None)],
    "taint": [("deleted", "pods", "was deleted", None), ("disrupted", "pods", "DeletionByTaintManager", None), ("node-tainted", "nodes", "maintenance", "alice")],
    "lost": [("waits-for-finalizers", "pods", "is being deleted", None), ("disrupted", "pods", "DeletionByTaintManager", None),
             ("node-lost", "nodes", "Kubelet stopped posting node status", None), ("lease-stopped", "leases", "for the last time", None)],
}


# What happens to nodes happens to the pods of all others, too.
ON_NODES = ("taint", "lost")


class IncidentsOfARealCluster(Case):

    def record(self, folder):
        """The tape, joined to the audit log, and {incident: what is asked about}."""
        log, path = (os.path.join(folder, name) for name in ("audit.log", "x.tape"))
        with cluster.fresh(folder, audited=True, nodes=3, flags=FLAGS) as made:
            asked = self.play(made, folder, path)
        subprocess.run([paths.KUBETAPE, "audit", path, log], capture_output=True, check=False)
        return path, asked

    def play(self, made, folder, path):
        incidents = Incidents(made.kubectl)
        for name in EXPECTED:
            incidents.create(manifests.namespace(name))
        recorder = process.Child([paths.KUBETAPE, "record", "--all", "-o", path], folder, "recorder", {"KUBECONFIG": made.kubeconfig})
        try:
            recorder.wait_for("^recording [0-9]+ streams")
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                asked = dict(pool.map(incidents.make, [n for n in EXPECTED if n not in ON_NODES]))
            asked |= dict(map(incidents.make, ON_NODES))
            incidents.create(manifests.config_map("end", "default", {}))
            wait.until("the end on the tape", lambda: "end" in subprocess.run(
                [paths.KUBETAPE, "get", path, "configmaps", "-n", "default", "-o", "name"], capture_output=True, text=True, check=False).stdout)
        finally:
            recorder.stop(signal.SIGINT)
        return asked

    def test_each_has_its_true_cause_and_who_made_it(self):
        path, asked = self.record(self.folder())
        for name, (what, where) in asked.items():
            with self.subTest(incident=name):
                done = subprocess.run([paths.KUBETAPE, "why", path, what, "-n", where, "-o", "json"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                steps = json.loads(done.stdout)["steps"]
                told = [f"{s['rule']} {s['resource']} {s['name']}: {s['text']} by {s['user']}" for s in steps]
                at = 0
                for rule, resource, text, who in EXPECTED[name]:
                    here = [i for i, s in enumerate(steps) if i >= at and (s["rule"], s["resource"]) == (rule, resource) and text in s["text"]
                            and who in (None, s["user"])]
                    self.assertTrue(here, f"no step '{rule}' of {resource} with '{text}' by {who} in " + json.dumps(told, indent=1))
                    at = here[0] + 1
