"""A controller with a classic mistake goes wrong live, seen by a tee; it goes wrong again, and the mended one does not."""

import os
import sqlite3
import subprocess
import sys
import unittest

from replays import CONFIGMAPS, DEADLINE_S, KUBETAPE, PODS, Tape, obj
from teeing import Tee, TeeCase

LEDGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "controller.py")


def cluster():
    """Pods that come and go, one of them made anew under its name."""
    made = Tape().listed(PODS, 100, [obj(PODS, "a", 90), obj(PODS, "b", 91)])
    made.listed(CONFIGMAPS, 100, [])
    story = [("MODIFIED", "a", ""), ("DELETED", "b", ""), ("DELETED", "a", ""), ("ADDED", "a", "2"), ("ADDED", "c", ""), ("MODIFIED", "a", "2")]
    for i, (kind, name, life) in enumerate(story):
        made.event(1 + i, PODS, kind, obj(PODS, name, 101 + i, uid="uid-%s%s" % (name, life)))
    return made.event(9, PODS, "ADDED", obj(PODS, "last", 120))


class Headline(TeeCase):
    def controller(self, kubeconfig, *more):
        return [sys.executable, LEDGER, kubeconfig, "default", "last", *more]

    def live(self, *more, gap=("--gap", "3,3500ms,rst,compact,pods")):
        """The controller against a cluster that cuts its watch and compacts its history, with a tee between."""
        server = self.replay(self.tape(cluster(), "cluster.tape"), "--write", "overlay", "--speed", "4", *gap)
        tee = Tee(self.folder, None, "--kubeconfig", server.kubeconfig, tape=self.path("live.tape"),
            child=["sh", "-c", "exec " + " ".join(self.controller("$KUBECONFIG", *more))], env={})
        self.assertEqual(tee.process.wait(timeout=DEADLINE_S), 0, tee.stderr())
        tee.end(self)
        return tee

    def again(self, tee, name, *more):
        run = self.path(name)
        done = subprocess.run([KUBETAPE, "replay", tee.tape, "--as-seen-by", "ledger", "--speed", "max", "--lockstep", "100ms",
            "--write", "overlay", "--run", run, "--", "sh", "-c", "exec " + " ".join(self.controller("$KUBECONFIG", *more))],
            capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return run

    def writes(self, run):
        with sqlite3.connect("file:%s?mode=ro" % run, uri=True) as db:
            return db.execute("SELECT verb, name, body ->> '$.data.pod', body ->> '$.data.uid', status FROM writes ORDER BY write").fetchall()

    def diff(self, first, second):
        return subprocess.run([KUBETAPE, "diff", first, second], capture_output=True, text=True, timeout=DEADLINE_S)

    def test_the_tape_of_a_tee_gives_a_controller_that_nothing_happens_to_the_same_to_do(self):
        tee = self.live(gap=())
        run = self.path("plain.run")
        done = subprocess.run([KUBETAPE, "replay", tee.tape, "--speed", "max", "--lockstep", "100ms", "--run", run, "--",
            "sh", "-c", "exec " + " ".join(self.controller("$KUBECONFIG"))], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.diff(tee.run, run)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        golden = subprocess.run([KUBETAPE, "replay", tee.tape, "--as-seen-by", "ledger", "--golden", tee.run, "--speed", "max", "--lockstep", "100ms",
            "--", "sh", "-c", "exec " + " ".join(self.controller("$KUBECONFIG"))], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(golden.returncode, 0, golden.stdout + golden.stderr)

    def test_it_goes_wrong_in_the_same_way_and_the_mended_one_does_not(self):
        tee = self.live("--forgetful")
        self.assertEqual([w[2] for w in self.writes(tee.run) if w[2]], [])  # neither the old a nor b
        again = self.again(tee, "again.run", "--forgetful")
        done = self.diff(tee.run, again)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        mended = self.again(tee, "mended.run")
        self.assertEqual(sorted(w[2] for w in self.writes(mended) if w[2]), ["a", "b"])
        self.assertEqual(self.diff(tee.run, mended).returncode, 1)


if __name__ == "__main__":
    unittest.main()
