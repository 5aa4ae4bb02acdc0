"""A controller for tests, as small as one can be: it keeps a ledger of pods in config maps. For every pod there is a
`holds-NAME` with the UID it stands for, and for every UID that is gone a `released-...` with a generated name.

    controller.py KUBECONFIG NAMESPACE LAST [--forgetful]

It lists and watches as informers do: it watches from the last version it saw, and lists again when that has expired.
It ends when it has seen the pod LAST. --forgetful plants the bug that gaps bring to light: after listing again it
does not look which UIDs have gone meanwhile. Python's standard library only."""

import base64
import contextlib
import http.client
import json
import ssl
import sys
import time
import urllib.parse

GIVE_UP_S = 60


class Api:
    def __init__(self, kubeconfig):
        with open(kubeconfig) as f:
            cluster = json.load(f)["clusters"][0]["cluster"]
        self.server = urllib.parse.urlsplit(cluster["server"])
        authority = cluster.get("certificate-authority-data")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode()) if authority else None

    def connect(self):
        where = {"host": self.server.hostname, "port": self.server.port, "timeout": GIVE_UP_S}
        return http.client.HTTPSConnection(**where, context=self.tls) if self.tls else http.client.HTTPConnection(**where)

    def open(self, method, path, body=None):
        connection = self.connect()
        headers = {"User-Agent": "ledger/v1", "Content-Type": "application/json", "Accept": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return connection, connection.getresponse()

    def ask(self, method, path, body=None):
        connection, response = self.open(method, path, body)
        with contextlib.closing(connection):
            return response.status, json.loads(response.read())


class Ledger:
    def __init__(self, api, namespace, last, forgetful):
        self.api, self.last, self.forgetful = api, last, forgetful
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self.held = {}  # pod name: UID
        self.over = False

    def write_map(self, metadata, data):
        return self.api.ask("POST", self.maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    def hold(self, name, uid):
        """Creates the record, or changes the one that is there."""
        if self.held.get(name) == uid:
            return
        if name in self.held:
            self.release(name)
        self.held[name] = uid
        data = {"uid": uid, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        status, answer = self.write_map({"name": "holds-" + name}, data)
        while status == 409:
            _, record = self.api.ask("GET", f"{self.maps}/holds-{name}")
            record["data"] = data
            status, answer = self.api.ask("PUT", f"{self.maps}/holds-{name}", record)
        if status >= 300:
            sys.exit(f"cannot hold {name}: {answer}")

    def release(self, name):
        self.write_map({"generateName": "released-"}, {"pod": name, "uid": self.held.pop(name)})

    def see(self, kind, pod):
        name = pod["metadata"]["name"]
        if kind == "DELETED":
            if name in self.held:
                self.release(name)
        else:
            self.hold(name, pod["metadata"]["uid"])
        self.over |= name == self.last

    def list(self):
        status, answer = self.api.ask("GET", self.pods)
        if status != 200:
            return None
        live = {pod["metadata"]["name"]: pod for pod in answer["items"]}
        if self.forgetful:
            self.held = {name: live[name]["metadata"]["uid"] for name in self.held if name in live}
        for name in sorted(set(self.held) - set(live)):
            self.release(name)
        for name in sorted(live):
            self.see("ADDED", live[name])
        return answer["metadata"]["resourceVersion"]

    def watch(self, version):
        """Returns the version to go on from; None: to list again."""
        connection, response = self.api.open("GET", f"{self.pods}?watch=1&resourceVersion={version}")
        with contextlib.closing(connection):
            while response.status == 200 and not self.over:
                line = response.readline()
                if not line.endswith(b"\n"):
                    return version
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return None
                version = event["object"]["metadata"]["resourceVersion"]
                self.see(event["type"], event["object"])
            return version if response.status == 200 else None

    def run(self):
        version, deadline = None, time.monotonic() + GIVE_UP_S
        while not self.over and time.monotonic() < deadline:
            try:
                version = self.watch(version) if version else self.list()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        return 0 if self.over else 1


if __name__ == "__main__":
    sys.exit(Ledger(Api(sys.argv[1]), sys.argv[2], sys.argv[3], "--forgetful" in sys.argv).run())
