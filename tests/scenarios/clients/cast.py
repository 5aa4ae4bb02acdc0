"""Takes the object of every event for a pod."""

import kube

watch = kube.open_watch("/api/v1/pods?watch=true&resourceVersion=95")
while event := kube.next_event(watch):
    if event["object"]["kind"] != "Pod":
        kube.tell("error casting", event["object"]["kind"], event["object"].get("code"))
        continue
    kube.tell_event(event)
kube.tell("watch channel closed")
