"""A third session, for controllers under test: a deployment whose pods wait, because the scheduler is started only
when all of them are there.

Its marks are config maps, created one after the other: `quiet` (nothing has happened yet, all controllers have been
idle), `pending` (all pods are there and none is on a node) and `bound`.
"""

import fcntl
import os
import signal

from lib import cluster, manifests, paths, process, tape, wait, workload

NAMESPACE = "stage"
NODES = 3
REPLICAS = 4
# Wants more than a node has.
HUGE = "huge"


class Recorded:
    def __init__(self, folder):
        self.folder = folder
        self.tape = os.path.join(folder, "controllers.tape")
        self.pki = os.path.join(folder, "cluster", "pki")

    @classmethod
    def kept(cls, folder):
        """Recorded once for all tests, by the first process that asks."""
        made = cls(folder)
        with open(folder + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return made if os.path.exists(made.tape) and made.seq_of("bound") else made.record()

    def record(self):
        with cluster.fresh(self.folder, programs=("etcd", "kube-apiserver", "kube-controller-manager", "kwok"), nodes=NODES) as made:
            recorder = process.Child([paths.KUBETAPE, "record", "--all", "--secrets=keep", "-o", self.tape], self.folder,
                "recorder", {"KUBECONFIG": made.kubeconfig})
            try:
                recorder.wait_for("^recording [0-9]+ streams")
                self._play(made, workload.Workload(made.kubectl))
            finally:
                recorder.stop(signal.SIGINT)
        return self

    def _play(self, made, work):
        work.create(manifests.namespace(NAMESPACE))
        wait.until("the service account", lambda: made.kubectl("get", "serviceaccounts", "-n", NAMESPACE, "-o", "name"))
        work.create(manifests.config_map("quiet", NAMESPACE, {}))
        work.create(manifests.deployment("web", NAMESPACE, REPLICAS, "registry.example/web:1"))
        huge = manifests.pod(HUGE, NAMESPACE)
        huge["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100"
        work.create(huge)
        # On the tape: streams of different resources are not in step.
        wait.until("all pods", lambda: len(self._pods("type = 'ADDED'")) == REPLICAS + 1)
        work.create(manifests.config_map("pending", NAMESPACE, {}))
        made.start("kube-scheduler")
        made.kubectl("rollout", "status", "deployment/web", "-n", NAMESPACE, f"--timeout={wait.PATIENCE_S:.0f}s",
            timeout_s=wait.PATIENCE_S + 10)
        work.create(manifests.config_map("bound", NAMESPACE, {}))
        wait.until("the last mark on the tape", lambda: self.seq_of("bound"))

    def seq_of(self, mark):
        """The position of a mark."""
        found = tape.rows(self.tape, f"SELECT seq FROM events WHERE resource = 'configmaps' AND name = '{mark}'")
        return found and found[0]["seq"]

    def bound(self):
        """The pods that were put on a node in the recording, sorted."""
        return self._pods("jget(object, '$.spec.nodeName') IS NOT NULL")

    def _pods(self, which):
        return sorted({row["name"] for row in tape.rows(self.tape, "SELECT name FROM events WHERE resource = 'pods' AND "
            f"namespace = '{NAMESPACE}' AND {which}")})


def command(name, kubeconfig, pki):
    """How a part of the control plane is started, as it is, with that kubeconfig."""
    port = cluster.free_ports(1)[0]
    as_cluster = ["--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
        "--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=true"]
    return [paths.program(name), *{"kube-scheduler": as_cluster,
        "kube-controller-manager": [*as_cluster, "--service-account-private-key-file", os.path.join(pki, "sa.key"),
            "--root-ca-file", os.path.join(pki, "ca.crt"), "--use-service-account-credentials=false"],
        "kwok": ["--kubeconfig", kubeconfig, "--manage-all-nodes=true", "--config", paths.STAGES,
            "--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{port}"],
        "manager": []}[name]]


class Program(process.Child):
    """A part of the control plane on a replay; a context manager. It is known to lead when it says so."""

    def __init__(self, name, served, folder, pki):
        super().__init__(command(name, served.kubeconfig, pki), folder, name)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.stop()

    def leads(self):
        self.wait_for("uccessfully acquired lease")
        return self
