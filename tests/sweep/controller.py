#!/usr/bin/env python3
"""Small controllers with a classic bug each, and without it: controller.py BUG|mended NAME, for ever.

Each keeps ConfigMaps in step with what it watches:
    tombstone   one for each pod; the buggy one ignores deletions that it learns from a list, and leaks
    identity    the UID of each pod; the buggy one takes a pod of the same name for the same pod
    seen        notes the phase of each new pod in its status; the buggy one takes a pod of the same name for the same pod
    edge        one for each pod that runs; the buggy one waits to see the step from Pending to Running
    moved       the node of each pod; the buggy one does not look again at what ran and runs
    stale       the pods of each node; the buggy one looks at its pods only when a node changes
    failed      one for each pod that failed; the buggy one waits to see the step from Running to Failed
    alert       as failed, and what it made stays when the pod is gone
    left        one for each node whose pod is gone; the buggy one ignores deletions that it learns from a list
    selected    one for each pod with the label app=web; the buggy one ignores that a list lacks a pod
    noting      as tombstone, and notes the phase as level does
    level       notes the phase in the status of each pod, as often as it is not there (no bug)
"""

import sys
import time

from informer import Cluster, Informer

MAPS = "/api/v1/namespaces/default/configmaps"


class Controller:
    def __init__(self, name, buggy):
        self.cluster = Cluster()
        self.name, self.buggy = name, buggy
        pods = "/api/v1/pods?labelSelector=app%3Dweb" if name == "selected" else "/api/v1/pods"
        self.pods = Informer(self.cluster, pods, self.pod_added, self.pod_updated, self.pod_deleted)
        self.nodes = Informer(self.cluster, "/api/v1/nodes", self.node_added, self.node_updated, self.node_deleted)

    def keep(self, name, **data):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        status, _ = self.cluster.ask("POST", MAPS, body)
        if status == 409:
            self.cluster.ask("PUT", MAPS + "/" + name, body)

    def drop(self, name):
        self.cluster.ask("DELETE", MAPS + "/" + name)

    def note(self, pod):
        phase = pod["status"]["phase"]
        if pod["status"].get("noted") != phase:
            pod = {**pod, "status": {**pod["status"], "noted": phase}}
            self.cluster.ask("PUT", "/api/v1/namespaces/default/pods/%s/status" % pod["metadata"]["name"], pod)

    # ---- pods ----

    def pod_added(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if self.name in ("noting", "seen"):
            self.note(pod)
        if self.name in ("tombstone", "noting", "selected"):
            self.keep(name)
        elif self.name in ("failed", "alert") and not self.buggy and pod["status"]["phase"] == "Failed":
            self.keep(name)
        elif self.name == "identity":
            self.keep(name, uid=uid)
        elif self.name == "edge" and not self.buggy and pod["status"]["phase"] == "Running":
            self.keep(name)
        elif self.name == "moved" and pod["status"]["phase"] == "Running":
            self.keep(name, node=pod["spec"]["nodeName"])
        elif self.name == "stale" and not self.buggy:
            self.tell_node(pod["spec"]["nodeName"])
        elif self.name == "level":
            self.note(pod)

    def pod_updated(self, old, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if self.name == "identity" and not self.buggy and uid != old["metadata"]["uid"]:
            self.keep(name, uid=uid)
        elif self.name == "seen" and not self.buggy and uid != old["metadata"]["uid"]:
            self.note(pod)
        elif self.name == "edge":
            was, phase = old["status"]["phase"], pod["status"]["phase"]
            if phase == "Running" and (was == "Pending" or not self.buggy):
                self.keep(name)
            elif phase != "Running" and not self.buggy:
                self.drop(name)
        elif self.name == "moved" and pod["status"]["phase"] == "Running":
            if old["status"]["phase"] != "Running" or (not self.buggy and old["spec"] != pod["spec"]):
                self.keep(name, node=pod["spec"]["nodeName"])
        elif self.name in ("failed", "alert") and pod["status"]["phase"] == "Failed":
            if not self.buggy or old["status"]["phase"] == "Running":
                self.keep(name)
        elif self.name in ("level", "noting"):
            self.note(pod)
        elif self.name == "stale" and not self.buggy:
            self.tell_node(old["spec"]["nodeName"])
            self.tell_node(pod["spec"]["nodeName"])

    def pod_deleted(self, pod, tombstone):
        if self.name in ("alert", "seen") or (self.name in ("tombstone", "noting", "selected") and tombstone and self.buggy):
            return
        if self.name == "left":
            if not (tombstone and self.buggy):
                self.tell_left()
            return
        if self.name == "stale":
            if not self.buggy:
                self.tell_node(pod["spec"]["nodeName"])
            return
        self.drop(pod["metadata"]["name"])

    # ---- nodes ----

    def tell_node(self, node):
        pods = sorted(p["metadata"]["name"] for p in self.pods.cache.values() if p["spec"]["nodeName"] == node)
        if "/" + node in self.nodes.cache:
            self.keep(node, pods=" ".join(pods))

    def tell_left(self):
        for node in self.nodes.cache.values():
            name = node["metadata"]["name"]
            if self.pods.synced.is_set() and "default/" + name.removeprefix("node-") not in self.pods.cache:
                self.keep("left-" + name)

    def node_added(self, node):
        if self.name == "left":
            self.tell_left()
        else:
            self.tell_node(node["metadata"]["name"])

    def node_updated(self, _, node):
        if self.name != "left":
            self.tell_node(node["metadata"]["name"])

    def node_deleted(self, node, _):
        if self.name != "left":
            self.drop(node["metadata"]["name"])

    def run(self):
        self.pods.start()
        if self.name in ("stale", "left"):
            self.nodes.start()
        while True:
            time.sleep(60)


if __name__ == "__main__":
    Controller(sys.argv[2], sys.argv[1] != "mended").run()
