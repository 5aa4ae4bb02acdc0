"""Follows resources with kubernetes_asyncio, as a user's program does, and reports what it is told, in the form of the
package report of the Go clients. A line on stdin asks for what it holds.

    follow_asyncio.py RESOURCE...

This client has no informer. What its users write is a list in pages and a watch from there: again at the last
resourceVersion when the connection broke, again from a list when that version is too old.
"""

import asyncio
import functools
import json
import sys

import aiohttp
from kubernetes_asyncio import client, config, watch

from identity import identity


def lister(resource, api):
    """The function that lists a resource in all namespaces, and watches it."""
    custom = client.CustomObjectsApi(api)
    if resource == "crontabs.stable.example.com":
        return functools.wraps(custom.list_cluster_custom_object)(
            functools.partial(custom.list_cluster_custom_object, "stable.example.com", "v1", "crontabs"))
    return {"pods": client.CoreV1Api(api).list_pod_for_all_namespaces,
        "configmaps": client.CoreV1Api(api).list_config_map_for_all_namespaces,
        "leases.coordination.k8s.io": client.CoordinationV1Api(api).list_lease_for_all_namespaces}[resource]


class Follower:
    def __init__(self, resource, items):
        self.resource = resource
        self.items = items
        self.held = {}
        self.synced = False

    def line(self, kind, **more):
        print(json.dumps({"kind": kind, "resource": self.resource, **more}), flush=True)

    def applied(self, one):
        old = self.held.get(one["key"])
        self.held[one["key"]] = one
        if old != one:
            self.line("update" if old else "add", object=one, **({"old": old} if old else {}))

    def deleted(self, one, unknown=False):
        self.held.pop(one["key"], None)
        self.line("delete", object=one, unknown=unknown)

    async def list(self):
        """Returns the resourceVersion of the list."""
        found, token = {}, None
        while True:
            page = await (self.items(limit=7, _continue=token) if token else self.items(limit=7))
            as_dict = isinstance(page, dict)
            found.update((one["key"], one) for one in map(identity, page["items"] if as_dict else page.items))
            meta = page["metadata"] if as_dict else page.metadata
            token = meta.get("continue") if as_dict else meta._continue
            if not token:
                break
        for key in self.held.keys() - found.keys():
            self.deleted(self.held[key], unknown=True)
        for one in found.values():
            self.applied(one)
        if not self.synced:
            self.synced = True
            self.line("synced")
        return meta["resourceVersion"] if as_dict else meta.resource_version

    async def watch(self, stream, version):
        async for event in stream.stream(self.items, resource_version=version, allow_watch_bookmarks=True):
            if event["type"] == "DELETED":
                self.deleted(identity(event["object"]))
            elif event["type"] != "BOOKMARK":
                self.applied(identity(event["object"]))

    async def run(self):
        version = None
        while True:
            stream = watch.Watch()
            try:
                version = version or await self.list()
                await self.watch(stream, version)
            except (client.ApiException, aiohttp.ClientError) as err:
                print(f"{self.resource}: {err!r}", file=sys.stderr, flush=True)
                expired = isinstance(err, client.ApiException) and err.status == 410
                version = None if expired else stream.resource_version or version
            await asyncio.sleep(0.2)


async def main():
    await config.load_kube_config()
    followed = [Follower(name, lister(name, client.ApiClient())) for name in sys.argv[1:]]
    running = [asyncio.ensure_future(one.run()) for one in followed]
    asked = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(asked), sys.stdin)
    while await asked.readline():
        for one in running:
            if one.done():
                one.result()
        for one in followed:
            for held in one.held.values():
                one.line("cache", object=held)
        print('{"kind":"cached"}', flush=True)


asyncio.run(main())
