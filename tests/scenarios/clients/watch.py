"""Prints the events of one watch: watch.py TARGET [RV]. Ends with the stream, or at the event with that
resourceVersion."""

import sys

import kube

watch = kube.open_watch(sys.argv[1])
kube.tell("opened", watch.status)
while event := kube.next_event(watch):
    kube.tell_event(event)
    if event["object"]["metadata"].get("resourceVersion") in sys.argv[2:]:
        break
    if event["type"] == "ERROR":
        kube.tell("code", event["object"]["code"], event["object"]["reason"], event["object"]["message"])
else:
    kube.tell("ended")
