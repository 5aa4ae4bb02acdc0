"""The manifests of tools/deploy on a real API server, and the recorder as a pod of them would run it: with the
service account's token where pods have it, the arguments of the manifest, a root file system that cannot be written
and nothing but the volume and /tmp beside it."""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import unittest
import urllib.request

from lib import cluster, manifests, paths, process, tape, wait
from lib.case import Case, recorded

KUBERNETES = os.path.join(paths.ROOT, "tools", "deploy", "kubernetes")
# $1 token and CA, $2 the volume, $3 the program; then its arguments. /run and /var/lib are not the machine's own. A second volume is
# named like the first one.
POD = """
mount -t tmpfs none /run
mkdir -p /run/secrets/kubernetes.io
cp -r "$1" /run/secrets/kubernetes.io/serviceaccount
cp "$3" /run/kubetape
mount -t tmpfs none /var/lib
mkdir /var/lib/kubetape
mount --bind "$2" /var/lib/kubetape
if [ -d "$2-authority" ]; then
	mkdir /var/lib/kubetape-authority
	mount --bind "$2-authority" /var/lib/kubetape-authority
fi
mount -t tmpfs none /tmp
mount -o remount,bind,ro /
shift 3
PATH=/run:$PATH exec /run/kubetape "$@"
"""
OPERATOR = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "operator", "namespace": "default", "annotations": {"kubetape/tee": "true"}},
    "spec": {"selector": {"matchLabels": {"app": "operator"}}, "template": {"metadata": {"labels": {"app": "operator"}},
        "spec": {"containers": [{"name": "controller", "image": "operator:1"}]}}}}


def can_play_a_pod():
    """Whether this machine lets us have mounts of our own."""
    return not subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/run"], capture_output=True,
        check=False).returncode


