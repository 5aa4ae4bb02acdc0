"""A second, small session: a recorder and a live client-go informer lose the same API server at the same moment, and
what happens meanwhile can not be watched any more when it comes back.

The server is killed; another one, on another port, lets four things change behind their backs; etcd is compacted;
the server comes back where it was (its watch cache then begins at that moment, so that every earlier
resourceVersion is answered by 410).
"""

import os
import signal

from lib import cluster, kubectl, manifests, paths, process, tape, wait, workload

NAMESPACE = "default"
AFTERWARDS = "afterwards"  # created when both watch again: their last event


class Outage:
    def __init__(self, folder):
        self.folder = folder
        self.tape = os.path.join(folder, "outage.tape")
        self.uids = {}  # (name, "before" or "after"): uid
        self.told = ""
        self.exit_code = None

    def record(self):
        with cluster.fresh(self.folder, programs=("etcd", "kube-apiserver")) as made:
            self._record(made, workload.Workload(made.kubectl))
        return self

    def _record(self, made, work):
        for name in ("kept", "changed", "vanished", "recreated"):
            self._create(work, name, "before")
        env = {"KUBECONFIG": made.kubeconfig}
        recorder = process.Child([paths.KUBETAPE, "record", "configmaps", "-n", NAMESPACE, "-o", self.tape],
            self.folder, "recorder", env)
        informer = process.Child([paths.program("informer"), "configmaps"], self.folder, "informer", env)
        try:
            recorder.wait_for("^recording 1 stream")
            informer.wait_for('"synced"', "out")
            made.stop("kube-apiserver", kill=True)
            self._change_behind(made)
            made.start("kube-apiserver")
            made.wait_ready()
            for call in ('"add".*/added"', '"update".*/changed"', '"update".*/recreated"', '"delete".*/vanished"'):
                informer.wait_for(call, "out")
            wait.until("the end of the gap on the tape", self._gap_is_over, describe=lambda: recorder.text("err"))
            self._create(work, AFTERWARDS, "after")
            informer.wait_for(f'"add".*/{AFTERWARDS}"', "out")
            wait.until("the last event on the tape", lambda: tape.rows(self.tape,
                f"SELECT seq FROM events WHERE name = '{AFTERWARDS}'"), describe=lambda: recorder.text("err"))
        finally:
            self.exit_code = recorder.stop(signal.SIGINT)
            informer.stop()
        self.told = informer.text("out")

    def _create(self, work, name, when):
        body = manifests.config_map(name, NAMESPACE, {"when": when})
        self.uids[name, when] = work.create(body)["metadata"]["uid"]

    def _change_behind(self, made):
        """Through another server, which is gone when this returns."""
        where = made.state["ports"]["kube-apiserver"]
        made.state["ports"]["kube-apiserver"] = cluster.free_ports(1)[0]
        made.start("kube-apiserver")
        made.wait_ready()
        other = made.write_kubeconfig("kubeconfig-other", made.state["ports"]["kube-apiserver"])
        self._change(workload.Workload(kubectl.Kubectl(other, made.path("cache-other"))))
        made.compact()
        made.stop("kube-apiserver")
        made.state["ports"]["kube-apiserver"] = where

    def _change(self, work):
        work.kubectl("patch", "configmap/changed", "-n", NAMESPACE, "--type=merge", "-p", '{"data":{"when":"after"}}')
        work.kubectl("delete", "configmap", "vanished", "recreated", "-n", NAMESPACE)
        self._create(work, "recreated", "after")
        self._create(work, "added", "after")

    def _gap_is_over(self):
        found = tape.rows(self.tape, "SELECT how_ended FROM gaps")
        return found and all(row["how_ended"] != "open" for row in found)
