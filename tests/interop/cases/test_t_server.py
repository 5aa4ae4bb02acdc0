"""What a real server does to a recorder without any fault of the network, and with one: rights that are taken away,
definitions that come, change and go, a restart, sockets that are killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from lib import cluster, manifests, paths, process, proxy, tape, wait
from lib.case import Case, recorded

NAMESPACE = "default"


class Recorder:
    """A recording of one test."""

    def __init__(self, folder, kubeconfig, *what):
        self.tape = os.path.join(folder, "x.tape")
        shutil.rmtree(self.tape, ignore_errors=True)
        self.child = process.Child([paths.KUBETAPE, "record", *what, "-o", self.tape, "--retry-delay", "200ms"],
            folder, "recorder", {"KUBECONFIG": kubeconfig})
        self.child.wait_for("^recording [0-9]+ stream")

    def rows(self, sql):
        return tape.rows(self.tape, sql)

    def wait_rows(self, what, sql):
        return wait.until(what, lambda: self.rows(sql), describe=lambda: self.child.text("err"))

    def wait_event(self, kind, name):
        return self.wait_rows(f"{kind} of {name}", f"SELECT * FROM events WHERE type='{kind}' AND name='{name}'")


class AServer(Case):

    @classmethod
    def setUpClass(cls):
        folder = os.path.join(recorded().folder, "server")
        cls.cluster = cluster.Cluster(os.path.join(folder, "cluster")).anew()
        cls.addClassCleanup(cls.cluster.down)
        cls.cluster.up(programs=("etcd", "kube-apiserver"))
        cls.kubectl = cls.cluster.kubectl

    def record(self, *what, kubeconfig=None):
        recorder = Recorder(self.folder(), kubeconfig or self.cluster.kubeconfig, *what)
        self.addCleanup(recorder.child.kill)
        return recorder

    def create(self, thing):
        return json.loads(self.kubectl("create", "-o", "json", "-f", "-", stdin=json.dumps(thing)))

    def note(self, name):
        """A configmap, as a sign."""
        return self.create(manifests.config_map(name, NAMESPACE, {}))

    def kubeconfig_of_account(self, name, port):
        """Of a service account that may read configmaps, until its binding is deleted."""
        self.kubectl("create", "serviceaccount", name, "-n", NAMESPACE)
        self.kubectl("create", "clusterrole", name, "--verb=list,watch", "--resource=configmaps")
        self.bind(name)
        token = self.kubectl("create", "token", name, "-n", NAMESPACE).strip()
        path = self.cluster.write_kubeconfig(f"kubeconfig-{name}", port)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(f"token: {cluster.TOKEN}", f"token: {token}"))
        allowed = ("auth", "can-i", "watch", "configmaps", "--as", f"system:serviceaccount:{NAMESPACE}:{name}")
        wait.until("the rights", lambda: self.yes(*allowed))
        return path

    def bind(self, name):
        self.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}",
            f"--serviceaccount={NAMESPACE}:{name}")

    def yes(self, *args):
        try:
            return self.kubectl(*args).strip() == "yes"
        except RuntimeError:
            return False

    def test_that_takes_rights_away_is_recorded_as_long_as_the_watch_runs_and_again_when_they_are_back(self):
        network = proxy.Proxy(self.cluster.state["ports"]["kube-apiserver"])
        self.addCleanup(network.close)
        recorder = self.record("configmaps", kubeconfig=self.kubeconfig_of_account("reader", network.port))
        self.note("while-allowed")
        recorder.wait_event("ADDED", "while-allowed")  # so the watch runs
        self.kubectl("delete", "clusterrolebinding", "reader")
        self.note("after-the-rights-were-gone")
        recorder.wait_event("ADDED", "after-the-rights-were-gone")
        network.cut()
        recorder.wait_rows("the refusal", "SELECT * FROM connections WHERE http_status = 403")
        self.note("while-refused")
        self.bind("reader")
        recorder.wait_event("ADDED", "while-refused")
        self.assertEqual(recorder.child.stop(signal.SIGINT), 0)
        self.assertEqual(recorder.rows("SELECT * FROM missed"), [])
        self.assertEqual([g["how_ended"] for g in recorder.rows("SELECT how_ended FROM gaps")], ["rewatch"])

    def test_whose_definition_comes_changes_and_goes_is_followed_all_the_way(self):
        recorder = self.record("--all")
        definition = manifests.cron_tab_definition()
        self.create(definition)
        name = definition["metadata"]["name"]
        self.kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=110s")
        wait.until("the resource to be served", lambda: self.creates(manifests.cron_tab("a", NAMESPACE, 1)))
        recorder.wait_event("ADDED", "a")
        stream = recorder.rows("SELECT stream FROM streams WHERE resource='crontabs'")[0]["stream"]
        self.kubectl("patch", "crd", name, "--type=json", "-p", json.dumps([{"op": "add",
            "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more",
            "value": {"type": "string"}}]))
        recorder.wait_rows("the gap of the change", f"SELECT * FROM gaps WHERE stream={stream} AND how_ended='relist'")
        self.assertEqual(recorder.rows("SELECT * FROM missed"), [], "no visible change")
        self.create(manifests.cron_tab("b", NAMESPACE, 1))
        recorder.wait_event("ADDED", "b")
        self.kubectl("delete", "crd", name, "--timeout=110s")
        for gone in "ab":
            recorder.wait_event("DELETED", gone)
        recorder.wait_rows("the end of the resource",
            f"SELECT * FROM connections WHERE stream={stream} AND end_reason='resource_gone'")
        self.assertEqual(recorder.child.stop(signal.SIGINT), 0)
        self.assertEqual([e["type"] for e in recorder.rows(
            "SELECT type FROM events WHERE resource='crontabs' ORDER BY seq")], ["ADDED"] * 2 + ["DELETED"] * 2)

    def creates(self, thing):
        try:
            return self.create(thing)
        except RuntimeError:
            return None

    def test_that_is_restarted_makes_bounded_gaps_and_nothing_is_lost(self):
        recorder = self.record("configmaps", "namespaces", "secrets")
        self.note("before-the-restart")
        recorder.wait_event("ADDED", "before-the-restart")
        self.cluster.restart_apiserver()
        self.note("after-the-restart")
        recorder.wait_event("ADDED", "after-the-restart")
        recorder.wait_rows("the end of all gaps", "SELECT 1 AS x WHERE (SELECT count(*) FROM gaps) >= 3 "
            "AND NOT EXISTS (SELECT 1 FROM gaps WHERE how_ended='open')")
        self.assertEqual(recorder.child.stop(signal.SIGINT), 0)
        self.assertEqual([m["change"] for m in recorder.rows("SELECT change FROM missed WHERE change <> 'added'")], [])
        self.assertTrue(recorder.rows("SELECT * FROM connections WHERE end_reason='refused' OR http_status >= 429"),
            "attempts while it was down")
        live = {o["metadata"]["uid"]: o["metadata"]["resourceVersion"] for o in self.kubectl.items("configmaps", "-A")}
        self.assertEqual({uid: rv for uid, rv in tape.versions(tape.state(
            [e for e in tape.load(recorder.tape) if e.resource == "configmaps"])).values()}, live)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ss"), "killing sockets needs root and ss")
    def test_whose_sockets_are_killed_is_watched_on_without_loss(self):
        recorder = self.record("configmaps")
        self.note("before-the-kill")
        recorder.wait_event("ADDED", "before-the-kill")
        port = self.cluster.state["ports"]["kube-apiserver"]
        listed = subprocess.run(["ss", "-Htnp", "dst", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True)
        ours = [int(m.group(1)) for line in listed.stdout.splitlines() if f"pid={recorder.child.pid}," in line
            for m in [re.search(r":(\d+)\s+127\.0\.0\.1:\d+", line)] if m]
        self.assertTrue(ours, listed.stdout)
        for mine in ours:
            done = subprocess.run(["ss", "-K", "src", f"127.0.0.1:{mine}"], capture_output=True, text=True, check=False)
            if "not supported" in done.stderr:
                self.skipTest("this kernel cannot kill sockets")
        self.note("after-the-kill")
        recorder.wait_event("ADDED", "after-the-kill")
        recorder.wait_rows("the end of the watch",
            "SELECT * FROM connections WHERE purpose='watch' AND end_reason IN ('reset', 'cut')")
        self.assertEqual(recorder.child.stop(signal.SIGINT), 0)
        self.assertEqual(recorder.rows("SELECT * FROM missed"), [])
