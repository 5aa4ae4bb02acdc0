"""Loses its watch and the server, and then

    outage.py leave      goes, and sees that nothing of it is left when the server is back
    outage.py create     creates something, which fails at once, and watches again when the server is back
"""

import socket
import sys
import time

import kube

rv = "95"
watch = kube.open_watch("/api/v1/pods?watch=true&resourceVersion=" + rv)
while event := kube.next_event(watch):
    kube.tell_event(event)
    rv = event["object"]["metadata"]["resourceVersion"]
if sys.argv[1] == "leave":
    watch.close()
    kube.tell("left")
else:
    try:
        status, _ = kube.request("/api/v1/namespaces/default/configmaps", "POST", {"metadata": {"name": "made"}})
        kube.tell("create:", status)
    except ConnectionRefusedError:
        kube.tell("create: connection refused")
while True:
    try:
        c = kube.connect()
        socket.create_connection((c.host, c.port)).close()
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
kube.tell("the server is back")
if sys.argv[1] == "create":
    watch = kube.open_watch("/api/v1/pods?watch=true&resourceVersion=" + rv)
    while rv != "140":
        rv = kube.next_event(watch)["object"]["metadata"]["resourceVersion"]
    kube.tell("watching again:", rv)
