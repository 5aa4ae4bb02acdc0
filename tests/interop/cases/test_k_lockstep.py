"""Real controllers, each alone and unchanged, on a tape on which their own writes are, with the default policies, leader election on and nothing
but the written kubeconfig: in lock-step they do the same twice, and over a gap."""

import concurrent.futures
import os

from lib import controllers, lockstep
from lib.case import Case, recorded

# All watches are reset before the first pod comes, and what they miss can not be watched any more.
GAP = ("--gap", f"#1,2ev,rst,compact,event=resource='pods' AND namespace='{controllers.NAMESPACE}' AND type='ADDED'")
# Of several nodes that are as good, the scheduler draws one.
LOTS = ("--ignore", "pods/binding=target", "--ignore", "events=*")


class AloneInLockStep(Case):

    @classmethod
    def setUpClass(cls):
        cls.made = controllers.Recorded.kept(os.path.join(recorded().folder, "controllers"))

    def run_each(self, program, tape=None, **runs):
        """All runs of a program at the same time: it mostly waits."""
        def one(name, options):
            return lockstep.Run(tape or self.made.tape, self.folder(), f"{program}-{name}",
                lambda config: controllers.command(program, config, self.made.pki), *options)
        with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
            return list(pool.map(one, runs, runs.values()))

    def assert_same(self, one, two, *options):
        code, said = lockstep.diff(one, two, *options)
        self.assertEqual(code, 0, said)

    def test_the_controller_manager_does_the_same_twice_and_over_a_gap(self):
        first, again, gap = self.run_each("kube-controller-manager", first=(), again=(), gap=GAP)
        self.assertEqual([r.code for r in (first, again, gap)], [0, 0, 0])
        self.assertTrue(first.writes("resource = 'deployments' AND subresource = 'status' AND status = 200"))
        self.assert_same(first, again)
        self.assert_same(first, gap, "--last")

    def test_the_scheduler_binds_the_same_pods_twice_and_over_a_gap(self):
        first, again, gap = self.run_each("kube-scheduler", first=(), again=(), gap=GAP)
        self.assertEqual([r.code for r in (first, again, gap)], [0, 0, 0])
        self.assertTrue(first.writes("subresource = 'binding' AND status = 201"))
        self.assert_same(first, again, *LOTS)
        self.assert_same(first, gap, "--last", *LOTS)

    def for_kwok(self, where="false"):
        """The tape without the leases of nodes, for which another kwok would wait until they run out by the time of day, and
        without the events for which that holds."""
        return lockstep.without(self.made.tape, f"namespace = 'kube-node-lease' OR {where}", os.path.join(self.folder(), "inputs.tape"))

    def test_kwok_holds_the_nodes_and_starts_what_is_not_running_yet_over_a_gap(self):
        """It waits for random times, in which its recorded self comes first or not. Asked to end, it ends with 0 or 1."""
        run, = self.run_each("kwok", self.for_kwok(), gap=GAP)
        self.assertEqual(len({w["name"] for w in run.writes("resource = 'leases' AND status IN (200, 201)")}), controllers.NODES)
        self.assertEqual(run.writes("status >= 400 AND status <> 409"), [])
        self.assertTrue(run.writes("resource = 'pods' AND subresource = 'status' AND status = 200"))

    def test_kwok_does_the_same_twice_on_a_tape_without_its_own_past(self):
        """But for the addresses of pods, which it gives out in a random order."""
        own = "type = 'MODIFIED' AND json_extract(object, '$.metadata.managedFields[#-1].manager') IS 'kwok'"
        patient = ("--settle", "9s", "--write", "overlay")  # longer than it waits for anything
        first, again = self.run_each("kwok", self.for_kwok(own), first=patient, again=patient)
        self.assertEqual(len({w["name"] for w in first.writes("resource = 'pods' AND subresource = 'status' AND status = 200")}),
            controllers.REPLICAS)
        self.assert_same(first, again, "--ignore", "pods/status=status.podIP")
