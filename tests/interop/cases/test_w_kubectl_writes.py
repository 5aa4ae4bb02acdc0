"""kubectl, unchanged, writes to a replay: what people and pipelines do with it all day."""

import os

from lib import kubectl, paths
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

	def each_release(self, what):
		for version, path in self.releases().items():
			with self.subTest(kubectl=version), Replay(TAPE, self.folder(), f"{what.__name__}-{version}", "--from", "20",
					"--wait-watchers", "0", "--write", "overlay") as replay:
				client = kubectl.Kubectl(replay.kubeconfig, os.path.join(self.folder(), f"writes-cache-{version}"), path)
				client("create", "namespace", "writes")
				what(lambda *args, c=client, **more: c("-n", "writes", *args, **more))

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
