"""Watches pods again whenever the channel is closed, without a resourceVersion, after a pause: the mend that is found
most often. Keeps a set of what exists by what it was told, and compares it with a list at the end."""

import time

import kube

believed = {}
last = False
while not last:
    watch = kube.open_watch("/api/v1/pods?watch=true")
    while event := kube.next_event(watch):
        name = kube.tell_event(event)
        if event["type"] == "DELETED":
            believed.pop(name, None)
        else:
            believed[name] = event["object"]["metadata"]["uid"]
        last = last or name == "last"
        if last:
            break
    if not last:
        kube.tell("watch channel closed, watching again in a moment")
        time.sleep(0.3)
real = {i["metadata"]["name"]: i["metadata"]["uid"] for i in kube.request("/api/v1/pods")[1]["items"]}
kube.tell("believes in", *sorted(believed))
kube.tell("there are", *sorted(real))
