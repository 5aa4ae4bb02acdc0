#!/usr/bin/env python3
"""Small controllers that go blind in other ways than a gap, and mended ones: blind.py BUG|mended NAME, for ever.

    steps     two ConfigMaps for each pod, one after the other; the buggy one takes the first for both (restart)
    owner     one for each pod, deleted as soon as its pod ends; the buggy one deletes that of a later pod (stale)
    finalizer as owner, and its pod is gone when it has taken away the finalizer (stale, between an event and the answer to it)
    claims    deletes the ConfigMap that others made for a pod, when it ends; the buggy one does not look whose it is (stale, at the end)
    cleaner   one for each pod, deleted when the pod is to go, which its own finalizer then allows; the buggy one allows it first (restart)
    holder    takes its finalizer from each pod that is to go; the buggy one not if it finds it so when it starts (restart over a change)
    secrets   a Secret for each pod, with its UID; the buggy one leaves it as it is for a later pod (unobserved)
    caches    as owner, but it asks its cache whose the one is; the buggy one deletes without a precondition (stale, two resources)
    orphan    one for each pod, which goes with it; the buggy one does not look for leftovers when it starts (restart over a deletion)
    again     one for each pod, under a name that the server gives; the buggy one makes another after any error (writes)
    count     two for the first pod; the buggy one counts only those that its watch has told it of (echo)
    verified  one for each pod; the buggy one forgets a pod that is gone when it looks at its end (coalesced)
    doubling  one for each pod; after an error tries again, after twice the time of the last; the buggy one gives up after 5 errors
    asking    as doubling, and tries at intervals to update what is not there
    queued    one for each pod that is there when it looks (no bug)
    marked    one for each pod, and then an annotation on it (no bug)
    ran       one for each pod, with whether it has seen it run (no bug)
    recent    as owner, with whether its pod is older than a day (no bug)
    applied   as owner, by server-side apply (no bug)
    phases    as owner, with the phase of the pod (no bug)
    lender    one for each pod, to which it adds a finalizer that others take away (no bug)
    sealer    one for each pod, once it has added its finalizer to that; another's addition would not do (no bug)
    leaver    an annotation on each pod, whose finalizer it takes away when it is to go (no bug)
    versions  one for each pod, which says what version of itself the program saw (no bug)
    ports     Endpoints for each pod, whose ports have no order, with a version of the pod and an object in a text (no bug)
    chance    one for each pod, with one of two values at random (no bug)
    seldom    one, with another value after a list, and once that was so ($SELDOM is there) in any run whose watch is not cut (no bug)
    racing    none; the buggy one panics each second time that it lists again ($SELDOM has how often it did)
    twice     as racing, but the first two times alone
    pool      for each pod an address, first come, first served; the buggy one gives out anew when it starts (restart over a creation)
    drawn     one for each pod, under a name that it makes up; the buggy one ignores deletions that it learns from a list
    nested    as drawn, and another one under a name that is made of the first one's
    binder    binds each pod without a scheduler to a node; the buggy one takes a pod under the name of a bound one for bound
    renewed   one for each pod, made anew for its next life; the buggy one looks at those whose creation its watch shows (unobserved, its own)
    promised  two ConfigMaps for each pod, the second when its watch shows the first; the buggy one does not know by then that it made that (a late answer)
    noticed   the phase of each pod, and on the pod what its node was last; the buggy one takes what it has written for all that is new (an overwrite)
    seated    an annotation on one pod after the other, as there is one seat; the buggy one frees it if it has seen who had it (unobserved, its own)
    evicted   deletes each pod that failed, and one when it is gone; the buggy one waits for the deletion (unobserved, its own)
    onward    one for each pod, which goes with it; the buggy one begins each further watch at the present, not where the last one ended (an ordinary end)
    join      the node of each pod; the buggy one looks before it knows the nodes (slow)
"""

