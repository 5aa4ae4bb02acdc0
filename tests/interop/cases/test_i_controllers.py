"""Real controllers, unchanged, on a replay: the scheduler does what it did when it was recorded, and a whole control
plane works on what a tape gives it; also when their watches are broken on the way."""

import concurrent.futures
import contextlib
import os

from lib import caches, controllers, kubectl, replay, tape, wait
from lib.case import Case, recorded

NEVER = "1000000"  # watches to wait for: the clock starts when the controllers are ready
IN = ("-n", controllers.NAMESPACE)
# All watches of pods are reset before the first pod comes, and what they miss can not be watched any more.
GAP_AT_PODS = f"#1,2s,rst,compact,pods,event=resource='pods' AND namespace='{controllers.NAMESPACE}'"
# The same of everything, as if the API server had been killed.
GAP_AT_DEPLOYMENT = "#1,2s,rst,compact,event=resource='deployments'"


class AControllerOnAReplay(Case):

    @classmethod
    def setUpClass(cls):
        cls.made = controllers.Recorded.kept(os.path.join(recorded().folder, "controllers"))

    @contextlib.contextmanager
    def replayed(self, name, until, *options):
        """A replay from the mark `quiet` on that stands still: (replay, control, run file, start of programs)."""
        folder = os.path.join(self.folder(), name)
        os.makedirs(folder, exist_ok=True)
        run = os.path.join(folder, "replay.run")
        if os.path.exists(run):
            os.remove(run)
        with contextlib.ExitStack() as programs:
            served = programs.enter_context(replay.Replay(self.made.tape, folder, "replay", "--from",
                f"seq:{self.made.seq_of('quiet')}", "--until", f"seq:{until}", "--wait-watchers", NEVER, "--run", run,
                *options))

            def start(program):
                return programs.enter_context(controllers.Program(program, served, folder, self.made.pki))
            yield served, caches.Control(served.url), run, start

    def asked(self, run, what):
        return tape.rows(self.made.tape, f"SELECT name FROM requests WHERE {what}", "--run", run)

    def test_the_scheduler_binds_the_pods_that_it_bound_when_it_was_recorded(self):
        for gap in ((), ("--gap", GAP_AT_PODS)):
            with self.subTest(gap=gap):
                name = "gap" if gap else "none"
                with self.replayed(name, self.made.seq_of("pending"), *gap) as (_, control, run, start):
                    start("kube-scheduler").leads()
                    control("resume")
                    wait.until("the word on the pod that fits nowhere", lambda: self.asked(run,
                        f"subresource = 'status' AND verb = 'patch' AND name = '{controllers.HUGE}'"))
                    wait.until("as many bindings", lambda: len(self.bindings(run)) >= len(self.made.bound()))
                self.assertEqual(self.bindings(run), self.made.bound(), "each of them, and once")

    def bindings(self, run):
        return sorted(row["name"] for row in self.asked(run, "subresource = 'binding' AND status = 201"))

    def test_a_whole_control_plane_works_on_what_the_tape_gives_it(self):
        """Two of them at the same time: they are mostly waiting."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            working = {"none": pool.submit(self.work_on, "none"),
                "gap": pool.submit(self.work_on, "gap", "--gap", GAP_AT_DEPLOYMENT)}
        for name, one in working.items():
            with self.subTest(gap=name):
                one.result()

    def work_on(self, name, *options):
        """The tape ends with a deployment; everything else is done by its readers, in a layer over the tape."""
        web = tape.rows(self.made.tape, "SELECT seq FROM events WHERE resource = 'deployments' AND name = 'web'")[0]["seq"]
        with self.replayed(name, web, "--write", "overlay", *options) as (served, control, run, start):
            for program in ("kube-controller-manager", "kube-scheduler"):
                start(program).leads()
            start("kwok")
            run_kubectl = kubectl.Kubectl(served.kubeconfig, os.path.join(self.folder(), name, "cache"))
            wait.until("kwok to hold the nodes", lambda: len(self.asked(run, "resource = 'leases' AND status = 200 AND "
                "client LIKE 'kwok%' AND verb = 'update'")) >= controllers.NODES)
            control("resume")
            wait.until("the deployment", lambda: self.has_deployment(run_kubectl))
            self.use(run_kubectl)

    def has_deployment(self, run_kubectl):
        """False as well while nobody listens."""
        try:
            return run_kubectl("get", "deployments", "-o", "name", *IN)
        except RuntimeError:
            return False

    def use(self, run_kubectl):
        """As people use a cluster."""
        def rolled_out():
            run_kubectl("rollout", "status", "deployment/web", f"--timeout={wait.PATIENCE_S:.0f}s", *IN,
                timeout_s=wait.PATIENCE_S + 10)
        rolled_out()
        names = [o["metadata"]["name"] for o in run_kubectl.items("replicasets", *IN)]
        self.assertEqual(names, [row["name"] for row in tape.rows(self.made.tape,
            "SELECT DISTINCT name FROM events WHERE resource = 'replicasets'")], "the name is a hash of what is wanted")
        run_kubectl("scale", "deployment/web", "--replicas=6", *IN)
        rolled_out()
        self.assertEqual(len(run_kubectl.items("pods", "-l", "app=web", *IN)), 6)
        run_kubectl("set", "image", "deployment/web", "main=registry.example/web:2", *IN)
        rolled_out()
        run_kubectl("rollout", "undo", "deployment/web", *IN)
        rolled_out()
        self.assertEqual({o["spec"]["containers"][0]["image"] for o in run_kubectl.items("pods", "-l", "app=web", *IN)
            if "deletionTimestamp" not in o["metadata"]}, {"registry.example/web:1"})
        self.apply(run_kubectl)
        run_kubectl("delete", "deployment", "web", *IN)
        wait.until("the pods to be gone", lambda: not run_kubectl.items("pods,replicasets", "-l", "app=web", *IN))

    def apply(self, run_kubectl):
        for options in (("--server-side",), ()):
            for value in ("one", "two"):
                manifest = ('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied%d"}, "data": {"%s": "x"}}'
                    % (len(options), value))
                run_kubectl("apply", "-f", "-", *options, *IN, stdin=manifest)
            found = run_kubectl.get("configmap", f"applied{len(options)}", *IN)
            self.assertEqual(found["data"], {"two": "x"}, "what is not applied any more goes")
