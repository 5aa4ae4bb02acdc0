"""Watches until the watch is over, then creates something on a connection that was open all the time."""

import kube

kept = kube.connect()
kube.request("/version", connection=kept)
local = kept.sock.getsockname()
watch = kube.open_watch("/api/v1/pods?watch=true")
while event := kube.next_event(watch):
    kube.tell_event(event)
kube.tell("watch over")
made = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "made", "namespace": "default"}}
status, _ = kube.request("/api/v1/namespaces/default/configmaps", "POST", made, connection=kept)
assert kept.sock.getsockname() == local
kube.tell("created", status)
