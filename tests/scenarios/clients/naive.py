"""Watches pods as most first programs do.

    naive.py return      when the channel is closed: says so and returns
    naive.py continue    ... says so and goes on reading the closed channel (a second long, then it tells how often)
"""

import sys
import time

import kube

watch = kube.open_watch("/api/v1/pods?watch=true")
closed, since = 0, None
while True:
    event = kube.next_event(watch)
    if event:
        if kube.tell_event(event) == "last":
            break
        continue
    closed += 1
    if closed == 1:
        kube.tell("watch channel closed")
        since = time.monotonic()
    if sys.argv[1] == "return":
        break
    if time.monotonic() > since + 1:
        kube.tell("and closed again:", "very often" if closed > 1000 else closed)
        break
