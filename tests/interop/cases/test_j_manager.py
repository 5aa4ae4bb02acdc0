"""A controller of controller-runtime with leader election, given nothing but the kubeconfig of a replay: what it does
is the same each time, over a gap as well, unless it has a bug that only a gap shows."""

import concurrent.futures

from lib import lockstep, paths, tape, workload
from lib.case import Case

# The deletion of a config map and its new creation pass unseen, and cannot be watched any more.
GAP = ("--gap", "#1,2ev,rst,compact,configmaps,event=resource='configmaps' AND name='settings' AND type='DELETED'")
NAIVE = ["-naive"]


class AManagerOnAReplay(Case):

	def run_of(self, name, arguments=(), options=()):
		return lockstep.Run(self.all_tape, self.folder(), name, lambda _: [paths.program("manager"), *arguments], *options)

	def test_does_the_same_again_and_over_a_gap_unless_it_knows_objects_by_their_names(self):
		asked = {"golden": (), "again": (), "gap": ((), GAP), "naive": (NAIVE,), "naive-gap": (NAIVE, GAP)}
		with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
			runs = dict(zip(asked, pool.map(lambda name: self.run_of(name, *asked[name]), asked)))
		self.assertEqual({name: run.code for name, run in runs.items()}, dict.fromkeys(asked, 0))
		self.assertTrue(tape.rows(self.all_tape, "SELECT 1 FROM requests WHERE verb = 'create' AND body LIKE "
			f"'%seen-{workload.END_MARK}%'", "--run", runs["golden"].path), "it comes to the last config map")
		for name, how in (("again", ()), ("naive", ()), ("gap", ("--last",))):
			code, said = lockstep.diff(runs["golden"], runs[name], *how)
			self.assertEqual(code, 0, said)
		code, said = lockstep.diff(runs["golden"], runs["naive-gap"], "--last")
		self.assertEqual(code, 1, said)
		self.assertRegex(said, "shop/seen-settings\n +~ data.uid")
