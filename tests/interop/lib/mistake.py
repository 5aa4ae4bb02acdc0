"""A controller with a classic mistake goes wrong on a live API server: its watch is cut, what it watches changes behind its back, and that
history is compacted, so that it is told 410 and lists again. A tee writes down what it saw.

    controller ---> wiretap ---> tee ---> wiretap ---> kube-apiserver

Beside it a program of the standard library alone watches through the same tee, line by line.
"""

import http.client
import json
import os
import signal
import ssl
import threading

from lib import cluster, kubectl, manifests, paths, process, teed, wait, wiretap, workload

NAMESPACE = "default"
RESOURCE = "services"
COPY = "copy-of-"  # what the controller calls the ConfigMap that it keeps for each of them


def controller(kind):
    return [paths.program("controller"), kind, "tombstone", RESOURCE]


class Watcher(threading.Thread):
    """Lists a resource and watches it over HTTP/1.1. `lines` has what the watch said until it was cut."""

    AGENT = "plain-watcher/1"

    def __init__(self, port, resource):
        super().__init__(daemon=True)
        self.lines = []
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        context.set_alpn_protocols(["http/1.1"])
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=wait.PATIENCE_S, context=context)
        path = f"/api/v1/namespaces/{NAMESPACE}/{resource}"
        version = json.load(self._get(path))["metadata"]["resourceVersion"]
        self.answer = self._get(f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}")
        self.start()

    def _get(self, path):
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + cluster.TOKEN, "User-Agent": self.AGENT})
        return self.connection.getresponse()

    def run(self):
        try:
            while line := self.answer.readline():
                self.lines.append(line)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            self.connection.close()

    def has(self, name):
        return any(f'"name":"{name}"'.encode() in line for line in list(self.lines))


class Mistake:
    def __init__(self, folder):
        self.folder = folder
        self.left = []  # names of ConfigMaps in the live cluster, at its end
        self.tee = self.near = self.far = self.watcher = None
        self.codes, self.again = {}, {}

    def record(self):
        with cluster.fresh(self.folder, programs=("etcd", "kube-apiserver")) as made:
            self._record(made, workload.Workload(made.kubectl))
        self.again = {kind: self._again(kind) for kind in ("buggy", "mended")}
        for replay in self.again.values():
            replay.wait_end()
        return self

    def _record(self, made, work):
        pki = made.path("pki")
        self.far = wiretap.Wiretap(made.state["ports"]["kube-apiserver"], pki)
        self.tee = teed.Tee(made.write_kubeconfig("kubeconfig-far", self.far.port), self.folder, "live")
        self.near = wiretap.Wiretap(self.tee.port, pki)
        try:
            self._live(made, work, made.write_kubeconfig("kubeconfig-near", self.near.port))
        finally:
            self.codes["tee"] = self.tee.end()
            self.near.close()
            self.far.close()

    def _live(self, made, work, kubeconfig):
        for name in ("kept", "vanished"):
            work.create(manifests.service(name, NAMESPACE))
        program = process.Child(controller("buggy"), self.folder, "controller", {"KUBECONFIG": kubeconfig})
        try:
            self._wait_for_copies(made, {"kept", "vanished"})
            self._talk(kubeconfig, made, work)
            self._break(made, work)
            self._wait_for_copies(made, {"kept", "added"})
            self.left = self._copies(made)
        finally:
            self.codes["controller"] = program.stop(signal.SIGTERM)

    def _talk(self, kubeconfig, made, work):
        """What is hard to pass on: every kind of character, and objects that fill many records of TLS."""
        self.watcher = Watcher(self.near.port, "serviceaccounts")
        through = kubectl.Kubectl(kubeconfig, made.path("cache-near"))
        for name, texts in (("awkward", manifests.AWKWARD), ("large", {"text": "0123456789 <&> " * 16000})):
            work.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": manifests.meta(name, NAMESPACE,
                annotations={"example.com/" + key: text for key, text in texts.items()})})
        work.kubectl("annotate", "serviceaccount", "awkward", "-n", NAMESPACE, "--overwrite", "example.com/html=<i>&amp;</i>")
        work.kubectl("delete", "serviceaccount", "awkward", "-n", NAMESPACE)
        through("get", "serviceaccounts", "-n", NAMESPACE, "-o", "json")
        wait.until("the large one at the watcher", lambda: self.watcher.has("large"))

    def _break(self, made, work):
        self.far.down()
        work.kubectl("delete", "service", "vanished", "-n", NAMESPACE)
        work.create(manifests.service("added", NAMESPACE))
        made.compact()
        made.restart_apiserver(kill=True)
        self.far.up()

    def _copies(self, made):
        return {item["metadata"]["name"].removeprefix(COPY) for item in made.kubectl.items("configmaps", "-n", NAMESPACE)
            if item["metadata"]["name"].startswith(COPY)}

    def _wait_for_copies(self, made, wanted):
        wait.until(f"copies of {sorted(wanted)}", lambda: wanted <= self._copies(made), every_s=0.3)

    # --- again ---

    def _again(self, kind):
        """The same, or the mended controller, is given what the live one saw: a Child, with the run beside it."""
        run = os.path.join(self.folder, kind + ".run")
        made = process.Child([paths.KUBETAPE, "replay", self.tee.tape, "--as-seen-by", "controller", "--speed", "max", "--lockstep",
            "100ms", "--settle", "2s", "--run", run, "--golden", self.tee.run, "--", *controller(kind)], self.folder, "again-" + kind)
        made.run = run
        return made
