"""Waits until the pod `last` can be read by its name; then lists pods as a cache may show them, and as they are."""

import time

import kube

while kube.request("/api/v1/namespaces/default/pods/last")[0] != 200:
    time.sleep(0.05)
for query in ("?resourceVersion=0", ""):
    status, answer = kube.request("/api/v1/pods" + query)
    kube.tell("at 0:" if query else "now:", *[item["metadata"]["name"] for item in answer["items"]])
