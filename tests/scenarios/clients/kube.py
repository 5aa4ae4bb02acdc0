"""As much of a Kubernetes client as the programs of this folder need: the server that KUBECONFIG names, over plain HTTP."""

import http.client
import json
import os
import sys


def connect():
    with open(os.environ["KUBECONFIG"], encoding="utf-8") as f:
        server = json.load(f)["clusters"][0]["cluster"]["server"]
    return http.client.HTTPConnection(server.removeprefix("http://"), timeout=60)


def request(target, method="GET", body=None, connection=None):
    """(status, answer)"""
    c = connection or connect()
    c.request(method, target, body=json.dumps(body) if body else None,
        headers={"User-Agent": os.path.basename(sys.argv[0]), "Content-Type": "application/json"})
    answer = c.getresponse()
    return answer.status, json.loads(answer.read())


def open_watch(target):
    c = connect()
    c.request("GET", target, headers={"User-Agent": os.path.basename(sys.argv[0])})
    return c.getresponse()


def next_event(watch):
    """The next event; None once the stream is over, however it ended, as on a closed channel in Go."""
    try:
        line = watch.readline()
        return json.loads(line) if line.endswith(b"\n") else None
    except (http.client.HTTPException, OSError):
        return None


def tell(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")  # at once: another thread may tell something, too
    sys.stdout.flush()


def tell_event(event):
    meta = event["object"].get("metadata", {})
    labels = ["%s=%s" % pair for pair in meta.get("labels", {}).items()]
    tell(event["type"], meta.get("name", "-"), meta.get("uid", "-"), meta.get("resourceVersion", "-"), *labels)
    return meta.get("name")
