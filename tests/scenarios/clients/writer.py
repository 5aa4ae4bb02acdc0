"""Creates a ConfigMap until it is told that it is there: writer.py. What a first answer, or none, left behind is seen by the second."""

import http.client

import kube

MADE = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "made", "namespace": "default"}}

for _ in range(3):
    kube.tell("creating")
    try:
        status, answer = kube.request("/api/v1/namespaces/default/configmaps", "POST", MADE)
    except (http.client.HTTPException, OSError):
        kube.tell("no answer")
        continue
    kube.tell(status, answer.get("reason", "created"))
    if status in (201, 409):
        break
