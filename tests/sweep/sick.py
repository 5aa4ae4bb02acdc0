#!/usr/bin/env python3
"""Small programs that write nothing, and go wrong in another way when a list shows what a watch missed: sick.py BUG|mended NAME, for ever.

    deaf      the buggy one stops watching, and keeps 64 MiB
    mute      as deaf, and keeps nothing
    deafened  as deaf; it watches by WebSockets
    forgetful writes the names of the pods into the file that SERVED names; the buggy one ignores that a list lacks a pod, until
              it sees the last pod go
"""

import os
import sys
import time

from informer import Cluster, Informer


class Sick(Informer):
    def __init__(self, name, buggy):
        super().__init__(Cluster(), "/api/v1/pods", self.pod_added, self.pod_updated, self.pod_deleted)
        self.name, self.buggy = name, buggy
        self.names = set()
        self.by_socket = name == "deafened"

    def list(self):
        again = self.synced.is_set()
        if again and self.buggy and self.name in ("deaf", "mute", "deafened"):
            self.ballast = b"x" * (64 << 20) if self.name != "mute" else None
            time.sleep(3600)
        super().list()
        self.serve()

    def serve(self):
        if self.name != "forgetful":
            return
        path = os.environ["SERVED"] + os.environ["KUBECONFIG"].replace("/", "_")
        with open(path + ".new", "w") as f:
            f.write(" ".join(sorted(self.names)))
        os.replace(path + ".new", path)

    def pod_added(self, pod):
        self.names.add(pod["metadata"]["name"])
        self.serve()

    def pod_updated(self, old, pod):
        self.serve()

    def pod_deleted(self, pod, tombstone):
        if not (tombstone and self.buggy):
            self.names.discard(pod["metadata"]["name"])
        if pod["metadata"]["name"] == "web-2":
            self.names = {thing["metadata"]["name"] for thing in self.cache.values()}
        self.serve()


Sick(sys.argv[2], sys.argv[1] != "mended").run()