import calendar
import contextlib
import http.client
import json
import os
import queue
import random
import sys
import threading
import time

from informer import Cluster, Informer, LOCK

MAPS = "/api/v1/namespaces/default/configmaps"


def nothing(*_):
    pass


def let_go(cluster, pod):
    meta = pod["metadata"]
    if "deletionTimestamp" in meta and "finalizers" in meta:
        free = {**pod, "metadata": {key: value for key, value in meta.items() if key != "finalizers"}}
        cluster.ask("PUT", "/api/v1/namespaces/default/pods/" + meta["name"], free)


class Blind:
    def __init__(self, buggy):
        self.cluster, self.buggy = Cluster(), buggy
        self.pods = Informer(self.cluster, "/api/v1/pods", self.added, self.updated, self.deleted, "resourceVersion=0")

    def body(self, meta, data):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}

    def create(self, name, **data):
        return self.cluster.ask("POST", MAPS, self.body({"name": name}, data))[0]

    def drop(self, name):
        self.cluster.ask("DELETE", MAPS + "/" + name)

    def added(self, pod):
        pass

    def updated(self, old, pod):
        pass

    def deleted(self, pod, _):
        pass

    def start(self):
        self.pods.start()


class Steps(Blind):
    """Watches nodes as well, but only from its first ConfigMap on: started again, it may not need them any more."""

    nodes = None

    def added(self, pod):
        name = pod["metadata"]["name"]
        first = self.create("first-" + name)
        if first == 201 and not self.nodes:
            self.nodes = Informer(self.cluster, "/api/v1/nodes", nothing, nothing, nothing)
            self.nodes.start()
        if first == 201 or not self.buggy:
            self.create("second-" + name)


class Owner(Blind):
    def added(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            self.end(name, uid)
        else:
            self.create(name, uid=uid)

    def updated(self, old, pod):
        if old["metadata"]["uid"] != pod["metadata"]["uid"]:
            self.end(old["metadata"]["name"], old["metadata"]["uid"])
        self.added(pod)

    def deleted(self, pod, _):
        self.end(pod["metadata"]["name"], pod["metadata"]["uid"])

    def end(self, name, uid):
        status, thing = self.cluster.ask("GET", MAPS + "/" + name)
        if status == 200 and (self.buggy or thing["data"]["uid"] == uid):
            self.drop(name)


class Applied(Owner):
    def create(self, name, **data):
        self.cluster.ask("PATCH", MAPS + "/" + name + "?fieldManager=small&force=true", self.body({"name": name}, data))


class Ran(Blind):
    def added(self, pod):
        self.create(pod["metadata"]["name"], ran="no")

    def updated(self, old, pod):
        name = pod["metadata"]["name"]
        if pod["status"]["phase"] == "Running":
            self.cluster.ask("PUT", MAPS + "/" + name, self.body({"name": name}, {"ran": "yes"}))


class Recent(Owner):
    def create(self, name, **data):
        made = self.pods.cache["default/" + name]["metadata"]["creationTimestamp"]
        age_s = time.time() - calendar.timegm(time.strptime(made, "%Y-%m-%dT%H:%M:%SZ"))
        super().create(name, recent="yes" if abs(age_s) < 86400 else "no", made=made, **data)


class Phases(Owner):
    def create(self, name, **data):
        data["phase"] = self.pods.cache["default/" + name]["status"]["phase"]
        status, thing = self.cluster.ask("GET", MAPS + "/" + name)
        if status == 404:
            super().create(name, **data)
        elif any(thing["data"].get(key) != value for key, value in data.items()):
            self.cluster.ask("PUT", MAPS + "/" + name, {**thing, "data": {**thing["data"], **data}})


class Binder(Blind):
    def added(self, pod):
        meta = pod["metadata"]
        if not pod["spec"].keys() & {"nodeName", "schedulerName"} and "deletionTimestamp" not in meta:
            self.cluster.ask("POST", "/api/v1/namespaces/default/pods/%s/binding" % meta["name"],
                {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]}, "target": {"name": "node-0"}})

    def updated(self, old, pod):
        if not self.buggy or "nodeName" not in old["spec"]:
            self.added(pod)


