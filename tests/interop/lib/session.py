"""The recorded session that all the tests look at: one cluster, one workload, two recorders and the raw watcher.

  FOLDER/all.tape     everything, secrets kept, by token, ended by SIGINT
  FOLDER/named.tape   a few resources by name, secrets digested, by client certificate, ended by SIGTERM
  FOLDER/raw/         what the raw watcher saw
  FOLDER/session.json what came out: exit codes, what the programs used, the end mark's resourceVersion
"""

import json
import os
import shutil
import signal
import time

from lib import cluster, paths, process, tape, wait, witness, workload

NAMED = ("pods", "deploy", "configmaps", "secrets", "crontabs.v1.stable.example.com")
NODES = 4


class Session:
	def __init__(self, folder):
		self.folder = folder
		self.all_tape = os.path.join(folder, "all.tape")
		self.named_tape = os.path.join(folder, "named.tape")
		self.raw = os.path.join(folder, "raw")
		self.facts = {}
		if os.path.exists(self._facts_path()):
			with open(self._facts_path(), encoding="utf-8") as f:
				self.facts = json.load(f)

	def _facts_path(self):
		return os.path.join(self.folder, "session.json")

	def record(self, say):
		"""Make everything anew."""
		shutil.rmtree(self.folder, ignore_errors=True)
		os.makedirs(self.raw)
		began = time.monotonic()
		made = cluster.Cluster(os.path.join(self.folder, "cluster"))
		try:
			made.up(nodes=NODES)
			say(f"cluster: up in {time.monotonic() - began:.1f} s, MB resident: {made.memory_mb()}")
			self._record(made, say)
		finally:
			made.down()
		with open(self._facts_path(), "w", encoding="utf-8") as f:
			json.dump(self.facts, f, indent="\t")

	def _record(self, made, say):
		work = workload.Workload(made.kubectl, say)
		work.prepare()
		children = []
		try:
			children += [self._rawwatch(made), *self._recorders(made)]
			for child, line in zip(children, ("^watching [0-9]+ resources", *["^recording [0-9]+ streams"] * 2)):
				self.facts[child.name] = {"said": child.wait_for(line).group()}
				say(f"{child.name}: {self.facts[child.name]['said']}")
			work.run()
			self.facts["end_rv"] = work.mark_end()
			self._wait_until_all_have_seen(self.facts["end_rv"])
		finally:
			for child, sig in zip(reversed(children), (signal.SIGTERM, signal.SIGINT, signal.SIGTERM)):
				self._end(child, sig, say)

	def _rawwatch(self, made):
		return process.Child([paths.program("rawwatch"), "-o", self.raw, "--all"], self.folder, "rawwatch",
			{"KUBECONFIG": made.kubeconfig})

	def _recorders(self, made):
		kept = [paths.KUBETAPE, "record", "--all", "--secrets=keep", "-o", self.all_tape]
		named = [paths.KUBETAPE, "record", *NAMED, "-o", self.named_tape, "--kubeconfig", made.path("kubeconfig-cert")]
		yield process.Child(kept, self.folder, "record-all", {"KUBECONFIG": made.kubeconfig})
		yield process.Child(named, self.folder, "record-named")

	def _end(self, child, sig, say):
		code = child.stop(sig)
		self.facts.setdefault(child.name, {}).update(exit_code=code, cpu_s=round(child.cpu_s, 2),
			peak_mb=child.peak_mb, stderr=child.text("err"))
		say(f"{child.name}: exit code {code}, {child.cpu_s:.2f} s of CPU, {child.peak_mb} MB at most")

	def _wait_until_all_have_seen(self, rv):
		"""Every event up to this resourceVersion is in the files of the raw watcher and in both tapes. The streams
		of a server are not in step with each other, so each resource is waited for."""
		wait.until("the end mark in the raw watcher's file", lambda: any(
			seen.rv == rv for seen in witness.events(os.path.join(self.raw, "configmaps.lines"))))
		for path in (self.all_tape, self.named_tape):
			wait.until(f"all events in '{path}'", lambda: not self._unseen(path, rv), every_s=0.5,
				describe=lambda: f"missing: {self._unseen(path, rv)}")

	def _unseen(self, path, rv):
		"""What the raw watcher saw and the tape does not have, {resource: count}. Without the bytes: this is asked
		while the recorder works."""
		try:
			kept = tape.rows(path, "SELECT apigroup, resource, uid, rv FROM events")
		except RuntimeError as err:
			return str(err)
		have = {(r["resource"], r["apigroup"] or "", r["uid"], int(r["rv"])) for r in kept}
		followed = {key[:2] for key in have}
		missing = {}
		for stream in witness.load(self.raw).values():
			if (stream.resource, stream.group) not in followed:
				continue
			for seen in stream.seen:
				uid = json.loads(seen.object)["metadata"]["uid"]
				if seen.rv <= rv and (stream.resource, stream.group, uid, seen.rv) not in have:
					missing[stream.name] = missing.get(stream.name, 0) + 1
		return missing
