"""A controller of controller-runtime with leader election, given nothing but the kubeconfig of a replay: what it does
is the same each time, over a gap as well, unless it has a bug that only a gap shows."""

import os
import subprocess

from lib import caches, paths, process, replay, tape, wait, workload
from lib.case import Case

# The deletion of a config map and its new creation pass unseen, and cannot be watched any more.
GAP = ("--gap", "#1,2ev,rst,compact,configmaps,hold=1m,event=resource='configmaps' AND name='settings' AND "
	"type='DELETED'")


class AManagerOnAReplay(Case):

	def run_of(self, name, arguments=(), options=()):
		"""The run file of a manager that followed the tape to its end."""
		folder = os.path.join(self.folder(), name)
		os.makedirs(folder, exist_ok=True)
		run = os.path.join(folder, "replay.run")
		if os.path.exists(run):
			os.remove(run)
		with replay.Replay(self.all_tape, folder, "replay", "--wait-watchers", "1000000", "--speed", "max", "--run", run,
				*options) as served:
			manager = process.Child([paths.program("manager"), *arguments], folder, "manager",
				{"KUBECONFIG": served.kubeconfig})
			try:
				manager.wait_for("Starting workers")
				caches.Control(served.url)("resume")
				wait.until("what it does about the last config map", lambda: tape.rows(self.all_tape, "SELECT 1 FROM "
					f"requests WHERE verb = 'create' AND body LIKE '%seen-{workload.END_MARK}%'", "--run", run))
			finally:
				self.assertEqual(manager.stop(), 0)
		return run

	def compare(self, one, two):
		"""Of what was written to each object the last counts: it may do things together that came close together."""
		done = subprocess.run([paths.KUBETAPE, "diff", "--last", one, two], capture_output=True, text=True,
			timeout=wait.PATIENCE_S, check=False)
		return done.returncode, done.stdout + done.stderr

	def test_does_the_same_again_and_over_a_gap_unless_it_knows_objects_by_their_names(self):
		golden = self.run_of("golden")
		self.assertEqual(self.compare(golden, self.run_of("again"))[0], 0)
		self.assertEqual(self.compare(golden, self.run_of("gap", options=GAP))[0], 0)
		self.assertEqual(self.compare(golden, self.run_of("naive", ["-naive"]))[0], 0)
		code, said = self.compare(golden, self.run_of("naive-gap", ["-naive"], GAP))
		self.assertEqual(code, 1, said)
		self.assertRegex(said, "shop/seen-settings\n +~ data.uid")