class Chance(Blind):
    def added(self, pod):
        self.create(pod["metadata"]["name"], side=random.choice("ab"))


class Counting(Informer):
    lists = watches = 0

    def list(self):
        self.lists += 1
        super().list()

    def watch(self):
        self.watches += 1
        super().watch()


class Seldom(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.pods = Counting(self.cluster, "/api/v1/pods", self.added, self.updated, self.deleted)

    def added(self, _):
        again = self.pods.lists > 1
        if again:
            open(os.environ["SELDOM"], "w", encoding="utf-8").close()
        other = again or (self.pods.watches < 2 and os.path.exists(os.environ["SELDOM"]))
        self.drop("only")
        self.create("only", side="b" if other else "a")

    def updated(self, _, pod):
        self.added(pod)


class Racing(Seldom):
    def added(self, _):
        if not self.buggy or self.pods.lists < 2:
            return
        self.buggy = False
        with open(os.environ["SELDOM"], "a+", encoding="utf-8") as lists:
            if self.panics_at(lists.tell()):
                print("panic: assignment to entry in nil map", file=sys.stderr, flush=True)
            lists.write(".")

    def panics_at(self, time):
        return time % 2 == 0


class Twice(Racing):
    def panics_at(self, time):
        return time < 2


class Claims(Owner):
    def added(self, pod):
        if "deletionTimestamp" in pod["metadata"]:
            self.end("claim-" + pod["metadata"]["name"], pod["metadata"]["uid"])

    def deleted(self, pod, _):
        pass


class Secrets(Blind):
    ALL = "/api/v1/namespaces/default/secrets"

    def added(self, pod):
        name = pod["metadata"]["name"]
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"uid": pod["metadata"]["uid"]}}
        if self.cluster.ask("POST", self.ALL, secret)[0] == 409:
            self.cluster.ask("PUT", self.ALL + "/" + name, secret)

    def updated(self, old, pod):
        if not self.buggy and old["metadata"]["uid"] != pod["metadata"]["uid"]:
            self.added(pod)


class Versions(Blind):
    def added(self, pod):
        path = MAPS + "/" + pod["metadata"]["name"]
        self.create(pod["metadata"]["name"])
        thing = self.cluster.ask("GET", path)[1]
        self.cluster.ask("PUT", path, {**thing, "data": {"version": thing["metadata"]["resourceVersion"]}})


class Orphan(Blind):
    def added(self, pod):
        self.create(pod["metadata"]["name"])

    def deleted(self, pod, _):
        self.drop(pod["metadata"]["name"])

    def start(self):
        super().start()
        self.pods.synced.wait()
        for thing in [] if self.buggy else self.cluster.ask("GET", MAPS)[1]["items"]:
            name = thing["metadata"]["name"]
            with LOCK:
                if "default/" + name not in self.pods.cache:
                    self.drop(name)


