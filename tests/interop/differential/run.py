"""Asks both servers everything and tells what differs."""

import collections
import itertools
import json
import threading
import time
from typing import NamedTuple
from urllib.parse import quote

from differential import accepted, catalog, compare, wire, writes

# Most requests of a server wait a second for the end of a watch.
THREADS = 48


class Difference(NamedTuple):
    request: wire.Request
    found: list  # [(what, live, replayed)]

    def __str__(self):
        return f"{self.request}\n" + "\n".join(f"      {what}:\n        live   {one}\n        replay {two}"
            for what, one, two in self.found)


def pages_of(server, request):
    """The answers to a request and to those that follow its continue tokens."""
    answers = [server.ask(request)]
    for _ in range(request.pages):
        token = _token(request, answers[-1])
        if not token:
            break
        target = request.target.split("?")[0] + "?" + "&".join(
            [f"{n}={quote(v)}" for n, v in request.query.items() if n != "resourceVersion"] + [f"continue={quote(token)}"])
        answers.append(server.ask(request._replace(target=target)))
    return answers


def _token(request, answer):
    return ((compare.Side(request, answer).json() or {}).get("metadata") or {}).get("continue")


def ask_both(live, replayed, requests):
    """[(request, answers of the live server, answers of the replay)]; both are asked at the same time."""
    found = {}

    def ask(name, server):
        found[name] = wire.ask_all(requests, lambda request: pages_of(server, request), THREADS)
    running = [threading.Thread(target=ask, args=item) for item in (("live", live), ("replay", replayed))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return list(zip(requests, found["live"], found["replay"]))


def difference(request, one, two, used):
    """What differs beyond what is accepted, None when nothing does. Counts in used what had to be accepted."""
    one, two = (answers if isinstance(answers, list) else [answers] for answers in (one, two))
    if len(one) != len(two):
        return Difference(request, [("number of pages", len(one), len(two))])
    for x, y in zip(one, two):
        found = _beyond(compare.Side(request, x), compare.Side(request, y), used)
        if found:
            return Difference(request, found)
    return None


def _beyond(live, replayed, used):
    found = compare.differences(live, replayed)
    if live.failure or replayed.failure:
        return found
    for entry in accepted.ACCEPTED:
        if not found:
            break
        entry.apply(live, replayed)
        left = compare.differences(live, replayed)
        if left != found:
            used[entry.name] += 1
        found = left
    return found


def resources_of(server):
    """[(path, whether it can be watched)] of all that the server's discovery names and that can be listed."""
    def ask(path):
        return json.loads(server.ask(wire.Request("discovery", path)).body)
    roots = ["/api/v1"] + [f"/apis/{v['groupVersion']}" for group in ask("/apis")["groups"] for v in group["versions"]]
    return [(f"{root}/{r['name']}", "watch" in r["verbs"]) for root in roots for r in ask(root)["resources"]
        if "list" in r["verbs"] and "/" not in r["name"]]


def may_be_late(request, answers):
    """An API server's cache may not catch up with etcd within a watch's second while it answers all the others: then it says so, or has
    not come to the end of the initial events."""
    streams = all(word in str(request) for word in ("sendInitialEvents=true", "allowWatchBookmarks=true"))
    return any(b'"type":"ERROR"' in answer.body or (streams and b"initial-events-end" not in answer.body)
               for answer in (answers if isinstance(answers, list) else [answers]))


def run(scene, say):
    """Returns the number of requests, the differences, and how often each accepted one was met."""
    live, replay = wire.Server(scene.cluster.server), wire.Server(scene.replay.url)
    requests = catalog.once(itertools.chain(catalog.everything(scene.rvs), writes.everything(),
        catalog.of_each_kind(resources_of(live))))
    began = time.monotonic()
    answers = ask_both(live, replay, requests)
    used = collections.Counter()

    def judge(request, one, two):
        found = difference(request, one, two, used)
        if not found or not may_be_late(request, one):
            return found
        say(f"differential: asked again alone, as the live server may have been late: {request}")
        return difference(*ask_both(live, replay, [request])[0], used)
    found = [d for d in (judge(*each) for each in answers) if d]
    say(f"differential: {len(requests)} requests to both servers in {time.monotonic() - began:.0f} s, "
        f"{len(found)} differ unexplained; accepted: " + ", ".join(f"{n} {name}" for name, n in used.items()))
    return len(requests), found, used
