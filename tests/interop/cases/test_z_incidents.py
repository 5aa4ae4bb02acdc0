"""Incidents that happen to a real control plane, recorded with its audit log: `kubetape why` tells the cause that we made, and
who we were."""

import base64
import concurrent.futures
import contextlib
import http.server
import json
import os
import signal
import ssl
import subprocess
import threading
import time

from lib import certificates, cluster, manifests, paths, process, wait
from lib.case import Case

# A node is given up within seconds, once its lease is not renewed.
FLAGS = {"kube-controller-manager": ["--node-monitor-period=1s", "--node-monitor-grace-period=10s"],
         "kwok": ["--node-lease-duration-seconds=6", "--manage-all-nodes=false", "--manage-nodes-with-label-selector=kubelet!=dead"]}
SOON = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1} for what in ("unreachable", "not-ready")]
# What is asked about is left where it is when a node is tainted or lost.
NEVER = [{"operator": "Exists"}]


def webhook(where, **client):
    """Asks the client about each pod that is made in the namespace, and refuses it when that fails."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": where}, "webhooks": [{
        "name": f"{where}.example.com", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
        "clientConfig": client, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": where}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]}


@contextlib.contextmanager
def tls_server(certificate, key):
    """A server on loopback, which nobody talks to who minds its certificate; its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}/check"
        finally:
            server.shutdown()
            thread.join()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Incidents:
    """Each in a namespace of its own; makes it and returns what is asked about: (resource/name, namespace)."""

    def __init__(self, made, expired_url):
        self.kubectl = made.kubectl
        self.expired_url = expired_url
        with open(made.path("pki", "ca.crt"), "rb") as f:
            self.authority = base64.b64encode(f.read()).decode()

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
        return self.asked_in_vain(where, webhook(where, url="https://127.0.0.1:1/check"))

    def expired(self, where):
        return self.asked_in_vain(where, webhook(where, url=self.expired_url, caBundle=self.authority))

    def asked_in_vain(self, where, configuration):
        self.web(where)
        self.by("bob", "create", "-f", "-", stdin=json.dumps(configuration))

        def is_called():
            try:
                self.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(manifests.pod("probe", where)))
            except RuntimeError:
                return True
            return False

        wait.until("the webhook to be called", is_called)
        self.by("alice", "scale", "deployment/web", "--replicas=2", "-n", where)
        return self.refused(where)

    def set_status(self, what, *args, **status):
        """As a kubelet writes it."""
        self.kubectl("patch", *what.split("/"), *args, "--subresource=status", "--type=strategic", "-p", json.dumps({"status": status}))

    def oom(self, where):
        """A limit that is too low; the simulated kubelets count no memory, so that we say what a real one would."""
        old = self.web(where, tolerations=NEVER)
        self.by("alice", "set", "resources", "deployment/web", "--limits=memory=40Mi", "-n", where)
        self.gone(old, where)
        self.kubectl("rollout", "status", "deployment/web", "-n", where, "--timeout=110s")
        pod = self.pods(where)[0]
        container = self.kubectl.get("pod", pod, "-n", where)["status"]["containerStatuses"][0]
        ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": now(), "finishedAt": now(), "containerID": "containerd://1"}
        self.set_status(f"pods/{pod}", "-n", where, containerStatuses=[
            {**container, "state": {"running": {"startedAt": now()}}, "lastState": {"terminated": ended}, "restartCount": 1}])
        return f"pods/{pod}", where

    def evicted(self, where):
        """A node that runs out of memory, as its kubelet would say it."""
        pod = self.web(where, tolerations=NEVER)
        node = self.kubectl.get("pod", pod, "-n", where)["spec"]["nodeName"]
        self.pressure(node, "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")
        why = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. "
        self.set_status(f"pods/{pod}", "-n", where, phase="Failed", reason="Evicted", message=why, conditions=[
            {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": why, "lastTransitionTime": now()}])
        self.pressure(node, "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
        return f"pods/{pod}", where

    def pressure(self, node, status, reason, message):
        self.set_status(f"nodes/{node}", conditions=[{"type": "MemoryPressure", "status": status, "reason": reason, "message": message,
                                                      "lastHeartbeatTime": now(), "lastTransitionTime": now()}])

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
    "expired": [("cannot-make-pods", "deployments", "certificate has expired", None), ("webhook", "validatingwebhookconfigurations", "127.0.0.1:", None),
                ("webhook-changed", "validatingwebhookconfigurations", "was made", "bob")],
    "oom": [("oom-killed", "pods", "OOMKilled, exit code 137", None), ("limit-changed", "deployments", "40Mi", "alice")],
    "evicted": [("evicted", "pods", "low on resource: memory", None), ("node-under-pressure", "nodes", "MemoryPressure", None)],
    "fight": [("fought-over", "deployments", "write spec.replicas in turns", None)],
    "taint": [("deleted", "pods", "was deleted", None), ("disrupted", "pods", "DeletionByTaintManager", None), ("node-tainted", "nodes", "maintenance", "alice")],
    "lost": [("waits-for-finalizers", "pods", "is being deleted", None), ("disrupted", "pods", "DeletionByTaintManager", None),
             ("node-lost", "nodes", "Kubelet stopped posting node status", None), ("lease-stopped", "leases", "for the last time", None)],
}


# Where the page of all incidents shows each, and with which words.
REPORTED = {
    "image": ("Images changed", "image/web", "web:1 -> registry.example/web:2"),
    "zero": ("Scaled", "zero/web", "1 -> 0"),
    "owner": ("Deleted", "deployments owner/web", ""),
    "doomed": ("Deleted", "namespaces doomed", ""),
    "quota": ("Refused by quota, webhook or admission", "quota/web", "exceeded quota: team"),
    "webhook": ("Refused by quota, webhook or admission", "webhook/web", "connection refused"),
    "expired": ("Refused by quota, webhook or admission", "expired/web", "certificate has expired"),
    "oom": ("Killed for their memory", "oom/web", "OOMKilled"),
    "evicted": ("Evicted and disrupted", "evicted/web", "low on resource: memory"),
    "fight": ("Written in turns by several managers", "fight/web", "spec.replicas"),
    "taint": ("Evicted and disrupted", "taint/web", "DeletionByTaintManager"),
    "lost": ("Nodes that were not ready", "nodes node-", "Kubelet stopped posting node status"),
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
        with tls_server(*certificates.make_expired(made.path("pki"))) as expired_url:
            return self.play_all(made, Incidents(made, expired_url), folder, path)

    def play_all(self, made, incidents, folder, path):
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

    def test_each_has_its_true_cause_and_who_made_it_and_its_place_on_the_page(self):
        path, asked = self.record(self.folder())
        page = self.page(path)
        for name, (section, *words) in REPORTED.items():
            with self.subTest(reported=name):
                self.assertTrue(any(all(word in line for word in words) for line in page[section]), f"no line with {words} in {page[section]}")
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

    def page(self, path):
        """{section: its lines}, of the whole tape."""
        done = subprocess.run([paths.KUBETAPE, "report", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        sections = (part.split("\n") for part in done.stdout.strip().split("\n\n")[1:])
        return {title: lines for title, *lines in sections}
