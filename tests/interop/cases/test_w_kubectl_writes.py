"""kubectl, unchanged, writes to a replay: what people and pipelines do with it all day."""

import os

from lib import kubectl, paths, wait
from lib.case import Case
from lib.replay import Replay

TAPE = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "%(image)s", env: [{name: A, value: "1"}]}
"""
LOG = '      - {name: log, image: "log:1"}\n'


class KubectlWrites(Case):

    def releases(self):
        """The one built here and the oldest that the machine has."""
        found = kubectl.installed()
        oldest = min(found, key=lambda v: [int(n) for n in v.split(".")], default=None)
        return {"1.36": paths.program("kubectl"), **({oldest: found[oldest]} if oldest else {})}

    def each_release(self, what, *options):
        for version, path in self.releases().items():
            with self.subTest(kubectl=version), Replay(TAPE, self.folder(), f"{what.__name__}-{version}", "--from", "20",
                    "--wait-watchers", "0", *(options or ("--write", "overlay"))) as replay:
                client = kubectl.Kubectl(replay.kubeconfig, os.path.join(self.folder(), f"writes-cache-{version}"), path)
                if not options:
                    client("create", "namespace", "writes")
                what(lambda *args, c=client, **more: c(*(() if options else ("-n", "writes")), *args, **more))

    def containers(self, run, name="web"):
        return run("get", "deployment", name, "-o",
            'jsonpath={range .spec.template.spec.containers[*]}{.name}={.image} {end}').split()

    def test_apply_merges_three_ways_and_the_usual_commands_patch(self):
        def work(run):
            first = DEPLOYMENT % {"name": "web", "image": "web:1"}
            self.assertIn("created", run("apply", "-f", "-", stdin=first + LOG))
            self.assertIn("configured", run("apply", "-f", "-", stdin=first.replace("web:1", "web:2")))
            self.assertEqual(self.containers(run), ["web=web:2"])
            self.assertIn("unchanged", run("apply", "-f", "-", stdin=first.replace("web:1", "web:2")))
            run("scale", "deployment", "web", "--replicas=5")
            run("rollout", "restart", "deployment", "web")
            run("label", "deployment", "web", "x=y")
            run("annotate", "deployment", "web", "a=b")
            run("set", "image", "deployment/web", "web=web:3")
            run("patch", "deployment", "web", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}')
            run("patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"paused":true}}')
            run("patch", "deployment", "web", "--type=json", "-p", '[{"op":"remove","path":"/spec/paused"}]')
            self.assertEqual(self.containers(run), ["side=s:1", "web=web:3"])
            self.assertEqual(run("get", "deployment", "web", "-o", "jsonpath={.spec.replicas} {.metadata.labels.x} {.spec.paused}"), "5 y ")
            run("replace", "-f", "-", stdin=first)
            self.assertEqual(self.containers(run), ["web=web:1"])
            run("delete", "deployment", "web", "--wait=false")
            run("create", "configmap", "c", "--from-literal=a=b")
            run("delete", "configmap", "c")
            self.assertEqual(run("get", "deployment,configmap", "-o", "name").split(), [])
        self.each_release(work)

    def test_server_side_apply_tells_conflicts_and_may_force_them(self):
        def work(run):
            first = DEPLOYMENT % {"name": "web", "image": "web:1"}
            run("apply", "--server-side", "-f", "-", stdin=first + LOG)
            run("apply", "--server-side", "-f", "-", stdin=first)
            self.assertEqual(self.containers(run), ["web=web:1"])
            run("set", "image", "deployment/web", "web=web:2")
            with self.assertRaisesRegex(RuntimeError, '(?s)1 conflict.*kubectl-set.*name="web"'):
                run("apply", "--server-side", "-f", "-", stdin=first)
            run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=first)
            self.assertEqual(self.containers(run), ["web=web:1"])
            with self.assertRaisesRegex(RuntimeError, "unknown field"):
                run("apply", "--server-side", "-f", "-", stdin=first.replace("replicas", "replicsa"))
            run("delete", "deployment", "web")
        self.each_release(work)

    def test_nodes_are_cordoned_and_tainted_and_objects_edited_exposed_and_replaced(self):
        def work(run):
            run("cordon", "node-0")
            run("taint", "node", "node-0", "a=b:NoSchedule")
            found = run("get", "node", "node-0", "-o", "jsonpath={.spec.unschedulable} {.spec.taints[?(@.key=='a')].effect}")
            self.assertEqual(found, "true NoSchedule")
            run("uncordon", "node-0")
            run("taint", "node", "node-0", "a-")
            run("apply", "-f", "-", stdin=DEPLOYMENT % {"name": "web", "image": "web:1"})
            run("edit", "deployment", "web", env={"KUBE_EDITOR": "sed -i s/web:1/web:2/"})
            self.assertEqual(self.containers(run), ["web=web:2"])
            run("expose", "deployment", "web", "--port", "80")
            self.assertEqual(run("get", "service", "-o", "name").split(), ["service/web"])
            run("replace", "--force", "-f", "-", stdin=DEPLOYMENT % {"name": "web", "image": "web:3"})
            self.assertEqual(self.containers(run), ["web=web:3"])
        self.each_release(work)

    def test_what_waits_for_an_end_comes_to_it_though_nothing_is_changed(self):
        """With the default policies; everything stays in the lists."""
        def work(run):
            before = run("get", "pods,configmaps,deployments", "-n", "shop", "-o", "name")
            run("delete", "pod", "lonely", "-n", "shop")
            run("delete", "configmap", "settings", "-n", "shop")
            run("delete", "deployment", "web", "-n", "shop", "--cascade=foreground")
            run("drain", "node-0", "--ignore-daemonsets", "--force", "--delete-emptydir-data", f"--timeout={wait.PATIENCE_S:.0f}s")
            run("create", "namespace", "writes")
            run("create", "configmap", "inside", "-n", "writes", "--from-literal=a=b")
            run("delete", "namespace", "writes")
            self.assertEqual(run("get", "pods,configmaps,deployments", "-n", "shop", "-o", "name"), before)
        self.each_release(work, "--speed", "max")
