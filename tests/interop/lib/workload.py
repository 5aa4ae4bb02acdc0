"""The scripted workload: what the recorder of the tests gets to see.

Its shape is the same each time; only names, UIDs and the moments at which simulated kubelets act differ. Each step
waits for what it caused.
"""

import json
import time

from lib import manifests, wait

NAMESPACE = "shop"
SECRET_TEXTS = ("correct-horse-battery-staple", "hunter2-but-longer")
END_MARK = "end-of-workload"
BURST = 60


class Workload:
    """The steps, for one cluster. say() gets a line for each."""

    def __init__(self, kubectl, say=print):
        self.kubectl = kubectl
        self.say = say

    def run_steps(self, steps):
        began = time.monotonic()
        for step in steps:
            at = time.monotonic()
            step()
            self.say(f"workload: {step.__name__.replace('_', ' ')}: {time.monotonic() - at:.1f} s")
        self.say(f"workload: all in {time.monotonic() - began:.1f} s")

    def prepare(self):
        """What is there before the recording begins: custom resources, and objects for the initial lists."""
        self.run_steps([self.namespace_and_definitions, self.first_rollout])

    def run(self):
        """What happens during the recording."""
        self.run_steps([self.rolling_update, self.scaling, self.job, self.custom_resources, self.recreation,
            self.burst, self.awkward_characters, self.large_object, self.secrets, self.finalizer,
            self.namespace_deletion])

    def mark_end(self):
        """Create the object after which nothing of the workload comes; returns its resourceVersion."""
        return int(self.create(manifests.config_map(END_MARK, NAMESPACE, {}))["metadata"]["resourceVersion"])

    # --- before ---

    def namespace_and_definitions(self):
        self.create(manifests.namespace(NAMESPACE))
        self.create(manifests.cron_tab_definition())
        self.kubectl("wait", "--for=condition=Established", "crd/crontabs.stable.example.com", "--timeout=60s")
        # The definition is established before its resource can be used everywhere.
        wait.until("custom resources to be served", lambda: self._succeeds("get", "crontabs", "-n", NAMESPACE))
        self.create(manifests.cron_tab("early", NAMESPACE, 1))
        wait.until("the namespace's service account",
            lambda: self._succeeds("get", "serviceaccount", "default", "-n", NAMESPACE))

    def first_rollout(self):
        self.create(manifests.deployment("web", NAMESPACE, 6, "registry.example/web:1"))
        self.create(manifests.service("web", NAMESPACE))
        self._rolled_out("web")

    # --- during ---

    def rolling_update(self):
        self.kubectl("set", "image", "deployment/web", "main=registry.example/web:2", "-n", NAMESPACE)
        self._rolled_out("web")
        self._pods_are("web", 6)

    def scaling(self):
        for replicas in (9, 2):
            self.kubectl("scale", "deployment/web", f"--replicas={replicas}", "-n", NAMESPACE)
            self._rolled_out("web")
            self._pods_are("web", replicas)

    def job(self):
        self.create(manifests.job("sums", NAMESPACE, 3, 2))
        self.kubectl("wait", "--for=condition=Complete", "job/sums", "-n", NAMESPACE, "--timeout=110s")

    def custom_resources(self):
        for name in ("one", "two", "three"):
            self.create(manifests.cron_tab(name, NAMESPACE, 1))
        self.patch("crontab/two", {"spec": {"replicas": 5}})
        self.kubectl("patch", "crontab/two", "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p",
            json.dumps({"status": {"ready": 5, "said": "<done> & \u00fcber"}}))
        self.delete("crontab/three")

    def recreation(self):
        """The same name, another UID: for a configmap and for a pod."""
        self.recreate("configmap", manifests.config_map("settings", NAMESPACE, {"colour": "blue"}))
        self.recreate("pod", manifests.pod("lonely", NAMESPACE))

    def recreate(self, kind, body):
        """Create, delete, and create again."""
        name = f"{kind}/{body['metadata']['name']}"
        uids = [self._create_ready(kind, name, body)]
        self.delete(name)
        uids.append(self._create_ready(kind, name, body))
        if uids[0] == uids[1]:
            raise RuntimeError(f"recreated {name} kept its UID {uids[0]}")

    def _create_ready(self, kind, name, body):
        uid = self.create(body)["metadata"]["uid"]
        if kind == "pod":
            self.kubectl("wait", "--for=condition=Ready", name, "-n", NAMESPACE, "--timeout=110s")
        return uid

    def burst(self):
        """Many objects at once, changed at once, half of them deleted at once."""
        many = [manifests.config_map(f"burst-{n:03}", NAMESPACE, {"number": str(n)},
            labels={"burst": "yes", "half": "even" if n % 2 == 0 else "odd"}) for n in range(BURST)]
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": many}))
        self.kubectl("label", "configmaps", "-l", "burst=yes", "seen=yes", "-n", NAMESPACE)
        self.kubectl("delete", "configmaps", "-l", "half=odd", "-n", NAMESPACE)

    def awkward_characters(self):
        annotations = {f"example.com/{key}": text for key, text in manifests.AWKWARD.items()}
        self.create(manifests.config_map("awkward", NAMESPACE, manifests.AWKWARD, annotations=annotations))
        self.patch("configmap/awkward", {"metadata": {"annotations": {"example.com/html": "<i>&amp;</i>"}}})

    def large_object(self):
        """An object of some hundred kilobytes, twice."""
        line = "".join(chr(33 + (n * 7) % 90) for n in range(999)) + "\n"
        self.create(manifests.config_map("large", NAMESPACE, {"text": line * 300}))
        self.patch("configmap/large", {"data": {"more": line * 100}})

    def secrets(self):
        self.create(manifests.secret("keys", NAMESPACE, SECRET_TEXTS[0]))
        self.patch("secret/keys", {"stringData": {"password": SECRET_TEXTS[1]}})
        self.create(manifests.secret("lost", NAMESPACE, SECRET_TEXTS[0]))
        self.delete("secret/lost")

    def finalizer(self):
        """An object that is marked as deleted first and goes when its finalizer is taken away."""
        self.create(manifests.config_map("held", NAMESPACE, {}, finalizers=["example.com/hold"]))
        self.kubectl("delete", "configmap/held", "-n", NAMESPACE, "--wait=false")
        self.patch("configmap/held", {"metadata": {"finalizers": None}})

    def namespace_deletion(self):
        self.create(manifests.namespace("doomed"))
        for name in ("first", "second"):
            self.create(manifests.config_map(name, "doomed", {"name": name}))
        self.create(manifests.deployment("short-lived", "doomed", 2, "registry.example/web:1"))
        self._rolled_out("short-lived", "doomed")
        self.kubectl("delete", "namespace", "doomed", "--timeout=110s")

    # --- the little that the steps need ---

    def create(self, body):
        return json.loads(self.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(body)))

    def patch(self, name, change):
        self.kubectl("patch", name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(change))

    def delete(self, name):
        self.kubectl("delete", name, "-n", NAMESPACE, "--timeout=110s")

    def _rolled_out(self, name, namespace=NAMESPACE):
        self.kubectl("rollout", "status", f"deployment/{name}", "-n", namespace, "--timeout=110s")

    def _pods_are(self, app, count):
        """Also those that a rollout leaves terminating are gone."""
        wait.until(f"{count} pods of '{app}'",
            lambda: len(self.kubectl.items("pods", "-l", f"app={app}", "-n", NAMESPACE)) == count, every_s=0.3)

    def _succeeds(self, *args):
        try:
            return self.kubectl(*args) is not None
        except RuntimeError:
            return False