class Deployment(Case):

    @classmethod
    def setUpClass(cls):
        cls.home = os.path.join(recorded().folder, "deploy")
        shutil.rmtree(cls.home, ignore_errors=True)
        cls.cluster = cluster.Cluster(os.path.join(cls.home, "cluster")).anew()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.up(programs=("etcd", "kube-apiserver", "kube-controller-manager"))
        cls.kubectl = cls.cluster.kubectl
        cls.kubectl("create", "-f", "-", stdin=json.dumps(manifests.cron_tab_definition()))
        cls.kubectl("wait", "--for=condition=Established", "crd", "crontabs.stable.example.com")
        cls.kubectl("apply", "-k", os.path.join(KUBERNETES, "base"))

    def apply(self, overlay, *options):
        """What the server answers to an overlay, warnings included."""
        done = subprocess.run(self.kubectl.command("apply", "-k", os.path.join(KUBERNETES, overlay), *options),
            capture_output=True, text=True, timeout=wait.PATIENCE_S, check=False)
        return done.returncode, done.stderr

    def test_the_server_takes_every_overlay_without_a_warning(self):
        for overlay in ("base", "secrets", "everything"):
            with self.subTest(overlay=overlay):
                self.assertEqual(self.apply(overlay, "--dry-run=server"), (0, ""))

    def test_the_pod_passes_the_restricted_standard_that_its_namespace_enforces(self):
        labels = self.kubectl.get("namespace", "kubetape")["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "restricted")
        wait.until("pod kubetape-0", lambda: [o for o in self.kubectl.items("pods", "-n", "kubetape")
            if o["metadata"]["name"] == "kubetape-0"], describe=lambda: self.kubectl("get", "events", "-n", "kubetape"))

    def test_the_account_may_neither_change_anything_nor_read_what_it_was_not_given(self):
        account = "--as=system:serviceaccount:kubetape:kubetape"
        for question, answer in ((("list", "pods", "-A"), "yes"), (("watch", "deployments.apps", "-A"), "yes"),
                (("list", "secrets", "-A"), "no"), (("get", "pods", "-A"), "no"),
                (("get", "pods/exec", "-n", "default"), "no"), (("create", "pods", "-n", "kubetape"), "no"),
                (("delete", "configmaps", "-A"), "no"), (("get", "/openapi/v3"), "yes"), (("get", "/logs"), "no")):
            with self.subTest(question=question):
                done = subprocess.run(self.kubectl.command("auth", "can-i", *question, account), capture_output=True,
                    text=True, timeout=wait.PATIENCE_S, check=False)
                self.assertEqual(done.stdout.split()[:1], [answer])

    # --- the recorder in its pod ---

    def record(self, overlay):
        """The tape that the recorder of an overlay made, until all its first lists were on it."""
        stateful_set = json.loads(self.kubectl("apply", "-k", os.path.join(KUBERNETES, overlay), "--dry-run=server",
            "-l", "app.kubernetes.io/name=kubetape", "-o", "json"))
        container = next(o for o in stateful_set["items"] if o["kind"] == "StatefulSet")["spec"]["template"]["spec"][
            "containers"][0]
        # A free port of this machine stands for that of a pod.
        arguments = [re.sub("^--metrics=.*", "--metrics=0", a) for a in container["args"]]
        volume = os.path.join(self.folder(), "volume")
        os.makedirs(volume)
        recorder = process.Child(["unshare", "-rm", "sh", "-euc", POD, "pod", self.credentials(), volume,
            paths.KUBETAPE, *arguments], self.folder(), "recorder", {"HOME": "/nonexistent", "KUBECONFIG": "",
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.cluster.state["ports"]["kube-apiserver"])})
        try:
            recorder.wait_for("^recording [0-9]+ streams")
            address = re.search(r"metrics at (http://\S+)/metrics", recorder.text("err"))[1]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                with urllib.request.urlopen(address + container[probe]["httpGet"]["path"], timeout=wait.PATIENCE_S) as answer:
                    self.assertEqual(answer.status, 200, probe)
        finally:
            code = recorder.stop(signal.SIGTERM)
        self.assertEqual(code, 0, recorder.text("err"))
        return os.path.join(volume, "cluster.tape")

    def credentials(self, account="kubetape", namespace="kubetape", authority=None):
        folder = os.path.join(self.folder(), "serviceaccount-" + ("beside" if authority else "own"))
        os.makedirs(folder)
        with open(os.path.join(folder, "token"), "w", encoding="utf-8") as f:
            f.write(self.kubectl("create", "token", account, "-n", namespace).strip())
        shutil.copy(authority or self.cluster.path("pki", "ca.crt"), os.path.join(folder, "ca.crt"))
        return folder

    def refused(self, path):
        """The resources that the server would not let it read."""
        return {row["resource"] for row in tape.rows(path, "SELECT DISTINCT resource FROM connections WHERE "
            "http_status IN (401, 403)")}

    def recorded(self, path):
        return {row["resource"] for row in tape.rows(path, "SELECT DISTINCT resource FROM events")}

    @unittest.skipUnless(can_play_a_pod(), "this machine allows no mounts of our own")
    def test_the_base_records_all_but_secrets_and_is_refused_custom_resources_only(self):
        made = self.record("base")
        self.assertEqual(self.refused(made), {"crontabs"})
        self.assertGreaterEqual(self.recorded(made), {"pods", "statefulsets", "clusterroles", "namespaces"})
        self.assertNotIn("secrets", {row["resource"] for row in tape.rows(made, "SELECT resource FROM streams")})

    @unittest.skipUnless(can_play_a_pod(), "this machine allows no mounts of our own")
    def test_with_rights_to_everything_nothing_is_refused_and_values_of_secrets_are_digests(self):
        self.assertEqual(self.apply("everything"), (0, ""))
        self.addCleanup(self.kubectl, "delete", "clusterrolebinding,clusterrole", "kubetape-record-everything")
        self.kubectl("create", "secret", "generic", "word", "-n", "default", "--from-literal=word=open sesame")
        made = self.record("everything")
        self.assertEqual(self.refused(made), set())
        kept = json.loads(tape.rows(made, "SELECT object FROM events WHERE resource='secrets' AND name='word'")[0]["object"])
        self.assertRegex(base64.b64decode(kept["data"]["word"]).decode(), "^redacted:")

    # --- a tee beside a controller ---

    def pod_with_a_tee(self):
        """The pod that the component makes of a controller's."""
        folder = os.path.join(self.folder(), "kustomize")
        shutil.copytree(os.path.join(KUBERNETES, "tee"), os.path.join(folder, "tee"))
        os.makedirs(os.path.join(folder, "app"))
        for name, text in (("operator.json", OPERATOR), ("kustomization.yaml", {"resources": ["operator.json"], "components": ["../tee"]})):
            with open(os.path.join(folder, "app", name), "w", encoding="utf-8") as f:
                json.dump(text, f)
        made = json.loads(self.kubectl("apply", "-k", os.path.join(folder, "app"), "--dry-run=server", "-o", "json"))
        return made["spec"]["template"]["spec"]

    def container(self, name, program, credentials, port, arguments):
        return process.Child(["unshare", "-rm", "sh", "-euc", POD, "pod", credentials, os.path.join(self.folder(), "volume"), program, *arguments],
            self.folder(), name, {"HOME": "/nonexistent", "KUBECONFIG": "", "TMPDIR": "/var/lib/kubetape", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(port)})

    @unittest.skipUnless(can_play_a_pod(), "this machine allows no mounts of our own")
    def test_a_controller_with_a_tee_in_its_pod_does_its_work_and_all_of_it_is_written_down(self):
        volume = os.path.join(self.folder(), "volume")
        os.makedirs(volume), os.makedirs(volume + "-authority")
        self.kubectl("create", "serviceaccount", "operator", "-n", "default")
        self.kubectl("create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin", "--serviceaccount=default:operator")
        self.kubectl("create", "service", "clusterip", "web", "--tcp=80", "-n", "default")
        # A free port of this machine stands for that of a pod.
        server, port = self.cluster.state["ports"]["kube-apiserver"], cluster.free_ports(1)[0]
        authority, tee = ([a.replace("--listen=127.0.0.1:6443", f"--listen=127.0.0.1:{port}") for a in c["args"]]
            for c in self.pod_with_a_tee()["initContainers"])
        own = self.credentials("operator", "default")
        self.assertEqual(self.container("authority", paths.KUBETAPE, own, server, authority).wait_end(), 0)
        sidecar = self.container("tee", paths.KUBETAPE, own, server, tee)
        try:
            sidecar.wait_for("^teeing ", "out")
            beside = self.credentials("operator", "default", os.path.join(volume + "-authority", "ca.crt"))
            controller = self.container("controller", paths.program("controller"), beside, port, ["mended", "tombstone", "services"])
            try:
                wait.until("its work", lambda: "copy-of-web" in self.kubectl("get", "configmaps", "-n", "default", "-o", "name"))
            finally:
                controller.stop()
        finally:
            code = sidecar.stop(signal.SIGTERM)
        self.assertEqual(code, 0, sidecar.text("err"))
        live = os.path.join(volume, "live")
        self.assertEqual(tape.rows(live + ".tape", "SELECT name, status FROM writes WHERE name LIKE '%web'", "--run", live + ".run"),
            [{"name": "copy-of-web", "status": 201}])
