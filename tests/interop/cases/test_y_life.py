"""An operator's whole life goes the same way on a replay as on a live server with its garbage collector."""

import os
import signal

from differential import life, wire
from lib import cluster, paths, process, replay, tape, wait
from lib.case import Case, recorded

COLLECTOR = ("--controllers=garbage-collector-controller", "--leader-elect=false", "--secure-port=0",
    "--use-service-account-credentials=false", "--kube-api-qps=200", "--kube-api-burst=400")


class AnOperatorsLife(Case):

    def test_is_answered_and_watched_alike_live_and_against_a_replay(self):
        folder = os.path.join(recorded().folder, "life")
        with cluster.fresh(folder, programs=("etcd", "kube-apiserver"), nodes=1) as live_cluster:
            made = self.record(live_cluster, folder)
            live = self.live(live_cluster, folder)
        replayed = self.replayed(made, folder)
        self.assertGreater(len(live.told), 70)
        self.assertEqual(len(live.told), len(replayed.told))
        self.assertNothing(list(life.differences(live, replayed)), "steps went otherwise than live")

    @staticmethod
    def record(live_cluster, folder):
        """What there is before the operator comes."""
        path = os.path.join(folder, "life.tape")
        recorder = process.Child([paths.KUBETAPE, "record", "--all", "--kubeconfig", live_cluster.kubeconfig, "-o", path], folder,
            "life-recorder")
        try:
            recorder.wait_for(r"^recording \d+ streams", "err")
            wait.until("the first lists", lambda: tape.load(path))
        finally:
            recorder.stop(signal.SIGINT)
        return path

    @staticmethod
    def live(live_cluster, folder):
        collector = process.Child([paths.program("controlplane"), "kube-controller-manager", "--kubeconfig", live_cluster.kubeconfig,
            *COLLECTOR], folder, "collector")
        try:
            side = life.Side(wire.Server(live_cluster.server))
            side.carry_out(life.steps())
        finally:
            collector.stop(signal.SIGTERM)
        return side

    @staticmethod
    def replayed(made, folder):
        with replay.Replay(made, folder, "life", "--from", "end", "--wait-watchers", "0", "--anonymous", "--write", "overlay",
                "--gc") as server:
            side = life.Side(wire.Server(server.url))
            side.carry_out(life.steps())
        return side
