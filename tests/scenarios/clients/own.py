"""Watches ConfigMaps and creates one; reads it by its name, and sees when its watch tells of it. Then pods, up to `last`."""

import kube

MAPS = "/api/v1/namespaces/default/configmaps"

maps = kube.open_watch(MAPS + "?watch=true")
kube.tell("created", kube.request(MAPS, "POST", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "made"}})[0])
kube.tell("read", kube.request(MAPS + "/made")[0])
pods = kube.open_watch("/api/v1/pods?watch=true&resourceVersion=95")
while event := kube.next_event(pods):
    if kube.tell_event(event) == "last":
        break
kube.tell_event(kube.next_event(maps))
