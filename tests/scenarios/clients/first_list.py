"""Lists pods as soon as there is a server, with the patience of a reflector."""

import time

import kube

pause_s = 0.2
while True:
    try:
        status, answer = kube.request("/api/v1/pods")
        break
    except ConnectionRefusedError:
        kube.tell("connection refused, trying again")
        time.sleep(pause_s)
        pause_s *= 2
kube.tell("listed", len(answer["items"]), "pods at", answer["metadata"]["resourceVersion"])