class Pool(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.given = {}

    def added(self, pod):
        name = pod["metadata"]["name"]
        taken = [address for owner, address in self.given.items() if owner != name]
        had = self.cluster.ask("GET", MAPS + "/" + name)[1].get("data", {}).get("address")
        free = [address for address in ("10.0.0.%d" % n for n in range(1, 255)) if address not in taken]
        self.given[name] = had if had in free else free[0]
        if self.given[name] != had and self.create(name, address=free[0]) == 409:
            self.cluster.ask("PUT", MAPS + "/" + name, self.body({"name": name}, {"address": free[0]}))

    def deleted(self, pod, _):
        self.given.pop(pod["metadata"]["name"], None)
        self.drop(pod["metadata"]["name"])

    def start(self):
        pods = {pod["metadata"]["name"] for pod in self.cluster.ask("GET", "/api/v1/pods")[1]["items"]}
        for thing in self.cluster.ask("GET", MAPS)[1]["items"]:
            name = thing["metadata"]["name"]
            if name not in pods:
                self.drop(name)
            elif not self.buggy:
                self.given[name] = thing["data"]["address"]
        super().start()


class Drawn(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.names = {}

    def added(self, pod):
        name = pod["metadata"]["name"]
        self.names[name] = name + "-" + "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        self.create(self.names[name], pod=name)

    def deleted(self, pod, tombstone):
        if not (tombstone and self.buggy):
            self.drop(self.names.pop(pod["metadata"]["name"]))


class Nested(Drawn):
    def added(self, pod):
        super().added(pod)
        name = pod["metadata"]["name"]
        self.create(self.names[name] + "-" + "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5)), pod=name)

    def deleted(self, pod, tombstone):
        if not (tombstone and self.buggy):
            prefix = self.names.pop(pod["metadata"]["name"])
            for thing in self.cluster.ask("GET", MAPS)[1]["items"]:
                if thing["metadata"]["name"].startswith(prefix):
                    self.drop(thing["metadata"]["name"])


class Finalizer(Owner):
    def added(self, pod):
        super().added(pod)
        let_go(self.cluster, pod)


class Cleaner(Owner):
    def added(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if "deletionTimestamp" not in pod["metadata"]:
            self.create(name, uid=uid)
            return
        if self.buggy:
            let_go(self.cluster, pod)
        self.end(name, uid)
        let_go(self.cluster, pod)

    def updated(self, old, pod):
        self.added(pod)

    def deleted(self, pod, _):
        pass


class Holder(Blind):
    def added(self, pod):
        if not self.buggy:
            let_go(self.cluster, pod)

    def updated(self, old, pod):
        let_go(self.cluster, pod)


class Lender(Blind):
    def added(self, pod):
        meta = pod["metadata"]
        if "deletionTimestamp" not in meta:
            self.create(meta["uid"])
            self.cluster.ask("PUT", "/api/v1/namespaces/default/pods/" + meta["name"], {**pod, "metadata": {**meta, "finalizers": ["example.com/lent"]}})


class Sealer(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.sealed = set()

    def added(self, pod):
        meta = pod["metadata"]
        if "finalizers" not in meta:
            status, _ = self.cluster.ask("PUT", "/api/v1/namespaces/default/pods/" + meta["name"], {**pod, "metadata": {**meta, "finalizers": ["example.com/seal"]}})
            self.sealed |= {meta["uid"]} if status == 200 else set()
        elif meta["uid"] in self.sealed:
            self.create(meta["uid"])

    def updated(self, old, pod):
        self.added(pod)


class Leaver(Blind):
    def added(self, pod):
        meta = pod["metadata"]
        if not {"deletionTimestamp", "annotations"} & set(meta):
            self.cluster.ask("PUT", "/api/v1/namespaces/default/pods/" + meta["name"], {**pod, "metadata": {**meta, "annotations": {"marked": "yes"}}})
        let_go(self.cluster, pod)

    def updated(self, old, pod):
        self.added(pod)


class Caches(Owner):
    """Looks up whose a ConfigMap is in its cache, which may be as old as that of the pods; its own writes are there at once."""

    def __init__(self, buggy):
        super().__init__(buggy)
        self.maps = Informer(self.cluster, MAPS, nothing, nothing, nothing, "resourceVersion=0")

    def create(self, name, **data):
        status, made = self.cluster.ask("POST", MAPS, self.body({"name": name}, data))
        if status == 201:
            self.maps.cache["default/" + name] = made

    def end(self, name, uid):
        thing = self.maps.cache.get("default/" + name)
        if thing and thing["data"]["uid"] == uid:
            only = {"preconditions": {"uid": thing["metadata"]["uid"]}}
            self.cluster.ask("DELETE", MAPS + "/" + name, None if self.buggy else only)

    def start(self):
        self.maps.start()
        self.maps.synced.wait()
        super().start()


class Again(Blind):
    def added(self, pod):
        name = pod["metadata"]["name"]
        for _ in range(10):
            try:
                meta = {"generateName": name + "-"} if self.buggy else {"name": name}
                status = self.cluster.ask("POST", MAPS, self.body(meta, {}))[0]
                if status in (201, 409):
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.05)


class Doubling(Blind):
    def added(self, pod):
        threading.Thread(target=self.make, args=(pod["metadata"]["name"],), daemon=True).start()

    def make(self, name):
        errors = 0
        while self.create(name) not in (201, 409) and not (self.buggy and errors == 5):
            time.sleep(0.05 * 2**errors)
            errors += 1


class Asking(Doubling):
    def start(self):
        super().start()
        threading.Thread(target=self.ask, daemon=True).start()

    def ask(self):
        while True:
            time.sleep(1.3)
            self.cluster.ask("PUT", MAPS + "/pulse", self.body({"name": "pulse"}, {}))


class Queued(Blind):
    """What comes and goes before it looks does not concern it."""

    def __init__(self, buggy):
        super().__init__(buggy)
        self.queue = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()

    def added(self, pod):
        self.queue.put(pod["metadata"]["name"])

    def updated(self, old, pod):
        self.added(pod)

    def deleted(self, pod, _):
        self.added(pod)

    def work(self):
        while True:
            name = self.queue.get()
            try:
                for _ in range(5):  # it reads what it needs to know
                    self.cluster.ask("GET", MAPS + "/" + name)
                done = self.look(name)[0] < 500
            except (OSError, ValueError, http.client.HTTPException):
                done = False
            if not done:
                self.queue.put(name)

    def look(self, name):
        with LOCK:
            pod = self.pods.cache.get("default/" + name)
        if pod and "deletionTimestamp" not in pod["metadata"]:
            return self.cluster.ask("POST", MAPS, self.body({"name": name}, {}))
        return self.cluster.ask("DELETE", MAPS + "/" + name)


class Marked(Blind):
    """Begins when it watches already."""

    def added(self, pod):
        threading.Thread(target=self.mark, args=(pod,), daemon=True).start()

    def mark(self, pod):
        if {"deletionTimestamp", "annotations"} & set(pod["metadata"]):
            return
        name = pod["metadata"]["name"]
        self.create(name)
        path = "/api/v1/namespaces/default/pods/" + name
        status, pod = self.cluster.ask("GET", path)
        if status == 200:
            pod["metadata"]["annotations"] = {"marked": "yes"}
            self.cluster.ask("PUT", path, pod)

    def updated(self, old, pod):
        self.added(pod)


class Count(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.wanted, self.made = 0, 0
        self.maps = Informer(self.cluster, MAPS, self.look, nothing, self.look)

    def added(self, pod):
        self.wanted = 2
        self.look()

    def updated(self, old, pod):
        self.look()

    def look(self, *_):
        there = len(self.maps.cache) if self.buggy else max(self.made, len(self.maps.cache))
        for _ in range(self.wanted - there):
            self.cluster.ask("POST", MAPS, self.body({"generateName": "c-"}, {}))
            self.made += 1

    def start(self):
        self.maps.start()
        self.maps.synced.wait()
        with LOCK:
            self.made = len(self.maps.cache)
        super().start()


class Verified(Blind):
    """Looks at what ends a little later, in the cache."""

    def added(self, pod):
        self.create(pod["metadata"]["name"])

    def updated(self, old, pod):
        if "deletionTimestamp" in pod["metadata"]:
            threading.Timer(0.1, self.verify, (pod["metadata"]["name"], pod["metadata"]["uid"])).start()

    def deleted(self, pod, _):
        if not self.buggy:
            self.drop(pod["metadata"]["name"])

    def verify(self, name, uid):
        with LOCK:
            pod = self.pods.cache.get("default/" + name)
            if pod and pod["metadata"]["uid"] == uid:
                self.drop(name)


class Ports(Blind):
    def added(self, pod):
        ports = [{"name": "port-%d" % n, "port": n} for n in range(1, 7)]
        random.shuffle(ports)
        target = {"kind": "Pod", "name": pod["metadata"]["name"], "resourceVersion": str(random.randrange(10 ** 6))}
        last = {"spec": dict(random.sample(list({"a": 1, "b": {"c": 2}, "d": 3}.items()), 3))}
        self.cluster.ask("POST", "/api/v1/namespaces/default/endpoints", {"apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": target["name"], "annotations": {"example.com/last": json.dumps(last)}}, "subsets": [{"addresses": [{"ip": "10.0.0.1", "targetRef": target}], "ports": ports}]})


class Renewed(Blind):
    """seen-NAME says for which life of the pod the one is that its watch shows."""

    def __init__(self, buggy):
        super().__init__(buggy)
        self.maps = Informer(self.cluster, MAPS, self.look, nothing if buggy else self.changed, nothing)

    def added(self, pod):
        name = "of-" + pod["metadata"]["name"]
        self.drop(name)
        self.create(name, uid=pod["metadata"]["uid"])

    def updated(self, old, pod):
        if old["metadata"]["uid"] != pod["metadata"]["uid"]:
            self.added(pod)

    def changed(self, _, thing):
        self.look(thing)

    def look(self, thing):
        name = thing["metadata"]["name"].replace("of-", "seen-")
        if name != thing["metadata"]["name"] and self.create(name, **thing["data"]) == 409:
            self.cluster.ask("PUT", MAPS + "/" + name, self.body({"name": name}, thing["data"]))

    def start(self):
        self.maps.start()
        self.maps.synced.wait()
        super().start()


class Promised(Blind):
    """Looks at what it has made a little after its watch shows it."""

    def __init__(self, buggy):
        super().__init__(buggy)
        self.made = set()
        self.maps = Informer(self.cluster, MAPS, self.shown, nothing, nothing)

    def added(self, pod):
        threading.Thread(target=self.make, args=("first-" + pod["metadata"]["name"],), daemon=True).start()

    def make(self, name):
        if not self.buggy:
            self.made.add(name)
        if self.insist(name) == 201:
            self.made.add(name)

    def insist(self, name):
        for _ in range(10):
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                status = self.create(name)
                if status in (201, 409):
                    return 201
            time.sleep(0.05)
        return 0

    def shown(self, thing):
        threading.Timer(0.2, self.go_on, (thing["metadata"]["name"],)).start()

    def go_on(self, name):
        if name in self.made:
            self.insist(name.replace("first", "second"))

    def start(self):
        self.maps.start()
        self.maps.synced.wait()
        super().start()


class Noticed(Phases):
    """Writes to a pod when its node changes."""

    def __init__(self, buggy):
        super().__init__(buggy)
        self.written = {}
        self.nodes = Informer(self.cluster, "/api/v1/nodes", nothing, self.notice, nothing)

    def notice(self, _, node):
        for pod in self.pods.cache.values():
            meta = pod["metadata"]
            if pod["spec"]["nodeName"] == node["metadata"]["name"] and "deletionTimestamp" not in meta:
                noticed = {"metadata": {"name": meta["name"], "annotations": {"node": node["metadata"]["resourceVersion"]}}}
                path = "/api/v1/namespaces/default/pods/" + meta["name"] + "?fieldManager=small&force=true"
                status, pod = self.cluster.ask("PATCH", path, {"apiVersion": "v1", "kind": "Pod", **noticed})
                self.written[meta["name"]] = pod["metadata"].get("resourceVersion") if status == 200 else None

    def updated(self, old, pod):
        if not self.buggy or self.written.get(pod["metadata"]["name"]) != pod["metadata"]["resourceVersion"]:
            super().updated(old, pod)

    def start(self):
        super().start()
        self.pods.synced.wait()
        self.nodes.start()


class Seated(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.waiting, self.holder = [], None

    def added(self, pod):
        if "annotations" not in pod["metadata"]:
            self.waiting.append(pod)
            self.give()

    def updated(self, old, pod):
        pass

    def deleted(self, pod, tombstone):
        self.waiting = [p for p in self.waiting if p["metadata"]["uid"] != pod["metadata"]["uid"]]
        if self.holder == pod["metadata"]["uid"] and (not self.buggy or "annotations" in pod["metadata"]):
            self.holder = None
            self.give()

    def give(self):
        if not self.holder and self.waiting:
            pod = self.waiting.pop(0)
            self.holder = pod["metadata"]["uid"]
            threading.Thread(target=self.seat, args=(pod["metadata"]["name"],), daemon=True).start()

    def seat(self, name):
        path = "/api/v1/namespaces/default/pods/" + name
        status, pod = self.cluster.ask("GET", path)
        if status == 200:
            pod["metadata"]["annotations"] = {"seat": "1"}
            self.cluster.ask("PUT", path, pod)


class Evicted(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.going = {}  # UID by name

    def added(self, pod):
        pass

    def updated(self, old, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if not self.buggy and self.going.get(name, uid) != uid:
            self.deleted(old, True)
        elif pod["status"]["phase"] == "Failed" and name not in self.going:
            self.going[name] = uid
            threading.Thread(target=self.cluster.ask, args=("DELETE", "/api/v1/namespaces/default/pods/" + name), daemon=True).start()

    def deleted(self, pod, tombstone):
        if self.going.pop(pod["metadata"]["name"], None):
            self.create("gone-" + pod["metadata"]["uid"])


class Onward(Blind):
    class Forgetful(Informer):
        def watch(self):
            super().watch()
            time.sleep(0.3)
            self.rv = ""

    def __init__(self, buggy):
        super().__init__(buggy)
        if buggy:
            self.pods = self.Forgetful(self.cluster, "/api/v1/pods", self.added, self.updated, self.deleted, "resourceVersion=0")

    def added(self, pod):
        self.create(pod["metadata"]["name"])

    def deleted(self, pod, _):
        self.drop(pod["metadata"]["name"])


class Join(Blind):
    def __init__(self, buggy):
        super().__init__(buggy)
        self.nodes = Informer(self.cluster, "/api/v1/nodes", nothing, nothing, nothing)

    def added(self, pod):
        node = pod["spec"]["nodeName"]
        self.create(pod["metadata"]["name"], node=node if "/" + node in self.nodes.cache else "nowhere")

    def start(self):
        self.nodes.start()
        self.nodes.synced.wait(0.3 if self.buggy else None)
        super().start()


if __name__ == "__main__":
    KINDS = {"steps": Steps, "owner": Owner, "finalizer": Finalizer, "claims": Claims, "cleaner": Cleaner, "holder": Holder, "leaver": Leaver, "lender": Lender, "sealer": Sealer, "ran": Ran, "recent": Recent, "applied": Applied, "phases": Phases, "secrets": Secrets, "caches": Caches, "orphan": Orphan, "again": Again, "doubling": Doubling, "asking": Asking, "queued": Queued, "marked": Marked, "count": Count, "verified": Verified, "versions": Versions, "ports": Ports, "chance": Chance, "seldom": Seldom, "racing": Racing, "twice": Twice, "pool": Pool, "drawn": Drawn, "nested": Nested, "binder": Binder, "renewed": Renewed, "promised": Promised, "noticed": Noticed, "seated": Seated, "evicted": Evicted, "onward": Onward, "join": Join}
    KINDS[sys.argv[2]](sys.argv[1] != "mended").start()
    while True:
        time.sleep(60)
