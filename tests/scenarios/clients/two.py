"""Lists pods and nodes and watches both, up to the pod `last`."""

import threading

import kube


def follow(resource):
    status, answer = kube.request("/api/v1/" + resource)
    watch = kube.open_watch("/api/v1/%s?watch=true&resourceVersion=%s" % (resource, answer["metadata"]["resourceVersion"]))
    while event := kube.next_event(watch):
        if kube.tell_event(event) == "last":
            break


threading.Thread(target=follow, args=("nodes",), daemon=True).start()
follow("pods")
