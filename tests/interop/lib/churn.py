"""The highest rate of changes that a small control plane gives: writers that never rest, and deployments that are
scaled up and down so that controllers, scheduler and simulated kubelets work as well."""

import http.client
import json
import random
import ssl
import threading

from lib import cluster, manifests

NAMESPACE = "churn"
WRITERS = 8
NAMES_OF_A_WRITER = 15
PACE = manifests.kubelet_takes("50ms", "400ms")


class Api:
    """One connection to the API server, as administrator."""

    def __init__(self, made):
        self._made = made
        self._connect()

    def _connect(self):
        context = ssl.create_default_context(cafile=self._made.path("pki", "ca.crt"))
        self._connection = http.client.HTTPSConnection("127.0.0.1", self._made.state["ports"]["kube-apiserver"],
            context=context, timeout=60)

    def close(self):
        self._connection.close()

    def ask(self, method, path, body=None, kind="application/json"):
        """Returns the status and the parsed answer."""
        self._connection.request(method, path, None if body is None else json.dumps(body), {
            "Authorization": f"Bearer {cluster.TOKEN}", "Content-Type": kind})
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


class Churn:
    """Runs in threads until stop()."""

    def __init__(self, made, seed):
        self._made = made
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n, random.Random(seed + n)), daemon=True)
            for n in range(WRITERS)]
        self._threads.append(threading.Thread(target=self._scale, args=(random.Random(seed - 1),), daemon=True))
        self.failures = []

    def start(self):
        """Returns the resourceVersion of the first object, before which nothing of this comes."""
        api = Api(self._made)
        _, first = api.ask("POST", "/api/v1/namespaces", manifests.namespace(NAMESPACE))
        for name in ("red", "green"):
            api.ask("POST", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
                manifests.deployment(name, NAMESPACE, 2, "registry.example/soak:1", PACE))
        api.close()
        for thread in self._threads:
            thread.start()
        return int(first["metadata"]["resourceVersion"])

    def stop(self):
        """Returns the resourceVersion of a last object, after which nothing of this comes."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        api = Api(self._made)
        _, made = api.ask("POST", "/api/v1/namespaces/default/configmaps",
            manifests.config_map("end-of-churn", "default", {}))
        api.close()
        return int(made["metadata"]["resourceVersion"])

    def _write(self, number, chance):
        api, folder = Api(self._made), f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        while not self._over.is_set():
            name = f"churn-{number}-{chance.randrange(NAMES_OF_A_WRITER)}"
            text = {"text": chance.choice("abc") * chance.choice((10, 300, 3000)), "n": str(chance.random())}
            what = chance.random()
            if what < 0.15:
                status, _ = api.ask("DELETE", f"{folder}/{name}")
            elif what < 0.6:
                status, _ = api.ask("PATCH", f"{folder}/{name}", {"data": text}, "application/merge-patch+json")
            else:
                status, _ = api.ask("POST", folder, manifests.config_map(name, NAMESPACE, text))
            if status not in (200, 201, 404, 409):
                self.failures.append(status)
        api.close()

    def _scale(self, chance):
        api = Api(self._made)
        while not self._over.wait(1.5):
            where = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{chance.choice(('red', 'green'))}/scale"
            api.ask("PATCH", where, {"spec": {"replicas": chance.randrange(0, 12)}}, "application/merge-patch+json")
        api.close()
