"""Controllers of controller-runtime with leader election, given nothing but the kubeconfig of a replay: what they do is the
same each time, over a gap as well, unless there is a bug that only a gap shows."""

import concurrent.futures

from lib import lockstep, paths, tape, workload
from lib.case import Case

# The deletion of a config map and its new creation pass unseen, and cannot be watched any more.
GAP = ("--gap", "#1,2ev,rst,compact,configmaps,event=resource='configmaps' AND name='settings' AND type='DELETED'")
NAIVE = ["-naive"]


class AManagerOnAReplay(Case):

    def run_of(self, name, arguments=(), options=(), program="manager"):
        return lockstep.Run(self.all_tape, self.folder(), name, lambda _: [paths.program(program), *arguments], *options)

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

    def test_an_operator_of_a_custom_resource_comes_to_an_end_though_its_writes_are_absorbed(self):
        """It reads back what it has created, applies on the server's side, and writes to the status, again for each event."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            one, two = pool.map(lambda name: self.run_of(name, program="operator"), ("one", "two"))
        self.assertEqual((one.code, two.code), (0, 0))
        self.assertEqual(one.logged("Reconciler error"), [])
        for what in ("verb = 'patch' AND resource = 'crontabs'", "verb = 'create' AND resource = 'configmaps'",
                "verb = 'update' AND resource = 'configmaps'", "verb = 'patch' AND name LIKE 'applied-%'", "subresource = 'status'"):
            self.assertTrue(one.writes(what), what)
        self.assertEqual(one.writes("status >= 400 AND status <> 409"), [])
        code, said = lockstep.diff(one, two)
        self.assertEqual(code, 0, said)
