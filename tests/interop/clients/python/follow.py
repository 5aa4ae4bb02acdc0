"""Follows resources with the official Python client, as a user's program does, and reports what it is told, in the
form of the package report of the Go clients. A line on stdin asks for what it holds.

    follow.py informer|watch RESOURCE...

informer: the client's SharedInformer (built-in resources only); watch: a list in pages, and a watch from there.
"""

import functools
import json
import signal
import sys
import threading

from kubernetes import client, config, watch
from kubernetes.informer import ADDED, DELETED, ERROR, MODIFIED, SharedInformer

from identity import identity


def lister(resource):
    """The function that lists a resource in all namespaces, and watches it."""
    core, apps, custom = client.CoreV1Api(), client.AppsV1Api(), client.CustomObjectsApi()
    leases = client.CoordinationV1Api()
    if resource == "crontabs.stable.example.com":
        return functools.wraps(custom.list_cluster_custom_object)(
            functools.partial(custom.list_cluster_custom_object, "stable.example.com", "v1", "crontabs"))
    return {"pods": core.list_pod_for_all_namespaces, "configmaps": core.list_config_map_for_all_namespaces,
        "leases.coordination.k8s.io": leases.list_lease_for_all_namespaces,
        "secrets": core.list_secret_for_all_namespaces,
        "deployments.apps": apps.list_deployment_for_all_namespaces}[resource]


printing = threading.Lock()


def say(line):
    """A line and its end are two writes, and every resource has a thread."""
    with printing:
        print(line, flush=True)


class Report:
    """What one resource told; a handler is not given what an update replaces, so it is kept here."""

    def __init__(self, resource):
        self.resource = resource
        self.known = {}

    def line(self, kind, **more):
        say(json.dumps({"kind": kind, "resource": self.resource, **more}))

    def listed(self, o):
        one = identity(o)
        self.known[one["key"]] = one
        self.line("add", object=one, initial=True)

    def changed(self, o):
        one = identity(o)
        old = self.known.get(one["key"])
        self.known[one["key"]] = one
        self.line("update" if old else "add", object=one, **({"old": old} if old else {}))

    def deleted(self, o):
        one = identity(o)
        self.known.pop(one["key"], None)
        self.line("delete", object=one)

    def cache(self, objects):
        for o in objects:
            self.line("cache", object=identity(o))


def watch_it(resource):
    """A list in pages and a watch from its resourceVersion, begun again there when it ends. Returns what gives the
    objects that it holds."""
    report, held, items = Report(resource), {}, lister(resource)

    def run():
        token = None
        while True:
            page = items(limit=7, _continue=token) if token else items(limit=7)
            as_dict = isinstance(page, dict)
            for o in page["items"] if as_dict else page.items:
                held[identity(o)["key"]] = o
                report.listed(o)
            meta = page["metadata"] if as_dict else page.metadata
            token = meta.get("continue") if as_dict else meta._continue
            rv = meta["resourceVersion"] if as_dict else meta.resource_version
            if not token:
                break
        report.line("synced")
        stream = watch.Watch()
        while True:
            for event in stream.stream(items, resource_version=stream.resource_version or rv):
                key = identity(event["object"])["key"]
                if event["type"] == "DELETED":
                    held.pop(key, None)
                    report.deleted(event["object"])
                else:
                    held[key] = event["object"]
                    report.changed(event["object"])
    threading.Thread(target=run, daemon=True).start()
    return report, lambda: list(held.values())


def inform(resource):
    report, items = Report(resource), lister(resource)
    listing = threading.local()

    @functools.wraps(items)
    def listed(**query):
        """The informer's list, with a note of when it is listing: its handlers are not told."""
        listing.now = not query.get("watch")
        return items(**query)

    informer = SharedInformer(list_func=listed)
    for kind in (ADDED, MODIFIED):
        informer.add_event_handler(kind, lambda o: report.listed(o) if listing.now else report.changed(o))
    informer.add_event_handler(DELETED, report.deleted)
    informer.add_event_handler(ERROR, lambda err: print(f"{resource}: {err!r}", file=sys.stderr, flush=True))
    informer.start()
    report.line("synced")
    return report, informer.cache.list


def main():
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    config.load_kube_config()
    follow = {"informer": inform, "watch": watch_it}[sys.argv[1]]
    followed = [follow(resource) for resource in sys.argv[2:]]

    def tell_caches(last):
        for report, held in followed:
            report.cache(held())
        say(json.dumps({"kind": last}, separators=(",", ":")))
    threading.Thread(target=lambda: [tell_caches("cached") for _ in sys.stdin], daemon=True).start()
    signal.sigwait(ends)
    tell_caches("end")


main()
