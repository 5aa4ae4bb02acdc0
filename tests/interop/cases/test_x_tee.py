"""A control plane whose controllers reach their API server through tees, one each: they end where they would without, the tapes have
what an independent watcher saw, and what the scheduler saw makes it do the same again."""

import contextlib
import json
import os
import subprocess
import unittest.mock

from lib import cluster, kubectl, languages, paths, process, tape, teed, wait
from lib.case import Case

TEED = ("kube-controller-manager", "kube-scheduler", "kwok")
BOUND = "SELECT DISTINCT name FROM writes WHERE subresource = 'binding' AND status = 201 ORDER BY name"
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
    "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}}}}


class Teed(cluster.Cluster):
    """A cluster of which some programs come through a tee of their own."""

    tees = {}

    def start(self, name):
        real = cluster.Cluster.kubeconfig.fget(self)
        self.through = self.tees[name].kubeconfig if name in self.tees else real
        super().start(name)
        self.through = real

    @property
    def kubeconfig(self):
        return getattr(self, "through", None) or super().kubeconfig


class AControlPlaneBehindTees(Case):

    @contextlib.contextmanager
    def living(self, folder):
        made = Teed(cluster.Cluster(os.path.join(folder, "cluster")).anew().folder)
        try:
            made.up(("etcd", "kube-apiserver"), nodes=3)
            made.tees = {name: teed.Tee(made.kubeconfig, folder, name) for name in TEED}
            for name in TEED:
                made.start(name)
            yield made
        finally:
            for name in reversed(TEED):
                made.stop(name)
            for tee in made.tees.values():
                tee.end()
            made.down()

    def all_run(self, made):
        pods = made.kubectl.items("pods", "-n", "default")
        return len(pods) == 6 and all(p["status"]["phase"] == "Running" for p in pods)

    def test_its_programs_end_where_they_end_without_one(self):
        folder = self.folder()
        with self.living(folder) as made:
            made.kubectl("apply", "-f", "-", stdin=json.dumps(DEPLOYMENT))
            wait.until("six pods that run", lambda: self.all_run(made))
            self.exec_and_follow_logs(made, folder)
            made.kubectl("delete", "deployment", "web", "-n", "default", "--wait=false")
            wait.until("none that is left", lambda: not made.kubectl.items("pods", "-n", "default"))
            for name in reversed(TEED):
                made.stop(name)
            codes = {name: tee.end() for name, tee in made.tees.items()}
        self.assertEqual(codes, dict.fromkeys(TEED, 0))
        for name, tee in made.tees.items():
            with self.subTest(program=name):
                tee.check()
                self.assertGreater(tee.rows("SELECT count(*) AS n FROM deliveries")[0]["n"], 10)
        self.assertEqual(len(made.tees["kube-scheduler"].rows(BOUND)), 6)
        self.assertEqual(self.bound_again(made.tees["kube-scheduler"], folder), made.tees["kube-scheduler"].rows(BOUND))
        self.assertEqual(made.tees["kube-controller-manager"].rows(
            "SELECT count(*) AS n FROM writes WHERE verb = 'create' AND resource = 'pods' AND status = 201"), [{"n": 6}])

    def exec_answers(self, through, pod, folder):
        """All that a command in a pod is told comes back. The command lives on meanwhile: of one that ends, kwok loses the last
        words when the machine is busy, with and without a tee; nor does it tell a command that its input ends."""
        words = os.path.join(folder, "words")
        with open(words, "w", encoding="utf-8") as f:
            f.writelines(f"line {n}\n" for n in range(20000))
        echo = process.Child(through.command("exec", "-i", pod, "-n", "default", "--", "cat"), folder, "echo", stdin=words)
        echo.wait_for("^line 19999$", "out")
        echo.stop()
        with open(words, encoding="utf-8") as f:
            self.assertEqual(echo.text("out"), f.read())

    def exec_and_follow_logs(self, made, folder):
        """What kubectl is told of a pod through a tee, in both directions and as it happens."""
        tee = made.tees["kwok"]
        through = kubectl.Kubectl(tee.kubeconfig, made.path("cache-tee"))
        pod = made.kubectl.items("pods", "-n", "default")[0]["metadata"]["name"]
        self.exec_answers(through, pod, folder)
        logs = process.Child(through.command("logs", "-f", pod, "-n", "default"), folder, "logs")
        for line in ("first words", "later words"):
            with open(made.path(cluster.POD_LOG), "a", encoding="utf-8") as f:
                # As a container runtime writes it.
                f.write(f"2026-01-01T00:00:00.000000000Z stdout F {line}\n")
            logs.wait_for(f"^{line}$", "out")
        logs.stop()

        def told():
            return {(r["subresource"], r["status"]) for r in tee.rows(
                "SELECT subresource, status FROM requests WHERE subresource IN ('exec', 'log')")}

        wait.until("a row for each", lambda: told() == {("exec", 101), ("log", 200)}, describe=told)

    def bound_again(self, tee, folder):
        """What the scheduler binds when it is told once more what it was told."""
        run, log = os.path.join(folder, "again.run"), os.path.join(folder, "again.log")
        scheduler = " ".join([paths.program("controlplane"), "kube-scheduler", *(f"--{kind}kubeconfig=$KUBECONFIG" for kind in
            ("", "authentication-", "authorization-")), "--bind-address=127.0.0.1", f"--secure-port={cluster.free_ports(1)[0]}",
            "--leader-elect=false"])  # to become the leader takes chance and time, in which the tape goes on
        with open(log, "w", encoding="utf-8") as out:
            # Without an election it ends with 1 when it is asked to.
            subprocess.run([paths.KUBETAPE, "replay", tee.tape, "--as-seen-by", "kube-scheduler", "--speed", "4", "--lockstep", "100ms",
                "--settle", "3s", "--run", run, "--", "sh", "-c", "exec " + scheduler], stdout=out, stderr=out, check=False, timeout=300)
        return tape.rows(tee.tape, BOUND, "--run", run)


class ClientsBehindATee(Case):
    """All others, and all that can happen to their watches: `make clients TEE=1`."""

    def test_they_see_what_they_see_without_one(self):
        client = next(c for c in languages.ALL if c.name.startswith("client-go 0.37 typed, streaming"))
        with unittest.mock.patch.dict(os.environ, TEE="1"):
            for check in ("whole", "ends", "breaks", "expires"):
                with self.subTest(check=check):
                    getattr(client.trial(self.folder(), False), check)()
