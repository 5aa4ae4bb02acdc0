"""A second, small session: a recorder and a live client-go informer lose the same server at the same moment, and
what happens meanwhile can not be watched any more when they come back.

Network cut, four changes behind it, etcd compacted, the API server started again (its watch cache then begins at
that moment, so that every earlier resourceVersion is answered by 410), network back.
"""

import os
import shutil
import signal

from lib import cluster, manifests, paths, process, proxy, tape, wait, workload

NAMESPACE = "default"


class Outage:
	def __init__(self, folder):
		self.folder = folder
		self.tape = os.path.join(folder, "outage.tape")
		self.uids = {}  # (name, "before" or "after"): uid
		self.told = ""
		self.exit_code = None

	def record(self):
		made = cluster.Cluster(os.path.join(self.folder, "cluster")).anew()
		shutil.rmtree(self.folder, ignore_errors=True)
		os.makedirs(self.folder)
		try:
			made.up(programs=("etcd", "kube-apiserver"))
			self._record(made, workload.Workload(made.kubectl))
		finally:
			made.down()
		return self

	def _record(self, made, work):
		for name in ("kept", "changed", "vanished", "recreated"):
			self._create(work, name, "before")
		network = proxy.Proxy(made.state["ports"]["kube-apiserver"])
		env = {"KUBECONFIG": made.write_kubeconfig("kubeconfig-proxy", network.port)}
		recorder = process.Child([paths.KUBETAPE, "record", "configmaps", "-n", NAMESPACE, "-o", self.tape],
			self.folder, "recorder", env)
		informer = process.Child([paths.program("informer"), "configmaps"], self.folder, "informer", env)
		try:
			recorder.wait_for("^recording 1 stream")
			informer.wait_for('"synced"', "out")
			network.down()
			self._change(made, work)
			network.up()
			for call in ('"add".*/added"', '"update".*/changed"', '"update".*/recreated"', '"delete".*/vanished"'):
				informer.wait_for(call, "out")
			wait.until("the end of the gap on the tape", self._gap_is_over, describe=lambda: recorder.text("err"))
		finally:
			self.exit_code = recorder.stop(signal.SIGINT)
			informer.stop()
			network.close()
		self.told = informer.text("out")

	def _create(self, work, name, when):
		body = manifests.config_map(name, NAMESPACE, {"when": when})
		self.uids[name, when] = work.create(body)["metadata"]["uid"]

	def _change(self, made, work):
		work.kubectl("patch", "configmap/changed", "-n", NAMESPACE, "--type=merge", "-p", '{"data":{"when":"after"}}')
		work.kubectl("delete", "configmap", "vanished", "recreated", "-n", NAMESPACE)
		self._create(work, "recreated", "after")
		self._create(work, "added", "after")
		made.compact()
		made.restart_apiserver()

	def _gap_is_over(self):
		found = tape.rows(self.tape, "SELECT how_ended FROM gaps")
		return found and all(row["how_ended"] != "open" for row in found)
